"""Kernels of all pairs of the rows of `fit`, for passes in which every row is visited again.

`fit` knows all rows beforehand. The kernels of as many rows as there is room for are computed once
and kept in single precision, less a number amid them: if all are nearly the same, as with a small
γ, their differences keep their digits. Kernels of the other rows are computed again when they are
asked for, in double precision.
"""

import numpy as np

from skstructured._engine.compiled import is_compiled
from skstructured.estimators.kernel._kept_sums import sum_kernels

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
