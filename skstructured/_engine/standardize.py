"""Standardise rows as they arrive, by the mean and deviation of all rows up to each of them.

What is done to a row is known before its output is, so that whatever holds of any sequence of rows
holds of the rows as transformed. Means and deviations are brought up to date in every round at
first, and later when the weight of the rows since then reaches 1/32 of all: at rounds that thin
out, and at any round whose row is unlike those before it.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import csr_matrix

from skstructured._engine.arrays import Array, Floats
from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.rows import CACHED, LEAST_BLOCK, SHORTEST, Rows
from skstructured._engine.state import Learned

#: Statistics of every feature: mean, deviation, one over it (0 for none), and Σ w z and Σ w z² of
#: the rows since they were brought up to date, in units of the deviation.
MEAN, DEVIATION, INVERSE, SUM, SQUARES = range(5)

#: Σ w of the rows in the means and deviations, and of the rows since.
COUNTED, RECENT = range(2)

#: Rows since the last time weigh at most one part in so many of all.
PATIENCE = 32.0

#: Rows whose mean square is larger than this count at once.
UNLIKE = 25.0

#: Deviations below this are none.
SMALLEST = 1e-290


@kernel(fastmath=FASTMATH)
def transform(x: Array, statistics: Floats, z: Array) -> float:
    """z = (x − mean)/deviation; returns ‖z‖², inf where a feature without deviation has changed.

    What is next to nothing in units of the deviation becomes 0, which is a row that can be learned.
    """
    mean, inverse = statistics[MEAN], statistics[INVERSE]
    size, changed = 0.0, 0.0
    for j in range(x.shape[0]):
        d = x[j] - mean[j]
        scaled = d * inverse[j]
        scaled = scaled if abs(scaled) > SHORTEST else 0.0
        z[j] = scaled
        size += scaled * scaled
        changed += 1.0 if (inverse[j] == 0.0 and d != 0.0) else 0.0
    return math.inf if changed > 0.0 else size


@kernel
def gather(z: Array, weight: float, statistics: Floats) -> None:
    """Σ w z and Σ w z² grow by one row."""
    total, squares = statistics[SUM], statistics[SQUARES]
    for j in range(z.shape[0]):
        total[j] += weight * z[j]
        squares[j] += weight * z[j] * z[j]


@kernel
def refresh(
    x: Array, weight: float, statistics: Floats, counts: Floats, centred: bool, divided: bool
) -> None:
    """Bring means and deviations up to date, with row x; without `divided` the latter are 1.

    Rows since the last time are added in units of the deviation, the row by itself and without
    its square, so that numbers of any size neither over- nor underflow.
    """
    before, since = counts[COUNTED], counts[RECENT]
    old = before + since
    all_, share = old + weight, weight / (old + weight)
    for j in range(x.shape[0]):
        mean, deviation = statistics[MEAN, j], statistics[DEVIATION, j]
        if since > 0.0:
            shift = statistics[SUM, j] / old if centred else 0.0
            spread = (before + statistics[SQUARES, j]) / old - shift * shift
            mean += deviation * shift
            deviation *= math.sqrt(max(spread, 0.0))
        d = x[j] - mean
        if old == 0.0 and centred:
            mean, d = x[j], 0.0
        kept = share * (old / all_) if centred else share
        deviation = math.hypot(deviation * math.sqrt(old / all_), d * math.sqrt(kept))
        if not divided:
            deviation = 1.0
        statistics[MEAN, j] = mean + share * d if centred else 0.0
        statistics[DEVIATION, j] = deviation
        statistics[INVERSE, j] = 1.0 / deviation if deviation > SMALLEST else 0.0
        statistics[SUM, j], statistics[SQUARES, j] = 0.0, 0.0
    counts[COUNTED], counts[RECENT] = all_, 0.0


@kernel
def standardize_rows(
    data: Array,
    width: int,
    rows: Array,
    weight: Floats,
    statistics: Floats,
    counts: Floats,
    centred: bool,
    divided: bool,
    out: Array,
    before: Array,
) -> None:
    """Count and transform dense `rows`, one after the other, into `out` (n, width).

    Rows of weight zero are not counted, may be of any size in units of the others, and become 0.
    `before`, where it has rows, receives each row as it is transformed before it is counted.
    """
    ahead = before.shape[0] > 0
    for r in range(rows.shape[0]):
        x, w = data[rows[r] * width : (rows[r] + 1) * width], weight[r]
        if w == 0.0:
            if ahead:
                transform(x, statistics, before[r])
            out[r] = 0.0
            continue
        size = transform(x, statistics, out[r])
        if ahead:
            before[r] = out[r]
        late = PATIENCE * (counts[RECENT] + w) >= counts[COUNTED]
        if late or not size <= UNLIKE * width:
            refresh(x, w, statistics, counts, centred, divided)
            transform(x, statistics, out[r])
        else:
            gather(out[r], w, statistics)
            counts[RECENT] += w


@kernel
def scale_entries(
    data: Array,
    indices: Array,
    indptr: Array,
    rows: Array,
    weight: Floats,
    statistics: Floats,
    columns: Array,
    out: Array,
    before: Array,
    grown: Floats,
) -> int:
    """Divide the entries of CSR `rows` by the largest of their columns so far, into `out`.

    Rows of weight zero become 0, and `before` is filled, as in `standardize_rows`.

    `grown` (2, entries) receives the columns whose largest entry grew, and what it was before;
    returns how many.
    """
    largest, inverse, place, count = statistics[DEVIATION], statistics[INVERSE], 0, 0
    ahead = before.shape[0] > 0
    for r in range(rows.shape[0]):
        for t in range(indptr[rows[r]], indptr[rows[r] + 1]):
            j, x = indices[t], abs(np.float64(data[t]))
            if ahead:
                before[place] = data[t] * inverse[j]
            if x > largest[j] and weight[r] > 0.0:
                grown[0, count], grown[1, count] = j, largest[j]
                count += 1
                largest[j] = x
                inverse[j] = 1.0 / x if x > SMALLEST else 0.0
            z = data[t] * inverse[j]
            columns[place] = j
            out[place] = z if weight[r] > 0.0 and abs(z) > SHORTEST else 0.0
            place += 1
    return count


def _nothing() -> None:
    """Undo nothing."""


class RunningScale(Learned):
    """Means and deviations of the features so far, and rows transformed by them.

    The first rows decide: after dense ones, which are standardised, CSR rows are made dense; CSR
    ones are divided by the largest entry of each column.

    Parameters
    ----------
    width : int
        Features, the intercept not included.
    centred : bool
        Whether means are taken off; else features are divided by the root of their mean square.
    wanted : bool
        Whether rows are transformed, or stay as they are.
    dtype : dtype, default=float64
        Of dense rows for the kernels. CSR rows, means and deviations are float64.

    Attributes
    ----------
    divided : bool
        Whether dense rows are divided by their deviations, as they are unless this is set to False
        before the first row.
    """

    def __init__(
        self, width: int, centred: bool, wanted: bool, dtype: DTypeLike = np.float64
    ) -> None:
        self.statistics = np.zeros((5, width))
        self.counts = np.zeros(2)
        self.centred = centred
        self.used = wanted
        self.divided = True
        self.dtype = np.dtype(dtype)
        self._kind: str | None = None

    def makes_sparse(self, rows: Rows) -> bool:
        """Whether these rows, transformed, are CSR; the first call decides what is done to all."""
        if self._kind is None:
            self._kind = "sparse" if rows.is_sparse else "dense"
        return self._kind == "sparse" if self.used else rows.is_sparse

    def block_size(self, size: int, rows: Rows) -> int:
        """Rows to transform at a time, at most `size`: dense ones that stay in cache meanwhile.

        Those that are converted to another dtype too.
        """
        if not rows.is_read_as(self.dtype):
            return rows.block_size(size)
        if not self.used or self._kind == "sparse":
            return size
        return min(size, max(LEAST_BLOCK, CACHED // self.statistics.shape[1]))

    def apply(
        self, rows: Rows, order: Array | None = None, weight: Floats | None = None
    ) -> tuple[Rows, Array, Callable[[], None]]:
        """Count and transform rows; returns them, their order, and what undoes the count.

        `order` of the rows given, all where it is None, are counted one by one; `weight` has an
        entry for each of `order`, None is 1.
        """
        order = np.arange(rows.n_rows) if order is None else order
        weight = np.ones(len(order)) if weight is None else weight
        return self._applied(rows, order, weight, False)[:3]

    def apply_ahead(
        self, rows: Rows, order: Array, weight: Floats
    ) -> tuple[Rows, Array, Callable[[], None], Array]:
        """As `apply`; with the data of the rows as they were transformed before each was counted.

        That is what would be done to them for a prediction.
        """
        return self._applied(rows, order, weight, True)

    def _applied(
        self, rows: Rows, order: Array, weight: Floats, ahead: bool
    ) -> tuple[Rows, Array, Callable[[], None], Array]:
        if not self.used:
            ready, places = rows.read_as(self.dtype, order)
            return ready, places, _nothing, ready.data
        self.makes_sparse(rows)
        order = np.ascontiguousarray(order, dtype=np.int64)
        transformed = self._moments if self._kind == "dense" else self._largest
        ready, undo, before = transformed(rows, order, weight, ahead)
        return ready, np.arange(len(order)), undo, before

    def _moments(
        self, rows: Rows, order: Array, weight: Floats, ahead: bool
    ) -> tuple[Rows, Callable[[], None], Array]:
        if rows.is_sparse:
            rows, order = Rows.from_array(rows.X[order].toarray()), np.arange(len(order))
        out = np.empty((len(order), rows.width), dtype=self.dtype)
        before = np.empty((len(order) * ahead, rows.width), dtype=self.dtype)
        kept = self.statistics.copy(), self.counts.copy()
        learned = (self.statistics, self.counts, self.centred, self.divided)
        standardize_rows(rows.data, rows.width, order, weight, *learned, out, before)

        def undo() -> None:
            self.statistics[:], self.counts[:] = kept

        return Rows.from_array(out), undo, before.ravel()

    def _largest(
        self, rows: Rows, order: Array, weight: Floats, ahead: bool
    ) -> tuple[Rows, Callable[[], None], Array]:
        rows = rows if rows.is_sparse else Rows.from_array(csr_matrix(rows.X))
        indptr = np.zeros(len(order) + 1, dtype=np.int32)
        np.cumsum(rows.indptr[order + 1] - rows.indptr[order], out=indptr[1:])
        columns, out = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
        arrays = (rows.data, rows.indices, rows.indptr, order, weight)
        before, grown = np.empty(len(out) * ahead), np.empty((2, len(out)))
        count = scale_entries(*arrays, self.statistics, columns, out, before, grown)

        def undo() -> None:
            places, values = grown[0, :count][::-1].astype(np.intp), grown[1, :count][::-1]
            for j, value in zip(places, values, strict=True):
                self.statistics[DEVIATION, j] = value
                self.statistics[INVERSE, j] = 1.0 / value if value > SMALLEST else 0.0

        return Rows(out, columns, indptr, rows.width, len(order), None), undo, before

    def transformed(self, rows: Rows) -> Rows:
        """Rows as they are transformed now; they are not counted."""
        if not self.used:
            return rows
        mean, inverse = self.statistics[MEAN], self.statistics[INVERSE]
        if self.makes_sparse(rows):
            X = csr_matrix(rows.X, copy=True)
            X.data *= inverse[X.indices]
            return Rows.from_array(X)
        X = rows.X.toarray() if rows.is_sparse else rows.X
        return Rows.from_array(np.ascontiguousarray((X - mean) * inverse))

    def anew(self) -> "RunningScale":
        """A new scale for the same kind of rows, which has seen none."""
        fresh = type(self)(self.statistics.shape[1], self.centred, self.used, self.dtype)
        fresh.divided = self.divided
        return fresh

    def fold(self, W: Floats, columns: Any = slice(None)) -> Floats:
        """Weights W (dim, width [+ 1]) of transformed rows as those of the rows given.

        Of some columns alone, all others of the rows being 0 and not centred.
        """
        if not self.used:
            return W
        inverse, mean = self.statistics[INVERSE][columns], self.statistics[MEAN][columns]
        width, folded = len(inverse), W.copy()
        folded[:, :width] *= inverse
        if W.shape[1] > width:
            folded[:, width] -= folded[:, :width] @ mean
        return folded
