"""Warnings and errors of the package."""


class GuaranteeWarning(UserWarning):
    """The learner works, but no theorem covers its configuration.

    See Also
    --------
    GuaranteeError : Raised if a bound is requested for such a configuration.
    """


class GuaranteeError(ValueError):
    """No theorem gives this learner the requested bound; the message gives the reason.

    See Also
    --------
    GuaranteeWarning : Issued by `fit` if no theorem covers the configuration.
    """
