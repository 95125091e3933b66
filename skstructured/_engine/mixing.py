"""How the scores of several experts become one, and how the experts' weights follow their losses.

Weights are ``u`` of shape (groups, R, N): for each group of outputs that is mixed by itself, the
joint weights of R rates of sharing and N experts, which sum to 1. A round multiplies them by
``exp(−η ℓ)``; then each rate r shares, ``u_r ← (1 − α_r) u_r + α_r Σu_r/N``, and the rates share
among each other by the rate that thins out, so none is lost for ever.
"""

import math
from enum import IntEnum

import numpy as np

from skstructured._engine.arrays import Floats
from skstructured._engine.compiled import kernel
from skstructured._engine.enums import plain_integers
from skstructured._engine.simd import LOWEST_EXPONENT, exp_of


@plain_integers
class MixtureKind(IntEnum):
    """Probabilities of classes are mixed, or of each label by itself, or scores; or one expert."""

    CLASSES, LABELS, SCORES, ALONE = range(4)


@plain_integers
class MixtureTotal(IntEnum):
    """Entries of the vector of totals; the last four if some experts read only a few features."""

    # Rounds that counted; the largest weight of a round, 1 at least; and Δ of `learn_losses`.
    ROUNDS, HEAVIEST, GAP = range(3)
    # Rows of Θ in one block of experts, rows of it before those of experts that read the first
    # features alone, how many features these are, and ‖z‖² of them in the row scored last.
    SUBSET_BLOCK, SUBSET_START, SUBSET_WIDTH, SUBSET_SQ = range(3, 7)


#: Mixed probabilities are (1 − floor) p + floor/K: none is 0, and no loss is infinite.
PROBABILITY_FLOOR = 1e-9

#: A rate of sharing below 0 stands for `thinning`.
THINNING = -1.0


@kernel
def thinning(t):
    """α = min{½, 1/((t + 2) ln²(t + 2))}: −Σ_{t≥1} ln(1 − α_t) is below 1.9."""
    logarithm = math.log(t + 2.0)
    return min(0.5, 1.0 / ((t + 2.0) * logarithm * logarithm))


@kernel
def marginal(u, v):
    """v (N,) of one group: weights of the experts over all rates."""
    v[:] = 0.0
    for r in range(u.shape[0]):
        for b in range(u.shape[1]):
            v[b] += u[r, b]


@kernel
def mix(kind, u, theta, means, v, played):
    """Scores `played` (dim,) of N experts with scores theta and means (N, dim); `v` is scratch.

    ``ln Σ v q`` of classes, q the floored probabilities; the logit of ``Σ v q``; or ``Σ v θ``.
    """
    experts, dim = theta.shape
    played[:] = 0.0
    for k in range(dim):
        if k == 0 or kind == MixtureKind.LABELS:
            marginal(u[k if kind == MixtureKind.LABELS else 0], v)
        source = theta if kind == MixtureKind.SCORES else means
        for b in range(experts):
            played[k] += v[b] * source[b, k]
    if kind == MixtureKind.CLASSES:
        for k in range(dim):
            played[k] = math.log((1.0 - PROBABILITY_FLOOR) * played[k] + PROBABILITY_FLOOR / dim)
    elif kind == MixtureKind.LABELS:
        for k in range(dim):
            q = (1.0 - PROBABILITY_FLOOR) * played[k] + 0.5 * PROBABILITY_FLOOR
            played[k] = math.log(q / (1.0 - q))


@kernel
def shared(u, rates, t):
    """Each rate shares among the experts, and the rates among each other; u (R, N) sums to 1."""
    n_rates, experts = u.shape
    between = thinning(t)
    for r in range(n_rates):
        alpha = thinning(t) if rates[r] < 0.0 else rates[r]
        total = 0.0
        for b in range(experts):
            total += u[r, b]
        after = (1.0 - between) * total + between / n_rates
        stay_factor, even = (1.0 - alpha) / total if total > 0.0 else 0.0, alpha / experts
        if total == 0.0:
            even = 1.0 / experts
        for b in range(experts):
            u[r, b] = after * (stay_factor * u[r, b] + even)


