"""Kernels by their parameters, their values between rows and blocks of support rows, and those
that users give: by scikit-learn's names, as functions, or as precomputed matrices.
"""

import math
from collections.abc import Callable
from enum import IntEnum
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

from skstructured._base.component import Component, parameters
from skstructured._base.validation import check_integer, check_positive, check_real, is_precomputed
from skstructured._engine.compiled import FASTMATH, kernel, plain_integers
from skstructured._engine.robust_columns import weighted_quantile
from skstructured._engine.simd import acos_of, exp_of
from skstructured._engine.state import clear


@kernel(inline=True)
def arc_cosine(product, x_sq, z_sq):
    """``√(x_sq z_sq) (sin θ + (π − θ) cos θ)/π``, θ the angle between the rows.

    Double precision, and sin² θ as (1 − cos θ)(1 + cos θ): rows that are near lose no digits.
    """
    size = math.sqrt(x_sq) * math.sqrt(z_sq)
    cosine = min(max(product / (size if size > 0.0 else 1.0), -1.0), 1.0)
    sine = math.sqrt((1.0 - cosine) * (1.0 + cosine))
    angle = acos_of(abs(cosine))
    return size * (sine + (math.pi - angle if cosine > 0.0 else angle) * cosine) / math.pi


@plain_integers
class KernelKind(IntEnum):
    """Kernels that are computed here.

    "multiscale" is the mean of three "rbf". Rows are divided by their norms before "cosine", which
    is then the same as "linear".
    """

    LINEAR, RBF, MULTISCALE, POLY, SIGMOID, LAPLACIAN, COSINE, ARC_COSINE = range(8)


def _products_or_squares_of_arrays(squares, block, z, out):
    out[:] = ((block - z[:, None]) ** 2).sum(axis=0) if squares else z @ block


@kernel(fastmath=FASTMATH, python=_products_or_squares_of_arrays)
def _products_or_squares(squares, block, z, out):
    """Out = <x_i, z> of every row x_i of a block, or with `squares` ‖x_i − z‖².

    Four features to a sweep; by differences, so near rows lose no digits.
    """
    quads = z.shape[0] // 4 * 4
    clear(out)
    for a in range(0, quads, 4):
        x0, x1, x2, x3 = block[a], block[a + 1], block[a + 2], block[a + 3]
        z0, z1, z2, z3 = z[a], z[a + 1], z[a + 2], z[a + 3]
        if squares:
            for i in range(out.shape[0]):
                d0, d1, d2, d3 = x0[i] - z0, x1[i] - z1, x2[i] - z2, x3[i] - z3
                out[i] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)
        else:
            for i in range(out.shape[0]):
                out[i] += (x0[i] * z0 + x1[i] * z1) + (x2[i] * z2 + x3[i] * z3)
    for a in range(quads, z.shape[0]):
        for i in range(out.shape[0]):
            d = block[a, i] - z[a]
            out[i] += d * d if squares else block[a, i] * z[a]


def _distances_of_arrays(block, z, out):
    out[:] = np.abs(block - z[:, None]).sum(axis=0)


@kernel(fastmath=FASTMATH, python=_distances_of_arrays)
def _distances(block, z, out):
    """Out = Σ_a |x_ia − z_a| of every row of the block."""
    clear(out)
    for a in range(z.shape[0]):
        for i in range(out.shape[0]):
            out[i] += abs(block[a, i] - z[a])


def _finish_arrays(kind, numbers, x_sq, z_sq, out):
    gamma, coef0, degree, constant = numbers
    if kind in (KernelKind.RBF, KernelKind.LAPLACIAN):
        out[...] = np.exp(-gamma * out)
    elif kind == KernelKind.MULTISCALE:
        widest = np.exp(-0.25 * gamma * out)
        out[...] = (widest + widest**4 + widest**16) / 3.0
    elif kind == KernelKind.POLY:
        out[...] = (gamma * out + coef0) ** degree
    elif kind == KernelKind.SIGMOID:
        out[...] = np.tanh(gamma * out + coef0)
    elif kind == KernelKind.ARC_COSINE:
        size = np.sqrt(x_sq + coef0) * np.sqrt(z_sq + coef0)
        cosine = np.clip((out + coef0) / np.where(size > 0.0, size, 1.0), -1.0, 1.0)
        sine = np.sqrt((1.0 - cosine) * (1.0 + cosine))
        out[...] = size * (sine + (np.pi - np.arccos(cosine)) * cosine) / np.pi
    out += constant


