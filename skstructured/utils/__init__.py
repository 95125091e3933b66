"""Checks for authors of learners and of their components; compiling ahead."""

from skstructured.utils.checks import (
    check_decoder,
    check_learner,
    check_loss,
    check_optimizer,
    check_space,
    learner_checks,
    loss_checks,
    space_checks,
)

__all__ = [
    "check_decoder",
    "check_learner",
    "check_loss",
    "check_optimizer",
    "check_space",
    "learner_checks",
    "loss_checks",
    "space_checks",
]
