"""Scores that are sums of trees, one more each round, by the slopes of any loss."""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed

from skstructured.estimators._forest import Forest
from skstructured.estimators._ranks import ColumnRanks
from skstructured.estimators.boosting._trees import Tree, TreeGrower
from skstructured.extend._types import Array, Floats, Ints


class BoostingOptions(NamedTuple):
    """Parameters of `FenchelYoungBoosting`."""

    max_iter: int
    n_iter_no_change: int
    learning_rate: float
    max_leaf_nodes: int
    min_samples_leaf: int
    max_features: float


class BoostingTask(NamedTuple):
    """Outputs V (n, ...), as the loss takes them, weights (n,), the loss, and scores of a row."""

    V: Floats
    weight: Floats
    loss: Any
    dim: int

    def best_constant(self, rows: Ints) -> Floats:
        """Scores (dim,) of the mean output of some rows; 0 for losses that need more than it."""
        if not self.loss.linear_in_outputs:
            return np.zeros(self.dim)
        mean = np.average(self.V[rows], axis=0, weights=self.weight[rows])
        return self.loss.link(mean[None])[0]


def without_rival(model: "AdditiveModel") -> float:
    """0: a model without a rival is worth having."""
    return 0.0


class AdditiveModel:
    """Scores of all rows by the trees so far, which learn some of the rows.

    Each round fits a tree to the negative slopes of the loss. A leaf with slopes g_i and curvatures
    h_i in a coordinate of the scores takes the step ``−η Σ w_i g_i / (Σ w_i h_i + c)`` in it, of
    length 2 at most, with the scale c of the loss.
    """

    #: Rounds after which a loss is compared with a rival's, and in its units what is hopeless.
    trial_rounds, hopeless = (10, 15, 20, 25, 30), 2.0

    def __init__(
        self, task: BoostingTask, grower: TreeGrower, learning_rate: float,
        is_learned: Array, seed: int,
    ) -> None:  # fmt: skip
        self.task, self.grower, self.learning_rate, self.seed = task, grower, learning_rate, seed
        self.learned, self.left_out = np.flatnonzero(is_learned), np.flatnonzero(~is_learned)
        self.start = task.best_constant(self.learned)
        self.trees: list[tuple[Tree, Floats]] = []
        self.theta = np.tile(self.start, (len(task.V), 1))
        self.losses, self.slopes = task.loss.objective(self.theta, task.V)

    def add_tree(self) -> None:
        """Learn one more tree."""
        seed, weight = (self.seed + len(self.trees)) % 2**32, self.task.weight
        tree, leaves = self.grower.grow(-self.slopes, weight, self.learned, seed)
        steps = self._steps(leaves[self.learned], weight[self.learned, None])
        self.theta += steps[leaves]
        self.trees.append((tree, steps.astype(np.float32)))
        self.losses, self.slopes = self.task.loss.objective(self.theta, self.task.V)

    def _steps(self, leaves, weight):
        """Steps (n_leaves, dim), by the leaves of the learned rows."""
        task, slopes = self.task, self.slopes
        curvatures = task.loss.curvature(self.theta, task.V, slopes)[self.learned]
        falls = sums_of_leaves(leaves, -weight * slopes[self.learned])
        curves = sums_of_leaves(leaves, weight * curvatures) + getattr(task.loss, "scale_", 1.0)
        return np.clip(self.learning_rate * falls / curves, -2.0, 2.0)

    def grow(self, n_rounds: int) -> Self:
        """Learn trees until there are so many."""
        while len(self.trees) < n_rounds:
            self.add_tree()
        self.honest = self.theta[self.left_out]
        return self

    def seek_rounds(
        self, max_iter: int, n_iter_no_change: int, ratio: Callable = without_rival
    ) -> list[float]:
        """Learn trees until so many do not lower the held-out loss; the losses after each number.

        The trees up to the lowest loss are kept. There are few if the `ratio` to a rival's loss
        is hopeless: above 2, and the loss would not come below the rival's by `max_iter` rounds if
        it kept falling as fast as in the last five.
        """
        losses, n_rounds, behind = [self._held_out_loss()], 0, math.inf
        while len(self.trees) < min(max_iter, n_rounds + n_iter_no_change):
            self.add_tree()
            losses.append(self._held_out_loss())
            if losses[-1] < losses[n_rounds]:
                n_rounds, self.honest = len(self.trees), self.theta[self.left_out]
            if len(self.trees) in self.trial_rounds:
                earlier, behind = behind, ratio(self)
                n_left = max_iter - len(self.trees)
                if behind > self.hopeless and behind * (behind / earlier) ** (n_left / 5) > 1.0:
                    break
        del self.trees[n_rounds:]
        return losses

    def _held_out_loss(self):
        return np.average(self.losses[self.left_out], weights=self.task.weight[self.left_out])


