"""Any estimator as a member: others like it score the rows that they have not learned."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from skstructured.estimators.mixture._training import PARTS, Member, StandardRows, Training
from skstructured.extend._types import Floats


class CrossFitted(Member):
    """An estimator that learns all rows, after five others that learn all but one part.

    Parameters
    ----------
    estimator : estimator
        Not changed. If its `max_iter` is "auto", the first of the five chooses it for all.
    loss : FenchelYoung
        Its scores are wanted.
    """

    def __init__(self, estimator: Any, loss: Any) -> None:
        self.estimator, self.loss = estimator, loss

    def fit(self, training: Training) -> Floats:
        """See `Member`."""
        parts, make = training.parts, clone(self.estimator)
        honest = np.zeros((len(parts), training.dim))
        for part in range(PARTS if parts.max() >= 0 else 0):
            others, own = np.flatnonzero(parts != part), np.flatnonzero(parts == part)
            one = self._learned(make, training, others)
            honest[own] = self._score(one, _safe_indexing(training.rows.X, own))
            chosen = getattr(one, "n_iter_", None)
            if getattr(make, "max_iter", None) == "auto" and chosen is not None:
                make.set_params(max_iter=chosen)
        self.fitted = self._learned(make, training)
        return honest[training.judged]

    def _learned(self, make, training, which=None):
        given = [training.rows.X, training.y, training.sample_weight]
        if which is not None:
            given = [None if part is None else _safe_indexing(part, which) for part in given]
        X, y, weight = given
        weighted = {} if weight is None else {"sample_weight": weight}
        return self._fitted_to(clone(make), X, y, **weighted)

    def _fitted_to(self, estimator, X, y, **given):
        return estimator.fit(X, y, **given)

    def scores(self, rows: StandardRows) -> Floats:
        """See `Member`."""
        return self._score(self.fitted, rows.X)

    def _score(self, estimator, X):
        """Scores (n, dim), or those whose means an estimator predicts."""
        if hasattr(estimator, "embedding_scores"):
            return self._of_all_classes(estimator, estimator.embedding_scores(X))
        if hasattr(estimator, "predict_mean"):
            return self.loss.link(estimator.predict_mean(X))
        if self.loss.space.scores_classes and hasattr(estimator, "predict_proba"):
            proba = self._of_all_classes(estimator, estimator.predict_proba(X))
            return self.loss.link(proba)
        raise ValueError(
            "estimators must have embedding_scores or predict_mean, or predict_proba for classes, "
            f"got {estimator!r}."
        )

    def _of_all_classes(self, estimator, scores):
        """Scores (n, dim); a class that is in none of the rows learned has the lowest."""
        dim = self.loss.space.dim_
        if scores.shape[1] == dim:
            return scores
        found = np.repeat(scores.min(axis=1, keepdims=True), dim, axis=1)
        found[:, np.searchsorted(self.loss.space.classes_, estimator.classes_)] = scores
        return found


class CrossFittedRegressor(CrossFitted):
    """The same for regressors, whose predictions are scores in the units of the loss."""

    def _score(self, estimator, X):
        return self.loss.space.pack(estimator.predict(X))[:, None]
