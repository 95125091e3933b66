"""A test of whether the risk of a learner rose, by bets on its losses."""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np

from skstructured._engine.compiled import kernel, plain_integers

#: Largest λ_t.
LARGEST_LOSS_WEIGHT = 0.75

#: Evidence, in nats, that earlier risks were below the levels; the last level is 1.
RISE_EVIDENCE = np.arange(0.5, 14.5, 0.5)
N_RISE_LEVELS = len(RISE_EVIDENCE) + 1

#: How what starts to bet on a rise is divided among the stakes.
STAKE_SHARES = np.array([1.0, 3.0, 6.0, 7.0, 4.0, 2.0]) / 23.0


#: What is kept of losses: the first three by a test of rises, all by a running bound.
LossSums = plain_integers(IntEnum("LossSums", "COUNT LOSS SQUARES WEIGHT RAISED PAID", start=0))


def _bet_arrays(loss, bets, stakes, levels, starts, gates, gains, worth):
    bets += STAKE_SHARES[:, None] * starts
    bets *= 1.0 + stakes * (loss / levels - 1.0)
    return (gates * bets.sum(axis=0)).reshape(-1, N_RISE_LEVELS).min(axis=1).sum()


@kernel(python=_bet_arrays)
def bet_on(loss, bets, stakes, levels, starts, gates, gains, worth):
    """Bet on a loss against all levels; the support for a rise by all bases."""
    support = 0.0
    gains[:], worth[:] = loss / levels - 1.0, 0.0
    for j in range(len(STAKE_SHARES)):
        for k in range(len(levels)):
            bet = bets[j, k] + STAKE_SHARES[j] * starts[k]
            bets[j, k] = bet * (1.0 + stakes[j, k] * gains[k])
            worth[k] += bets[j, k]
    for first in range(0, len(levels), N_RISE_LEVELS):
        least = math.inf
        for k in range(first, first + N_RISE_LEVELS):
            least = min(least, gates[k] * worth[k])
        support += least
    return support


@kernel(steps=lambda losses, *_: 30.0 * len(losses))
def seek_rise(losses, bets, stakes, levels, starts, gates, sums):
    """Bet on each loss against all levels, then add it to `sums`, until a rise is found.

    The number of losses until then; 0 without a rise.
    """
    gains, worth = np.empty(len(levels)), np.empty(len(levels))
    for i in range(len(losses)):
        support = bet_on(losses[i], bets, stakes, levels, starts, gates, gains, worth)
        guess = (0.5 + sums[LossSums.LOSS]) / (sums[LossSums.COUNT] + 1.0)
        sums[LossSums.COUNT] += 1.0
        sums[LossSums.LOSS] += losses[i]
        sums[LossSums.SQUARES] += (losses[i] - guess) ** 2
        if support >= 1.0:
            return i + 1
    return 0


