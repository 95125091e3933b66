"""The fit of a conditional logit: weights, their covariances, and what is said about them."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from skstructured.extend._types import Floats, Ints, Matrix
from skstructured.items._choice_lbfgs import lbfgs
from skstructured.items._choice_likelihood import Likelihood
from skstructured.items._choice_scale import Scaled, identified, penalty_units
from skstructured.items._newton import Solution, newton
from skstructured.items._separation import separating_direction

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
