"""Any estimator as a member: others like it score the rows that they have not learned."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from skstructured.estimators.mixture._training import Member, StandardRows, Training
from skstructured.extend._types import Floats


class CrossFitted(Member):
    """An estimator that learns all rows, after five clones that each leave out a fold.

    If `max_iter` is "auto", the first of them chooses it for all.
    """

    def __init__(self, estimator: Any, loss: Any) -> None:
        self.estimator, self.loss = estimator, loss

    def fit(self, training: Training) -> Floats:
        fold_ids, make = training.parts, clone(self.estimator)
        honest = np.zeros((len(fold_ids), training.dim))
        for fold_id in training.folds:
            learned = fold_ids != fold_id
            fold = self._fold(make, training, learned)
            honest[~learned] = self._score(fold, _safe_indexing(training.rows.X, ~learned))
            n_passes = getattr(fold, "n_iter_", None)
            if getattr(make, "max_iter", None) == "auto" and n_passes is not None:
                make.set_params(max_iter=n_passes)
        self.fitted = self._fit(make, training.rows.X, training.y, training.sample_weight)
        return honest[training.judged]

    def _fold(self, make, training, learned):
        """An estimator that has learned some rows; if it has a space, it knows all classes."""
        X, y, weight = training.rows.X, training.y, training.sample_weight
        if hasattr(make, "space"):
            return self._fit(make, X, y, learned * (1.0 if weight is None else weight))
        arrays = [None if a is None else _safe_indexing(a, learned) for a in (X, y, weight)]
        return self._fit(make, *arrays)

    def _fit(self, make, X, y, weight):
        weighted = {} if weight is None else {"sample_weight": weight}
        return self._fitted_to(clone(make), X, y, **weighted)

    def _fitted_to(self, estimator, X, y, **options):
        return estimator.fit(X, y, **options)

    def scores(self, rows: StandardRows) -> Floats:
        return self._score(self.fitted, rows.X)

    def _score(self, estimator, X):
        """Scores (n, dim), those of predicted means if need be."""
        if hasattr(estimator, "embedding_scores"):
            return self._of_all_classes(estimator, estimator.embedding_scores(X))
        if hasattr(estimator, "predict_mean"):
            return self.loss.link(estimator.predict_mean(X))
        if self.loss.space.scores_classes and hasattr(estimator, "predict_proba"):
            return self.loss.link(self._of_all_classes(estimator, estimator.predict_proba(X)))
        raise ValueError(
            "estimators must have embedding_scores or predict_mean, or predict_proba for classes, "
            f"got {estimator!r}."
        )

    def _of_all_classes(self, estimator, scores):
        """Scores (n, dim); a class that is in none of the rows learned has the lowest."""
        dim = self.loss.space.dim_
        if scores.shape[1] == dim:
            return scores
        padded_scores = np.repeat(scores.min(axis=1, keepdims=True), dim, axis=1)
        padded_scores[:, np.searchsorted(self.loss.space.classes_, estimator.classes_)] = scores
        return padded_scores


class CrossFittedRegressor(CrossFitted):
    """The same for regressors, whose predictions are scores in the units of the loss."""

    def _score(self, estimator, X):
        return self.loss.space.pack(estimator.predict(X))[:, None]
