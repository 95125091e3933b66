"""The risk certificate, literally: every mean from the definition, anew in every round."""

import functools
import math

import numpy as np


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


def rises(losses, delta, run_length=None):
    """Numbers of losses after which a rise of the risk is found: every bet is kept apart."""
    places = [0]
    while (after := first_rise(losses[places[-1] :], places[-1], delta, run_length)) is not None:
        places.append(places[-1] + after)
    return places[1:]


def first_rise(losses, offset, delta, run_length):
    """Losses until the last three bases support a rise by 1, each by its worst level."""
    bases, start, earlier, due, share = [], 0, 0, 8, 0.0
    for t, loss in enumerate(losses, 1):
        if bases:
            bases[-1].begin(share)
        bases = bases[-3:]
        if sum(base.support(loss) for base in bases) >= 1.0:
            return t
        if t == due:
            if earlier and fell(losses, start, earlier, t):
                start, earlier, due = t, 0, t + 8
            else:
                bases.append(Base(losses[start:t]))
                earlier, due = t, start + math.ceil(1.4 * (t - start))
            share = share_of(delta, run_length, offset + t, due - t)
    return None


def share_of(delta, run_length, done, rows):
    """What each of the next rows starts to bet."""
    if run_length is not None:
        return delta / run_length
    return delta * ((done + 1) ** -0.125 - (done + rows + 1) ** -0.125) / rows


def fell(losses, start, earlier, t):
    """Whether the risk since the last base is below the mean of all, by evidence of 6."""
    guesses = [guess(losses[start:s]) for s in range(earlier, t)]
    squares = math.fsum((x - m) ** 2 for x, m in zip(losses[earlier:t], guesses, strict=True))
    return level(losses[earlier:t], squares, 6.0) < math.fsum(losses[start:t]) / (t - start)


def level(losses, squares, evidence):
    """The least r for which one of the λ gives this evidence that the risk is below r."""
    n, total = len(losses), math.fsum(losses)
    bounds = [(total + (evidence + excess(w) * squares) / w) / n for w in lambdas(n)]
    return min(1.0, *bounds)


def lambdas(n):
    """¾, ⅜, …, eight at most, those that are at least 2/√n, but ¾ always."""
    return [0.75] + [0.75 * 0.5**j for j in range(1, 8) if 0.75 * 0.5**j >= 2.0 / math.sqrt(n)]


class Base:
    """Losses to compare with: the bets of every start against every level are kept apart."""

    def __init__(self, losses):
        squares, n = sum_of_squares(tuple(losses)), len(losses)
        deviation = math.sqrt((0.25 + squares) / (n + 1))
        self.prior, self.starts = 1.0 / (len(lambdas(n)) + 1), []
        evidences = [k / 2.0 for k in range(1, 29)]
        self.risks = [level(losses, squares, evidence) for evidence in evidences]
        below = next((k for k, risk in enumerate(self.risks) if risk == 1.0), len(evidences))
        self.risks = np.array([*self.risks[:below], 1.0])
        self.evidence = np.array([0.0, *evidences])[: below + 1]
        stakes = [0.0] + [0.7 * 0.5**j for j in range(5)]
        self.stakes = np.minimum(0.5, np.outer(stakes, self.risks / deviation))

    def begin(self, share):
        parts = np.array([1.0, 3.0, 6.0, 7.0, 4.0, 2.0]) / 23.0
        self.starts.append(share * np.outer(parts, np.ones(len(self.risks))))

    def support(self, loss):
        """The least of e to the evidence for the level before times what is bet on a level."""
        for bets in self.starts:
            bets *= 1.0 + self.stakes * (loss / self.risks - 1.0)
        worth = np.sum(self.starts, axis=(0, 1))
        return self.prior * np.min(np.exp(self.evidence) * worth)


@functools.cache
def sum_of_squares(losses):
    """Σ (L_t − m_t)²."""
    if not losses:
        return 0.0
    return sum_of_squares(losses[:-1]) + (losses[-1] - guess(losses[:-1])) ** 2
