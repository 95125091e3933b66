"""Trees of vertices, and groups of trees that have not learned one part."""

import math
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

from skstructured.estimators._forest import Forest
from skstructured.estimators._ranks import ColumnRanks, ColumnUnits
from skstructured.estimators.mixture._training import MOST, PARTS, Member, StandardRows, Training
from skstructured.extend._types import Floats

#: Trees of a group, and rows above which there are half as many.
TREES, MANY = 20, 50_000

#: Rows up to which all groups predict, and rows that a tree learns at most.
FEW, ROWS = 3_000, 1_000_000

#: Thresholds are drawn half by ranks and half by values.
SHARE_OF_RANGE = 0.5

#: Time of the first node of a tree, in units of n log n, as measured.
TREE_SETUP = 2500

#: Options of trees that take the best threshold of few columns, and do not draw it.
BEST = {"best_thresholds": True, "max_features": "sqrt"}

#: Share of the columns of CSR rows among which trees look for each threshold.
OF_SPARSE = 0.2


class VertexTrees(Member):
    """Trees whose leaves have the mean vertex of their rows, a point of conv(Y).

    The honest score of a row is that of the group of trees that has not learned its part. All
    groups predict; with 3,001 to 10,000 rows as many other trees predict, which learn all rows.
    With more than 50,000 rows there are half as many trees, and with more than 1,000,000 each tree
    learns as many, drawn with replacement. Trees see dense columns half by their ranks and half by
    their values, in units of the range, and missing values.

    Parameters
    ----------
    loss : FenchelYoung or ResidualLoss
        Scores are those whose means are the trees'.
    quantile : float or None
        Which quantile of the trees' predictions is taken; None is the mean.
    seed : int
        Seeds the trees.
    n_jobs : int or None
        Threads.
    best_thresholds : bool, default=False
        Whether trees take the best threshold of a column, and do not draw it.
    n_trees : int, default=20
        Trees of a group.
    **options
        Parameters of the trees.

    References
    ----------
    Breiman (2001), "Random forests"; Geurts, Ernst, Wehenkel (2006), "Extremely randomized trees";
    Meinshausen (2006), "Quantile regression forests".
    """

    stage = 0

    def __init__(
        self,
        loss: Any,
        quantile: float | None,
        seed: int,
        n_jobs: Any,
        best_thresholds: bool = False,
        n_trees: int = TREES,
        **options: Any,
    ) -> None:
        self.loss, self.quantile, self.seed, self.n_jobs = loss, quantile, seed, n_jobs
        self.best_thresholds, self.n_trees, self.options = best_thresholds, n_trees, options

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Read a saved object; older ones have forests of scikit-learn, in units of the range."""
        vars(self).update(state)
        if "_low" in state:
            forests = [f if isinstance(f, Forest) else Forest.of(f) for f in state["forests"]]
            self.forest = _in_values(Forest.joined(forests), state["_low"], state["_span"])

    def work(self, n: int) -> float:
        """See `Member`."""
        n_groups = PARTS * (2 if FEW < n <= 2 * MOST else 0.5 if n > MANY else 1)
        return n_groups * self.n_trees * (n * math.log(n) + TREE_SETUP)

    def smaller(self, size: float) -> "VertexTrees":
        """See `Member`."""
        n_trees, settings = max(1, int(size * self.n_trees)), (self.seed, self.n_jobs)
        return VertexTrees(
            self.loss, self.quantile, *settings, self.best_thresholds, n_trees, **self.options
        )

    def fit(self, training: Training) -> Floats:
        """See `Member`."""
        rows, V, fold_ids = training.rows.unchanged, training.V, training.parts
        units = ColumnUnits.of(rows) if issparse(rows) else ColumnRanks.of(rows, SHARE_OF_RANGE)
        learned = units.transform(rows), V if training.dim > 1 else V[:, 0], training.weight
        means = np.empty(V.shape)
        forests = []
        for fold_id in training.folds:
            others, is_held_out = np.flatnonzero(fold_ids != fold_id), fold_ids == fold_id
            forests.append(self._fitted(fold_id, units, *(array[others] for array in learned)))
            means[is_held_out] = self._means(forests[-1], rows[is_held_out])
        if training.reserved is None:
            self.stretches = [stretch_of(forest) for forest in forests]
        else:
            reserved = (array[training.reserved] for array in learned)
            forest = self._fitted(2 * PARTS, units, *reserved)
            self.stretches = [stretch_of(forest)] * PARTS
        if FEW < len(V) <= 2 * MOST or not forests:
            forests = [self._fitted(PARTS + fold_id, units, *learned) for fold_id in range(PARTS)]
            self.stretches = self.stretches or [stretch_of(forest) for forest in forests]
        self.forest = Forest.joined(forests)
        return self.loss.link(means[training.judged])

    def _fitted(self, place, units, X, V, weight):
        """The `Forest` of a group: few trees at a time, for scikit-learn's take much memory."""
        is_large, options = len(V) > ROWS, self.options
        n_trees = self.n_trees if len(V) <= MANY else max(1, self.n_trees // 2)
        if issparse(X):
            options = {"max_features": OF_SPARSE} | options
        kind = RandomForestRegressor if self.best_thresholds else ExtraTreesRegressor
        trees = kind(
            n_trees, bootstrap=is_large, max_samples=ROWS if is_large else None,
            random_state=self.seed + place, n_jobs=self.n_jobs, **options,
        )  # fmt: skip
        forest = Forest.of(trees.fit(X, V, weight))
        values = units.values_at(forest.columns, forest.thresholds)
        return forest._replace(thresholds=values)

    def stretched(self, training: Training) -> Training:
        """Training rows whose features are stretched by their importance for the trees."""
        stretch = np.sqrt(np.mean(np.square(self.stretches), axis=0))
        rows = training.rows._replace(stretch=stretch)
        return training._replace(rows=rows, stretches=self.stretches if training.folds else None)

    def scores(self, rows: StandardRows) -> Floats:
        """See `Member`."""
        return self.loss.link(self._means(self.forest, rows.unchanged))

    def _means(self, forest, X):
        if self.quantile is not None:
            return np.quantile([*forest.predictions(X)], self.quantile, axis=0)
        return forest.total(X) / len(forest.roots)


def _in_values(forest: Forest, low: Floats, span: Floats) -> Forest:
    """A forest of columns less their lowest value, in units of their range, for the values."""
    columns = forest.columns
    return forest._replace(thresholds=low[columns] + span[columns] * forest.thresholds)


def stretch_of(forest: Any) -> Floats:
    """Roots (p,) of the importances of features, in units of their mean; none is below 0."""
    importances = np.maximum(forest.feature_importances_, 0.0)
    mean = importances.mean()
    return np.sqrt(importances / mean) if mean > 0.0 else np.ones_like(importances)
