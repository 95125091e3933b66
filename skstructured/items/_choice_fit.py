"""The fit of a conditional logit: weights, their covariances, and what is said about them."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.optimize import linprog
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning

from skstructured._base.lbfgs import minimize_lbfgs
from skstructured.extend._types import Floats, Ints, Matrix
from skstructured.items._choice_data import Scaled, identified, penalty_units

#: Numbers of a block of rows that is centred at a time.
BLOCK = 1 << 21


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
    """``Σ_t c_t (−ln p_w(chosen item of t)) + ½ Σ_j r_j w_j²`` with c that sums to 1.

    Parameters
    ----------
    Z : {ndarray, CSR matrix} of shape (N, p)
        Items, round by round.
    offsets : ndarray of shape (n + 1,)
        Round t has the rows ``offsets[t]:offsets[t + 1]``.
    chosen : ndarray of shape (n,)
        Rows of the chosen items.
    share : ndarray of shape (n,)
        c.
    ridge : ndarray of shape (p,)
        r.
    """

    def __init__(
        self, Z: Matrix, offsets: Ints, chosen: Ints, share: Floats, ridge: Floats
    ) -> None:
        self.Z, self.offsets, self.chosen, self.share = Z, offsets, chosen, share
        self.ridge, self.lengths = ridge, np.diff(offsets)
        self.spread = np.repeat(share, self.lengths)
        most = max(BLOCK // max(Z.shape[1], 1), 1)
        last = np.unique(np.searchsorted(offsets, np.arange(most, offsets[-1], most), "right") - 1)
        self._cuts = np.unique(np.concatenate([[0], last, [len(share)]]))

    def point(self, weights: Floats) -> Point:
        """The objective at some weights."""
        theta = self.Z @ weights
        proba, logs = probabilities(theta, self.offsets)
        value = -self.share @ logs[self.chosen] + 0.5 * self.ridge @ weights**2
        gaps = self.spread * proba
        gaps[self.chosen] -= self.share
        gradient = self.Z.T @ gaps + self.ridge * weights
        return Point(weights, float(value), gradient, theta, proba)

    def mean_log(self, point: Point) -> float:
        """``Σ_t c_t ln p(chosen item of t)``, without the penalty."""
        logs = probabilities(point.theta, self.offsets)[1]
        return float(self.share @ logs[self.chosen])

    def means(self, proba: Floats) -> Matrix:
        """Mean items (n, p) of the rounds, CSR where Z is."""
        return _rows_of(proba, self.offsets) @ self.Z

    def hessian(self, proba: Floats) -> Floats:
        """Second derivatives (p, p): ``Σ_t c_t Z_tᵀ(diag(p_t) − p_t p_tᵀ) Z_t + diag(r)``."""
        total = np.diag(self.ridge)
        if sparse.issparse(self.Z):
            means: Any = self.means(proba)
            total += _gram(self.Z, self.spread * proba) - _gram(means, self.share)
            return total
        for rows, centred in self._centred(proba):
            total += centred.T @ (centred * (self.spread * proba)[rows, None])
        return total

    def product(self, proba: Floats, direction: Floats) -> Floats:
        """The Hessian times a direction (p,)."""
        slopes = self.Z @ direction
        means = np.repeat(np.add.reduceat(proba * slopes, self.offsets[:-1]), self.lengths)
        weighted = self.spread * proba * (slopes - means)
        return self.Z.T @ weighted + self.ridge * direction

    def largest_range(self, direction: Floats) -> float:
        """The largest difference of two scores of a round along a direction."""
        slopes, starts = self.Z @ direction, self.offsets[:-1]
        ranges = np.maximum.reduceat(slopes, starts) - np.minimum.reduceat(slopes, starts)
        return float(ranges.max())

    def largest_distance(self, proba: Floats, root: Floats) -> float:
        """A bound on ``‖Rᵀ(z_i − z_k)‖`` over all items i and k of one round, R = root (p, r)."""
        parts = ((rows @ root) for _, rows in self._centred(proba))
        return 2.0 * max(float(np.sqrt((part**2).sum(axis=1).max(initial=0.0))) for part in parts)

    def _centred(self, proba):
        """Rows of blocks of rounds, and their items less the mean of the round, dense."""
        for first, last in zip(self._cuts[:-1], self._cuts[1:], strict=True):
            rows = slice(self.offsets[first], self.offsets[last])
            local = self.offsets[first : last + 1] - self.offsets[first]
            part = self.Z[rows].toarray() if sparse.issparse(self.Z) else self.Z[rows]
            means = _rows_of(proba[rows], local) @ part
            yield rows, part - np.repeat(means, np.diff(local), axis=0)

    def is_separated(self, point: Point) -> bool:
        """Whether each chosen item has the largest score of its round, and alone."""
        if self.Z.shape[0] == len(self.chosen):
            return False
        top = np.repeat(point.theta[self.chosen], self.lengths)
        return int((point.theta >= top).sum()) == len(self.chosen)


def _gram(A: Any, weights: Floats) -> Floats:
    """``Aᵀ diag(weights) A`` of a sparse A, dense."""
    return (A.T @ A.multiply(weights[:, None]).tocsr()).toarray()


def _rows_of(numbers: Floats, offsets: Ints) -> sparse.csr_matrix:
    """(n, N): row t has the numbers of round t, at their places."""
    shape = (len(offsets) - 1, len(numbers))
    return sparse.csr_matrix((numbers, np.arange(len(numbers)), offsets), shape=shape)


#: Iterations in which the decrement is small and no optimum is proven, before it is doubted.
PATIENCE = 4


class Solution(NamedTuple):
    """Where a solver ended.

    `gap` bounds the objective less its least value; `root` (p, r) has ``R Rᵀ`` for the inverse of
    the Hessian, None where it was not found; `diverges` tells that an optimum is in doubt.
    """

    point: Point
    gap: float
    root: Any
    n_iter: int
    diverges: bool


def gap_bound(decrement: float, distance: float) -> float:
    r"""The most that the objective is above its least value; infinite where it may have none.

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
    """``½ Σ_j (∂_j f)²/r_j``, the gap to the dual at the means; infinite without penalty."""
    if not likelihood.ridge.all():
        return np.inf
    return 0.5 * float(gradient @ (gradient / likelihood.ridge))


