"""
Assignment: positions of dishes, with probabilities
===================================================

A ranking of m items gives each item a position and each position an item: an assignment. The mean
prediction of the space ``"assignment"`` is a doubly stochastic matrix, with a probability of every
position for every item.
"""

# %%
# The data are simulated: six dishes, and guests who are described by five numbers. A guest's liking
# of a dish is linear in them, with noise; y[i, j] is the position of dish j in the ranking of guest
# i, 0 for the first.

import matplotlib.pyplot as plt
import numpy as np

from skstructured import OnlineStructuredPredictor
from skstructured.evaluation import progressive_validate
from skstructured.metrics import kendall_tau

dishes = ["soup", "salad", "pasta", "curry", "stew", "cake"]
rng = np.random.RandomState(0)
X, taste = rng.randn(1500, 5), rng.randn(5, 6)
liking = X @ taste + 0.5 * rng.randn(1500, 6)
y = liking.argsort(axis=1)[:, ::-1].argsort(axis=1)

model = OnlineStructuredPredictor("assignment", random_state=0).fit(X[:1000], y[:1000])
predicted = model.predict(X[1000:])
print(f"dishes at the right position: {model.score(X[1000:], y[1000:]):.2f}; guessing has 0.17")
print(f"Kendall's tau: {kendall_tau(predicted, y[1000:]).mean():.2f}")

# %%
# The panels show two new guests: the one with the most confident prediction, and the one with the
# least. Rows and columns of the matrices sum to one. Circles are the true positions; look at how
# the mass of the uncertain guest stays among neighboring positions.

P = model.predict_proba(X[1000:])
print("largest distance of a sum to one:", *(f"{abs(P.sum(axis=k) - 1).max():.0e}" for k in (1, 2)))
confidence = P.max(axis=2).mean(axis=1)
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for ax, i, name in zip(
    axes, (confidence.argmax(), confidence.argmin()), ("confident", "uncertain"), strict=True
):
    order = predicted[i].argsort()
    image = ax.imshow(P[i][order], vmin=0, vmax=1, cmap="Blues")
    ax.plot(y[1000 + i][order], range(6), "o", ms=24, mfc="none", mec="tab:red", mew=1.5)
    ax.set_yticks(range(6), [dishes[j] for j in order])
    ax.set(title=f"{name}: guest {i}", xlabel="position (0 = first)")
figure.colorbar(image, ax=axes, label="probability")

# %%
# Are the probabilities calibrated? The figure groups all pairs of a dish and a position by their
# probability, and shows the share of pairs that are true. On the diagonal the two would be equal.
# Above it, likely pairs are true more often than predicted: the probabilities are a little too
# cautious.

happened = y[1000:, :, None] == np.arange(6)
bins = np.digitize(P, np.linspace(0, 1, 11)[1:-1])
expected = [P[bins == b].mean() for b in range(10)]
observed = [happened[bins == b].mean() for b in range(10)]
figure, ax = plt.subplots(figsize=(4, 4), layout="constrained")
ax.plot([0, 1], [0, 1], color="0.7")
ax.plot(expected, observed, "o-")
ax.set(xlabel="predicted probability", ylabel="share that is true", aspect="equal")

# %%
# One pass, with each guest predicted before it is learned, gives an upper bound on the share of
# misplaced dishes for new guests.

learner = OnlineStructuredPredictor("assignment", random_state=0)
run = progressive_validate(learner, X, y)
print(f"misplaced while learning: {run.expected_target_loss.mean():.1%}")
print(f"new guests: at most {run.risk_bound(delta=0.05):.1%}, with 95% confidence")

plt.show()

# %%
# What we see: most dishes are at the right position, compared with one in six by guessing. The
# probabilities are nearly calibrated, and the bound for new guests needs no test set.