def sums_of_leaves(leaves: Ints, values: Floats) -> Floats:
    """Sums (n_leaves, dim) of the values of the rows of each leaf."""
    return np.column_stack([np.bincount(leaves, column) for column in values.T])


class AdditiveTrees(NamedTuple):
    """Models of additive trees, whose scores are averaged.

    The forest has the first tree of each model, then the second, …, and steps as means. Held-out
    losses are those of the first model after 0, 1, … rounds; `start` is the mean score before.
    """

    start: Floats
    forest: Forest
    n_models: int
    n_rounds: int
    held_out_losses: Floats

    @classmethod
    def fitted(
        cls, X: Array, task: BoostingTask, folds: Ints, options: BoostingOptions, seed: int,
        n_jobs: int | None, ratio: Callable[[AdditiveModel], float] = without_rival,
        worth: float = 1.0,
    ) -> tuple[Self, Floats] | None:  # fmt: skip
        """One model per fold, which it leaves out, and the scores of rows by that model.

        The first model seeks the number of rounds. Rows of fold −1 are learned by all models, and
        their scores are NaN. If there are no others, one model learns `max_iter` rounds. None if
        the `ratio` of the first model's loss to that of a rival is above `worth`.
        """
        ranks, n_models, n_rounds = ColumnRanks.of(X), max(folds.max() + 1, 1), options.max_iter
        limits = options.max_leaf_nodes, options.min_samples_leaf, options.max_features
        grower = TreeGrower(ranks.transform(X), *limits)

        def grown(fold, n_rounds):
            is_learned, own_seed = folds != fold, seed + fold * options.max_iter
            model = AdditiveModel(task, grower, options.learning_rate, is_learned, own_seed)
            return model.grow(n_rounds)

        models, losses = [], []
        if n_models > 1:
            models = [grown(0, 0)]
            losses = models[0].seek_rounds(options.max_iter, options.n_iter_no_change, ratio)
            n_rounds = len(models[0].trees)
            if ratio(models[0]) > worth:
                return None
        tasks = (delayed(grown)(fold, n_rounds) for fold in range(len(models), n_models))
        models += Parallel(n_jobs, require="sharedmem")(tasks)
        return cls.of_models(ranks, models, losses, X.shape[1]), honest_scores(models)

    @classmethod
    def of_models(
        cls, ranks: ColumnRanks, models: list[AdditiveModel], losses: list[float], p: int
    ) -> Self:
        """The trees of models."""
        rounds = zip(*(model.trees for model in models), strict=True)
        trees = [*itertools.chain.from_iterable(rounds)]
        start = np.mean([model.start for model in models], axis=0)
        forest = forest_of(trees, len(start), p)
        values = ranks.values_at(forest.columns, forest.thresholds)
        forest, n_rounds = forest._replace(thresholds=values), len(models[0].trees)
        return cls(start, forest, len(models), n_rounds, np.array(losses))

    def scores(self, X: Array) -> Floats:
        """Mean scores (n, dim) of the models."""
        return self.start + self.forest.total(X) / self.n_models

    def staged_scores(self, X: Array) -> Iterator[Floats]:
        """`scores` after 1, 2, …, `n_rounds` rounds."""
        total, steps = np.zeros((len(X), len(self.start))), self.forest.predictions(X)
        for _ in range(self.n_rounds):
            total = sum(itertools.islice(steps, self.n_models), total)
            yield self.start + total / self.n_models


def honest_scores(models: list[AdditiveModel]) -> Floats:
    """Scores (n, dim) of rows by the model that leaves them out; NaN if none does."""
    scores = np.full(models[0].theta.shape, np.nan)
    for model in models:
        scores[model.left_out] = model.honest
    return scores


def forest_of(trees: list[tuple[Tree, Floats]], dim: int, p: int) -> Forest:
    """Trees, each with the steps of its leaves, as one forest."""
    no_steps, no_nodes = np.zeros((0, dim), np.float32), np.zeros((0, 3), np.int32)
    empty = Forest(no_nodes[:, 0], no_nodes, no_steps[:, 0], no_steps, np.zeros(p))
    forests = [Forest(*tree[:3], steps, tree.importances) for tree, steps in trees]
    return Forest.joined([empty, *forests])
