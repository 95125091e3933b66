"""
Sequence labeling: the states of a machine
==========================================

In a sequence, the neighboring labels have information on each label. The space ``"sequence"``
learns scores of neighboring labels along with the weights of features.
"""

# %%
# The data are simulated: a machine that is idle, runs or overheats. It stays in its state with
# probability 0.9, and may overheat only while it runs. Two noisy sensors are read at each step.

import matplotlib.pyplot as plt
import numpy as np

from skstructured import OnlineStructuredPredictor
from skstructured.sequences import position_accuracy

states = np.array(["idle", "runs", "hot"])
step = np.array([[0.9, 0.1, 0.0], [0.06, 0.9, 0.04], [0.1, 0.0, 0.9]])
sensors = np.array([[0.0, 0.0], [1.5, 0.0], [1.5, 1.5]])
rng = np.random.RandomState(0)


def machine(length):
    """Readings (length, 2) and the states behind them."""
    state = [0]
    for _ in range(length - 1):
        state.append(rng.choice(3, p=step[state[-1]]))
    return sensors[state] + 1.2 * rng.randn(length, 2), states[state]


X, y = zip(*(machine(rng.randint(40, 100)) for _ in range(200)), strict=True)
X, y, X_new, y_new = X[:100], y[:100], X[100:], y[100:]

# %%
# One model reads each step separately, the other whole sequences.

alone = OnlineStructuredPredictor(random_state=0).fit(np.vstack(X), np.concatenate(y))
chain = OnlineStructuredPredictor("sequence", random_state=0).fit(X, y)
predicted = {"alone": [alone.predict(x) for x in X_new], "in a chain": chain.predict(X_new)}
right = [position_accuracy(y_new, found) for found in predicted.values()]
for name, share in zip(predicted, right, strict=True):
    print(f"{name}: {share:.1%} of the states right")

# %%
# The figure shows the probabilities of the states of a new sequence; the bar at the bottom has the
# true states. A single step is rarely certain. Look at the marginals of the chain: they are certain
# except at the moments of change.

i = next(i for i, labels in enumerate(y_new) if len(set(labels)) == 3 and len(labels) > 90)
order = [list(chain.classes_).index(state) for state in states]
figure, axes = plt.subplots(
    3, 1, figsize=(8, 4.5), height_ratios=(3, 3, 0.5), sharex=True, layout="constrained"
)
probabilities = alone.predict_proba(X_new[i]), chain.predict_marginals(X_new)[i]
colors = ["tab:blue", "tab:green", "tab:red"]
for ax, P, name in zip(axes, probabilities, ("step by step", "in a chain"), strict=False):
    ax.stackplot(np.arange(len(P)), P[:, order].T, colors=colors, labels=states, alpha=0.8)
    ax.set(ylim=(0, 1), xlim=(0, len(P) - 1), ylabel=name)
true = np.searchsorted(chain.classes_, y_new[i])
for k, color in zip(order, colors, strict=True):
    axes[2].fill_between(np.arange(len(P)), true == k, step="mid", color=color, lw=0)
axes[2].set(yticks=[], xlabel="step", ylabel="true")
axes[0].legend(loc="upper right", ncols=3)

# %%
# The scores of neighboring labels. Look at the diagonal: staying in a state is likely, and a jump
# from hot to running is not.

figure, ax = plt.subplots(figsize=(4, 3.2), layout="constrained")
T = chain.transitions_[np.ix_(order, order)]
image = ax.imshow(T, cmap="RdBu_r", vmin=-np.abs(T).max(), vmax=np.abs(T).max())
ax.set_xticks(range(3), states)
ax.set_yticks(range(3), states)
ax.set(xlabel="to", ylabel="from")
figure.colorbar(image, label="score")

plt.show()

# %%
# What we see: the chain labels far more states correctly than single steps do, because states last.
# It has learned this from the labels, along with the transitions that never occur.
