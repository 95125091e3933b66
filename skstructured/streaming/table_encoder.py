"""Encode tables with strings, dates and missing values as rows of numbers."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from numbers import Integral
from typing import Any, Self, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix, hstack, issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import check_array
from sklearn.utils.validation import _check_n_features, check_is_fitted

from skstructured._base import cell_formats
from skstructured._base.cell_formats import ISO_FORMAT, NUMBER_FORMATS, is_missing
from skstructured._base.component import parameters
from skstructured._base.validation import check_integer
from skstructured._engine.types import Array, Floats
from skstructured._learners.lock import learning_aside

#: Texts that pandas reads as numbers if there are no others in their column.
NUMERAL_PATTERN = re.compile(r"\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*", re.ASCII)

#: Whole numbers below are exact as floats.
EXACT_INTEGER_LIMIT = 2**53


#: Kind and format of a column, None if its values decide.
Spec: TypeAlias = tuple[str | None, str | None]


def has_names(X: Any) -> bool:
    """Whether the columns of a table have names."""
    return isinstance(X, Mapping) or hasattr(X, "columns") or hasattr(X, "column_names")


def read_columns(X: Any) -> dict[Any, Array]:
    """The columns (n,) of a table by their names, or by numbers if it has no names."""
    if issparse(X):
        raise TypeError("Sparse data are not supported by TableEncoder: use X.toarray().")
    X = X.to_pandas(ignore_metadata=True) if hasattr(X, "column_names") else X  # an Arrow table
    if has_names(X):
        names = list(getattr(X, "columns", X))
        if twice := {name for name, count in Counter(names).items() if count > 1}:
            raise ValueError(f"Names of columns must differ, got twice: {sorted(twice)}.")
        columns = {name: _values(X[name]) for name in names}
    else:
        X = X if hasattr(X, "dtype") else np.array(X, dtype=object)
        columns = dict(enumerate(check_array(X, dtype=None, ensure_all_finite=False).T))
    for name, values in columns.items():
        if values.dtype.kind == "c":
            raise ValueError(f"Complex data not supported: split column {name!r} into two columns.")
    n = len(next(iter(columns.values()), ()))
    check_array(np.broadcast_to(False, (n, len(columns))))  # a row and a column or more
    return columns


def _values(column: Any) -> Array:
    """A column as an array; NaN, NaT, `None` and pandas' NA are missing values."""
    column = column.to_numpy() if hasattr(column, "to_numpy") else column
    return np.asarray(column, dtype=getattr(column, "dtype", object))


def as_texts(values: Array, missing: Array, exact: bool = False) -> Array:
    """A column as strings, "" for missing values; 1, 1.0 and "01" are one unless `exact`."""
    write, texts = str if exact else _canonical_text, np.full(len(values), "", dtype=object)
    texts[~missing] = [write(value) for value in values[~missing]]
    return texts


def are_distinct_codes(values: Array) -> bool:
    """Whether texts such as "07" and "7" are different categories: both occur, and no numbers."""
    if not cell_formats.are_codes(values) or not all(isinstance(value, str) for value in values):
        return False
    codes = {value.strip() for value in values if value.strip().isdecimal()}
    return len({*map(int, codes)}) < len(codes)


def _canonical_text(value: Any) -> str:
    text = str(value)
    if text in ("true", "TRUE", "false", "FALSE"):
        return text.capitalize()
    if NUMERAL_PATTERN.fullmatch(text) and abs(number := float(text)) < EXACT_INTEGER_LIMIT:
        return str(int(number)) if number.is_integer() else repr(number)
    return text


