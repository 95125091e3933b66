"""Probabilities of labels, calibrated by what was played before each label set was learned."""

import copy
import math
from typing import NamedTuple

import numpy as np

from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.state import Learned
from skstructured._learners.guards import exclusive
from skstructured.learner import Losses
from skstructured.regularizers import Shannon
from skstructured.spaces import Hypercube

#: Scores beyond this enter the statistics as this; a slope stays between these; no number of a
#: round moves by more than this.
LARGEST_SCORE, LEAST_SLOPE, LARGEST_SLOPE, LARGEST_MOVE = 1e3, 1e-2, 1e2, 0.5

#: Share of a coin toss in both probabilities of the empty set, so that their odds are numbers.
TOSS = 1e-6

#: Places in the state: slope and offset, the curvature in them, how often the empty set was played
#: for and came, and the sum of the weights.
SLOPE, OFFSET, SLOPES, BOTH, OFFSETS, EXPECTED, CAME, CLOCK, SIZE = range(9)


@kernel
def _odds(p):
    """p/(1 − p), of p mixed with a toss."""
    p = 0.5 * TOSS + (1.0 - TOSS) * p
    return p / (1.0 - p)


@kernel
def _move(state, share, slope, offset):
    """A Newton step against a gradient, no coordinate of it above `LARGEST_MOVE`."""
    ss, so, oo = state[SLOPES] + share, state[BOTH], state[OFFSETS] + share
    det = ss * oo - so * so
    first, second = (oo * slope - so * offset) / det, (ss * offset - so * slope) / det
    shrink = share * min(1.0, LARGEST_MOVE / max(share * max(abs(first), abs(second)), 1e-300))
    state[SLOPE] = min(max(state[SLOPE] - shrink * first, LEAST_SLOPE), LARGEST_SLOPE)
    state[OFFSET] -= shrink * second


@kernel(fastmath=FASTMATH)
def _learn_row(theta, truth, weight, state):
    """Learn one row of scores (d,), played before its label set `truth` was known."""
    state[CLOCK] += weight
    share = 4.0 * weight / (state[CLOCK] + 3.0 * weight)
    a, b = state[SLOPE], state[OFFSET]
    slope, offset, ss, so, oo = 0.0, 0.0, 0.0, 0.0, 0.0
    none, true = 1.0, 0.0
    for k in range(theta.shape[0]):
        score = min(max(theta[k], -LARGEST_SCORE), LARGEST_SCORE)
        p = 1.0 / (1.0 + math.exp(min(-(a * score + b), 700.0)))
        residual, bend = p - truth[k], p * (1.0 - p)
        slope, offset = slope + residual * score, offset + residual
        ss, so, oo = ss + bend * score * score, so + bend * score, oo + bend
        none, true = none * (1.0 - p), true + truth[k]
    state[SLOPES] += share * (ss - state[SLOPES])
    state[BOTH] += share * (so - state[BOTH])
    state[OFFSETS] += share * (oo - state[OFFSETS])
    state[EXPECTED] += share * (none - state[EXPECTED])
    state[CAME] += share * ((1.0 if true == 0.0 else 0.0) - state[CAME])
    _move(state, share, slope, offset)


@kernel
def _follow(theta, truth, weight, state, before):
    """Learn rows (n, d); slope, offset and ratio that held before each into before (n, 3)."""
    for i in range(theta.shape[0]):
        before[i, 0], before[i, 1] = state[SLOPE], state[OFFSET]
        before[i, 2] = _odds(state[CAME]) / _odds(state[EXPECTED])
        if weight[i] > 0.0:
            _learn_row(theta[i], truth[i], weight[i], state)


class Calibration(NamedTuple):
    """How scores become probabilities of labels: numbers, or arrays (n, 1) with one a row.

    Attributes
    ----------
    slope, offset : float or ndarray
        Label k is in the set with probability ``σ(slope θ_k + offset)``.
    empty : float or ndarray
        The empty set is so many times as likely, beside the others, as if labels were independent.
    """

    slope: object
    offset: object
    empty: object

    def marginals(self, theta):
        """Calibrated probabilities (n, d) of scores (n, d)."""
        z = self.slope * np.asarray(theta) + self.offset
        e = np.exp(-np.abs(z))
        return np.where(z >= 0.0, 1.0, e) / (1.0 + e)


