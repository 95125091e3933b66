"""Kernels by their parameters, and their values between rows and blocks of support rows."""

import math
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import pdist

from skstructured._base.validation import check_integer, check_positive, check_real
from skstructured._engine.compiled import FASTMATH, kernel
from skstructured.estimators.kernel._value_kernels import (
    COSINE,
    KINDS,
    MULTISCALE,
    POLY,
    divide_by_norms,
    gram_rows,
    score_rows,
    values_of,
)

#: Support rows in a block.
BLOCK = 64

#: Rows whose distances the median is taken of.
SAMPLED = 500

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
        values = values_of(self.kind, blocks.itemsize == 4)
        score_rows(values, self.numbers, blocks, pieces, coefs, np.ascontiguousarray(Z), out)

    def gram(self, block, Z):
        """Kernels (n, BLOCK) of rows Z with those of one block."""
        out = np.empty((len(Z), block.shape[1]), dtype=block.dtype)
        values, block = values_of(self.kind, block.itemsize == 4), np.ascontiguousarray(block)
        gram_rows(values, self.numbers, block, np.ascontiguousarray(Z), out)
        return out


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


def _median_distance(Z):
    """Median ‖x − z‖² of rows that are not the same, among some of Z; 1 where there are none."""
    few = Z[np.random.RandomState(0).permutation(len(Z))[:SAMPLED]]
    squares = pdist(few, "sqeuclidean")
    apart = squares[squares > 0.0]
    return float(np.median(apart)) if len(apart) else 1.0


def width_of(gamma, kernel, p, Z=None):
    """γ, and whether it is the middle of three, from the parameter and, where known, the rows Z."""
    if not isinstance(gamma, str):
        return check_positive("gamma", gamma), False
    if gamma not in ("scale", "multiscale"):
        raise ValueError(
            f'gamma must be a positive number, "scale" or "multiscale", got {gamma!r}.'
        )
    if gamma == "multiscale" and kernel == "rbf":
        return 1.0 / (2.0 * p if Z is None else _median_distance(Z)), True
    variance = 1.0 if Z is None else float(np.var(Z, dtype=np.float64))
    return 1.0 / (p * (variance if variance > 0.0 else 1.0)), False


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
    gamma, multiscale = width
    kind = MULTISCALE if multiscale else KINDS.index(kernel)
    return KernelFunction(kind, np.array([gamma, coef0, float(degree), float(intercept)]))


#: Columns of kernels that are summed in single precision, before sums go on in double.
STRETCH = 512


@kernel(fastmath={"reassoc", "nsz", "nnan"})
def _largest(values):
    most = 0.0
    for i in range(values.shape[0]):
        most = max(most, abs(values[i]))
    return most


@kernel
def single_coefs(coefs, out, largest):
    """Out = coefs divided by the largest of each output; sums of products are far from overflow."""
    for k in range(out.shape[0]):
        largest[k] = _largest(coefs[k])
        unit = 1.0 / largest[k] if largest[k] > 1e-300 else 0.0
        for i in range(out.shape[1]):
            out[k, i] = coefs[k, i] * unit


@kernel(fastmath=FASTMATH)
def _four_by_two(g0, g1, g2, g3, c, d, sums, k):
    """Add products of four rows of kernels with two of coefficients to sums (4, c) at k, k + 1."""
    zero = np.float32(0.0)
    a0, a1, a2, a3 = zero, zero, zero, zero
    b0, b1, b2, b3 = zero, zero, zero, zero
    for i in range(c.shape[0]):
        a0 += g0[i] * c[i]
        a1 += g1[i] * c[i]
        a2 += g2[i] * c[i]
        a3 += g3[i] * c[i]
        b0 += g0[i] * d[i]
        b1 += g1[i] * d[i]
        b2 += g2[i] * d[i]
        b3 += g3[i] * d[i]
    sums[0, k] += a0
    sums[1, k] += a1
    sums[2, k] += a2
    sums[3, k] += a3
    if k + 1 < sums.shape[1]:
        sums[0, k + 1] += b0
        sums[1, k + 1] += b1
        sums[2, k + 1] += b2
        sums[3, k + 1] += b3


@kernel
def kept_scores(gram, index, coefs, largest, out):
    """Out (n, c) = rows of kept kernels at `index` times coefficients, as `single_coefs` left them.

    Four rows and two outputs go together, so that what is loaded is used more than once; the last
    row and output stand for those that are not there.
    """
    n, dim, count, last = len(index), coefs.shape[0], coefs.shape[1], len(index) - 1
    sums = np.zeros((n + 3, dim))
    for start in range(0, count, STRETCH):
        stop = min(start + STRETCH, count)
        for r in range(0, n, 4):
            g0, g1 = gram[index[r], start:stop], gram[index[min(r + 1, last)], start:stop]
            g2 = gram[index[min(r + 2, last)], start:stop]
            g3 = gram[index[min(r + 3, last)], start:stop]
            for k in range(0, dim, 2):
                c, d = coefs[k, start:stop], coefs[min(k + 1, dim - 1), start:stop]
                _four_by_two(g0, g1, g2, g3, c, d, sums[r : r + 4], k)
    for r in range(n):
        for k in range(dim):
            out[r, k] = sums[r, k] * largest[k]


@kernel
def kept_kernels(gram, index, places, out):
    """Out (n, BLOCK) = kept kernels of rows with those of the block, and zeros behind them."""
    for r in range(len(index)):
        for j in range(len(places)):
            out[r, j] = gram[index[r], places[j]]
        for j in range(len(places), out.shape[1]):
            out[r, j] = 0.0


@kernel
def add_rows(coefs, index, own):
    """Coefs (c, rows) at `index` ← those + own (n, c); a row may be there twice."""
    for r in range(len(index)):
        for k in range(coefs.shape[0]):
            coefs[k, index[r]] += own[r, k]


def kept_products(gram, index, coefs):
    """Σ_i coefs_i k(x_i, z) of rows z at `index` of kept kernels, (n, c): to single precision.

    Coefficients are divided by the largest of each output; sums go on in double precision.
    """
    single, largest = np.empty(coefs.shape, dtype=np.float32), np.empty(len(coefs))
    single_coefs(coefs, single, largest)
    out = np.empty((len(index), len(coefs)))
    kept_scores(gram, index, single, largest, out)
    return out
