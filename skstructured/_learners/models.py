"""Models behind the learners: weights that an optimiser moves, one row per round."""

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from skstructured._base.plugins import check_state, check_vertices, is_ours
from skstructured._base.validation import refuse_row
from skstructured._engine.compiled import is_compiled
from skstructured._engine.mixture import REFUSED
from skstructured._engine.rounds import epoch_for
from skstructured._engine.rows import Rows
from skstructured._engine.standardize import FIRST, RunningScale
from skstructured._engine.state import Call, Learned, LinearState, at_once
from skstructured._learners.batch_scaling import scale_of
from skstructured._learners.lock import Locked
from skstructured._learners.pass_selection import LINEAR, Search, Tried, tried_passes
from skstructured._learners.weights import linear_scores
from skstructured.extend._types import Array, Floats, Ints, Kernel, Loss, Packed
from skstructured.extend.decoder import Decoder
from skstructured.extend.learner import Batch, Comparison
from skstructured.extend.optimizer import OnlineOptimizer

#: Who is told of every block and its weights, if anybody is.
Note: TypeAlias = "Callable[[Played, Floats], object] | None"

#: What a block tells of its rounds: nothing, their losses, the scores they were played with, or the
#: scores that a prediction from before each would have, by the last weights or by the average.
NOTHING, LOSSES, SCORES, LAST, AVERAGE = range(5)


class Played(NamedTuple):
    """Rounds of a block that was learned.

    Attributes
    ----------
    stopped : int
        Place of the round that stopped it, which is not learned; −1 for none.
    theta : {ndarray of shape (n, dim), Chains}
        Scores that the rounds were played with; empty unless they were asked for.
    truth : {ndarray of shape (n, dim), Ragged}
        What the scores are compared with.
    losses : (ndarray, ndarray) or None, default=None
        Surrogate and target losses (n,), from models whose loop knows them without scores.
    decoder : Decoder or None, default=None
        What the rounds were played with, where that is not the learner's as it is.
    """

    stopped: int
    theta: Any
    truth: Any
    losses: tuple[Floats, Floats] | None = None
    decoder: Decoder | None = None

    @property
    def learned(self) -> slice:
        """The places of the rounds that were learned."""
        return slice(self.stopped if self.stopped >= 0 else None)


class Model(Locked, Learned, ABC):
    """What is learned, and how a block of rounds moves it.

    Parameters
    ----------
    learner : OnlineEstimator
        Fitted as far as `space_`, `loss_`, `optimizer_` and its width; it is not kept.

    Attributes
    ----------
    space, loss, optimizer
        The fitted parts of the learner.
    averaged : bool
        Whether an average of the weights is kept.
    state : LinearState or RoundState
        What kernels move.
    scale : RunningScale
        How rows are standardised.
    """

    state: Any  # a LinearState, or one of other subpackages that has the same vector and clock
    scale: RunningScale
    #: How numbers of passes are tried.
    search = LINEAR
    #: What scores of predictions are multiplied by; 1 but for kernels.
    factor = 1.0
    #: Whether `learn` records the scores of predictions, `LAST` and `AVERAGE`.
    scores_ahead = False

    def __init__(self, learner: Any) -> None:
        self.space, self.loss, self.optimizer = learner.space_, learner.loss_, learner.optimizer_
        self.averaged = bool(learner.average)
        if not isinstance(self, getattr(self.optimizer, "model", Model)):
            raise ValueError(
                f"optimizer={self.optimizer!r} is for rows and weights of features: kernels and "
                "sequences have no loop for it."
            )
        vector = check_state(self.optimizer, self.optimizer.init(self.loss))
        self._set_up(learner, vector)

    @abstractmethod
    def _set_up(self, learner: Any, vector: Floats) -> None:
        """`state` with zero weights, moved by the optimiser's `vector`, and `scale`."""

    @abstractmethod
    def blocks(self, batch: Batch, order: Ints, record: int) -> Sequence[Ints]:
        """Parts of `order`, each to be learned by one call of `learn`."""

    @abstractmethod
    def learn(self, batch: Batch, block: Ints, weight: Floats, record: int) -> Played:
        """Learn the rounds `block` (m,), of weights (m,), in order; returns what was `Played`."""

    def _learn_at_once(self, moving: Callable[[Any], list[Call]]) -> int:
        """Learn a block by the calls that move a state; the place that stopped it, or −1.

        The first call is the loop. One in Python, which may be left anywhere, moves a copy.
        """
        state, calls = self.state, moving(self.state)
        if not is_compiled(calls[0][0]):
            state = self.state.copy()
            calls = moving(state)
        return at_once(*calls, (vars(self).update, {"state": state}))[0]

    @abstractmethod
    def upcoming(self, x: Floats, V: Floats, weight: Floats) -> tuple[Any, int]:
        """Scores of the next play at one round x of weight (1,); the place that stops it, or −1.

        V are possible outputs.
        """

    @abstractmethod
    def comparison(self, batch: Batch, weight: Floats) -> Comparison:
        """What a comparator over rounds of weights (n,) is measured by; see `OnlineLearner`."""

    @abstractmethod
    def scores(self, batch: Batch, averaged: bool) -> Any:
        """Scores of checked rows by the last weights, or by the average."""

    @abstractmethod
    def weights(self, averaged: bool) -> Floats:
        """The last weights, or their average, for rows as they are given; float64."""

    def check(self, learner: Any, batch: Batch, stream: bool) -> None:
        """A ValueError for rounds that the model cannot learn, before any is."""

    def noting(self, batch: Batch) -> "Model":
        """The model, told which rounds will come; it shares the arrays."""
        return self

    def prepare(self, learner: Any, batch: Batch) -> None:
        """Look at all rounds before the passes of `fit`."""

    def tried(self, learner: Any, batch: Batch, search: Search) -> Tried | None:
        """What was tried of numbers of passes; None of too few rounds, or plenty."""
        return tried_passes(learner, batch, search)

    def trial(self) -> "Model":
        """A copy, of a model that has learned nothing, for trials on the rounds it prepared for."""
        return self.copy()

    def scores_of(self, batch: Batch, which: Ints, averaged: bool) -> Any:
        """`scores` of some of the rounds that were prepared for."""
        return self.scores(batch.take(which), averaged)

    def settle(self, n_rounds: int) -> None:
        """End the passes of `fit`."""

    def truths(self, packed: Packed) -> Any:
        """Vertices (n, dim) of packed outputs, as the kernels read them."""
        V = self.space.unpack(packed)
        if is_ours(self.space):
            return V
        return check_vertices(self.space, "unpack", V, (len(packed), self.space.dim_))

    def refuse(self, learner: Any, batch: Batch, place: int) -> None:
        """Raise the ValueError for the round that stopped learning."""
        refuse_row(learner, batch.X, place)

    def concatenated(self, scores: Sequence[Any]) -> Any:
        """The scores of several blocks."""
        return np.concatenate(scores)

    def certified_loss(self) -> Loss:
        """The loss that certificates are about."""
        return self.loss

    def certificate(self, delta: float | None) -> Any:
        """The theorem about the rounds learned so far; `delta` as for `OnlineOptimizer`."""
        return self.optimizer.certificate(self.certified_loss(), self.state.vector, delta)

    def trouble(self) -> list[str]:
        """Sentences about what went wrong; the loss warns by itself."""
        found = self.optimizer.check(self.state.vector)
        return [] if found is None else [found]


