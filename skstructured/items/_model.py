"""What a linear learner of items learns: one weight for each of their features."""

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from skstructured._base.exceptions import GuaranteeError
from skstructured._base.ragged import Ragged, stack_rows
from skstructured._engine.mixing import THINNING
from skstructured._engine.rows import Rows
from skstructured._engine.state import DECAYS, SCALED_WEIGHT_SUM, WEIGHT_SUM, at_once
from skstructured._learners.expert_weights import ExpertWeights
from skstructured._learners.models import SCORES, Model, Played
from skstructured._learners.scaling import scale_of
from skstructured.extend._types import Floats, Ints, Loss
from skstructured.extend.learner import Batch, Comparison
from skstructured.items._epoch import (
    CENTRED,
    INTERCEPT,
    ITERATIVE,
    LARGEST_RATIO,
    LARGEST_SQ,
    LEFT,
    MIXED,
    item_epoch_for,
)
from skstructured.items._mapped import MappedRounds, mapped_rounds
from skstructured.items._scale import RoundScale
from skstructured.items._state import ItemState
from skstructured.losses.oracles import RESIDUAL_TOL
from skstructured.optimizers import GradientDescent, StepMixture
from skstructured.optimizers._mixed_steps import RelativeStep
from skstructured.sequences._model import blocks_of

INEXACT = "A projection is off by {:.2g}: its rounds had another gradient."


class ItemModel(Model):
    """Weights (1, p + intercept) that one optimiser moves."""

    def _set_up(self, learner: Any, vector: Floats) -> None:
        if self.optimizer.blocks != (1, 0):
            raise ValueError(
                f"optimizer={self.optimizer!r} keeps more than the weights of a feature: items "
                "have no loop for it."
            )
        self._begin(learner, vector[None], np.array([THINNING]), False)

    def _begin(self, learner: Any, vectors: Floats, rates: Floats, mixed: bool) -> None:
        self.intercept = learner._intercept
        centred = self.intercept or self.space.constant_sum
        self.steps = learner._steps
        columns = learner.n_features_in_ if self.steps is None else len(self.steps)
        self.scale: Any = scale_of(learner, columns, centred, kind=RoundScale)
        if getattr(learner, "kernel", None) == "rbf":
            self.scale = mapped_rounds(self.scale, learner)
        self.width = self.scale.columns
        width = self.width + self.intercept
        self.state = ItemState(width, vectors, rates, self.averaged, mixed)
        self.options = np.zeros(4, dtype=np.int64)
        self.options[INTERCEPT], self.options[MIXED] = self.intercept, mixed
        self.options[CENTRED] = self.space.constant_sum
        self.options[ITERATIVE] = self.loss._terms()[2].iterative
        self.params = self.loss._terms()[1].kernel_params()

    def _experts(self) -> list[Any]:
        """What moves."""
        return [self.optimizer]

    def noting(self, batch: Batch) -> "ItemModel":
        """The model whose loss is for rounds of all sizes so far."""
        noted = copy.copy(self)
        noted.loss = self.loss.over_sizes(np.append(batch.X.lengths, self.loss.sizes))
        return noted

    def prepare(self, learner: Any, batch: Batch) -> None:
        """See `Model`: the width of a kernel goes by the rows."""
        if isinstance(self.scale, MappedRounds):
            self.scale.set_width(batch)

    def check(self, learner: Any, batch: Batch, stream: bool) -> None:
        """Rows that are not standardised are looked at here: no loop sees their norms."""
        if not learner.standardize:
            learner._check_rows(batch)

    def truths(self, packed: Any) -> Any:
        """Points of the polytopes, `Ragged`."""
        return packed

    def blocks(self, batch: Batch, order: Ints, record: int) -> Sequence[Ints]:
        """Blocks of some thousand items."""
        columns = math.ceil(math.sqrt(self.width))
        return blocks_of(order, batch.X.lengths, columns, self.steps is not None)

    def learn(self, batch: Batch, block: Ints, weight: Floats, record: int) -> Played:
        """See `Model`; scores are those that were played."""
        truth = batch.packed[block]
        rows, places, lengths = batch.rows, batch.X.places(block), truth.lengths
        if self.steps is not None:
            rows, places = self.steps.rows(rows, places)
        each = np.repeat(weight, lengths)
        counted = self.scale.counted_rounds(rows, places, each, truth.offsets)
        ready, at = counted.rows, counted.places
        firsts = np.asarray(at[truth.offsets[:-1]], dtype=np.int64)
        scores, losses = np.empty(len(places)), np.empty(len(block))
        given = (firsts, lengths, np.asarray(truth.values, dtype=np.float64), weight)
        given = (*ready.arrays, *given, *self._of_sizes(truth))
        loop, most = item_epoch_for(self.loss.kernel, self._experts()), lengths.max()
        stopped = self._learn_at_once(
            lambda state: [
                loop(*given, *self._moved(state, most), scores, losses),
                counted.commit,
            ]
        )
        if stopped >= 0:  # the rounds before it are counted again, without it
            at_once(counted.undo)
            weight, places = weight[:stopped], places[: truth.offsets[stopped]]
            each = np.repeat(weight, lengths[:stopped])
            again = truth.offsets[: stopped + 1]
            at_once(self.scale.counted_rounds(rows, places, each, again).commit)
        return Played(stopped, Ragged(scores, truth.offsets), truth)

    def _of_sizes(self, truth: Ragged) -> tuple[Any, ...]:
        """What the loop has to know of rounds by how many items they have."""
        lengths = truth.lengths
        return (
            *self.loss.geometries(lengths),
            self.loss.omegas(truth),
            self.loss.work_sizes(lengths),
        )

    def _moved(self, state: ItemState, most: int) -> tuple[Any, ...]:
        """What the loop moves."""
        mixed = (state.shares, state.rates, state.totals, state.sums)
        work = np.zeros(int(self.loss.work_sizes(np.array([most]))[0]))
        numbers = (self.options, state.numbers, state.slot, self.params, work)
        return (state.Theta, state.summed, state.vectors, self._by_ratio(), *mixed, *numbers)

    def _by_ratio(self) -> Ints:
        """Whether each expert is told ``λ_max(XXᵀ)/λ``."""
        kinds = (GradientDescent, RelativeStep)
        return np.array([isinstance(e, kinds) for e in self._experts()], dtype=np.int64)

    def refuse(self, learner: Any, batch: Batch, place: int) -> None:
        """Raise the ValueError for the round that stopped learning."""
        raise ValueError(
            f"round {place} of X has scores that are not finite numbers: a parameter (a step, a "
            "scale) does not fit features of this size."
        )

    def upcoming(self, x: Any, V: Any, weight: Floats) -> tuple[Any, int]:
        """Scores of the next play at one round, a list of one matrix, or `Ragged`."""
        x = stack_rows(x)
        truth = Ragged(np.zeros(len(x.values)), x.offsets)
        batch = Batch(Rows.from_array(np.ascontiguousarray(x.values)), truth, None, x.offsets)
        twin = self.noting(batch).copy()
        return twin.learn(batch, np.arange(1), weight, SCORES).theta, -1

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

    def _stored_weights(self, averaged: bool) -> Floats:
        """`weights`, for rows as standardised."""
        matrices = self._stored_matrices()
        return matrices[-1:] if averaged and self.averaged else matrices[:1]

    def _stored_matrices(self) -> Floats:
        """Weights (., p + intercept) of the experts, and of their averages."""
        state, found = self.state, []
        few = len(state.vectors)
        for e, (expert, vector) in enumerate(zip(self._experts(), state.vectors, strict=True)):
            found.append(expert.weights(state.Theta[:, e][None], vector, 1)[0])
        for e, vector in enumerate(state.vectors if state.summed else ()):
            whole = vector[SCALED_WEIGHT_SUM] * state.Theta[:, e] + state.Theta[:, few + e]
            found.append(whole / max(vector[WEIGHT_SUM], 1e-300))
        return np.array(found)

    def scores(self, batch: Batch, averaged: bool) -> Ragged:
        """``XW``, of the items of every round."""
        W, rows = self.weights(averaged)[0], batch.rows
        parts = [rows] if self.steps is None else self.steps.blocks(rows)
        theta = np.concatenate(
            [np.asarray(self.scale.completed(part).matrix @ W[: self.width]) for part in parts]
        )
        offsets: Any = batch.offsets
        return Ragged(theta + W[self.width] if self.intercept else theta, offsets)

    def comparison(self, batch: Batch, weight: Floats) -> Comparison:
        """No comparator can be found by search: a GuaranteeError says what to use."""
        raise GuaranteeError(
            "Comparators over items are not searched for: use certificate().bound(loss, norm) with "
            "the surrogate loss and the norm of the weights of one."
        )

    def _troubles(self) -> list[str]:
        return super().trouble()

    def trouble(self) -> list[str]:
        """Also projections that were not found."""
        left = self.state.numbers[LEFT]
        return self._troubles() + ([INEXACT.format(left)] if left > RESIDUAL_TOL else [])

    def certified_loss(self) -> Loss:
        """The loss for all numbers of items, with b by ``λ_max(XXᵀ)/λ`` of each round.

        A GuaranteeError if the step is a number and the loss scale is not: the step's unit is then
        the scale of the first round.
        """
        numbers, optimizer = self.state.numbers, self.optimizer
        if numbers[LEFT] > RESIDUAL_TOL:
            raise GuaranteeError(INEXACT.format(numbers[LEFT]))
        by_hand = isinstance(optimizer, GradientDescent) and not isinstance(optimizer.eta, str)
        if by_hand and isinstance(self.loss.scale, str):
            raise GuaranteeError(
                "With eta as a number the scale must be one too: give loss_scale a number."
            )
        told = numbers[LARGEST_SQ]
        stretch = numbers[LARGEST_RATIO] / told if told > 0.0 else 1.0
        by_ratio = isinstance(optimizer, GradientDescent)
        return self.loss.over_sizes(self.loss.sizes, 1.0 if by_ratio else stretch)


