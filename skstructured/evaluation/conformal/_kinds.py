"""What an output contradicts: conformity scores of tasks, and the sets they make.

A kind reads numbers P of rows from a fitted estimator, has the score of an output y, which is the
larger the more y contradicts P, and the set of all outputs whose score is at most q.
"""

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import check_array, check_random_state, column_or_1d, indexable
from sklearn.utils.validation import _num_samples

from skstructured._base.component import Seed
from skstructured._base.pipelines import learner_behind
from skstructured._base.validation import check_lengths
from skstructured.extend._types import Array, Floats, Ints, Outputs
from skstructured.spaces import (
    Birkhoff,
    Hypercube,
    KSubsets,
    LabelSequence,
    OrdinalChain,
    Permutahedron,
)

#: What estimators must have, for the error.
WANTED = (
    "a classifier with predict_proba, a regressor, or a learner over classes, ordinal classes, "
    "multilabel outputs, assignments or label rankings"
)


class Kind(ABC):
    """A task. It knows the estimator it reads, as fitted so far."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    @property
    def space(self) -> Any:
        """The space of the learner, behind whatever pipeline."""
        return learner_behind(self.estimator)[0].space_

    def numbers(self, X: Any) -> Floats:
        """P of rows, n of them; a ValueError if the estimator predicts NaN, which has no score."""
        P = self._numbers(X)
        missing = np.isnan(P.reshape(len(P), -1)).any(axis=1)
        if missing.any():
            raise ValueError(
                f"estimator must predict numbers, got NaN for row {int(np.argmax(missing))} of X: "
                f"{self.estimator!r} predicts {P[np.argmax(missing)]}."
            )
        return P

    @abstractmethod
    def _numbers(self, X: Any) -> Floats:
        """P of rows as the estimator predicts them."""

    @abstractmethod
    def scores(self, P: Floats, y: Array) -> Floats:
        """By how much outputs contradict P, (n,)."""

    @abstractmethod
    def sets(self, P: Floats, q: float) -> Array:
        """The outputs of score at most q: −inf for none, inf for all."""

    def read(self, y: Outputs) -> Array:
        """Outputs in one form; a ValueError for such as are none."""
        return np.asarray(y)

    def check(self, y: Array) -> None:
        """A ValueError for outputs, as read, that the estimator does not know."""
        return None


def _of_learner(estimator: Any, method: str, X: Any) -> Floats:
    """What a method says that pipelines do not have."""
    learner, X = learner_behind(estimator, X)
    return np.asarray(getattr(learner, method)(X), dtype=np.float64)


class OfClasses(Kind):
    """Probabilities (n, K): the score is ``1 − P_y``."""

    def _numbers(self, X: Any) -> Floats:
        return np.asarray(self.estimator.predict_proba(X), dtype=np.float64)

    def scores(self, P: Floats, y: Array) -> Floats:
        at, known = self._places(y)
        scores = np.take_along_axis(self.all_scores(P), at[:, None], axis=1)[:, 0]
        return np.where(known, scores, np.inf)

    def sets(self, P: Floats, q: float) -> Array:
        return self.all_scores(P) <= q

    def all_scores(self, P: Floats) -> Floats:
        """Scores (n, K) of all classes."""
        return 1.0 - P

    def read(self, y: Outputs) -> Array:
        return column_or_1d(y)

    def check(self, y: Array) -> None:
        strange = ~self._places(y)[1]
        if strange.any():
            raise ValueError(f"y has labels that are not in classes_: {np.unique(y[strange])[:5]}.")

    def _places(self, y: Array) -> tuple[Array, Array]:
        """Places of labels among the classes, and whether they are there."""
        classes = np.asarray(self.estimator.classes_)
        order = np.argsort(classes, kind="stable")
        behind = np.searchsorted(classes, y, sorter=order)
        at = order[np.minimum(behind, len(classes) - 1)]
        return at, classes[at] == y


class OfOrderedClasses(OfClasses):
    """``max(P(Y < y), P(Y > y))``, so that sets are intervals of classes."""

    def all_scores(self, P: Floats) -> Floats:
        upto = np.cumsum(P, axis=1)
        return np.maximum(upto - P, upto[:, -1:] - upto)


class OfLabelSets(Kind):
    """Means (n, d) of indicators: ``max_j |y_j − P_j|``, a range for each label."""

    def _numbers(self, X: Any) -> Floats:
        return _of_learner(self.estimator, "predict_mean", X)

    def scores(self, P: Floats, y: Array) -> Floats:
        return np.abs(y - P).max(axis=1)

    def sets(self, P: Floats, q: float) -> Array:
        return np.stack([P, 1.0 - P], axis=2) <= q

    def read(self, y: Outputs) -> Array:
        return np.asarray(self.space.unpack(self.space.pack(y)), dtype=np.float64)


class OfAssignments(Kind):
    """Probabilities (n, m, m) of positions: ``1 − min_i P_{i, y_i}``."""

    def _numbers(self, X: Any) -> Floats:
        return np.asarray(self.estimator.predict_proba(X), dtype=np.float64)

    def scores(self, P: Floats, y: Array) -> Floats:
        return 1.0 - np.take_along_axis(P, y[:, :, None], axis=2)[:, :, 0].min(axis=1)

    def sets(self, P: Floats, q: float) -> Array:
        return q >= 1.0 - P

    def read(self, y: Outputs) -> Array:
        self.space.pack(y)
        return np.asarray(y).astype(np.int64)


class OfRankings(Kind):
    """Scores (n, d): the most by which θ contradicts a pair, ``max_{y_i > y_j} (θ_j − θ_i)``."""

    def _numbers(self, X: Any) -> Floats:
        return _of_learner(self.estimator, "embedding_scores", X)

    def scores(self, P: Floats, y: Array) -> Floats:
        ahead = y[:, :, None] > y[:, None, :]
        return np.where(ahead, self._against(P), -np.inf).max(axis=(1, 2))

    def sets(self, P: Floats, q: float) -> Array:
        return (self._against(P) <= q) & ~np.eye(P.shape[1], dtype=bool)

    def _against(self, P: Floats) -> Floats:
        """``θ_j − θ_i``, by how much θ speaks against i before j."""
        return P[:, None, :] - P[:, :, None]

    def read(self, y: Outputs) -> Array:
        return np.asarray(self.space.unpack(self.space.pack(y)), dtype=np.float64)


class OfNumbers(Kind):
    """Predictions (n,), or (n, k): ``max_j |y_j − P_j|``, intervals of one width."""

    def _numbers(self, X: Any) -> Floats:
        return np.asarray(self.estimator.predict(X), dtype=np.float64)

    def scores(self, P: Floats, y: Array) -> Floats:
        off = np.abs(y.reshape(P.shape) - P)
        return off if P.ndim == 1 else off.max(axis=1)

    def sets(self, P: Floats, q: float) -> Array:
        width = q if q >= 0.0 else np.nan
        return np.stack([P - width, P + width], axis=-1)

    def read(self, y: Outputs) -> Array:
        return check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")


#: Kinds of spaces, the first that fits.
SPACES: tuple[tuple[type, type[Kind]], ...] = (
    (OrdinalChain, OfOrderedClasses),
    (Permutahedron, OfRankings),
    (Birkhoff, OfAssignments),
    (Hypercube, OfLabelSets),
    (KSubsets, OfLabelSets),
)


def kind_of(estimator: Any) -> Kind:
    """The kind of a fitted estimator; a TypeError where there is none."""
    space = getattr(learner_behind(estimator)[0], "space_", None)
    for of, kind in SPACES:
        if isinstance(space, of):
            return kind(estimator)
    if isinstance(space, LabelSequence):
        raise TypeError(
            f"estimator must be {WANTED}, got {estimator!r}: for label sequences compare "
            "predict_marginals with a threshold, as docs/sequences.md does."
        )
    labels = np.ndim(getattr(estimator, "classes_", 0)) == 1
    if labels and hasattr(estimator, "predict_proba"):
        return OfClasses(estimator)
    if is_regressor(estimator) and not is_classifier(estimator):
        return OfNumbers(estimator)
    raise TypeError(f"estimator must be {WANTED}, got {estimator!r}.")


def quantile(scores: Floats, alpha: float) -> float:
    """The ``⌈(n + 1)(1 − α)⌉``-th smallest of n scores: inf beyond the last of them.

    −inf for α ≥ 1, inf for α ≤ 0.
    """
    n = len(scores)
    if alpha >= 1.0:
        return -math.inf
    place = math.ceil((n + 1) * (1.0 - alpha) * (1.0 - 1e-12))
    if alpha <= 0.0 or place > n:
        return math.inf
    return float(np.sort(scores)[max(place, 1) - 1])


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