class VectorModel(Model):
    """A model of rows whose loss has a kernel over vectors of scores."""

    _block_size: Callable[[Rows], int]

    def _take_kernels(self) -> None:
        """Parameters of the loss's kernel, and one row of scratch for all rounds."""
        self.params, work = self.loss.kernel_arguments(self.space.dim_)
        self.work = work[None]

    def _loop(self) -> tuple[Kernel, int]:
        """The loop for the state as it is stored, and how many rows it learns at a time."""
        stored = self.state.by_feature
        if stored not in self._loops:
            self._loops[stored] = self._new_loop()
        return self._loops[stored]

    @abstractmethod
    def _new_loop(self, ahead: bool = False) -> tuple[Kernel, int]:
        """`_loop`, put together, or the one that scores every row before it learns it."""

    @functools.cached_property
    def _loops(self) -> dict[Any, Any]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Without addresses of compiled kernels, which are those of this process."""
        return {name: value for name, value in super().__getstate__().items() if name != "_loops"}

    def trouble(self) -> list[str]:
        """Sentences about what went wrong; before that the loss warns of its residual."""
        self.loss.check_residual(self.work[0])
        return super().trouble()

    def blocks(self, batch: Batch, order: Ints, record: int) -> list[Ints]:
        """Blocks whose rows stay in cache."""
        size = self._block_size(batch.rows)
        return [order[start : start + size] for start in range(0, len(order), size)]

    def upcoming(self, x: Floats, V: Floats, weight: Floats) -> tuple[Floats, int]:
        """Scores (1, dim) of the next play at the row x (1, p); see `Model`."""
        twin, one, rows = self.copy(), np.arange(1), Rows.from_array(x)
        twin._block_size(rows)
        theta = np.empty((1, self.space.dim_))
        stopped = twin._learn(rows, one, np.array(V[:1]), weight, theta, SCORES)
        return theta, stopped

    def learn(self, batch: Batch, block: Ints, weight: Floats, record: int) -> Played:
        """See `Model`."""
        V = self.truths(batch.packed[block])
        theta = np.empty((len(block) * (record > NOTHING), self.space.dim_))
        return Played(self._learn(batch.rows, block, V, weight, theta, record), theta, V)

    @abstractmethod
    def _learn(
        self, rows: Rows, block: Ints, V: Floats, weight: Floats, theta: Floats, record: int
    ) -> int:
        """Learn a block; the place of the row that stopped it, or −1."""


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

    def _new_loop(self, ahead: bool = False) -> tuple[Kernel, int]:
        return epoch_for(self._kernels(), ahead)

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
        loop = (self._new_loop(ahead) if ahead else self._loop())[0]
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
