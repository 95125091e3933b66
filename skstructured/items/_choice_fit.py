"""The fit of a conditional logit: scaled items, weights, their covariances, and its errors."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from skstructured._base.ragged import row_blocks
from skstructured.extend._types import Array, Floats, Ints, Matrix


def probabilities(theta: Floats, offsets: Ints) -> tuple[Floats, Floats]:
    """Softmax (N,) of the scores of each round, and the logarithms (N,) of the same."""
    starts, lengths = offsets[:-1], np.diff(offsets)
    shifted = theta - np.repeat(np.maximum.reduceat(theta, starts), lengths)
    powers = np.exp(shifted)
    sums = np.add.reduceat(powers, starts)
    return powers / np.repeat(sums, lengths), shifted - np.repeat(np.log(sums), lengths)


class Point(NamedTuple):
    """Weights (p,), the objective and its gradient there, scores and probabilities (N,)."""

    weights: Floats
    value: float
    gradient: Floats
    theta: Floats
    proba: Floats


class Likelihood:
    """``Σ_t c_t (−ln p_w(chosen item of t)) + ½ Σ_j r_j w_j²`` with c = `share` that sums to 1.

    Round t has the rows ``offsets[t]:offsets[t + 1]`` of Z (N, p), `chosen` is one of them, and r
    (p,) is the `ridge`.
    """

    #: Numbers in a block of rows that is centered at a time.
    numbers_per_block = 1 << 21

    def __init__(
        self, Z: Matrix, offsets: Ints, chosen: Ints, share: Floats, ridge: Floats
    ) -> None:
        self.Z, self.offsets, self.chosen, self.share = Z, offsets, chosen, share
        self.ridge, self.lengths = ridge, np.diff(offsets)
        self.spread = np.repeat(share, self.lengths)

    def point(self, weights: Floats) -> Point:
        """The objective at some weights."""
        theta = self.Z @ weights
        proba, logs = probabilities(theta, self.offsets)
        value = -self.share @ logs[self.chosen] + 0.5 * self.ridge @ weights**2
        gaps = self.spread * proba
        gaps[self.chosen] -= self.share
        return Point(weights, float(value), self.Z.T @ gaps + self.ridge * weights, theta, proba)

    def hessian(self, proba: Floats) -> Floats:
        """Second derivatives (p, p): ``Σ_t c_t Z_tᵀ(diag(p_t) − p_t p_tᵀ) Z_t + diag(r)``."""
        total = np.diag(self.ridge)
        if sparse.issparse(self.Z):
            means = round_matrix(proba, self.offsets) @ self.Z
            terms: Any = (self.Z, self.spread * proba), (means, -self.share)
            for A, weights in terms:
                total += (A.T @ A.multiply(weights[:, None]).tocsr()).toarray()
            return total
        for rows, centered in self._centered(proba):
            total += centered.T @ (centered * (self.spread * proba)[rows, None])
        return total

    def largest_range(self, direction: Floats) -> float:
        """The largest difference of two scores of a round along a direction."""
        slopes, starts = self.Z @ direction, self.offsets[:-1]
        ranges = np.maximum.reduceat(slopes, starts) - np.minimum.reduceat(slopes, starts)
        return float(ranges.max())

    def largest_distance(self, proba: Floats, root: Floats) -> float:
        """A bound on ``‖Rᵀ(z_i − z_k)‖`` over all items i and k of one round, R = root (p, r)."""
        block_norms = (np.linalg.norm(rows @ root, axis=1) for _, rows in self._centered(proba))
        return 2.0 * max(float(norms.max(initial=0.0)) for norms in block_norms)

    def _centered(self, proba):
        """Rows of blocks of rounds, and their items less the mean of the round, dense."""
        size = self.numbers_per_block // max(self.Z.shape[1], 1) + 1
        for rounds in row_blocks(self.offsets, size):
            offsets = self.offsets[rounds.start : rounds.stop + 1]
            rows, local = slice(offsets[0], offsets[-1]), offsets - offsets[0]
            block = self.Z[rows].toarray() if sparse.issparse(self.Z) else self.Z[rows]
            means = round_matrix(proba[rows], local) @ block
            yield rows, block - np.repeat(means, np.diff(local), axis=0)


def round_matrix(numbers: Floats, offsets: Ints) -> sparse.csr_matrix:
    """(n, N): row t has the numbers of round t, at their places."""
    shape = (len(offsets) - 1, len(numbers))
    return sparse.csr_matrix((numbers, np.arange(len(numbers)), offsets), shape=shape)


class Solution(NamedTuple):
    """The last point of Newton's method."""

    point: Point
    gap: float  # a bound on the objective less its least value
    root: Floats  # R (p, r), R Rᵀ the inverse of the Hessian, or NaN
    n_iter: int


