"""Columns as ranks: steps between values do not depend on how far apart these are."""

from typing import NamedTuple, Self

import numpy as np

from skstructured.extend._types import Array, Floats

#: Values of a column whose ranks are kept, at most.
MOST_KNOTS = 1000


class ColumnRanks(NamedTuple):
    """Mid-ranks of the values of columns among training rows, from 0 to 1, and linear between.

    With a share s, it is s of the value in units of the range, and 1 − s of the rank. Values beyond
    the range of a column have the rank of its end; missing values stay missing.

    Attributes
    ----------
    knots : list of (values, ranks)
        Increasing values of each column, and their ranks.
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


def knots_of(column: Array, share_of_range: float) -> tuple[Floats, Floats]:
    """Values of a column and their mid-ranks; evenly many of them if there are too many."""
    present = np.sort(column[~np.isnan(column)]).astype(np.float64)
    if len(present) == 0:
        return np.zeros(1), np.full(1, 0.5)
    values, firsts = np.unique(present, return_index=True)
    ranks = (firsts + np.append(firsts[1:], len(present))) / (2.0 * len(present))
    if share_of_range > 0.0:
        units = (values - values[0]) / (values[-1] - values[0] or 1.0)
        ranks = (1.0 - share_of_range) * ranks + share_of_range * units
    if len(values) > MOST_KNOTS:
        places = np.searchsorted(ranks, np.linspace(ranks[0], ranks[-1], MOST_KNOTS))
        values, ranks = values[np.unique(places)], ranks[np.unique(places)]
    return values, ranks