@kernel(fastmath={"contract"}, python=_finish_arrays)
def finish(kind, numbers, x_sq, z_sq, out):
    """Out: products of rows x with z, or their distances, become kernels plus the constant.

    The squared norms x_sq (rows,) and z_sq are needed for "arc-cosine" alone; "multiscale" is
    ``(e + e⁴ + e¹⁶)/3`` of ``e = exp(−γ‖x−z‖²/4)``.
    """
    gamma, coef0, degree, constant = numbers[0], numbers[1], numbers[2], numbers[3]
    if kind in (KernelKind.RBF, KernelKind.MULTISCALE, KernelKind.LAPLACIAN):
        factor = 0.25 * gamma if kind == KernelKind.MULTISCALE else gamma
        for i in range(out.shape[0]):
            out[i] = exp_of(max(-factor * out[i], -700.0))
    if kind == KernelKind.MULTISCALE:
        for i in range(out.shape[0]):
            once = out[i] * out[i] * out[i] * out[i]
            out[i] = (out[i] + once + once * once * once * once) / 3.0
    elif kind == KernelKind.POLY:
        for i in range(out.shape[0]):
            out[i] = (gamma * out[i] + coef0) ** degree
    elif kind == KernelKind.SIGMOID:
        for i in range(out.shape[0]):
            out[i] = math.tanh(gamma * out[i] + coef0)
    elif kind == KernelKind.ARC_COSINE:
        for i in range(out.shape[0]):
            out[i] = arc_cosine(out[i] + coef0, x_sq[i] + coef0, z_sq + coef0)
    if constant != 0.0:
        for i in range(out.shape[0]):
            out[i] += constant


@kernel
def block_values(kind, numbers, block, z, out):
    """Out = k(x_i, z) + constant of every row of the block, by differences of rows."""
    squares, square = out[:0], 0.0
    if kind == KernelKind.LAPLACIAN:
        _distances(block, z, out)
    else:
        _products_or_squares(kind in (KernelKind.RBF, KernelKind.MULTISCALE), block, z, out)
    if kind == KernelKind.ARC_COSINE:
        squares = np.zeros(out.shape[0])
        for a in range(z.shape[0]):
            square += z[a] * z[a]
            for i in range(out.shape[0]):
                squares[i] += np.float64(block[a, i]) * block[a, i]
    finish(kind, numbers, squares, square, out)


def _finish_products_of_arrays(kind, numbers, x_sq, z_sq, out):
    if kind in (KernelKind.RBF, KernelKind.MULTISCALE):
        np.maximum(x_sq[:, None] + z_sq - 2.0 * out, 0.0, out=out)
    finish(kind, numbers, z_sq, x_sq[:, None], out)


@kernel(steps=0.05, python=_finish_products_of_arrays)
def finish_products(kind, numbers, x_sq, z_sq, out):
    """Out (n, m): products of rows x with rows z become kernels, by their squared norms."""
    for r in range(out.shape[0]):
        row = out[r]
        if kind in (KernelKind.RBF, KernelKind.MULTISCALE):
            for i in range(row.shape[0]):
                row[i] = max(x_sq[r] + z_sq[i] - 2.0 * row[i], 0.0)
        finish(kind, numbers, z_sq, x_sq[r], row)


def _add_scores_of_arrays(coefs, start, values, out):
    out += coefs[:, start : start + len(values)] @ values


@kernel(fastmath=FASTMATH, python=_add_scores_of_arrays)
def _add_scores(coefs, start, values, out):
    """Out_k ← out_k + Σ_i coefs_k,start+i values_i."""
    for k in range(out.shape[0]):  # a call of `inner` takes longer
        row, total = coefs[k, start : start + values.shape[0]], 0.0
        for i in range(values.shape[0]):
            total += row[i] * values[i]
        out[k] += total


def steps_of_scores(kind, numbers, blocks, pieces, coefs, Z, values, out):
    """Products of features of all pairs of rows."""
    return pieces * len(Z) * blocks.shape[1] * blocks.shape[2]


