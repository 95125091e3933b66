"""Standardize rows as they arrive, by the mean and deviation of all rows up to each of them.

The transformation of a row is known before its output is, so every result on any sequence of rows
holds for the transformed rows. Means and deviations are updated in every round at first, and later
when the weight of the rows since then reaches 1/32 of all: at rounds that become rare, and at any
round whose row is unlike those before it.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import csr_matrix

from skstructured._engine.moments import (
    FIRST_ROWS,
    SMALLEST_DEVIATION,
    WIDE_LIMIT,
    RowCount,
    Statistic,
    complete,
    exchange,
    moments_of,
    scale_entries,
    standardize_rows,
)
from skstructured._engine.robust_columns import FeatureRanges, RobustColumns
from skstructured._engine.rows import SHORTEST_ROW, Rows, rows_in_cache
from skstructured._engine.state import Call, State, at_once, renamed
from skstructured._engine.types import Array, Floats

#: The order of one row; it is not written to.
SINGLE_ROW = np.zeros(1, dtype=np.int64)


#: What changes nothing.
NO_CALL: Call = (int,)


class Counted(NamedTuple):
    """Rows that were transformed as if they had been counted.

    `places` is their order; `commit` counts them, see `at_once`, and `undo` uncounts them. If
    requested, `prior_data` are the data of the rows as for predictions: each before it was counted.
    """

    rows: Rows
    places: Array
    commit: Call
    undo: Call
    prior_data: Array


class RunningScale(State):
    """Means and deviations of the features so far, and rows transformed by them.

    A missing value of a dense row is replaced by the mean so far, 0 if standardized. With
    `indicators` there is one more column for each feature, behind those of all features: 1 if a row
    lacks it, else 0. The first rows decide: after dense ones, CSR rows are made dense; CSR ones are
    divided by the largest entry of each column, and missing values of a dense row after them are 0,
    without an indicator.

    Parameters
    ----------
    width : int
        Features, the intercept not included.
    center : bool
        Whether means are taken off; else features are divided by the root of their mean square.
    is_used : bool
        Whether rows are transformed, or unchanged.
    dtype : dtype, default=float64
        Type of dense rows for compiled functions. CSR rows, means and deviations are float64.
    indicators : bool, default=False
        Whether transformed rows get indicators of missing values.
    robust : bool, default=False
        Whether dense cells beyond three deviations from the mean count as these; see
        `start_robustly`.
    forgets : bool, default=False
        Whether later rows count more.
    """

    #: Where rounds of several rows begin among the rows counted next; none if each has one row.
    offsets = np.empty(0, dtype=np.int64)
    #: Whether weights are those of transformed rows; those of a mean of shards are in units of X.
    folds = True
    #: If later rows count more, the n-th row counts so much times n^0.3.
    usual_growth = 0.4
    #: Heavy columns become normal quantiles before they are standardized, if there are any.
    quantiles: RobustColumns | None = None

    def __init__(
        self,
        width: int,
        center: bool,
        is_used: bool,
        dtype: DTypeLike = np.float64,
        indicators: bool = False,
        robust: bool = False,
        forgets: bool = False,
    ) -> None:
        self.statistics = unbounded(np.zeros((Statistic.KEPT + FIRST_ROWS * robust, width)))
        self.counts = np.zeros(len(RowCount))
        self.counts[RowCount.GAIN :] = 1.0, self.usual_growth * forgets, robust
        #: Dense rows are divided by deviations unless this is set to False before the first row.
        self.divided = True
        self.centered, self.used, self.dtype = center, is_used, np.dtype(dtype)
        self.indicators = is_used and indicators
        self.kind: str | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Read a saved object; older ones have statistics without edges."""
        vars(self).update(renamed(state))
        missing = Statistic.KEPT - len(self.statistics)
        if missing > 0:
            width = self.statistics.shape[1]
            self.statistics = unbounded(np.vstack([self.statistics, np.zeros((missing, width))]))
            self.counts = np.append(self.counts, [0.0, 1.0, 0.0, 0.0])

    @property
    def arrays(self) -> tuple[Floats, Floats]:
        """Statistics, without first rows that are not needed any more, and counts."""
        if len(self.statistics) > Statistic.KEPT and self.counts[RowCount.N_COUNTED] > FIRST_ROWS:
            self.statistics = self.statistics[: Statistic.KEPT].copy()
        return self.statistics, self.counts

    def without_edges(self) -> Self:
        """The same scale, before its first rows, with plain means and deviations."""
        self.counts[[RowCount.GROWTH, RowCount.ROBUST]] = 0.0
        self.statistics = self.statistics[: Statistic.KEPT]
        return self

    @property
    def robust(self) -> bool:
        """Whether cells beyond an edge count as the edge."""
        return bool(self.counts[RowCount.ROBUST])

    @property
    def ranges(self) -> FeatureRanges:
        """How the next row is standardized."""
        center, scale, low, high = self.statistics[
            [Statistic.MEAN, Statistic.DEVIATION, Statistic.LOW, Statistic.HIGH]
        ]
        if self.kind == "sparse" and self.robust:
            low, high = -scale, scale
        ranges = FeatureRanges(center, scale, low, high, np.zeros(len(scale), dtype=bool))
        return ranges if self.quantiles is None else self.quantiles.ranges(ranges)

    @property
    def columns(self) -> int:
        """Columns of transformed rows: those of the features, and of their indicators."""
        return self.statistics.shape[1] * (1 + self.indicators)

    @property
    def takes_dense(self) -> bool:
        """Whether rows are dense, and without indicators of missing values."""
        return self.kind == "dense" and not self.indicators

    def makes_sparse(self, rows: Rows) -> bool:
        """Whether these rows, transformed, are CSR; the first call decides for all."""
        if self.kind is None:
            self.kind = "sparse" if rows.is_sparse else "dense"
            if rows.is_sparse:  # no first rows are kept
                self.statistics = self.statistics[: Statistic.KEPT].copy()
        return self.kind == "sparse" if self.used else rows.is_sparse

    def block_size(self, size: int, rows: Rows) -> int:
        """Rows to transform at a time, at most `size`: those that are copied stay in cache."""
        if not rows.is_read_as(self.dtype):
            return rows.block_size(size)
        if not self.used or self.kind == "sparse":
            return size
        return rows_in_cache(size, self.columns)

    def apply(
        self, rows: Rows, order: Array | None = None, weight: Floats | None = None
    ) -> tuple[Rows, Array]:
        """Count and transform rows one by one, in an order; returns them, and their order.

        `weight` has an entry for each of `order`, by default 1.
        """
        order = np.arange(rows.n_rows) if order is None else order
        weight = np.ones(len(order)) if weight is None else weight
        pending = self.counted(rows, order, weight)
        at_once(pending.commit)
        return pending.rows, pending.places

    def count_all(self, rows: Rows, weight: Floats, quantiles: bool = False) -> None:
        """Count the first rows all at once; with `quantiles` heavy columns become normal ones."""
        if not self.used:
            return
        if self.makes_sparse(rows):
            self.apply(rows, weight=weight)
            return
        X = rows.X
        if self.robust:
            columns = RobustColumns.of(X, weight, quantiles)
            self.quantiles = columns if len(columns.heavy) else None
            X = columns.transform(X)
        total, mean, deviation = moments_of(X, weight, self.centered)
        self.counts[RowCount.COUNTED] = weight.sum()
        self.counts[RowCount.N_COUNTED] = FIRST_ROWS + rows.n_rows
        self.statistics[Statistic.MISSED] = self.counts[RowCount.COUNTED] - total
        self.set_moments(mean, deviation if self.divided else np.ones_like(deviation))
        if self.robust:
            low, high, self.statistics[Statistic.LIMIT] = columns.low, columns.high, WIDE_LIMIT
            self.statistics[[Statistic.LOW, Statistic.HIGH]] = low, high
            self.statistics[Statistic.LOW, columns.heavy] = -np.inf
            self.statistics[Statistic.HIGH, columns.heavy] = np.inf

    def set_moments(self, mean: Floats, deviation: Floats) -> None:
        """Set means and deviations, or largest entries, and one over these."""
        self.statistics[Statistic.MEAN], self.statistics[Statistic.DEVIATION] = mean, deviation
        inverse, there = self.statistics[Statistic.INVERSE], deviation > SMALLEST_DEVIATION
        inverse[:] = 0.0
        np.divide(1.0, deviation, out=inverse, where=there)

    def counted(self, rows: Rows, order: Array, weight: Floats, ahead: bool = False) -> Counted:
        """`apply` that counts rows by its result's `commit`; `ahead` requests `prior_data`."""
        if not self.used:
            if self.indicators:
                rows, order = self._widened(rows.taken(order)), np.arange(len(order))
            ready, places = rows.read_as(self.dtype, order)
            return Counted(ready, places, NO_CALL, NO_CALL, ready.data)
        self.makes_sparse(rows)
        n, order = len(order), np.ascontiguousarray(order, dtype=np.int64)
        places = SINGLE_ROW if n == 1 else np.arange(n)
        transformed = self._by_moments if self.kind == "dense" else self._by_largest
        return transformed(rows, order, weight, ahead, places)

    def _by_moments(
        self, rows: Rows, order: Array, weight: Floats, ahead: bool, places: Array
    ) -> Counted:
        if rows.is_sparse:
            rows, order = Rows.from_array(rows.X[order].toarray()), np.arange(len(order))
        rows = rows if self.quantiles is None else self._with_quantiles(rows)
        out = np.empty((len(order), rows.width), dtype=self.dtype)
        prior_out = np.empty_like(out) if ahead else out[:0]
        statistics, counts = self.arrays
        arrays = {"statistics": statistics, "counts": counts}
        copies = {"statistics": statistics.copy(), "counts": counts.copy()}
        arguments = (rows.data, rows.width, order, self.offsets, weight, *copies.values())
        standardize_rows(*arguments, self.centered, self.divided, out, prior_out)
        if self.indicators:
            gaps = np.isnan(rows.X[order])
            out = np.hstack([out, (gaps & (weight > 0.0)[:, None]).astype(self.dtype)])
            prior_out = np.hstack([prior_out, gaps[: len(prior_out)].astype(self.dtype)])
        update = vars(self).update
        prior_out = prior_out.reshape(-1)
        return Counted(Rows.from_array(out), places, (update, copies), (update, arrays), prior_out)

    def _by_largest(
        self, rows: Rows, order: Array, weight: Floats, ahead: bool, places: Array
    ) -> Counted:
        rows = rows if rows.is_sparse else Rows.from_array(csr_matrix(rows.without_gaps().X))
        indptr = np.zeros(len(order) + 1, dtype=np.int32)
        np.cumsum(rows.indptr[order + 1] - rows.indptr[order], out=indptr[1:])
        columns, out = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
        prior_out, grown = np.empty(len(out) * ahead), np.empty((4, len(out) + 1))
        entries = (rows.data, rows.indices, rows.indptr)
        arguments = (*entries, order, self.offsets, weight, self.statistics, self.counts)
        count = scale_entries(*arguments, columns, out, prior_out, grown)
        ready = Rows(out, columns, indptr, self.columns, len(order), None)
        grow = (exchange, self.statistics, self.counts, grown, count)
        scratch = self.counts.copy(), grown[:, -1:].copy()
        exchange(self.statistics, *scratch, 0, True)  # compiled before it is called at once
        return Counted(ready, places, (*grow, True), (*grow, False), prior_out)

    def transformed(self, rows: Rows) -> Rows:
        """Rows by the current transformation; they are not counted."""
        return Rows.from_array(self.transformed_matrix(rows)) if self.used else self._widened(rows)

    def transformed_matrix(self, rows: Rows) -> Any:
        """`transformed`, as an array or a CSR matrix."""
        if not self.used:
            return self._widened(rows).matrix
        if self.makes_sparse(rows):
            X = csr_matrix(rows.X if rows.is_sparse else rows.without_gaps().X, copy=True)
            X.data *= self.statistics[Statistic.INVERSE][X.indices]
            if self.robust:
                np.clip(X.data, -1.0, 1.0, out=X.data)
            return self._widened(Rows.from_array(X)).matrix
        rows = Rows.from_array(rows.X.toarray()) if rows.is_sparse else rows
        rows = self._with_quantiles(rows)
        low, high, mean, inverse = self.statistics[
            [Statistic.LOW, Statistic.HIGH, Statistic.MEAN, Statistic.INVERSE]
        ]
        Z = (np.clip(rows.X, low, high) - mean) * inverse
        Z[~(np.abs(Z) > SHORTEST_ROW)] = 0.0  # missing values too
        if not self.indicators:
            return Z
        return self._widened(Rows.from_array(Z), np.isnan(rows.X)).matrix

    def _with_quantiles(self, rows: Rows) -> Rows:
        """Dense rows whose heavy columns are normal quantiles, if there are any."""
        return rows if self.quantiles is None else Rows.from_array(self.quantiles.transform(rows.X))

    def imputed_parts(self, rows: Rows) -> Iterator[Rows]:
        """`imputed` rows, some at a time if they are copied."""
        size = rows.block_size(rows.n_rows) if self.robust else rows.n_rows
        if size >= rows.n_rows:
            yield self.imputed(rows)
            return
        for start in range(0, rows.n_rows, size):
            yield self.imputed(rows.taken(slice(start, start + size)))

    def imputed(self, rows: Rows) -> Rows:
        """Rows in range, with means instead of missing values; for weights that are folded."""
        if not self.used or (rows.is_sparse and not self.robust):
            return self._widened(rows)
        if self.robust and self.kind == "sparse":
            rows = rows if rows.is_sparse else Rows.from_array(csr_matrix(rows.without_gaps().X))
            scale = self.statistics[Statistic.DEVIATION][rows.indices]
            return self._widened(rows._replace(data=np.clip(rows.data, -scale, scale), X=None))
        rows = Rows.from_array(rows.matrix.toarray()) if rows.is_sparse else rows
        if not self.robust and not np.isnan(np.add.reduce(rows.data, dtype=np.float64)):
            return self._widened(rows)
        X = np.empty(rows.X.shape)
        complete(rows.X, self.statistics, X)
        return self._widened(Rows.from_array(X), np.isnan(rows.X) if self.indicators else None)

    def _widened(self, rows: Rows, gaps: Array | None = None) -> Rows:
        """Rows without missing values, and behind them the indicators of these, if requested."""
        if not self.indicators:
            return rows
        if rows.is_sparse:
            return rows._replace(width=self.columns, X=None)
        out = np.zeros((rows.n_rows, self.columns), dtype=rows.data.dtype)
        out[:, : rows.width] = rows.X
        out[:, rows.width :] = 0.0 if gaps is None else gaps
        return Rows.from_array(out)

    def reset_copy(self) -> "RunningScale":
        """A new scale for the same kind of rows, without rows so far."""
        width = self.statistics.shape[1]
        settings = self.centered, self.used, self.dtype, self.indicators, self.robust
        fresh = type(self)(width, *settings, bool(self.counts[RowCount.GROWTH]))
        fresh.divided, fresh.indicators = self.divided, self.indicators
        return fresh

    def fold(self, W: Floats, columns: Array | None = None) -> Floats:
        """Weights W (…, dim, columns [+ 1]) of transformed rows as those of `imputed` ones.

        With `columns` only for some features.
        """
        if not (self.used and self.folds):
            return W
        chosen = slice(None) if columns is None else columns
        mean, inverse = self.statistics[[Statistic.MEAN, Statistic.INVERSE]][:, chosen]
        width, folded = len(inverse), W.copy()
        folded[..., :width] *= inverse
        place = self.columns if columns is None else width
        if W.shape[-1] > place:
            folded[..., place] -= folded[..., :width] @ mean
        return folded


def unbounded(statistics: Floats) -> Floats:
    """Statistics without edges."""
    statistics[Statistic.LOW] = -np.inf
    statistics[[Statistic.HIGH, Statistic.LIMIT]] = np.inf
    return statistics