def root_of_inverse(hessian: Floats, basis: Floats | None) -> Floats:
    """R (p, r) with ``R Rᵀ`` the inverse of the Hessian, or of what it is on a basis (p, r)."""
    inner = hessian if basis is None else basis.T @ hessian @ basis
    if inner.size == 0:  # nothing to determine
        return np.empty((len(hessian), 0))
    lower = cholesky(inner, lower=True)
    inverse = solve_triangular(lower, np.eye(len(lower)), lower=True).T
    return inverse if basis is None else basis @ inverse


def newton(
    likelihood: Likelihood, basis: Floats | None, max_iter: int, tol: float, verbose: Any
) -> Solution:
    """Damped Newton steps from 0 until the gap is at most `tol`, and one step more.

    That one squares what is left, so that weights, too, are exact to many digits.
    """
    point, doubts, root = likelihood.point(np.zeros(likelihood.Z.shape[1])), 0, None
    is_last = False
    for n in range(max_iter + 1):
        try:
            root = root_of_inverse(likelihood.hessian(point.proba), basis)
        except LinAlgError:
            return Solution(point, np.inf, root, n, True)
        inner = root.T @ point.gradient
        decrement = float(np.linalg.norm(inner))
        gap = _gap(likelihood, point, decrement, root, tol)
        if verbose:
            print(f"iteration {n}: objective {point.value:.8g}, gap {gap:.3g}")
        doubts += gap > tol >= 0.5 * decrement**2
        unbounded = not likelihood.ridge.any() and likelihood.is_separated(point)
        good = gap <= tol and (is_last or gap <= 1e-8 * tol)
        if good or doubts > PATIENCE or unbounded or n == max_iter:
            break
        is_last = gap <= tol
        point = _step(likelihood, point, -root @ inner, decrement)
    return Solution(point, gap, root, n, unbounded or not np.isfinite(gap))


def _gap(likelihood, point, decrement, root, tol):
    """The least of the bounds; that by distances is found where it can be below `tol`."""
    gap = duality_gap(likelihood, point.gradient)
    if gap <= tol or 0.5 * decrement**2 > tol:
        return gap
    distance = likelihood.largest_distance(point.proba, root)
    return min(gap, gap_bound(decrement, distance))


def _step(likelihood, point, direction, decrement):
    """A Newton step, halved until the objective falls enough.

    Where ρ is the largest range of the scores of a round along the direction, the step
    ``ln(1 + ρ)/ρ`` minimises ``−s λ² + λ² (e^{sρ} − sρ − 1)/ρ²``, which is above the change of the
    objective: it needs no test, and nothing shorter is tried.
    """
    rho = likelihood.largest_range(direction)
    safe, s = np.log1p(rho) / rho if rho > 1e-8 else 1.0, 1.0
    while s > safe:
        found = likelihood.point(point.weights + s * direction)
        if found.value <= point.value - 0.25 * s * decrement**2:
            return found
        s *= 0.5
    return likelihood.point(point.weights + safe * direction)


#: Scores of a round that are further apart have no optimum, it may be, without a penalty.
FAR = 15.0

#: Runs without a penalty, each with a tenth of the gradient before.
RUNS = 4


