"""Kernels of all pairs of the rows of `fit`, for passes in which every row is visited again.

`fit` knows all rows beforehand. The kernels of as many rows as there is room for are computed once
and kept in single precision, less a number amid them: if all are nearly the same, as with a small
γ, their differences keep their digits. Kernels of the other rows are computed again when they are
asked for, in double precision.
"""

import numpy as np

from skstructured._engine.compiled import FASTMATH, is_kernel, kernel
from skstructured.estimators.kernel._values import KernelFunction, KernelKind


@kernel(fastmath=FASTMATH)
def _add_pair(none, g0, g1, g2, g3, v, w, total):
    """Total (2, 4) ← + two outputs of four rows, in the precision of `none`, which is 0."""
    a0, a1, a2, a3 = none, none, none, none
    b0, b1, b2, b3 = none, none, none, none
    for j in range(g0.shape[0]):
        x0, x1, x2, x3 = g0[j], g1[j], g2[j], g3[j]
        a0 += x0 * v[j]
        a1 += x1 * v[j]
        a2 += x2 * v[j]
        a3 += x3 * v[j]
        b0 += x0 * w[j]
        b1 += x1 * w[j]
        b2 += x2 * w[j]
        b3 += x3 * w[j]
    total[0, 0] += a0
    total[0, 1] += a1
    total[0, 2] += a2
    total[0, 3] += a3
    total[1, 0] += b0
    total[1, 1] += b1
    total[1, 2] += b2
    total[1, 3] += b3


@kernel
def sum_kernels(matrix, middle, indices, small, size, sums, places, out):
    """Out (m, dim + q) = sums of kernels of rows `indices` with all times coefficients.

    Kernels are `matrix` (kept, n) plus `middle`, and coefficients `small` (c, n) times `size`, c a
    multiple of two, with their `sums`. Behind them stand the kernels with the rows at q places.
    """
    (c, n), last, dim = small.shape, indices.shape[0] - 1, out.shape[1] - places.shape[0]
    size_of_chunk, total = 4096, np.empty((c, 4))  # kernels that are summed in single precision
    for r in range(0, indices.shape[0], 4):
        total[:] = 0.0
        g0, g1 = matrix[indices[r]], matrix[indices[min(r + 1, last)]]
        g2, g3 = matrix[indices[min(r + 2, last)]], matrix[indices[min(r + 3, last)]]
        for start in range(0, n, size_of_chunk):
            chunk = slice(start, min(start + size_of_chunk, n))
            rows = g0[chunk], g1[chunk], g2[chunk], g3[chunk]
            for k in range(0, c, 2):
                weights = small[k, start:], small[k + 1, start:]
                _add_pair(np.float32(0.0), *rows, *weights, total[k : k + 2])
        for q in range(min(4, indices.shape[0] - r)):
            row = matrix[indices[r + q]]
            for k in range(dim):
                out[r + q, k] = size[k] * total[k, q] + middle * sums[k]
            for i in range(places.shape[0]):
                out[r + q, dim + i] = row[places[i]] + middle


class KeptKernels:
    """Kernels of the n rows Z of `support` with all; the first, in `cache` bytes, are in memory.

    Attributes
    ----------
    matrix : ndarray of shape (kept, n)
        Kernels of the first rows with all, less `middle`, in single precision.
    middle : float
        The median of the first of them: a mean would depend on a few distant rows.
    centered : ndarray of shape (n, p) or None
        Rows whose products give the kernels; None if differences of rows must.
    """

    #: Kernels that are computed at a time.
    block_size = 1 << 19

    #: Sums of so few rows are left to numpy, so nothing is compiled for them alone.
    few_rows = 1000

    def __init__(self, support, Z, cache):
        self.support, self.Z, n = support, Z, len(Z)
        self.centered = self._centered()
        self.middle = float(np.median(self.values(np.arange(min(32, n)))))
        n_kept, step = min(n, int(cache // (4 * n))), self.block_size // n + 1
        self.matrix = np.empty((n_kept, n), dtype=np.float32)
        for start in range(0, n_kept, step):
            if not self._store(start, min(start + step, n_kept)):
                self.matrix, self.middle = self.matrix[:0], 0.0
                break

    def _centered(self):
        """See the attribute, in double precision."""
        function, Z = self.support.function, np.asarray(self.Z, dtype=np.float64)
        if not isinstance(function, KernelFunction):
            return None
        Z = Z - Z.mean(axis=0) if function.kind in (KernelKind.RBF, KernelKind.MULTISCALE) else Z
        return Z if function.has_products(Z) else None

    def _store(self, start, stop):
        """Keep kernels of some rows, products from the diagonal on; whether all are small."""
        begin = 0 if self.centered is None else start
        block = self.matrix[start:stop, begin:]
        with np.errstate(over="ignore", invalid="ignore"):
            block[:] = self.values(np.arange(start, stop), begin, self.middle)
            if not (block.max() < 1e30 and block.min() > -1e30):  # their sums have to be finite
                return False
        if self.centered is not None:
            self.matrix[stop:, start:stop] = self.matrix[start:stop, stop : len(self.matrix)].T
        return True

    def values(self, indices, begin=0, less=0.0):
        """Kernels (m, n − begin) of the rows `indices` with all from one on, less a number."""
        if self.centered is None:
            return self.support.kernels(self.Z[indices])[:, begin:] - less
        X, Z = self.centered[indices], self.centered[begin:]
        return self.support.function.by_products(X, Z, less)

    def read(self, coefs, indices, places=()):
        """Σ_i coefs_i k(x_i, x), (m, c), of rows at some places; their kernels with others, (m, q).

        The result has both side by side; coefs are (c, n) at least.
        """
        places = np.asarray(places, dtype=np.int64)
        is_kept, coefs = indices < len(self.matrix), coefs[:, : len(self.Z)]
        if is_kept.all():
            return self._kept(coefs, indices, places)
        out = np.empty((len(indices), len(coefs) + len(places)))
        out[is_kept] = self._kept(coefs, indices[is_kept], places)
        out[~is_kept] = _kernel_sums(self.values(indices[~is_kept]), coefs, places)
        return out

    def _kept(self, coefs, indices, places):
        """`read` of rows that are kept."""
        (c, n), m = (len(coefs), len(self.Z)), len(indices)
        if n <= self.few_rows or not is_kernel(sum_kernels):
            return _kernel_sums(self.matrix[indices] + np.float64(self.middle), coefs, places)
        small, out = np.zeros((c + c % 2, n), np.float32), np.empty((m, c + len(places)))
        with np.errstate(over="ignore", invalid="ignore"):  # scores are checked
            size = np.clip(np.sqrt(np.einsum("ij,ij->i", coefs, coefs)), 1e-150, 1e150)
            small[:c], sums = coefs / size[:, None], coefs.sum(axis=1)
        sum_kernels(self.matrix, self.middle, indices, small, size, sums, places, out)
        return out


def _kernel_sums(values, coefs, places):
    """Kernels (m, n) times coefficients, and behind the sums those with the rows at some places."""
    return np.hstack([values @ coefs.T, values[:, places]])
