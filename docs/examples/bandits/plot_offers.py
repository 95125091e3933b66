"""
Contextual bandits: choose among offers with features
=====================================================

Every visitor is shown one of a few offers, and the offers are new each time. There are no classes
to learn, only features such as price, discount and match of interests. The reward of an offer can
be any real number.
"""

# %%
# The data are simulated: three to eight offers per visitor, with four features in different units.
# The reward of an offer is linear in them, plus noise. The shop only learns the reward of the offer
# that it shows.

import matplotlib.pyplot as plt
import numpy as np

from skstructured.bandits import LinearThompsonSampling, LinUCB

rng = np.random.RandomState(0)
ROUNDS = 1000
sizes = rng.randint(3, 9, size=ROUNDS)
offers = [
    np.column_stack([rng.gamma(4.0, 20.0, m), 100.0 * rng.rand(m), rng.rand(m), rng.rand(m) < 0.2])
    for m in sizes
]
weights = np.array([-0.01, 0.02, 2.0, 0.5])  # price, discount in %, match of interests, is new
earnings = [x @ weights + rng.normal(size=len(x)) for x in offers]
worth = [x @ weights for x in offers]


# %%
# The loop of a shop: choose an offer, see its reward, learn.


def serve(model):
    """Positions of the offers shown, their rewards, and their propensities."""
    log = []
    for x, earned in zip(offers, earnings, strict=True):
        actions, propensities = model.choose([x])
        rewards = earned[actions]
        model.update([x], actions, rewards, propensities)
        log.append((actions[0], rewards[0], propensities[0]))
    actions, rewards, propensities = zip(*log, strict=True)
    return np.array(actions), np.array(rewards), np.array(propensities)


models = {
    "LinUCB": LinUCB(),
    "LinearThompsonSampling": LinearThompsonSampling(random_state=0),
}
logs = {name: serve(model) for name, model in models.items()}

# %%
# The left panel shows the regret: the expected reward of the best offer of each round minus that of
# the offer shown. Look at how fast the curves flatten. LinearThompsonSampling draws its choices, so
# its log has propensities; a larger ``scale`` gives a log with more exploration.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
best = np.array([v.max() for v in worth])
guessing = np.cumsum([v.max() - v.mean() for v in worth])
regret = {}
for name, (actions, _, propensities) in logs.items():
    lost = best - np.array([v[a] for v, a in zip(worth, actions, strict=True)])
    regret[name] = np.cumsum(lost)
    print(f"{name:23} regret {regret[name][-1]:4.0f}, least propensity {propensities.min():.3f}")
    left.plot(regret[name], label=name)
left.plot(guessing, color="0.6", ls=":", label="guessing")
left.set(xlabel="visitor", ylabel="regret", ylim=(0, 400))
left.legend(fontsize=8)

# %%
# A log with propensities can be used to estimate the reward of any other policy. In the right panel
# a shop has shown offers at random, and evaluates three policies: the cheapest offer, the largest
# discount, and the policy that LinUCB has learned above. Inverse propensity scores weight a reward
# by π(a)/p, the probability of the offer under the policy divided by its propensity. Bars are 95%
# confidence intervals; black lines are the true rewards, which only this simulation knows.

shown = np.array([rng.randint(m) for m in sizes])
rewards = np.array([earned[a] for earned, a in zip(earnings, shown, strict=True)])
propensities = 1.0 / sizes
policies = {
    "cheapest": np.array([x[:, 0].argmin() for x in offers]),
    "discount": np.array([x[:, 1].argmax() for x in offers]),
    "LinUCB": models["LinUCB"].predict(offers),
}
inside = []
for k, (name, positions) in enumerate(policies.items()):
    true = np.mean([v[a] for v, a in zip(worth, positions, strict=True)])
    estimates = (shown == positions) / propensities * rewards
    value, error = estimates.mean(), 1.96 * estimates.std() / np.sqrt(ROUNDS)
    inside.append(abs(value - true) <= error)
    right.errorbar(k, value, error, fmt="o", lw=3)
    right.plot([k - 0.35, k + 0.35], [true, true], color="black")
    print(f"{name:9} is worth {true:.2f}; estimated {value:.2f} ± {error:.2f}")
right.set(xticks=range(3), xticklabels=policies, ylabel="reward per round")
right.set(xlim=(-0.5, 2.5))

plt.show()

# %%
# What we see: both bandits have a small part of the regret of guessing. The intervals from
# the random log contain the true rewards, and the estimates rank the policies correctly, so the
# best policy is found without showing it to anybody.
