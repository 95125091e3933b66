"""Symmetric matrices over (class direction, feature), kept as blocks of features.

A block a pair i ≤ j of class directions, (p, p) numbers one after the other: the half that a
symmetric matrix needs, in pieces that a processor keeps at hand. `products` reads every block once,
`downdate` reads and writes it once; both are bound by arithmetic and not by memory.
"""

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotri

from skstructured._engine.compiled import FASTMATH, kernel


@kernel(fastmath=FASTMATH)
def _product(block, x, out):
    """Out = block x; returns <x, out>."""
    total = 0.0
    for a in range(x.shape[0]):
        row, inner = block[a], 0.0
        for b in range(x.shape[0]):
            inner += row[b] * x[b]
        out[a] = inner
        total += inner * x[a]
    return total


@kernel(fastmath=FASTMATH)
def _both_products(block, x, out, other):
    """Out = block x and other = blockᵀx in one sweep; returns <x, out>."""
    total = 0.0
    for b in range(x.shape[0]):
        other[b] = 0.0
    for a in range(x.shape[0]):
        row, inner, c = block[a], 0.0, x[a]
        for b in range(x.shape[0]):
            inner += row[b] * x[b]
            other[b] += c * row[b]
        out[a] = inner
        total += inner * c
    return total


@kernel
def products(P, x, V, S):
    """V_ij = P_ij x and S_ij = <x, P_ij x> for all class directions i, j."""
    at, r = 0, S.shape[0]
    for i in range(r):
        S[i, i] = _product(P[at], x, V[i, i])
        at += 1
        for j in range(i + 1, r):
            S[i, j] = _both_products(P[at], x, V[i, j], V[j, i])
            S[j, i] = S[i, j]
            at += 1


@kernel(fastmath=FASTMATH)
def _subtract(block, left, right, rank):
    """Block ← block − Σ_m left_m right_mᵀ, four m to a sweep."""
    p, quads = block.shape[0], rank // 4 * 4
    for q in range(0, quads, 4):
        l0, l1, l2, l3 = right[q], right[q + 1], right[q + 2], right[q + 3]
        for a in range(p):
            row = block[a]
            c0, c1, c2, c3 = left[q, a], left[q + 1, a], left[q + 2, a], left[q + 3, a]
            for b in range(p):
                row[b] -= c0 * l0[b] + c1 * l1[b] + c2 * l2[b] + c3 * l3[b]
    for q in range(quads, rank):
        only = right[q]
        for a in range(p):
            row, c = block[a], left[q, a]
            for b in range(p):
                row[b] -= c * only[b]


@kernel
def downdate(P, L, rank):
    """P ← P − Σ_m L_m L_mᵀ for m below `rank`; ``L[i, m]`` is the part of L_m in direction i."""
    at, r = 0, L.shape[0]
    for i in range(r):
        for j in range(i, r):
            _subtract(P[at], L[i], L[j], rank)
            at += 1


def add_waiting(A, waiting, factors, count):
    """A ← A + Σ_t h_t ⊗ x_t x_tᵀ over the first `count` rows x_t of `waiting`."""
    X = waiting[:count]
    for block, factor in zip(A, factors[:, :count], strict=True):
        block += (X.T * factor) @ X


def pairs_of(r):
    """The class directions i ≤ j of every block, in their order."""
    return np.triu_indices(r)


def unit_blocks(r, p, value):
    """The blocks of `value` times the identity."""
    first, second = pairs_of(r)
    blocks = np.zeros((len(first), p, p))
    blocks[first == second] = value * np.eye(p)
    return blocks


def dense(blocks, r):
    """The matrix (r p, r p) of the blocks."""
    p, matrix = blocks.shape[1], np.empty((r * blocks.shape[1],) * 2)
    for at, (i, j) in enumerate(zip(*pairs_of(r), strict=True)):
        matrix[i * p : (i + 1) * p, j * p : (j + 1) * p] = blocks[at]
        matrix[j * p : (j + 1) * p, i * p : (i + 1) * p] = blocks[at].T
    return matrix


def set_inverse(A, P, r):
    """Make P the inverse of A, both in blocks, by a Cholesky factor."""
    p, matrix = A.shape[1], dense(A, r)
    factor, failed = dpotrf(matrix.T, lower=1, overwrite_a=1)  # symmetric: .T is its own, by column
    inverse, failed_too = dpotri(factor, lower=1, overwrite_c=1)
    if failed or failed_too:
        raise LinAlgError("The matrix of a second-order learner is not positive definite.")
    upper = np.tril(inverse).T
    for at, (i, j) in enumerate(zip(*pairs_of(r), strict=True)):
        block = upper[i * p : (i + 1) * p, j * p : (j + 1) * p]
        P[at] = np.triu(block) + np.triu(block, 1).T if i == j else block


def times(blocks, v):
    """The product (r, p) of a matrix in blocks with v (r, p)."""
    out = np.zeros_like(v)
    for at, (i, j) in enumerate(zip(*pairs_of(len(v)), strict=True)):
        out[i] += blocks[at] @ v[j]
        if i != j:
            out[j] += blocks[at].T @ v[i]
    return out
