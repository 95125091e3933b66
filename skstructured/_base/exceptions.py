"""Warnings and errors of the package."""

__all__ = ["GuaranteeError", "GuaranteeWarning"]


class GuaranteeWarning(UserWarning):
    """The learner works, but no theorem covers its configuration."""


class GuaranteeError(ValueError):
    """No theorem gives this learner the requested bound; the message gives the reason."""