def gap_bound(decrement: float, distance: float) -> float:
    r"""The most that the objective is above its least value; infinite if it may have none.

    Let λ be the Newton decrement ``(∇ᵀ H⁻¹ ∇)^½``, and D at least ``‖z_i − z_k‖`` in the norm of
    H⁻¹ for two items of a round. Along v scores of a round move apart by at most D‖v‖_H, third
    derivatives are at most so many times the second ones, and therefore (Bach 2010, Prop. 1)

    .. math:: f(w + v) ≥ f(w) − λ n + (e^{−Dn} + Dn − 1)/D², \qquad n = ‖v‖_H.

    For q = Dλ < 1 the right side goes to infinity with n: a minimum exists, and it is at most
    ``λ² (q + (1 − q) ln(1 − q))/q²`` below f(w), between λ²/2 and λ².
    """
    q = distance * decrement
    if q >= 1.0:
        return np.inf
    if q < 1e-3:  # the series, whose rest is below q⁴
        return decrement**2 * (0.5 + q / 6.0 + q**2 / 12.0 + q**3 / 20.0 + q**4)
    return decrement**2 * (q + (1.0 - q) * np.log1p(-q)) / q**2


def duality_gap(likelihood: Likelihood, gradient: Floats) -> float:
    """``½ Σ_j (∂_j f)²/r_j``, the gap to the dual at the means; infinite without a penalty."""
    if not likelihood.ridge.all():
        return np.inf
    return 0.5 * float(gradient @ (gradient / likelihood.ridge))


def root_of_inverse(hessian: Floats, basis: Floats | None) -> Floats:
    """R (p, r) with ``R Rᵀ`` the inverse of the Hessian, or of the Hessian on a basis (p, r)."""
    inner = hessian if basis is None else basis.T @ hessian @ basis
    if inner.size == 0:  # nothing to determine
        return np.empty((len(hessian), 0))
    lower = cholesky(inner, lower=True)
    inverse = solve_triangular(lower, np.eye(len(lower)), lower=True).T
    return inverse if basis is None else basis @ inverse


def newton(
    likelihood: Likelihood, basis: Floats | None, learner: Any, max_doubts: int = 4
) -> Solution:
    """Damped Newton steps from 0 until the gap is at most `tol`, and one step more.

    That one squares the remaining error, so the weights are exact to many digits too. Iterations
    are doubtful if the decrement is small and no optimum is proven.
    """
    p = likelihood.Z.shape[1]
    point, root = likelihood.point(np.zeros(p)), np.full((p, 1), np.nan)
    tol, proven, doubts = learner.tol, 0, 0
    for n in range(learner.max_iter + 1):
        try:
            root = root_of_inverse(likelihood.hessian(point.proba), basis)
        except LinAlgError:
            return Solution(point, np.inf, root, n)
        inner = root.T @ point.gradient
        decrement = float(np.linalg.norm(inner))
        gap = duality_gap(likelihood, point.gradient)
        if gap > tol >= 0.5 * decrement**2:
            distance = likelihood.largest_distance(point.proba, root)
            gap = min(gap, gap_bound(decrement, distance))
        if learner.verbose:
            print(f"iteration {n}: objective {point.value:.8g}, gap {gap:.3g}")
        proven, doubts = proven + (gap <= tol), doubts + (gap > tol >= 0.5 * decrement**2)
        if proven > 1 or gap <= 1e-8 * tol or doubts > max_doubts or n == learner.max_iter:
            break
        point = _step(likelihood, point, -root @ inner, decrement)
    return Solution(point, gap, root, n)


def _step(likelihood, point, direction, decrement):
    """A Newton step, halved until the objective falls enough.

    If ρ is the largest range of the scores of a round along the direction, the step
    ``ln(1 + ρ)/ρ`` minimizes ``−s λ² + λ² (e^{sρ} − sρ − 1)/ρ²``, which is above the change of the
    objective: it needs no test, and nothing shorter is tried.
    """
    rho = likelihood.largest_range(direction)
    safe, s = np.log1p(rho) / rho if rho > 1e-8 else 1.0, 1.0
    while s > safe:
        candidate = likelihood.point(point.weights + s * direction)
        if candidate.value <= point.value - 0.25 * s * decrement**2:
            return candidate
        s *= 0.5
    return likelihood.point(point.weights + safe * direction)


