"""Checks of the arrays of a sparse X, which neither SciPy nor the kernels make."""

from typing import Any

import numpy as np

from skstructured._engine.arrays import Array
from skstructured._engine.rows import index_range


def check_sparse(X: Any) -> None:
    """Raise a ValueError if the arrays of a sparse X do not fit together; SciPy does not check."""
    if X.format in ("csr", "csc") and X.ndim == 2:
        rows = X.format == "csr"
        lines, size = X.shape if rows else X.shape[::-1]
        check_compressed(X, lines, size, "columns" if rows else "rows")
    elif X.format == "coo" and X.ndim == 2:
        for name, size in zip(("row", "col"), X.shape, strict=True):
            check_vector(f"X.{name}", getattr(X, name))
            check_range(f"X.{name}", getattr(X, name), size, "columns" if name == "col" else "rows")


def check_compressed(X: Any, lines: int, size: int, kind: str) -> None:
    """`lines` pointers that rise within the arrays, and places below `size` in each line."""
    for name in ("indptr", "indices"):
        check_vector(f"X.{name}", getattr(X, name))
    if np.ndim(X.data) != 1:
        raise ValueError(f"X.data must be a vector, got shape {np.shape(X.data)}.")
    if len(X.indptr) != lines + 1:
        raise ValueError(
            f"X.indptr must have {lines + 1} entries for the shape {X.shape}, got {len(X.indptr)}."
        )
    stored = min(len(X.indices), len(X.data))
    if X.indptr[0] != 0 or X.indptr[-1] > stored or np.any(X.indptr[1:] < X.indptr[:-1]):
        raise ValueError(f"X.indptr must rise from 0 to at most the {stored} values stored in X.")
    check_range("X.indices", X.indices[: X.indptr[-1]], size, kind)


def check_vector(name: str, array: object) -> None:
    """A one-dimensional NumPy array of int32 or int64, as SciPy makes them."""
    if not isinstance(array, np.ndarray) or array.dtype not in (np.int32, np.int64):
        given = getattr(array, "dtype", type(array).__name__)
        raise ValueError(f"{name} must be an array of int32 or int64, got {given}.")
    if array.ndim != 1:
        raise ValueError(f"{name} must be a vector, got shape {array.shape}.")


def check_range(name: str, places: Array, size: int, kind: str) -> None:
    """Places between 0 and size − 1."""
    low, high = index_range(places)
    if low < 0 or high >= size:
        raise ValueError(
            f"{name} must lie between 0 and {size - 1} (X has {size} {kind}), "
            f"they go from {low} to {high}."
        )
