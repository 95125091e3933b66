"""What stands in the gaps of dense rows, for learners that see all rows beforehand."""

import numpy as np
from scipy.sparse import issparse

from skstructured._engine.rows import Rows
from skstructured.extend._types import Floats


def training_means(rows: Rows, weight: Floats) -> Floats:
    """Means (p,) of every feature over the rows that have it; 0 for one that none has.

    `weight` (n,) are those of rows, or of positions. CSR rows have all of their features.
    """
    X = rows.matrix
    if issparse(X):
        return np.asarray(X.T @ weight).ravel() / weight.sum()
    gaps = np.isnan(X)
    if not gaps.any():
        return weight @ X / weight.sum()
    total = weight @ ~gaps
    return weight @ np.where(gaps, 0.0, X) / np.where(total > 0.0, total, 1.0)


def with_means(rows: Rows, means: Floats) -> Rows:
    """Rows with means in the place of what they lack; the rows themselves where they lack none."""
    if rows.is_sparse or not np.isnan(np.add.reduce(rows.data)):
        return rows
    return Rows.from_array(np.where(np.isnan(rows.X), means, rows.X))
