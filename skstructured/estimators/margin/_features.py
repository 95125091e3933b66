"""Kernels of rows."""

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from skstructured._base.validation import check_real
from skstructured.estimators.kernel._foreign import CallableKernel, is_precomputed
from skstructured.estimators.kernel._values import finite_scores

#: Kernels by name.
NAMES = sorted(PAIRWISE_KERNEL_FUNCTIONS)

#: Numbers in a block of kernels between new rows and those of `fit`.
NUMBERS = 1 << 24


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
        if is_precomputed(self.kernel):
            Z = Z.toarray() if sparse.issparse(Z) else Z
            values = Z[:, rows]
        elif callable(self.kernel):
            dense = [R.toarray() if sparse.issparse(R) else R for R in (Z, rows)]
            values = CallableKernel(self.kernel, 0.0).values(*dense)
        else:
            values = pairwise_kernels(
                Z, rows, metric=self.kernel, filter_params=True, **self.parameters
            )
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


def check_memory(n, cache_size):
    """A ValueError, with its size, for a matrix (n, n) that is larger than `cache_size` MiB."""
    check_size(f"matrix of kernels of {n} rows", n * n, cache_size)


def check_size(what, numbers, cache_size):
    """A ValueError where so many numbers take more than `cache_size` MiB."""
    size = 8.0 * numbers / 2**30
    if size > cache_size / 1024.0:
        raise ValueError(
            f"The {what} takes {size:.3g} GiB, and cache_size={cache_size} MiB allows "
            f"{cache_size / 1024.0:.3g}: raise it, use fewer rows, or kernel='linear'."
        )
