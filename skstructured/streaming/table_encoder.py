"""Tables as people have them, to the rows of numbers that learners take."""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_array, check_is_fitted

from skstructured._base.validation import check_integer, unchanged_on_error
from skstructured._engine.arrays import Array, Floats
from skstructured.streaming._columns import WIDER, Categories, Dates, Empty, Numbers, coder_of
from skstructured.streaming._frames import columns_of, has_names

__all__ = ["TableEncoder"]

#: Parameters that name columns by what they hold.
KINDS = ("numbers", "categories", "dates", "texts")


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode tables with numbers, words, dates and missing values as rows of numbers.

    For the step before a learner of this package: `fit` for a table, `partial_fit` for a stream.
    Each column becomes

    - numbers and booleans: themselves, NaN if missing, which learners with ``missing="mean"``
      take; and an indicator of that if the first rows had missing values. Durations are seconds;
    - short texts and categories: an indicator of each value, none for values that come later; in
      streams `n_buckets` hashed indicators, so new words never change the width;
    - dates (as such, or as texts like 2024-05-31): days since 1970, hour, month and weekday. Dates
      with a time zone are converted to UTC;
    - long texts: hashed counts of words and pairs of words.

    In `fit`, a column of more than `max_categories` values makes the output a CSR matrix, in which
    values that are there only once share an indicator. Numbers are then centered and divided by
    their standard deviations, and 0 if missing, because sparse rows have no missing values.

    Texts that are all numbers are numbers, unless `categories` has their column. In a column of
    categories, the number 1, the number 1.0 and the text "1" are one category: which of them a
    cell is read as depends on the rest of the file.

    A column without any value is left out by `fit`. In a stream it is undecided: it takes
    `n_buckets` columns of the output (at least 21) that are 0 until `partial_fit` sees a value.

    Columns are found by their names on every call; others that come later are left out.

    Parameters
    ----------
    max_categories : int, default=100
        Values that a text column may have, in `fit`, for the output to be dense.
    n_buckets : int, default=128
        Columns of hashed values; four times as many of hashed words.
    numbers, categories, dates, texts : list of column names or None, default=None
        Columns that hold numbers, categories, dates or long texts, whatever their values look like.
        Arrays have the names ``"x0"``, ``"x1"``, ... None decides each column by its values.

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
        For columns that are missing, cells that are not numbers or dates in columns of these, dates
        with and without a time zone in one column, complex numbers, and infinity; the message names
        the column.

    Notes
    -----
    `fit` sees no outputs. `partial_fit` learns what a column is from the first rows that have a
    value in it: bounds on the errors of a stream hold for the rows as encoded.

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
    _coders: list[Any]

    def __init__(
        self,
        max_categories: int = 100,
        n_buckets: int = 128,
        numbers: Sequence[Any] | None = None,
        categories: Sequence[Any] | None = None,
        dates: Sequence[Any] | None = None,
        texts: Sequence[Any] | None = None,
    ) -> None:
        self.max_categories = max_categories
        self.n_buckets = n_buckets
        self.numbers = numbers
        self.categories = categories
        self.dates = dates
        self.texts = texts

    def fit(self, X: Any, y: Any = None) -> Self:
        """Look at a table: a data frame, an Arrow table, a dict of columns, an array or lists."""
        return self._decide(X, stream=False)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Look at the first rows of a stream, and later at columns without values so far."""
        if not hasattr(self, "_coders"):
            return self._decide(X, stream=True)
        self._coders = [
            coder.decided(values) if isinstance(coder, Empty | Dates) else coder
            for coder, values in zip(self._coders, self._columns(X), strict=True)
        ]
        return self

    def transform(self, X: Any) -> Floats | csr_matrix:
        """Rows of numbers (n, n_features_out), NaN where there is no number."""
        check_is_fitted(self)
        parts = self._parts(self._columns(X))
        if self._scalers is None:
            return np.ascontiguousarray(np.hstack(parts))
        scaled = [
            part if scaler is None else np.nan_to_num(scaler.transform(part))
            for part, scaler in zip(parts, self._scalers, strict=True)
        ]
        return hstack(scaled, format="csr")

    @property
    def columns_(self) -> list[dict[str, Any]]:
        """What became of each column."""
        return [
            {"column": coder.name, "taken for": coder.kind, "outputs": len(coder.names)}
            for coder in self._coders
        ]

    def _coders_of(self, *kinds: str) -> list[Any]:
        """What encodes the columns that were taken for these `kinds`, or for any."""
        return [coder for coder in self._coders if not kinds or coder.kind in kinds]

    def _parts(self, columns: list[Array]) -> list[Any]:
        """What the columns become, one matrix each."""
        pairs = zip(self._coders, columns, strict=True)
        return [coder.transform(values) for coder, values in pairs]

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns of the output, (n_features_out,)."""
        check_is_fitted(self)
        return np.array([name for coder in self._coders for name in coder.names], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    def _decide(self, X: Any, stream: bool, values: Mapping[Any, Array] | None = None) -> Self:
        """Choose what encodes each column; the `values` of some, wherever they come, are known."""
        check_integer("max_categories", self.max_categories)
        check_integer("n_buckets", self.n_buckets)
        columns = _filled(columns_of(X))
        kinds, names = self._kinds(list(columns)), _labels(list(columns))
        buckets, most = (self.n_buckets, WIDER * self.n_buckets), self.max_categories
        width = max(self.n_buckets, len(Dates("").names)) if stream and values is None else 0
        with unchanged_on_error(self), np.errstate(invalid="ignore"):  # columns without a value
            self._coders = [
                Categories(name, values[name], most)
                if values and name in values
                else coder_of(name, v, kinds.get(name), buckets, None if stream else most)
                or Empty(name, width)
                for name, v in zip(names, columns.values(), strict=True)
            ]
            parts, self._scalers = self._parts(list(columns.values())), None
            if any(getattr(coder, "is_wide", False) for coder in self._coders):
                self._scalers = [
                    StandardScaler().fit(part) if isinstance(coder, Numbers | Dates) else None
                    for coder, part in zip(self._coders, parts, strict=True)
                ]
            self._keys, self.n_features_in_ = list(columns), len(columns)
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            if all(isinstance(key, str) for key in columns):
                self.feature_names_in_ = np.array(self._keys, dtype=object)
        return self

    def _kinds(self, keys: list[Any]) -> dict[Any, str]:
        """The kinds of columns that the parameters give, by the names of the columns."""
        found: dict[Any, str] = {}
        names = _labels(keys)
        known = dict(zip([*names, *keys], names * 2, strict=True))
        for kind in KINDS:
            given = getattr(self, kind)
            given = [] if given is None else [given] if np.ndim(given) == 0 else list(given)
            wrong = [key for key in given if key not in known]
            if wrong:
                there = ", ".join(map(str, names))
                raise ValueError(f"{kind} must be among the columns {there}; got {wrong[0]!r}.")
            for name in [known[key] for key in given]:
                if found.setdefault(name, kind) != kind:
                    raise ValueError(f"column {name!r} is in both {found[name]} and {kind}.")
        return found

    def _columns(self, X: Any) -> list[Array]:
        """The columns that were there at first, by their names if all of these are there."""
        columns, keys = _filled(columns_of(X)), self._keys
        if has_names(X) and all(key in columns for key in keys):
            return [columns[key] for key in keys]
        if not (_are_places(list(columns)) or _are_places(keys)):
            missing = ", ".join(str(key) for key in keys if key not in columns)
            raise ValueError(
                f"rows must have the columns {', '.join(map(str, keys))}; missing: {missing}."
            )
        if len(columns) != len(keys):
            raise ValueError(
                f"X has {len(columns)} features, but {type(self).__name__} is expecting "
                f"{len(keys)} features as input."
            )
        return list(columns.values())


def _labels(keys: list[Any]) -> list[Any]:
    """What columns are called: ``x0``, ``x1``, ... if their names are numbers, or their places."""
    return [f"x{key}" for key in keys] if all(isinstance(key, Integral) for key in keys) else keys


def _are_places(keys: list[Any]) -> bool:
    """Whether columns are numbered from 0, as those of arrays and of frames without names."""
    return keys == list(range(len(keys)))


def _filled(columns: dict[Any, Array]) -> dict[Any, Array]:
    """The columns; a ValueError where there is none, or no row."""
    n = len(next(iter(columns.values()), ()))
    check_array(np.broadcast_to(False, (n, len(columns))))
    return columns
