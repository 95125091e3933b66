"""Checks of a custom optimizer, as a linear learner uses it."""

import numpy as np

from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.utils._learner_checks import LearnerTrial

#: Passes over the rows of a convex problem.
PASSES = 20


class OptimizerTrial(LearnerTrial):
    """A linear learner with the optimizer, and its stream."""

    def __init__(self, optimizer):
        super().__init__(OnlineStructuredPredictor(optimizer=optimizer))


def check_loss_falls(trial):
    """The convex loss of rows that are learned again and again is not larger than at the start."""
    model, rounds = trial.begun()
    start = model.play(rounds, trial.every, 0).surrogate.mean()
    model.learn(rounds, np.tile(trial.every, PASSES))
    end = model.play(rounds, trial.every, 0).surrogate.mean()
    assert end <= start * (1.0 + 1e-9), (
        f"the loss of {trial.n} rows grew from {start:.3g} to {end:.3g} in {PASSES} passes: steps "
        "must go against the gradient, and be small enough"
    )
