"""The central list of (space, regularizer) pairs, with the sizes the tests try."""

import math

import numpy as np
from example_spaces import KSubsets
from numba import config

import skstructured as sk

REGULARIZERS = {
    **{"shannon": sk.regularizers.Shannon(), "squared": sk.regularizers.SquaredNorm()},
    **{f"tsallis{alpha:g}": sk.regularizers.Tsallis(alpha) for alpha in (1.1, 1.5, 2.0)},
}
BOTH = ("shannon", "squared")

#: name -> (space of a dimension, dimensions, regularizers)
SPACES = {
    "simplex": (lambda dim: sk.spaces.Simplex().fit(np.arange(dim)), (2, 3, 7), REGULARIZERS),
    "hypercube": (lambda dim: sk.spaces.Hypercube().fit(np.zeros((1, dim))), (1, 3, 5), BOTH),
    "ordinal": (lambda dim: sk.spaces.OrdinalChain().fit(np.arange(dim + 1)), (1, 2, 6), BOTH),
    "birkhoff": (lambda dim: sk.spaces.Birkhoff().fit([np.arange(math.isqrt(dim))]), (4, 9), BOTH),
    "permutahedron": (
        lambda d: sk.spaces.Permutahedron().fit([np.arange(1, d + 1)]),
        (2, 3, 4),
        BOTH[1:],
    ),
    "k_subsets": (
        lambda d: KSubsets(k=2).fit([[1, 1] + [0] * (d - 2)]),
        (3, 5),
        BOTH[1:],
    ),
}

#: name -> (space of a dimension, regularizer, dimensions)
PAIRS = {
    f"{space}-{name}": (make, REGULARIZERS[name], dims)
    for space, (make, dims, names) in SPACES.items()
    for name in names
}

#: (name, dim) of every pair, for parametrisation.
CASES = [(name, dim) for name, (_, _, dims) in PAIRS.items() for dim in dims]

#: One size a pair, for the costlier tests.
LARGEST = [(name, dims[-1]) for name, (_, _, dims) in PAIRS.items()]


def is_slow(name):
    """Whether draws go through Python, one row at a time."""
    interpreted = ("birkhoff", "permutahedron") if config.DISABLE_JIT else ()
    return name.startswith(("k_subsets", *interpreted))


def loss_of(name, dim, **parameters):
    return sk.FenchelYoung(space_of(name, dim), PAIRS[name][1], **parameters)


def space_of(name, dim):
    return PAIRS[name][0](dim)
