"""The central list of (space, regularizer) pairs, with the sizes the tests try."""

import math

import numpy as np
from numba import config

from skstructured.losses import FenchelYoung
from skstructured.regularizers import Shannon, SquaredNorm, Tsallis
from skstructured.spaces import (
    Birkhoff,
    Hypercube,
    KSubsets,
    OrdinalChain,
    Permutahedron,
    Simplex,
)


def simplex(dim):
    return Simplex().fit(np.arange(dim))


def hypercube(dim):
    return Hypercube().fit(np.zeros((1, dim)))


def ordinal(dim):
    return OrdinalChain().fit(np.arange(dim + 1))


def birkhoff(dim):
    return Birkhoff().fit([np.arange(math.isqrt(dim))])


def permutahedron(dim):
    return Permutahedron().fit([np.arange(1, dim + 1)])


def k_subsets(dim):
    return KSubsets(k=2).fit([[1, 1] + [0] * (dim - 2)])


#: name -> (space of a dimension, regularizer, dimensions)
PAIRS = {
    "simplex-shannon": (simplex, Shannon(), (2, 3, 7)),
    "simplex-squared": (simplex, SquaredNorm(), (2, 3, 7)),
    "simplex-tsallis1.1": (simplex, Tsallis(1.1), (2, 3, 7)),
    "simplex-tsallis1.5": (simplex, Tsallis(1.5), (2, 3, 7)),
    "simplex-tsallis2": (simplex, Tsallis(2.0), (2, 3, 7)),
    "hypercube-shannon": (hypercube, Shannon(), (1, 3, 5)),
    "hypercube-squared": (hypercube, SquaredNorm(), (1, 3, 5)),
    "ordinal-shannon": (ordinal, Shannon(), (1, 2, 6)),
    "ordinal-squared": (ordinal, SquaredNorm(), (1, 2, 6)),
    "birkhoff-shannon": (birkhoff, Shannon(), (4, 9)),
    "birkhoff-squared": (birkhoff, SquaredNorm(), (4, 9)),
    "permutahedron-squared": (permutahedron, SquaredNorm(), (2, 3, 4)),
    "k_subsets-squared": (k_subsets, SquaredNorm(), (3, 5)),
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
    space, regularizer, _ = PAIRS[name]
    return FenchelYoung(space(dim), regularizer, **parameters)


def space_of(name, dim):
    return PAIRS[name][0](dim)
