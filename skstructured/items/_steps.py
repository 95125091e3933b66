"""Curves of single features: whether each is above each of its quantiles."""

from collections.abc import Iterator

import numpy as np

from skstructured._base.quantiles import weighted_quantile
from skstructured._engine.rows import Rows
from skstructured.extend._types import Array, Floats, Ints

#: Quantiles of a feature, at most.
QUANTILES = 20

#: Numbers of a block of rows that is expanded.
NUMBERS = 1 << 21


class QuantileSteps:
    """Columns 1{x_j > t} for the quantiles t of each feature j, which linear scores make curves of.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Rows whose quantiles are taken; NaN does not count.
    weight : ndarray of shape (n,)
        How much each row counts.

    Attributes
    ----------
    features : ndarray of shape (q,)
        The feature of each column.
    thresholds : ndarray of shape (q,)
        What it is compared with.
    """

    def __init__(self, X: Array, weight: Floats) -> None:
        shares = np.arange(1, QUANTILES) / QUANTILES
        features, thresholds = [], []
        for j, column in enumerate(X.T):
            counted = ~np.isnan(column) & (weight > 0.0)
            known, cuts = column[counted], np.zeros(0)
            if len(known):
                cuts = np.unique(weighted_quantile(known, weight[counted], shares))
                cuts = cuts[cuts < known.max()]  # above the last there is none
            features.append(np.full(len(cuts), j))
            thresholds.append(cuts)
        self.features: Ints = np.concatenate(features)
        self.thresholds: Floats = np.concatenate(thresholds)

    def __len__(self) -> int:
        return len(self.features)

    def of(self, X: Array) -> Floats:
        """The columns (n, q) of rows; NaN where a feature is missing."""
        values = X[:, self.features]
        steps = (values > self.thresholds).astype(np.float64)
        steps[np.isnan(values)] = np.nan
        return steps

    def rows(self, rows: Rows, places: Ints) -> tuple[Rows, Ints]:
        """The columns of some rows, and their places among them."""
        return Rows.from_array(self.of(rows.matrix[places])), np.arange(len(places))

    def blocks(self, rows: Rows) -> Iterator[Rows]:
        """The columns of all rows, some of them at a time."""
        size = max(1, NUMBERS // max(len(self), 1))
        for start in range(0, rows.n_rows, size):
            yield Rows.from_array(self.of(rows.matrix[start : start + size]))

    def split(self, weights: Floats, p: int) -> list[Floats]:
        """Numbers (q,) of the columns, one array for each of p features."""
        return [weights[self.features == j] for j in range(p)]
