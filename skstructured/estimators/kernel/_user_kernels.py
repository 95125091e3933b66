"""Kernels that users give, by scikit-learn's names, as functions, or as precomputed matrices."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from skstructured._base.validation import check_real
from skstructured.estimators.kernel._values import finite_scores

#: Kernels by name.
NAMES = sorted(PAIRWISE_KERNEL_FUNCTIONS)

#: Numbers in a block of kernels between new rows and those of `fit`.
NUMBERS = 1 << 24


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


class Kernel:
    """k(x, z) + constant of standardised rows, by name, by a function, or computed before.

    Parameters
    ----------
    kernel : str or callable
    gamma, degree, coef0 : float
        As in scikit-learn; gamma is a number.
    constant : float
        Added to all values, 1 for an intercept.
    """

    def __init__(self, kernel, gamma, degree, coef0, constant):
        self.kernel, self.constant = kernel, constant
        self.parameters = {"gamma": gamma, "degree": degree, "coef0": coef0}

    def __call__(self, Z, rows):
        """Kernels (n, m); of a computed matrix the columns `rows`."""
        own = foreign_kernel(self.kernel, self.constant)
        if own is not None:
            dense = [R.toarray() if issparse(R) else R for R in (Z, rows)]
            return np.ascontiguousarray(own.values(*dense))
        given = {"filter_params": True, **self.parameters}
        values = pairwise_kernels(Z, rows, metric=self.kernel, **given)
        values = np.ascontiguousarray(values, dtype=np.float64)
        values += self.constant
        return values

    def scores(self, Z, rows, coefficients):
        """Σ_i k(z, x_i) coefficients_i of every row z, some at a time; as `finite_scores`."""
        out = np.zeros((Z.shape[0], coefficients.shape[1]))
        if len(coefficients) == 0:  # no row is kept, and kernels with none are refused
            return out
        size = max(NUMBERS // max(len(coefficients), 1), 1)
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, Z.shape[0], size):
                out[start : start + size] = self(Z[start : start + size], rows) @ coefficients
        return finite_scores(out, self.kernel)


def check_kernel(kernel, gamma, degree, coef0):
    """Raise a ValueError for an unknown kernel or a bad parameter of one."""
    known = isinstance(kernel, str) and kernel in ("precomputed", *NAMES)
    if not (known or callable(kernel)):
        raise ValueError(
            f"kernel must be one of {', '.join(map(repr, NAMES))}, 'precomputed', or a callable, "
            f"got {kernel!r}."
        )
    if not (gamma is None or (isinstance(gamma, str) and gamma == "scale")):
        check_real("gamma", gamma, lambda v: 0.0 < v < np.inf, 'be a positive number or "scale"')
    check_real("degree", degree, lambda v: 0.0 < v < np.inf, "be a positive number")
    check_real("coef0", coef0, np.isfinite, "be a number")
