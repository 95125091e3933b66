"""What learners of rows say to other input, and what takes it: items, label sequences, tables."""

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

#: The end of the error, which names the learners of items.
ITEMS = (
    "This learner takes one row of features per output. For items with features of their own, such "
    "as the documents of a query or the alternatives of a choice, skstructured.items has "
    "ListwiseRanker, ConditionalLogit and ItemStructuredPredictor: see docs/items.md."
)

#: The end of the error for columns of words or dates.
TABLES = (
    "This learner needs numbers. TableEncoder encodes columns of words and dates: "
    "make_pipeline(TableEncoder(), learner)."
)


@contextlib.contextmanager
def matrices_refused(X: Any) -> Iterator[None]:
    """Have the error about an X of words or dates, or whose rows are matrices, say what to use."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if "could not convert string" in str(error):
            raise ValueError(f"{error}. {TABLES}") from error
        if isinstance(error, TypeError) and hasattr(X, "columns"):
            raise TypeError(f"{error}. {TABLES}") from error
        if isinstance(error, TypeError) or not _rows_are_matrices(X):
            raise
        raise ValueError(f"{error} {ITEMS} Label sequences: see docs/sequences.md.") from error


def _rows_are_matrices(X: Any) -> bool:
    with contextlib.suppress(ValueError):  # of matrices of several shapes
        return np.ndim(X) > 2
    with contextlib.suppress(ValueError):
        return any(np.ndim(row) > 1 for row in X)
    return False
