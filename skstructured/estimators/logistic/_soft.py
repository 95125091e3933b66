"""Outputs that are a distribution over the classes, one per row."""

import numpy as np
from sklearn.utils import check_array

#: By how much the sum of a distribution may differ from 1.
OFF = 1e-6


def is_distribution(y):
    """Whether outputs are matrices with a column per class, and no labels."""
    y = np.asarray(y)
    return y.ndim == 2 and y.shape[1] > 1


def labels_of(y):
    """Labels that show every class of y: y itself, or 0 … K−1 for distributions."""
    return np.arange(np.asarray(y).shape[1]) if is_distribution(y) else y


def check_distributions(y, K):
    """Distributions (n, K) as float64; a ValueError names the first row that is none."""
    P = check_array(y, dtype=np.float64, order="C", input_name="y")
    if P.shape[1] != K:
        raise ValueError(f"y must have a column for each of the {K} classes, got {P.shape[1]}.")
    wrong = (P < 0.0).any(axis=1) | (np.abs(P.sum(axis=1) - 1.0) > OFF)
    if wrong.any():
        row = int(np.argmax(wrong))
        shown = np.array2string(P[row], threshold=8, precision=4)
        raise ValueError(
            "y is two-dimensional, and so each row must be a distribution over the classes, not "
            f"negative and of sum 1; row {row} is {shown}."
        )
    return P / P.sum(axis=1, keepdims=True)
