"""
Predict, then optimize: shortest paths learned from past shortest paths
=======================================================================

Every day a path through a 5 × 5 grid is chosen before the costs of its 40 edges are known. Five
features of the day are known. The more nonlinear the costs are, the larger is the regret of a
linear regression of the costs. A linear model that learns the paths themselves has a smaller one.
"""

# %%
# `GridPaths` is a custom output space. Its oracle is the shortest path by dynamic programming.
# `simulate` makes the benchmark's data. Both are in the file ``docs/snippets/grid_paths.py``, which
# must be in the path of Python.

import matplotlib.pyplot as plt
import numpy as np
from grid_paths import GridPaths, normalized_regret, simulate
from sklearn.linear_model import LinearRegression

from skstructured import OnlineStructuredPredictor

space, degrees, n = GridPaths(), (1, 2, 4, 6, 8), 500

# %%
# The two-stage method predicts the costs of all edges, and takes the shortest path for them. The
# structured model sees the shortest paths of the training days, and no costs. The regret is the
# cost of the chosen paths over the cost of the best ones, less 1.


def chosen_paths(X, costs, X_new):
    """Paths of both methods for new days."""
    regression = LinearRegression().fit(X, costs)
    yield "costs predicted", space.argmax(-regression.predict(X_new))
    model = OnlineStructuredPredictor(GridPaths(), max_iter=10, random_state=0)
    yield "paths learned", model.fit(X, space.argmax(-costs)).predict(X_new)


regret = {}
for degree in degrees:
    for seed in range(3):
        X, costs = simulate(n + 1000, degree, seed)
        best = space.argmax(-costs[n:])
        for name, paths in chosen_paths(X[:n], costs[:n], X[n:]):
            regret.setdefault((name, degree), []).append(normalized_regret(paths, best, costs[n:]))
methods = ("costs predicted", "paths learned")
mean = {name: np.array([np.mean(regret[name, degree]) for degree in degrees]) for name in methods}
for name, values in mean.items():
    print(f"{name:16s}", *(f"degree {d}: {v:.1%}" for d, v in zip(degrees, values, strict=True)))

# %%
# Left: the regret by the degree of the costs. Right: a day of degree 8, with its costs as widths of
# edges, the best path, and the path of the structured model.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for name, values in mean.items():
    left.plot(degrees, 100 * values, "o-", label=name)
left.set(xlabel="degree of the costs", ylabel="regret in %", ylim=(0, None))
left.legend()


def edges(rows=5, columns=5):
    """Nodes (row, column) at both ends of each edge, in the order of the space."""
    for i in range(rows):
        yield from (((i, j), (i, j + 1)) for j in range(columns - 1))
        yield from (((i, j), (i + 1, j)) for j in range(columns) if i < rows - 1)


wrong = 8 - (paths * best).sum(axis=1)
day = int(np.flatnonzero(wrong == 4)[0])
for e, ((i, j), (k, m)) in enumerate(edges()):
    right.plot([j, m], [i, k], color="0.8", lw=1 + 6 * costs[n + day, e] / costs[n + day].max())
    for path, color, shift in ((best, "tab:green", 0.06), (paths, "tab:orange", -0.06)):
        if path[day, e]:
            right.plot([j + shift, m + shift], [i - shift, k - shift], color=color, lw=2)
right.plot([], [], color="tab:green", label="best")
right.plot([], [], color="tab:orange", label="chosen")
right.set(xticks=[], yticks=[], title="a new day")
right.invert_yaxis()
right.legend(loc="lower left")

plt.show()

# %%
# What we see: while costs are nearly linear in the features, predicting costs is better, because
# costs hold more information than paths. For degrees 6 and 8 the structured model has the lower
# regret, although it has never seen a cost.
