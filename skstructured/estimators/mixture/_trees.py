"""Trees of vertices, and groups of trees that have not learned one fold."""

import math
from copy import copy
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

from skstructured.estimators._forest import Forest
from skstructured.estimators._ranks import ColumnRanks, ColumnUnits
from skstructured.estimators.mixture import _training
from skstructured.estimators.mixture._training import Member, StandardRows, Training
from skstructured.extend._types import Floats


class VertexTrees(Member):
    """Trees whose leaves have the mean vertex of their rows, a point of conv(Y).

    The honest score of a row is that of the group of `n_trees` that has not learned its fold. All
    groups predict; with 3,001 to 10,000 rows as many other trees predict, which learn all rows.
    Trees see dense columns half by their ranks and half by their values, in units of the range, and
    missing values. The prediction is the `quantile` of the trees', or their mean. With
    `best_thresholds`, thresholds are the best ones of a few columns, and are not drawn.

    References
    ----------
    Breiman (2001), "Random forests"; Geurts, Ernst, Wehenkel (2006), "Extremely randomized trees";
    Meinshausen (2006), "Quantile regression forests".
    """

    stretches_columns = True

    #: Rows up to which all groups predict; rows above which groups have half as many trees; and
    #: rows that a tree learns at most, drawn with replacement if there are more.
    few_rows, many_rows, most_rows = 3_000, 50_000, 1_000_000

    #: Thresholds are drawn half by ranks and half by values.
    share_of_range = 0.5

    #: Options of a random forest.
    random_forest: ClassVar = {"best_thresholds": True, "max_features": "sqrt"}

    #: Time of the first node of a tree, in units of n log n, as measured.
    setup_work = 2500

    def __init__(
        self,
        loss: Any,
        quantile: float | None,
        seed: int,
        n_jobs: Any,
        best_thresholds: bool = False,
        n_trees: int = 20,
        **options: Any,
    ) -> None:
        self.loss, self.quantile, self.seed, self.n_jobs = loss, quantile, seed, n_jobs
        self.best_thresholds, self.n_trees, self.options = best_thresholds, n_trees, options

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Read a saved object; older ones have forests of scikit-learn, in units of the range."""
        vars(self).update(state)
        if "_low" in state:
            forests = [f if isinstance(f, Forest) else Forest.of(f) for f in state["forests"]]
            forest, low, span = Forest.joined(forests), state["_low"], state["_span"]
            columns = forest.columns
            thresholds = low[columns] + span[columns] * forest.thresholds
            self.forest = forest._replace(thresholds=thresholds)

    def work(self, n: int) -> float:
        factor = 2 if self._learns_all(n) else 0.5 if n > self.many_rows else 1
        return factor * _training.N_FOLDS * self.n_trees * (n * math.log(n) + self.setup_work)

    def _learns_all(self, n):
        """Whether other trees predict too, which learn all of n rows."""
        return self.few_rows < n <= 2 * _training.MOST_HELD_OUT

    def smaller(self, size: float) -> "VertexTrees":
        twin = copy(self)
        twin.n_trees = max(1, int(size * self.n_trees))
        return twin

    def fit(self, training: Training) -> Floats:
        X, V, fold_ids = training.rows.unchanged, training.V, training.parts
        units = ColumnUnits.of(X) if issparse(X) else ColumnRanks.of(X, self.share_of_range)
        learned = units.transform(X), V if training.dim > 1 else V[:, 0], training.weight
        means, n_folds, forests = np.empty(V.shape), _training.N_FOLDS, []
        for fold_id in training.folds:
            others, is_held_out = np.flatnonzero(fold_ids != fold_id), fold_ids == fold_id
            forests.append(self._fitted(fold_id, units, *(array[others] for array in learned)))
            means[is_held_out] = self._means(forests[-1], X[is_held_out])
        if training.reserved is None:
            self.stretches = [stretch_of(forest) for forest in forests]
        else:
            reserved = (array[training.reserved] for array in learned)
            forest = self._fitted(2 * n_folds, units, *reserved)
            self.stretches = [stretch_of(forest)] * n_folds
        if self._learns_all(len(V)) or not forests:
            forests = [self._fitted(n_folds + k, units, *learned) for k in range(n_folds)]
            self.stretches = self.stretches or [stretch_of(forest) for forest in forests]
        self.forest = Forest.joined(forests)
        return self.loss.link(means[training.judged])

    def _fitted(self, place, units, X, V, weight):
        """The `Forest` of a group: few trees at a time, for scikit-learn's take much memory."""
        is_large, options = len(V) > self.most_rows, self.options
        n_trees = self.n_trees if len(V) <= self.many_rows else max(1, self.n_trees // 2)
        if issparse(X):
            options = {"max_features": 0.2} | options  # few columns of a row are not 0
        kind = RandomForestRegressor if self.best_thresholds else ExtraTreesRegressor
        trees = kind(
            n_trees, bootstrap=is_large, max_samples=self.most_rows if is_large else None,
            random_state=self.seed + place, n_jobs=self.n_jobs, **options,
        )  # fmt: skip
        forest = Forest.of(trees.fit(X, V, weight))
        return forest._replace(thresholds=units.values_at(forest.columns, forest.thresholds))

    def stretched(self, training: Training) -> Training:
        """Training rows whose features are stretched by their importance for the trees."""
        stretch = np.sqrt(np.mean(np.square(self.stretches), axis=0))
        rows = training.rows._replace(stretch=stretch)
        return training._replace(rows=rows, stretches=self.stretches if training.folds else None)

    def scores(self, rows: StandardRows) -> Floats:
        return self.loss.link(self._means(self.forest, rows.unchanged))

    def _means(self, forest, X):
        if self.quantile is not None:
            return np.quantile([*forest.predictions(X)], self.quantile, axis=0)
        return forest.total(X) / len(forest.roots)


def stretch_of(forest: Any) -> Floats:
    """Roots (p,) of the importances of features, in units of their mean; none is below 0."""
    importances = np.maximum(forest.feature_importances_, 0.0)
    mean = importances.mean()
    return np.sqrt(importances / mean) if mean > 0.0 else np.ones_like(importances)
