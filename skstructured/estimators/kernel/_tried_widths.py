"""Narrower kernels than the median distance says, tried on some of many rows.

The more rows there are, the finer the structure that can be learned, and the median distance knows
nothing of that. γ is multiplied by what rows held out are lost least with.
"""

import numpy as np

from skstructured._learners.held_out import Trial

#: Of fewer rows trials would be short, and narrow kernels are ahead in those, but not in the end.
MANY = 200_000

#: By what γ is multiplied.
WIDTHS = (1.0, 2.0, 4.0, 8.0, 16.0)

#: The part of the rows that a trial learns, and as many are held out; at most so many.
PART, AT_MOST = 20, 20_000


def tried_gamma(learner, rounds, gamma):
    """γ times the one of `WIDTHS` that loses least, the first of equal ones."""
    learned, held_out = some_of(rounds)
    weight = rounds.weights[held_out]
    tried = [losses_of(learner, rounds, f * gamma, learned, held_out) for f in WIDTHS]
    return gamma * WIDTHS[int(np.argmin([losses @ weight for losses in tried]))]


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
