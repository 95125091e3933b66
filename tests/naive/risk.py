"""The risk certificate, literally: every mean from the definition, anew in every round."""

import functools
import math


def risk_bounds(losses, delta, horizon=None):
    """Bound after every round, and its weights; a `horizon` of None is any time."""
    weights, bounds = [], []
    for t in range(1, len(losses) + 1):
        past, n = losses[: t - 1], t * math.log(1 + t) if horizon is None else horizon
        guesses = [guess(losses[:s]) for s in range(t)]
        squares = [(loss - m) ** 2 for loss, m in zip(losses, guesses, strict=False)]
        variance = (0.25 + math.fsum(squares[: len(past)])) / t
        weights.append(min(0.75, math.sqrt(-2 * math.log(delta) / (variance * n))))
        raised = [w * loss for w, loss in zip(weights, losses, strict=False)]
        paid = [excess(w) * sq for w, sq in zip(weights, squares, strict=True)]
        total = math.fsum(raised) - math.log(delta) + math.fsum(paid)
        bounds.append(min(1.0, total / math.fsum(weights)))
    return weights, bounds


def guess(past):
    """m_t, given the losses before round t."""
    return (0.5 + math.fsum(past)) / (len(past) + 1)


@functools.cache
def excess(weight):
    """ψ(λ) = −ln(1 − λ) − λ, by its series: no digits cancel."""
    return math.fsum(weight**k / k for k in range(2, 200))


def rises(losses, delta):
    """Numbers of losses after which a rise of the risk is found: every bet is kept apart."""
    found, since = [], 0
    while (after := first_rise(losses[since:], delta, len(found))) is not None:
        since += after
        found.append(since)
    return found


def first_rise(losses, delta, i):
    """Losses until the bets of the i-th test are worth 1: a bet per start and share c."""
    half = delta / (2 * (i + 1) * (i + 2))
    starts, bounds = [], [1.0]
    for t, loss in enumerate(losses, 1):
        m = sum(4**j <= t for j in range(16))
        starts.append([half * (t**-0.125 - (t + 1) ** -0.125) / m] * m)
        least = min(bounds)
        for bets in starts:
            bets[:] = [b * (1 - 0.5**j + 0.5**j * loss / least) for j, b in enumerate(bets)]
        if math.fsum(map(math.fsum, starts)) >= 1.0:
            return t
        for k in range(t.bit_length()):
            level = half / (8 * (k + 1) * (k + 2))
            bounds += mean_bounds(losses[2**k - 1 : t], level)
    return None


def mean_bounds(losses, level):
    """Bounds on the mean risk, each of this level, for λ = 3/4, 3/8, …"""
    n, paid = len(losses), sum_of_squares(tuple(losses))
    for weight in (0.75 * 0.5**j for j in range(8)):
        width = (-math.log(level) + excess(weight) * paid) / weight
        yield (math.fsum(losses) + width) / n


@functools.cache
def sum_of_squares(losses):
    """Σ (L_t − m_t)²."""
    if not losses:
        return 0.0
    return sum_of_squares(losses[:-1]) + (losses[-1] - guess(losses[:-1])) ** 2