@kernel(steps=steps_of_scores)
def score_rows(kind, numbers, blocks, pieces, coefs, Z, values, out):
    """Out (n, dim) ← out + Σ over the rows of the first blocks of coefficient times kernel.

    Kernels of row r with a block go to values (n or 1, rows of a block), in row r if there is one.
    """
    size = blocks.shape[2]
    for m in range(pieces):
        for r in range(Z.shape[0]):
            here = values[min(r, values.shape[0] - 1)]
            block_values(kind, numbers, blocks[m], Z[r], here)
            _add_scores(coefs, m * size, here, out[r])


#: Support rows in a block.
SUPPORT_BLOCK = 64


@parameters
class Kernel(Component):
    """A kernel k(x, z), with its parameters and the memory that a learner may use for it.

    The `kernel` of a learner also accepts the name or the function alone, if all other parameters
    have their defaults.

    Parameters
    ----------
    function : str or callable, default="rbf"
        Name of a kernel, a function ``kernel(X, Z)``, or "precomputed": see
        `KernelStructuredPredictor`.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=1.0
        Constant added in "poly" and "sigmoid", and to <x, z> and squared norms in "arc-cosine". In
        "arc-cosine" it is one more feature, √coef0, without which all planes contain 0; so it must
        be at least 0.
    fit_intercept : bool or "auto", default="auto"
        Whether to add 1 to the kernel. "auto" has an intercept if weights of features are learned:
        with random features, which always have one, and with the "linear" kernel of
        `PiSTOLClassifier`, `PiSTOLRegressor` and their baselines. Most other kernels learn more
        slowly with it.
    cache_size : float, default=500
        Memory in MiB in which `fit` keeps the kernels of all pairs of rows between passes, in
        single precision minus their mean: 11,000 rows need 484. If they do not fit, kernels are
        recomputed in each pass.

    Raises
    ------
    ValueError
        By the learner, when used, for a parameter out of its range.

    See Also
    --------
    KernelStructuredPredictor : The learner with kernels over any output space.
    PiSTOLClassifier : A kernel classifier with one function per class.
    PiSTOLRegressor : Robust and quantile regression with kernels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import Kernel, KernelStructuredPredictor
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelStructuredPredictor(kernel=Kernel("poly", degree=2), random_state=0)
    >>> model.fit(X, y).score(X, y) > 0.9
    True
    """

    function: str | Callable = "rbf"
    degree: int = 3
    coef0: float = 1.0
    fit_intercept: bool | Literal["auto"] = "auto"
    cache_size: float = 500


def kernel_of(learner):
    """The `Kernel` of a learner's parameter, a name or function with all else as usual."""
    kernel = learner.kernel
    return kernel if isinstance(kernel, Kernel) else Kernel(kernel)


def intercept_of(learner, auto):
    """Whether the `Kernel` of a learner has an intercept; `auto` decides for "auto"."""
    fit_intercept = kernel_of(learner).fit_intercept
    if isinstance(fit_intercept, str) and fit_intercept == "auto":
        return auto
    if not isinstance(fit_intercept, (bool, np.bool_)):
        raise ValueError(f'fit_intercept must be a bool or "auto", got {fit_intercept!r}.')
    return bool(fit_intercept)