class RiseTest:
    r"""A test, at any time, of whether the risk rose, by bets against levels of earlier risks.

    After 8, 12, 17, … losses all losses so far become a *base*, with levels p_k that their risks
    are below by evidence ``G(p_k) = exp(e_k)/(l + 1)``. Every later loss L multiplies bets of stake
    c by ``1 − c + c L/p_k``. A rise is reported when the last three bases support it by 1 in sum:
    each by the least of the products ``G(p_{k−1}) W_k``, W_k the worth of the bets against p_k.
    With a `run_length` each round starts δ/run_length; without one rounds s + 1, …, t start
    ``δ(s^{-⅛} − t^{-⅛})``. The theory page has the proof.
    """

    n_bases = 3

    def __init__(self, delta, run_length=None):
        self._delta, self._run_length = delta, run_length
        self.n, self.n_rises, self.found_at = 0, 0, None
        self._restart()

    def _restart(self):
        """Forget all losses."""
        n_columns = self.n_bases * N_RISE_LEVELS
        self._bets, self._stakes = np.zeros((2, len(STAKE_SHARES), n_columns))
        self._levels, self._starts, self._gates = np.ones((3, n_columns))
        self._slot, self._starts[:], self._gates[:] = 0, 0.0, 0.0
        self._forget()

    def _forget(self):
        """Collect the losses of the first base."""
        self._sums, self._earlier = np.zeros((2, LossSums.SQUARES + 1))
        self._due = 8

    def update(self, losses):
        """Add losses in [0, 1] in order; after how many of them rises were found, a list."""
        rises, done = [], 0
        while done < len(losses):
            chunk = losses[done : done + self._due - int(self._sums[LossSums.COUNT])]
            bets = self._bets, self._stakes, self._levels, self._starts, self._gates
            used = seek_rise(chunk, *bets, self._sums)
            done += used or len(chunk)
            self.n += used or len(chunk)
            if used:
                rises.append(done)
                self.n_rises, self.found_at = self.n_rises + 1, self.n
                self._restart()
            elif self._sums[LossSums.COUNT] == self._due:
                self._renew()
        return rises

    def _renew(self):
        """Begin with a new base, or collect another one if the risk fell since the last."""
        recent, mean = self._sums - self._earlier, self._sums[LossSums.LOSS] / self._due
        if risk_levels(recent, [6.0])[0] < mean:
            self._forget()
        else:
            self._slot = (self._slot + 1) % self.n_bases
            self._set_base(self._columns)
            self._earlier, self._due = self._sums.copy(), math.ceil(1.4 * self._due)
        self._starts[:] = 1e-290  # without starts: smaller numbers lose digits, and are slow
        self._starts[self._columns] = self._share(self._due - self._sums[LossSums.COUNT])

    @property
    def _columns(self):
        """The columns of the newest base."""
        return slice(self._slot * N_RISE_LEVELS, (self._slot + 1) * N_RISE_LEVELS)

    def _set_base(self, columns):
        """Levels, gates and stakes of a base of all losses so far."""
        levels = np.append(risk_levels(self._sums, RISE_EVIDENCE), 1.0)
        gates = np.exp(np.append(0.0, RISE_EVIDENCE)) / (len(fitting_weights(self._sums)) + 1)
        gates[1:][levels[:-1] == 1.0] = np.inf  # no risk is above 1
        count, _, squares = self._sums
        deviation = math.sqrt((0.25 + squares) / (count + 1.0))
        stakes = np.array([0.0, 0.7, 0.35, 0.175, 0.0875, 0.04375])  # in standard deviations
        self._levels[columns], self._gates[columns], self._bets[:, columns] = levels, gates, 0.0
        self._stakes[:, columns] = np.minimum(0.5, np.outer(stakes, levels / deviation))

    def _share(self, rows):
        """What each of the next rows starts to bet."""
        if self._run_length is not None:
            return self._delta / self._run_length
        return self._delta * ((self.n + 1.0) ** -0.125 - (self.n + 1.0 + rows) ** -0.125) / rows


def fitting_weights(sums):
    """The λ for this number of losses."""
    weights = LARGEST_LOSS_WEIGHT * 0.5 ** np.arange(8)
    return weights[: max(1, np.count_nonzero(2.0 / math.sqrt(sums[LossSums.COUNT]) <= weights))]


def risk_levels(sums, evidence):
    """Risks of at most 1 that losses with these sums are below, by this evidence (k,)."""
    (count, loss, squares), weights = sums, fitting_weights(sums)
    prices = -np.log1p(-weights) / weights - 1.0  # ψ(λ)/λ
    widths = np.divide.outer(evidence, weights) + prices * squares
    return np.minimum(1.0, (loss + widths.min(axis=1)) / count)


def rise_found(losses, delta):
    """How many of n losses there were when `RiseTest`, with all of delta for these n, last rang."""
    test = RiseTest(delta, max(1, len(losses)))
    test.update(losses)
    return test.found_at
