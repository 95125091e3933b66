"""The streams: data sets in an order of the seed, and adversaries."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.preprocessing import StandardScaler, normalize

from benchmarks.adversaries import Drifting, LabelNoise, Separable
from benchmarks.data import covtype, load
from skstructured.spaces import Simplex

#: Rounds of the synthetic streams.
ROUNDS = 10_000


class Stream(NamedTuple):
    name: str
    draw: Callable  # of the seed; (X, y)
    classes: np.ndarray
    n: int
    p: int
    unit: bool = False


def real(name, X, y, unit=False):
    """Standardised rows in an order of the seed."""
    X = StandardScaler().fit_transform(X)
    X = normalize(X) if unit else X

    def draw(seed):
        order = np.random.RandomState(seed).permutation(len(y))
        return X[order], y[order]

    return Stream(name + ", unit rows" * unit, draw, np.unique(y), *X.shape, unit)


def synthetic(name, adversary, K=4):
    space = Simplex().fit(np.arange(K))

    def draw(seed):
        return adversary.set_params(random_state=seed).draw(space)

    return Stream(name, draw, space.classes_, adversary.n_rounds, adversary.n_features)


def files():
    """Names, and (X, y) of the whole file."""
    letter, segment, shuttle = load("letter"), load("segment"), load("river_shuttle")
    sat = load("satimage")
    return {
        "letter": (letter["X"].astype(float), letter["y"]),
        "satimage": (np.vstack([sat["X"], sat["X_test"]]) * 1.0, np.r_[sat["y"], sat["y_test"]]),
        "segment": (segment["X"], segment["y"]),
        "covtype": covtype(100_000),
        "shuttle": (shuttle["X"].astype(float), shuttle["y"]),
    }


def streams():
    """All streams, in the table's order."""
    found = files()
    for unit in (False, True):
        yield from (real(name, *arrays, unit) for name, arrays in found.items())
    yield synthetic("separable", Separable(ROUNDS, margin=0.1))
    yield synthetic("noisy", LabelNoise(ROUNDS, noise=0.2))
    yield synthetic("drifting", Drifting(ROUNDS, n_phases=4))


def largest(X):
    """Largest ‖x‖, the intercept's 1 included; known in hindsight only."""
    return math.sqrt(1.0 + np.max(np.sum(X * X, axis=1)))
