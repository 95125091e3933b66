"""Boosted trees as a member."""

import functools
from typing import Any

import numpy as np

from skstructured.estimators.boosting._additive import AdditiveTrees, BoostingOptions, BoostingTask
from skstructured.estimators.boosting._trees import TreeGrower
from skstructured.estimators.mixture import _training
from skstructured.estimators.mixture._training import Member, Stage, StandardRows, Training
from skstructured.extend._types import Array, Floats


class BoostedTrees(Member):
    """Boosted trees of all outputs, left out if another member is much better.

    With more than 10,000 rows there are two models, which leave out the even and the odd folds. The
    number of rounds is at most `size` times the usual one.
    """

    #: Trees of few rows, which on a checkerboard gain nothing at first, so they are patient; and of
    #: many. `benchmarks.peers.steps` and `benchmarks.peers.packaged` judge both.
    few_rows_options = BoostingOptions(100, 20, 0.3, 31, 20, 0.4)
    many_rows_options = BoostingOptions(150, 8, 0.2, 64, 20, 1.0)

    #: Held-out loss, in units of that of the best other member, above which it is left out.
    few_rows_limit, many_rows_limit = 1.05, 1.3

    def __init__(self, loss: Any, seed: int, n_jobs: Any, size: float = 1.0) -> None:
        self.loss, self.seed, self.n_jobs, self.size = loss, seed, n_jobs, size

    def stage(self, n: int) -> Stage:
        return Stage.NEEDS_LOSSES

    def work(self, n: int) -> float:
        return self.size * (n + TreeGrower.few_rows) * (2 if n > 2 * _training.MOST_HELD_OUT else 5)

    def resized(self, size: float) -> "BoostedTrees":
        return BoostedTrees(self.loss, self.seed, self.n_jobs, self.size * size)

    def fit(self, training: Training) -> Floats | None:
        (n, width), dim = training.rows.unchanged.shape, training.dim
        task = BoostingTask(training.truths, training.weight, self.loss, dim)
        folds = training.parts
        if n > 2 * _training.MOST_HELD_OUT:
            folds = np.where(folds >= 0, folds % 2, -1)
        options, limit = self.many_rows_options, self.many_rows_limit
        if n <= TreeGrower.few_rows:
            options, limit = self.few_rows_options, self.few_rows_limit
        p = training.rows.X.shape[1]
        options = self._options(options, p)
        options = options._replace(max_features=options.max_features * p / width)  # with pairs too
        fitted = AdditiveTrees.fitted(
            training.rows.unchanged, task, folds, options, self.seed,
            self.n_jobs, functools.partial(self._ratio, training), limit,
        )  # fmt: skip
        if fitted is None:
            return None
        self.model, honest = fitted
        return honest[training.judged]

    def _ratio(self, training, model):
        """Held-out loss of a model, in units of that of the best other member; 0 without others."""
        if training.least_losses is None:
            return 0.0
        rows, weight = model.left_out, training.weight[model.left_out]
        losses = self.loss.value_and_gradient(model.honest, model.task.V[rows])[0]
        others = training.least_losses[np.searchsorted(training.judged, rows)]
        return weight @ losses / max(weight @ others, 1e-12)

    def _options(self, options, p, few_columns=6, many_columns=64):
        """Options for rows with p columns, of which 6 to 64 are tried for each split."""
        share = max(options.max_features, few_columns / p)
        max_features = min(share, many_columns / p, 1.0)
        max_iter = max(1, int(self.size * options.max_iter))
        return options._replace(max_iter=max_iter, max_features=max_features)

    def scores(self, rows: StandardRows) -> Array:
        return self.model.scores(rows.unchanged)
