"""L-BFGS on the likelihood of choices, for more features than a matrix of them may have."""

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg

from skstructured.items._choice_likelihood import Likelihood
from skstructured.items._newton import Solution, duality_gap

#: Scores of a round that are further apart have no optimum, it may be, without a penalty.
FAR = 15.0

#: Runs without a penalty, each with a tenth of the gradient before.
RUNS = 4


def lbfgs(likelihood: Likelihood, max_iter: int, tol: float, verbose: Any) -> Solution:
    """L-BFGS from 0 until the gap is at most `tol`."""
    weights, n_iter, runs = np.zeros(likelihood.Z.shape[1]), 0, RUNS
    if likelihood.ridge.all():
        runs = 1
    for run in range(runs):
        found = _run(likelihood, weights, max_iter - n_iter, tol, 0.1 ** (run + 1) * tol**0.5)
        n_iter, weights = n_iter + found.nit, found.x
        point = likelihood.point(weights)
        gap = duality_gap(likelihood, point.gradient) if runs == 1 else _estimate(likelihood, point)
        unbounded = runs > 1 and likelihood.largest_range(weights) > FAR
        if verbose:
            print(f"iteration {n_iter}: objective {point.value:.8g}, gap {gap:.3g}")
        if gap <= tol or unbounded or n_iter >= max_iter:
            break
    return Solution(point, gap, None, n_iter, unbounded)


def _run(likelihood, weights, max_iter, tol, gtol):
    """scipy's result; with a penalty it ends by the duality gap, without by the gradient."""
    last = {}

    def function(w):
        point = likelihood.point(w)
        last["gap"] = duality_gap(likelihood, point.gradient)
        return point.value, point.gradient

    def note(intermediate_result):
        if last["gap"] <= tol or not np.isfinite(intermediate_result.fun):
            raise StopIteration

    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "gtol": gtol, "ftol": 0.0}
    if likelihood.ridge.all():
        options["gtol"] = 0.0
    options |= {"maxcor": 20, "maxls": 50}
    return minimize(function, weights, jac=True, method="L-BFGS-B", callback=note, options=options)


def _estimate(likelihood, point):
    """Half of ``∇ᵀ H⁻¹ ∇``, by conjugate gradients."""
    size = len(point.gradient)
    hessian = LinearOperator(
        (size, size), lambda v: likelihood.product(point.proba, v.ravel()), dtype=np.float64
    )
    found, _ = cg(hessian, point.gradient, maxiter=200)
    return 0.5 * float(found @ point.gradient)
