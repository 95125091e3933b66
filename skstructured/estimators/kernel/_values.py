"""Kernels by their parameters, and their values between rows and blocks of support rows."""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import float32, types
from scipy.sparse import issparse
from scipy.spatial.distance import pdist

from skstructured._base.quantiles import weighted_quantile
from skstructured._base.validation import check_integer, check_positive, check_real
from skstructured._engine.addresses import (
    READ_MATRIX,
    READ_SINGLE_VECTOR,
    READ_VECTOR,
    VECTOR,
    address,
    function_for,
)
from skstructured._engine.compiled import FASTMATH, is_compiled, kernel
from skstructured._engine.simd import exp_of
from skstructured._learners.pass_selection import Trial


@kernel
def arc_cosine(product, x_sq, z_sq):
    """``√(x_sq z_sq) (sin θ + (π − θ) cos θ)/π``, θ the angle whose cosine a product of rows says.

    Double precision, and sin² θ as (1 − cos θ)(1 + cos θ): rows that are near lose no digits.
    """
    size = math.sqrt(x_sq) * math.sqrt(z_sq)
    if size == 0.0:
        return 0.0
    cosine = min(max(product / size, -1.0), 1.0)
    sine = math.sqrt((1.0 - cosine) * (1.0 + cosine))
    return size * (sine + (math.pi - math.acos(cosine)) * cosine) / math.pi


#: Kernels that are computed here, by their place; "multiscale" is the mean of three "rbf".
#: Rows are divided by their norms before "cosine", which is then the same as "linear".
KINDS = ("linear", "rbf", "multiscale", "poly", "sigmoid", "laplacian", "cosine", "arc-cosine")
LINEAR, RBF, MULTISCALE, POLY, SIGMOID, LAPLACIAN, COSINE, ARC_COSINE = range(8)

#: Exponents below them are 0 in float64 anyway, and in float32 hardly more.
SMALLEST_EXPONENT, SMALLEST_SINGLE = -700.0, -80.0

SINGLE_VECTOR = float32[::1]
READ_SINGLE_MATRIX = types.Array(float32, 2, "C", readonly=True)

#: values(numbers, block, z, out): out = k(x_i, z) + constant of every row of the block, with the
#: `numbers` (γ, coef0, degree, constant).
VALUES = types.FunctionType(types.void(READ_VECTOR, READ_MATRIX, READ_VECTOR, VECTOR))
SINGLE_VALUES = types.FunctionType(
    types.void(READ_VECTOR, READ_SINGLE_MATRIX, READ_SINGLE_VECTOR, SINGLE_VECTOR)
)

#: The kernel at an address, for blocks of a type.
as_values = function_for(VALUES, SINGLE_VALUES)


@kernel(fastmath=FASTMATH)
def products(block, z, out):
    """Out = <x_i, z> of every row x_i of a block, four features to a sweep."""
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
def _add_constant(numbers, out):
    if numbers[3] != 0.0:
        for i in range(out.shape[0]):
            out[i] += numbers[3]


@kernel
def _linear_values(numbers, block, z, out):
    products(block, z, out)
    _add_constant(numbers, out)


@kernel
def _rbf_values(numbers, block, z, out):
    _squared_distances(block, z, out)
    _exponentials(numbers[0], out)
    _add_constant(numbers, out)


@kernel
def _multiscale_values(numbers, block, z, out):
    _squared_distances(block, z, out)
    _exponentials(0.25 * numbers[0], out)
    _fourth_powers(out)
    _add_constant(numbers, out)


@kernel
def _single_multiscale_values(numbers, block, z, out):
    _squared_distances(block, z, out)
    _three_exponentials(0.25 * numbers[0], out)
    _add_constant(numbers, out)


@kernel
def _poly_values(numbers, block, z, out):
    products(block, z, out)
    for i in range(out.shape[0]):
        out[i] = (numbers[0] * out[i] + numbers[1]) ** numbers[2]
    _add_constant(numbers, out)


@kernel
def _sigmoid_values(numbers, block, z, out):
    products(block, z, out)
    for i in range(out.shape[0]):
        out[i] = math.tanh(numbers[0] * out[i] + numbers[1])
    _add_constant(numbers, out)


