"""Rows and weights so large that a matrix kept as its inverse would lose its digits."""

import numpy as np

#: What a round adds to A may be so many times what A starts with: its inverse, from which the same
#: share is taken, keeps four digits of sixteen, and no direction in which it turns negative.
DIGITS = 1e12

#: Rows of such norms and weights are always within it, and are not looked at.
USUAL = 1e6


class RoundLimit:
    """How large the rounds ``A ← A + w^power h ⊗ xxᵀ`` of a learner may be, h ⪯ I, A = aI at first.

    Parameters
    ----------
    start : float
        a.
    power : {1, 2}
        Of the weight.
    name : str
        The parameter that a comes from, and its value.
    """

    def __init__(self, start, power, name):
        self.start, self.power, self.name = start, power, name

    @property
    def heaviest(self):
        """The largest weight for which rows need not be looked at."""
        return (USUAL * min(self.start, 1.0)) ** (1.0 / self.power)

    def check(self, Z, weight, places):
        """A ValueError for the first of the rows Z that is too large; `places` tell it in X."""
        norms = np.sqrt(np.einsum("ij,ij->i", Z, Z))
        longest = np.sqrt(DIGITS * self.start)
        fits = weight ** (0.5 * self.power) * norms <= longest
        if not fits.all():
            at = int(np.argmin(fits))
            size = "norm * sqrt(sample_weight)" if self.power == 1 else "norm * sample_weight"
            raise ValueError(
                f"Row {places[at]} of X has norm {norms[at]:.4g}, with the intercept and as "
                f"standardised, and sample_weight {weight[at]:.4g}: with {self.name}, {size} must "
                f"be at most {longest:.4g}, or the matrix that is inverted has no digit left. "
                "Divide all weights by their mean, or change the parameter."
            )


def concerned(limits, weight):
    """Those of the limits that rows of these weights may exceed."""
    heaviest = weight.max(initial=0.0)
    return [limit for limit in limits if heaviest > limit.heaviest]


def check_rounds(limits, Z, weight, places):
    """A ValueError for rows Z beyond one of the limits; `places` are their numbers in X."""
    for limit in limits:
        limit.check(Z, weight, places)
