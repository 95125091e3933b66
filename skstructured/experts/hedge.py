"""AdaHedge: weights over experts, learned from their losses, without a step size."""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike

from skstructured._base.validation import check_integer, writable
from skstructured._engine.compiled import kernel, plain_integers
from skstructured._engine.state import State
from skstructured.extend._types import Floats


@plain_integers
class HedgeSum(IntEnum):
    """Positions in the vector of sums: Δ, Σ<p̂,ℓ>, Σv, and the widest range of losses."""

    GAP, TOTAL, VARIANCE, WIDEST = range(4)


@kernel
def hedge_weights(excess, price, gap, w):
    """``w_i = exp(−η D_i)``, η = price/Δ and D_i how far i is behind the best; their sum."""
    total = 0.0
    for i in range(excess.shape[0]):
        if gap > 0.0:
            w[i] = math.exp(-price * (excess[i] / gap))
        else:
            w[i] = 1.0 if excess[i] == 0.0 else 0.0
        total += w[i]
    return total


@kernel
def mean_and_variance(w, losses):
    """``<w, ℓ>/Σw`` and ``Σ w (ℓ − it)²/Σw``, of one round; within the range of the losses."""
    total, mean, least, most = 0.0, 0.0, losses.min(), losses.max()
    for i in range(losses.shape[0]):
        total += w[i]
        mean += w[i] * losses[i]
    mean = min(max(mean / total, least), most)
    squares = 0.0
    for i in range(losses.shape[0]):
        squares += w[i] * (losses[i] - mean) ** 2
    return mean, squares / total, most - least


@kernel
def hedge_rounds(losses, totals, excess, sums, w, hedged):
    """Play rounds of losses (n, d); the losses of the weights before each go into `hedged` (n,)."""
    price = math.log(losses.shape[1])
    for t in range(losses.shape[0]):
        gap = sums[HedgeSum.GAP]
        weight_sum = hedge_weights(excess, price, gap, w)
        mean, variance, width = mean_and_variance(w, losses[t])
        excess += losses[t]
        grown = excess.min()  # of the least total loss
        excess -= grown
        if gap > 0.0:
            grown -= gap / price * math.log(hedge_weights(excess, price, gap, w) / weight_sum)
        sums[HedgeSum.GAP] += max(0.0, mean - grown)
        sums[HedgeSum.TOTAL] += mean
        sums[HedgeSum.VARIANCE] += variance
        sums[HedgeSum.WIDEST] = max(sums[HedgeSum.WIDEST], width)
        totals += losses[t]
        hedged[t] = mean


