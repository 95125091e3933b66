"""Learners of one pass over weighted rows: `fit` and `partial_fit`."""

import numpy as np
from sklearn.utils import check_random_state

from skstructured._base.validation import check_bool, own_arrays, unchanged_on_error


def fit_one_pass(learner, X, y, sample_weight, **given):
    """Have a learner learn one pass from scratch; an error leaves it as it was.

    A learner has ``_first(X, y, classes, sample_weight, stream)``, which restarts it, and
    ``resume(X, y, sample_weight)``, both of which return a `Batch`; and ``_learn(rounds, order)``.
    `given` are metadata for ``_learn``.
    """
    shuffle = getattr(learner, "shuffle", True)
    check_bool("shuffle", shuffle)
    with unchanged_on_error(learner, aside=True) as new:
        rounds = new._first(X, y, None, sample_weight, stream=False)
        rng = getattr(new, "random_state_", None) or check_random_state(learner.random_state)
        new._learn(rounds, rounds.order(rng if shuffle else None), **given)
    learner._warn_diagnostics()


def learn_stream(learner, X, y, classes, sample_weight, **given):
    """Have a learner learn rows in their order; a first call that fails leaves it as it was."""
    first = not hasattr(learner, "classes_")
    with unchanged_on_error(learner, first) as new:
        if first:
            rounds = new._first(X, y, classes, sample_weight, stream=True)
            new._learn(rounds, np.arange(len(rounds.packed)), **given)
        else:
            if classes is not None:
                learner.space_.check_classes(classes)
            rounds = learner.resume(X, y, sample_weight)
    if not first:
        own_arrays(learner)
        learner._learn(rounds, np.arange(len(rounds.packed)), **given)
    learner._warn_diagnostics()
