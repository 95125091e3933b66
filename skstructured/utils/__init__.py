"""Checks for authors of learners, spaces and losses; compiling ahead."""

from skstructured.utils.checks import (
    check_learner,
    check_loss,
    check_space,
    learner_checks,
    loss_checks,
    space_checks,
)

__all__ = [
    "check_learner",
    "check_loss",
    "check_space",
    "learner_checks",
    "loss_checks",
    "space_checks",
]
