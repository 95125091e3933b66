"""Kernels of rows, and rows as the batch learners of margins read them."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from skstructured._base.ragged import Ragged
from skstructured._base.validation import check_real
from skstructured.estimators.kernel._user_kernels import CallableKernel, is_precomputed
from skstructured.estimators.kernel._values import finite_scores
from skstructured.sequences._decoding import Chains

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


class Found(NamedTuple):
    """The result of a fit.

    Attributes
    ----------
    dual : ndarray of shape (N, dim)
        Coefficients of rows or positions.
    W : ndarray of shape (p + intercept, dim) or None
        Weights, for the linear kernel.
    edges : tuple or None
        Of sequences: the weights of first and last labels (2, k), and of steps (k, k).
    """

    dual: np.ndarray
    W: np.ndarray | None
    edges: tuple | None = None


class Inputs(NamedTuple):
    """Rows Z (N, p) and their kernels K (N, N), or None for the linear one.

    `offsets` (n + 1,) are those of sequences, None where a row is an output of its own; `share`
    (n,) are the weights of outputs, of sum 1.
    """

    Z: object
    K: np.ndarray | None
    offsets: np.ndarray | None
    share: np.ndarray
    intercept: bool

    @property
    def n(self):
        """How many outputs."""
        return len(self.share)

    def rows(self, which):
        """Rows of the outputs `which`."""
        if self.offsets is None:
            return which
        return Ragged(np.empty(0), self.offsets).places(which)

    def of_rows(self, values):
        """Values (n,) of outputs, for each of their rows."""
        return values if self.offsets is None else np.repeat(values, np.diff(self.offsets))

    def squares(self):
        """k(x, x) of rows."""
        if self.K is not None:
            return np.diag(self.K).copy()
        Z = self.Z
        squares = Z.multiply(Z).sum(axis=1) if hasattr(Z, "indptr") else (Z * Z).sum(axis=1)
        return np.asarray(squares, dtype=np.float64).ravel() + float(self.intercept)

    def part(self, which):
        """The inputs of some outputs."""
        rows, offsets = self.rows(which), None
        if self.offsets is not None:
            offsets = np.r_[0, np.cumsum(np.diff(self.offsets)[which])]
        K = None if self.K is None else np.ascontiguousarray(self.K[np.ix_(rows, rows)])
        share = self.share[which] / self.share[which].sum()
        return Inputs(self.Z[rows], K, offsets, share, self.intercept)

    def scores(self, found, train, valid):
        """Scores of the outputs `valid` by what was found from those in `train`."""
        rows = self.rows(valid)
        if found.W is None:
            V = self.K[np.ix_(rows, self.rows(train))] @ found.dual
        else:
            V = with_weights(self.Z[rows], found.W)
        if self.offsets is None:
            return V
        return chains_of(V, np.r_[0, np.cumsum(np.diff(self.offsets)[valid])], *found.edges)


def with_weights(Z, W):
    """Scores of rows by weights (p + intercept, dim)."""
    V = np.asarray(Z @ W[: Z.shape[1]])
    return V + W[-1] if len(W) > Z.shape[1] else V


def weights_of(inputs, dual):
    """Weights (p + intercept, dim) of coefficients."""
    W = np.asarray(inputs.Z.T @ dual)
    return np.ascontiguousarray(np.vstack([W, dual.sum(axis=0)]) if inputs.intercept else W)


def chains_of(V, offsets, ends, steps):
    """`Chains` of the scores of positions alone, with those of edges."""
    unary = V.copy()
    unary[offsets[:-1]] += ends[0]
    unary[offsets[1:] - 1] += ends[1]
    return Chains(unary, offsets, steps[None])
