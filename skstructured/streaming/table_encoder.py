"""Tables as people have them, to the rows of numbers that learners take."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skstructured._base.validation import check_integer, unchanged_on_error
from skstructured._engine.arrays import Array, Floats
from skstructured.streaming._columns import Categories, Dates, Numbers, Units, coder_of
from skstructured.streaming._frames import columns_of

__all__ = ["TableEncoder"]


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode tables with numbers, words, dates and gaps as rows of numbers.

    For the step before a learner of this package: `fit` for a table, `partial_fit` for a stream.
    Each column becomes

    - numbers and booleans: themselves, NaN where there is none, which learners with
      ``missing="mean"`` take; and an indicator of that where the first rows had gaps;
    - short texts and categories: an indicator of each value, none of values that come later; in
      streams `n_buckets` hashed indicators, so that new words never change the width;
    - dates (as such, or as texts like 2024-05-31): days since 1970, hour, month and weekday;
    - long texts: hashed counts of words and pairs of words.

    In `fit`, a column of more than `max_categories` values makes the output a CSR matrix, where
    values that are there only once share an indicator. Numbers are then centred and divided by
    their deviations, and 0 where there is none, because sparse rows have no gaps.

    Texts that are all numbers are numbers. Columns are found by their names on every call; others
    that come later are left out.

    Parameters
    ----------
    max_categories : int, default=100
        Values that a text column may have, in `fit`, for the output to be dense.
    n_buckets : int, default=128
        Columns of hashed values; four times as many of hashed words.

    Attributes
    ----------
    columns_ : list of dict
        What became of each column: its name, what it was taken for, and how many columns of the
        output it is. ``pandas.DataFrame(encoder.columns_)`` shows it as a table.
    n_features_in_ : int
        Columns of the table.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where it had names.

    Raises
    ------
    ValueError
        For columns that are missing, numbers or dates that are none, and infinity; the message
        names the column.

    Notes
    -----
    `fit` sees no outputs. `partial_fit` learns from its first rows what the columns are, and
    nothing after: bounds on the errors of a stream hold for the rows as encoded.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from skstructured import OnlineStructuredPredictor, TableEncoder
    >>> X = [[22.0, "male"], [None, "female"], [26.0, "female"], [35.0, "male"]] * 10
    >>> TableEncoder().fit_transform(X).shape
    (40, 4)
    >>> model = make_pipeline(TableEncoder(), OnlineStructuredPredictor(random_state=0))
    >>> model.fit(X, [0, 1, 1, 0] * 10).score(X, [0, 1, 1, 0] * 10)
    1.0
    """

    feature_names_in_: Array

    def __init__(self, max_categories: int = 100, n_buckets: int = 128) -> None:
        self.max_categories = max_categories
        self.n_buckets = n_buckets

    def fit(self, X: Any, y: Any = None) -> Self:
        """Look at a table: a data frame, an Arrow table, a dict of columns, an array or lists."""
        return self._decide(X, stream=False)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Look at the first rows of a stream; later ones are only checked for their columns."""
        if not hasattr(self, "_coders"):
            return self._decide(X, stream=True)
        self._columns(X)
        return self

    def transform(self, X: Any) -> Floats | csr_matrix:
        """Rows of numbers (n, n_features_out), NaN where there is no number."""
        check_is_fitted(self, "_coders")
        parts = self._parts(self._columns(X))
        if self._units is None:
            return np.ascontiguousarray(np.hstack(parts))
        scaled = [
            part if units is None else units.applied(part)
            for part, units in zip(parts, self._units, strict=True)
        ]
        return hstack([csr_matrix(part) for part in scaled], format="csr")

    def _coders_of(self, *kinds: str) -> list[Any]:
        """What encodes the columns that were taken for these `kinds`, or for any."""
        return [coder for coder in self._coders if not kinds or coder.kind in kinds]

    def _parts(self, columns: dict[Any, Array]) -> list[Any]:
        """What the columns become, one matrix each."""
        by_name = {_name(key): values for key, values in columns.items()}
        return [coder.transform(by_name[coder.name]) for coder in self._coders]

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns of the output, (n_features_out,)."""
        check_is_fitted(self, "_coders")
        return np.array([name for coder in self._coders for name in coder.names], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_coders")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    def _decide(self, X: Any, stream: bool, values: Mapping[Any, Array] | None = None) -> Self:
        """Choose what encodes each column; the `values` of some, wherever they come, are known."""
        check_integer("max_categories", self.max_categories)
        check_integer("n_buckets", self.n_buckets)
        columns = _filled(columns_of(X))
        with unchanged_on_error(self):
            given = (self.max_categories, self.n_buckets, stream)
            self._coders = [coder_of(_name(key), v, *given) for key, v in columns.items()]
            self._coders = [
                Categories(one.name, values[one.name], self.max_categories)
                if values and one.name in values
                else one
                for one in self._coders
            ]
            parts, self._units = self._parts(columns), None
            if any(getattr(coder, "is_wide", False) for coder in self._coders):
                self._units = [
                    Units(part) if isinstance(coder, Numbers | Dates) else None
                    for coder, part in zip(self._coders, parts, strict=True)
                ]
            self._remember(columns)
        return self

    def _remember(self, columns: dict[Any, Array]) -> None:
        self.n_features_in_ = len(columns)
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if all(isinstance(key, str) for key in columns):
            self.feature_names_in_ = np.array(list(columns), dtype=object)
        self.columns_ = [
            {"column": coder.name, "taken for": coder.kind, "outputs": len(coder.names)}
            for coder in self._coders
        ]

    def _columns(self, X: Any) -> dict[Any, Array]:
        """The columns that were there at first, by what they are called now."""
        columns = _filled(columns_of(X))
        named = hasattr(self, "feature_names_in_")
        if named and all(isinstance(key, str) for key in columns):
            wanted = list(self.feature_names_in_)
            missing = [name for name in wanted if name not in columns]
            if missing:
                raise ValueError(
                    f"rows must have the columns {', '.join(wanted)}; missing: "
                    f"{', '.join(missing)}."
                )
            return {name: columns[name] for name in wanted}
        if len(columns) != self.n_features_in_:
            raise ValueError(
                f"X has {len(columns)} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        names = [coder.name for coder in self._coders]
        return dict(zip(names, columns.values(), strict=True))


def _name(key: Any) -> Any:
    """What a column is called: by its place ``x0``, where it has no name."""
    return f"x{key}" if isinstance(key, int) else key


def _filled(columns: dict[Any, Array]) -> dict[Any, Array]:
    """The columns; a ValueError where there is none, or no row."""
    n = len(next(iter(columns.values()))) if columns else 0
    if n == 0:
        shape = (n, len(columns))
        what = "sample" if columns else "feature"
        raise ValueError(
            f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required."
        )
    return columns
