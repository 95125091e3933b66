"""Columns of a table, whatever it is: data frames of pandas or polars, Arrow tables, arrays."""

import re
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array

from skstructured._engine.arrays import Array

#: Cells that are no value, besides what numpy takes for one.
NOTHING = ("", "nan", "NaN", "NA", "N/A", "<NA>", "null", "NULL", "None", "NaT")

#: Texts that pandas reads as numbers or as booleans if there are no others in their column.
NUMERAL = re.compile(r"\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*", re.ASCII)
TRUTH = ("true", "TRUE", "false", "FALSE")

#: Whole numbers below are exact as floats.
EXACT = 2**53

SECOND = np.timedelta64(1, "s")


def has_names(X: Any) -> bool:
    """Whether the columns of a table have names."""
    return isinstance(X, Mapping) or hasattr(X, "columns") or hasattr(X, "column_names")


def columns_of(X: Any) -> dict[Any, Array]:
    """The columns of a table by their names, arrays of shape (n,); places, where it has no names.

    Raises
    ------
    TypeError
        For sparse matrices.
    ValueError
        For arrays that have no two dimensions, no row or no column, names that are there twice, and
        complex numbers.
    """
    if issparse(X):
        raise TypeError("Sparse data were passed, and tables are dense: use X.toarray().")
    columns = {name: _values(column) for name, column in _parts_of(X).items()}
    mixed = [name for name, values in columns.items() if values.dtype.kind == "c"]
    if mixed:
        raise ValueError(f"Complex data not supported: split column {mixed[0]!r} into two columns.")
    return columns


def _parts_of(X: Any) -> Mapping[Any, Any]:
    if isinstance(X, Mapping):
        return X
    if hasattr(X, "column_names"):  # an Arrow table
        return {name: X.column(name).to_pandas().to_numpy(object) for name in X.column_names}
    if hasattr(X, "columns"):
        names = list(X.columns)
        twice = {name for name, count in Counter(names).items() if count > 1}
        if twice:
            raise ValueError(f"columns must have names of their own, got twice: {sorted(twice)}.")
        return {name: X[name] for name in names}
    X = X if hasattr(X, "dtype") else np.array(X, dtype=object)
    return dict(enumerate(check_array(X, dtype=None, ensure_all_finite=False).T))


def _values(column: Any) -> Array:
    """A column as an array; what is missing is None, NaN, NaT or pandas' NA."""
    if hasattr(column, "to_numpy"):
        return np.asarray(column.to_numpy())
    return np.asarray(column, dtype=getattr(column, "dtype", object))


def is_missing(values: Array) -> Array:
    """Where a column has no value, booleans (n,)."""
    if values.dtype.kind in "fmMiub":
        return np.asarray(values != values)
    return np.array([str(value).strip() in NOTHING for value in values], dtype=bool)


def as_numbers(values: Array, missing: Array) -> Array | None:
    """A column as float64, NaN where it has no value; None where some value is no number.

    Durations are numbers of seconds.
    """
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)
    if values.dtype.kind == "m":
        return np.asarray(values / SECOND)
    if values.dtype.kind == "M":
        return None
    numbers, there = np.full(len(values), np.nan), values[~missing]
    spans = [isinstance(value, timedelta | np.timedelta64) for value in there]
    try:
        if any(spans):
            there[spans] = [value / SECOND for value in there[spans]]
        numbers[~missing] = there.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return numbers


def as_texts(values: Array, missing: Array) -> Array:
    """A column as strings, "" where it has no value.

    The number 1, the number 1.0 and the text "01" are one string: which of them a reader of files
    makes of a cell depends on the other cells of its column.
    """
    found = ["" if gone else _text(value) for value, gone in zip(values, missing, strict=True)]
    return np.array(found, dtype=object)


def _text(value: Any) -> str:
    text = str(value)
    if text in TRUTH:
        return text.capitalize()
    if NUMERAL.fullmatch(text) and abs(number := float(text)) < EXACT:
        return str(int(number)) if number.is_integer() else repr(number)
    return text


def as_dates(values: Array, missing: Array) -> tuple[Array, set[bool]] | None:
    """A column as seconds since 1970, NaT where it has no value; None if it has other values.

    Dates with a time zone are converted to UTC. The set says whether dates have zones: it has two
    elements if some have and others have not, and none without a date.
    """
    if values.dtype.kind == "M":
        return values.astype("datetime64[s]"), set() if missing.all() else {False}
    there = values[~missing]
    if not all(_may_be_a_date(value) for value in there):
        return None
    dates = np.full(len(values), "NaT", dtype="datetime64[s]")
    try:
        zones = [datetime.fromisoformat(str(value).strip()).tzinfo for value in there]
        dates[~missing] = np.array(list(map(_in_utc, there, zones)), dtype="datetime64[s]")
    except (ValueError, OverflowError):
        return None
    return dates, {zone is not None for zone in zones}


def _in_utc(value: Any, zone: Any) -> str:
    text = str(value).strip()
    return str(datetime.fromisoformat(text).astimezone(UTC))[:-6] if zone else text


def _may_be_a_date(value: Any) -> bool:
    """Whether a value looks like 2024-05-31, or is a date of Python's or numpy's."""
    if isinstance(value, str):
        value = value.strip()
        return len(value) >= 10 and value[:4].isdigit() and value[4] == value[7] == "-"
    return hasattr(value, "isoformat") or isinstance(value, np.datetime64)
