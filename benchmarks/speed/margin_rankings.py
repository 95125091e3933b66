"""Label rankings from 170 rows: the max-min margin network beside the online learner with kernels.

All at their defaults on raw features. Seconds of `fit` are medians over turns, after a call that
is not counted; Kendall's tau is the mean over rows that were not learned.
"""

import warnings

import numpy as np
from scipy.stats import kendalltau

from benchmarks._common import Results, arguments
from benchmarks._timing import in_turns
from benchmarks.data import load
from skstructured import KernelStructuredPredictor, MaxMinMarginNetwork

ROWS, FEW = 170, 40

LEARNERS = {
    "MaxMinMarginNetwork, linear": lambda space: MaxMinMarginNetwork(space, random_state=0),
    "MaxMinMarginNetwork, rbf": lambda space: MaxMinMarginNetwork(
        space, kernel="rbf", random_state=0
    ),
    "KernelStructuredPredictor": lambda space: KernelStructuredPredictor(space, random_state=0),
}


def problem(name, space, most):
    """Rows and ranks, d the best for "permutahedron", and places, 0 the first, for "birkhoff"."""
    arrays = load(f"ranking_{name}")
    X, rank = arrays["X"].astype(float), arrays["rank"]
    order = np.random.RandomState(0).permutation(len(X))
    y = rank.shape[1] - rank if space == "permutahedron" else rank
    learned, new = order[:most], order[most:]
    return X[learned], y[learned], X[new], y[new]


def tau(predicted, true):
    return np.mean([kendalltau(p, t).statistic for p, t in zip(predicted, true, strict=True)])


def compare(out, name, space, args):
    X, y, X_new, y_new = problem(name, space, FEW if args.quick else ROWS)
    models = [make(space) for make in LEARNERS.values()]
    times = in_turns([lambda model=model: model.fit(X, y) for model in models], args.repeat)
    for learner, model, spent in zip(LEARNERS, models, np.median(times, axis=0), strict=True):
        right = tau(model.predict(X_new), y_new)
        line = f"{name:9} {space:14} {learner:28} {spent:8.3f} s  tau {right:.3f}"
        out.add(line, data=name, space=space, learner=learner, seconds=spent, tau=right)


def main():
    args = arguments(__doc__, repeat=1)
    with Results(__file__, args) as out, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("segment", "vehicle"):
            for space in ("permutahedron", "birkhoff"):
                compare(out, name, space, args)


if __name__ == "__main__":
    main()
