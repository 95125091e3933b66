"""Weights of features that an optimiser moves."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from skstructured._engine.rounds import ahead_for, epoch_for
from skstructured._engine.rows import Rows
from skstructured._engine.single_row import REFUSED
from skstructured._engine.standardize import FIRST, RunningScale
from skstructured._engine.state import Call, LinearState, at_once
from skstructured._learners.batch_scaling import scale_of
from skstructured._learners.models import AVERAGE, LAST, NOTHING, VectorModel
from skstructured._learners.weights import linear_scores
from skstructured.extend._types import Array, Floats, Ints, Kernel
from skstructured.extend.learner import Batch, Comparison
from skstructured.extend.optimizer import OnlineOptimizer

#: Methods that compute weights from Θ; where they are an optimiser's own, loops cannot.
COMPUTED = ("weights", "average_weights")


class LinearModel(VectorModel):
    """W of shape (dim, p [+ 1]), the intercept last, in the units of rows as standardised."""

    def _set_up(self, learner: Any, vector: Floats) -> None:
        optimizer, dim = self.optimizer, self.space.dim_
        self.intercept = learner._intercept
        summed = self.averaged and not optimizer.keeps_average
        self.scale = self._new_scale(learner)
        self.width = self.scale.columns
        width = self.width + self.intercept
        self.state = LinearState(dim, width, vector, optimizer.blocks, summed)
        self._take_kernels()

    def _new_scale(self, learner: Any) -> RunningScale:
        """How rows are transformed."""
        return scale_of(learner, learner.n_features_in_, self.intercept)

    @property
    def scores_ahead(self) -> bool:  # type: ignore[override]
        """Whether weights are s Θ, and their average a sum of Θ and A; see `Model`."""
        kind = type(self.optimizer)
        same = (getattr(kind, name) is getattr(OnlineOptimizer, name) for name in COMPUTED)
        return all(same) and not self.optimizer.keeps_average

    def _kernels(self) -> tuple[Kernel, ...]:
        """Move and score, loss, scale, step."""
        state, optimizer = self.state, self.optimizer
        steps = (optimizer.scale_kernel, optimizer.step_kernel)
        move = optimizer.move_and_score_kernel(self.space.dim_, state.by_feature, state.summed)
        return move, self.loss.kernel, *steps

    def _new_loop(self) -> tuple[Kernel, int]:
        return epoch_for(self._kernels())

    def _new_loop_ahead(self) -> Kernel:
        """The loop that scores every row before it learns it."""
        return ahead_for(self._kernels())[0]

    def _block_size(self, rows: Rows) -> int:
        """Rows to learn at a time; the state is stored for them."""
        self.state.store_for(self.scale.makes_sparse(rows))
        return self.scale.block_size(self._loop()[1], rows)

    #: Whether `learn_alone` works.
    learns_alone = True

    def learn_alone(self, X: Floats, norms: tuple[float, float], V: Floats, weight: Floats) -> int:
        """Learn one row X (1, p) with the vertex V (1, dim).

        0 where it stops the model, `REFUSED` where its norm is not in range, else −1.
        """
        rows = Rows.from_array(X)
        if rows.first_bad(self.intercept, *norms) >= 0:
            return REFUSED
        self.state.store_for(self.scale.makes_sparse(rows))
        return self._learn(rows, FIRST, V, weight, V[:0], NOTHING)

    def _learn(
        self, rows: Rows, block: Ints, V: Floats, weight: Floats, theta: Floats, record: int
    ) -> int:
        """Transform, learn and count a block; the place of the row that stopped it, or −1."""
        ahead = record in (LAST, AVERAGE)
        ready, places, count, undo, before = self.scale.counted(rows, block, weight, ahead)
        loop = self._new_loop_ahead() if ahead else self._loop()[0]
        given, more = (ready, places, V, weight), (before, record == AVERAGE) if ahead else ()
        rest = (self.params, self.work, theta, *more)
        stopped = self._learn_at_once(
            lambda state: [loop(*given, state, *rest), count, *self._besides(state, V, weight)]
        )
        if stopped >= 0:  # the rows before it are counted again, without it
            at_once(undo)
            self.scale.apply(rows, block[:stopped], weight[:stopped])
        return stopped

    def _besides(self, state: Any, V: Floats, weight: Floats) -> Sequence[Call]:
        """What else a block moves."""
        return ()

    def weights(self, averaged: bool) -> Floats:
        """W of rows as they are given; see `Model`."""
        return self.scale.fold(self._stored_weights(self.state.parts, averaged))

    def _stored_weights(self, parts: tuple[Floats, Floats], averaged: bool) -> Floats:
        """W of rows as standardised, from Θ and the sums behind it."""
        state, dim = self.state, self.space.dim_
        if averaged:
            return self.optimizer.average_weights(*parts, state.vector, dim)
        return self.optimizer.weights(parts[0], state.vector, dim)

    def scores(self, batch: Batch, averaged: bool) -> Floats:
        """``XWᵀ``, (n, dim); of wide rows from the columns that have entries."""
        rows = self.scale.completed(batch.rows)
        if not self._is_wide(rows):
            return linear_scores(self.weights(averaged), rows.matrix)
        columns, X = rows.columns()
        return linear_scores(self._weights_of(columns, averaged), X)

    def _is_wide(self, rows: Rows) -> bool:
        """Whether few of the columns have entries in these rows."""
        by_feature = getattr(self.state, "by_feature", False)
        return rows.is_sparse and by_feature and 2 * len(rows.indices) < rows.width

    def _weights_of(self, columns: Array, averaged: bool) -> Floats:
        """`weights` of some columns, and of the intercept."""
        places = np.append(columns, self.width) if self.intercept else columns
        W = self._stored_weights(self.state.parts_of(places), averaged)
        return self.scale.fold(W, columns)

    def comparison(self, batch: Batch, weight: Floats) -> Comparison:
        """What a comparator is measured by: over the rows as they were standardised."""
        rows = batch.rows
        if self.scale.used:
            rows = self.scale.anew().apply(rows, weight=weight)[0]
        return Comparison(self.loss, rows.matrix, self.space.unpack(batch.packed), self.intercept)
