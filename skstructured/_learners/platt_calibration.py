"""Probabilities of labels, calibrated by the scores before each set of labels was learned."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import expit

from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.state import State
from skstructured.extend._types import Floats, Loss
from skstructured.extend.decoder import Decoder
from skstructured.regularizers import Shannon
from skstructured.spaces import Hypercube

#: Scores beyond this enter the statistics as this; a slope stays between these; no number moves by
#: more than this in a round; and so much of the curvature's trace makes it definite.
LARGEST_SCORE, LEAST_SLOPE, LARGEST_SLOPE, LARGEST_MOVE, RIDGE = 1e3, 1e-2, 1e2, 0.5, 1e-9

#: Share of a coin toss in both probabilities of the empty set, so that their odds are numbers.
TOSS = 1e-6

#: Places in the state: three numbers of scores, how often the empty set was expected and came, and
#: the sum of the weights.
SLOPE, OFFSET, COMMON, EXPECTED, CAME, CLOCK, SIZE = range(7)


@kernel
def _odds(p):
    """p/(1 − p), of p mixed with a toss."""
    p = 0.5 * TOSS + (1.0 - TOSS) * p
    return p / (1.0 - p)


@kernel
def _solve(A, x):
    """x ← A⁻¹x for a positive definite A, which is overwritten."""
    d = x.shape[0]
    for i in range(d):
        for j in range(i + 1, d):
            factor = A[j, i] / A[i, i]
            x[j] -= factor * x[i]
            for k in range(i, d):
                A[j, k] -= factor * A[i, k]
    for i in range(d - 1, -1, -1):
        for k in range(i + 1, d):
            x[i] -= A[i, k] * x[k]
        x[i] /= A[i, i]


@kernel
def _move(state, curvature, share, step, A):
    """A Newton step against the gradient `step`, no number by more than `LARGEST_MOVE`."""
    ridge = share + RIDGE * (curvature[0, 0] + curvature[1, 1] + curvature[2, 2])
    largest = 0.0
    for i in range(3):
        for j in range(3):
            A[i, j] = curvature[i, j]
        A[i, i] += ridge
    _solve(A, step)
    for i in range(3):
        step[i] *= share
        largest = max(largest, abs(step[i]))
    shrink = min(1.0, LARGEST_MOVE / max(largest, 1e-300))
    for i in range(3):
        state[i] -= shrink * step[i]
    state[SLOPE] = min(max(state[SLOPE], LEAST_SLOPE), LARGEST_SLOPE)


@kernel(fastmath=FASTMATH)
def _mean_score(theta):
    """The mean of scores (d,), none beyond `LARGEST_SCORE`."""
    total = 0.0
    for k in range(theta.shape[0]):
        total += min(max(theta[k], -LARGEST_SCORE), LARGEST_SCORE)
    return total / theta.shape[0]


@kernel(fastmath=FASTMATH)
def _look(theta, truth, state, mean, sums):
    """Sums over the labels of a row; whether it is empty, as expected and as observed."""
    a, b = state[SLOPE], state[OFFSET] + state[COMMON] * mean
    slope, offset, ss, so, oo, none, true = 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0
    for k in range(theta.shape[0]):
        score = min(max(theta[k], -LARGEST_SCORE), LARGEST_SCORE)
        p = 1.0 / (1.0 + math.exp(min(-(a * score + b), 700.0)))
        residual, bend = p - truth[k], p * (1.0 - p)
        slope, offset = slope + residual * score, offset + residual
        ss, so, oo = ss + bend * score * score, so + bend * score, oo + bend
        none, true = none * (1.0 - p), true + truth[k]
    sums[0], sums[1], sums[2], sums[3], sums[4] = slope, offset, ss, so, oo
    sums[5], sums[6] = none, 1.0 if true == 0.0 else 0.0


@kernel
def _learn_row(theta, truth, weight, state, curvature, sums, step, A):
    """Learn one row of scores (d,), played before its set of labels `truth` was known."""
    mean = _mean_score(theta)
    _look(theta, truth, state, mean, sums)
    state[CLOCK] += weight
    share = 4.0 * weight / (state[CLOCK] + 3.0 * weight)
    step[0], step[1], step[2] = sums[0], sums[1], mean * sums[1]
    A[0, 0], A[0, 1], A[0, 2] = sums[2], sums[3], mean * sums[3]
    A[1, 1], A[1, 2], A[2, 2] = sums[4], mean * sums[4], mean * mean * sums[4]
    for i in range(3):
        for j in range(3):
            curvature[i, j] += share * (A[min(i, j), max(i, j)] - curvature[i, j])
    state[EXPECTED] += share * (sums[5] - state[EXPECTED])
    state[CAME] += share * (sums[6] - state[CAME])
    _move(state, curvature, share, step, A)


@kernel
def _follow(theta, truth, weight, state, curvature, coefs):
    """Learn rows (n, d); the numbers of `Calibration` before each into coefs (n, 4)."""
    sums, step, A = np.empty(7), np.empty(3), np.empty((3, 3))
    for i in range(theta.shape[0]):
        coefs[i, 0], coefs[i, 1], coefs[i, 2] = state[SLOPE], state[OFFSET], state[COMMON]
        coefs[i, 3] = _odds(state[CAME]) / _odds(state[EXPECTED])
        if weight[i] > 0.0:
            _learn_row(theta[i], truth[i], weight[i], state, curvature, sums, step, A)


class Calibration(NamedTuple):
    """How scores become probabilities of labels: numbers, or arrays (n, 1) with one per row.

    Attributes
    ----------
    slope, offset, common : float or ndarray
        Label k is in the set with probability ``σ(slope θ_k + offset + common Σ_j θ_j/d)``.
    empty : float or ndarray
        Ratio of the odds of the empty set to those for independent labels.
    """

    slope: float | Floats
    offset: float | Floats
    common: float | Floats
    empty: float | Floats

    def marginals(self, theta: Floats) -> Floats:
        """Calibrated probabilities (n, d) of scores (n, d)."""
        theta = np.asarray(theta)
        mean = np.clip(theta, -LARGEST_SCORE, LARGEST_SCORE).mean(axis=1, keepdims=True)
        return expit(self.slope * theta + self.offset + self.common * mean)


class Calibrator(State):
    r"""Platt's calibration of the scores of labels, learned in the rounds before each row is known.

    ``P(y_k = 1 | θ) = σ(aθ_k + b + m Σ_j θ_j/d)``, three numbers for all labels. m is the effect of
    the mean score of a row on each label: with m = −a only differences within the row count. One
    Newton step per round follows the minimum of the log-loss of θ_t, computed before y_t was
    learned. Round t has the weight t³ of the "polynomial" average, a share ``4/(t + 3)`` of all so
    far, so early rounds with uncertain scores are forgotten. At first a = 1, b = 0, m = 0. Labels
    of one row are not independent, so the frequency of the empty set relative to
    ``∏_k (1 − P(y_k = 1 | θ))`` is counted too. The result does not depend on the size of chunks;
    rows of weight 0 have no effect.

    References
    ----------
    Platt (1999), "Probabilistic outputs for support vector machines and comparisons to regularized
    likelihood methods"; for the weights Shamir, Zhang (2013), section 4.
    """

    def __init__(self) -> None:
        self.state, self.curvature = np.zeros(SIZE), np.zeros((3, 3))
        self.state[SLOPE] = 1.0

    def follow(self, theta: Floats, V: Floats, weight: Floats) -> Calibration:
        """Learn rows of scores and labels (n, d); the `Calibration` before each of them."""
        coefs = np.empty((len(theta), 4))
        arrays = (np.ascontiguousarray(array, dtype=np.float64) for array in (theta, V, weight))
        _follow(*arrays, self.state, self.curvature, coefs)
        return Calibration(*(coefs[:, k : k + 1] for k in range(4)))

    def now(self) -> Calibration:
        """The `Calibration` by all rows so far; the arrays may be maps of a file."""
        state = self.state
        odds = _odds(float(state[CAME])) / _odds(float(state[EXPECTED]))
        numbers = (state[SLOPE], state[OFFSET], state[COMMON], odds)
        return Calibration(*(np.full((1, 1), number) for number in numbers))

    @classmethod
    def mean(cls, several: Iterable["Calibrator"], shares: Iterable[float]) -> Self:
        """A calibrator with the mean of the numbers of several."""
        mean: Any = cls()
        mean.state = sum(w * model.state for w, model in zip(shares, several, strict=True))
        mean.curvature = sum(w * model.curvature for w, model in zip(shares, several, strict=True))
        return mean


def calibrator_for(loss: Loss, decoder: Decoder) -> Calibrator | None:
    """A new `Calibrator` if scores are logits of labels and the decoder requires it; or None."""
    is_shannon = isinstance(getattr(loss, "regularizer", None), Shannon)
    logits = is_shannon and isinstance(loss.space, Hypercube)
    return Calibrator() if logits and hasattr(decoder, "calibrated") else None
