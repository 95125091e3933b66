"""Narrower kernels than the median distance says, tried on some of many rows.

The more rows there are, the finer the structure that can be learned, and the median distance knows
nothing of that. A trial of some rows has the doubt in favour of narrow kernels: what these lack is
rows, and there are ten times as many.
"""

import numpy as np

from skstructured._learners.held_out import Trial

#: Of fewer rows trials would be short, and narrow kernels are ahead in those, but not in the end.
MANY = 100_000

#: By what γ is multiplied.
WIDTHS = (1.0, 4.0, 16.0)

#: The part of the rows that a trial learns, and as many are held out; at most so many.
PART, AT_MOST = 10, 30_000

#: Standard errors of the mean difference by which a narrower kernel may be worse than the best.
DOUBT = 2.0


def tried_gamma(learner, rounds, gamma):
    """γ times the last of `WIDTHS` that is not surely worse than the best of them."""
    learned, held_out = some_of(rounds)
    weight = rounds.weights[held_out]
    tried = [losses_of(learner, rounds, f * gamma, learned, held_out) for f in WIDTHS]
    best = min(tried, key=lambda losses: weight @ losses)
    good = (not surely_less(best, losses, weight) for losses in tried)
    return gamma * max(f for f, one in zip(WIDTHS, good, strict=True) if one)


def some_of(rounds):
    """Rows to learn, and others to hold out, of positive weight."""
    order = np.random.RandomState(0).permutation(np.flatnonzero(rounds.weights > 0.0))
    size = min(len(order) // PART, AT_MOST)
    return order[:size], order[size : 2 * size]


def losses_of(learner, rounds, gamma, learned, held_out):
    """Surrogate losses of the rows held out after one pass over the others."""
    trial = Trial(learner, rounds, held_out, np.sort(learned))
    features = trial.learner._model.scale.features
    features.set_width(gamma, features.square)
    trial.learn(1, np.random.RandomState(0))
    return trial.losses(1.0)


def surely_less(losses, others, weight):
    """Whether the mean is less by more than chance."""
    share = weight / weight.sum()
    less = others - losses
    mean = share @ less
    return bool(mean > DOUBT * np.sqrt(np.sum((share * (less - mean)) ** 2)))
