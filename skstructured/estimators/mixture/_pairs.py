"""Sums and differences of columns, as further columns for trees."""

import itertools
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse

from skstructured.extend._types import Array, Floats, Ints


class ColumnPairs(NamedTuple):
    """Half the sum and half the difference of each pair of `columns`, behind all columns of rows.

    Trees need many splits for what depends on a sum of columns. Columns are not rescaled, because
    those that add up often have the same unit. Halves of finite numbers have finite sums.

    References
    ----------
    Tomita et al. (2020), "Sparse projection oblique randomer forests".
    """

    columns: Ints

    @classmethod
    def of(
        cls, X: Array, importances: Floats, n_columns: int = 6, few_values: int = 10
    ) -> Self | None:
        """Pairs of the most important columns of dense rows; None if fewer than two are numbers.

        Columns with few values are codes, not numbers.
        """
        order = np.argsort(-importances, kind="stable")[: np.count_nonzero(importances > 0.0)]
        numbers = (j for j in order if _n_values(X[:, j]) > few_values)
        columns = np.array([*itertools.islice(numbers, n_columns)], dtype=int)
        return cls(columns) if len(columns) > 1 else None

    def transform(self, X: Any) -> Array:
        """Rows with further columns, dense."""
        X = X.toarray() if issparse(X) else X
        first, second = np.triu_indices(len(self.columns), 1)
        halves = 0.5 * X[:, self.columns]
        first, second = halves[:, first], halves[:, second]
        return np.hstack([X, first + second, first - second])


def _n_values(column):
    """How many present values differ."""
    return len(np.unique(column[~np.isnan(column)]))
