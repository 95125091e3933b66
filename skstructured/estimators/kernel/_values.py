"""Kernels by their parameters, and their values between rows and blocks of support rows."""

import math
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import pdist

from skstructured._base.quantiles import weighted_quantile
from skstructured._base.validation import check_integer, check_positive, check_real
from skstructured.estimators.kernel._value_kernels import (
    COSINE,
    KINDS,
    MULTISCALE,
    POLY,
    divide_by_norms,
    score_rows,
    values_of,
)

#: Support rows in a block.
BLOCK = 64

#: Rows whose distances the median is taken of.
SAMPLED = 500

#: Shares of ‖x‖² + ‖z‖² up to which ‖x − z‖² by products is rounding.
ROUNDING = 1e-13

#: The largest k(x, x), by the bytes of a number: sums of such values are far from overflow.
LARGEST_VALUE = {8: 1e150, 4: 1e18}


class KernelFunction(NamedTuple):
    """A kernel k(x, z), with the number that is added to it.

    Attributes
    ----------
    kind : int
        Place in `KINDS`.
    numbers : ndarray of shape (4,)
        γ, coef0, degree, and the constant added, 1 for an intercept.
    """

    kind: int
    numbers: np.ndarray

    def longest(self, dtype):
        """The largest norm of rows whose values are far from overflow; "poly" alone has one."""
        gamma, coef0, degree = np.abs(self.numbers[:3])
        if self.kind != POLY or gamma == 0.0 or degree < 1.0:
            return np.inf
        reach = LARGEST_VALUE[np.dtype(dtype).itemsize] ** (1.0 / degree)
        return math.sqrt(max(reach - coef0, 0.0) / gamma)

    def prepared(self, Z):
        """Rows as they are kept."""
        if self.kind != COSINE:
            return Z
        out = np.zeros_like(Z)
        divide_by_norms(Z, out)
        return out

    def add_scores(self, blocks, pieces, coefs, Z, out):
        """Out (n, dim) ← out + Σ_i coefs_i k(x_i, z), of every row z."""
        self._score(blocks, pieces, coefs, Z, np.empty((1, blocks.shape[2]), blocks.dtype), out)

    def gram(self, block, Z):
        """Kernels (n, BLOCK) of rows Z with those of one block."""
        values = np.empty((len(Z), block.shape[1]), dtype=block.dtype)
        nothing = np.empty((0, block.shape[1])), Z, values, np.empty((len(Z), 0))
        self._score(np.ascontiguousarray(block)[None], 1, *nothing)
        return values

    def _score(self, blocks, pieces, coefs, Z, values, out):
        values_at = values_of(self.kind, blocks.itemsize == 4)
        rest = np.ascontiguousarray(Z), values, out
        score_rows(values_at, self.numbers, blocks, pieces, coefs, *rest)


def check_cache_size(value):
    """Bytes of `cache_size` MiB; a ValueError unless it is a number at least 0."""
    size = check_real("cache_size", value, lambda v: v >= 0.0, "be at least 0")
    return min(size, 2.0**40) * 2**20


def finite_scores(theta, kernel):
    """Scores (n, dim) of rows; a ValueError names the first row for which the kernel overflows."""
    finite = np.isfinite(theta).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"Row {int(np.argmin(finite))} of X has scores that are not finite: kernel={kernel!r} "
            "overflows for features of this size."
        )
    return theta


def _sparse_distances(Z):
    """‖x − z‖² of all pairs of CSR rows, by products; 0 where nothing but rounding is left."""
    products = (Z @ Z.T).toarray()
    first, second = np.triu_indices(len(products), 1)
    norms = np.diag(products)[first] + np.diag(products)[second]
    squares = norms - 2.0 * products[first, second]
    return np.where(squares > ROUNDING * norms, squares, 0.0)


def counted_rows(weight, most):
    """Places of `most` rows of positive weight at most, drawn from a fixed seed, in order."""
    counted = np.flatnonzero(weight > 0.0)
    return counted[np.sort(np.random.RandomState(0).permutation(len(counted))[:most])]


def _median_distance(Z, weight):
    """Median ‖x − z‖² of rows that are not the same, among some of Z; 1 where there are none."""
    some = counted_rows(weight, SAMPLED)
    few, share = Z[some], weight[some] / weight[some].max()
    squares = _sparse_distances(few) if issparse(few) else pdist(few, "sqeuclidean")
    first, second = np.triu_indices(len(some), 1)
    pairs, apart = share[first] * share[second], squares > 0.0
    return float(weighted_quantile(squares, pairs * apart, 0.5)) if (pairs * apart).any() else 1.0


def inverse_variance(Z, weight):
    """1/(p var Z), as scikit-learn has "scale"; rows count as often as their `weight` says."""
    share, p = weight / weight.sum(), Z.shape[1]
    if issparse(Z):
        share = np.repeat(share, np.diff(Z.indptr))
        mean = share @ Z.data / p
        variance = share @ (Z.data - mean) ** 2 / p + (1.0 - share.sum() / p) * mean**2
    else:
        mean = (share @ Z).mean()
        variance = (share @ (Z - mean) ** 2).mean()
    return 1.0 / (p * (float(variance) if variance > 0.0 else 1.0))


def width_of(gamma, kernel, p, Z=None, weight=None):
    """γ, and whether it is the middle of three, from the parameter and, where known, the rows Z.

    These count as much as their weights.
    """
    if not isinstance(gamma, str):
        return check_positive("gamma", gamma), False
    if gamma not in ("scale", "multiscale"):
        raise ValueError(
            f'gamma must be a positive number, "scale" or "multiscale", got {gamma!r}.'
        )
    if gamma == "multiscale" and kernel == "rbf":
        return 1.0 / (2.0 * p if Z is None else _median_distance(Z, weight)), True
    return 1.0 / p if Z is None else inverse_variance(Z, weight), False


def kernel_function(kernel, width, coef0, degree, intercept):
    """The `KernelFunction` of parameters as scikit-learn has them; ValueErrors name them."""
    names = [name for name in KINDS if name != "multiscale"]
    if not (isinstance(kernel, str) and kernel in names):
        known = ", ".join(map(repr, names))
        raise ValueError(
            f"kernel must be one of {known}, 'precomputed', or a callable, got {kernel!r}."
        )
    check_integer("degree", degree)
    coef0 = check_real("coef0", coef0, math.isfinite, "be a number")
    if kernel == "arc-cosine" and coef0 < 0.0:
        raise ValueError(f"coef0 must be at least 0 with kernel='arc-cosine', got {coef0!r}.")
    gamma, multiscale = width
    kind = MULTISCALE if multiscale else KINDS.index(kernel)
    return KernelFunction(kind, np.array([gamma, coef0, float(degree), float(intercept)]))
