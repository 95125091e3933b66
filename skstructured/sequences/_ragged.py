"""Learning in rounds of several rows each, sequences or items: the loss and the model."""

import math
from abc import abstractmethod
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from skstructured._base.component import parameters
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.ragged import Ragged, row_blocks
from skstructured._engine.rounds import NO_FLOATS
from skstructured._engine.rows import Rows
from skstructured._engine.standardize import Counted
from skstructured._engine.state import LinearState, MixtureKind, RoundSummary, at_once
from skstructured._learners.models import BlockResult, LinearModel, Record
from skstructured.extend._types import Floats, Ints, Loss
from skstructured.extend.learner import Batch, Comparison
from skstructured.losses.fenchel_young import FenchelYoung, LossConstants
from skstructured.optimizers import GradientDescent


@parameters
class RoundLoss(FenchelYoung):
    """A Fenchel–Young loss of rounds that have a number of rows each, with one scale for all.

    The scale c of the theory is the largest that any of the `sizes`, the rows of the rounds, needs,
    so the surrogate gap is at least 1 − ln 2 in every round. `stretch` is the factor from the
    largest norm² that the optimizer has seen to the largest C²/λ.
    """

    #: Optimizers are told bounds on gradients.
    lipschitz = 1.0
    #: What 2c times C²/λ is to be multiplied by.
    smoothness_factor = 1.0
    #: Means of rounds are compiled.
    calls_python = False

    space: Any = "simplex"
    regularizer: Any = None
    scale: Any = "theory"
    constants: str = "paper"
    sizes: tuple[int, ...] = ()
    stretch: float = 1.0

    @abstractmethod
    def _needed(self, size: int) -> tuple[float, ...]:
        """4γ/(λν), the c without a surrogate gap, D, γ, −λ and −ν of rounds of one size."""

    def _extremes(self) -> Floats:
        """`_needed` (., 5) of each size."""
        self._check_constants()
        return np.array([self._needed(size) for size in self.sizes or (1,)])

    def over_sizes(self, sizes: ArrayLike, stretch: float = 1.0) -> Any:
        """The loss for rounds of these sizes; it keeps those that its constants need."""
        params, every = (self.space, self.regularizer, self.scale, self.constants), np.unique(sizes)
        new = type(self)(*params, tuple(every.tolist()), stretch)
        if len(every):
            new.sizes = tuple(np.unique(every[new._extremes().argmax(axis=0)]).tolist())
        return new

    def constants_of(self, dim: int | None = None) -> LossConstants:
        """The `LossConstants` for the sizes there are, b in units of C²/λ."""
        needed, diameter, gamma, lam, nu = map(float, self._extremes().max(axis=0))
        # With one output alone nothing is needed.
        c = self._check_scale(needed / math.log(2) if needed > 0.0 else 1.0)
        # The gap of the theory is the same for all sizes, of rounds to come too.
        a = 1.0 - (math.log(2) if isinstance(self.scale, str) else needed / c)
        smooth = 2.0 * c * self.stretch * self.smoothness_factor
        return LossConstants(a, c, 1.0, -lam, -nu, diameter, gamma, smooth, self.norm)


class RoundKind:
    """The rounds of a `RoundModel`: how they are read, and how the loop uses them.

    A subclass defines ``new_scale(learner)``; the loop's ``constants(model)`` and
    ``kernels(loss)``, to compute the loss, to prepare and to gather; ``numbers(model, record)`` of
    scratch per row; the outputs ``played(loss, truth, results)``; ``weights(model, W)`` in units of
    X, and ``scores(model, batch, weights)``.
    """

    #: The user's words for the rounds, plural and singular.
    names: tuple[str, str]
    #: What projections may leave, a gap or a violation of constraints, for certificates to be
    #: stated.
    left_at_most = 1e-8
    #: Optimizers that see the bound C²/λ of a round, and not that of its gradient.
    by_ratio: tuple[type, ...] = (GradientDescent,)

    def rows_behind(self, k: int) -> int:
        """Rows of Θ behind those of features and the intercept, for k scores of a row."""
        return 0

    def rows(self, rows: Rows, places: Ints) -> tuple[Rows, Ints]:
        """Rows that the scale reads, and the places of those of some rounds."""
        return rows, places

    def counted(
        self, scale: Any, rows: Rows, places: Ints, weight: Floats, offsets: Ints
    ) -> Counted:
        """Rows of rounds of weights (n,), transformed for learning."""
        return scale.counted(rows, places, np.repeat(weight, np.diff(offsets)))

    @abstractmethod
    def terms(self, loss: Any, truth: Ragged, by_ratio: bool) -> tuple[Floats, Floats, Ints]:
        """Ω of the truths or nothing, terms (n, 3) and lengths (n,) of the loss's scratch.

        The first two terms are what `prepare` reads of rounds. The third is how the norm of
        gradients, or C²/λ if `by_ratio`, can grow with the length of a round.
        """

    def prepare(self, scale: Any, learner: Any, batch: Batch) -> None:
        """Prepare the scale for all rows of `fit`."""

    def results(self, truth: Ragged, record: int) -> tuple[Floats, ...]:
        """Scores, gradients and losses that the loop writes."""
        return np.empty(len(truth.values) * (record > Record.NOTHING)), NO_FLOATS, NO_FLOATS


