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

from skstructured._engine.compiled import is_compiled
from skstructured.estimators.kernel._kept_kernels import (
    add_columns,
    add_tile,
    finish_values,
    mirror,
    multiply,
    read_kernels,
)
from skstructured.estimators.kernel._value_kernels import LAPLACIAN, MULTISCALE, RBF
from skstructured.estimators.kernel._values import KernelFunction

#: Rows, and rows that they are compared with, of which values are computed at a time.
TILE = 256

#: Coefficients between them, over their size, are in single precision what they are.
SMALL, LARGE = 1e-290, 1e30

NO_PLACES = np.zeros(0, dtype=np.int64)

#: Products of rows with more features are left to BLAS.
FEW_FEATURES = 64

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
        self.across = np.ascontiguousarray(self.Z.T)

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
        X, Zt = self.Z[rows], self.across[:, others]
        if X.shape[1] > FEW_FEATURES or not is_compiled(multiply):
            out = X @ Zt
        else:
            out = np.empty((len(X), Zt.shape[1]))
            multiply(X, Zt, out)
        kind, numbers = self.function
        finish_values(kind, numbers, self.squares[rows], self.squares[others], out)
        return out


def tiles(start, stop):
    """Slices of `TILE` from start to stop."""
    return [slice(i, min(i + TILE, stop)) for i in range(start, stop, TILE)]


class Rounded:
    """Coefficients (dim, n) in single precision, divided by their size so that they have room.

    Attributes
    ----------
    small : ndarray of shape (c, n)
        With a row of zeros behind them where they are odd.
    size : float
        What `small` is to be multiplied by.
    """

    def __init__(self, coefs, n):
        largest = max(coefs.max(initial=0.0), -coefs.min(initial=0.0))
        self.size = float(largest) if SMALL < largest < np.inf else 1.0
        dim = len(coefs)
        self.small = np.zeros((dim + dim % 2, n), dtype=np.float32)
        np.multiply(coefs[:, :n], 1.0 / self.size, out=self.small[:dim], casting="unsafe")

    def add(self, own, index, coefs):
        """Add own (m, c) to columns of coefs; whether these still have room here."""
        add_columns(own, index, coefs, self.small, 1.0 / self.size)
        return bool(abs(own).max(initial=0.0) < LARGE * self.size)


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
        out = np.empty((len(which), len(coefs)))
        self.read(coefs, Rounded(coefs, self.matrix.shape[1]), which, NO_PLACES, 0, out)
        return out

    def read(self, coefs, rounded, which, places, first, data):
        """Rows `first` and on of data: scores of the rows `which`, and kernels with `places`.

        Of these the first row has `first` + 1, the next one more, and so on.
        """
        dim, kept = len(coefs), which < len(self.matrix)
        if not is_compiled(read_kernels):
            out = data[first : first + len(which)]
            out[:, :dim] = self.matrix[which] @ (rounded.size * rounded.small[:dim].T)
            out[:, dim : dim + len(places)] = self.matrix[which[:, None], places]
            return
        if kept.all():
            given = rounded.small, rounded.size, places, first, dim, data
            read_kernels(self.matrix, which, *given)
            return
        self._compute(coefs, which[~kept], places, dim, data, first + np.flatnonzero(~kept))
        if kept.any():
            some, order = which[kept], first + np.flatnonzero(kept)
            part = np.zeros((len(some), dim + len(places)))
            read_kernels(self.matrix, some, rounded.small, rounded.size, NO_PLACES, 0, dim, part)
            part[:, dim:] = self.matrix[some[:, None], places]
            data[order, : part.shape[1]] = part

    def _compute(self, coefs, which, places, dim, data, order):
        """The same for rows whose kernels are not kept, which go to rows `order` of data."""
        scores = np.zeros((len(which), dim))
        for others in tiles(0, self.matrix.shape[1]):
            add_tile(self.values.tile(which, others), coefs, others.start, scores)
        data[order, :dim] = scores
        if len(places):
            data[order, dim : dim + len(places)] = self.values.tile(which, places)


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
