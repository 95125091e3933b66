"""What members learn from, and which rows each of five folds leaves out."""

from abc import ABC, abstractmethod
from enum import IntEnum
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing

from skstructured._engine.robust_columns import RobustColumns
from skstructured._engine.rows import Rows
from skstructured._engine.standardize import RunningScale
from skstructured.estimators.mixture._pairs import ColumnPairs
from skstructured.extend._types import Array, Floats, Given, Ints, Outputs

#: Folds of the rows. With fewer effective rows, or groups of them, none is left out; with more rows
#: than `MOST_HELD_OUT` only so many are.
N_FOLDS, FEWEST_ROWS, FEWEST_GROUPS, MOST_HELD_OUT = 5, 20, 10, 5_000

#: Rows that are scored at a time.
ROWS_AT_ONCE = 4000


class StandardRows(NamedTuple):
    """Rows X, and their standardized dense form, which is computed for some rows at a time.

    `columns` make X of rows. Trees take the `unchanged` rows, with `pairs` of columns, if any.
    Standardized features are multiplied by `stretch` (p,).
    """

    X: Any
    scale: RunningScale | None = None
    stretch: Floats = np.ones(1)
    unchanged: Any = None
    columns: RobustColumns | None = None
    pairs: ColumnPairs | None = None

    def of(self, X: Any) -> Self:
        """New rows, transformed as these."""
        in_range = X if self.columns is None else self.columns.transform(X)
        unchanged = X if self.pairs is None else self.pairs.transform(X)
        return self._replace(X=in_range, unchanged=unchanged)

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
    """Training rows, all of positive weight, the mean of which is 1.

    Attributes
    ----------
    V, truths : ndarray of shape (n, dim), (n, ...)
        Vertices of outputs, and the truths of the loss.
    sample_weight : ndarray of shape (n,) or None
        The weights for estimators; None if all are 1.
    parts : ndarray of shape (n,)
        The fold that leaves out each row, −1 for rows that are always learned.
    origin : ndarray of shape (dim,)
        The mean prediction at scores of 0.
    units : ndarray of shape (n,)
        The unit of each row; the rows of a unit are left out together.
    effective_share : float
        Effective number of units, in units of the number of rows or groups.
    stretches : list of ndarray or None
        The stretch of features by trees that have not learned each fold.
    reserved : ndarray or None
        Rows in no fold, from which stretches are learned, if there are many.
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
    def unjudged(self) -> Ints:
        """Places of the rows that are always learned."""
        return np.flatnonzero(self.parts < 0)

    @property
    def folds(self) -> range:
        """Folds that are left out, if any."""
        return range(N_FOLDS if self.parts.max() >= 0 else 0)

    def draw_units(self, share: float, seed: int) -> Ints:
        """Places of the rows of a share of the units, drawn at random."""
        n_units = self.units.max() + 1
        is_drawn = np.zeros(n_units, dtype=bool)
        is_drawn[np.random.RandomState(seed).permutation(n_units)[: int(share * n_units)]] = True
        return np.flatnonzero(is_drawn[self.units])

    def subset(self, indices: Ints) -> Self:
        """Some of the rows."""
        rows = self.rows._replace(X=self.rows.X[indices], unchanged=self.rows.unchanged[indices])
        names = "y", "V", "weight", "sample_weight", "parts", "units", "truths"
        arrays = {name: getattr(self, name) for name in names}
        arrays = {
            name: None if array is None else _safe_indexing(array, indices)
            for name, array in arrays.items()
        }
        return self._replace(rows=rows, reserved=None, least_losses=None, **arrays)

    def rows_of_fold(self, fold_id: int) -> StandardRows:
        """Rows, stretched without knowledge of a fold."""
        stretches = self.stretches
        return self.rows if stretches is None else self.rows._replace(stretch=stretches[fold_id])


class Stage(IntEnum):
    """When a member learns.

    Others need the ``stretched(training)`` of the first members. The last two stages know the least
    held-out losses of earlier members; in the last one, trials on few rows come first.
    """

    STRETCHES_COLUMNS, PLAIN, NEEDS_LOSSES, IS_TRIED = range(4)


class Member(ABC):
    """A model of scores, with honest ones of training rows by models without their fold."""

    #: So many rows take an estimator as long as its setup, as measured.
    setup_rows = 3000

    @abstractmethod
    def fit(self, training: Training) -> Floats | None:
        """Learn; the honest scores (m, dim) of `training.judged`, or None if it is not worth it."""

    @abstractmethod
    def scores(self, rows: StandardRows) -> Floats:
        """Scores (n, dim) of new rows."""

    def stage(self, n: int) -> Stage:
        """When it learns n rows."""
        return Stage.PLAIN

    def work(self, n: int) -> float:
        """What the time of learning n rows is proportional to."""
        return n + self.setup_rows

    def resized(self, size: float) -> "Member":
        """A member, not fitted, of so many times the size, if it has one."""
        return self


def spread_evenly(indices: Ints, most: int) -> Ints:
    """So many indices at most, spread evenly over all."""
    places = np.linspace(0, len(indices) - 1, min(most, len(indices)))
    return indices[places.astype(int)]


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
    """Whether rows that equal an earlier one have its output, 90% of them at least."""
    firsts = np.unique(units, return_index=True)[1][units]
    repeats = np.flatnonzero(firsts < np.arange(len(units)))
    if len(repeats) == 0:
        return False
    return bool(np.mean((V[repeats] == V[firsts[repeats]]).all(axis=1)) >= 0.9)


def _keys_of_rows(X: Any) -> list[int]:
    """Numbers that are the same for equal rows."""
    if issparse(X):
        X = X.copy()
        X.eliminate_zeros()
        X.sort_indices()
        spans = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        return [hash((X.indices[i:j].tobytes(), X.data[i:j].tobytes())) for i, j in spans]
    starts = range(0, len(X), ROWS_AT_ONCE)
    chunks = (np.ascontiguousarray(X[i : i + ROWS_AT_ONCE]) + 0.0 for i in starts)  # no -0.0
    return [hash(row.tobytes()) for chunk in chunks for row in chunk]


def _numbered(keys: list) -> Ints:
    """The place of every key among the distinct ones, in their order."""
    places: dict = {}
    return np.array([places.setdefault(key, len(places)) for key in keys], dtype=int)


def effective_number(weight: Floats, units: Ints) -> float:
    """How many units of equal weight are as informative: ``(Σ w)²/Σ w²`` of the units' weights."""
    totals = np.bincount(units, weight)
    return float(totals.sum() ** 2 / (totals @ totals))


