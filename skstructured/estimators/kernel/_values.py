"""Values of kernels between one row and a block of support rows, which lie side by side.

A block is (p, BLOCK): the same feature of all its rows is contiguous, loops over rows become
vectors, and every value is a sum over the features in their order, whatever else is computed with
it. So it is the same in chunks of any size.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import pdist

from skstructured._base.validation import check_integer, check_positive, check_real
from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.exponential import exp_of

#: Support rows in a block.
BLOCK = 64

#: Kernels that are computed here, by their place; "multiscale" is the mean of three "rbf".
#: Rows are divided by their norms before "cosine", which is then the same as "linear".
KINDS = ("linear", "rbf", "multiscale", "poly", "sigmoid", "laplacian", "cosine")
LINEAR, RBF, MULTISCALE, POLY, SIGMOID, LAPLACIAN, COSINE = range(7)

#: Rows whose distances the median is taken of.
SAMPLED = 500

#: Exponents below them are 0 in float64 anyway, and in float32 hardly more.
SMALLEST_EXPONENT, SMALLEST_SINGLE = -700.0, -80.0

#: The largest k(x, x), by the bytes of a number: sums of such values are far from overflow.
LARGEST_VALUE = {8: 1e150, 4: 1e18}


@kernel(fastmath=FASTMATH)
def _products(block, z, out):
    """Out = <x_i, z> of every row of the block, four features to a sweep."""
    quads = z.shape[0] // 4 * 4
    for i in range(out.shape[0]):
        out[i] = 0.0
    for a in range(0, quads, 4):
        x0, x1, x2, x3 = block[a], block[a + 1], block[a + 2], block[a + 3]
        z0, z1, z2, z3 = z[a], z[a + 1], z[a + 2], z[a + 3]
        for i in range(out.shape[0]):
            out[i] += (x0[i] * z0 + x1[i] * z1) + (x2[i] * z2 + x3[i] * z3)
    for a in range(quads, z.shape[0]):
        for i in range(out.shape[0]):
            out[i] += block[a, i] * z[a]


@kernel(fastmath=FASTMATH)
def _squared_distances(block, z, out):
    """Out = ‖x_i − z‖² of every row of the block, by differences: near rows lose no digits."""
    quads = z.shape[0] // 4 * 4
    for i in range(out.shape[0]):
        out[i] = 0.0
    for a in range(0, quads, 4):
        x0, x1, x2, x3 = block[a], block[a + 1], block[a + 2], block[a + 3]
        z0, z1, z2, z3 = z[a], z[a + 1], z[a + 2], z[a + 3]
        for i in range(out.shape[0]):
            d0, d1, d2, d3 = x0[i] - z0, x1[i] - z1, x2[i] - z2, x3[i] - z3
            out[i] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)
    for a in range(quads, z.shape[0]):
        for i in range(out.shape[0]):
            d = block[a, i] - z[a]
            out[i] += d * d


@kernel(fastmath=FASTMATH)
def _distances(block, z, out):
    """Out = Σ_a |x_ia − z_a| of every row of the block."""
    for i in range(out.shape[0]):
        out[i] = 0.0
    for a in range(z.shape[0]):
        for i in range(out.shape[0]):
            out[i] += abs(block[a, i] - z[a])


@kernel(fastmath={"contract"})
def _exponentials(factor, out):
    """Out ← exp(−factor out)."""
    smallest = SMALLEST_SINGLE if out.itemsize == 4 else SMALLEST_EXPONENT
    for i in range(out.shape[0]):
        out[i] = exp_of(max(-factor * out[i], smallest))


@kernel(fastmath={"contract"})
def _fourth_powers(out):
    """Out ← (out + out⁴ + out¹⁶)/3: of exp(−γd²/4) the mean of kernels with γ/4, γ and 4γ."""
    for i in range(out.shape[0]):
        once = out[i] * out[i] * out[i] * out[i]
        out[i] = (out[i] + once + once * once * once * once) / 3.0


@kernel(fastmath={"contract"})
def _three_exponentials(factor, out):
    """Both of these for float32, whose fourth powers would be too small for it."""
    for i in range(out.shape[0]):
        value = exp_of(max(-factor * out[i], SMALLEST_SINGLE))
        once = value * value * value * value
        out[i] = (value + once + once * once * once * once) / 3.0


@kernel
def kernel_values(kind, numbers, block, z, out):
    """Out = k(x_i, z) + constant; `numbers` is (γ, coef0, degree, constant)."""
    gamma, coef0, degree = numbers[0], numbers[1], numbers[2]
    if kind in (RBF, MULTISCALE):
        _squared_distances(block, z, out)
        if kind == RBF:
            _exponentials(gamma, out)
        elif out.itemsize == 4:
            _three_exponentials(0.25 * gamma, out)
        else:
            _exponentials(0.25 * gamma, out)
            _fourth_powers(out)
    elif kind == LAPLACIAN:
        _distances(block, z, out)
        _exponentials(gamma, out)
    else:
        _products(block, z, out)
        for i in range(out.shape[0]):
            if kind == POLY:
                out[i] = (gamma * out[i] + coef0) ** degree
            elif kind == SIGMOID:
                out[i] = math.tanh(gamma * out[i] + coef0)
    if numbers[3] != 0.0:
        for i in range(out.shape[0]):
            out[i] += numbers[3]


@kernel(fastmath=FASTMATH)
def _add_scores(coefs, start, values, out):
    """Out_k ← out_k + Σ_i coefs_k,start+i values_i."""
    for k in range(out.shape[0]):
        row, total = coefs[k, start : start + values.shape[0]], 0.0
        for i in range(values.shape[0]):
            total += row[i] * values[i]
        out[k] += total


@kernel
def score_rows(kind, numbers, blocks, pieces, coefs, Z, out):
    """Out (n, dim) ← out + Σ over the rows of the first blocks of coefficient times kernel."""
    size = blocks.shape[2]
    values = np.empty(size, dtype=blocks.dtype)
    for m in range(pieces):
        for r in range(Z.shape[0]):
            kernel_values(kind, numbers, blocks[m], Z[r], values)
            _add_scores(coefs, m * size, values, out[r])


@kernel
def gram_rows(kind, numbers, block, Z, out):
    """Out (n, BLOCK) = kernels of rows with those of one block."""
    for r in range(Z.shape[0]):
        kernel_values(kind, numbers, block, Z[r], out[r])


@kernel
def divide_by_norms(Z, out):
    """Out = the rows of Z divided by their norms, by their largest entries first; zeros stay."""
    for r in range(Z.shape[0]):
        largest, square = 0.0, 0.0
        for a in range(Z.shape[1]):
            largest = max(largest, abs(np.float64(Z[r, a])))
        if largest == 0.0:
            continue
        for a in range(Z.shape[1]):
            square += (Z[r, a] / largest) ** 2
        norm = math.sqrt(square)
        for a in range(Z.shape[1]):
            out[r, a] = Z[r, a] / largest / norm


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
        score_rows(self.kind, self.numbers, blocks, pieces, coefs, Z, out)

    def gram(self, block, Z):
        """Kernels (n, BLOCK) of rows Z with those of one block."""
        out = np.empty((len(Z), block.shape[1]), dtype=block.dtype)
        gram_rows(self.kind, self.numbers, block, Z, out)
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
