"""Fixed comparators: their surrogate losses, and those that minimize bounds."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.extmath import safe_sparse_dot

from skstructured._base.exceptions import GuaranteeError
from skstructured._base.lbfgs import minimize_lbfgs
from skstructured._learners.weights import linear_scores
from skstructured.extend._types import Floats, Loss, Matrix
from skstructured.extend.learner import ExpertComparison
from skstructured.guarantees.certificates import Certificate
from skstructured.regularizers import SquaredNorm


def comparator_losses(
    loss: Loss, U: ArrayLike, X: Matrix, V: Floats, fit_intercept: bool = True
) -> Floats:
    """Compute the surrogate losses S(U x_t; y_t) of a fixed comparator.

    Parameters
    ----------
    loss : FenchelYoung
        The loss, scale included.
    U : array-like of shape (dim, p) or, with an intercept, (dim, p + 1)
        The comparator; the intercept is the last column.
    X : {ndarray, sparse matrix} of shape (n, p)
        Features.
    V : ndarray of shape (n, dim)
        Encoded outputs.
    fit_intercept : bool, default=True
        Whether U has an intercept column.

    Returns
    -------
    ndarray of shape (n,)

    Raises
    ------
    ValueError
        If U has another shape.

    See Also
    --------
    best_comparator : The comparator with the smallest bound.
    """
    U = np.asarray(U, dtype=np.float64)
    expected = (V.shape[1], X.shape[1] + bool(fit_intercept))
    if U.shape != expected:
        raise ValueError(
            f"U must have shape {expected} (outputs, features"
            f"{' and the intercept last' if fit_intercept else ''}), got {U.shape}."
        )
    return loss.value(linear_scores(U, X), V)


def best_comparator(
    loss: Loss,
    X: Matrix,
    V: Floats,
    quadratic: float,
    fit_intercept: bool = True,
    radius: float = math.inf,
    max_iter: int = 500,
    sample_weight: Floats | None = None,
) -> Floats:
    """Find the U that minimizes ``Σ_t w_t S(U x_t; y_t) + quadratic · ‖U‖_F²``, in a ball if given.

    Any U makes a valid bound; this one makes it (nearly) the smallest, and never larger than U = 0
    does. L-BFGS minimizes the convex objective. If its minimum is outside the ball, the
    penalty is increased until the minimum is on the sphere: the multiplier of the constraint is
    added to `quadratic`.

    Parameters
    ----------
    loss : FenchelYoung
        The loss, scale included.
    X : {ndarray, sparse matrix} of shape (n, p)
        Features.
    V : ndarray of shape (n, dim)
        Encoded outputs.
    quadratic : float
        Coefficient of the penalty; with 0 and no ball the minimum diverges on separable data.
    fit_intercept : bool, default=True
        Whether U gets an intercept column, penalized as the rest.
    radius : float, default=inf
        Bound on ‖U‖_F.
    max_iter : int, default=500
        Iterations of L-BFGS.
    sample_weight : ndarray of shape (n,) or None, default=None
        Weights w_t of the rounds; None is 1.

    Returns
    -------
    ndarray of shape (dim, p [+ 1])
        U.

    See Also
    --------
    comparator_for : The same for the bound of any certificate.
    comparator_losses : The losses of a comparator.
    """
    rounds = _Rounds(loss, X, V, _weights(sample_weight, V), max_iter)
    return _fit_in_ball(rounds, quadratic, rounds.zero(fit_intercept), radius)


def comparator_for(
    certificate: Certificate,
    loss: Loss,
    X: Matrix,
    V: Floats,
    fit_intercept: bool = True,
    sample_weight: Floats | None = None,
) -> Floats:
    """Find the U that makes the bound of a certificate (nearly) the smallest.

    If the regret is quadratic in ‖U‖_F, or the same all over a ball, this is `best_comparator`.
    Otherwise it is the best of U = 0 and a path of ridge fits, each scaled into the ball of the
    certificate: for a regret that depends on ‖U‖_F alone the minimizer lies on that path.

    Parameters
    ----------
    certificate : Certificate
        The bound.
    loss, X, V, fit_intercept, sample_weight
        The rounds, see `best_comparator`.

    Returns
    -------
    ndarray of shape (dim, p [+ 1])
        U.

    See Also
    --------
    best_comparator : The same for a bound that is quadratic in ‖U‖_F.
    comparator_losses : The losses of a comparator.
    """
    rounds = _Rounds(loss, X, V, _weights(sample_weight, V))
    U = zero = rounds.zero(fit_intercept)
    quadratic, radius = certificate.quadratic, certificate.radius
    if quadratic or (quadratic == 0.0 and radius < math.inf):
        return _fit_in_ball(rounds, quadratic, zero, radius)
    candidates = [zero]
    start = max(rounds.weight.sum() * certificate.constants.get("b", 1.0), 1e-12)
    for penalty in start * np.logspace(0, -8, 17):
        U = rounds.ridge_fit(penalty, U)
        candidates.append(U * min(1.0, radius / max(np.linalg.norm(U), 1e-300)))  # type: ignore[operator]
    return min(candidates, key=lambda U: rounds.total(U) + certificate.regret(np.linalg.norm(U)))  # type: ignore[arg-type]


def separable_risk(
    certificate: Certificate, loss: Loss, norm: float, margin: float, n_rounds: int
) -> float:
    r"""Bound the expected target loss on new rows if a linear model separates the outputs.

    For T independent rows whose outputs are the best of the scores of U, with the margin t > 0,

    .. math:: \langle U x, y - y'\rangle \ge t \|y - y'\|_2 \quad \text{for all vertices } y',

    the surrogate losses of ``r U/t`` are 0. With the ℓ2 diameter D of the outputs, r is D/2 if all
    vertices have the same norm, and D for label sets and ordinal classes, which have 0 as a vertex
    (D/2 is printed). So the risk of the uniform average of the weights is at most the regret
    against ``r U/t``, over T [1]_.

    Parameters
    ----------
    certificate : Certificate
        The bound of T rounds, with a `feature_norm` that holds for all rows.
    loss : FenchelYoung
        The loss, with `SquaredNorm`.
    norm : float
        ‖U‖_F.
    margin : float
        t.
    n_rounds : int
        T.

    Returns
    -------
    float
        The bound. It is four times as large for ``average="polynomial"``.

    Raises
    ------
    GuaranteeError
        For another regularizer, whose losses are above 0 at every margin.

    See Also
    --------
    risk_bound : A bound from the losses of the rounds.

    References
    ----------
    .. [1] Sakaue, Bao, Tsuchiya, Oki (2024), Theorem 4.6 and appendix G.2; see `FenchelYoung`.
    """
    if not isinstance(getattr(loss, "regularizer", None), SquaredNorm):
        raise GuaranteeError(f"No margin makes the loss 0: use SquaredNorm, got loss={loss!r}.")
    reach = loss.lipschitz * (0.5 if loss.space.constant_sum else 1.0)
    return certificate.regret(reach * norm / margin) / n_rounds


class _Rounds(NamedTuple):
    """Rounds that comparators are fitted to, and the options of the fit."""

    loss: object
    X: object
    V: np.ndarray
    weight: np.ndarray
    max_iter: int = 500

    def zero(self, fit_intercept):
        return np.zeros((self.V.shape[1], self.X.shape[1] + bool(fit_intercept)))

    def total(self, U):
        """Σ w_t S_t(U)."""
        return float(self.weight @ self.loss.value(linear_scores(U, self.X), self.V))

    def objective(self, U, penalty):
        """Σ w_t S_t(U) + penalty · ‖U‖² and its gradient."""
        p = self.X.shape[1]
        value, g = self.loss.value_and_gradient(linear_scores(U, self.X), self.V)
        g = self.weight[:, None] * g
        gradient = 2.0 * penalty * U
        gradient[:, :p] += safe_sparse_dot(self.X.T, g, dense_output=True).T
        if U.shape[1] > p:
            gradient[:, p] += g.sum(axis=0)
        return float(self.weight @ value) + penalty * float(U.ravel() @ U.ravel()), gradient

    def ridge_fit(self, penalty, start):
        """The U that minimizes `objective`, by L-BFGS from `start`."""

        def best_from(U):
            limits = {"ftol": 1e-9, "gtol": 1e-6, "maxls": 20}
            return minimize_lbfgs(lambda U: self.objective(U, penalty), U, self.max_iter, **limits)

        best = best_from(start)
        if not best.x.any():  # hinges are not smooth at 0: all scores tie
            apart = self.class_means(start.shape)
            others = [best_from(size * apart) for size in (0.1, 1.0, 10.0)]
            best = min([best, *others], key=lambda found: found.fun)
        return best.x

    def class_means(self, shape):
        """Σ (y_t − ȳ) x_tᵀ, scaled to norm 1: a direction that separates outputs."""
        means, centered = np.zeros(shape), self.V - self.V.mean(axis=0)
        means[:, : self.X.shape[1]] = safe_sparse_dot(self.X.T, centered, dense_output=True).T
        return means / max(np.linalg.norm(means), 1e-300)


def _weights(sample_weight, V):
    return np.ones(len(V)) if sample_weight is None else np.asarray(sample_weight, dtype=float)


def _fit_in_ball(rounds, penalty, zero, radius):
    """The minimizer in a ball, or 0 if its bound is smaller."""
    U = rounds.ridge_fit(penalty, zero)
    if np.linalg.norm(U) > radius:
        U = _fit_on_sphere(rounds, penalty, U, radius)
    return min((U, zero), key=lambda U: rounds.total(U) + penalty * np.vdot(U, U))


def _fit_on_sphere(rounds, penalty, U, radius, tol=1e-3):
    """The minimizer on the sphere, given U outside it, the minimizer with `penalty`.

    A larger penalty makes ‖U‖ smaller, but penalty · ‖U‖ larger, and ``penalty · ‖U‖²`` never
    exceeds the loss of 0: so the penalty is between `low` and `high`. Every fit, scaled onto the
    sphere, is a candidate; for smooth losses its excess is of second order in how far off it was.
    """
    norm, zero = np.linalg.norm(U), np.zeros_like(U)
    candidates = [U * (radius / norm)]
    high = max(rounds.total(zero) / radius**2, penalty)
    low = max(penalty * norm / radius, 1e-12 * high)
    while abs(norm - radius) > tol * radius and high > low * (1.0 + tol):
        middle = math.sqrt(low * high)
        U = rounds.ridge_fit(middle, zero)  # from elsewhere, hinges stall
        norm = np.linalg.norm(U)
        candidates.append(U * (radius / max(norm, 1e-300)))
        low, high = (middle * norm / radius, high) if norm > radius else (low, middle)
    return min(candidates, key=rounds.total)


def measured(comparison, U):
    """Losses (n,) of a comparator over rounds; U is a matrix, or the shares (d,) of experts."""
    if not isinstance(comparison, ExpertComparison):
        loss, X, V, intercept = comparison
        return comparator_losses(loss, U, X, V, intercept)
    U, d = np.asarray(U, dtype=np.float64), comparison.losses.shape[1]
    if U.shape != (d,) or not (np.all(U >= 0.0) and abs(U.sum() - 1.0) <= 1e-9):
        raise ValueError(f"U must have the shares of the {d} experts, of sum 1, got {U!r}.")
    return comparison.losses @ U


def best_measured(certificate, comparison, sample_weight=None):
    """The comparator of the (nearly) smallest bound: a matrix, or all on the best expert (d,)."""
    if not isinstance(comparison, ExpertComparison):
        return comparator_for(certificate, *comparison, sample_weight=sample_weight)
    shares = np.zeros(comparison.losses.shape[1])
    shares[np.argmin(comparison.losses.sum(axis=0))] = 1.0
    return shares
