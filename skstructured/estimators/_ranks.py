"""Columns as ranks: steps between values do not depend on how far apart these are."""

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.sparsefuncs import min_max_axis

from skstructured.extend._types import Array, Floats, Ints


class ColumnRanks(NamedTuple):
    """Mid-ranks of the values of columns among training rows, from 0 to 1, and linear between.

    With a share s, it is s of the value in units of the range, and 1 − s of the rank. The range
    leaves out a hundredth of the values at each end, and one more. Values beyond all others have
    the rank of the end of a column; missing values stay missing. `knots` are
    increasing values of each column, and their ranks.
    """

    knots: list[tuple[Floats, Floats]]

    @classmethod
    def of(cls, X: Array, share_of_range: float = 0.0) -> Self:
        """The ranks of dense training rows."""
        return cls([knots_of(column, share_of_range) for column in np.asarray(X).T])

    def transform(self, X: Array) -> Array:
        """Ranks (n, p) of rows, of 32 bits."""
        ranks = np.empty(X.shape, dtype=np.float32)
        for j, (values, knots) in enumerate(self.knots):
            ranks[:, j] = np.interp(X[:, j], values, knots)
        ranks[np.isnan(X)] = np.nan  # interp has a rank for them if there is one value
        return ranks

    def values_at(self, columns: Ints, thresholds: Array) -> Floats:
        """Values (k,) of columns that are above these exactly if their ranks are above thresholds.

        Values between knots may differ by a rounding error of their ranks.
        """
        cuts = np.empty(len(columns))
        for j in np.unique(columns):
            (values, knots), is_column = self.knots[j], columns == j
            n_left = np.searchsorted(knots.astype(np.float32), thresholds[is_column], side="right")
            low, high = np.append(-np.inf, values)[n_left], np.append(values, np.inf)[n_left]
            between = np.interp(thresholds[is_column], knots, values)
            between = np.clip(between, low, np.nextafter(high, -np.inf))
            cuts[is_column] = np.where(np.isinf(low), low, np.where(np.isinf(high), high, between))
        return cuts


class ColumnUnits(NamedTuple):
    """Columns of CSR rows in units of their largest size (p,)."""

    sizes: Floats

    @classmethod
    def of(cls, X: Any) -> Self:
        """The units of training rows."""
        sizes = np.maximum(*map(np.abs, min_max_axis(X, axis=0)))
        return cls(np.where(sizes > 0.0, sizes, 1.0))

    def transform(self, X: Any) -> Any:
        """CSR rows in these units, of 32 bits."""
        X = X.copy()
        X.data = X.data / self.sizes[X.indices]
        return X.astype(np.float32)

    def values_at(self, columns: Ints, thresholds: Array) -> Floats:
        """Values (k,) of columns at thresholds in these units."""
        return self.sizes[columns] * thresholds


def knots_of(column: Array, share_of_range: float, most: int = 1000) -> tuple[Floats, Floats]:
    """Values of a column and their mid-ranks; evenly many of them if there are too many."""
    present = np.sort(column[~np.isnan(column)]).astype(np.float64)
    if len(present) == 0:
        return np.zeros(1), np.full(1, 0.5)
    values, firsts = np.unique(present, return_index=True)
    ranks = (firsts + np.append(firsts[1:], len(present))) / (2.0 * len(present))
    if share_of_range > 0.0:
        rare = min(1 + len(present) // 100, (len(present) - 1) // 2)
        low, high = present[rare], present[-1 - rare]
        units = np.clip((values - low) / (high - low or 1.0), 0.0, 1.0)
        ranks = (1.0 - share_of_range) * ranks + share_of_range * units
    if len(values) > most:
        places = np.searchsorted(ranks, np.linspace(ranks[0], ranks[-1], most))
        values, ranks = values[np.unique(places)], ranks[np.unique(places)]
    return values, ranks
