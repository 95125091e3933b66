"""Checks for authors of components; compiling ahead."""

from skstructured.utils.checks import (
    check_decoder,
    check_loss,
    check_optimizer,
    check_space,
    loss_checks,
    space_checks,
)

__all__ = [
    "check_decoder",
    "check_loss",
    "check_optimizer",
    "check_space",
    "loss_checks",
    "space_checks",
]
