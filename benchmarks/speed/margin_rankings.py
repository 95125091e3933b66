"""Label rankings from few rows: the max-min margin network beside the learner with kernels.

170 rows learn, and at most 500 others judge: Kendall's tau on them, and seconds of one fit after
a small one that may compile. All at their defaults but for the space, and ``kernel="rbf"`` for the
network. With "birkhoff" outputs are positions of labels, with "permutahedron" ranks, d the best.
"""

import numpy as np

from benchmarks._common import Results, arguments
from benchmarks._timing import timed
from benchmarks.data import load
from skstructured import KernelStructuredPredictor, MaxMinMarginNetwork
from skstructured.metrics import kendall_tau

SETS = ("wine", "vehicle", "segment", "authorship")
FEW, MOST, SMALL = 170, 500, 20


def learners(space):
    """Names, and what makes them."""
    return {
        "KernelStructuredPredictor": lambda: KernelStructuredPredictor(space, random_state=0),
        "MaxMinMarginNetwork": lambda: MaxMinMarginNetwork(space, kernel="rbf", random_state=0),
    }


def problem(name, space):
    """Rows and ranks to learn, and those that judge."""
    arrays = load(f"ranking_{name}")
    X, ranks = arrays["X"].astype(np.float64), arrays["rank"].astype(np.int64)
    outputs = ranks if space == "birkhoff" else ranks.shape[1] - ranks
    order = np.random.RandomState(0).permutation(len(X))
    few = order[: min(FEW, 3 * len(X) // 4)]
    rest = order[len(few) : len(few) + MOST]
    return X[few], outputs[few], X[rest], outputs[rest]


def main():
    args = arguments(__doc__)
    with Results(__file__, args) as out:
        for name in SETS[:1] if args.quick else SETS:
            for space in ("permutahedron", "birkhoff"):
                X, y, X_new, y_new = problem(name, space)
                for learner, make in learners(space).items():
                    make().fit(X[:SMALL], y[:SMALL])
                    model, spent = timed(lambda make=make, X=X, y=y: make().fit(X, y))
                    tau = float(np.mean(kendall_tau(model.predict(X_new), y_new)))
                    out.add(
                        f"{name:11} {space:14} {learner:26} {len(X)} tau {tau:.3f} {spent:7.3f} s",
                        table="rankings",
                        data=name,
                        space=space,
                        learner=learner,
                        n=len(X),
                        tau=tau,
                        seconds=spent,
                    )


if __name__ == "__main__":
    main()