def chosen_margins(likelihood: Likelihood) -> Matrix:
    """``z_chosen − z_i`` of all items that were not chosen, (N − n, p)."""
    others = np.ones(likelihood.Z.shape[0], dtype=bool)
    others[likelihood.chosen] = False
    rows = np.repeat(likelihood.chosen, likelihood.lengths)[others]
    return likelihood.Z[rows] - likelihood.Z[others]


def separating_direction(
    margins: Matrix, weights: Floats, max_seconds: float = 20.0
) -> Floats | None:
    """Weights v (p,) with ``vᵀ(z_chosen − z_i) ≥ 0`` for all items, and > 0 for some; None if none.

    Along them the likelihood rises without end (Albert and Anderson 1984). `weights` are tried
    first. Then it is a linear program: the largest sum of the margins, for v in a box, is 0 if
    there is no such v. None also if it takes longer than `max_seconds`.
    """
    n = margins.shape[0]
    if n == 0:
        return None
    if (margins @ weights > 0.0).all():
        return weights
    sums, zero = np.asarray(margins.mean(axis=0)).ravel(), np.zeros(n)
    options = {"time_limit": max_seconds}
    solution = linprog(-sums, -margins, zero, bounds=(-1.0, 1.0), options=options)
    if solution.x is None:
        return None
    reached = margins @ solution.x
    return solution.x if reached.min() >= -1e-6 and reached.max() > 1e-4 else None


def separating_features(margins: Matrix, direction: Floats) -> Ints:
    """Features that separate the choices, each alone; else those of the direction, by size."""
    margins, size = sparse.csc_matrix(margins), np.abs(direction)
    low, high = margins.min(axis=0).toarray()[0], margins.max(axis=0).toarray()[0]
    indices = np.flatnonzero((low >= 0.0) != (high <= 0.0))
    if len(indices):
        return indices
    return np.argsort(-size)[: np.count_nonzero(size > 1e-6 * size.max())]


def scaled_items(X: Matrix, offsets: Ints, share: Floats) -> tuple[Matrix, Floats, Array]:
    """Items z = (x − mean of its round)/s, CSR ones x/s; s (p,); which do not vary (p,).

    Deviations are within rounds, ``s² = Σ_t c_t (1/m_t) Σ_i (x_i − mean_t)²``.
    """
    largest = abs(X).max(axis=0)
    largest = largest.toarray().ravel() if sparse.issparse(largest) else largest
    unit = np.where(largest > 0.0, largest, 1.0)
    find = _sparse_squares if sparse.issparse(X) else _dense_squares
    Z, squares = find(X, offsets, share / np.diff(offsets), unit)
    deviation = np.sqrt(squares)
    constant = deviation <= 1e-13  # of the largest entry: rounding
    scale = np.where(constant, 1.0, deviation)
    factor = np.where(constant, 0.0, 1.0 / scale)
    if sparse.issparse(Z):
        Z.data *= factor[Z.indices]
        Z.eliminate_zeros()
    else:
        Z *= factor
    return Z, scale * unit, constant


def _dense_squares(X, offsets, weight, unit):
    """X over units less the means of rounds, and weighted squares of that."""
    lengths = np.diff(offsets)
    Z = X / unit
    Z -= np.repeat(np.add.reduceat(Z, offsets[:-1], axis=0) / lengths[:, None], lengths, axis=0)
    return Z, np.repeat(weight, lengths) @ Z**2


def _sparse_squares(X, offsets, weight, unit):
    """X over units, and weighted squares about the means of rounds, zeros included."""
    Z, p, lengths = X.copy(), X.shape[1], np.diff(offsets)
    Z.data = Z.data / unit[Z.indices]
    rounds = np.repeat(np.arange(len(weight)), np.diff(X.indptr[offsets]))
    keys, inverse, counts = np.unique(
        rounds * np.int64(p) + Z.indices, return_inverse=True, return_counts=True
    )
    of_key = keys // p
    mean = np.bincount(inverse, Z.data, len(keys)) / lengths[of_key]
    squares = np.bincount(inverse, (Z.data - mean[inverse]) ** 2, len(keys))
    squares += (lengths[of_key] - counts) * mean**2
    return Z, np.bincount(keys % p, weight[of_key] * squares, p)


