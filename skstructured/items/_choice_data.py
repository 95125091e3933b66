"""Choices as they are read: items that are numbers, and which of them was chosen."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from sklearn.utils import column_or_1d

from skstructured._base.validation import check_features, check_lengths
from skstructured._engine.rows import LONGEST
from skstructured.extend._types import Array, Floats, Ints, Matrix
from skstructured.items._reading import Items, chosen_of, read_items


def read_rounds(
    learner: Any, X: Any, qid: Any, available: Any, reset: bool = False
) -> tuple[Items, Matrix]:
    """Rounds of items, and the features of the available ones as float64 or CSR.

    Raises
    ------
    ValueError
        For rounds that `read_items` refuses, another number of features than before, and features
        that are not numbers, by round.
    """
    items = read_items(X, qid, available)
    matrix = check_features(learner, items.values, reset)
    check_entries(matrix, items)
    return items, matrix


def check_entries(matrix: Matrix, items: Items) -> None:
    """A ValueError naming the first round with NaN, infinity, or numbers that are too large."""
    entries: Any = matrix.data if sparse.issparse(matrix) else matrix
    with np.errstate(invalid="ignore"):
        wrong = ~(np.abs(entries) <= LONGEST)
    if not wrong.any():
        return
    row, column, value = _first_entry(matrix, entries, wrong)
    name = items.qid[np.searchsorted(items.offsets, row, "right") - 1]
    raise ValueError(
        f"X must not have NaN, infinity or numbers above {LONGEST:g}, got {value:g} in round "
        f"{name.item()!r}, feature {column}; available= hides items that are not there."
    )


def _first_entry(matrix: Any, entries: Any, wrong: Any) -> tuple[int, int, float]:
    """Row, column and value of the first entry that is wrong."""
    at = tuple(np.argwhere(wrong)[0])
    if len(at) == 2:
        return int(at[0]), int(at[1]), entries[at]
    row = np.searchsorted(matrix.indptr, at[0], side="right") - 1
    return int(row), int(matrix.indices[at[0]]), entries[at]


def chosen_rows(items: Items, y: Any) -> Ints:
    """Rows (n,) of the chosen items among those that are available, round by round."""
    return np.flatnonzero(chosen_of(items, y).values)


def places_of(items: Items, rows: Ints) -> Ints:
    """Rows (n,) of available items, one per round, as y has them: 0/1 per item, or places."""
    given = items.places[rows]
    if not items.flat:
        return given - (np.cumsum(items.given_lengths) - items.given_lengths)
    marks = np.zeros(items.n_given, dtype=np.int64)
    marks[given] = 1
    return marks


def cluster_numbers(items: Items, clusters: Any, weight: Floats) -> Ints:
    """Numbers (n,) of the clusters of rounds, from 0; a ValueError for fewer than two."""
    given = column_or_1d(items.of_rounds(clusters, "clusters"), warn=True)
    check_lengths(len(items), len(given))
    codes = np.unique(given, return_inverse=True)[1].ravel()
    if len(np.unique(codes[weight > 0.0])) < 2:
        raise ValueError(
            "clusters must be at least 2, got 1 of positive weight: there is no variance between "
            "them."
        )
    return codes


def column_number(given: Any, names: list[str], size: int) -> int | None:
    """Number of a column that is given by name or number; None if it is not there."""
    if isinstance(given, str):
        return names.index(given) if given in names else None
    is_number = isinstance(given, (int, np.integer)) and not isinstance(given, bool)
    return int(given) % size if is_number and -size <= given < size else None


def first_largest(numbers: Array, offsets: Ints) -> Ints:
    """Row (n,) of the largest number of each round, the first of those alike."""
    lengths = np.diff(offsets)
    top = np.repeat(np.maximum.reduceat(numbers, offsets[:-1]), lengths)
    rows = np.flatnonzero(numbers == top)
    rounds = np.repeat(np.arange(len(lengths)), lengths)[rows]
    return rows[np.unique(rounds, return_index=True)[1]]


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