class KernelFunction(NamedTuple):
    """A kernel k(x, z) of a `KernelKind`; numbers (4,) are γ, coef0, degree, and the constant."""

    kind: int
    numbers: np.ndarray

    def longest(self):
        """The largest norm of rows with k(x, x) ≤ 1e150, far from overflow, of "poly" alone."""
        gamma, coef0, degree = np.abs(self.numbers[:3])
        if self.kind != KernelKind.POLY or gamma == 0.0 or degree < 1.0:
            return np.inf
        reach = 1e150 ** (1.0 / degree)
        return math.sqrt(max(reach - coef0, 0.0) / gamma)

    def prepared(self, Z):
        """Rows as stored: for "cosine" divided by their norms, by largest entries first."""
        if self.kind != KernelKind.COSINE:
            return Z
        largest = np.abs(Z).max(axis=1, keepdims=True).astype(np.float64)
        shares = Z / np.where(largest > 0.0, largest, 1.0)
        norms = np.sqrt(np.cumsum(shares**2, axis=1)[:, -1:])  # 0, or 1 at least
        return (shares / np.maximum(norms, 1.0)).astype(Z.dtype)

    def scores(self, blocks, pieces, coefs, Z, values=None):
        """Σ_i coefs_i k(x_i, z) (n, dim) of every row z; `values` as `score_rows` has them."""
        values = np.empty((1, blocks.shape[2])) if values is None else values
        Z, out = np.ascontiguousarray(Z, dtype=np.float64), np.zeros((len(Z), len(coefs)))
        score_rows(self.kind, self.numbers, blocks, pieces, coefs, Z, values, out)
        return out

    def gram(self, block, Z):
        """Kernels (n, SUPPORT_BLOCK) of rows Z with those of one block."""
        size = block.shape[1]
        values = np.empty((len(Z), size))
        self.scores(np.ascontiguousarray(block)[None], 1, np.empty((0, size)), Z, values)
        return values

    def has_products(self, Z, tol=1e-9):
        """Whether kernels of rows Z by products of matrices are exact to `tol`."""
        slopes = {KernelKind.RBF: 1.0, KernelKind.MULTISCALE: 4.0, KernelKind.LAPLACIAN: np.inf}
        steepest = slopes.get(self.kind, 0.0)
        largest = np.einsum("ij,ij->i", Z, Z).max(initial=0.0)
        error = 8.0 * np.finfo(np.float64).eps * largest
        return steepest == 0.0 or steepest * self.numbers[0] * error <= tol

    def by_products(self, X, Z, less):
        """Kernels (n, m) of rows X with rows Z, both in float64, less a number, by BLAS."""
        out, numbers = X @ Z.T, self.numbers - np.array([0.0, 0.0, 0.0, less])
        squares = (np.einsum("ij,ij->i", rows, rows) for rows in (X, Z))
        finish_products(self.kind, numbers, *squares, out)
        return out


def check_cache_size(value):
    """Bytes of `cache_size` MiB; a ValueError unless it is a number at least 0."""
    size = check_real("cache_size", value, lambda v: v >= 0.0, "be at least 0")
    return min(size, 2.0**40) * 2**20


def check_square(shape):
    """A ValueError unless a matrix of kernels is square."""
    if shape[0] != shape[1]:
        raise ValueError(
            "kernel='precomputed' needs the square matrix of kernels of all pairs of training "
            f"rows, got X of shape {tuple(shape)}."
        )


def check_positive_definite(square, kernel, row):
    """A ValueError if k(x, x) is negative for a row of X."""
    if square < 0.0:
        raise ValueError(
            f"kernel={kernel!r} is not positive definite: k(x, x) = {square:.4g} for row "
            f"{row} of X."
        )


def finite_scores(theta, kernel):
    """Scores (n, dim) of rows; a ValueError names the first row for which the kernel overflows."""
    finite = np.isfinite(theta).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"The scores of row {int(np.argmin(finite))} of X are not finite: kernel={kernel!r} "
            "overflows. Rescale the features."
        )
    return theta


def counted_rows(weight, most):
    """Places of `most` rows of positive weight at most, drawn from a fixed seed, in order."""
    counted = np.flatnonzero(weight > 0.0)
    return counted[np.sort(np.random.RandomState(0).permutation(len(counted))[:most])]


def _median_distance(Z, weight, most_rows=500):
    """Median ‖x − z‖² of different rows, among some of Z; 1 if all are the same."""
    indices = counted_rows(weight, most_rows)
    sample, share = Z[indices], weight[indices] / weight[indices].max()
    squares = pdist(sample, "sqeuclidean")
    first, second = np.triu_indices(len(indices), 1)
    pairs, apart = share[first] * share[second], squares > 0.0
    return float(weighted_quantile(squares, pairs * apart, 0.5)) if (pairs * apart).any() else 1.0


def inverse_variance(Z, weight):
    """1/(p var Z), as for scikit-learn's "scale"; rows are weighted by `weight`."""
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
    """γ, and whether it is the middle of three, from the parameter and any weighted rows Z."""
    gamma = "multiscale" if gamma is None else gamma
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
    kinds = {name.lower().replace("_", "-"): kind for name, kind in KernelKind._asdict().items()}
    del kinds["multiscale"]  # "rbf" by its gamma
    if not (isinstance(kernel, str) and kernel in kinds):
        valid_names = ", ".join(map(repr, kinds))
        raise ValueError(
            f"kernel must be one of {valid_names}, 'precomputed', or a callable, got {kernel!r}."
        )
    check_integer("degree", degree)
    gamma, multiscale = width
    kind = KernelKind.MULTISCALE if multiscale else kinds[kernel]
    least, requirement = -math.inf, "be a number"
    if kernel == "arc-cosine":
        least, requirement = 0.0, "be at least 0 with kernel='arc-cosine'"
    coef0 = check_real("coef0", coef0, lambda v: math.isfinite(v) and v >= least, requirement)
    return KernelFunction(kind, np.array([gamma, coef0, float(degree), float(intercept)]))


