"""Models behind the learners: weights that an optimiser moves, one row per round."""

import copy
import functools
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from skstructured._base.foreign import check_state, check_vertices, is_ours
from skstructured._base.validation import dtype_of, refuse_row
from skstructured._engine.epoch import epoch_for
from skstructured._engine.rows import DOUBLE, LONGEST, SHORTEST, SINGLE, SINGLE_NORMS, Rows
from skstructured._engine.state import Learned, LinearState
from skstructured._learners.scaling import scale_of
from skstructured._learners.weights import linear_scores
from skstructured.extend.learner import Comparison

#: What a block tells of its rounds: nothing, their losses, or the scores they were played with.
NOTHING, LOSSES, SCORES = range(3)


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
    theta: object
    truth: object
    losses: object = None
    decoder: object = None

    @property
    def learned(self):
        """The places of the rounds that were learned."""
        return slice(self.stopped if self.stopped >= 0 else None)


class Model(Learned, ABC):
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
    state : LinearState or SequenceState
        What kernels move.
    scale : RunningScale
        How rows are standardised.
    """

    def __init__(self, learner):
        self.space, self.loss, self.optimizer = learner.space_, learner.loss_, learner.optimizer_
        self.averaged = bool(learner.average)
        vector = check_state(self.optimizer, self.optimizer.init(self.loss))
        self._set_up(learner, vector)

    @abstractmethod
    def _set_up(self, learner, vector):
        """`state` with zero weights, moved by the optimiser's `vector`, and `scale`."""

    @abstractmethod
    def blocks(self, batch, order, record):
        """Parts of `order`, each to be learned by one call of `learn`."""

    @abstractmethod
    def learn(self, batch, block, weight, record, count):
        """Learn the rounds `block` (m,), of weights (m,), in order; returns what was `Played`.

        ``count(weight)`` is told of rounds as soon as they are learned.
        """

    @abstractmethod
    def upcoming(self, x, V, weight):
        """Scores of the next play at one round x of weight (1,); the place that stops it, or −1.

        V are possible outputs.
        """

    @abstractmethod
    def comparison(self, batch, weight):
        """What a comparator over rounds of weights (n,) is measured by; see `OnlineLearner`."""

    @abstractmethod
    def scores(self, batch, averaged):
        """Scores of checked rows by the last weights, or by the average."""

    @abstractmethod
    def weights(self, averaged):
        """The last weights, or their average, for rows as they are given; float64."""

    def check(self, learner, batch, stream):
        """A ValueError for rounds that the model cannot learn, before any is."""

    def noting(self, batch):
        """The model, told which rounds will come; it shares the arrays."""
        return self

    def prepare(self, learner, batch):
        """Look at all rounds before the passes of `fit`."""

    def settle(self, n_rounds):
        """End the passes of `fit`."""

    def truths(self, packed):
        """Vertices (n, dim) of packed outputs, as the kernels read them."""
        V = self.space.unpack(packed)
        if is_ours(self.space):
            return V
        return check_vertices(self.space, "unpack", V, (len(packed), self.space.dim_))

    def refuse(self, learner, batch, place):
        """Raise the ValueError for the round that stopped learning."""
        refuse_row(learner, batch.X, place)

    def concatenated(self, scores):
        """The scores of several blocks."""
        return np.concatenate(scores)

    def certified_loss(self):
        """The loss that certificates are about."""
        return self.loss

    def trouble(self):
        """Sentences about what went wrong; the loss warns by itself."""
        found = self.optimizer.check(self.state.vector)
        return [] if found is None else [found]

    def stopped_at(self, learner, state, scale):
        """The model of a learner with weights that do not move any more, in a `MeanState`."""
        twin = copy.copy(self)
        twin.space, twin.loss, twin.optimizer = learner.space_, learner.loss_, learner.optimizer_
        twin.state, twin.scale = state, scale
        return twin


