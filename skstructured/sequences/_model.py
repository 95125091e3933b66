"""What a linear learner of label sequences learns: weights of positions, starts, ends and steps."""

import copy
import itertools

import numpy as np

from skstructured._base.exceptions import GuaranteeError
from skstructured._base.ragged import Ragged, stack_rows
from skstructured._engine.mixing import SCORES as OF_SCORES
from skstructured._engine.mixing import fresh_weights
from skstructured._engine.rows import Rows
from skstructured._engine.state import DECAYS, SCALED_WEIGHT_SUM, WEIGHT_SUM, Learned, at_once
from skstructured._learners.batch_scaling import scale_of
from skstructured._learners.models import SCORES, Model, Played
from skstructured._learners.weights import ExpertWeights
from skstructured.extend.learner import Batch
from skstructured.optimizers import GradientDescent, ParameterFree, StepMixture, resolve_optimizer
from skstructured.sequences._decoding import Chains, SequenceLoss, rule_of
from skstructured.sequences._mixture_epoch import mixture_epoch_for
from skstructured.sequences._rounds import LARGEST_RATIO, LARGEST_SQ, LEFT, epoch_for


class SequenceState(Learned):
    """Θ with a row per feature and a column per label, A like it, and numbers of the optimiser.

    Parameters
    ----------
    width, k : int
        Features of a position, the intercept included, and labels.
    vector : ndarray
        The optimiser's state.
    summed : bool
        Whether there is an A: for averages, or for the weights of optimisers that keep averages by
        themselves.
    blocks : tuple of (int, int), default=(1, 0)
        How many matrices of the shape of the weights, and how many numbers per feature, Θ has.
    """

    def __init__(self, width, k, vector, summed, blocks=(1, 0)):
        features = width + 2 + k
        self.Theta = np.zeros((features, blocks[0] * k + blocks[1]))
        self.A = np.zeros((features if summed else 0, k))
        self.vector = vector
        self.numbers = np.zeros(3)
        self.slot = np.full(features, -1, dtype=np.int64)


#: Positions learned at a time, and numbers that pairs of labels may take meanwhile.
POSITIONS, NUMBERS = 4096, 1 << 21

#: What projections may leave, a gap or a violation of constraints, for certificates to be stated.
LEFT_AT_MOST = 1e-8

#: Wealth of the default optimiser; 100 for single rows.
WEALTH = 10_000.0

#: Steps of a mixture, by a bound on gradients that sequences seldom reach.
STEPS = (16.0, 64.0, 256.0)

INEXACT = "A projection on the label sequences is off by {:.2g}: its rounds had another gradient."


def sequence_optimizer(given):
    """The optimiser of a parameter: "parameter_free" has more wealth than for single rows."""
    if isinstance(given, str) and given == "mixture":
        return StepMixture(STEPS, others=(ParameterFree(WEALTH),))
    is_default = isinstance(given, str) and given == "parameter_free"
    return ParameterFree(WEALTH) if is_default else resolve_optimizer(given)


