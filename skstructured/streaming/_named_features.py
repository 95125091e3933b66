"""Rows of named features, of which new ones may come at any time, as rows of a fixed width."""

from collections.abc import Mapping
from typing import Any
from zlib import crc32

import numpy as np
from scipy.sparse import csr_matrix

from skstructured._base.validation import check_choice, check_integer


class NamedFeatures:
    """Columns of features by their names, in the order in which they are first learned.

    Parameters
    ----------
    n_features : int
        Columns. Features that come when all are taken share those of others, by a hash of their
        names, and their values are added.
    absent : {"missing", "zero"}
        What a feature is that a row does not name: NaN in dense rows, or 0 in CSR ones.
    """

    def __init__(self, n_features: int, absent: str) -> None:
        check_integer("n_features", n_features)
        check_choice("absent", absent, ("missing", "zero"))
        self.n_features, self.absent = n_features, absent
        self.columns: dict[Any, int] = {}

    def learn(self, x: Mapping[Any, Any]) -> None:
        """Give new features a column each, in the order of their names, while there are some."""
        free = self.n_features - len(self.columns)
        new = sorted((name for name in x if name not in self.columns), key=repr) if free else []
        for name in new[:free]:
            self.columns[name] = len(self.columns)

    def row(self, x: Mapping[Any, Any]) -> Any:
        """The row (1, n_features); features that were never learned are left out.

        Raises
        ------
        ValueError
            Naming a feature whose value is not a number.
        """
        values: dict[int, float] = {}
        for name, value in x.items():
            column = self._column(name)
            if column is not None and value is not None:
                values[column] = values.get(column, 0.0) + _number(name, value)
        at, found = list(values), list(values.values())
        if self.absent == "zero":
            return csr_matrix((found, ([0] * len(at), at)), shape=(1, self.n_features))
        row = np.full((1, self.n_features), np.nan)
        row[0, at] = found
        return row

    def _column(self, name: Any) -> int | None:
        """Where a feature stands; None for one that was never learned."""
        if name in self.columns or len(self.columns) < self.n_features:
            return self.columns.get(name)
        return crc32(repr(name).encode()) % self.n_features


def _number(name: Any, value: Any) -> float:
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"x[{name!r}] must be a number or None, got {value!r}: river's OneHotEncoder makes "
            "numbers of words."
        ) from None