class Calibrator(Learned):
    r"""Platt's calibration of the scores of label sets, learned in the rounds before each is known.

    ``P(y_k = 1 | θ) = σ(aθ_k + b)``, two numbers for all labels. A Newton step a round follows the
    minimum of the log-loss of θ_t, as played before y_t was learned; round t has the weight t³ of
    the "polynomial" average, a share ``4/(t + 3)`` of all so far, so that early rounds, whose
    scores were unsure, are forgotten. At first a = 1, b = 0. Labels of one row are not independent:
    whether the empty set is as frequent as ``∏_k (1 − σ(aθ_k + b))`` says is counted besides.
    Chunks of any size give the same numbers, and rows of weight 0 none.

    References
    ----------
    Platt (1999), "Probabilistic outputs for support vector machines and comparisons to regularized
    likelihood methods"; for the weights Shamir, Zhang (2013), section 4.
    """

    def __init__(self):
        self.state = np.zeros(SIZE)
        self.state[SLOPE] = 1.0

    def copy(self):
        """Another one."""
        return copy.deepcopy(self)

    def follow(self, theta, V, weight):
        """Learn rows of scores and label sets (n, d); the `Calibration` before each of them."""
        before = np.empty((len(theta), 3))
        given = (np.ascontiguousarray(one, dtype=np.float64) for one in (theta, V, weight))
        _follow(*given, self.state, before)
        return Calibration(*(before[:, k : k + 1] for k in range(3)))

    def now(self):
        """The `Calibration` by all rows so far."""
        return Calibration(*self.follow(*np.zeros((2, 1, 1)), np.zeros(1)))


class CalibratesLabelSets:
    """Learners over label sets whose decoder may want calibrated probabilities; see `Calibrator`.

    It stands before `OnlineLinearModel`; scores of "shannon" are logits, others are not calibrated.
    """

    def _start(self, space):
        super()._start(space)
        logits = isinstance(space, Hypercube) and isinstance(self.loss_.regularizer, Shannon)
        self._calibrator = Calibrator() if logits else None

    def _given_decoder(self):
        """The decoder as it was given."""
        raise NotImplementedError

    def _decoder(self):
        """The decoder, which is given calibrated probabilities where it asks for them."""
        decoder = self._given_decoder()
        return decoder.calibrated(self._calibrator.now()) if self._calibrates(decoder) else decoder

    def _calibrates(self, decoder):
        return getattr(self, "_calibrator", None) is not None and hasattr(decoder, "calibrated")

    def _wants_scores(self, note):
        calibrator = getattr(self, "_calibrator", None)
        return calibrator is not None or super()._wants_scores(note)

    def _note_scores(self, theta, V, weight):
        if getattr(self, "_calibrator", None) is not None:
            self._calibrator.follow(theta, V, weight)

    def _learn(self, rounds, order, note=None):
        decoder = self._given_decoder()
        if note is None or not self._calibrates(decoder):
            return super()._learn(rounds, order, note)
        follower = self._calibrator.copy()

        def told(theta, V, weight):
            self._played_with = decoder.calibrated(follower.follow(theta, V, weight))
            note(theta, V, weight)

        try:
            super()._learn(rounds, order, told)
        finally:
            vars(self).pop("_played_with", None)

    def _losses_of_predictions(self, theta, V):
        if not hasattr(self, "_played_with"):
            return super()._losses_of_predictions(theta, V)
        target, _, surrogate = self._losses_before(theta, V)
        return surrogate, target

    def _losses_before(self, theta, V):
        """The `Losses` of rows just learned, by what was known before each of them."""
        mu, surrogate = self.loss_.mean_and_value(theta, V)
        likely = self._played_with.most_likely(theta, mu, self.loss_)
        target = self.space_.expected_loss(likely, V)
        return Losses(target, target, surrogate)

    def play_and_learn(self, rounds, which, random_state=None):
        """Play each round, by what was known before it, learn it, and go on; `Losses`."""
        if not self._calibrates(self._given_decoder()):
            return super().play_and_learn(rounds, which, random_state)
        return self._play_calibrated(rounds, np.asarray(which))

    @exclusive
    def _play_calibrated(self, rounds, which):
        played = []

        def note(theta, V, weight):
            played.append(self._losses_before(theta, V))

        self._learn(rounds, which, note)
        return Losses(*map(np.concatenate, zip(*played, strict=True)))