class RoundModel(LinearModel):
    """A linear model of rounds of several rows, with k scores of each row."""

    loss: Any
    learns_alone = False
    _mixed = True  # type: ignore[assignment]
    play_alone: Any = None
    scores_ahead = False  # type: ignore[assignment]

    def __init__(self, learner: Any, rounds: Any) -> None:
        self.rounds = rounds
        super().__init__(learner)

    def _set_up(self, learner: Any, vectors: Floats) -> None:
        optimizer, what, dim = self.optimizer, self.rounds.names[0], self.space.dim_
        if optimizer.blocks != (1, 0):
            raise ValueError(
                f"optimizer={optimizer!r} is not supported for {what}. Use 'auto', 'mixture', "
                "'parameter_free', 'ogd' or 'adaptive'."
            )
        experts = self._experts()
        if optimizer.mixes and any(isinstance(expert, GradientDescent) for expert in experts):
            raise ValueError(
                f'others must not contain "ogd" for {what}, because its step sizes differ.'
            )
        self.intercept = learner.fit_intercept_
        self.averaged = bool(learner.average and optimizer.averages)
        self.scale = self.rounds.new_scale(learner)
        self.width = self.scale.columns
        self.params, self.options = self.rounds.constants(self)
        width = self.width + self.intercept + self.rounds.rows_behind(dim)
        kind = MixtureKind.SCORES if optimizer.mixes else MixtureKind.ALONE
        arguments = (vectors, (1, 0), self.averaged, kind, optimizer.rates())
        self.state = LinearState(dim, width, *arguments)
        self.state.by_feature = True
        self.state.slot = np.full(width, -1, dtype=np.int64)
        self.state.which[:] = [isinstance(expert, self.rounds.by_ratio) for expert in experts]
        # As if four rounds of lengths about 8, up to a factor of 2, had been met.
        prior = 4.0, math.log(8), 4.0 * math.log(2.0) ** 2
        self.state.numbers[RoundSummary.MET : RoundSummary.REACH] = prior
        self.loss = self.loss.over_sizes(())  # those of rounds of weight 0 do not count

    def _kernels(self) -> Any:
        return None, *self.rounds.kernels(self.loss)

    def prepare(self, learner: Any, batch: Batch) -> None:
        self.rounds.prepare(self.scale, learner, batch)

    def blocks(self, batch: Batch, order: Ints, record: int) -> list[Ints]:
        """Blocks of about 4096 rows; fewer if their scratch is large."""
        size = min(4096, (1 << 21) // max(self.rounds.numbers(self, record), 1) + 1)
        offsets = np.append(0, np.cumsum(batch.packed.lengths[order]))
        return [order[block] for block in row_blocks(offsets, size)]

    def check(self, learner: Any, batch: Batch, stream: bool) -> None:
        """Keep the lengths of rounds that the loss needs."""
        sizes = np.array(self.loss.sizes, dtype=np.int64)
        counted = batch.packed.lengths[cast(Floats, batch.weight) > 0.0]
        if learner.loss_ is not self.loss or not np.isin(counted, sizes).all():
            self.loss = learner.loss_ = self.loss.over_sizes(np.append(counted, sizes))

    def truths(self, packed: Any) -> Any:
        """The same, `Ragged`."""
        return packed

    def learn(self, batch: Batch, block: Ints, weight: Floats, record: int) -> BlockResult:
        """See `Model`; scores are those that were played."""
        kind, scale, places = self.rounds, self.scale, batch.packed.places(block)
        truth = Ragged.from_lengths(batch.packed.values[places], batch.packed.lengths[block])
        earlier = self.state.heaviest
        self.state.heaviest = max(earlier, float(weight.max(initial=0.0)))
        self.state.store_for(True)
        rows, places = kind.rows(batch.rows, places)
        counted = kind.counted(scale, rows, places, weight, truth.offsets)
        firsts = np.asarray(counted.places[truth.offsets[:-1]], dtype=np.int64)
        values = np.asarray(truth.values, dtype=np.float64)
        terms = kind.terms(self.loss, truth, isinstance(self.optimizer, GradientDescent))
        rounds = (firsts, truth.lengths, values, weight, *terms)
        results, work = kind.results(truth, record), np.zeros((1, int(terms[-1].max())))
        arguments = ((self.params, self.options), (work, *results))
        kernels = self._bound()
        stopped = self._learn_at_once(
            kernels,
            lambda state: [
                kernels.call_of(counted.rows, rounds, state, *arguments),
                counted.commit,
            ],
        )
        if stopped >= 0:  # the rounds before it are counted again, without it
            self.state.heaviest = max(earlier, float(weight[:stopped].max(initial=0.0)))
            at_once(counted.undo)
            learned_places, offsets = places[: truth.offsets[stopped]], truth.offsets[: stopped + 1]
            at_once(kind.counted(scale, rows, learned_places, weight[:stopped], offsets).commit)
        if record == Record.NOTHING:
            return BlockResult(stopped, None, truth)
        return BlockResult(stopped, *kind.played(self.loss, truth, results))

    def refuse(self, learner: Any, batch: Batch, place: int) -> None:
        """Raise the ValueError for the round that stopped learning."""
        raise ValueError(
            f"The scores of {self.rounds.names[1]} {place} of X are not finite numbers. Rescale "
            "the features, set standardize=True or reduce the step size."
        )

    def weights(self, averaged: bool) -> Floats:
        """All weights (k, width), in units of X; of a mixture the mean of its experts'."""
        averaged = averaged and self.averaged
        W = self._mean(self._stored_matrices(self.state.parts(), averaged), averaged)
        return self.rounds.weights(self, W)

    def scores(self, batch: Batch, averaged: bool) -> Any:
        """Scores of the rows of every round."""
        return self.rounds.scores(self, batch, self.weights(averaged))

    def comparison(self, batch: Batch, weight: Floats) -> Comparison:
        """Raise a GuaranteeError: no comparator can be found by search."""
        raise GuaranteeError(
            f"No comparator can be computed for {self.rounds.names[0]}: use "
            "certificate().bound(loss, norm) with the surrogate loss and the norm of all weights "
            "of one."
        )

    def _inexactness(self) -> list[str]:
        """What is wrong if projections were not found."""
        left = self.state.numbers[RoundSummary.LEFT]
        message = f"A projection is off by {left:.2g}: its rounds had another gradient."
        return [message] if left > self.rounds.left_at_most else []

    def diagnostics(self) -> list[str]:
        """Also projections that were not found."""
        return super().diagnostics() + self._inexactness()

    def certified_loss(self) -> Loss:
        """The loss for all sizes of rounds, with b by C²/λ of each.

        A GuaranteeError if the step is a number and the loss scale is not: the step's unit is then
        that of the first rounds.
        """
        numbers, optimizer = self.state.numbers, self.optimizer
        for message in self._inexactness():
            raise GuaranteeError(message)
        by_ratio = isinstance(optimizer, GradientDescent)
        if by_ratio and not isinstance(optimizer.eta, str) and isinstance(self.loss.scale, str):
            raise GuaranteeError(
                "If eta is a number, the loss scale must be a number too: give "
                "FenchelYoung(scale=...)."
            )
        largest = numbers[RoundSummary.LARGEST_SQ]
        ratio = numbers[RoundSummary.LARGEST_RATIO]
        stretch = ratio / largest if largest > 0.0 and not by_ratio else 1.0
        return self.loss.over_sizes(self.loss.sizes, stretch)

    def _theorem(self, delta: float | None) -> Any:
        """See `Model`; with the weight that unusually long rounds were not learned with."""
        theorem = super()._theorem(delta)
        theorem.constants["left_out"] = float(self.state.numbers[RoundSummary.LEFT_OUT])
        return theorem
