"""Features of items on one scale: by how much they differ within rounds."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh

from skstructured.extend._types import Floats, Ints, Matrix

#: Deviations within rounds that are smaller, as a share of the largest entry, are rounding.
ROUNDING = 1e-13

#: Eigenvalues of the correlations within rounds below this are 0: collinear features.
COLLINEAR = 1e-12


class Scaled(NamedTuple):
    """Items z = (x − mean of its round)/s, CSR ones x/s; s (p,); which do not vary (p,)."""

    Z: Matrix
    scale: Floats
    constant: Any

    @classmethod
    def of(cls, X: Matrix, offsets: Ints, share: Floats) -> "Scaled":
        """Items by deviations within rounds, ``s² = Σ_t c_t (1/m_t) Σ_i (x_i − mean_t)²``."""
        lengths = np.diff(offsets)
        size = _largest(X)
        unit = np.where(size > 0.0, size, 1.0)
        find = _sparse_squares if _is(X) else _dense_squares
        Z, squares = find(X, offsets, share / lengths, unit)
        deviation = np.sqrt(squares)
        constant = deviation <= ROUNDING
        scale = np.where(constant, 1.0, deviation)
        return cls(_columns_over(Z, scale, constant), scale * unit, constant)


def _is(X):
    return sparse.issparse(X)


def _largest(X):
    if _is(X):
        return abs(X).max(axis=0).toarray().ravel()
    return np.abs(X).max(axis=0, initial=0.0)


def _dense_squares(X, offsets, weight, unit):
    lengths = np.diff(offsets)
    Z = X / unit
    Z -= np.repeat(np.add.reduceat(Z, offsets[:-1], axis=0) / lengths[:, None], lengths, axis=0)
    return Z, np.repeat(weight, lengths) @ Z**2


def _sparse_squares(X, offsets, weight, unit):
    """X over units, and weighted squares about the means of rounds, zeros included."""
    Z, p = X.copy(), X.shape[1]
    Z.data = Z.data / unit[Z.indices]
    rounds = np.repeat(np.arange(len(weight)), np.diff(X.indptr[offsets]))
    keys, at, counts = np.unique(
        rounds * np.int64(p) + Z.indices, return_inverse=True, return_counts=True
    )
    of_key, lengths = keys // p, np.diff(offsets)
    mean = np.bincount(at, Z.data, len(keys)) / lengths[of_key]
    squares = np.bincount(at, (Z.data - mean[at]) ** 2, len(keys))
    squares += (lengths[of_key] - counts) * mean**2
    return Z, np.bincount(keys % p, weight[of_key] * squares, p)


def _columns_over(Z, scale, constant):
    """Columns divided by their scales; those that do not vary are 0."""
    factor = np.where(constant, 0.0, 1.0 / scale)
    if not _is(Z):
        return Z * factor
    Z.data *= factor[Z.indices]
    Z.eliminate_zeros()
    return Z


def penalty_units(X: Matrix, scaled: Scaled, standardize: Any) -> Floats:
    """Units (p,) of features that a penalty goes by: their deviations within rounds, or 1."""
    if standardize is False:
        return np.ones(len(scaled.scale))
    if standardize is True:
        return scaled.scale
    return np.where(_indicators(X), 1.0, scaled.scale)


def _indicators(X):
    """Which columns (p,) have entries 0 and 1 alone."""
    entries = X.data if _is(X) else X
    odd = (entries != 0.0) & (entries != 1.0)
    return ~(np.bincount(X.indices, odd, X.shape[1]) > 0 if _is(X) else odd.any(axis=0))


def identified(second: Floats) -> tuple[Floats, Floats]:
    """Orthonormal bases (p, r) and (p, p − r) of the weights that choices depend on, and do not.

    Parameters
    ----------
    second : ndarray of shape (p, p)
        Second derivatives at any weights: they have the same null space everywhere.
    """
    values, vectors = eigh(second)
    zero = values <= COLLINEAR * max(values[-1], 0.0)
    if values[-1] <= 0.0:
        zero[:] = True
    return vectors[:, ~zero], vectors[:, zero]
