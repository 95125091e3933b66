"""What a linear learner of items learns: one weight for each of their features."""

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skstructured._base.exceptions import GuaranteeError
from skstructured._base.ragged import Ragged, stack_rows
from skstructured._base.validation import check_integer
from skstructured._engine.arrays import Array
from skstructured._engine.compiled import kernel
from skstructured._engine.mixing import SCORES as OF_SCORES
from skstructured._engine.mixing import THINNING, fresh_weights
from skstructured._engine.moments import (
    DEVIATION,
    INVERSE,
    SMALLEST,
    exchange,
    standardize_rows,
    transform,
)
from skstructured._engine.rows import SHORTEST, Rows
from skstructured._engine.standardize import Counted, Moments, RunningScale
from skstructured._engine.state import DECAYS, SCALED_WEIGHT_SUM, WEIGHT_SUM, Learned, at_once
from skstructured._learners.batch_scaling import scale_of
from skstructured._learners.models import SCORES, Model, Played
from skstructured._learners.weights import ExpertWeights
from skstructured.estimators.kernel._features import FourierMap
from skstructured.estimators.kernel._features_model import BALANCE, SEEN, MappedScale
from skstructured.estimators.kernel._values import counted_rows, width_of
from skstructured.extend._types import Floats, Ints, Loss
from skstructured.extend.learner import Batch, Comparison
from skstructured.items._rounds import (
    CENTRED,
    INTERCEPT,
    ITERATIVE,
    LARGEST_RATIO,
    LARGEST_SQ,
    LEFT,
    MIXED,
    item_epoch_for,
)
from skstructured.losses.oracles import RESIDUAL_TOL
from skstructured.optimizers import GradientDescent, StepMixture
from skstructured.optimizers.step_mixture import RelativeStep
from skstructured.sequences._model import blocks_of


class ItemState(Learned):
    """Weights of E experts, a row per feature, and how much each of them counts.

    Parameters
    ----------
    width : int
        Features, the intercept included.
    vectors : ndarray of shape (E, length)
        The vectors of the experts' optimisers, one per row, filled up with zeros.
    rates : ndarray of shape (R,)
        Rates of sharing.
    summed : bool
        Whether there are averages: their sums are columns behind.
    mixed : bool
        Whether averages are experts too.
    """

    #: Scores are mixed.
    kind = OF_SCORES

    def __init__(
        self, width: int, vectors: Floats, rates: Floats, summed: bool, mixed: bool
    ) -> None:
        columns = len(vectors) * (2 if summed else 1)
        self.n_experts = columns if mixed else len(vectors)
        self.Theta = np.zeros((width, columns))
        self.vectors, self.rates, self.summed = vectors, rates, summed
        self.shares = fresh_weights(1, len(rates), self.n_experts)
        self.totals, self.sums = np.array([0.0, 1.0, 0.0]), np.zeros(self.n_experts)
        self.numbers, self.slot = np.zeros(3), np.full(width, -1, dtype=np.int64)

    @property
    def vector(self) -> Floats:
        """The vector of the first expert, which counts the rounds as those of all others do."""
        return self.vectors[0]


@kernel
def standardize_rounds(
    data: Array,
    width: int,
    rows: Array,
    offsets: Array,
    weight: Floats,
    statistics: Floats,
    counts: Floats,
    centred: bool,
    divided: bool,
    out: Array,
) -> None:
    """Count the rows of a round, one after the other, and transform them when all are counted."""
    for r in range(offsets.shape[0] - 1):
        start, stop = offsets[r], offsets[r + 1]
        part, none = out[start:stop], out[:0]
        learned = (statistics, counts, centred, divided)
        standardize_rows(data, width, rows[start:stop], weight[start:stop], *learned, part, none)
        for i in range(start, stop):
            if weight[i] > 0.0:
                transform(data[rows[i] * width : (rows[i] + 1) * width], statistics, out[i])


@kernel
def divide_rounds(
    data: Array,
    indices: Array,
    indptr: Array,
    rows: Array,
    offsets: Array,
    weight: Floats,
    statistics: Floats,
    columns: Array,
    out: Array,
    grown: Floats,
) -> int:
    """Divide the entries of a round by the largest of their columns so far, the round included.

    `statistics` and `grown` are as in `scale_entries`; returns how many grew.
    """
    largest, inverse, place, count = statistics[DEVIATION], statistics[INVERSE], 0, 0
    for r in range(offsets.shape[0] - 1):
        for i in range(offsets[r], offsets[r + 1]):
            for t in range(indptr[rows[i]], indptr[rows[i] + 1]):
                j, x = indices[t], abs(np.float64(data[t]))
                if x > largest[j] and weight[i] > 0.0:
                    grown[0, count], grown[1, count] = j, largest[j]
                    count += 1
                    largest[j] = x
                    inverse[j] = 1.0 / x if x > SMALLEST else 0.0
        for i in range(offsets[r], offsets[r + 1]):
            for t in range(indptr[rows[i]], indptr[rows[i] + 1]):
                z = data[t] * inverse[indices[t]]
                columns[place] = indices[t]
                out[place] = z if weight[i] > 0.0 and abs(z) > SHORTEST else 0.0
                place += 1
    exchange(statistics, grown, count, False)
    return count


class RoundScale(RunningScale):
    """`RunningScale` of items: rows of one round are transformed alike."""

    _offsets: Ints

    def counted_rounds(self, rows: Rows, order: Ints, weight: Floats, offsets: Ints) -> Counted:
        """As `counted`, of rounds: round r has the rows ``order[offsets[r]:offsets[r + 1]]``."""
        self._offsets = offsets
        return self.counted(rows, order, weight)

    def apply_rounds(
        self, rows: Rows, order: Ints, weight: Floats, offsets: Ints
    ) -> tuple[Rows, Array]:
        """As `apply`, of rounds."""
        self._offsets = offsets
        return self.apply(rows, order, weight)

    def _standardize(
        self, rows: Rows, order: Ints, weight: Floats, moments: Moments, out: Array, _: Array
    ) -> None:
        given = (rows.data, rows.width, order, self._offsets, weight)
        standardize_rounds(*given, *moments, self.centred, self.divided, out)

    def _divide(self, rows: Rows, order: Ints, weight: Floats, *into: Any) -> int:
        columns, out, _, grown = into
        given = (rows.data, rows.indices, rows.indptr, order, self._offsets, weight)
        return divide_rounds(*given, self.statistics, columns, out, grown)


class MappedRounds(MappedScale):
    """`MappedScale` of items: rows of one round are standardised alike."""

    inner: Any

    @property
    def centred(self) -> bool:
        """Weights are those of rows as they are learned, and have no intercept folded in."""
        return False

    def counted_rounds(self, rows: Rows, order: Ints, weight: Floats, offsets: Ints) -> Counted:
        """See `RoundScale`."""
        found = self.inner.counted_rounds(rows, order, weight, offsets)
        mapped = self._mapped(found.rows.matrix[found.places])
        return found._replace(rows=mapped, places=np.arange(len(found.places)))

    def set_width(self, batch: Batch) -> None:
        """Take the width of the kernel from some of the rows."""
        weight = np.repeat(batch.weights, batch.X.lengths)
        chosen = counted_rows(weight, SEEN)
        some, scale, weight = batch.rows.taken(chosen), self.inner.anew(), weight[chosen]
        scale.apply_rounds(some, np.arange(len(chosen)), weight, np.array([0, len(chosen)]))
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