class VectorModel(Model):
    """A model of rows whose loss has a kernel over vectors of scores."""

    def _take_kernels(self):
        """Parameters of the loss's kernel, and one row of scratch for all rounds."""
        self.params, work = self.loss.kernel_arguments(self.space.dim_)
        self.work = work[None]

    def _loop(self):
        """The loop for the state as it is stored, and how many rows it learns at a time."""
        stored = self.state.by_feature
        if stored not in self._loops:
            self._loops[stored] = self._new_loop()
        return self._loops[stored]

    @abstractmethod
    def _new_loop(self):
        """`_loop`, put together."""

    @functools.cached_property
    def _loops(self):
        return {}

    def __getstate__(self):
        """Without addresses of compiled kernels, which are those of this process."""
        return {name: value for name, value in vars(self).items() if name != "_loops"}

    def trouble(self):
        """Sentences about what went wrong; before that the loss warns of its residual."""
        self.loss.check_residual(self.work[0])
        return super().trouble()

    def blocks(self, batch, order, record):
        """Blocks whose rows stay in cache."""
        size = self._block_size(batch.rows)
        return [order[start : start + size] for start in range(0, len(order), size)]

    def upcoming(self, x, V, weight):
        """Scores (1, dim) of the next play at the row x (1, p); see `Model`."""
        twin, one, rows = self.copy(), np.arange(1), Rows.from_array(x)
        twin._block_size(rows)
        theta = np.empty((1, self.space.dim_))
        stopped = twin._learn(rows, one, np.array(V[:1]), weight, theta, len)
        return theta, stopped

    def learn(self, batch, block, weight, record, count):
        """See `Model`."""
        V = self.truths(batch.packed[block])
        theta = np.empty((len(block) * (record > NOTHING), self.space.dim_))
        return Played(self._learn(batch.rows, block, V, weight, theta, count), theta, V)

    @abstractmethod
    def _learn(self, rows, block, V, weight, theta, count):
        """Learn a block; the place of the row that stopped it, or −1."""


class LinearModel(VectorModel):
    """W of shape (dim, p [+ 1]), the intercept last, in the units of rows as standardised."""

    def _set_up(self, learner, vector):
        optimizer, dim = self.optimizer, self.space.dim_
        self.intercept, self.width = learner._intercept, learner.n_features_in_
        summed = self.averaged and not optimizer.keeps_average
        single = dtype_of(learner) == SINGLE and optimizer.single_precision
        read = SINGLE if single else DOUBLE
        self.scale = scale_of(learner, self.width, self.intercept, read)
        learns_singles = dtype_of(learner) == SINGLE and not self.scale.used
        limits = SINGLE_NORMS if learns_singles else (SHORTEST, LONGEST)
        width = self.width + self.intercept
        self.state = LinearState(dim, width, vector, optimizer.blocks, summed, single, limits)
        self._take_kernels()

    def _new_loop(self):
        state, optimizer = self.state, self.optimizer
        steps = (optimizer.scale_kernel, optimizer.step_kernel)
        move = optimizer.move_and_score_kernel(self.space.dim_, state.by_feature, state.summed)
        return epoch_for((move, self.loss.kernel, *steps), state.is_single)

    def _block_size(self, rows):
        """Rows to learn at a time; the state is stored for them."""
        self.state.store_for(self.scale.makes_sparse(rows))
        return self.scale.block_size(self._loop()[1], rows)

    def _learn(self, rows, block, V, weight, theta, count):
        """Transform, learn and count a block; the place of the row that stopped it, or −1."""
        ready, places, undo = self.scale.apply(rows, block, weight)
        learn = self._loop()[0]
        try:
            stopped = learn(ready, places, V, weight, self.state, self.params, self.work, theta)
        except BaseException:
            undo()
            raise
        if stopped >= 0:  # the rows before it are counted again, without it
            undo()
            weight = weight[:stopped]
            self.scale.apply(rows, block[:stopped], weight)
        count(weight)
        return stopped

    def weights(self, averaged):
        """W of rows as they are given; see `Model`."""
        state, dim = self.state, self.space.dim_
        if averaged:
            W = self.optimizer.average_weights(*state.parts, state.vector, dim)
        else:
            W = self.optimizer.weights(state.parts[0], state.vector, dim)
        return self.scale.fold(W)

    def scores(self, batch, averaged):
        """``XWᵀ``, (n, dim)."""
        return linear_scores(self.weights(averaged), batch.rows.matrix)

    def comparison(self, batch, weight):
        """What a comparator is measured by: over the rows as they were standardised."""
        rows = batch.rows
        if self.scale.used:
            rows = self.scale.anew().apply(rows, weight=weight)[0]
        return Comparison(self.loss, rows.matrix, self.space.unpack(batch.packed), self.intercept)
