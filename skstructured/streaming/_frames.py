"""Columns of a table, whatever it is: data frames of pandas or polars, Arrow tables, arrays."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse

from skstructured._engine.arrays import Array

#: Cells that are no value, besides what numpy takes for one.
NOTHING = ("", "nan", "NaN", "NA", "N/A", "<NA>", "null", "NULL", "None", "NaT")


def columns_of(X: Any) -> dict[Any, Array]:
    """The columns of a table by their names, arrays of shape (n,); places, where it has no names.

    Raises
    ------
    TypeError
        For sparse matrices.
    ValueError
        For arrays that have no two dimensions, no row or no column, and names that are there twice.
    """
    if issparse(X):
        raise TypeError("Sparse data were passed, and tables are dense: use X.toarray().")
    if isinstance(X, Mapping):
        return {name: np.asarray(values, dtype=object) for name, values in X.items()}
    names = getattr(X, "column_names", None)
    if names is not None:  # an Arrow table
        return {name: np.asarray(X.column(name).to_pandas(), dtype=object) for name in names}
    if hasattr(X, "columns"):
        return _of_frame(X)
    X = np.asarray(X) if hasattr(X, "dtype") else np.array(X, dtype=object)
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got array of shape {X.shape}. Reshape your data either using "
            "array.reshape(-1, 1) or array.reshape(1, -1)."
        )
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: split them into two columns.")
    return {j: X[:, j] for j in range(X.shape[1])}


def _of_frame(X: Any) -> dict[Any, Array]:
    names = list(X.columns)
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(f"columns must have names of their own, got twice: {sorted(twice)}.")
    return {name: _values(X[name]) for name in names}


def _values(column: Any) -> Array:
    """A column of a frame: floats, booleans, dates or objects; what is missing is None or NaN."""
    kind = getattr(column.dtype, "kind", "O")
    if kind in "iuf" and hasattr(column, "isna"):  # nullable numbers of pandas too
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind == "b" and hasattr(column, "isna") and column.isna().any():
        return np.asarray(column.astype(object))
    return np.asarray(column.to_numpy())


def is_missing(values: Array) -> Array:
    """Where a column has no value, booleans (n,)."""
    if values.dtype.kind in "fM":
        return np.isnan(values) if values.dtype.kind == "f" else np.isnat(values)
    if values.dtype.kind in "iub":
        return np.zeros(len(values), dtype=bool)
    return np.array([_is_nothing(value) for value in values], dtype=bool)


def _is_nothing(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip() in NOTHING
    return value is None or str(value) in NOTHING


def as_numbers(values: Array, missing: Array) -> Array | None:
    """A column as float64, NaN where it has no value; None where some value is no number."""
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)
    if values.dtype.kind == "M":
        return None
    numbers = np.full(len(values), np.nan)
    try:
        numbers[~missing] = values[~missing].astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return numbers


def as_texts(values: Array, missing: Array) -> Array:
    """A column as strings, "" where it has no value."""
    found = ["" if gone else str(value) for value, gone in zip(values, missing, strict=True)]
    return np.array(found, dtype=object)


def as_dates(values: Array, missing: Array) -> Array | None:
    """A column as seconds since 1970, NaT where it has no value; None if it has other texts."""
    if values.dtype.kind == "M":
        return values.astype("datetime64[s]")
    dates = np.full(len(values), "NaT", dtype="datetime64[s]")
    there = values[~missing]
    if not len(there) or not all(_may_be_a_date(value) for value in there):
        return None
    try:
        dates[~missing] = np.array([str(value).strip() for value in there], dtype="datetime64[s]")
    except ValueError:
        return None
    return dates


def _may_be_a_date(value: Any) -> bool:
    """Whether a value looks like 2024-05-31, or is a date of Python's or numpy's."""
    if isinstance(value, str):
        value = value.strip()
        return len(value) >= 10 and value[:4].isdigit() and value[4] == value[7] == "-"
    return hasattr(value, "isoformat") or isinstance(value, np.datetime64)