def lbfgs(likelihood: Likelihood, max_iter: int, tol: float, verbose: Any) -> Solution:
    """L-BFGS from 0 until the gap is at most `tol`; without a penalty, by the gradient."""
    weights, n_iter, penalized = np.zeros(likelihood.Z.shape[1]), 0, bool(likelihood.ridge.all())
    runs = 1 if penalized else RUNS

    def is_done(value, gradient):
        return duality_gap(likelihood, gradient) <= tol or not np.isfinite(value)

    def evaluate(weights):
        point = likelihood.point(weights)
        return point.value, point.gradient

    for run in range(runs):
        gtol = 0.0 if penalized else 0.1 ** (run + 1) * tol**0.5
        found = minimize_lbfgs(evaluate, weights, max_iter - n_iter, is_done, gtol=gtol)
        n_iter, weights = n_iter + found.nit, found.x
        point = likelihood.point(weights)
        gap = duality_gap(likelihood, point.gradient) if penalized else _estimate(likelihood, point)
        unbounded = runs > 1 and likelihood.largest_range(weights) > FAR
        if verbose:
            print(f"iteration {n_iter}: objective {point.value:.8g}, gap {gap:.3g}")
        if gap <= tol or unbounded or n_iter >= max_iter:
            break
    return Solution(point, gap, None, n_iter, unbounded)


def _estimate(likelihood, point):
    """Half of ``∇ᵀ H⁻¹ ∇``, by conjugate gradients."""
    size = len(point.gradient)
    hessian = LinearOperator(
        (size, size), lambda v: likelihood.product(point.proba, v.ravel()), dtype=np.float64
    )
    found, _ = cg(hessian, point.gradient, maxiter=200)
    return 0.5 * float(found @ point.gradient)


#: Seconds that the search for such weights may take.
SECONDS = 20.0


def separating_direction(likelihood: Likelihood) -> Floats | None:
    """Weights v (p,) with ``vᵀ(z_chosen − z_i) ≥ 0`` for all items, and > 0 for some; None if none.

    Along them the likelihood rises for ever (Albert and Anderson 1984). It is a linear programme:
    the largest sum of the margins, for v in a box, is 0 where there is no such v. None also where
    it takes longer than `SECONDS`.
    """
    others = np.ones(likelihood.Z.shape[0], dtype=bool)
    others[likelihood.chosen] = False
    rows = np.repeat(likelihood.chosen, likelihood.lengths)[others]
    margins = likelihood.Z[rows] - likelihood.Z[others]
    if margins.shape[0] == 0:
        return None
    sums = np.asarray(margins.mean(axis=0)).ravel()
    A = -sparse.csr_matrix(margins)
    found = linprog(
        -sums, A, np.zeros(len(rows)), bounds=(-1.0, 1.0), options={"time_limit": SECONDS}
    )
    if found.x is None:
        return None
    reached = margins @ found.x
    is_one = reached.min() >= -1e-6 and reached.max() > 1e-4
    return found.x if is_one else None


#: Most features for which "auto" takes Newton's method, which has a matrix of p² numbers.
NEWTON = 1000


class Task(NamedTuple):
    """What is fitted: items of rounds, the chosen rows, weights of rounds, clusters or None."""

    X: Matrix
    offsets: Ints
    chosen: Ints
    weight: Floats
    clusters: Ints | None

    def of_weight(self) -> "Task":
        """Without rounds of weight 0."""
        kept = self.weight > 0.0
        if kept.all():
            return self
        rows = np.repeat(kept, np.diff(self.offsets))
        renumbered = np.cumsum(rows) - 1
        offsets = np.concatenate([[0], np.cumsum(np.diff(self.offsets)[kept])])
        clusters = None if self.clusters is None else self.clusters[kept]
        chosen = renumbered[self.chosen[kept]]
        return Task(self.X[rows], offsets, chosen, self.weight[kept], clusters)


class Fit(NamedTuple):
    """Weights (p,), covariances (p, p) or None, rank, log-likelihood, the solver's `Solution`."""

    coef: Floats
    covariance: Floats | None
    rank: int
    log_likelihood: float
    solution: Solution


