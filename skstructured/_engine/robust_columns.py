"""Columns of which no cell decides for all others: those far beyond the rest count as an edge."""

from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csc_matrix, issparse
from scipy.special import ndtri
from sklearn.utils.sparsefuncs import min_max_axis

from skstructured._engine.state import State
from skstructured._engine.types import Array, Floats

#: Distance of an edge from the median, in robust deviations.
EDGE_DEVIATIONS = 5.0

#: Levels of the quantiles of a heavy column.
QUANTILE_LEVELS = np.linspace(0.0, 1.0, 200)


class FeatureRanges(NamedTuple):
    """How features are standardized: ``z = (x − center)/scale`` of cells between `low` and `high`.

    Cells beyond count as the nearer edge. A heavy feature first becomes normal quantiles.

    Attributes
    ----------
    center, scale : ndarray of shape (p,)
        Mean and standard deviation of cells in range; 0 and the largest entry of CSR columns.
    low, high : ndarray of shape (p,)
        Edges; infinite without any.
    heavy : ndarray of shape (p,)
        Whether a feature is heavy.
    """

    center: Floats
    scale: Floats
    low: Floats
    high: Floats
    heavy: Array


class RobustColumns(State):
    """Cells within the edges `low` and `high` (p,); `heavy` columns (h,) as normal quantiles.

    A cell x of a column with median m and robust deviation s counts as the nearest number that is
    in ``[m − 5s, m + 5s]`` and between the least and the largest cell of the rows learned. If more
    than half of the cells equal m, s is the third quartile of ``|x − m|`` of the others. A *heavy*
    column, with more than 5% of its cells beyond ``m ± 5s``, becomes ``Φ⁻¹(F(x))``, F the
    distribution function of the rows learned, given by its quantiles `knots` (h, 200), and at most
    ±3. Entries of CSR rows have m = 0, and zeros are not cells.
    """

    def __init__(self, low: Floats, high: Floats) -> None:
        self.low, self.high = low, high
        self.heavy: Array = np.zeros(0, dtype=int)
        self.knots: Floats = np.empty((0, len(QUANTILE_LEVELS)))

    @classmethod
    def of(cls, X: Any, weight: Floats, quantiles: bool = True) -> Self:
        """Edges of the columns of rows with these weights; without `quantiles` none is heavy."""
        counted = weight > 0.0
        X, weight = X[counted], weight[counted]
        if issparse(X):
            return cls(*_sparse_edges(X, weight))
        columns = cls(*np.zeros((2, X.shape[1])))
        heavy, knots = [], []
        for j, cells in enumerate(X.T):
            there = ~np.isnan(cells)
            values, shares = cells[there].astype(np.float64), weight[there]
            columns.low[j], columns.high[j], is_heavy = _edges(values, shares)
            if is_heavy and quantiles:
                heavy.append(j)
                knots.append(quantiles_of(values, shares, QUANTILE_LEVELS))
        if heavy:
            columns.heavy, columns.knots = np.array(heavy), np.array(knots)
        return columns

    def ranges(self, ranges: FeatureRanges) -> FeatureRanges:
        """`FeatureRanges` of standardized columns, with these edges."""
        heavy = np.isin(np.arange(len(self.low)), self.heavy)
        return ranges._replace(low=self.low, high=self.high, heavy=heavy)

    def transform(self, X: Any) -> Any:
        """Rows with their cells in range, in a new matrix."""
        if issparse(X):
            Z: Any = X.copy()
            Z.data = np.clip(Z.data, self.low[Z.indices], self.high[Z.indices])
            return Z
        Z = np.clip(X, self.low.astype(X.dtype), self.high.astype(X.dtype))
        for j, knots in zip(self.heavy, self.knots, strict=True):
            Z[:, j] = normal_quantiles(X[:, j], knots)
        return Z


def _edges(
    values: Floats, weight: Floats, heavy_share: float = 0.05, fewest_values: int = 10
) -> tuple[float, float, bool]:
    """Both edges of a column, and whether it is heavy."""
    if len(values) == 0:
        return 0.0, 0.0, False
    first, median, third = quantiles_of(values, weight, np.array([0.25, 0.5, 0.75]))
    normal_range = 1.349  # between the quartiles of the standard normal distribution
    distances, unit = np.abs(values - median), (third - first) / normal_range
    if unit == 0.0:
        differ = distances > 0.0
        unit = _third_quartile(distances[differ], weight[differ])
    reach = EDGE_DEVIATIONS * unit
    is_heavy = weight @ (distances > reach) > heavy_share * weight.sum()
    is_heavy = is_heavy and len(np.unique(values)) >= fewest_values
    return max(values.min(), median - reach), min(values.max(), median + reach), is_heavy


def _third_quartile(sizes: Floats, weight: Floats) -> float:
    return float(quantiles_of(sizes, weight, np.array([0.75]))[0]) if len(sizes) else 0.0


def quantiles_of(values: Floats, weight: Floats, shares: Floats, rounding: float = 1e-9) -> Floats:
    """Quantiles of numbers (n,), each of which occurs as often as its weight (n,).

    If a share falls between two numbers, up to rounding, the quantile is in the middle of them.
    """
    order = np.argsort(values)
    below = np.cumsum(weight[order])
    below /= below[-1]
    left = np.searchsorted(below, shares - rounding)
    right = np.minimum(np.searchsorted(below, shares + rounding, side="right"), len(order) - 1)
    return 0.5 * (values[order[left]] + values[order[right]])


def weighted_quantile(values: Floats, weight: Floats, shares: float | Floats) -> Floats:
    """Quantiles of numbers (n,) that count as much as their weights (n,), interpolated linearly.

    Numbers of weight 0 do not count. With equal weights they are those of `numpy.quantile`.
    """
    counted = weight > 0.0
    values, weight = values[counted], weight[counted]
    if len(weight) and weight.min() == weight.max():
        return np.asarray(np.quantile(values, shares))
    order = np.argsort(values)
    values, weight = values[order], weight[order]
    place = np.cumsum(weight) - 0.5 * weight
    place -= place[0]
    return np.interp(np.multiply(shares, place[-1]), place, values)


def _sparse_edges(X: Any, weight: Floats) -> tuple[Floats, Floats]:
    """Edges (p,) of the entries of CSR rows; a column without entries has only zeros."""
    low, high = (np.asarray(edge, dtype=np.float64) for edge in min_max_axis(X, axis=0))
    sizes = np.abs(X.data)
    totals, counts = (np.bincount(X.indices, w, X.shape[1]) for w in (sizes, None))
    wide = np.flatnonzero(np.maximum(high, -low) * counts > EDGE_DEVIATIONS * totals)
    columns = csc_matrix(X[:, wide])
    for place, j in enumerate(wide):
        span = slice(*columns.indptr[place : place + 2])
        sizes = np.abs(columns.data[span])
        reach = EDGE_DEVIATIONS * _third_quartile(sizes, weight[columns.indices[span]])
        low[j], high[j] = max(low[j], -reach), min(high[j], reach)
    return low, high


def normal_quantiles(cells: Array, knots: Floats, largest: float = 3.0) -> Floats:
    """Cells (n,) as normal quantiles of the middle of their level; NaN stays NaN."""
    higher = np.interp(-cells, -knots[::-1], -QUANTILE_LEVELS[::-1])
    levels = np.interp(cells, knots, QUANTILE_LEVELS) - higher
    return np.clip(ndtri(0.5 * levels), -largest, largest)
