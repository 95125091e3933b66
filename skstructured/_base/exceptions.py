"""Warnings and errors of the package's own."""

__all__ = ["GuaranteeError", "GuaranteeWarning"]


class GuaranteeWarning(UserWarning):
    """The learner works, but no theorem covers its configuration."""


class GuaranteeError(ValueError):
    """A bound was asked for that no theorem gives for this learner; the message says why."""
