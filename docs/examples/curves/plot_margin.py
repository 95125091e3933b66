"""
Find the most likely class without a majority
=============================================

Max-min margins find the most likely class even if its probability is 42%. The margins of a
structural SVM give all classes the same score there (the gray part), because no class has more than
one half.
"""

import matplotlib.pyplot as plt
import numpy as np

from skstructured import MaxMinMarginNetwork, StructuralSVM


def likely(x):
    """Probabilities (n, 3) of the classes at x in [0, 1]; only at the ends is one above a half."""
    peaks = np.stack([x < 0.4, np.abs(x - 0.5) <= 0.1, x > 0.6], axis=1)
    ends = (np.abs(x - 0.5) > 0.4)[:, None]
    high = np.where(ends, 0.8, 0.42)
    return np.where(peaks, high, (1.0 - high) / 2.0)


def rows(n, seed):
    """Rows and classes drawn with these probabilities."""
    rng = np.random.RandomState(seed)
    x = rng.rand(n)
    return x[:, None], (rng.rand(n, 1) > likely(x).cumsum(axis=1)).sum(axis=1)


# %%
# The data are simulated. Both models have the same kernel and the same penalty. Look at the gray
# part: which model has different scores for the classes?
X, y = rows(1500, 0)
grid = np.linspace(0.0, 1.0, 400)
best = likely(grid).argmax(axis=1)
figure, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True, layout="constrained")
for ax, kind in zip(axes, (MaxMinMarginNetwork, StructuralSVM), strict=True):
    model = kind(kernel="rbf", gamma=20.0, alpha=5e-4, random_state=0).fit(X, y)
    scores = model.decision_function(grid[:, None])
    ax.plot(grid, scores - scores.mean(axis=1, keepdims=True))
    right = np.mean(model.predict(grid[:, None]) == best)
    ax.set_title(f"{kind.__name__}: the most likely class at {right:.0%}", fontsize=10)
    ax.axvspan(0.1, 0.9, color="0.5", alpha=0.15)
    ax.set_xlabel("x (gray: no class is above a half)")
    print(f"{kind.__name__}: the most likely class at {right:.1%} of x")
axes[0].set_ylabel("scores of the classes")
plt.show()

# %%
# What we see: the max-min margin network separates the scores in the gray part, and predicts the
# most likely class there. The structural SVM has almost equal scores, so its predictions are
# arbitrary.
