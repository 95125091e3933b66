"""What a linear learner of items learns: one weight for each of their features."""

from typing import Any

import numpy as np

from skstructured._base.ragged import Ragged
from skstructured._base.validation import check_integer
from skstructured._engine.rows import Rows
from skstructured._engine.standardize import Counted
from skstructured._engine.state import DIM, FRESH, INNER, ROOM
from skstructured._learners.batch_scaling import scale_of
from skstructured.estimators.kernel._features import SEEN, MappedScale, fourier_map
from skstructured.estimators.kernel._values import counted_rows, width_of
from skstructured.extend._types import Floats, Ints
from skstructured.extend.learner import Batch
from skstructured.items._rounds import (
    CENTRED,
    INTERCEPT,
    SCRATCH,
    gather_items,
    less_first,
    prepare_items,
)
from skstructured.losses.oracles import RESIDUAL_TOL
from skstructured.optimizers import GradientDescent
from skstructured.optimizers.step_mixture import RelativeStep
from skstructured.sequences._ragged import RoundKind


class MappedRounds(MappedScale):
    """`MappedScale` of items: rows of one round are standardized in the same way."""

    inner: Any

    @property
    def centred(self) -> bool:
        """Weights are those of transformed rows, and have no intercept folded in."""
        return False

    def set_width(self, batch: Batch) -> None:
        """Take the width of the kernel from some of the rows."""
        weight = np.repeat(batch.weights, batch.X.lengths)
        chosen = counted_rows(weight, SEEN)
        some, scale, weight = batch.rows.taken(chosen), self.inner.reset_copy(), weight[chosen]
        scale.offsets = np.array([0, len(chosen)])
        scale.apply(some, weight=weight)
        Z = scale.transformed_matrix(some)
        Z = (Z.toarray() if hasattr(Z, "toarray") else Z)[:, : self.mapped]
        self.features.set_width(width_of("multiscale", "rbf", self.mapped, Z, weight)[0])


def mapped_rounds(scale: Any, learner: Any) -> MappedRounds:
    """A scale of rounds, and random features of the Gaussian kernel, of three widths, behind it."""
    check_integer("n_components", learner.n_components)
    return MappedRounds(scale, fourier_map(learner, "multiscale", learner.n_components))


class ItemRounds(RoundKind):
    """Rounds of items: Θ has rows of features and the intercept, with one weight each."""

    names = "items", "round"
    left_at_most = RESIDUAL_TOL
    by_ratio = (GradientDescent, RelativeStep)

    def __init__(self, learner: Any) -> None:
        self.steps, self.centred = learner._steps, learner.space_.constant_sum

    def new_scale(self, learner: Any) -> Any:
        """See `RoundKind`."""
        centred = learner._intercept or self.centred
        columns = learner.n_features_in_ if self.steps is None else len(self.steps)
        scale = scale_of(learner, columns, centred)
        return mapped_rounds(scale, learner) if getattr(learner, "kernel", None) == "rbf" else scale

    def constants(self, model: Any) -> tuple[Floats, Ints]:
        """See `RoundKind`."""
        _, regularizer, oracle = model.loss._terms()
        options = np.zeros(CENTRED + 1, np.int64)
        options[[DIM, INNER, FRESH]] = 1, 1, oracle.iterative
        options[ROOM], options[INTERCEPT] = SCRATCH + model.width, model.intercept
        options[CENTRED] = self.centred
        return regularizer.kernel_params(), options

    def kernels(self, loss: Any) -> Any:
        """See `RoundKind`."""
        return loss.kernel, prepare_items, gather_items

    def prepare(self, scale: Any, learner: Any, batch: Batch) -> None:
        """Choose the width of the kernel by the rows."""
        if isinstance(scale, MappedRounds):
            scale.set_width(batch)

    def numbers(self, model: Any, record: int) -> int:
        """See `RoundKind`."""
        return 0 if self.steps is None else model.width

    def rows(self, batch: Batch, block: Ints) -> tuple[Rows, Ints]:
        """See `RoundKind`."""
        rows, places = super().rows(batch, block)
        return (rows, places) if self.steps is None else self.steps.rows(rows, places)

    def counted(
        self, scale: Any, rows: Rows, places: Ints, weight: Floats, offsets: Ints
    ) -> Counted:
        """See `RoundKind`."""
        getattr(scale, "inner", scale).offsets = offsets
        found = super().counted(scale, rows, places, weight, offsets)
        ready = found.rows
        if not self.centred or ready.is_sparse:
            return found
        out = np.empty((len(places), ready.width))
        less_first(ready.data, ready.width, found.places, offsets, out)
        return found._replace(rows=Rows.from_array(out), places=np.arange(len(places)))

    def terms(self, loss: Any, truth: Ragged) -> tuple[Floats, Floats, Ints]:
        """See `RoundKind`."""
        lengths = truth.lengths
        terms = np.column_stack(loss.geometries(lengths))
        return loss.omegas(truth), terms, loss.work_sizes(lengths)

    def reach(self, loss: Any, lengths: Ints, by_ratio: bool) -> Floats:
        """See `RoundKind`: √M D, or M/λ."""
        spread, flat = loss.geometries(lengths)
        return lengths * flat if by_ratio else np.sqrt(lengths * spread)

    def scratch(self, loss: Any, truth: Ragged) -> int:
        """See `RoundKind`."""
        return int(loss.work_sizes(truth.lengths).max())

    def played(self, loss: Any, truth: Ragged, results: tuple[Floats, ...]) -> tuple[Any, ...]:
        """See `RoundKind`."""
        return Ragged(results[0], truth.offsets), truth

    def weights(self, model: Any, W: Floats) -> Floats:
        """See `RoundKind`."""
        if model.intercept or not model.scale.centred:
            return model.scale.fold(W)
        return model.scale.fold(np.hstack([W, [[0.0]]]))[:, :-1]

    def scores(self, model: Any, batch: Batch, W: Floats) -> Any:
        """``XW``, of the items of every round."""
        rows, w, width = batch.rows, W[0], model.width
        parts = [rows] if self.steps is None else self.steps.blocks(rows)
        theta = np.concatenate(
            [np.asarray(model.scale.imputed(part).matrix @ w[:width]) for part in parts]
        )
        offsets: Any = batch.offsets
        return Ragged(theta + w[width] if model.intercept else theta, offsets)
