"""Online learning of label sequences, behind the methods of a linear learner."""

import itertools
import warnings

import numpy as np

from skstructured._base.exceptions import GuaranteeError, GuaranteeWarning
from skstructured._base.foreign import check_state
from skstructured._base.ragged import Ragged, check_same_lengths, stack_rows
from skstructured._base.validation import check_weights, own_arrays, owned
from skstructured._engine.rows import Rows
from skstructured._learners.guards import exclusive, uninterrupted
from skstructured._learners.routing import routed
from skstructured._learners.scaling import scale_of
from skstructured.extend.learner import Rounds
from skstructured.optimizers import GradientDescent, ParameterFree, resolve_optimizer
from skstructured.optimizers.coordinate_pistol import CoordinatePiSTOL
from skstructured.sequences._coordinates import coordinate_epoch_for
from skstructured.sequences._decoding import Decoding
from skstructured.sequences._epoch import LARGEST_RATIO, LARGEST_SQ, LEFT, epoch_for
from skstructured.sequences._loss import Chains, SequenceLoss
from skstructured.sequences._predictions import SequencePredictions, over_sequences, rule_of
from skstructured.sequences._state import (
    SequenceRows,
    SequenceState,
    check_finite_sequences,
    read_sequences,
)
from skstructured.sequences._weights import SequenceWeights

#: Positions learned at a time, and numbers that pairs of labels may take meanwhile.
POSITIONS, NUMBERS = 4096, 1 << 21

#: What projections may leave, a gap or a violation of constraints, for certificates to be stated.
LEFT_AT_MOST = 1e-8

#: Wealth of the default optimiser; 100 for single rows.
WEALTH = 10_000.0

INEXACT = "A projection on the label sequences is off by {:.2g}: its rounds had another gradient."

for_sequences = routed(lambda: SequenceModel, over_sequences)


def sequence_optimizer(given):
    """The optimiser of a parameter: "parameter_free" has more wealth than for single rows."""
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


def concatenated(chains):
    """`Chains` of several, one after the other; pairs of every step in all."""
    lengths = np.concatenate([np.diff(part.offsets) for part in chains])
    offsets = Ragged.from_lengths(np.empty(0), lengths).offsets
    unary, pair = (np.concatenate([getattr(c, name) for c in chains]) for name in ("unary", "pair"))
    return Chains(unary, offsets, pair)


