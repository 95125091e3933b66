"""Compiled sums of kernels of all pairs of rows, as they are kept.

Sums are in single precision, of four rows and three or four outputs at a time, so that a number
that is read takes part in several products; chunks are added up in double precision.
"""

import numpy as np

from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.instructions import prefetch

#: Kernels of a row that are summed at a time.
CHUNK = 4096

#: Rows that are read together.
ABREAST = 4

#: Bytes that memory is read by, and how many such lines of a row are asked for beforehand.
LINE, ASKED = 64, 16


@kernel(fastmath=FASTMATH)
def _add_two(none, g, c0, c1, k, total):
    """Sums (4, c) of outputs k and k + 1 ← + a chunk g of four rows times two of coefficients.

    In the precision of `none`, which is 0.
    """
    g0, g1, g2, g3 = g[0], g[1], g[2], g[3]
    a0, a1, a2, a3 = none, none, none, none
    b0, b1, b2, b3 = none, none, none, none
    for j in range(c0.shape[0]):
        a0 += g0[j] * c0[j]
        a1 += g1[j] * c0[j]
        a2 += g2[j] * c0[j]
        a3 += g3[j] * c0[j]
        b0 += g0[j] * c1[j]
        b1 += g1[j] * c1[j]
        b2 += g2[j] * c1[j]
        b3 += g3[j] * c1[j]
    total[0, k] += a0
    total[1, k] += a1
    total[2, k] += a2
    total[3, k] += a3
    total[0, k + 1] += b0
    total[1, k + 1] += b1
    total[2, k + 1] += b2
    total[3, k + 1] += b3


def tiled(dim):
    """The least number of outputs, at least `dim`, that threes and fours add up to."""
    return {1: 3, 2: 3, 5: 6}.get(dim, dim)


@kernel(inline=True)
def _add_to(total, k, a0, a1, a2, a3):
    total[0, k] += a0
    total[1, k] += a1
    total[2, k] += a2
    total[3, k] += a3


@kernel(fastmath=FASTMATH)
def _add_three(none, rows, small, k, start, stop, total):
    """Sums (4, c) of outputs k to k + 2 ← + a chunk of four rows times that of coefficients.

    In the precision of `none`, which is 0.
    """
    g0, g1, g2, g3 = rows[0], rows[1], rows[2], rows[3]
    g0, g1, g2, g3 = g0[start:stop], g1[start:stop], g2[start:stop], g3[start:stop]
    w0, w1, w2 = small[k], small[k + 1], small[k + 2]
    w0, w1, w2 = w0[start:stop], w1[start:stop], w2[start:stop]
    a0, a1, a2, a3 = none, none, none, none
    b0, b1, b2, b3 = none, none, none, none
    c0, c1, c2, c3 = none, none, none, none
    for j in range(stop - start):
        x0, x1 = np.float32(g0[j]), np.float32(g1[j])
        x2, x3 = np.float32(g2[j]), np.float32(g3[j])
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
    _add_to(total, k, a0, a1, a2, a3)
    _add_to(total, k + 1, b0, b1, b2, b3)
    _add_to(total, k + 2, c0, c1, c2, c3)


@kernel(fastmath=FASTMATH)
def _add_four(none, rows, small, k, start, stop, total):
    """Sums (4, c) of outputs k to k + 3 ← + a chunk of four rows times that of coefficients.

    In the precision of `none`, which is 0.
    """
    g0, g1, g2, g3 = rows[0], rows[1], rows[2], rows[3]
    g0, g1, g2, g3 = g0[start:stop], g1[start:stop], g2[start:stop], g3[start:stop]
    w0, w1, w2, w3 = small[k], small[k + 1], small[k + 2], small[k + 3]
    w0, w1, w2, w3 = w0[start:stop], w1[start:stop], w2[start:stop], w3[start:stop]
    a0, a1, a2, a3 = none, none, none, none
    b0, b1, b2, b3 = none, none, none, none
    c0, c1, c2, c3 = none, none, none, none
    d0, d1, d2, d3 = none, none, none, none
    for j in range(stop - start):
        x0, x1 = np.float32(g0[j]), np.float32(g1[j])
        x2, x3 = np.float32(g2[j]), np.float32(g3[j])
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
    _add_to(total, k, a0, a1, a2, a3)
    _add_to(total, k + 1, b0, b1, b2, b3)
    _add_to(total, k + 2, c0, c1, c2, c3)
    _add_to(total, k + 3, d0, d1, d2, d3)


