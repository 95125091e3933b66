"""Kernels of all pairs of the rows of `fit`, for passes in which every row is visited again.

`fit` knows all rows beforehand, and so need not compute values that are the same in any company:
products of rows are those of matrices, by BLAS, in tiles that stay in the cache, and of the
symmetric matrix one triangle is computed. Squared distances are ``‖x‖² + ‖z‖² − 2<x, z>`` of rows
without their mean, in double precision. Their errors are some eps ‖x‖² each; where that could move
a value by more than `TOLERANCE`, differences are taken instead, as streams do.

The kernels of as many rows as there is room for are kept in single precision. Those of the others
are computed again when they are asked for, in double precision.
"""

import numpy as np

from skstructured.estimators.kernel._value_kernels import (
    LAPLACIAN,
    MULTISCALE,
    RBF,
    finish_values,
    mirror,
)
from skstructured.estimators.kernel._values import KernelFunction

#: Rows, and rows that they are compared with, of which values are computed at a time.
TILE = 256

#: Rows scored at a time: their kernels with some thousand others stay in the cache.
SCORED = 64

#: By how much values may differ from those by differences, at most.
TOLERANCE = 1e-9


class ByProducts:
    """Values of a kernel between rows Z (n, p), by products of matrices.

    Parameters
    ----------
    function : KernelFunction
        The kernel.
    Z : ndarray of shape (n, p)
        Rows as `KernelFunction.prepared` returns them.
    """

    def __init__(self, function, Z):
        self.function = function
        Z = np.asarray(Z, dtype=np.float64)
        self.Z = Z - Z.mean(axis=0) if function.kind in (RBF, MULTISCALE) else Z
        self.squares = np.einsum("ij,ij->i", self.Z, self.Z)

    @property
    def is_exact(self):
        """Whether values are those by differences, to `TOLERANCE`."""
        if self.function.kind == LAPLACIAN:
            return False
        steepest = {RBF: 1.0, MULTISCALE: 4.0}.get(self.function.kind, 0.0)
        if steepest == 0.0:
            return True
        error = 8.0 * np.finfo(np.float64).eps * self.squares.max(initial=0.0)
        return bool(steepest * self.function.numbers[0] * error <= TOLERANCE)

    def tile(self, rows, others):
        """Kernels of some rows with others; both are slices, or places."""
        out = self.Z[rows] @ self.Z[others].T
        kind, numbers = self.function
        finish_values(kind, numbers, self.squares[rows], self.squares[others], out)
        return out


def tiles(start, stop):
    """Slices of `TILE` from start to stop."""
    return [slice(i, min(i + TILE, stop)) for i in range(start, stop, TILE)]


def single(coefs):
    """Coefficients (c, n) in single precision, and what they were divided by, so that they fit."""
    largest = max(coefs.max(initial=0.0), -coefs.min(initial=0.0))
    if not 1e-300 < largest < np.inf:
        return coefs.astype(np.float32), 1.0
    return np.multiply(coefs, 1.0 / largest).astype(np.float32), largest


class KeptKernels:
    """Kernels of rows with all: the first `kept` of them are in memory.

    Parameters
    ----------
    matrix : ndarray of shape (kept, n)
        Kernels of the first rows with all, in single precision.
    values : ByProducts or None
        What computes those of the others; None where there are none.
    """

    def __init__(self, matrix, values=None):
        self.matrix, self.values = matrix, values

    @classmethod
    def of(cls, values, room):
        """Kernels by a `ByProducts`, of as many rows as `room` bytes have place for."""
        n = len(values.Z)
        kept = min(n, int(room // (4 * max(n, 1))))
        matrix = np.empty((kept, n), dtype=np.float32)
        for rows in tiles(0, kept):
            for others in tiles(0, rows.start):
                tile = values.tile(rows, others)
                mirror(tile, matrix[rows, others], matrix[others, rows])
            matrix[rows, rows] = values.tile(rows, rows)
        for others in tiles(kept, n):
            for rows in tiles(0, kept):
                matrix[rows, others] = values.tile(rows, others)
        return cls(matrix, values)

    def scores(self, coefs, which):
        """Σ_i coefs_i k(x_i, x), (m, c), of the rows x at some places; coefs are (c, n)."""
        out, n = np.empty((len(which), len(coefs))), self.matrix.shape[1]
        coefs, kept = coefs[:, :n], which < len(self.matrix)
        if kept.any():
            out[kept] = self._kept_scores(coefs, which[kept])
        if not kept.all():
            out[~kept] = self._computed_scores(coefs, which[~kept])
        return out

    def _kept_scores(self, coefs, which):
        out = np.empty((len(which), len(coefs)))
        small, size = single(coefs)
        for start in range(0, len(which), SCORED):
            part = slice(start, start + SCORED)
            out[part] = self.matrix[which[part]] @ small.T
        return out if size == 1.0 else out * size

    def _computed_scores(self, coefs, which):
        out = np.zeros((len(which), len(coefs)))
        for others in tiles(0, coefs.shape[1]):
            out += self.values.tile(which, others) @ coefs[:, others].T
        return out

    def between(self, which, others):
        """Kernels (m, others) of the rows at some places with those at others."""
        kept = which < len(self.matrix)
        if kept.all():
            return self.matrix[which[:, None], others]
        out = np.empty((len(which), len(others)))
        out[kept] = self.matrix[which[kept][:, None], others]
        out[~kept] = self.values.tile(which[~kept], others)
        return out


def kept_kernels(support, Z, cache):
    """`KeptKernels` of rows Z, the rows of a `Support`; None where there is no room for them."""
    function = support.function
    if isinstance(function, KernelFunction):
        values = ByProducts(function, Z)
        if values.is_exact:
            return KeptKernels.of(values, cache)
    if 4 * len(Z) * len(support.index) > cache:
        return None
    return KeptKernels(support.all_kernels(Z)[:, : len(Z)])
