"""Online-to-batch rates on separable data: expected target risk of the averaged weights against T.

Theorem 4.6: the expected target risk of the average after T rounds, each counted once ("uniform"),
is at most the comparator's surrogate risk plus bound/T, and on separable data comparators have
surrogate risk as small as one likes. Rows have unit norm (C = √2 with the intercept, known
beforehand), one pass, the randomized decoder; risks are exact expectations on 20000 fresh rows,
means over 10 streams.
"""

from itertools import product

import numpy as np

from benchmarks._common import Results, arguments
from benchmarks._plain import predictor
from benchmarks._statistics import slope
from benchmarks.adversaries import Separable
from skstructured.optimizers import GradientDescent
from skstructured.spaces import Hypercube, OrdinalChain, Permutahedron, Simplex

FRESH, SIZES, STREAMS = 20_000, 2 ** np.arange(6, 16), 10

SPACES = {
    "simplex, 4 classes": Simplex().fit(np.arange(4)),
    "hypercube, 3 labels": Hypercube().fit(np.zeros((1, 3))),
    "ordinal, 4 classes": OrdinalChain().fit(np.arange(4)),
    "permutahedron, 4 items": Permutahedron().fit([[1, 2, 3, 4]]),
}
OPTIMIZERS = {
    "ogd": GradientDescent(feature_norm=np.sqrt(2.0)),
    "parameter_free": "parameter_free",
    "pistol": "pistol",
}


def risks(space, model, sizes, fresh, seed):
    """Expected target risk after every T of `sizes`."""
    stream = Separable(sizes[-1] + fresh, n_features=5, margin=0.1, random_state=seed)
    X, y = stream.draw(space)
    others, found, start = slice(sizes[-1], None), [], 0
    classes = None if space.task != "multiclass" else space.classes_
    for stop in sizes:
        model.partial_fit(X[start:stop], y[start:stop], classes=classes)
        found.append(model.expected_target_loss(X[others], y[others]).mean())
        start = stop
    return found


def mean_risks(space, optimizer, average, quick):
    sizes, fresh, streams = (SIZES[:6], 1000, 1) if quick else (SIZES, FRESH, STREAMS)
    found = []
    for seed in range(streams):
        model = predictor(space=space, optimizer=optimizer, average=average)
        found.append(risks(space, model, sizes, fresh, seed))
    return sizes, np.mean(found, axis=0)


def main():
    args = arguments(__doc__)
    with Results(__file__, args) as out:
        cells = "".join(f"{f'T=2^{int(np.log2(T))}':>9}" for T in SIZES)
        out.say(f"{'':44}{cells}  log-log slope: all, T ≥ 2^10")
        for name, which, average in product(SPACES, OPTIMIZERS, ("uniform", False)):
            T, values = mean_risks(SPACES[name], OPTIMIZERS[which], average, args.quick)
            slopes = slope(T, values, 1e-12), slope(T[4:], values[4:], 1e-12)
            kind, cells = "average" if average else "last", "".join(f"{v:9.1e}" for v in values)
            row = {"space": name, "optimizer": which, "weights": kind}
            row |= {f"T{size}": value for size, value in zip(T, values, strict=True)}
            line = f"{name:22} {which:14} {kind:>7}{cells}{slopes[0]:7.2f}{slopes[1]:7.2f}"
            out.add(line, **row, slope=slopes[0], slope_large=slopes[1])


if __name__ == "__main__":
    main()
