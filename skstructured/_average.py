"""The sum of the weights played, kept as ``(Σ w s) Θ + A`` without a sweep a round.

A moves by the same rank-one terms as Θ, but nobody reads it while learning: terms wait in a block
and are added many rows at a time. Every entry of A takes its terms
one by one in the order of the rounds, so that chunks of any size give the same bits.
"""

import numpy as np
from numba import int64, njit

from skstructured._compiled import prefetch

#: Dense rows wait in blocks this long: they are still in cache when their terms are added. CSR
#: rows, which touch little of a large A, wait for as long as they can.
WAITING = 48

#: How many non-zeros ahead a row of A is fetched.
AHEAD = 8


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _add_dense(data, width, rows, start, stop, terms, A):
    """A ← A + Σ_r terms_r x_rᵀ, three rows to a sweep over A."""
    dim, r, at = terms.shape[1], start, width
    while r < stop:
        together = stop - r >= 3
        x = data[rows[r] * at : rows[r] * at + at]
        if together:
            y = data[rows[r + 1] * at : rows[r + 1] * at + at]
            z = data[rows[r + 2] * at : rows[r + 2] * at + at]
        for k in range(dim):
            a, c = A[k], terms[r, k]
            if together:
                d, e = terms[r + 1, k], terms[r + 2, k]
                for j in range(width):
                    a[j] = ((a[j] + c * x[j]) + d * y[j]) + e * z[j]
            else:
                for j in range(width):
                    a[j] = a[j] + c * x[j]
        r += 3 if together else 1
    if A.shape[1] > width:
        for r in range(start, stop):
            for k in range(dim):
                A[k, width] += terms[r, k]


@njit(cache=True, nogil=True, error_model="numpy")
def _add_four(A, j, k, x, terms, r):
    """A[j, k:k+4] += x terms[r, k:k+4]; all loads before all stores, which makes it one vector."""
    a, b = A[j, k] + x * terms[r, k], A[j, k + 1] + x * terms[r, k + 1]
    c, d = A[j, k + 2] + x * terms[r, k + 2], A[j, k + 3] + x * terms[r, k + 3]
    A[j, k], A[j, k + 1], A[j, k + 2], A[j, k + 3] = a, b, c, d


@njit(cache=True, nogil=True, error_model="numpy")
def _add_csr(data, indices, indptr, width, rows, start, stop, terms, A):
    """A ← A + Σ_r x_r terms_rᵀ; what a row touches is fetched some entries ahead."""
    dim, ahead, one = terms.shape[1], np.uint64(AHEAD), np.uint64(1)
    quads = dim // 4 * 4
    for r in range(start, stop):
        t, last = np.uint64(indptr[rows[r]]), np.uint64(indptr[rows[r] + 1])
        while t < last:
            if t + ahead < last:
                line = int64(indices[t + ahead]) * dim
                prefetch(A, line)
                prefetch(A, line + dim - 1)
            x, j = data[t], np.uint64(indices[t])
            for k in range(0, quads, 4):
                _add_four(A, j, k, x, terms, r)
            for k in range(quads, dim):
                A[j, k] += x * terms[r, k]
            t += one
        if A.shape[0] > width:
            for k in range(dim):
                A[width, k] += terms[r, k]


@njit(cache=True, nogil=True, error_model="numpy")
def add_terms(data, indices, indptr, width, rows, start, stop, terms, A):
    """Add the waiting terms of the rounds from `start` to `stop` to A."""
    if stop > start:
        if indptr.shape[0] > 0:
            _add_csr(data, indices, indptr, width, rows, start, stop, terms, A)
        else:
            _add_dense(data, width, rows, start, stop, terms, A)


@njit(cache=True, nogil=True, error_model="numpy")
def fold(Theta, A, factor, played):
    """A ← A + played Θ where there is an A, then Θ ← factor Θ: the one sweep over weights."""
    for i in range(Theta.shape[0]):
        for j in range(Theta.shape[1]):
            if A.shape[0] > 0:
                A[i, j] += played * Theta[i, j]
            Theta[i, j] *= factor
