"""Mixtures of few vertices: the best of a row, as a small saddle point; and oracles as addresses.

The loss is ``L(y', y) = <y', A y + b> + <a, y>``, so that ``h(μ) = min_y' <y', Aμ + b> + <a, μ>``.
A of shape (1, 1) stands for a multiple of the identity.
"""

import functools

import numpy as np
from numba import types

from skstructured._engine.addresses import VECTOR, address, function_at
from skstructured._engine.compiled import FASTMATH, kernel
from skstructured.estimators.margin._mixtures import LIGHT, mean_of
from skstructured.estimators.margin._saddle import solve_saddle

#: Most vertices of either side that are in play.
VERTICES = 64

#: oracle(theta, vertex), which writes the vertex of the largest score.
VERTEX_ORACLE = types.FunctionType(types.void(VECTOR, VECTOR))
as_oracle = function_at(VERTEX_ORACLE)


@functools.cache
def vertex_kernel(oracle):
    """A user's compiled oracle, whatever it returns, as one that returns nothing."""

    @kernel
    def vertex_of(theta, vertex):
        oracle(theta, vertex)

    return vertex_of


def oracle_address(function):
    """What compiled loops are handed of an oracle; interpreted ones get the function itself."""
    return address(function, VERTEX_ORACLE) if hasattr(function, "py_func") else function


@kernel(fastmath=FASTMATH)
def dot(x, y):
    """<x, y>."""
    total = 0.0
    for k in range(x.shape[0]):
        total += x[k] * y[k]
    return total


@kernel
def add_product(A, transposed, x, out):
    """Out += Ax, or Aᵀx."""
    if A.shape[0] == 1:
        for k in range(x.shape[0]):
            out[k] += A[0, 0] * x[k]
        return
    for k in range(x.shape[0]):
        if x[k] != 0.0:
            column = A[k] if transposed else A[:, k]
            for t in range(x.shape[0]):
                out[t] += x[k] * column[t]


@kernel
def rest_of(columns, weights, count, mu):
    """What μ has beside its vertices into column 0, of mass 1; its mass, 0 where it is light."""
    mass = 1.0
    mean_of(columns, 1, count, weights, columns[0])
    for c in range(1, count):
        mass -= weights[c]
    if mass < LIGHT:
        return 0.0
    for k in range(mu.shape[0]):
        columns[0, k] = (mu[k] - columns[0, k]) / mass
    return mass


@kernel
def add_column(c, columns, mu, loss, v, tables):
    """Products of column c with those before it, less μ; its score; and its costs Aμ + b."""
    (A, a, b), (G, s, costs), moved = loss, tables, columns[c] - mu
    for t in range(c + 1):
        G[c, t] = dot(moved, columns[t]) - dot(moved, mu)
        G[t, c] = G[c, t]
    s[c] = dot(v, columns[c]) + dot(a, columns[c])
    costs[c, :] = b
    add_product(A, False, columns[c], costs[c])


@kernel
def payoffs(rows, many, costs, first, count):
    """What rows pay for columns."""
    B = np.empty((max(many, 1), count - first))
    for r in range(many):
        for c in range(first, count):
            B[r, c - first] = dot(rows[r], costs[c])
    return B


@kernel
def best_mixture(q, first, count, rows, many, tables, p, x):
    """The best mixtures of columns, p, and of rows, x; whether there are such."""
    G, s, costs = tables
    B, scores, p[:] = payoffs(rows, many, costs, first, count), s[first:count].copy(), 0.0
    bent, group = q * G[first:count, first:count], np.zeros(len(B), dtype=np.int64)
    if many == 1:
        scores += B[0]
        many, x[0] = 0, 1.0
    return solve_saddle(bent, scores, B, group, many, min(many, 1), p[first:count], x)