class SequenceModel(SequenceWeights, SequencePredictions):
    """`OnlineLinearModel` whose rounds are label sequences, where the space says so."""

    def _rows_of(self, X, reset=False):
        if over_sequences(self, fresh=reset):
            return read_sequences(self, X, reset)
        return super()._rows_of(X, reset)

    def _check_rows(self, rows, fresh=False):
        if isinstance(rows, SequenceRows):
            check_finite_sequences(self, rows, fresh)
        else:
            super()._check_rows(rows, fresh)

    @for_sequences
    def _start_state(self):
        optimizer, width = self.optimizer_, self.n_features_in_ + self._intercept
        if optimizer.blocks != (1, 0) and not isinstance(optimizer, CoordinatePiSTOL):
            raise ValueError(
                f"optimizer={optimizer!r} keeps more than the weights of a feature: sequences "
                "have no loop for it."
            )
        rule_of(self._decoder())
        self._averaged = bool(self.average)
        vector = check_state(optimizer, optimizer.init(self.loss_))
        self._scale = scale_of(self, self.n_features_in_, self._intercept)
        summed = self._averaged or optimizer.keeps_average
        self._state = SequenceState(width, self.space_.dim_, vector, summed, optimizer.blocks)
        by_ratio = isinstance(optimizer, GradientDescent)
        flags = (self._intercept, self.loss_.projects, by_ratio, self.loss_.constants == "sharp")
        self._options, self._lengths_seen = np.array(flags, dtype=np.int64), None
        self._work = np.zeros((1, 0))

    @for_sequences
    def _check_outputs(self, rows, y, sample_weight=None, stream=False):
        packed = self.space_.pack(y)
        check_same_lengths(rows.X, packed)
        if not self.standardize:  # no loop sees the norms
            self._check_rows(rows)
        weight = check_weights(sample_weight, packed, len(packed), stream, False)
        self._note_lengths(rows.X.lengths)
        return Rounds(rows.X, packed, weight, rows)

    def _note_lengths(self, lengths):
        """The loss is for sequences from the shortest to the longest so far."""
        low, high = self._lengths_seen or (lengths[0], lengths[0])
        self._lengths_seen = int(min(low, lengths.min())), int(max(high, lengths.max()))
        self.loss_ = self._loss_of(self._lengths_seen)

    def _loss_of(self, lengths, stretch=1.0):
        old = self.loss_
        given = (self.space_, old.regularizer, old.scale, old.constants)
        return SequenceLoss(*given, *lengths, stretch)

    @for_sequences
    def _make_passes(self, rounds):
        rows = rounds.rows.rows
        if isinstance(self.standardize, str) and np.all((rows.data == 0.0) | (rows.data == 1.0)):
            # `fit` sees that all features are indicators.
            self._scale.divided = False
            self._scale.used = self._scale.centred and not rows.is_sparse
        super()._make_passes(rounds)

    @for_sequences
    def _learn_pass(self, rounds):
        """Learn every sequence once; the mean surrogate and target loss of what was played.

        The target loss is that of the most likely label of each position.
        """
        order, told = self._visiting_order(len(rounds.X)), []
        self._learn(rounds, order, tell=lambda *losses: told.append(losses))
        surrogate, target, weight = map(np.concatenate, zip(*told, strict=True))
        total = max(weight.sum(), 1e-300)
        return self.loss_.scale_ * (weight @ surrogate) / total, weight @ target / total

    @for_sequences
    def _learn(self, rounds, order, note=None, tell=None):
        if owned(self._state.vector) is not self._state.vector:
            own_arrays(self)
        sequences, record = rounds.X, note is not None
        weight = np.ones(len(sequences)) if rounds.weight is None else rounds.weight
        weight = self._weights_of_rounds(weight, order)
        for block in blocks_of(order, sequences.lengths, self.space_.dim_, record):
            labels, now = rounds.packed[block], weight[block]
            with uninterrupted(self):
                stopped, played, losses = self._learn_sequences(
                    sequences, block, labels, now, record
                )
            if stopped >= 0:
                raise ValueError(
                    f"sequence {block[stopped]} of X has scores that are not finite numbers: a "
                    "parameter (a step, a scale) does not fit features of this size."
                )
            if record:
                note(played, labels, now)
            if tell is not None:
                tell(*losses, now)

    def _learn_sequences(self, sequences, block, labels, weight, record):
        """Learn and count sequences.

        Returns the place of the one that stopped it, or -1, scores played, and (losses, costs).
        """
        places, lengths = sequences.places(block), labels.lengths
        rows = Rows.from_array(sequences.values)
        ready, at, undo = self._scale.apply(rows, places, np.repeat(weight, lengths))
        k, state, n = self.space_.dim_, self._state, record * len(block)
        played = np.empty((record * len(places), k)), np.empty((n, k, k))
        firsts = np.asarray(at[labels.offsets[:-1]], dtype=np.int64)
        given = (firsts, lengths, np.asarray(labels.values, dtype=np.int64), weight)
        learned = (state.Theta, state.A, state.vector, self._options, state.numbers, state.slot)
        losses = np.empty((2, len(block)))
        try:
            learn = self._epoch_of_sequences()
            costs = self.space_.costs_
            stopped = learn(*ready.arrays, *given, *learned, costs, *losses, *played)
        except BaseException:
            undo()
            raise
        if stopped >= 0:  # the sequences before it are counted again, without it
            undo()
            weight, places = weight[:stopped], places[: labels.offsets[stopped]]
            self._scale.apply(rows, places, np.repeat(weight, lengths[:stopped]))
        self._count(weight)
        pairs = np.repeat(played[1], lengths, axis=0) if record else played[1]
        return stopped, Chains(played[0], labels.offsets, pairs), losses

    def _epoch_of_sequences(self):
        optimizer, projects = self.optimizer_, self.loss_.projects
        if isinstance(optimizer, CoordinatePiSTOL):
            return coordinate_epoch_for(projects)
        return epoch_for(optimizer, projects)

    @for_sequences
    def play(self, rounds, which, random_state=None):
        """The `Losses` of sequences played with the last weights; nothing is learned."""
        theta = self._chains_of(self._matrix(False), rounds.X[which])
        return self._losses(theta, rounds.packed[which], random_state)

    @for_sequences
    def play_average(self, rounds, which, random_state=None):
        """The `Losses` of sequences played with the average; nothing is learned."""
        if not self.average:
            return super().play_average(rounds, which, random_state)
        return self._losses(self._thetas(rounds.X[which]), rounds.packed[which], random_state)

    @for_sequences
    def play_and_learn(self, rounds, which, random_state=None):
        """Play each sequence with the weights the optimiser plays, learn it, and go on."""
        played, which = [], np.asarray(which)
        self._learn_all(rounds, which, lambda theta, V, weight: played.append(theta))
        return self._losses(concatenated(played), rounds.packed[which], random_state)

    @exclusive
    def _learn_all(self, rounds, which, note):
        self._learn(rounds, which, note)

    @for_sequences
    def expected_losses(self, x, V):
        """Expected target losses of the next play at one sequence against labels V.

        Parameters
        ----------
        x : Ragged, or list of one matrix
            One sequence.
        V : Ragged, or ndarray of shape (m, dim)
            Positions of labels among `classes_`, m sequences of that length, or embeddings of them.

        Returns
        -------
        ndarray of shape (m,)
        """
        x = stack_rows(x)
        if not isinstance(V, Ragged):
            unary, offsets, _ = self.space_.chains(V)
            V = Ragged(np.argmax(unary, axis=1), offsets)
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        twin._state, twin._scale = self._state.copy(), self._scale.copy()
        one = Rounds(x, V[:1], None, None)
        _, theta, _ = twin._learn_sequences(one.X, np.arange(1), one.packed, np.ones(1), True)
        decoding = Decoding(theta, self.loss_, rule_of(self._decoder()))
        return np.concatenate([decoding.expected_loss(V[i : i + 1]) for i in range(len(V))])

    @for_sequences
    def comparison(self, rounds):
        """No comparator can be found by search: a GuaranteeError says what to use."""
        raise GuaranteeError(
            "Comparators of sequences have transitions too: use certificate().bound(loss, norm) "
            "with the surrogate loss and the norm of all weights of one."
        )

    @for_sequences
    def warn_of_trouble(self):
        """Tell what went wrong, and of projections that were not found."""
        super().warn_of_trouble()
        if self._state.numbers[LEFT] > LEFT_AT_MOST:
            warnings.warn(INEXACT.format(self._state.numbers[LEFT]), GuaranteeWarning, stacklevel=5)

    def _certified_loss(self):
        """The loss that certificates are about: for the longest sequence, with b by C²/λ of each.

        A GuaranteeError where the step's unit went by the first lengths.
        """
        if not over_sequences(self):
            return self.loss_
        numbers, optimizer = self._state.numbers, self.optimizer_
        if numbers[LEFT] > LEFT_AT_MOST:
            raise GuaranteeError(INEXACT.format(numbers[LEFT]))
        by_hand = isinstance(optimizer, GradientDescent) and not isinstance(optimizer.eta, str)
        if by_hand and isinstance(self.loss_.scale, str):
            raise GuaranteeError(
                "With eta as a number the scale must be one too: give loss_scale a number."
            )
        stretch = numbers[LARGEST_RATIO] / numbers[LARGEST_SQ] if numbers[LARGEST_SQ] > 0 else 1.0
        return self._loss_of(self._lengths_seen, stretch)
