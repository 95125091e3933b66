"""How learners read a new X."""

from skstructured._base.documented import Documented
from skstructured._base.validation import check_finite, read_rows


class ReadsRows(Documented):
    """Rows of matrices; what reads other things stands before it."""

    def _rows_of(self, X, reset=False):
        """Rows of a new X."""
        return read_rows(self, X, reset=reset)

    def _check_rows(self, rows, fresh=False):
        """Rows that are not finite, or out of range, raise a ValueError."""
        check_finite(self, rows, fresh=fresh)
