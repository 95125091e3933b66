"""Kernels of all pairs of the rows of `fit`, for passes in which every row is visited again.

`fit` knows all rows beforehand. The kernels of as many rows as there is room for are computed once
and kept in single precision, less a number amid them: if all are nearly the same, as with a small
γ, their differences keep their digits. Kernels of the other rows are computed again when they are
asked for, in double precision.
"""

import numpy as np

from skstructured._engine.compiled import FASTMATH, is_compiled, kernel

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


#: Kernels of rows with all that are computed at a time.
CELLS = 1 << 20

#: Rows whose kernels have the number amid all as their mean.
FIRST = 32

#: Kernels that are kept are below: their sums are far from the end of single precision.
LARGE = 1e30

#: Sizes of coefficients are between these numbers, so their squares are finite and above 0.
SMALL, HUGE = 1e-150, 1e150

#: Of fewer rows sums are left to numpy, so that nothing is compiled for them alone.
MANY = 1000

NO_PLACES = np.zeros(0, dtype=np.int64)


class KeptKernels:
    """Kernels of n rows with all of them; those of the first rows are in memory.

    Parameters
    ----------
    support : Support
        The rows.
    Z : ndarray of shape (n, p)
        The same rows.
    cache : float
        Bytes that the kernels may take.

    Attributes
    ----------
    matrix : ndarray of shape (kept, n)
        Kernels of the first rows with all, less `middle`, in single precision.
    middle : float
        The mean of the first of them.
    """

    def __init__(self, support, Z, cache):
        self.support, self.Z, n = support, Z, support.count
        self.middle = float(support.kernels(Z[:FIRST]).mean())
        kept, step = min(n, int(cache // (4 * n))), CELLS // n + 1
        self.matrix = np.empty((kept, n), dtype=np.float32)
        for start in range(0, kept, step):
            part = self.matrix[start : start + step]
            with np.errstate(over="ignore", invalid="ignore"):
                support.write_kernels(Z[start : start + len(part)], self.middle, part)
                small = part.max() < LARGE and part.min() > -LARGE
            if not small:
                self.matrix, self.middle = self.matrix[:0], 0.0
                break

    def read(self, coefs, which, places=NO_PLACES):
        """Σ_i coefs_i k(x_i, x), (m, c), of rows at some places; their kernels with others, (m, q).

        The result has both side by side; coefs are (c, n) at least.
        """
        coefs, kept = coefs[:, : len(self.Z)], which < len(self.matrix)
        out = np.empty((len(which), len(coefs) + len(places)))
        out[kept] = self._kept(coefs, which[kept], places)
        if not kept.all():
            values = self.support.kernels(self.Z[which[~kept]]) - self.middle
            out[~kept] = np.concatenate([values @ coefs.T, values[:, places]], axis=1)
        out[:, : len(coefs)] += self.middle * coefs.sum(axis=1)
        out[:, len(coefs) :] += self.middle
        return out

    def _kept(self, coefs, which, places):
        """`read` of rows that are kept, less what `middle` adds."""
        c, out = len(coefs), np.empty((len(which), len(coefs) + len(places)))
        size = np.sqrt(np.clip(np.einsum("ki,ki->k", coefs, coefs), SMALL**2, HUGE**2))
        small = np.zeros((-(-c // 4) * 4, len(self.Z)), dtype=np.float32)
        np.multiply(coefs, 1.0 / size[:, None], out=small[:c], casting="unsafe")
        if len(self.Z) > MANY and is_compiled(sum_kernels):
            sum_kernels(self.matrix, which, small, places, out)
        else:
            rows = self.matrix[which]
            out[:, :c], out[:, c:] = rows @ small[:c].T, rows[:, places]
        out[:, :c] *= size
        return out
