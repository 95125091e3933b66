"""Online-to-batch rates on separable data: expected target risk of the averaged weights against T.

    python benchmarks/rates.py > benchmarks/results/rates.txt

Theorem 4.6: the expected target risk of the average after T rounds is at most the comparator's
surrogate risk plus bound/T, and on separable data comparators have surrogate risk as small as one
likes. Rows have unit norm (C = √2 with the intercept, known beforehand), one pass, the randomized
decoder; risks are exact expectations on 20000 fresh rows, means over 10 streams.
"""

import sys

import numpy as np

from skstructured import OnlineStructuredPredictor
from skstructured.adversaries import Separable
from skstructured.optimizers import GradientDescent
from skstructured.spaces import Hypercube, OrdinalChain, Permutahedron, Simplex

FRESH, SIZES = 20_000, 2 ** np.arange(6, 16)

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


def risks(space, optimizer, average, seed):
    """Expected target risk after every T of SIZES."""
    stream = Separable(SIZES[-1] + FRESH, n_features=5, margin=0.1, random_state=seed)
    X, y = stream.draw(space)
    fresh, found, start = slice(SIZES[-1], None), [], 0
    model = OnlineStructuredPredictor(space=space, optimizer=optimizer, average=average)
    classes = None if space.task != "multiclass" else space.classes_
    for stop in SIZES:
        model.partial_fit(X[start:stop], y[start:stop], classes=classes)
        found.append(model.expected_target_loss(X[fresh], y[fresh]).mean())
        start = stop
    return found


def slope(T, values):
    return np.polyfit(np.log(T), np.log(np.maximum(values, 1e-12)), 1)[0]


def main():
    print(f"command: python {' '.join(sys.argv)}")
    sizes = "".join(f"{f'T=2^{int(np.log2(T))}':>9}" for T in SIZES)
    print(f"{'':44}{sizes}  log-log slope: all, T ≥ 2^10")
    for name, space in SPACES.items():
        for which, optimizer in OPTIMIZERS.items():
            for average in (True, False):
                values = np.mean([risks(space, optimizer, average, s) for s in range(10)], axis=0)
                slopes = slope(SIZES, values), slope(SIZES[4:], values[4:])
                kind = "average" if average else "last"
                cells = "".join(f"{v:9.1e}" for v in values)
                print(
                    f"{name:22} {which:14} {kind:>7}{cells}{slopes[0]:7.2f}{slopes[1]:7.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