class ItemMixture(ExpertWeights, ItemModel):
    """Weights of several experts over the same rounds; scores are mixed."""

    def __init__(self, learner: Any) -> None:
        self.space, self.loss, self.optimizer = learner.space_, learner.loss_, learner.optimizer_
        if any(isinstance(expert, GradientDescent) for expert in self.optimizer.experts()):
            raise ValueError('others must not have "ogd" over items, whose steps are its own.')
        vectors = self.optimizer.init(self.loss)
        vectors[:, DECAYS] = float(learner._average_decays())
        self.averaged = bool(learner.average and self.optimizer.averages)
        self._begin(learner, vectors, self.optimizer.rates(), True)

    def _experts(self) -> list[Any]:
        """The optimisers that are mixed."""
        return self.optimizer.experts()

    def _stored_weights(self, averaged: bool) -> Floats:
        """The mean (1, p + intercept) of the experts' weights, for rows as standardised."""
        v = self.shares(averaged)[0].sum(axis=0)
        return v[None] @ self._stored_matrices()

    def certificate(self, delta: float | None) -> Any:
        """See `Model`."""
        return self.optimizer.certificate(self.certified_loss(), self.state, delta)


def item_model(learner: Any) -> ItemModel:
    """The model of a learner of items."""
    return (ItemMixture if isinstance(learner.optimizer_, StepMixture) else ItemModel)(learner)