def output_codes(packed: Array) -> Array:
    """Numbers (n,) of packed outputs, equal for equal ones."""
    if np.ndim(packed) == 1:
        return packed
    return np.unique(packed, axis=0, return_inverse=True)[1].ravel()


def draw_folds(
    units: Ints, rng: np.random.RandomState, codes: Ints | None = None, reserved: float = 0.0
) -> Ints:
    """The fold of every row, −1 if it is always learned; rows of a unit are in the same fold.

    Units of about the same mean code, such as those of a class, are spread over all folds: a model
    that has learned few rows of a class predicts it too seldom. A share `reserved` of the rows is
    always learned.
    """
    counts = np.bincount(units)
    order = rng.permutation(len(counts))
    if codes is not None:
        order = order[np.argsort((np.bincount(units, codes) / counts)[order], kind="stable")]
    n_judged = min(MOST_HELD_OUT, int((1.0 - reserved) * len(order)))
    order = order[np.linspace(0, len(order) - 1, n_judged).astype(int)]
    blocks = [rng.permutation(N_FOLDS) for _ in range(0, len(order), N_FOLDS)]
    fold_ids = np.full(len(counts), -1)
    fold_ids[order] = np.concatenate(blocks)[: len(order)]
    return fold_ids[units]


def draw_folds_of_rows(
    X: Any, V: Floats, weight: Floats, packed: Array, rng: np.random.RandomState,
    reserved: float = 0.0, groups: Array | None = None,
) -> tuple[Ints, Ints, float]:  # fmt: skip
    """The fold and the unit of every row, and the effective number of units per row or group.

    All folds are −1 if there are few rows, or groups. A share `reserved` is in no fold.
    """
    units, copies = independent_units(X, groups, V)
    codes = output_codes(packed) if groups is None or np.ndim(packed) == 1 else None
    if groups is not None:
        places = np.unique(groups, return_inverse=True)[1]
        weight = np.bincount(places, weight) / np.bincount(places)
    n_effective = effective_number(weight, copies)
    if n_effective < (FEWEST_ROWS if groups is None else FEWEST_GROUPS):
        return np.full(len(units), -1), units, 1.0
    return draw_folds(units, rng, codes, reserved), units, n_effective / len(weight)