def fit(task: Task, learner: Any, names: list[str]) -> Fit:
    """Fit by the parameters of a `ConditionalLogit`; `names` of features are for messages."""
    scaled = Scaled.of(task.X, task.offsets, task.weight / task.weight.sum())
    likelihood = _likelihood(task, scaled, learner)
    wide = task.X.shape[1] > NEWTON
    if learner.solver == "lbfgs" or (learner.solver == "auto" and wide):
        basis, free, unknown = None, None, scaled.constant
    else:
        basis, free = _bases(likelihood, scaled, learner.alpha)
        unknown = takes_part(free)
    _tell_unidentified(unknown, scaled.constant, names, learner.alpha)
    if free is None:
        solution = lbfgs(likelihood, learner.max_iter, learner.tol, learner.verbose)
    else:
        solution = newton(likelihood, basis, learner.max_iter, learner.tol, learner.verbose)
    _check_optimum(solution, likelihood, learner, names)
    covariance = None
    if solution.root is not None:
        covariance = _covariance(task, likelihood, solution, free) / np.outer(*[scaled.scale] * 2)
    rank = int((~scaled.constant).sum()) if free is None else task.X.shape[1] - free.shape[1]
    return Fit(
        np.where(scaled.constant, 0.0, solution.point.weights / scaled.scale),
        covariance,
        rank,
        task.weight.sum() * likelihood.mean_log(solution.point),
        solution,
    )


def _likelihood(task, scaled, learner):
    units = penalty_units(task.X, scaled, learner.standardize)
    ridge = learner.alpha * (units / scaled.scale) ** 2
    share = task.weight / task.weight.sum()
    return Likelihood(scaled.Z, task.offsets, task.chosen, share, ridge)


def _bases(likelihood, scaled, alpha):
    """Bases of identified weights, None for all, and of the others, where there is no penalty."""
    if alpha > 0.0:
        return None, np.eye(len(scaled.constant))[:, scaled.constant]
    lengths = likelihood.lengths
    basis, free = identified(likelihood.hessian(np.repeat(1.0 / lengths, lengths)))
    return (None if free.shape[1] == 0 else basis), free


def takes_part(free: Floats) -> Any:
    """Which features (p,) have weights that choices do not determine."""
    return (free**2).sum(axis=1) > 1e-12


def _tell_unidentified(unknown, constant, names, alpha):
    """A warning that names features whose weights choices do not determine."""
    if alpha > 0.0 or not unknown.any():
        return
    parts = []
    for which, what in (
        (constant, "the same for all items of each round"),
        (unknown & ~constant, "collinear within the rounds"),
    ):
        if which.any():
            parts.append(f"{_listed(np.flatnonzero(which), names)}: {what}")
    warnings.warn(
        f"choices do not determine the weights of {'; '.join(parts)}. Those of the least norm are "
        "taken, 0 for features that do not vary, and their standard errors are NaN. Leave features "
        "out, or give alpha > 0.",
        UserWarning,
        stacklevel=5,
    )


def _listed(which, names, most=8):
    """Names of some features."""
    some = ", ".join(repr(names[j]) for j in which[:most])
    return some + (f" and {len(which) - most} more" if len(which) > most else "")


def _check_optimum(solution, likelihood, learner, names):
    """A ValueError where there is no optimum, a warning where it was not reached."""
    if solution.gap <= learner.tol and not solution.diverges:
        return
    if learner.alpha == 0.0:
        direction = _proof(solution, likelihood)
        if direction is not None:
            strong = np.flatnonzero(np.abs(direction) > 1e-6 * np.abs(direction).max())
            raise ValueError(
                "the choices are separated: weights of "
                f"{_listed(strong[np.argsort(-np.abs(direction[strong]))], names)} explain them "
                "the better the larger they are, without end, so that there is no estimate of "
                "maximum likelihood. Give alpha > 0, or leave features out."
            )
    if solution.gap <= learner.tol:
        return
    warnings.warn(
        f"stopped after {solution.n_iter} iterations with a gap of {solution.gap:.3g} "
        f"(tol={learner.tol:g}): raise max_iter, alpha or tol.",
        ConvergenceWarning,
        stacklevel=5,
    )


def _proof(solution, likelihood):
    """Weights along which the likelihood rises for ever, or None."""
    if likelihood.is_separated(solution.point):
        return solution.point.weights
    return separating_direction(likelihood)


def _covariance(task, likelihood, solution, free):
    """Covariances of the weights of scaled features, NaN where they are not determined."""
    total = task.weight.sum()
    root = solution.root / np.sqrt(total)
    found = root @ root.T
    if task.clusters is not None:
        found = found @ _meat(task, likelihood, solution.point.proba) @ found
    if free is not None and free.shape[1]:
        unknown = takes_part(free)
        found[unknown] = found[:, unknown] = np.nan
    return found


def _meat(task, likelihood, proba):
    """``G/(G − 1) Σ_g s_g s_gᵀ`` (p, p), s_g the sum of the gradients of cluster g."""
    scores = likelihood.means(proba) - likelihood.Z[task.chosen]
    _, codes = np.unique(task.clusters, return_inverse=True)
    count, n = int(codes.max()) + 1, len(codes)
    members = sparse.csr_matrix((task.weight, (codes, np.arange(n))), shape=(count, n))
    sums = members @ scores
    found = sums.T @ sums
    found = found.toarray() if sparse.issparse(found) else found
    return found * (count / (count - 1.0))