@kernel
def multiplied(u, losses, eta):
    """u ← u e^{−η ℓ}/Z; returns −ln Z. Losses are taken less their least, which is added again."""
    least, total = losses[0], 0.0
    for b in range(losses.shape[0]):
        least = min(least, losses[b])
    for b in range(losses.shape[0]):
        factor = exp_of(max(-eta * (losses[b] - least), LOWEST_EXPONENT))
        for r in range(u.shape[0]):
            u[r, b] *= factor
            total += u[r, b]
    inverse = 1.0 / total
    for r in range(u.shape[0]):
        for b in range(losses.shape[0]):
            u[r, b] *= inverse
    return eta * least - math.log(total)


@kernel
def temper_weights(u, power):
    """u ← u^power/Z: weights of a smaller η, by this share of the one before."""
    total = 0.0
    for r in range(u.shape[0]):
        for b in range(u.shape[1]):
            u[r, b] = u[r, b] ** power
            total += u[r, b]
    for r in range(u.shape[0]):
        for b in range(u.shape[1]):
            u[r, b] /= total


@kernel
def lower_learning_rate(u, totals, weight):
    """η ← 1/max w, before the round is played: with a larger η the bound of the mixture fails."""
    if weight > totals[MixtureTotal.HEAVIEST]:
        for k in range(u.shape[0]):
            temper_weights(u[k], totals[MixtureTotal.HEAVIEST] / weight)
        totals[MixtureTotal.HEAVIEST] = weight


@kernel
def learn_log_losses(kind, u, rates, totals, means, truth, weight, losses, sums):
    """Weights after a round of log-losses; η = 1/max w, because log-loss times w is 1/w-mixable."""
    experts, dim = means.shape
    lower_learning_rate(u, totals, weight)
    heaviest = totals[MixtureTotal.HEAVIEST]
    totals[MixtureTotal.ROUNDS] += 1.0
    for k in range(dim):
        if kind == MixtureKind.CLASSES and truth[k] == 0.0:
            continue
        floor = PROBABILITY_FLOOR / (dim if kind == MixtureKind.CLASSES else 2)
        for b in range(experts):
            q = (1.0 - PROBABILITY_FLOOR) * means[b, k] + floor
            losses[b] = -weight * math.log(q if truth[k] > 0.0 else 1.0 - q)
            sums[b] += losses[b]
        group = u[k if kind == MixtureKind.LABELS else 0]
        multiplied(group, losses, 1.0 / heaviest)
        shared(group, rates, totals[MixtureTotal.ROUNDS])


@kernel
def learn_losses(u, rates, totals, losses, sums):
    """Weights after a round of any losses (N,), times its weight: AdaHedge that shares.

    η = ln(RN)/Δ; Δ grows by the mixability gap ``<v, ℓ> + ln(Σ u e^{−ηℓ})/η`` of each round.
    """
    experts = losses.shape[0]
    price, least, mean = math.log(u.shape[1] * experts), losses[0], 0.0
    totals[MixtureTotal.ROUNDS] += 1.0
    for b in range(experts):
        least = min(least, losses[b])
        sums[b] += losses[b]
    for b in range(experts):
        losses[b] -= least
        for r in range(u.shape[1]):
            mean += u[0, r, b] * losses[b]
    gap = totals[MixtureTotal.GAP]
    if gap > 0.0:
        eta = price / gap
        gap += max(0.0, mean - multiplied(u[0].copy(), losses, eta) / eta)
        temper_weights(u[0], totals[MixtureTotal.GAP] / gap)
        multiplied(u[0], losses, price / gap)  # by the new rate: the old one may be huge
    elif mean > 0.0:
        gap = mean
        multiplied(u[0], losses, price / gap)
    totals[MixtureTotal.GAP] = gap
    shared(u[0], rates, totals[MixtureTotal.ROUNDS])


def fresh_weights(groups: int, rates: int, experts: int) -> Floats:
    """Equal weights (groups, R, N)."""
    return np.full((groups, rates, experts), 1.0 / (rates * experts))
