"""What a linear learner of items learns: one weight for each of their features."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skstructured._base.ragged import Ragged
from skstructured._base.validation import check_integer
from skstructured._engine.rows import Rows
from skstructured._engine.standardize import Counted
from skstructured._engine.state import DIM, FRESH, INNER, ROOM
from skstructured._learners.batch_scaling import scale_of
from skstructured.estimators.kernel._features import FourierMap
from skstructured.estimators.kernel._features_model import BALANCE, SEEN, MappedScale
from skstructured.estimators.kernel._values import counted_rows, width_of
from skstructured.extend._types import Floats, Ints
from skstructured.extend.learner import Batch
from skstructured.items._rounds import CENTRED, INTERCEPT, SCRATCH, gather_items, prepare_items
from skstructured.losses.oracles import RESIDUAL_TOL
from skstructured.optimizers import GradientDescent
from skstructured.optimizers.step_mixture import RelativeStep
from skstructured.sequences._ragged import RoundModel, blocks_of


class MappedRounds(MappedScale):
    """`MappedScale` of items: rows of one round are standardised alike."""

    inner: Any

    @property
    def centred(self) -> bool:
        """Weights are those of rows as they are learned, and have no intercept folded in."""
        return False

    def set_width(self, batch: Batch) -> None:
        """Take the width of the kernel from some of the rows."""
        weight = np.repeat(batch.weights, batch.X.lengths)
        chosen = counted_rows(weight, SEEN)
        some, scale, weight = batch.rows.taken(chosen), self.inner.anew(), weight[chosen]
        scale.offsets = np.array([0, len(chosen)])
        scale.apply(some, weight=weight)
        Z = scale.transformed_matrix(some)
        Z = (Z.toarray() if hasattr(Z, "toarray") else Z)[:, : self.mapped]
        gamma, _ = width_of("multiscale", "rbf", self.mapped, Z, weight)
        self.features.set_width(gamma, BALANCE * self.mapped)


def mapped_rounds(scale: Any, learner: Any) -> MappedRounds:
    """A scale of rounds, and random features of the Gaussian kernel, of three widths, behind it."""
    check_integer("n_components", learner.n_components)
    p = learner.n_features_in_
    rng = check_random_state(learner.random_state_.randint(2**31 - 1))
    features = FourierMap("rbf", p, learner.n_components, True, rng)
    features.set_width(width_of("multiscale", "rbf", p)[0], BALANCE * p)
    return MappedRounds(scale, features)


class ItemModel(RoundModel):
    """Weights (1, p + intercept) that one optimiser moves."""

    names = "items", "round"
    left_at_most = RESIDUAL_TOL

    def _set_up(self, learner: Any, vectors: Floats) -> None:
        self.steps = learner._steps
        super()._set_up(learner, vectors)
        kinds = (GradientDescent, RelativeStep)
        self.state.which[:] = [isinstance(expert, kinds) for expert in self._experts()]

    def _new_scale(self, learner: Any) -> Any:
        centred = self.intercept or self.space.constant_sum
        columns = learner.n_features_in_ if self.steps is None else len(self.steps)
        scale = scale_of(learner, columns, centred)
        return mapped_rounds(scale, learner) if getattr(learner, "kernel", None) == "rbf" else scale

    def _take_kernels(self) -> None:
        _, regularizer, oracle = self.loss._terms()
        self.params, self.options = regularizer.kernel_params(), np.zeros(CENTRED + 1, np.int64)
        self.options[[DIM, INNER, FRESH]] = 1, 1, oracle.iterative
        self.options[ROOM], self.options[INTERCEPT] = SCRATCH + self.width, self.intercept
        self.options[CENTRED] = self.space.constant_sum

    def prepare(self, learner: Any, batch: Batch) -> None:
        """See `Model`: the width of a kernel goes by the rows."""
        if isinstance(self.scale, MappedRounds):
            self.scale.set_width(batch)

    def blocks(self, batch: Batch, order: Ints, record: int) -> Sequence[Ints]:
        """Blocks of some thousand items."""
        columns = math.ceil(math.sqrt(self.width))
        return blocks_of(order, batch.X.lengths, columns, self.steps is not None)

    def _kernels(self) -> Any:
        return None, self.loss.kernel, prepare_items, gather_items

    def _rows(self, batch: Batch, block: Ints) -> tuple[Rows, Ints]:
        rows, places = super()._rows(batch, block)
        return (rows, places) if self.steps is None else self.steps.rows(rows, places)

    def _counted(self, rows: Rows, places: Ints, weight: Floats, offsets: Ints) -> Counted:
        scale: Any = self.scale
        getattr(scale, "inner", scale).offsets = offsets
        return super()._counted(rows, places, weight, offsets)

    def _of_rounds(self, truth: Ragged) -> Any:
        lengths, loss = truth.lengths, self.loss
        terms = np.column_stack(loss.geometries(lengths))
        return loss.omegas(truth), terms, loss.work_sizes(lengths)

    def _scratch(self, truth: Ragged) -> Floats:
        return np.zeros((1, int(self.loss.work_sizes(truth.lengths).max())))

    def _read(self, truth: Ragged, results: tuple[Floats, ...]) -> tuple[Any, ...]:
        return Ragged(results[0], truth.offsets), truth

    def concatenated(self, scores: Sequence[Any]) -> Ragged:
        """The scores of several blocks."""
        lengths = np.concatenate([part.lengths for part in scores])
        return Ragged.from_lengths(np.concatenate([part.values for part in scores]), lengths)

    def weights(self, averaged: bool) -> Floats:
        """The weights (1, p + intercept) in units of X."""
        W = self._stored_weights(averaged)
        if self.intercept or not self.scale.centred:
            return self.scale.fold(W)
        return self.scale.fold(np.hstack([W, [[0.0]]]))[:, :-1]

    def scores(self, batch: Batch, averaged: bool) -> Any:
        """``XW``, of the items of every round."""
        W, rows = self.weights(averaged)[0], batch.rows
        parts = [rows] if self.steps is None else self.steps.blocks(rows)
        theta = np.concatenate(
            [np.asarray(self.scale.completed(part).matrix @ W[: self.width]) for part in parts]
        )
        offsets: Any = batch.offsets
        return Ragged(theta + W[self.width] if self.intercept else theta, offsets)
