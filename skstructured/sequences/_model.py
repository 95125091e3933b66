"""Online learning of label sequences, behind the methods of a linear learner."""

import numpy as np

from skstructured._foreign import check_state
from skstructured._learners.guards import uninterrupted
from skstructured._learners.routing import routed
from skstructured._learners.scaling import scale_of
from skstructured._ragged import Ragged, check_same_lengths
from skstructured._validation import check_weights, own_arrays, owned
from skstructured.exceptions import GuaranteeError
from skstructured.learner import Losses, Rounds
from skstructured.optimizers import GradientDescent
from skstructured.sequences._epoch import LARGEST_RATIO, LARGEST_SQ, epoch_for
from skstructured.sequences._loss import Chains, SequenceLoss
from skstructured.sequences._predictions import SequencePredictions, rule_of
from skstructured.sequences._state import (
    SequenceRows,
    SequenceState,
    check_finite_sequences,
    read_sequences,
)
from skstructured.spaces.sequence import LabelSequence

#: Positions learned at a time, and numbers that pairs of labels may take meanwhile.
POSITIONS, NUMBERS = 4096, 1 << 21


def over_sequences(learner, fresh=False):
    """Whether the outputs of a learner are label sequences, as fitted; `fresh` by its parameter."""
    space = None if fresh else getattr(learner, "space_", None)
    return isinstance(learner._unfitted_space() if space is None else space, LabelSequence)


for_sequences = routed(lambda: SequenceModel, over_sequences)


class SequenceModel(SequencePredictions):
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
        optimizer, k = self.optimizer_, self.space_.dim_
        if optimizer.keeps_average or optimizer.blocks != (1, 0):
            raise ValueError(
                f"optimizer={optimizer!r} moves every feature by itself, which is not for "
                "sequences: they move them together."
            )
        rule_of(self._decoder())
        self._averaged = bool(self.average)
        vector = check_state(optimizer, optimizer.init(self.loss_))
        self._scale = scale_of(self, self.n_features_in_, self._intercept)
        self._state = SequenceState(
            self.n_features_in_ + self._intercept, k, vector, self._averaged
        )
        flags = (self._intercept, self.loss_.projects)
        sharp = self.loss_.constants == "sharp"
        by_ratio = isinstance(optimizer, GradientDescent)
        self._options = np.array([*flags, by_ratio, sharp], dtype=np.int64)

    @for_sequences
    def _check_outputs(self, rows, y, sample_weight=None, stream=False):
        packed = self.space_.pack(y)
        check_same_lengths(rows.X, packed)
        weight = check_weights(sample_weight, packed, len(packed), stream, False)
        self._note_lengths(rows.X.lengths)
        return Rounds(rows.X, packed, weight, rows)

    def _note_lengths(self, lengths):
        """The loss is for sequences from the shortest to the longest so far."""
        old, seen = self.loss_, hasattr(self, "_lengths_seen") and self.t_ > 0
        low, high = (old.shortest, old.longest) if seen else (lengths[0], lengths[0])
        ends = int(min(low, lengths.min())), int(max(high, lengths.max()))
        self.loss_ = SequenceLoss(
            self.space_, old.regularizer, old.scale, old.constants, *ends, old.stretch
        )
        self._lengths_seen = ends

    @for_sequences
    def _learn(self, rounds, order, note=None):
        if owned(self._state.vector) is not self._state.vector:
            own_arrays(self)
        sequences = rounds.X
        weight = np.ones(len(sequences)) if rounds.weight is None else rounds.weight
        weight = self._weights_of_rounds(weight, order)
        learn = epoch_for(self.optimizer_)
        for block in _blocks(order, sequences.lengths, self.space_.dim_, note is not None):
            labels, now = rounds.packed[block], weight[block]
            with uninterrupted():
                stopped, played = self._learn_block(
                    learn, sequences, block, labels, now, note is not None
                )
            if stopped >= 0:
                raise ValueError(
                    f"sequence {block[stopped]} of X has scores that are not finite numbers: a "
                    "parameter (a step, a scale) does not fit features of this size."
                )
            if note is not None:
                note(played, labels, now)

    def _learn_block(self, learn, sequences, block, labels, weight, record):
        """Learn and count sequences; the place of the one that stopped it, or -1, and scores."""
        if not isinstance(sequences, Ragged):
            return super()._learn_block(learn, sequences, block, labels, weight, record)
        rows, places = SequenceRows(sequences, None), sequences.places(block)
        ready, at, undo = self._apply(sequences, places, np.repeat(weight, labels.lengths))
        starts, k = labels.offsets[:-1], self.space_.dim_
        losses, scores = np.empty(len(block)), np.empty((len(places) * record, k))
        pairs, state = np.empty((len(block) * record, k, k)), self._state
        firsts = at[starts].astype(np.int64)
        arrays = (*ready.arrays, firsts, labels.lengths, labels.values.astype(np.int64), weight)
        learned = (state.Theta, state.A, state.vector, self._options, state.numbers, state.slot)
        try:
            stopped = learn(*arrays, *learned, losses, scores, pairs)
        except BaseException:
            undo()
            raise
        if stopped >= 0:
            undo()
            before = labels.offsets[stopped]
            weight = weight[:stopped]
            self._apply(sequences, places[:before], np.repeat(weight, labels.lengths[:stopped]))
        self._count(weight)
        del rows
        return stopped, self._played(scores, pairs, labels.offsets) if record else None

    def _apply(self, sequences, places, weight):
        from skstructured._engine.rows import Rows

        return self._scale.apply(Rows.from_array(sequences.values), places, weight)

    @staticmethod
    def _played(scores, pairs, offsets):
        return Chains(scores, offsets, np.repeat(pairs, np.diff(offsets), axis=0))
