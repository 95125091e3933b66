"""Conformity scores: how much outputs contradict a fitted estimator.

A kind of task reads numbers P of rows from a fitted estimator. It has the score of an output y,
which is larger the more y contradicts P, and the set of all outputs whose score is at most q.
"""

import math
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import check_array, column_or_1d

from skstructured import spaces
from skstructured.extend._types import Array, Floats, Ints, Outputs
from skstructured.metrics import final_learner


class Kind:
    """A task: `scores` (n,) of outputs, and `sets` of the outputs whose score is at most q."""

    #: What gives P; of the learner at the end, if pipelines do not have it.
    method = "predict_proba"

    def __init__(self, estimator: Any, space: Any) -> None:
        self.estimator, self.space = estimator, space

    def numbers(self, X: Any) -> Floats:
        """P of rows, n of them; a ValueError if the estimator predicts NaN, which has no score."""
        model = self.estimator
        owner, X = (model, X) if hasattr(model, self.method) else final_learner(model, X)
        P = np.asarray(getattr(owner, self.method)(X), dtype=np.float64)
        missing = np.isnan(P.reshape(len(P), -1)).any(axis=1)
        if missing.any():
            row = int(np.argmax(missing))
            what = f"got NaN for row {row} of X: {model!r} predicts {P[row]}"
            raise ValueError(f"estimator must predict numbers, {what}.")
        return P

    def read(self, y: Outputs) -> Array:
        """Outputs in one form; a ValueError for anything else."""
        return np.asarray(self.space.unpack(self.space.pack(y)), dtype=np.float64)

    def check(self, y: Outputs, read: Array) -> None:
        """A ValueError for outputs, and as read, that the estimator does not know."""


class OfClasses(Kind):
    """Probabilities (n, K): the score is ``1 − P_y``; labels are read as places, −1 for others."""

    def scores(self, P: Floats, y: Array) -> Floats:
        class_scores = np.take_along_axis(self.all_scores(P), y[:, None], axis=1)[:, 0]
        return np.where(y >= 0, class_scores, np.inf)

    def sets(self, P: Floats, q: float) -> Array:
        return self.all_scores(P) <= q

    def all_scores(self, P: Floats) -> Floats:
        """Scores (n, K) of all classes."""
        return 1.0 - P

    def read(self, y: Outputs) -> Array:
        return places(y, self.estimator.classes_)

    def check(self, y: Outputs, read: Array) -> None:
        if (read < 0).any():
            strange = np.unique(column_or_1d(y)[read < 0])
            raise ValueError(f"y has labels that are not in classes_: {strange[:5]}.")


class OfOrderedClasses(OfClasses):
    """``max(P(Y < y), P(Y > y))``; sets are then intervals of classes."""

    def all_scores(self, P: Floats) -> Floats:
        upto = np.cumsum(P, axis=1)
        return np.maximum(upto - P, upto[:, -1:] - upto)


class OfLabelSets(Kind):
    """Means (n, d) of indicators: ``max_j |y_j − P_j|``, a range for each label."""

    method = "predict_mean"

    def scores(self, P: Floats, y: Array) -> Floats:
        return np.abs(y - P).max(axis=1)

    def sets(self, P: Floats, q: float) -> Array:
        return np.stack([P, 1.0 - P], axis=2) <= q


class OfAssignments(Kind):
    """Probabilities (n, m, m) of positions: ``1 − min_i P_{i, y_i}``."""

    def scores(self, P: Floats, y: Array) -> Floats:
        return 1.0 - np.take_along_axis(P, y[:, :, None], axis=2)[:, :, 0].min(axis=1)

    def sets(self, P: Floats, q: float) -> Array:
        return q >= 1.0 - P

    def read(self, y: Outputs) -> Array:
        return self.space.pack(y)


class OfRankings(Kind):
    """Scores (n, d): the most by which θ contradicts a pair, ``max_{y_i > y_j} (θ_j − θ_i)``."""

    method = "embedding_scores"

    def scores(self, P: Floats, y: Array) -> Floats:
        against = np.where(y[:, :, None] > y[:, None, :], self._against(P), -np.inf)
        return against.max(axis=(1, 2))

    def sets(self, P: Floats, q: float) -> Array:
        return (self._against(P) <= q) & ~np.eye(P.shape[1], dtype=bool)

    def _against(self, P: Floats) -> Floats:
        """``θ_j − θ_i``, by how much θ contradicts the order of i before j."""
        return P[:, None, :] - P[:, :, None]


class OfNumbers(Kind):
    """Predictions (n,), or (n, k): ``max_j |y_j − P_j|``, intervals of one width."""

    method = "predict"

    def scores(self, P: Floats, y: Array) -> Floats:
        off = np.abs(y.reshape(P.shape) - P)
        return off if P.ndim == 1 else off.max(axis=1)

    def sets(self, P: Floats, q: float) -> Array:
        width = q if q >= 0.0 else np.nan
        return np.stack([P - width, P + width], axis=-1)

    def read(self, y: Outputs) -> Array:
        return check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")


def choose_kind(estimator: Any) -> Any:
    """The kind of a fitted estimator; a TypeError if there is no such kind."""
    space = getattr(final_learner(estimator)[0], "space_", None)
    kinds: dict[type, type[Kind]] = {
        spaces.OrdinalChain: OfOrderedClasses,
        spaces.Permutahedron: OfRankings,
        spaces.Birkhoff: OfAssignments,
        spaces.Hypercube: OfLabelSets,
    }
    for space_class, kind in kinds.items():
        if isinstance(space, space_class):
            return kind(estimator, space)
    has_labels, hint = np.ndim(getattr(estimator, "classes_", 0)) == 1, ""
    if hasattr(space, "chains"):
        hint = " For label sequences compare predict_marginals with a threshold."
    elif has_labels and hasattr(estimator, "predict_proba"):
        return OfClasses(estimator, space)
    elif is_regressor(estimator) and not is_classifier(estimator):
        return OfNumbers(estimator, space)
    raise TypeError(
        "estimator must be a classifier with predict_proba, a regressor, or a learner over "
        "classes, ordinal classes, multilabel outputs, assignments or label rankings, got "
        f"{estimator!r}.{hint}"
    )


def quantile(scores: Floats, alpha: float) -> float:
    """The ``⌈(n + 1)(1 − α)⌉``-th smallest of n scores: inf beyond the last of them.

    −inf for α ≥ 1, inf for α ≤ 0.
    """
    n = len(scores)
    place = math.ceil((n + 1) * (1.0 - alpha) * (1.0 - 1e-12))
    return float(np.r_[-math.inf, np.sort(scores), math.inf][np.clip(place, 0, n + 1)])


def places(labels: Any, categories: Any) -> Ints:
    """The place of each label in `categories`, −1 if it is not there."""
    positions = {label: k for k, label in enumerate(np.asarray(categories).tolist())}
    return np.array([positions.get(label, -1) for label in column_or_1d(labels).tolist()], int)
