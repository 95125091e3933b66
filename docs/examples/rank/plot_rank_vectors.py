"""
Label ranking: predictions within a hexagon
===========================================

The ranks of three items are a permutation of 1, 2, 3, with 3 for the best. The six rank vectors are
corners of a hexagon, the permutahedron. The mean prediction of the space ``"permutahedron"`` is a
point of it: a corner if the prediction is certain, an inner point if it is not.
"""

# %%
# The data are simulated: guests rank tea, coffee and juice. The two features are the time of day
# and the temperature.

import matplotlib.pyplot as plt
import numpy as np

from skstructured import OnlineStructuredPredictor
from skstructured.metrics import spearman_rho

rng = np.random.RandomState(0)
X = rng.uniform(-1, 1, size=(2000, 2))  # how late, how hot
liking = np.stack([X[:, 0] - X[:, 1], -1.5 * X[:, 0], 1.5 * X[:, 1]], axis=1)
y = (liking + 0.4 * rng.randn(2000, 3)).argsort(axis=1).argsort(axis=1) + 1

model = OnlineStructuredPredictor("permutahedron", random_state=0).fit(X[:1000], y[:1000])
print(f"Spearman's rho on new guests: {spearman_rho(model.predict(X[1000:]), y[1000:]).mean():.2f}")

# %%
# Rank vectors lie in a plane, because their sum is 6. Each point is the mean prediction for a new
# guest, its color the true favorite. Look at the points exactly on corners and edges: with the
# squared norm as regularizer the mean is a projection, and such a point means that the order of two
# items, or of all, is certain.

names = np.array(["tea", "coffee", "juice"])
plane = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
corners = model.space_.vertices()
mean = model.predict_mean(X[1000:])
figure, ax = plt.subplots(figsize=(8, 5), layout="constrained")
at = (corners - 2) @ plane.T
around = np.argsort(np.arctan2(*at.T))
ax.fill(*at[around].T, color="0.95", ec="0.5")
for (a, b), corner in zip(at, corners, strict=True):
    order = " > ".join(names[np.argsort(-corner)])
    ax.text(1.4 * a, 1.15 * b, order, ha="center", va="center", size=9)
for item in range(3):
    favourite = y[1000:, item] == 3
    ax.plot(*((mean[favourite] - 2) @ plane.T).T, ".", ms=5, alpha=0.6, label=names[item])
ax.set(xlim=(-2.5, 2.5), ylim=(-1.9, 1.9), aspect="equal")
ax.set_axis_off()
ax.legend(title="true favorite", loc="upper left", bbox_to_anchor=(0.85, 1))

plt.show()

# %%
# What we see: the predictions lie near the corner of the true favorite, and many lie exactly on an
# edge. Uncertain guests are inner points.