class Numbers:
    """Numbers ("number"), or booleans ("flag"), and an indicator of missing values if `marked`."""

    def __init__(self, name: Any, marked: bool, kind: str, form: str) -> None:
        self.name, self.marked, self.kind, self.form = name, marked, kind, form
        self.names = [f"{name}"] + [f"{name}_missing"] * marked

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Read a saved object; older ones have no other format than the plain one."""
        vars(self).update({"form": NUMBER_FORMATS.plain} | state)

    def transform(self, values: Array) -> Floats:
        """Columns (n, 1) or (n, 2)."""
        missing = is_missing(values)
        numbers = cell_formats.as_numbers(values, missing, self.form)
        if numbers is None:
            wrong = values[cell_formats.unreadable(values, "number", self.form)]
            remedy = f"use TableEncoder(categories=[{self.name!r}])"
            rule = f"Column {self.name!r} must contain numbers, got {wrong[0]!r}"
            raise ValueError(f"{rule}. If its numbers are categories, {remedy}.")
        if np.isinf(numbers).any():
            raise ValueError(f"Column {self.name!r} contains infinity.")
        return np.column_stack([numbers, missing] if self.marked else [numbers]).astype(np.float64)


class Dates:
    """Days since 1970, hour, and indicators of month and weekday; all dates have zones, or none."""

    kind, form = "date", ISO_FORMAT

    def __init__(self, name: Any, zones: Any = (), form: str = ISO_FORMAT) -> None:
        self.name, self.zones, self.form = name, tuple(zones), form
        suffixes = [f"month_{i}" for i in range(1, 13)] + [f"weekday_{i}" for i in range(1, 8)]
        self.names = [f"{name}_{suffix}" for suffix in ("days", "hour", *suffixes)]

    def decided(self, values: Array) -> Self:
        """The same if it has seen a date, or one that has seen these values."""
        if self.zones:
            return self
        form = self.form
        if form == ISO_FORMAT:
            form = date_format(self.name, values[~is_missing(values)])
        return type(self)(self.name, type(self)(self.name, (), form)._read(values)[1], form)

    def _read(self, values: Array) -> tuple[Array, set[bool]]:
        read = cell_formats.as_dates(values, is_missing(values), self.form)
        if read is None:
            example = datetime(2024, 5, 31).strftime(self.form)
            raise ValueError(f"Column {self.name!r} must contain dates such as {example}.")
        if len(read[1].union(self.zones)) > 1:
            what = "dates with and without a time zone. Convert them to UTC first"
            raise ValueError(f"Column {self.name!r} has {what}.")
        return read

    def transform(self, values: Array) -> Floats:
        """Columns (n, 21): days, hour, twelve months, seven weekdays, Monday the first."""
        dates = self._read(values)[0]
        days = dates.astype("datetime64[D]")
        fraction = (dates - np.datetime64(0, "s")) / np.timedelta64(1, "D")
        hours = (dates - days) / np.timedelta64(1, "h")
        months = dates.astype("datetime64[M]").astype(np.int64) % 12
        weekdays = (days.astype(np.int64) + 3) % 7  # 1970 began with a Thursday
        indicators = np.hstack([np.eye(12)[months], np.eye(7)[weekdays]])
        return np.column_stack([fraction, hours, indicators * ~np.isnat(dates)[:, None]])


class Categories:
    """One column for each value; with more than `most` sparse, and rare ones share a column."""

    exact, form = False, None

    def __init__(
        self, name: Any, values: Array, most: int, exact: bool = False, form: str | None = None
    ) -> None:
        self.name, self.exact, self.form = name, exact, form
        self.is_wide = len(set(values.tolist())) > most
        self.kind = "many categories" if self.is_wide else "categories"
        options = {"sparse_output": self.is_wide, "min_frequency": 2 if self.is_wide else None}
        encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", **options)
        self.encoder = encoder.fit(values[:, None])
        outputs = self.encoder.get_feature_names_out([str(name)])
        self.names = [f"{name}_missing" if out == f"{name}_" else str(out) for out in outputs]

    def transform(self, values: Array) -> Floats:
        """Indicators."""
        return self.encoder.transform(as_texts(values, is_missing(values), self.exact)[:, None])


class Hashed:
    """Hashed counts of norm 1: of whole texts, or, for "words", of words and pairs of words."""

    def __init__(self, name: Any, buckets: int, kind: str = "hashed categories") -> None:
        self.name, self.kind, bucket_name = name, kind, "words"
        options: dict[str, Any] = {"ngram_range": (1, 2)}
        if kind != "words":
            bucket_name, options = "hash", {"lowercase": False, "token_pattern": "(?s).+"}
        self.hasher = HashingVectorizer(n_features=buckets, alternate_sign=False, **options)
        self.names = [f"{name}_{bucket_name}_{i}" for i in range(buckets)]

    def transform(self, values: Array) -> Floats:
        """Counts, 0 for missing values."""
        return self.hasher.transform(as_texts(values, is_missing(values))).toarray()


class Empty:
    """A column without values so far: `width` columns of 0 until values decide how to encode it."""

    def __init__(self, name: Any, width: int, coder: Any = None) -> None:
        self.name, self.width, self.coder = name, width, coder
        self.names = [f"{name}_{i}" for i in range(width)]
        self.kind = coder.kind if coder else "undecided" if width else "empty, left out"

    def decided(self, values: Array) -> "Empty":
        """The same if it has seen a value, or one that has seen these."""
        buckets = self.width, self.width
        coder = self.coder or choose_coder(self.name, values, (None, None), buckets)
        if coder is self.coder or not self.width:
            return self
        if isinstance(coder, Numbers):
            coder = Numbers(self.name, True, coder.kind, coder.form)
        return Empty(self.name, self.width, coder)

    def transform(self, values: Array) -> Floats:
        """Columns (n, width)."""
        columns = self.coder.transform(values) if self.coder else np.empty((len(values), 0))
        return np.pad(columns, ((0, 0), (0, self.width - columns.shape[1])))


def choose_coder(
    name: Any, values: Array, spec: Spec, buckets: tuple[int, int], most: int | None = None
) -> Any:
    """The encoder of a column, None without a value.

    `buckets` are the numbers of hashed columns for short and for long texts. With `most`, each
    short text has an indicator instead.
    """
    missing, (kind, form) = is_missing(values), spec
    there, unknown = values[~missing], kind is None
    if unknown and missing.all():
        return None
    number = None
    if kind == "numbers" or (unknown and not cell_formats.are_codes(there)):
        number = cell_formats.number_format(there, form)
    if number or kind == "numbers":
        are_flags = not missing.all() and {*map(type, there)} <= {bool, np.bool_}
        kind, form = "flag" if are_flags else "number", number or form or NUMBER_FORMATS.plain
        return Numbers(name, bool(missing.any()), kind, form)
    if kind in ("dates", None):
        form = form or date_format(name, there)
        read = cell_formats.as_dates(values, missing, form)
        if kind == "dates" or read:
            return Dates(name, read[1] if read else (), form)
    exact = bool(most) and are_distinct_codes(there)
    texts = as_texts(values, missing, exact)
    if kind == "texts" or (unknown and _are_long(texts[~missing])):
        return Hashed(name, buckets[1], "words")
    if not most:
        return Hashed(name, buckets[0])
    return Categories(name, texts, most, exact, "007" if cell_formats.are_codes(there) else None)


def date_format(name: Any, values: Array) -> str:
    """The format of the dates of a column, by default `ISO_FORMAT`; a ValueError for two."""
    is_date = values.dtype.kind == "M"
    forms = [ISO_FORMAT] if is_date else cell_formats.possible_formats(values, "date")
    if len(forms) > 1:
        raise ValueError(
            f"Column {name!r} has dates such as {str(values[0])!r}, which may be {forms[0]} or "
            f"{forms[1]}. Set one: TableEncoder(dates={{{name!r}: {forms[0]!r}}}), or on the "
            f"command line --dates {name}={forms[0]}."
        )
    return (forms or [ISO_FORMAT])[0]


def _are_long(texts: Array, min_words: float = 3.0, min_distinct: float = 0.5) -> bool:
    """Whether texts have so many words on average, and most are different."""
    words = np.mean([len(text.split()) for text in texts[:1000]])
    return bool(words >= min_words and len({*texts}) > min_distinct * len(texts))


@parameters
class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode tables with numbers, strings, dates and missing values as rows of numbers.

    Use it as the step before an estimator of this package: `fit` for a table, `partial_fit` for a
    stream. The columns are encoded by their type:

    - numbers and booleans: unchanged, with NaN for missing values, which estimators with
      ``missing="mean"`` accept. If the first rows have missing values, an indicator column is
      appended. Durations are seconds;
    - short strings and categories: one-hot encoded; values that `fit` has not seen have no
      indicator. In streams they are hashed to `n_buckets` indicators, so new values do not change
      the width;
    - dates (as such, or as strings): days since 1970, hour, month and weekday.
      Dates with a time zone are converted to UTC;
    - long strings: hashed counts of words and pairs of words.

    In `fit`, a column with more than `max_categories` values makes the output a CSR matrix, in
    which values that occur only once share an indicator. Numbers are then centered and divided by
    their standard deviations, and 0 if missing, because sparse rows have no missing values.

    Strings that are all numbers are numbers, unless `categories` has their column. All strings of a
    column have one format: ``1234.5``, ``1,234.5`` or ``1.234,5``, with a currency or a percent
    sign, or a date such as 2024-05-31, 31/05/2024, 05/31/2024, 31.05.2024 or 31 May 2024, with a
    time or without. Dates that can be read in two ways are an error, unless `dates` has their
    format. Strings with leading zeros, such as 007, are codes, and categories. In a column of
    categories, the number 1, the number 1.0 and the string "1" are one category, because file
    readers choose among them depending on the rest of the file.

    `fit` leaves out a column without any value. In a stream it is undecided: it has `n_buckets`
    columns in the output (at least 21), which are 0 until `partial_fit` sees a value.

    Columns are found by their names on every call; additional columns are ignored.

    Parameters
    ----------
    max_categories : int, default=100
        Maximum number of values of a string column, in `fit`, for a dense output.
    n_buckets : int, default=128
        Number of columns for hashed values; hashed words have four times as many.
    numbers, categories, dates, texts : list of column names or None, default=None
        Columns to treat as numbers, categories, dates or long strings, regardless of their values.
        Arrays have the names ``"x0"``, ``"x1"``, ... None chooses the type of each column by its
        values. `dates` and `numbers` can be dicts with the format of each column, such as
        ``{"when": "%d/%m/%Y"}`` and ``{"price": "1.234,5"}``.

    Attributes
    ----------
    columns_ : list of dict
        Name of each column, its chosen type, its number of columns in the output, and the format
        of its strings if it is not the usual one.
        ``pandas.DataFrame(encoder.columns_)`` shows it as a table.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if the table has names.

    Raises
    ------
    ValueError
        For missing columns, cells that are not numbers or dates in such columns, dates with and
        without a time zone in one column, complex numbers, and infinity. The message names the
        column.

    See Also
    --------
    StructuredPredictor : The estimator to try first, for the encoded rows.
    OnlineStructuredPredictor : The linear online learner, which also accepts CSR rows.
    skstructured.sequences.SequenceTransformer : Transformers of rows, applied to sequences.

    Notes
    -----
    `fit` does not use outputs. `partial_fit` chooses the type of a column by the first rows that
    have a value in it. Bounds on the errors of a stream hold for the encoded rows.

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

    max_categories: int = 100
    n_buckets: int = 128
    numbers: Sequence[Any] | Mapping[Any, str | None] | None = None
    categories: Sequence[Any] | None = None
    dates: Sequence[Any] | Mapping[Any, str | None] | None = None
    texts: Sequence[Any] | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn column types from a data frame, Arrow table, dict of columns, array or lists."""
        return self._decide(X, stream=False)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn the types of columns from the first rows of a stream; later those of empty ones."""
        if not hasattr(self, "_coders"):
            return self._decide(X, stream=True)
        self._coders: list[Any] = [
            coder.decided(values) if isinstance(coder, Empty | Dates) else coder
            for coder, values in zip(self._coders, self._columns(X), strict=True)
        ]
        return self

    def transform(self, X: Any) -> Floats | csr_matrix:
        """Encode a table as rows of numbers (n, n_features_out), with NaN for missing numbers."""
        check_is_fitted(self)
        blocks = self._parts(self._columns(X))
        if self._scalers is None:
            return np.ascontiguousarray(np.hstack(blocks))
        for j, scaler in self._scalers.items():
            blocks[j] = np.nan_to_num(scaler.transform(blocks[j]))
        return hstack(blocks, format="csr")

    @property
    def columns_(self) -> list[dict[str, Any]]:
        """Name, chosen type, number of outputs and format of each column."""
        columns = []
        for coder in self._coders:
            column = {"column": coder.name, "taken for": coder.kind, "outputs": len(coder.names)}
            form = getattr(getattr(coder, "coder", None) or coder, "form", None)
            is_usual = form in (None, NUMBER_FORMATS.plain, ISO_FORMAT)
            columns.append(column if is_usual else column | {"format": form})
        return columns

    def _parts(self, columns: list[Array]) -> list[Any]:
        """The encoded columns, one matrix each."""
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

    def _decide(self, X: Any, stream: bool) -> Self:
        """Choose the encoder of each column."""
        check_integer("max_categories", self.max_categories)
        check_integer("n_buckets", self.n_buckets)
        columns = read_columns(X)
        kinds, names = self._kinds(list(columns)), _column_names(list(columns))
        buckets = self.n_buckets, 4 * self.n_buckets
        most = None if stream else self.max_categories
        width = max(self.n_buckets, len(Dates("").names)) if stream else 0
        with learning_aside(self) as new, np.errstate(invalid="ignore"):  # columns without a value
            new._coders = []
            for name, values in zip(names, columns.values(), strict=True):
                coder = choose_coder(name, values, kinds.get(name, (None, None)), buckets, most)
                new._coders.append(coder or Empty(name, width))
            blocks, new._scalers = new._parts(list(columns.values())), None
            if any(getattr(coder, "is_wide", False) for coder in new._coders):
                coders = enumerate(new._coders)
                scaled = [j for j, coder in coders if isinstance(coder, Numbers | Dates)]
                new._scalers = {j: StandardScaler().fit(blocks[j]) for j in scaled}
            new._keys, new.n_features_in_ = list(columns), len(columns)
            vars(new).pop("feature_names_in_", None)
            if all(isinstance(key, str) for key in columns):
                new.feature_names_in_ = np.array(new._keys, dtype=object)
        return self

    def _kinds(self, keys: list[Any]) -> dict[Any, tuple[str, str | None]]:
        """The kinds and formats of columns that the parameters give, by the names of columns."""
        kinds: dict[Any, tuple[str, str | None]] = {}
        names = _column_names(keys)
        names_by_key = dict(zip([*names, *keys], names * 2, strict=True))
        for kind in ("numbers", "categories", "dates", "texts"):
            columns = getattr(self, kind)
            if not isinstance(columns, Mapping):
                columns = [] if columns is None else [columns] if np.ndim(columns) == 0 else columns
                columns = dict.fromkeys(columns)
            for key, form in columns.items():
                if key not in names_by_key:
                    allowed = ", ".join(map(str, names))
                    raise ValueError(f"{kind} must be among the columns {allowed}; got {key!r}.")
                if (other := kinds.setdefault(names_by_key[key], (kind, form))[0]) != kind:
                    raise ValueError(f"Column {names_by_key[key]!r} is in both {other} and {kind}.")
        return kinds

    def _columns(self, X: Any) -> list[Array]:
        """The columns that were there at first, by their names if all of these are there."""
        columns, keys = read_columns(X), self._keys
        if has_names(X) and all(key in columns for key in keys):
            return [columns[key] for key in keys]
        if not (_are_places(list(columns)) or _are_places(keys)):
            missing = ", ".join(str(key) for key in keys if key not in columns)
            needed = ", ".join(map(str, keys))
            raise ValueError(f"X must have the columns {needed}; missing: {missing}.")
        _check_n_features(self, np.empty((0, len(columns))), reset=False)
        return list(columns.values())


def _column_names(keys: list[Any]) -> list[Any]:
    """Names of columns: ``x0``, ``x1``, ... if their names are numbers."""
    return [f"x{key}" for key in keys] if all(isinstance(key, Integral) for key in keys) else keys


def _are_places(keys: list[Any]) -> bool:
    """Whether columns are numbered from 0, as those of arrays and of frames without names."""
    return keys == list(range(len(keys)))
