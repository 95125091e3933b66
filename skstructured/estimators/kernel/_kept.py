"""Kernels of all pairs of the rows of `fit`, for passes in which every row is visited again.

`fit` knows all rows beforehand, and so need not compute values that are the same in any company:
products of rows are those of matrices, in tiles that stay in the cache, and of the symmetric
matrix one triangle is computed. Squared distances are ``‖x‖² + ‖z‖² − 2<x, z>`` of rows
without their mean, in double precision. Their errors are some eps ‖x‖² each; where that could move
a value by more than `TOLERANCE`, differences are taken instead, as streams do.

The kernels of as many rows as there is room for are kept in single precision; of more than `MANY`
rows, whose passes take as long as memory does to read them, values between 0 and 1 are kept in 16
bits, to half of 1/`UNIT`. Kernels of the others are computed again when they are asked for, in
double precision. Of at most `MANY` rows values are by differences and numpy sums them, so that
nothing is compiled for these passes alone.
"""

import numpy as np

from skstructured._engine.compiled import is_compiled
from skstructured.estimators.kernel._arc_cosine import finish_arc_cosines
from skstructured.estimators.kernel._kept_kernels import (
    add_columns,
    add_tile,
    read_kernels,
    tiled,
)
from skstructured.estimators.kernel._kernel_tiles import finish_values, multiply, store_tile
from skstructured.estimators.kernel._value_kernels import (
    ARC_COSINE,
    LAPLACIAN,
    MULTISCALE,
    POLY,
    RBF,
    SIGMOID,
)
from skstructured.estimators.kernel._values import KernelFunction

#: Rows, and rows that they are compared with, of which values are computed at a time.
TILE = 256

#: Coefficients below are none. Kernels, and what is added to coefficients over their size, are
#: below the other: sums are far from the end of single precision.
SMALL, LARGE = 1e-290, 1e30

#: What stands for 1 in 16 bits.
UNIT = 65535.0

#: Kernels of fewer rows have room in caches as they are.
MANY = 1000

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

    @property
    def are_small(self):
        """Whether sums of values are far from the end of single precision."""
        kind, (gamma, coef0, degree, constant) = self.function
        if self.function.is_share or kind in (RBF, MULTISCALE, SIGMOID):
            return bool(constant < LARGE)
        largest = self.squares.max(initial=0.0)
        if kind == POLY:
            largest = (abs(gamma) * largest + abs(coef0)) ** degree
        elif kind == ARC_COSINE:
            largest += coef0
        return bool(largest + constant < LARGE)

    def tile(self, rows, others):
        """Kernels of some rows with others; both are slices, or places."""
        X, Zt = self.Z[rows], np.ascontiguousarray(self.across[:, others])
        if X.shape[1] > FEW_FEATURES or not is_compiled(multiply):
            out = X @ Zt
        else:
            out = np.empty((len(X), Zt.shape[1]))
            multiply(X, Zt, out)
        kind, numbers = self.function
        given = numbers, self.squares[rows], self.squares[others], out
        if kind == ARC_COSINE:
            finish_arc_cosines(*given)
        else:
            finish_values(kind, *given)
        return out


def tiles(start, stop):
    """Slices of `TILE` from start to stop."""
    return [slice(i, min(i + TILE, stop)) for i in range(start, stop, TILE)]


class Rounded:
    """Coefficients (dim, n) in single precision, each output's divided by its size.

    Attributes
    ----------
    small : ndarray of shape (c, n)
        With a row of zeros behind them where they are odd.
    size : ndarray of shape (dim,)
        What `small` is to be multiplied by: the largest coefficient of an output.
    """

    def __init__(self, coefs, n):
        dim, coefs = len(coefs), coefs[:, :n]
        largest = np.maximum(coefs.max(axis=1, initial=0.0), -coefs.min(axis=1, initial=0.0))
        self.sized = (largest > SMALL) & (largest < np.inf)
        self.size = np.where(self.sized, largest, 1.0)
        self.small = np.zeros((tiled(dim), n), dtype=np.float32)
        np.multiply(coefs, (1.0 / self.size)[:, None], out=self.small[:dim], casting="unsafe")

    def add(self, own, index, coefs):
        """Add own (m, c) to columns of coefs; whether these still have room here."""
        largest = np.empty(len(self.size))
        add_columns(own, index, coefs, self.small, self.size, largest)
        has_room = self.sized & (largest < LARGE * self.size)
        return bool((has_room | (largest == 0.0)).all())


