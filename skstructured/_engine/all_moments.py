"""Means and deviations of all rows at once, for learners that see them beforehand."""

import numpy as np

from skstructured._engine.arrays import Array, Floats


def moments_of(X: Array, weight: Floats, centred: bool) -> tuple[Floats, Floats, Floats]:
    """Σ w of the rows that have each feature, their means and their deviations, (p,) each.

    ``m_j = Σ_i w_i x_ij / Σ_i w_i`` and ``sqrt(Σ_i w_i (x_ij − m_j)² / Σ_i w_i)``, over the rows i
    whose x_ij is not NaN; without `centred`, m_j = 0. Rows of weight 0 may be of any size.

    Deviations of constants are 0, and of numbers of any size neither over- nor underflow: means are
    those of what differs from the first row, and squares are those of parts of the largest.
    """
    X, weight = np.asarray(X[weight > 0.0], dtype=np.float64), weight[weight > 0.0]
    there = ~np.isnan(X)
    total = weight @ there
    share = weight[:, None] * there / np.where(total > 0.0, total, 1.0)
    mean = _means(X, there, share) if centred else np.zeros(X.shape[1])
    apart = np.where(there, X - mean, 0.0)
    size = np.abs(apart).max(axis=0, initial=0.0)
    apart /= np.where(size > 0.0, size, 1.0)
    return total, mean, size * np.sqrt(np.sum(share * apart * apart, axis=0))


def _means(X: Floats, there: Array, share: Floats) -> Floats:
    if len(X) == 0:
        return np.zeros(X.shape[1])
    first = X[there.argmax(axis=0), np.arange(X.shape[1])]
    first[np.isnan(first)] = 0.0
    return first + np.sum(share * np.where(there, X - first, 0.0), axis=0)