class ForeignKernel(NamedTuple):
    """A function ``kernel(X, Z)`` of the user's plus a constant; None is a matrix of kernels.

    Rows are then those of a matrix, whose columns correspond to the rows of `fit`.
    """

    function: Any
    constant: float

    def longest(self):
        """Rows may be of any length, for all that is known."""
        return np.inf

    def prepared(self, Z):
        """Rows, unchanged."""
        return Z

    def values(self, Z, rows):
        """Kernels (n, m) of rows Z with `rows`, or with columns of a matrix of kernels.

        A ValueError for invalid values of the function, which must not write to the stored rows.
        """
        if self.function is None:
            return Z[:, rows].astype(np.float64, copy=False) + self.constant
        shape = len(Z), len(rows)
        values = np.asarray(self.function(_read_only(Z), _read_only(rows)))
        if values.shape != shape:
            self._refuse(f"an array of shape {shape} for {shape[0]} and {shape[1]} rows", values)
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

    def _refuse(self, requirement, values):
        description = f"an array of {values.dtype} of shape {values.shape}"
        raise ValueError(f"kernel={self.function!r} must return {requirement}, got {description}.")


def _read_only(rows):
    view = rows.view()
    view.flags.writeable = False
    return view


def summed(values, Z, coefs, step):
    """Kernels ``values(Z)`` times coefficients (m, c), for `step` rows Z at a time."""
    out = np.zeros((Z.shape[0], coefs.shape[1]))
    if len(coefs) == 0:  # no row is kept, and kernels with none are refused
        return out
    for start in range(0, Z.shape[0], step):
        out[start : start + step] = values(Z[start : start + step]) @ coefs
    return out


def foreign_kernel(kernel, intercept):
    """The kernel of a parameter that names none of those computed here; None if it names one."""
    if is_precomputed(kernel) or callable(kernel):
        return ForeignKernel(kernel if callable(kernel) else None, float(intercept))
    return None


class PairwiseKernel:
    """k(x, z) + constant of standardized rows, by name, by a function, or precomputed."""

    def __init__(self, kernel, gamma, degree, coef0, constant):
        self.kernel, self.constant = kernel, constant
        self.parameters = {"gamma": gamma, "degree": degree, "coef0": coef0, "filter_params": True}

    def __call__(self, Z, rows):
        """Kernels (n, m); of a computed matrix the columns `rows`."""
        custom_kernel = foreign_kernel(self.kernel, self.constant)
        if custom_kernel is not None:
            dense = [R.toarray() if issparse(R) else R for R in (Z, rows)]
            return np.ascontiguousarray(custom_kernel.values(*dense))
        values = pairwise_kernels(Z, rows, metric=self.kernel, **self.parameters)
        values = np.ascontiguousarray(values, dtype=np.float64)
        values += self.constant
        return values

    def scores(self, Z, rows, coefficients):
        """Σ_i k(z, x_i) coefficients_i of every row z, some at a time; as `finite_scores`."""
        step = max((1 << 24) // max(len(coefficients), 1), 1)
        with np.errstate(over="ignore", invalid="ignore"):
            out = summed(lambda chunk: self(chunk, rows), Z, coefficients, step)
        return finite_scores(out, self.kernel)


def check_pairwise_kernel(kernel, gamma, degree, coef0):
    """Raise a ValueError for an unknown kernel or a bad parameter of one."""
    names = sorted(PAIRWISE_KERNEL_FUNCTIONS)
    is_name = isinstance(kernel, str) and kernel in ("precomputed", *names)
    if not (is_name or callable(kernel)):
        raise ValueError(
            f"kernel must be one of {', '.join(map(repr, names))}, 'precomputed', or a callable, "
            f"got {kernel!r}."
        )
    if not (gamma is None or (isinstance(gamma, str) and gamma == "scale")):
        check_real("gamma", gamma, lambda v: 0.0 < v < np.inf, 'be a positive number or "scale"')
    check_real("degree", degree, lambda v: 0.0 < v < np.inf, "be a positive number")
    check_real("coef0", coef0, np.isfinite, "be a number")