class KeptKernels:
    """Kernels of rows with all: the first `kept` of them are in memory.

    Parameters
    ----------
    matrix : ndarray of shape (kept, n)
        Kernels of the first rows with all, in single precision, or in 16 bits, times `UNIT`.
    values : ByProducts or None, default=None
        What computes those of the others; None where there are none.
    """

    def __init__(self, matrix, values=None):
        self.matrix, self.values = matrix, values
        self.unit = 1.0 if matrix.dtype == np.float32 else UNIT

    @classmethod
    def of(cls, values, room):
        """Kernels by a `ByProducts`, of as many rows as `room` bytes have place for."""
        n = len(values.Z)
        short = n > MANY and values.function.is_share
        dtype = np.dtype(np.uint16 if short else np.float32)
        room = room if values.are_small else 0
        kept = min(n, int(room // (dtype.itemsize * max(n, 1))))
        self = cls(np.empty((kept, n), dtype=dtype), values)
        for rows in tiles(0, kept):
            for others in tiles(0, rows.start):
                self._store(rows, others, True)
            for others in (rows, *tiles(kept, n)):
                self._store(rows, others, False)
        return self

    @property
    def by_numpy(self):
        """Whether the kernels are few, or cannot be read by what is compiled."""
        return self.matrix.shape[1] <= MANY or not is_compiled(read_kernels)

    def _store(self, rows, others, mirrored):
        """Compute kernels of some rows with others, which are theirs with those as well."""
        tile = self.values.tile(rows, others)
        if is_compiled(store_tile):
            store_tile(tile, self.unit, self.matrix, rows.start, others.start, mirrored)
            return
        if self.unit != 1.0:
            tile = self.unit * tile + 0.5
        self.matrix[rows, others] = tile
        if mirrored:
            self.matrix[others, rows] = tile.T

    def scores(self, coefs, which):
        """Σ_i coefs_i k(x_i, x), (m, c), of the rows x at some places; coefs are (c, n)."""
        out = np.empty((len(which), len(coefs)))
        self.read(coefs, self.rounded(coefs), which, NO_PLACES, 0, out)
        return out

    def rounded(self, coefs):
        """Coefficients as `read` takes them: `Rounded`, or None where numpy sums them."""
        return None if self.by_numpy else Rounded(coefs, self.matrix.shape[1])

    def read(self, coefs, rounded, which, places, first, data):
        """Rows `first` and on of data: scores of the rows `which`, and kernels with `places`.

        Of these the first row has `first` + 1, the next one more, and so on.
        """
        dim, kept = len(coefs), which < len(self.matrix)
        if rounded is not None and kept.all():
            given = rounded.small, rounded.size, places, first, dim, data
            read_kernels(self.matrix, self.unit, which, *given)
            return
        order, lost = first + np.flatnonzero(kept), first + np.flatnonzero(~kept)
        data[order, :dim] = self._kept_scores(coefs, rounded, which[kept])
        if len(lost):
            data[lost, :dim] = self._computed_scores(coefs, which[~kept])
        if len(places):
            here = data[:, dim : dim + len(places)]
            here[order] = self.matrix[which[kept][:, None], places] / self.unit
            here[lost] = self.values.tile(which[~kept], places) if len(lost) else 0.0

    def _kept_scores(self, coefs, rounded, which):
        if rounded is None:
            return self.matrix[which] @ (coefs[:, : self.matrix.shape[1]].T / self.unit)
        out = np.empty((len(which), len(coefs)))
        given = rounded.small, rounded.size, NO_PLACES, 0, len(coefs), out
        if len(which) > 0:
            read_kernels(self.matrix, self.unit, which, *given)
        return out

    def _computed_scores(self, coefs, which):
        out = np.zeros((len(which), len(coefs)))
        for others in tiles(0, self.matrix.shape[1]):
            add_tile(self.values.tile(which, others), coefs, others.start, out)
        return out


def kept_kernels(support, Z, cache):
    """`KeptKernels` of rows Z, the rows of a `Support`; None where there is no room for them."""
    function, has_room = support.function, 4 * len(Z) * support.count <= cache
    few = _all_of(support, Z) if has_room and len(Z) <= MANY else None
    if few is not None:
        return few
    if isinstance(function, KernelFunction):
        values = ByProducts(function, Z)
        if values.is_exact:
            return KeptKernels.of(values, cache)
    return _all_of(support, Z) if has_room else None


def _all_of(support, Z):
    """All kernels by differences; None where their sums would overflow."""
    with np.errstate(over="ignore"):
        matrix = support.all_kernels(Z)
    return KeptKernels(matrix) if matrix.min() > -LARGE and matrix.max() < LARGE else None
