"""Rows longer than R: refused, or rescaled."""

import math

import numpy as np

from skstructured._validation import check_choice, check_positive


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
        self.refuses = long_rows == "refuse"

    def apply(self, Z, live=True):
        """Rows (n, p), rescaled if asked for, and the place of the first that is refused, or n.

        Rows that are not `live` are not learned, and so never refused.
        """
        if self.R == math.inf:
            return Z, len(Z)
        norms = np.sqrt(np.einsum("ij,ij->i", Z, Z))
        long = norms > self.R * (1.0 + 1e-12)
        if self.refuses and (long & live).any():
            return Z, int(np.argmax(long & live))
        factors = self.R / np.maximum(norms, self.R)
        return Z * factors[:, None], len(Z)

    def refuse(self, row):
        """Raise the ValueError for a row that is too long."""
        raise ValueError(
            f"Row {row} of X has a norm, with the intercept and as standardised, above "
            f"R={self.R:g}: give a larger R, None to learn it, or long_rows='rescale'."
        )
