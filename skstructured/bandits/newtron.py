"""Newtron: online Newton steps with bandit feedback."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from skstructured._base.parameters import Seed, parameters
from skstructured._base.shared_docs import documented
from skstructured._base.validation import check_positive, check_size
from skstructured._learners.second_order import (
    along,
    expand,
    rank_one,
    reduce_term,
    rotate_in,
    solve_transposed,
    solve_upper,
)
from skstructured.bandits._second_order import SecondOrderBandit
from skstructured.bandits.gaptron import BanditGaptronClassifier
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.extend._types import Features, Floats
from skstructured.spaces.simplex import log_softmax


@documented(BanditGaptronClassifier, OnlineStructuredPredictor)
@parameters
class NewtronClassifier(SecondOrderBandit):
    r"""Newtron: online Newton steps on the logistic loss, with bandit feedback.

    Plays ``p' = (1 − ρ) P + ρ/K``, ``P = softmax(αWx)``. If the choice ŷ was right,
    ``g = ((1−P_ŷ)/p'_ŷ) (1/K − e_ŷ) ⊗ x`` and κ = p'_ŷ, else
    ``g = (P_ŷ/p'_ŷ) (e_ŷ − 1/K) ⊗ x`` and κ = 1: E[g] is the gradient of ``−ln(P_y)/α``. Then

    .. math:: W ← \argmin_{\|W\|_F ≤ D} \sum_s \big(<g_s, W - W_s>
        + \tfrac{κ_s β}{2} <g_s, W - W_s>^2\big) + \|W\|^2/(2D).

    Parameters
    ----------
    alpha : float, default=10.0
        α.
    beta : float, default=0.01
        β.
    radius : float, default=1.0
        D, the radius of the ball, and regularization.
    exploration : float or None, default=None
        ρ; None is ``min(½, √(K/T))``.
    horizon : int or None, default=None
        T of the default ρ; None takes the round.
    {BanditGaptronClassifier: classes}
    {OnlineStructuredPredictor: standardize}
    {BanditGaptronClassifier: fit_intercept, verbose, random_state, missing}

    Attributes
    ----------
    {BanditGaptronClassifier: classes_, coef_, intercept_, missing_coef_, t_, n_mistakes_,
    n_features_in_, feature_names_in_}

    Notes
    -----
    No bound is stated. Its theorem is for one exploration rate, chosen with the horizon and ‖U‖
    known.

    References
    ----------
    Hazan, Kale (2011), "Newtron: an efficient bandit algorithm for online multiclass prediction",
    Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import NewtronClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NewtronClassifier(exploration=0.1, classes=[0, 1, 2], random_state=0)
    >>> actions, propensities = model.choose(X[:5])
    >>> model.update(X[:5], actions, actions == y[:5], propensities).t_
    5
    """

    _no_theorem = "Its theorem is for one exploration rate, chosen with the horizon and ‖U‖ known."

    alpha: float = 10.0
    beta: float = 0.01
    radius: float = 1.0
    exploration: float | None = None
    horizon: int | None = None
    classes: ArrayLike | None = None
    standardize: bool | Literal["auto"] = "auto"
    fit_intercept: bool = True
    verbose: bool | int = 0
    random_state: Seed = None
    missing: Literal["mean", "indicator", "error"] = "mean"

    def _check_parameters(self):
        super()._check_parameters()
        check_positive("alpha", self.alpha)
        self._regularization_root()

    def _regularization_root(self):
        return 1.0 / np.sqrt(check_positive("beta", self.beta) * check_size("radius", self.radius))

    def _setup(self, dim, width):
        self._W = np.zeros((dim, width))
        size, self._basis = (dim - 1) * width, np.zeros((dim - 1, dim))
        self._A, self._R = np.eye(size) / self.radius, np.eye(size) / np.sqrt(self.radius)
        self._b, self._r, self._V, self._mu = *np.zeros((3, size)), 0.0  # type: ignore[misc]

    def _softmax(self, theta):
        p = np.exp(self.alpha * (theta - theta.max(axis=1, keepdims=True)))
        return p / p.sum(axis=1, keepdims=True)

    def _distribution(self, theta, X):
        rho = self._rho()
        return (1.0 - rho) * self._softmax(theta) + rho / theta.shape[1]

    def predict_proba(self, X: Features) -> Floats:
        """softmax(αWx), (n, K)."""
        return self._softmax(self._scores(X))

    def predict_log_proba(self, X: Features) -> Floats:
        """Log softmax(αWx), (n, K), from the scores: with all digits in the tails."""
        return log_softmax(self.alpha * self._scores(X))

    def _learn_at(self, Z, codes, rewards, propensities):
        P, W = self._softmax(self._scores_at(Z)), self._W.reshape(-1).copy()
        for x, p, code, reward, propensity in zip(Z, P, codes, rewards, propensities, strict=True):
            # The other probabilities and not 1 − P, which has no digits left where P is nearly 1.
            others = np.delete(p, code).sum()
            size = (others if reward else -p[code]) / propensity
            g = np.full(len(p), size / len(p))
            g[code] -= size
            kappa = propensity if reward else 1.0
            self._newton_step(g, x, kappa * self.beta, along(W, g, x))
        self._V = self._solve()
        expand(self._basis, self._V, self._W.reshape(-1))

    def _newton_step(self, g, x, weight, inner):
        """A ← A + weight ggᵀ and b ← b + (weight <g, W> − 1) g, in A and b and in R and r."""
        full, root = np.empty(len(self._b)), np.sqrt(weight)
        reduce_term(self._basis, g, x, full)
        rank_one(self._A, weight, full)
        self._b += (weight * inner - 1.0) * full
        rotate_in(self._R, self._r, root * full, root * inner - 1.0 / root)

    def _solve(self):
        """argmin ½<W, AW> − <b, W> over the ball: (A + μI)⁻¹ b, μ ≥ 0 by Newton's method.

        The secular equation 1/‖W(μ)‖ = 1/D is nearly linear in μ, and the last round's μ is close.
        """
        mu, free = self._mu, np.empty(len(self._b))
        solve_upper(self._R, self._r, free)
        W = slope = self._shifted(mu, self._b, self._V) if mu > 0.0 else free
        for _ in range(50):
            norm = np.linalg.norm(W)
            if abs(norm / self.radius - 1.0) <= 1e-13 or (mu == 0.0 and norm <= self.radius):
                break
            slope = self._shifted(mu, W, slope) if mu > 0.0 else self._unshifted(W)
            mu = max(mu + (norm / self.radius - 1.0) * norm * norm / (W @ slope), 0.0)
            W = self._shifted(mu, self._b, W) if mu > 0.0 else free
        self._mu = mu
        return W * min(1.0, self.radius / max(np.linalg.norm(W), 1e-300))

    def _shifted(self, mu, right, start):
        """(A + μI)⁻¹ right by conjugate gradients, from `start`, in units of the diagonal."""
        W, diagonal = start, np.diag(self._A) + mu
        residual, enough = right - self._A @ W - mu * W, 1e-28 * (right @ (right / diagonal))
        direction = residual / diagonal
        size = residual @ direction
        for _ in range(10 * len(W)):
            if size <= enough:
                break
            image = self._A @ direction + mu * direction
            step = size / (direction @ image)
            W = W + step * direction
            residual = residual - step * image
            scaled = residual / diagonal
            size, before = residual @ scaled, size
            direction = scaled + (size / before) * direction
        return W

    def _unshifted(self, right):
        """A⁻¹ right, by the two triangles."""
        half, W = np.empty(len(right)), np.empty(len(right))
        solve_transposed(self._R, right, half)
        solve_upper(self._R, half, W)
        return W
