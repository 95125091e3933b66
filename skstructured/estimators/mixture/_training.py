"""What members learn from, and which rows each of five parts leaves out."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse

from skstructured._engine.robust_columns import RobustColumns
from skstructured._engine.rows import Rows
from skstructured._engine.standardize import RunningScale
from skstructured.extend._types import Array, Floats, Given, Ints, Outputs

#: Parts of the rows. With fewer effective rows, or groups of them, none is left out; with more than
#: `MOST` rows only so many are.
PARTS, FEWEST, FEWEST_GROUPS, MOST = 5, 20, 10, 5_000

#: Rows, in units of `n_landmarks`, up to which kernel ridge regressions have a coefficient per row.
EXACT = 1.5

#: Share of equal rows that have equal outputs if they are copies.
COPIES = 0.9

#: Rows that are scored at a time.
CHUNK = 4000

#: So many rows take an estimator as long as what it does before, as measured.
SETUP_ROWS = 3000


class StandardRows(NamedTuple):
    """Rows, and their standardized dense form, which is computed for some rows at a time.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n, p)
        Rows, as estimators take them.
    scale : RunningScale or None
        Standardizes rows.
    stretch : ndarray of shape (p,)
        What standardized features are multiplied by.
    unchanged : ndarray or CSR matrix of shape (n, p)
        Rows with cells beyond their range, as trees take them.
    columns : RobustColumns or None
        What X is made by.
    """

    X: Any
    scale: RunningScale | None = None
    stretch: Floats = np.ones(1)
    unchanged: Any = None
    columns: RobustColumns | None = None

    def of(self, X: Any) -> Self:
        """New rows, transformed as these."""
        in_range = X if self.columns is None else self.columns.transform(X)
        return self._replace(X=in_range, unchanged=X)

    def standardized(self, indices: Array | slice) -> Floats:
        """Standardized rows, dense."""
        assert self.scale is not None
        Z = self.scale.transformed_matrix(Rows.from_array(self.X[indices]))
        return Z.toarray() if hasattr(Z, "toarray") else Z

    def chunk(self, indices: Array | slice) -> Floats:
        """Standardized rows, stretched."""
        Z = self.standardized(indices)
        return Z * np.resize(self.stretch, Z.shape[1])  # indicators come behind all features


class Training(NamedTuple):
    """Training rows, all of positive weight.

    Attributes
    ----------
    rows : StandardRows
    y : array-like
        Outputs, as estimators learn them.
    V : ndarray of shape (n, dim)
        Their vertices.
    weight : ndarray of shape (n,)
        Weights of mean 1.
    sample_weight : ndarray of shape (n,) or None
        The same for estimators; None if all are 1.
    parts : ndarray of shape (n,)
        The part that leaves out each row, −1 for rows that are always learned.
    origin : ndarray of shape (dim,)
        The mean prediction at scores of 0.
    units : ndarray of shape (n,)
        Which unit a row is in; the rows of a unit are left out together. See `independent_units`.
    effective_share : float
        Effective number of units, in units of the number of rows or groups.
    stretches : list of ndarray or None
        What the features of kernels that have not learned each part are multiplied by.
    truths : ndarray of shape (n, ...) or None
        What the loss compares the scores of rows with.
    reserved : ndarray or None
        Rows that no part leaves out, from which stretches are learned; None if there are few rows,
        and each part has its own stretch.
    least_losses : ndarray of shape (m,) or None
        Held-out losses of `judged` by the best member so far.
    """

    rows: StandardRows
    y: Outputs
    V: Floats
    weight: Floats
    sample_weight: Given
    parts: Ints
    origin: Floats
    units: Ints = np.zeros(0, dtype=int)
    effective_share: float = 1.0
    stretches: list[Floats] | None = None
    truths: Any = None
    reserved: Ints | None = None
    least_losses: Floats | None = None

    @property
    def dim(self) -> int:
        """Scores of a row."""
        return self.V.shape[1]

    @property
    def judged(self) -> Ints:
        """Places of the rows that have honest scores."""
        return np.flatnonzero(self.parts >= 0)

    @property
    def folds(self) -> range:
        """Parts that are left out, if any."""
        return range(PARTS if self.parts.max() >= 0 else 0)

    def rows_of_fold(self, fold_id: int) -> StandardRows:
        """Rows, stretched without knowledge of a part."""
        stretches = self.stretches
        return self.rows if stretches is None else self.rows._replace(stretch=stretches[fold_id])


class Member(ABC):
    """What turns rows into scores, and gives honest scores of its training rows.

    A score of a training row is honest if the row, or the part that it is in, was not learned.
    """

    #: Members of a lower stage learn before.
    stage = 1

    @abstractmethod
    def fit(self, training: Training) -> Floats | None:
        """Learn; the honest scores (m, dim) of `training.judged`, or None if it is not worth it."""

    @abstractmethod
    def scores(self, rows: StandardRows) -> Floats:
        """Scores (n, dim) of new rows."""

    def work(self, n: int) -> float:
        """What the time of learning n rows is proportional to."""
        return n + SETUP_ROWS

    def smaller(self, size: float) -> "Member":
        """A member, not fitted, that takes less time to learn many rows."""
        return self


def independent_units(
    X: Any, groups: Array | None = None, V: Floats | None = None
) -> tuple[Ints, Ints]:
    """The unit of every row (n,), and of every row or group: equal ones are in one unit.

    A model that has learned a row knows the output of its copies. If the outputs V of equal rows
    differ, they are not copies, but rows of few values, and every row is a unit. Groups are the
    values of `groups`; the rows of a group stand together.
    """
    keys = _keys_of_rows(X)
    if groups is None:
        units = _numbered(keys)
        if V is not None and not _are_copies(units, V):
            units = np.arange(len(keys))
        return units, units
    _, firsts, places = np.unique(groups, return_index=True, return_inverse=True)
    starts = np.sort(firsts)
    spans = zip(starts, [*starts[1:], len(groups)], strict=True)
    units = np.empty(len(firsts), dtype=int)
    units[places[starts]] = _numbered([tuple(keys[i:j]) for i, j in spans])
    return units[places], units


def _are_copies(units: Ints, V: Floats) -> bool:
    """Whether rows that equal an earlier one have its output, `COPIES` of them at least."""
    firsts = np.unique(units, return_index=True)[1][units]
    repeats = np.flatnonzero(firsts < np.arange(len(units)))
    if len(repeats) == 0:
        return False
    return bool(np.mean((V[repeats] == V[firsts[repeats]]).all(axis=1)) >= COPIES)


def _keys_of_rows(X: Any) -> list[int]:
    """Numbers that are the same for equal rows."""
    if issparse(X):
        X = X.copy()
        X.eliminate_zeros()
        X.sort_indices()
        spans = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        return [hash((X.indices[i:j].tobytes(), X.data[i:j].tobytes())) for i, j in spans]
    starts = range(0, len(X), CHUNK)
    chunks = (np.ascontiguousarray(X[start : start + CHUNK]) + 0.0 for start in starts)  # no -0.0
    return [hash(row.tobytes()) for chunk in chunks for row in chunk]


def _numbered(keys: list) -> Ints:
    """The place of every key among the distinct ones, in their order."""
    places: dict = {}
    return np.array([places.setdefault(key, len(places)) for key in keys], dtype=int)


def effective_number(weight: Floats, units: Ints) -> float:
    """How many units of equal weight are as informative: ``(Σ w)²/Σ w²`` of the units' weights."""
    totals = np.bincount(units, weight)
    return float(totals.sum() ** 2 / (totals @ totals))


def codes_of(packed: Array) -> Array:
    """Numbers (n,) of packed outputs, equal for equal ones."""
    if np.ndim(packed) == 1:
        return packed
    return np.unique(packed, axis=0, return_inverse=True)[1].ravel()


def parts_of(
    units: Ints, rng: np.random.RandomState, codes: Ints | None = None, reserved: float = 0.0
) -> Ints:
    """The part of every row, −1 if it is always learned; rows of a unit are in the same part.

    Units of about the same mean code, such as those of a class, are spread over all parts: a model
    that has learned few rows of a class predicts it too seldom. A share of the rows is
    `reserved`: always learned.
    """
    counts = np.bincount(units)
    order = rng.permutation(len(counts))
    if codes is not None:
        order = order[np.argsort((np.bincount(units, codes) / counts)[order], kind="stable")]
    n_judged = min(MOST, int((1.0 - reserved) * len(order)))
    order = order[np.linspace(0, len(order) - 1, n_judged).astype(int)]
    blocks = [rng.permutation(PARTS) for _ in range(0, len(order), PARTS)]
    fold_ids = np.full(len(counts), -1)
    fold_ids[order] = np.concatenate(blocks)[: len(order)]
    return fold_ids[units]
