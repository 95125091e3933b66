"""
Recommend items when only clicks are seen
=========================================

A shop shows each visitor one of ten items, and sees whether it is clicked. It never learns which
other item would have been clicked: this is bandit feedback, and the learner has to explore.
"""

# %%
# The visitors are scikit-learn's digits: a visitor is an image, and clicks on the item of its
# digit only. All images come twice, in random order.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from skstructured import (
    BanditronClassifier,
    ConfiditClassifier,
    OnlineStructuredPredictor,
    SOBAClassifier,
)
from skstructured.evaluation import progressive_validate

rng = np.random.RandomState(0)
images, digits = load_digits(return_X_y=True)
order = np.concatenate([rng.permutation(len(digits)) for _ in range(2)])
visitors, wanted = images[order], digits[order]

# %%
# The loop of a shop: choose an item, see whether it is clicked, learn. No other information on
# ``wanted`` reaches the learner.


def serve(model, n_visitors):
    """Rewards of the rounds."""
    rewards = []
    for t in range(n_visitors):
        visitor = visitors[t : t + 1]
        item, propensity = model.choose(visitor)
        click = item == wanted[t]
        model.update(visitor, item, click, propensity)
        rewards.append(click[0])
    return np.array(rewards)


shop = BanditronClassifier(classes=range(10), random_state=0)
print(f"{serve(shop, 500).sum()} clicks of the first 500 visitors; guessing gets {500 // 10}")

# %%
# ``simulate`` is that loop, compiled. The figure compares three bandits with a learner that sees
# each visitor's wanted item, which no shop can. Look at the gap to that learner:
# `ConfiditClassifier` explores by confidence bounds, without random draws. The other two draw items
# at random now and then, which costs clicks, but they log propensities, by which other policies can
# be evaluated.

bandits = {
    "ConfiditClassifier": ConfiditClassifier(classes=range(10)),
    "SOBAClassifier": SOBAClassifier(exploration=0.1, classes=range(10), random_state=0),
    "BanditronClassifier": BanditronClassifier(classes=range(10), random_state=0),
}
earned = {name: model.simulate(visitors, wanted).rewards for name, model in bandits.items()}
informed = OnlineStructuredPredictor()
earned["full information"] = 1 - progressive_validate(informed, visitors, wanted).target_loss

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
window = np.ones(200) / 200
for name, rewards in earned.items():
    print(f"{name:22} {rewards.mean():.0%} clicks, {rewards[-1000:].mean():.0%} of the last 1000")
    ax.plot(np.arange(200, len(wanted) + 1), np.convolve(rewards, window, "valid"), label=name)
ax.axhline(1 / 10, color="0.6", ls=":", label="guessing")
ax.set(xlabel="visitor", ylabel="clicks, share of the last 200", ylim=(0, 1))
ax.legend(loc="lower right", fontsize=8)

# %%
# A log with propensities can be used to evaluate another policy without new visitors: a click
# counts 1/propensity if the policy would have shown the same item. The log here is that of a shop
# that shows items at random, the policy that of a learner of the first half of the visitors.

half = len(wanted) // 2
shown = rng.randint(10, size=half)
learner = BanditronClassifier(classes=range(10), random_state=1)
policy = learner.fit(visitors[:half], wanted[:half]).predict(visitors[-half:])
estimate = (policy == shown) * (shown == wanted[-half:]) / 0.1
error = 2 * estimate.std() / half**0.5
print(f"estimated click rate of BanditronClassifier: {estimate.mean():.2f} ± {error:.2f}")

plt.show()

# %%
# What we see: `ConfiditClassifier` almost reaches the learner with full information, and all three
# bandits are far better than guessing. On a log of random choices, clicks over propensities
# estimate the click rate of a learner that was never deployed.