@kernel
def _laplacian_values(numbers, block, z, out):
    _distances(block, z, out)
    _exponentials(numbers[0], out)
    _add_constant(numbers, out)


@kernel
def _add_squares(block, squares):
    """Squares (rows,) ← + ‖x_i‖² of every row of a block, features in their order."""
    for a in range(block.shape[0]):
        for i in range(squares.shape[0]):
            squares[i] += np.float64(block[a, i]) * block[a, i]


@kernel
def _arc_cosine_values(numbers, block, z, out):
    products(block, z, out)
    coef0, squares = numbers[1], np.zeros(out.shape[0])
    _add_squares(block, squares)
    square = 0.0
    for a in range(z.shape[0]):
        square += np.float64(z[a]) * z[a]
    for i in range(out.shape[0]):
        out[i] = arc_cosine(out[i] + coef0, squares[i] + coef0, square + coef0)
    _add_constant(numbers, out)


_VALUES = {
    LINEAR: _linear_values,
    RBF: _rbf_values,
    MULTISCALE: _multiscale_values,
    POLY: _poly_values,
    SIGMOID: _sigmoid_values,
    LAPLACIAN: _laplacian_values,
    COSINE: _linear_values,
    ARC_COSINE: _arc_cosine_values,
}


def values_of(kind: int, single: bool) -> Any:
    """What loops are handed of a kind of kernel, for blocks of float32 or float64."""
    found = _single_multiscale_values if single and kind == MULTISCALE else _VALUES[kind]
    return address(found, SINGLE_VALUES if single else VALUES) if is_compiled(found) else found


@kernel(fastmath=FASTMATH)
def _add_scores(coefs, start, values, out):
    """Out_k ← out_k + Σ_i coefs_k,start+i values_i."""
    for k in range(out.shape[0]):
        row, total = coefs[k, start : start + values.shape[0]], 0.0
        for i in range(values.shape[0]):
            total += row[i] * values[i]
        out[k] += total


@kernel
def score_rows(values_at, numbers, blocks, pieces, coefs, Z, values, out):
    """Out (n, dim) ← out + Σ over the rows of the first blocks of coefficient times kernel.

    Kernels of row r with a block go to values (n or 1, rows of a block), its last row where it has
    none for r.
    """
    kernel_values, size = as_values(values_at, blocks), blocks.shape[2]
    for m in range(pieces):
        for r in range(Z.shape[0]):
            here = values[min(r, values.shape[0] - 1)]
            kernel_values(numbers, blocks[m], Z[r], here)
            _add_scores(coefs, m * size, here, out[r])


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


#: Of fewer rows trials would be short, and narrow kernels are ahead in those, but not in the end.
MANY = 200_000

#: By what γ is multiplied.
WIDTHS = (1.0, 2.0, 4.0, 8.0, 16.0)

#: The part of the rows that a trial learns, and as many are held out; at most so many.
PART, AT_MOST = 20, 20_000


def tried_gamma(learner, rounds, gamma):
    """γ times the one of `WIDTHS` that loses least, the first of equal ones."""
    learned, held_out = some_of(rounds)
    weight = rounds.weights[held_out]
    tried = [losses_of(learner, rounds, f * gamma, learned, held_out) for f in WIDTHS]
    return gamma * WIDTHS[int(np.argmin([losses @ weight for losses in tried]))]


def some_of(rounds):
    """Rows to learn, and others to hold out, of positive weight."""
    order = np.random.RandomState(0).permutation(np.flatnonzero(rounds.weights > 0.0))
    size = min(len(order) // PART, AT_MOST)
    return order[:size], order[size : 2 * size]


def losses_of(learner, rounds, gamma, learned, held_out):
    """Surrogate losses of the rows held out after one pass over the others."""
    trial = Trial(learner, rounds, held_out, np.sort(learned))
    features = trial.learner._model.scale.features
    features.set_width(gamma, features.square)
    trial.learn(1, np.random.RandomState(0))
    return trial.losses(1.0)
