"""What members learn from, and which rows each of five parts leaves out."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from skstructured._engine.rows import Rows
from skstructured._engine.standardize import RunningScale
from skstructured.extend._types import Array, Floats, Given, Ints, Outputs

#: Parts of the rows; of fewer rows, or of fewer groups of them, none is left out, and of more than
#: `MOST` only so many are.
PARTS, FEWEST, FEWEST_GROUPS, MOST = 5, 20, 10, 20_000

#: Rows that are scored at a time, and rows of a group, at most, that are left out together.
CHUNK, LONGEST = 4000, 1000


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
    """

    X: Any
    scale: RunningScale | None = None
    stretch: Floats = np.ones(1)

    def chunk(self, which: Array | slice) -> Floats:
        """Standardized rows, dense."""
        assert self.scale is not None
        Z = self.scale.transformed_matrix(Rows.from_array(self.X[which]))
        Z = Z.toarray() if hasattr(Z, "toarray") else Z
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
    groups : ndarray of shape (n,) or None
        Which sequence or query a row is of, if rows are not independent; those of one stand
        together, and are left out together.
    """

    rows: StandardRows
    y: Outputs
    V: Floats
    weight: Floats
    sample_weight: Given
    parts: Ints
    origin: Floats
    groups: Array | None = None

    @property
    def dim(self) -> int:
        """Scores of a row."""
        return self.V.shape[1]

    @property
    def judged(self) -> Ints:
        """Places of the rows that have honest scores."""
        return np.flatnonzero(self.parts >= 0)

    @property
    def cuts(self) -> Ints:
        """Bounds of the groups, and of parts of long ones."""
        n, group = len(self.V), np.asarray(self.groups)
        bounds = np.flatnonzero(group[1:] != group[:-1]) + 1
        return np.unique([*bounds, *range(0, n, LONGEST), n])


class Member(ABC):
    """What turns rows into scores, and gives honest scores of its training rows.

    A score of a training row is honest if the row, or the part that it is in, was not learned.
    """

    @abstractmethod
    def fit(self, training: Training) -> Floats:
        """Learn; the honest scores (m, dim) of `training.judged`."""

    @abstractmethod
    def scores(self, rows: StandardRows) -> Floats:
        """Scores (n, dim) of new rows."""


def parts_of(
    packed: Any, rng: np.random.RandomState, groups: Array | None = None, fewest: int = FEWEST
) -> Ints:
    """The part of every row, −1 if it is always learned; rows of a group are in the same part.

    Without groups, classes are spread over all parts, and the only row of a class is in none.
    """
    if groups is not None:
        names, places = np.unique(groups, return_inverse=True)
        return parts_of(np.asarray(names, dtype=float), rng, fewest=FEWEST_GROUPS)[places]
    parts, order = np.full(len(packed), -1), rng.permutation(len(packed))
    if isinstance(packed, np.ndarray) and packed.ndim == 1 and packed.dtype.kind in "iu":
        order = order[np.argsort(packed[order], kind="stable")]
        _, place, count = np.unique(packed[order], return_inverse=True, return_counts=True)
        order = order[count[place] > 1]
    if len(order) > MOST:
        order = order[np.linspace(0, len(order) - 1, MOST).astype(int)]
    if len(order) >= fewest:
        parts[order] = np.arange(len(order)) % PARTS
    return parts
