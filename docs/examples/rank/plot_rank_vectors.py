"""
Label ranking: predictions within a hexagon
===========================================

The ranks of three items are a permutation of 1, 2, 3, with 3 for the best. The six rank vectors are
corners of a hexagon, the permutahedron. The mean prediction of the space ``"ranking"`` is a
point of it: a corner if the prediction is certain, an inner point if it is not.
"""

# %%
# Which of the digits 1, 4 and 7 does an image look like, most and least? The images are all of
# scikit-learn's digits, and the true order is that of a naive Bayes classifier: rank 3 for the most
# likely of the three.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from skstructured import OnlineStructuredPredictor

items = [1, 4, 7]
X, digit = load_digits(return_X_y=True)
scores = GaussianNB(var_smoothing=0.1).fit(X, digit).predict_joint_log_proba(X)[:, items]
y = scores.argsort(axis=1).argsort(axis=1) + 1
X, X_new, y, y_new = train_test_split(X, y, random_state=0)

model = OnlineStructuredPredictor("ranking", random_state=0).fit(X, y)
print(f"Spearman's rho on new images: {2 * model.score(X_new, y_new) - 1:.2f}")

# %%
# Rank vectors lie in a plane, because their sum is 6. Each point is the mean prediction for a new
# image, its color the true favorite. Look at the points exactly on corners and edges: with the
# squared norm as regularizer, the mean is a projection. On an edge the order of two items is
# certain, on a corner that of all.

plane = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
corners = model.space_.vertices()
mean = model.predict_mean(X_new)
figure, ax = plt.subplots(figsize=(8, 5), layout="constrained")
at = (corners - 2) @ plane.T
around = np.argsort(np.arctan2(*at.T))
ax.fill(*at[around].T, color="0.95", ec="0.5")
for (a, b), corner in zip(at, corners, strict=True):
    order = " > ".join(str(items[k]) for k in np.argsort(-corner))
    ax.text(1.25 * a, 1.15 * b, order, ha="center", va="center", size=11)
for place, item in enumerate(items):
    favorite = y_new[:, place] == 3
    ax.plot(*((mean[favorite] - 2) @ plane.T).T, ".", ms=6, alpha=0.6, label=item)
ax.set(xlim=(-2.5, 2.5), ylim=(-1.9, 1.9), aspect="equal")
ax.set_axis_off()
ax.legend(title="true favorite", loc="upper left", bbox_to_anchor=(0.85, 1))
is_corner = np.abs(mean - mean.round()).max(axis=1) < 1e-9
print(f"exactly on a corner: {is_corner.mean():.0%} of the predictions")

plt.show()

# %%
# What we see: most predictions are exactly a corner, nearly always one of the true favorite. Nearly
# all others lie on an edge, so the model leaves the order of one pair open. Few are inner points.
