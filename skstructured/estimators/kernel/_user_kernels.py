"""Kernels that users give: functions, and precomputed matrices."""

from typing import NamedTuple

import numpy as np


class CallableKernel(NamedTuple):
    """A function ``kernel(X, Z)`` that returns the kernels (n, m) of all pairs, as `SVC` takes it.

    Attributes
    ----------
    function : callable
        The function.
    constant : float
        Added to every value, 1 for an intercept.
    """

    function: object
    constant: float

    def longest(self):
        """Rows may be of any length, for all that is known."""
        return np.inf

    def prepared(self, Z):
        """Rows as they are."""
        return Z

    def values(self, Z, rows):
        """Kernels (n, m) of rows Z with `rows`; a ValueError for what the function may not return.

        It may not write to the rows, which are those that are kept.
        """
        wanted = len(Z), len(rows)
        values = np.asarray(self.function(_read_only(Z), _read_only(rows)))
        if values.shape != wanted:
            self._refuse(f"an array of shape {wanted} for {wanted[0]} and {wanted[1]} rows", values)
        if values.dtype.kind not in "biuf":
            self._refuse("real numbers", values)
        values = values.astype(np.float64, copy=False)
        if not np.isfinite(values).all():
            r, i = np.argwhere(~np.isfinite(values))[0]
            raise ValueError(
                f"kernel={self.function!r} must return finite numbers, got {values[r, i]} for the "
                f"rows {Z[r]} and {rows[i]}."
            )
        return values + self.constant

    def _refuse(self, wanted, values):
        given = f"an array of {values.dtype} of shape {values.shape}"
        raise ValueError(f"kernel={self.function!r} must return {wanted}, got {given}.")


def _read_only(rows):
    view = rows.view()
    view.flags.writeable = False
    return view


class PrecomputedKernel(NamedTuple):
    """Rows are those of a matrix of kernels, whose columns stand for the rows of `fit`.

    Attributes
    ----------
    constant : float
        Added to every value, 1 for an intercept.
    """

    constant: float

    def longest(self):
        """Rows may be of any length, for all that is known."""
        return np.inf

    def prepared(self, Z):
        """Rows as they are."""
        return Z

    def values(self, Z, columns):
        """Kernels (n, m) of rows Z with the rows that these columns stand for."""
        return Z[:, columns].astype(np.float64, copy=False) + self.constant


def is_precomputed(kernel):
    """Whether the parameter `kernel` says that rows are those of a matrix of kernels."""
    return isinstance(kernel, str) and kernel == "precomputed"


def foreign_kernel(kernel, intercept):
    """The kernel of a parameter that names none of those computed here; None if it names one."""
    if is_precomputed(kernel):
        return PrecomputedKernel(float(intercept))
    return CallableKernel(kernel, float(intercept)) if callable(kernel) else None