@kernel
def _ask_for(matrix, rows):
    """Have memory send the beginnings of rows; processors guess how they go on."""
    n, flat = matrix.shape[1], matrix.reshape(-1)
    step = LINE // matrix.itemsize
    for q in range(rows.shape[0]):
        for j in range(0, min(n, ASKED * step), step):
            prefetch(flat, rows[q] * n + j)


@kernel
def read_kernels(matrix, unit, which, small, size, places, first, dim, data):
    """Rows `first` and on of data: scores (dim,) of the rows `which`, and their kernels so far.

    Scores are `size` (dim,) times the sums of kernels with all rows times coefficients, which are
    `small` (c, n), c of `tiled`; behind them stand the kernels with the rows at `places`, as far as
    to the row itself, which is place `first` + r. They are read while the row is in the cache.
    `unit` stands for 1 in the matrix.
    """
    n, count, c, share = small.shape[1], which.shape[0], small.shape[0], 1.0 / unit
    total = np.zeros((ABREAST, c))
    for r in range(0, count, ABREAST):
        total[:] = 0.0
        last = count - 1
        w0, w1 = which[r], which[min(r + 1, last)]
        w2, w3 = which[min(r + 2, last)], which[min(r + 3, last)]
        rows = (matrix[w0], matrix[w1], matrix[w2], matrix[w3])
        _ask_for(matrix, which[r + ABREAST : r + 2 * ABREAST])
        for start in range(0, n, CHUNK):
            stop, k = min(start + CHUNK, n), 0
            while k < c:
                if (c - k) % 4 == 0:
                    _add_four(np.float32(0.0), rows, small, k, start, stop, total)
                    k += 4
                else:
                    _add_three(np.float32(0.0), rows, small, k, start, stop, total)
                    k += 3
        for q in range(min(ABREAST, count - r)):
            out, row = data[first + r + q], matrix[which[r + q]]
            for k in range(dim):
                out[k] = size[k] * (total[q, k] * share)
            for i in range(min(first + r + q + 1, places.shape[0])):
                out[dim + i] = row[places[i]] * share


@kernel
def add_tile(tile, coefs, start, out):
    """Out (m, dim) ← + kernels (m, tile) times coefficients (dim, n) from column `start` on."""
    count, dim = out.shape[0], out.shape[1]
    g = np.zeros((ABREAST, tile.shape[1]))
    total = np.zeros((ABREAST, dim + dim % 2))
    for r in range(0, count, ABREAST):
        total[:] = 0.0
        for q in range(ABREAST):
            g[q] = tile[min(r + q, count - 1)]
        for k in range(0, dim, 2):
            c0 = coefs[k, start : start + tile.shape[1]]
            c1 = coefs[min(k + 1, dim - 1), start : start + tile.shape[1]]
            _add_two(0.0, g, c0, c1, k, total)
        for q in range(min(ABREAST, count - r)):
            for k in range(dim):
                out[r + q, k] += total[q, k]


@kernel
def add_columns(own, index, coefs, small, size, largest):
    """Columns `index` of coefs ← + own (rows, c), and of small: theirs over the size of outputs.

    The largest (dim,) of what is added to each output is found as well.
    """
    for k in range(coefs.shape[0]):
        row = coefs[k]
        for i in range(index.shape[0]):
            row[index[i]] += own[i, k]
    for k in range(size.shape[0]):
        row, out, share, most = coefs[k], small[k], 1.0 / size[k], 0.0
        for i in range(index.shape[0]):
            out[index[i]] = row[index[i]] * share
            most = max(most, abs(own[i, k]))
        largest[k] = most