class AdaHedge(State):
    r"""Weight d experts; the total loss is close to that of the best of them, for any losses.

    There are no hyperparameters to tune. Multiplying all losses by a number, or adding one, changes
    no weight. In round t, with the total losses L and Δ of the rounds before it,

    .. math:: \hat p_i ∝ e^{-η L_i}, \quad η = \frac{\ln d}{Δ}, \qquad Δ ← Δ +
        \max\{0, ⟨\hat p, ℓ⟩ - (M_η(L + ℓ) - M_η(L))\}, \qquad L ← L + ℓ,

    with ``M_η(L) = min L − (1/η) ln mean_i exp(−η(L_i − min L))``. While Δ = 0 the experts of the
    least loss share the weight. The loss of the weights, ``Σ<p̂,ℓ>``, is at most

    .. math:: \min_i L_i + 2\sqrt{\ln d \, \textstyle\sum_t v_t} + S(\tfrac43 \ln d + 2),

    with ``v_t`` the variance of the losses under p̂ in round t, S their widest range in a round.

    Parameters
    ----------
    n_experts : int
        Number d of experts, 1 or more.

    Attributes
    ----------
    weights_ : ndarray of shape (d,)
        p̂ of the next round.
    losses_ : ndarray of shape (d,)
        L, the total losses of the experts.
    total_loss, gap, variance : float
        ``Σ<p̂,ℓ>``, Δ and ``Σv``.
    regret, regret_bound : float
        ``Σ<p̂,ℓ> − min L``, and the upper bound on it.
    n_rounds : int
        Rounds seen.

    See Also
    --------
    AbstainingHedgeClassifier : A classifier that uses these weights, and may abstain.
    skstructured.optimizers.StepMixture : Weights over learning rates.

    References
    ----------
    De Rooij, van Erven, Grünwald, Koolen (2014), "Follow the leader if you can, hedge if you must",
    Theorem 6.

    Examples
    --------
    >>> from skstructured.experts.hedge import AdaHedge
    >>> hedge = AdaHedge(3)
    >>> for losses in ([0.0, 1.0, 0.5], [0.0, 0.0, 0.5], [0.0, 1.0, 0.5]):
    ...     lost = hedge.update([losses])
    >>> int(hedge.weights_.argmax()), hedge.regret < hedge.regret_bound
    (0, True)
    """

    def __init__(self, n_experts: int) -> None:
        check_integer("n_experts", n_experts)
        self.n_experts, self.n_rounds = int(n_experts), 0
        self.losses_, self._behind = np.zeros(self.n_experts), np.zeros(self.n_experts)
        self._sums, self._work = np.zeros(len(HedgeSum)), np.zeros(self.n_experts)

    def update(self, losses: ArrayLike) -> Floats:
        """Learn rounds in order; the size of chunks does not change a bit.

        Parameters
        ----------
        losses : array-like of shape (n, d)
            Losses of the experts, one round per row; any numbers up to 1e100.

        Returns
        -------
        ndarray of shape (n,)
            ``<p̂, ℓ>`` of every round, p̂ from the rounds before it.

        Raises
        ------
        ValueError
            If the shape is wrong, or a loss is NaN or beyond 1e100; no round is then learned.
        """
        losses = np.ascontiguousarray(losses, dtype=np.float64)
        if losses.ndim != 2 or losses.shape[1] != self.n_experts:
            raise ValueError(
                f"losses must have shape (n, {self.n_experts}), one round per row and one expert "
                f"per column, got {losses.shape}."
            )
        largest = 1e100  # squares of losses, and sums of these, are then float64 numbers
        wrong = ~(np.abs(losses) <= largest)
        if wrong.any():
            raise ValueError(
                f"losses must be numbers between -{largest:g} and {largest:g}, "
                f"got {losses[wrong][0]:g}."
            )
        hedged = np.empty(len(losses))
        writable(self)
        hedge_rounds(losses, self.losses_, self._behind, self._sums, self._work, hedged)
        self.n_rounds += len(losses)
        return hedged

    @property
    def weights_(self) -> Floats:
        """p̂ of the next round, (d,)."""
        w = np.empty(self.n_experts)
        total = hedge_weights(np.asarray(self._behind), math.log(self.n_experts), self.gap, w)
        return w / total

    @property
    def total_loss(self) -> float:
        """Σ<p̂,ℓ>, the total loss of the weights."""
        return float(self._sums[HedgeSum.TOTAL])

    @property
    def gap(self) -> float:
        """Δ, the sum of the mixability gaps."""
        return float(self._sums[HedgeSum.GAP])

    @property
    def variance(self) -> float:
        """Σv, the variances of the losses under p̂."""
        return float(self._sums[HedgeSum.VARIANCE])

    @property
    def regret(self) -> float:
        """Σ<p̂,ℓ> minus the total loss of the best expert."""
        return self.total_loss - float(self.losses_.min())

    @property
    def regret_bound(self) -> float:
        """2 √(ln d Σv) + S (4/3 ln d + 2), which the regret never exceeds."""
        price = math.log(self.n_experts)
        spread = math.sqrt(price) * math.sqrt(self.variance)
        return 2.0 * spread + float(self._sums[HedgeSum.WIDEST]) * (4.0 / 3.0 * price + 2.0)

    def __repr__(self):
        return f"AdaHedge({self.n_experts})"
