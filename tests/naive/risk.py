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
    """Numbers of losses after which a rise of the risk is found: every sum anew in every round."""
    found, since, start, k, least = [], 0, 0, 0, 1.0
    for t in range(1, len(losses) + 1):
        opposite = [1.0 - loss for loss in losses[start:t]]
        below = 1.0 - risk_bounds(opposite, delta / (2 * (k + 1) * (k + 2)))[1][-1]
        rose, full = below > least, t == start + max(8, start // 4)
        if rose:
            found, since, least = [*found, t], t, 1.0
        elif full:
            i = len(found)
            above = risk_bounds(losses[since:t], delta / (2 * (i + 1) * (i + 2)))[1][-1]
            least = min(least, above)
        if rose or full:
            start, k = t, k + 1
    return found
