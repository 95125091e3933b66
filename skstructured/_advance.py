"""Row primitives: move the weights by one row and score the next, in one sweep.

Dense rows keep Θ as (dim, width), CSR rows as (width, dim): a score then reads contiguous memory
in both. An intercept is one more column (row) of Θ.
"""

import functools

import numpy as np
from numba import int64, njit

from skstructured._compiled import FASTMATH, prefetch

#: CSR kernels are compiled for each dimension up to this one.
LARGEST_KNOWN_DIM = 16


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH)
def dense_advance(data, indices, indptr, width, row, ahead, Theta, state, g, u, raw):
    """Θ ← Θ + u g xᵀ for dense `row`, then raw = Θz for dense row `ahead`, in one sweep over Θ.

    Returns ``‖z‖²``, the intercept's 1 included. A first score is the same sweep with u = 0, which
    keeps sums in one order and so makes chunks bit-identical to one pass.
    """
    x = data[row * width : (row + 1) * width]
    z = data[ahead * width : (ahead + 1) * width]
    intercept = Theta.shape[1] > width
    z_sq = 1.0 if intercept else 0.0
    for j in range(width):
        z_sq += z[j] * z[j]
    for k in range(Theta.shape[0]):
        theta, c, total = Theta[k], u * g[k], 0.0
        for j in range(width):
            moved = theta[j] + c * x[j]
            theta[j] = moved
            total += moved * z[j]
        raw[k] = total
    if intercept:
        for k in range(Theta.shape[0]):
            Theta[k, width] += u * g[k]
            raw[k] += Theta[k, width]
    return z_sq


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH)
def _add_four(Theta, j, k, x, g):
    """Θ[j, k:k+4] += x g[k:k+4]; all loads before all stores, which makes it one vector."""
    a, b = Theta[j, k] + x * g[k], Theta[j, k + 1] + x * g[k + 1]
    c, d = Theta[j, k + 2] + x * g[k + 2], Theta[j, k + 3] + x * g[k + 3]
    Theta[j, k], Theta[j, k + 1], Theta[j, k + 2], Theta[j, k + 3] = a, b, c, d


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH)
def _dot(Theta, j0, j1, j2, j3, k, x0, x1, x2, x3):
    left = x0 * Theta[j0, k] + x1 * Theta[j1, k]
    return left + (x2 * Theta[j2, k] + x3 * Theta[j3, k])


#: Positions in CSR arrays are unsigned, which spares a check for negative indices on every access.
ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@functools.cache
def csr_advance_for(known_dim):
    """`dense_advance` for CSR rows.

    Rows of Θ are short: loops over a dimension known to the compiler (`known_dim`, or any if 0) are
    unrolled. Wide problems otherwise wait for memory, so while the rows of Θ that `row` touches are
    moved, those that `ahead` will read are prefetched.
    """

    @njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH)
    def csr_advance(data, indices, indptr, width, row, ahead, Theta, state, g, u, raw):
        dim = known_dim if known_dim > 0 else raw.shape[0]
        quads = dim // 4 * 4
        start, stop = np.uint64(indptr[row]), np.uint64(indptr[row + 1])
        first, last = np.uint64(indptr[ahead]), np.uint64(indptr[ahead + 1])
        for t in range(start, stop):
            x, j, coming = u * data[t], np.uint64(indices[t]), first + (t - start)
            if coming < last:
                line = int64(indices[coming]) * dim
                prefetch(Theta, line)
                prefetch(Theta, line + dim - 1)
            for k in range(0, quads, 4):
                _add_four(Theta, j, k, x, g)
            for k in range(quads, dim):
                Theta[j, k] += x * g[k]
        intercept = Theta.shape[0] > width
        for k in range(dim):
            raw[k] = 0.0
            if intercept:
                Theta[width, k] += u * g[k]
                raw[k] = Theta[width, k]
        z_sq = 1.0 if intercept else 0.0
        blocked = first + (last - first) // FOUR * FOUR
        for t in range(first, blocked, FOUR):
            x0, x1, x2, x3 = data[t], data[t + ONE], data[t + TWO], data[t + THREE]
            j0, j1 = np.uint64(indices[t]), np.uint64(indices[t + ONE])
            j2, j3 = np.uint64(indices[t + TWO]), np.uint64(indices[t + THREE])
            z_sq += (x0 * x0 + x1 * x1) + (x2 * x2 + x3 * x3)
            for k in range(0, quads, 4):
                a = raw[k] + _dot(Theta, j0, j1, j2, j3, k, x0, x1, x2, x3)
                b = raw[k + 1] + _dot(Theta, j0, j1, j2, j3, k + 1, x0, x1, x2, x3)
                c = raw[k + 2] + _dot(Theta, j0, j1, j2, j3, k + 2, x0, x1, x2, x3)
                d = raw[k + 3] + _dot(Theta, j0, j1, j2, j3, k + 3, x0, x1, x2, x3)
                raw[k], raw[k + 1], raw[k + 2], raw[k + 3] = a, b, c, d
            for k in range(quads, dim):
                raw[k] += _dot(Theta, j0, j1, j2, j3, k, x0, x1, x2, x3)
        for t in range(blocked, last):
            x, j = data[t], np.uint64(indices[t])
            z_sq += x * x
            for k in range(dim):
                raw[k] += x * Theta[j, k]
        return z_sq

    return csr_advance


def advance_kernel(dim, sparse):
    """The primitive for rows of one storage and scores of length `dim`."""
    if sparse:
        return csr_advance_for(dim if dim <= LARGEST_KNOWN_DIM else 0)
    return dense_advance
