"""Compiled sums of kept kernels times coefficients: rows are read where they lie.

Products by BLAS want the rows of a block side by side; copying them there takes as long as the
product, which has few outputs.
"""

import numpy as np

from skstructured._engine.compiled import FASTMATH, kernel

#: Kernels of a row that are summed in single precision.
CHUNK = 4096


@kernel(inline=True)
def _add_row(total, k, a0, a1, a2, a3):
    total[k, 0] += a0
    total[k, 1] += a1
    total[k, 2] += a2
    total[k, 3] += a3


@kernel(fastmath=FASTMATH)
def _add_four(none, g0, g1, g2, g3, small, start, total):
    """Total (4, 4) ← + four outputs of four rows, in the precision of `none`, which is 0."""
    w0, w1, w2, w3 = small[0][start:], small[1][start:], small[2][start:], small[3][start:]
    a0, a1, a2, a3 = none, none, none, none
    b0, b1, b2, b3 = none, none, none, none
    c0, c1, c2, c3 = none, none, none, none
    d0, d1, d2, d3 = none, none, none, none
    for j in range(g0.shape[0]):
        x0, x1, x2, x3 = g0[j], g1[j], g2[j], g3[j]
        a0 += x0 * w0[j]
        a1 += x1 * w0[j]
        a2 += x2 * w0[j]
        a3 += x3 * w0[j]
        b0 += x0 * w1[j]
        b1 += x1 * w1[j]
        b2 += x2 * w1[j]
        b3 += x3 * w1[j]
        c0 += x0 * w2[j]
        c1 += x1 * w2[j]
        c2 += x2 * w2[j]
        c3 += x3 * w2[j]
        d0 += x0 * w3[j]
        d1 += x1 * w3[j]
        d2 += x2 * w3[j]
        d3 += x3 * w3[j]
    _add_row(total, 0, a0, a1, a2, a3)
    _add_row(total, 1, b0, b1, b2, b3)
    _add_row(total, 2, c0, c1, c2, c3)
    _add_row(total, 3, d0, d1, d2, d3)


@kernel
def sum_kernels(matrix, which, small, places, out):
    """Out (m, dim + q) = sums of rows `which` of a matrix (kept, n) times coefficients (c, n).

    These are followed by zeros up to the next multiple of four, c. Behind the sums stands what the
    rows have at q places.
    """
    (c, n), last, dim = small.shape, which.shape[0] - 1, out.shape[1] - places.shape[0]
    total = np.empty((c, 4))
    for r in range(0, which.shape[0], 4):
        total[:] = 0.0
        g0, g1 = matrix[which[r]], matrix[which[min(r + 1, last)]]
        g2, g3 = matrix[which[min(r + 2, last)]], matrix[which[min(r + 3, last)]]
        for start in range(0, n, CHUNK):
            part = slice(start, min(start + CHUNK, n))
            rows = g0[part], g1[part], g2[part], g3[part]
            for k in range(0, c, 4):
                _add_four(np.float32(0.0), *rows, small[k : k + 4], start, total[k : k + 4])
        for q in range(min(4, which.shape[0] - r)):
            out[r + q, :dim], row = total[:dim, q], matrix[which[r + q]]
            for i in range(places.shape[0]):
                out[r + q, dim + i] = row[places[i]]
