"""Rows of X in the form of compiled functions, and which of them are out of range."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import csr_matrix

from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.types import Array

#: Rows are zero, or their norms lie between these (docs/numbers.md): squares of norms, of weighted
#: norms and of their sums then stay far from both ends of float64.
SHORTEST_ROW, LONGEST_ROW = 1e-100, 1e100

#: As an object, which compares ten times as fast as the type it is of.
DOUBLE = np.dtype(np.float64)

#: Numbers that stay in cache between being transformed and being learned.
CACHED_NUMBERS = 131072


@kernel(inline=True)
def in_range(x_sq, shortest_sq, longest_sq):
    """Whether a row of this ‖x‖² is learned: one whose square is 0 counts as zero."""
    return shortest_sq <= x_sq <= longest_sq or x_sq == 0.0


@kernel(fastmath=FASTMATH)
def first_bad_row(data, indptr, width, n_rows, constant, shortest_sq, longest_sq):
    """First row whose norm is out of range, or -1; `constant` is the square of its intercept."""
    sparse = indptr.shape[0] > 0
    for i in range(n_rows):
        start = indptr[i] if sparse else i * width
        stop = indptr[i + 1] if sparse else start + width
        values, x_sq = data[start:stop], constant
        for t in range(values.shape[0]):
            x_sq += np.float64(values[t]) * np.float64(values[t])
        if not in_range(x_sq, shortest_sq, longest_sq):
            return i
    return -1


def rows_in_cache(size: int, entries: int) -> int:
    """Rows with so many entries each that stay in cache, at most `size`, and 64 if not fewer."""
    return min(size, max(64, CACHED_NUMBERS // max(entries, 1)))


class Rows(NamedTuple):
    """Validated rows of X for compiled functions: float64 or float32 values, int32 indices.

    Dense rows have empty `indices` and `indptr`; `width` excludes the intercept.
    """

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    width: int
    n_rows: int
    X: Any

    @classmethod
    def from_array(cls, X: Any) -> "Rows":
        """Read a C-contiguous array or a CSR matrix of floats without copying its values."""
        if type(X) is not np.ndarray and hasattr(X, "indptr"):
            indices = np.ascontiguousarray(X.indices, dtype=np.int32)
            indptr = np.ascontiguousarray(X.indptr, dtype=np.int32)
            data = np.ascontiguousarray(X.data)
            return cls(data, indices, indptr, X.shape[1], X.shape[0], X)
        (n_rows, width), none = X.shape, np.empty(0, dtype=np.int32)
        return cls(X.reshape(-1), none, none, width, n_rows, X)

    @property
    def matrix(self) -> Any:
        """The rows as an array or a CSR matrix."""
        if self.X is not None:
            return self.X
        arrays = (self.data, self.indices, self.indptr)
        return csr_matrix(arrays, shape=(self.n_rows, self.width))

    def columns(self) -> tuple[Array, csr_matrix]:
        """Columns that have entries, in order, and the CSR rows with these columns alone."""
        first, last = self.indptr[0], self.indptr[-1]
        columns, indices = np.unique(self.indices[first:last], return_inverse=True)
        arrays = (self.data[first:last], indices.astype(np.int32), self.indptr - first)
        return columns, csr_matrix(arrays, shape=(self.n_rows, len(columns)))

    @property
    def arrays(self) -> tuple[Array, Array, Array, int]:
        """The arrays of the rows for compiled functions: data, indices, indptr, width."""
        return self[:4]

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are CSR."""
        return self.indptr.shape[0] > 0

    def is_read_as(self, dtype: DTypeLike) -> bool:
        """Whether functions whose dense rows have this dtype read the rows; CSR is float64."""
        return self.data.dtype == (DOUBLE if self.is_sparse else dtype)

    def block_size(self, size: int) -> int:
        """Rows that stay in cache as a copy, at most `size`."""
        return rows_in_cache(size, len(self.data) // max(self.n_rows, 1))

    def read_as(self, dtype: DTypeLike, order: Array) -> tuple["Rows", Array]:
        """Rows that such functions read, and the order: these, or a copy of those in `order`."""
        if self.is_read_as(dtype):
            return self, order
        taken = self.matrix[order].astype(np.float64 if self.is_sparse else dtype)
        return Rows.from_array(taken), np.arange(len(order))

    def taken(self, order: Array | slice) -> "Rows":
        """The rows of `order`."""
        return Rows.from_array(self.matrix[order])

    def without_gaps(self) -> "Rows":
        """Dense rows with 0 instead of NaN."""
        return Rows.from_array(np.where(np.isnan(self.X), 0.0, self.X).astype(self.data.dtype))

    def first_bad(
        self, intercept: bool = False, shortest: float = SHORTEST_ROW, longest: float = LONGEST_ROW
    ) -> int:
        """Index of the first row that is not finite, or too long, or too short but not 0; or -1."""
        constant, least, most = float(intercept), shortest * shortest, longest * longest
        if constant >= least and self.data.size <= CACHED_NUMBERS:  # too few numbers to compile for
            with np.errstate(over="ignore", invalid="ignore"):
                if constant + float(np.einsum("i,i->", self.data, self.data)) <= most:
                    return -1
        rows = self.data, self.indptr, self.width, self.n_rows
        with np.errstate(over="ignore", invalid="ignore"):
            return first_bad_row(*rows, constant, least, most)
