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
from skstructured.estimators.mixture._pairs import ColumnPairs
from skstructured.estimators.mixture._training import (
    Member,
    Stage,
    StandardRows,
    Training,
    spread_evenly,
)
from skstructured.extend._types import Floats


class VertexTrees(Member):
    """Trees whose leaves have the mean vertex of their rows, a point of conv(Y).

    The honest score of a row is that of the group of `n_trees` that has not learned its fold. All
    groups predict; with 3,001 to 10,000 rows as many other trees predict, which learn all rows.
    Trees see dense columns half by their ranks and half by their values, in units of the range, and
    missing values. The prediction is the `quantile` of the trees', or their mean. With
    `best_thresholds`, thresholds are the best ones of a few columns, and are not drawn. With many
    rows trees also split `ColumnPairs`, if trees of a few rows have a lower loss then.

    References
    ----------
    Breiman (2001), "Random forests"; Geurts, Ernst, Wehenkel (2006), "Extremely randomized trees";
    Meinshausen (2006), "Quantile regression forests".
    """

    #: Rows up to which all groups predict; rows above which groups have half as many trees; and
    #: rows that a tree learns at most, drawn with replacement if there are more.
    few_rows, many_rows, most_rows = 3_000, 50_000, 1_000_000

    #: Loss with pairs of columns, in units of that without, up to which trees have pairs;
    #: and rows that such a trial learns at most.
    worthy_loss, trial_rows = 0.97, 5_000

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

    def stage(self, n: int) -> Stage:
        return Stage.STRETCHES_COLUMNS

    def work(self, n: int) -> float:
        factor = 2 if self._learns_all(n) else 0.5 if n > self.many_rows else 1
        return factor * _training.N_FOLDS * self.n_trees * (n * math.log(n) + self.setup_work)

    def _learns_all(self, n):
        """Whether other trees predict too, which learn all of n rows."""
        return self.few_rows < n <= 2 * _training.MOST_HELD_OUT

    def resized(self, size: float) -> "VertexTrees":
        twin = copy(self)
        twin.n_trees = max(1, int(size * self.n_trees))
        return twin

    def fit(self, training: Training) -> Floats:
        X, V, n_folds = training.rows.unchanged, training.V, _training.N_FOLDS
        units, learned = self._lessons(X, V, training.weight)
        self.stretches, self.pairs, self.n_columns = [], None, X.shape[1]
        if training.reserved is not None:
            reserved = (array[training.reserved] for array in learned)
            pilot = self._fitted(2 * n_folds, units, *reserved)
            self.stretches = [stretch_of(pilot)] * n_folds
            self.pairs = self._worthy_pairs(pilot.feature_importances_, training)
        if self.pairs is not None:
            X = self.pairs.transform(X)
            units, learned = self._lessons(X, V, training.weight)
        means, forests = self._cross_fitted(X, units, learned, training)
        self.stretches = self.stretches or [stretch_of(forest) for forest in forests]
        if self._learns_all(len(V)) or not forests:
            forests = [self._fitted(n_folds + k, units, *learned) for k in range(n_folds)]
            self.stretches = self.stretches or [stretch_of(forest) for forest in forests]
        self.forest = Forest.joined(forests)
        return self.loss.link(means[training.judged])

    def _cross_fitted(self, X, units, learned, training):
        """Means of rows by the group that has not learned their fold, and the groups."""
        means, forests = np.empty(training.V.shape), []
        for fold_id in training.folds:
            is_held_out = training.parts == fold_id
            forests.append(
                self._fitted(fold_id, units, *(array[~is_held_out] for array in learned))
            )
            means[is_held_out] = self._means(forests[-1], X[is_held_out])
        return means, forests

    def _lessons(self, X, V, weight):
        """Units of rows, and what trees learn: the rows in units, targets and weights."""
        units = ColumnUnits.of(X) if issparse(X) else ColumnRanks.of(X, self.share_of_range)
        return units, (units.transform(X), V if V.shape[1] > 1 else V[:, 0], weight)

    def _worthy_pairs(self, importances, training):
        """Pairs of the most important columns, if trees have a lower loss with them; or None."""
        X = training.rows.unchanged
        pairs = None if issparse(X) else ColumnPairs.of(X[training.reserved], importances)
        if pairs is None:
            return None
        plain, paired = self._trial_loss(training), self._trial_loss(training, pairs.transform)
        return pairs if paired <= self.worthy_loss * plain else None

    def _trial_loss(self, training, transform=np.asarray):
        """The loss of the judged rows by trees of some of the others."""
        learned, judged = spread_evenly(training.unjudged, self.trial_rows), training.judged
        X, X_judged = (transform(training.rows.unchanged[rows]) for rows in (learned, judged))
        units, arrays = self._lessons(X, training.V[learned], training.weight[learned])
        forest = self._fitted(2 * _training.N_FOLDS, units, *arrays)
        theta = self.loss.link(self._means(forest, X_judged))
        losses = self.loss.value_and_gradient(theta, training.truths[judged])[0]
        return np.average(losses, weights=training.weight[judged])

    def _fitted(self, place, units, X, V, weight):
        """The `Forest` of a group: few trees at a time, for scikit-learn's take much memory."""
        is_large, share = len(V) > self.most_rows, self.n_columns / X.shape[1]
        n_trees = self.n_trees if len(V) <= self.many_rows else max(1, self.n_trees // 2)
        if issparse(X):
            share = 0.2  # few columns of a row are not 0
        options = {"max_features": share} | self.options
        kind = RandomForestRegressor if self.best_thresholds else ExtraTreesRegressor
        trees = kind(
            n_trees, bootstrap=is_large, max_samples=self.most_rows if is_large else None,
            random_state=self.seed + place, n_jobs=self.n_jobs, **options,
        )  # fmt: skip
        forest = Forest.of(trees.fit(X, V, weight))
        return forest._replace(thresholds=units.values_at(forest.columns, forest.thresholds))

    def stretched(self, training: Training) -> Training:
        """Training rows with pairs, if any, stretched by the importance of their columns."""
        stretch = np.sqrt(np.mean(np.square(self.stretches), axis=0))
        rows = training.rows._replace(stretch=stretch)
        if self.pairs is not None:
            rows = rows._replace(unchanged=self.pairs.transform(rows.unchanged), pairs=self.pairs)
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
