"""
Label rankings as doubly stochastic matrices
============================================

Four kinds of vehicles, ranked by how much an image looks like each. What the learner predicts is
an assignment of kinds and positions, and the probability of each.

Needs ``ranking_vehicle.npz`` in the folder that the environment variable SKSTRUCTURED_DATA names.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from skstructured import OnlineStructuredPredictor
from skstructured.evaluation import progressive_validate

with np.load(Path(os.environ["SKSTRUCTURED_DATA"]) / "ranking_vehicle.npz") as arrays:
    X, positions = arrays["X"], arrays["rank"].astype(int)

# %%
# Learn 600 rows, look at others
# ------------------------------
model = OnlineStructuredPredictor(space="birkhoff", random_state=0)
model.fit(X[:600], positions[:600])
print(f"share of items placed rightly on other rows: {model.score(X[600:], positions[600:]):.3f}")


def draw(P, truth, ax):
    """One doubly stochastic matrix as an image, the true positions marked."""
    image = ax.imshow(P, vmin=0, vmax=1, cmap="Blues")
    for item, position in enumerate(truth):
        ax.plot(position, item, "o", mfc="none", mec="tab:red", ms=22, mew=2)
    for item, position in np.ndindex(P.shape):
        shade = "white" if P[item, position] > 0.6 else "black"
        ax.text(position, item, f"{P[item, position]:.2f}", ha="center", va="center", color=shade)
    ax.set(xlabel="position (0 = first)", ylabel="item")
    ax.set_xticks(range(len(P)))
    ax.set_yticks(range(len(P)))
    return image


figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for ax, row in zip(axes, (600, 611), strict=True):
    image = draw(model.predict_proba(X[row : row + 1])[0], positions[row], ax)
    ax.set_title(f"row {row}: truth circled")
figure.colorbar(image, ax=axes, label="probability of the position")

# %%
# One online pass, and what it says of new rows
# ---------------------------------------------
rows = np.random.RandomState(0).permutation(len(X))[:400]
learner = OnlineStructuredPredictor(space="birkhoff", decoder="nearest")
result = progressive_validate(learner, X[rows], positions[rows])
print(f"misplaced while learning: {result.expected_target_loss.mean():.1%}")
print(f"of new rows at most {result.risk_bound(delta=0.05):.1%}, with 95% confidence")
plt.show()
