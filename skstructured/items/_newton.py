"""Newton's method on the likelihood of choices, with a bound on what is left."""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from skstructured.extend._types import Floats
from skstructured.items._choice_likelihood import Likelihood, Point

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
