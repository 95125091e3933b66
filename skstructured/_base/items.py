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

#: The end of the error for columns of words.
WORDS = "Encode columns of words first: make_pipeline(TableEncoder(), learner)."


@contextlib.contextmanager
def matrices_refused(X: Any) -> Iterator[None]:
    """Have the error about an X of words, or whose rows are matrices, say what to use."""
    try:
        yield
    except ValueError as error:
        if "could not convert string" in str(error):
            raise ValueError(f"{error}. {WORDS}") from error
        if not _rows_are_matrices(X):
            raise
        raise ValueError(f"{error} {ITEMS} Label sequences: see docs/sequences.md.") from error


def _rows_are_matrices(X: Any) -> bool:
    with contextlib.suppress(ValueError):  # of matrices of several shapes
        return np.ndim(X) > 2
    with contextlib.suppress(ValueError):
        return any(np.ndim(row) > 1 for row in X)
    return False
