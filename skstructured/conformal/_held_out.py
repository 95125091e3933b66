"""Rows that are learned, and rows that are held out."""

from typing import Any

from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.validation import _num_samples

from skstructured._base.parameters import Seed
from skstructured._base.validation import check_lengths
from skstructured.extend._types import Ints


def split_rows(n: int, share: float, random_state: Seed) -> tuple[Ints, Ints]:
    """Rows that are learned, and rows that are held out, all in random order.

    Classes are not spread over both: new rows come as they come, and so must those held out.
    """
    if n < 2:
        raise ValueError(f"n_samples={n} is too few: one row is learned, and one held out.")
    held = min(max(round(share * n), 1), n - 1)
    order = check_random_state(random_state).permutation(n)
    return order[held:], order[:held]


def indexed(estimator: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """X and y in a form whose rows can be taken; a ValueError where they do not fit."""
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    check_lengths(_num_samples(X), _num_samples(y))
    return indexable(X, y)


def rows_of(X: Any, which: Any) -> Any:
    """Some rows, in the form they are given in."""
    if hasattr(X, "iloc"):
        return X.iloc[which]
    return X[which] if hasattr(X, "shape") else _safe_indexing(X, which)