def penalty_units(X: Any, scale: Floats, standardize: Any) -> Floats:
    """Units (p,) in which a penalty counts: deviations within rounds, or 1 as for indicators."""
    if isinstance(standardize, str):
        is_sparse = sparse.issparse(X)
        entries = X.data if is_sparse else X
        odd = (entries != 0.0) & (entries != 1.0)
        counts = np.bincount(X.indices, odd, X.shape[1]) if is_sparse else odd.sum(axis=0)
        return np.where(counts > 0, scale, 1.0)
    return scale if standardize else np.ones(len(scale))


def identified(likelihood: Likelihood) -> tuple[Floats | None, int, Array]:
    """A basis (p, r) of the weights that choices determine, None for all; r; which are not (p,).

    The second derivatives have the same null space at any weights.
    """
    lengths = likelihood.lengths
    values, vectors = eigh(likelihood.hessian(np.repeat(1.0 / lengths, lengths)))
    zero = values <= max(1e-12 * values[-1], 0.0)
    unknown = (vectors[:, zero] ** 2).sum(axis=1) > 1e-12
    return vectors[:, ~zero] if zero.any() else None, int((~zero).sum()), unknown


def fit(learner: Any, X: Matrix, offsets: Ints, chosen: Ints, weight: Floats) -> None:
    """Set the attributes of a `ConditionalLogit`: X, chosen rows, positive weights of rounds."""
    total, share = weight.sum(), weight / weight.sum()
    Z, scale, constant = scaled_items(X, offsets, share)
    ridge = learner.alpha * (penalty_units(X, scale, learner.standardize) / scale) ** 2
    likelihood = Likelihood(Z, offsets, chosen, share, ridge)
    basis, learner.rank_, unknown = None, int((~constant).sum()), constant
    if learner.alpha == 0.0:
        basis, learner.rank_, unknown = identified(likelihood)
    _warn_of_unknown(unknown, constant, learner)
    solution = newton(likelihood, basis, learner)
    _check_optimum(solution, likelihood, learner)
    weights = solution.point.weights
    learner.coef_ = np.where(constant, 0.0, weights / scale)
    learner.gap_, learner.n_iter_ = float(solution.gap), solution.n_iter
    learner.log_likelihood_ = total * (0.5 * ridge @ weights**2 - solution.point.value)
    covariance = solution.root @ solution.root.T / total
    covariance[unknown] = covariance[:, unknown] = np.nan
    learner.covariance_ = covariance / np.outer(scale, scale)
    learner.standard_errors_ = np.sqrt(np.diag(learner.covariance_))


def _warn_of_unknown(unknown, constant, learner):
    """Warn, without a penalty, of features whose weights choices do not determine."""
    if learner.alpha > 0.0 or not unknown.any():
        return
    kinds = {"the same for all items of each round": constant}
    kinds["collinear within the rounds"] = unknown & ~constant
    marked = [(np.flatnonzero(kinds[kind]), kind) for kind in kinds if kinds[kind].any()]
    reasons = [f"{_listed(features, learner)}: {kind}" for features, kind in marked]
    warnings.warn(
        f"The choices do not determine the weights of {'; '.join(reasons)}. The weights of least "
        "norm are used, 0 for features that do not vary, and their standard errors are NaN. Drop "
        "features, or set alpha > 0.",
        UserWarning,
        stacklevel=5,
    )


def list_names(learner):
    """Names of features, x0, x1, … if they have none."""
    default = [f"x{j}" for j in range(learner.n_features_in_)]
    return np.array(getattr(learner, "feature_names_in_", default), dtype=object)


def _listed(features, learner, most=8):
    """Names of some features."""
    names = list_names(learner)
    text = ", ".join(repr(names[j]) for j in features[:most])
    return text + (f" and {len(features) - most} more" if len(features) > most else "")


def _check_optimum(solution, likelihood, learner):
    """Raise a ValueError if there is no optimum; warn if it was not reached."""
    optimal = solution.gap <= learner.tol
    if learner.alpha == 0.0 and not optimal:
        margins = chosen_margins(likelihood)
        direction = separating_direction(margins, solution.point.weights)
        if direction is not None:
            raise ValueError(
                "Perfect separation: the features "
                f"{_listed(separating_features(margins, direction), learner)} predict the "
                "choices without error, so the maximum-likelihood estimate does not exist. Set "
                "alpha > 0, or drop features."
            )
    if not optimal:
        warnings.warn(
            f"ConditionalLogit stopped after {solution.n_iter} iterations with a gap of "
            f"{solution.gap:.3g} (tol={learner.tol:g}). Increase max_iter, alpha or tol.",
            ConvergenceWarning,
            stacklevel=5,
        )