def blocks_of(order, lengths, k, record):
    """Parts of `order` with some thousand positions each; fewer where pairs are recorded."""
    most = min(POSITIONS, max(1, NUMBERS // k**2)) if record else POSITIONS
    ends = np.cumsum(lengths[order])
    cuts, start = [0], 0
    while cuts[-1] < len(order):
        stop = max(int(np.searchsorted(ends, start + most, side="right")), cuts[-1] + 1)
        cuts.append(stop)
        start = ends[stop - 1]
    return [order[a:b] for a, b in itertools.pairwise(cuts)]


class ChainModel(Model):
    """Weights (k, p + intercept + 2 + k): of features, starts and ends, and of steps."""

    def _set_up(self, learner, vector):
        rule_of(learner._decoder())
        self.intercept = learner._intercept
        self.scale = scale_of(learner, learner.n_features_in_, self.intercept)
        self.width = self.scale.columns
        self.state = self._new_state(self.width + self.intercept, vector)
        by_ratio = isinstance(self.optimizer, GradientDescent)
        flags = (self.intercept, self.loss.projects, by_ratio, self.loss.constants == "sharp")
        self.options, self.lengths = np.array(flags, dtype=np.int64), None

    def _new_state(self, width, vector):
        """The state of an optimiser whose initial vector is given."""
        optimizer = self.optimizer
        if optimizer.blocks != (1, 0):
            raise ValueError(
                f"optimizer={optimizer!r} keeps more than the weights of a feature: sequences "
                "have no loop for it."
            )
        summed = self.averaged or optimizer.keeps_average
        return SequenceState(width, self.space.dim_, vector, summed, optimizer.blocks)

    def check(self, learner, batch, stream):
        """Rows that are not standardised are looked at here: no loop sees their norms."""
        if not learner.standardize:
            learner._check_rows(batch)

    def noting(self, batch):
        """The model whose loss is for sequences from the shortest to the longest so far."""
        return self.noting_lengths(batch.X.lengths)

    def noting_lengths(self, lengths):
        """`noting`, given lengths."""
        low, high = self.lengths or (lengths[0], lengths[0])
        noted = copy.copy(self)
        noted.lengths = int(min(low, lengths.min())), int(max(high, lengths.max()))
        noted.loss = self._loss_of(noted.lengths)
        return noted

    def _loss_of(self, lengths, stretch=1.0):
        old = self.loss
        given = (self.space, old.regularizer, old.scale, old.constants)
        return SequenceLoss(*given, *lengths, stretch)

    def prepare(self, learner, batch):
        """With "auto", features that are all indicators are not divided by their deviations."""
        data = batch.rows.data
        if isinstance(learner.standardize, str) and np.all((data == 0.0) | (data == 1.0)):
            self.scale.divided = False
            self.scale.used = self.scale.centred and not batch.rows.is_sparse

    def truths(self, packed):
        """Positions of the labels, `Ragged`."""
        return packed

    def blocks(self, batch, order, record):
        """Blocks of some thousand positions."""
        return blocks_of(order, batch.X.lengths, self.space.dim_, record == SCORES)

    def learn(self, batch, block, weight, record):
        """See `Model`; losses come from the loop, scores where they are recorded."""
        labels, keeps = batch.packed[block], record == SCORES
        places, lengths = batch.X.places(block), labels.lengths
        counted = self.scale.counted(batch.rows, places, np.repeat(weight, lengths))
        ready, at = counted.rows, counted.places
        k, n = self.space.dim_, keeps * len(block)
        scores, pairs = np.empty((keeps * len(places), k)), np.empty((n, k, k))
        firsts = np.asarray(at[labels.offsets[:-1]], dtype=np.int64)
        given = (firsts, lengths, np.asarray(labels.values, dtype=np.int64), weight)
        losses = np.empty((2, len(block)))
        rest = (self.space.costs_, *losses, scores, pairs)
        stopped = self._learn_at_once(
            lambda state: [
                self._loop()(*ready.arrays, *given, *self._moved(state), *rest),
                counted.commit,
            ]
        )
        if stopped >= 0:  # the sequences before it are counted again, without it
            at_once(counted.undo)
            weight, places = weight[:stopped], places[: labels.offsets[stopped]]
            self.scale.apply(batch.rows, places, np.repeat(weight, lengths[:stopped]))
        theta = Chains(
            scores, labels.offsets, np.repeat(pairs, lengths, axis=0) if keeps else pairs
        )
        return Played(stopped, theta, labels, (self.loss.scale_ * losses[0], losses[1]))

    def _moved(self, state):
        """What the loop moves."""
        return state.Theta, state.A, state.vector, self.options, state.numbers, state.slot

    def _loop(self):
        return epoch_for(self.optimizer, self.loss.projects)

    def refuse(self, learner, batch, place):
        """Raise the ValueError for the sequence that stopped learning."""
        raise ValueError(
            f"sequence {place} of X has scores that are not finite numbers: a "
            "parameter (a step, a scale) does not fit features of this size."
        )

    def upcoming(self, x, V, weight):
        """Scores of the next play at one sequence, a list of one matrix, or `Ragged`."""
        x = stack_rows(x)
        labels = Ragged(np.zeros(len(x.values), dtype=np.int64), x.offsets)
        batch = Batch(Rows.from_array(x.values), labels, None, x.offsets)
        played = self.copy().learn(batch, np.arange(1), weight, SCORES)
        return played.theta, -1

    def concatenated(self, scores):
        """`Chains` of several, one after the other; pairs of every step in all."""
        lengths = np.concatenate([np.diff(part.offsets) for part in scores])
        offsets = Ragged.from_lengths(np.empty(0), lengths).offsets
        unary = np.concatenate([part.unary for part in scores])
        return Chains(unary, offsets, np.concatenate([part.pair for part in scores]))

    def weights(self, averaged):
        """All weights, in units of X."""
        W, width = self._stored_weights(averaged), self.width + self.intercept
        return np.hstack([self.scale.fold(W[:, :width].copy()), W[:, width:]])

    def _stored_weights(self, averaged):
        """`weights`, for rows as standardised."""
        state, k = self.state, self.space.dim_
        if averaged:
            return self.optimizer.average_weights(state.Theta.T, state.A.T, state.vector, k)
        return self.optimizer.weights(state.Theta.T, state.vector, k)

    def scores(self, batch, averaged):
        """Scores of sequences, as `Chains`."""
        W, p, k = self.weights(averaged), self.width, self.space.dim_
        unary = np.asarray(self.scale.completed(batch.rows).matrix @ W[:, :p].T)
        if self.intercept:
            unary = unary + W[:, p]
        unary[batch.offsets[:-1]] += W[:, -k - 2]
        unary[batch.offsets[1:] - 1] += W[:, -k - 1]
        return Chains(unary, batch.offsets, np.ascontiguousarray(W[:, -k:].T)[None])

    def comparison(self, batch, weight):
        """No comparator can be found by search: a GuaranteeError says what to use."""
        raise GuaranteeError(
            "Comparators of sequences have transitions too: use certificate().bound(loss, norm) "
            "with the surrogate loss and the norm of all weights of one."
        )

    def _troubles(self):
        return super().trouble()

    def trouble(self):
        """Also projections that were not found."""
        left = self.state.numbers[LEFT]
        return self._troubles() + ([INEXACT.format(left)] if left > LEFT_AT_MOST else [])

    def certified_loss(self):
        """The loss for the longest sequence, with b by C²/λ of each.

        A GuaranteeError where the step's unit went by the first lengths.
        """
        numbers, optimizer = self.state.numbers, self.optimizer
        if numbers[LEFT] > LEFT_AT_MOST:
            raise GuaranteeError(INEXACT.format(numbers[LEFT]))
        by_hand = isinstance(optimizer, GradientDescent) and not isinstance(optimizer.eta, str)
        if by_hand and isinstance(self.loss.scale, str):
            raise GuaranteeError(
                "With eta as a number the scale must be one too: give loss_scale a number."
            )
        stretch = numbers[LARGEST_RATIO] / numbers[LARGEST_SQ] if numbers[LARGEST_SQ] > 0 else 1.0
        return self._loss_of(self.lengths, stretch)


class ChainMixtureState(Learned):
    """Weights of E experts, a row per feature, and how much each of them counts.

    Parameters
    ----------
    width, k : int
        Features of a position, the intercept included, and labels.
    vectors : ndarray of shape (E, length)
        The vectors of the experts' optimisers, one per row, filled up with zeros.
    rates : ndarray of shape (R,)
        Rates of sharing.
    summed : bool
        Whether the averages of the experts are experts too: their sums are columns behind.
    """

    #: Scores are mixed.
    kind = OF_SCORES

    def __init__(self, width, k, vectors, rates, summed):
        features, experts = width + 2 + k, len(vectors)
        self.n_experts = experts * (2 if summed else 1)
        self.Theta = np.zeros((features, self.n_experts * k))
        self.vectors, self.rates, self.summed = vectors, rates, summed
        self.shares = fresh_weights(1, len(rates), self.n_experts)
        self.totals, self.sums = np.array([0.0, 1.0, 0.0]), np.zeros(self.n_experts)
        self.numbers, self.slot = np.zeros(3), np.full(features, -1, dtype=np.int64)

    @property
    def vector(self):
        """The vector of the first expert, which counts the rounds as those of all others do."""
        return self.vectors[0]


class ChainMixture(ExpertWeights, ChainModel):
    """Weights of several experts over the same sequences; scores are mixed."""

    def __init__(self, learner):
        self.space, self.loss, self.optimizer = learner.space_, learner.loss_, learner.optimizer_
        if any(isinstance(expert, GradientDescent) for expert in self.optimizer.experts()):
            raise ValueError('others must not have "ogd" over sequences, whose steps are its own.')
        vectors = self.optimizer.init(self.loss)
        vectors[:, DECAYS] = float(learner._average_decays())
        self.averaged = bool(learner.average and self.optimizer.averages)
        self._set_up(learner, vectors)

    def _new_state(self, width, vector):
        given = (self.space.dim_, vector, self.optimizer.rates(), self.averaged)
        return ChainMixtureState(width, *given)

    def _loop(self):
        return mixture_epoch_for(self.optimizer.experts(), self.loss.projects)

    def _moved(self, state):
        """What the loop moves."""
        mixed = (state.shares, state.rates, state.totals, state.sums)
        numbers = (self.options, state.numbers, state.slot)
        return (state.Theta, state.summed, state.vectors, *mixed, *numbers)

    def _stored_weights(self, averaged):
        """The mean of the experts' weights (k, width + 2 + k), for rows as standardised."""
        state, k = self.state, self.space.dim_
        few = len(state.vectors)
        columns = np.split(state.Theta.T, state.n_experts)
        matrices = []
        for expert, W, vector in zip(
            self.optimizer.experts(), columns, state.vectors, strict=False
        ):
            matrices.append(expert.weights(W, vector, k))
        for W, A, vector in zip(columns[:few], columns[few:], state.vectors, strict=False):
            total = max(vector[WEIGHT_SUM], 1e-300)
            matrices.append((vector[SCALED_WEIGHT_SUM] * W + A) / total)
        v = self.shares(averaged)[0].sum(axis=0)
        return np.einsum("n,nkp->kp", v, np.array(matrices))

    def certificate(self, delta):
        """See `Model`."""
        return self.optimizer.certificate(self.certified_loss(), self.state, delta)


def chain_model(learner):
    """The model of a learner of sequences."""
    return (ChainMixture if isinstance(learner.optimizer_, StepMixture) else ChainModel)(learner)
