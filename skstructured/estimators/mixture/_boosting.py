"""Boosted trees as a member."""

import functools
from typing import Any

import numpy as np

from skstructured.estimators.boosting._additive import (
    AdditiveTrees,
    BoostingOptions,
    BoostingTask,
)
from skstructured.estimators.boosting._trees import FEW
from skstructured.estimators.mixture._training import MOST, Member, StandardRows, Training
from skstructured.extend._types import Array, Floats

#: Trees of few rows, and of many, by which the tables of `benchmarks.defaults` are best.
QUICK = BoostingOptions(100, 8, 0.3, 31, 5, 0.4)
SLOW = BoostingOptions(150, 8, 0.2, 64, 20, 1.0)

#: Loss, in units of that of the best other member, above which it is left out: few rows, and many.
WORTH_OF_FEW, WORTH = 1.05, 1.3

#: Losses of others are not less: nobody can be better.
SMALLEST_LOSS = 1e-12

#: Columns that are tried for each split, at most.
MOST_COLUMNS = 64


class BoostedTrees(Member):
    """Boosted trees of all outputs; see `FenchelYoungBoosting`.

    The honest score of a row is that of the model that has not learned its part. With more than
    10,000 rows there are two models, which leave out the even and the odd parts. The member is left
    out of the mixture if the held-out loss of its first model is more than 1.05 times that of the
    best other member; 1.3 times with more than 3,000 rows.

    Parameters
    ----------
    loss : FenchelYoung, ResidualLoss or QueryLoss
    seed : int
    n_jobs : int or None
        Threads.
    size : float, default=1.0
        Rounds at most, in units of the usual ones.
    """

    stage = 2

    def __init__(self, loss: Any, seed: int, n_jobs: Any, size: float = 1.0) -> None:
        self.loss, self.seed, self.n_jobs, self.size = loss, seed, n_jobs, size

    def work(self, n: int) -> float:
        """See `Member`."""
        return self.size * (n + FEW) * (2 if n > 2 * MOST else 5)

    def smaller(self, size: float) -> "BoostedTrees":
        """See `Member`."""
        return BoostedTrees(self.loss, self.seed, self.n_jobs, self.size * size)

    def fit(self, training: Training) -> Floats | None:
        """See `Member`."""
        (n, p), dim = training.rows.unchanged.shape, training.dim
        task = BoostingTask(training.truths, training.weight, self.loss, dim)
        fold_ids = training.parts
        folds = np.where(fold_ids >= 0, fold_ids % 2, -1) if n > 2 * MOST else fold_ids
        options, worth = (QUICK, WORTH_OF_FEW) if n <= FEW else (SLOW, WORTH)
        fitted = AdditiveTrees.fitted(
            training.rows.unchanged, task, folds, self._options(options, p), self.seed,
            self.n_jobs, functools.partial(self._ratio, training), worth,
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
        return weight @ losses / max(weight @ others, SMALLEST_LOSS)

    def _options(self, options, p):
        max_features = min(options.max_features, MOST_COLUMNS / p)
        max_iter = max(1, int(self.size * options.max_iter))
        return options._replace(max_iter=max_iter, max_features=max_features)

    def scores(self, rows: StandardRows) -> Array:
        """See `Member`."""
        return self.model.scores(rows.unchanged)
