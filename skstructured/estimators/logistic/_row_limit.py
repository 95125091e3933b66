"""Rows longer than R: refused, or rescaled."""

import math

import numpy as np

from skstructured._base.validation import check_choice, check_positive

#: Largest entry of a new row as transformed, whose square is far from inf.
WIDEST = 1e60


class RowLimit:
    """The parameters `R` and `long_rows` of a learner.

    Parameters
    ----------
    R : float or None
        Largest norm of a row, the intercept's 1 included; None takes any.
    long_rows : {"refuse", "rescale"}
        What happens to longer ones.
    """

    def __init__(self, R, long_rows):
        check_choice("long_rows", long_rows, ("refuse", "rescale"))
        self.R = math.inf if R is None else check_positive("R", R)
        self.refuses = long_rows == "refuse" and math.inf > self.R

    def check(self, Z, places, live=True):
        """A ValueError for the first of rows Z that is too long; `places` are their numbers in X.

        Rows that are not `live` are not learned, and so never refused.
        """
        norms = self._norms(Z)
        long = (norms > self.R * (1.0 + 1e-12)) & live
        if long.any():
            at = int(np.argmax(long))
            raise ValueError(
                f"Row {places[at]} of X has norm {norms[at]:.4g}, with the intercept and as "
                f"standardised, above R={self.R:g}: give a larger R, None for no limit, or "
                "long_rows='rescale'."
            )

    def shortened(self, Z):
        """Rows (n, p), those that are too long divided until their norm is R."""
        if math.inf == self.R:
            return Z
        return Z * (self.R / np.maximum(self._norms(Z), self.R))[:, None]

    def cut(self, Z):
        """New rows, `shortened`; before, entries beyond `WIDEST` are cut.

        A feature that was tiny in all rows learned is huge as transformed.
        """
        return self.shortened(np.clip(Z, -WIDEST, WIDEST))

    def _norms(self, Z):
        return np.sqrt(np.einsum("ij,ij->i", Z, Z))
