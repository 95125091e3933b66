"""Newtron: online Newton steps with bandit feedback."""

import numpy as np

from skstructured._validation import check_positive
from skstructured.bandits._second_order import SecondOrderBandit, along, rank_one, times


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
    D : float, default=1.0
        Radius of the ball, and regularization.
    exploration : float or None, default=None
        ρ; None is ``min(½, √(K/T))``.
    horizon, classes, fit_intercept, random_state
        As in `SOBAClassifier`.

    Attributes
    ----------
    classes_, coef_, intercept_, t_, n_mistakes_, n_features_in_, feature_names_in_
        As in `BanditGaptronClassifier`.

    References
    ----------
    Hazan, Kale (2011), "Newtron: an efficient bandit algorithm for online multiclass prediction",
    Algorithm 1.
    """

    def __init__(
        self,
        alpha=10.0,
        beta=0.01,
        D=1.0,
        exploration=None,
        horizon=None,
        classes=None,
        fit_intercept=True,
        random_state=None,
    ):
        self.alpha = alpha
        self.beta = beta
        self.D = D
        self.exploration = exploration
        self.horizon = horizon
        self.classes = classes
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _check_parameters(self):
        super()._check_parameters()
        for name in ("alpha", "beta", "D"):
            check_positive(name, getattr(self, name))

    def _setup(self, dim, width):
        super()._setup(dim, width)
        size = dim * width
        self._A, self._inverse = np.eye(size) / self.D, np.eye(size) * float(self.D)
        self._b, self._v, self._mu = np.zeros(size), np.empty(size), 0.0

    def _softmax(self, theta):
        p = np.exp(self.alpha * (theta - theta.max(axis=1, keepdims=True)))
        return p / p.sum(axis=1, keepdims=True)

    def _distribution(self, theta, X):
        rho = self._rho()
        return (1.0 - rho) * self._softmax(theta) + rho / theta.shape[1]

    def predict_proba(self, X):
        """softmax(αWx), (n, K)."""
        return self._softmax(self._thetas(self._fitted_rows(X)))

    def _learn_rows(self, X, codes, rewards, propensities):
        X = np.ascontiguousarray(self._dense(X))
        P, W = self._softmax(X @ self._W.T), self._W.reshape(-1).copy()
        for x, p, code, reward, propensity in zip(X, P, codes, rewards, propensities, strict=True):
            size = (1.0 - p[code] if reward else -p[code]) / propensity
            g = np.full(len(p), size / len(p))
            g[code] -= size
            kappa = propensity if reward else 1.0
            self._newton_step(g, x, kappa * self.beta, along(W, g, x))
        self._W[:] = self._solve().reshape(self._W.shape)

    def _newton_step(self, g, x, weight, inner):
        """A ← A + weight ggᵀ, its inverse, and b ← b + (weight <g, W> − 1) g."""
        v, full = self._v, np.outer(g, x).ravel()
        times(self._inverse, g, x, v)
        rank_one(self._inverse, -weight / (1.0 + weight * along(v, g, x)), v)
        rank_one(self._A, weight, full)
        self._b += (weight * inner - 1.0) * full

    def _solve(self):
        """argmin ½<W, AW> − <b, W> over the ball: (A + μI)⁻¹ b, μ ≥ 0 by Newton's method.

        The secular equation 1/‖W(μ)‖ = 1/D is nearly linear in μ, and the last round's μ is close.
        """
        mu, slope = self._mu, self._inverse @ self._b
        W = self._shifted(mu, self._b, self._W.reshape(-1)) if mu > 0.0 else slope
        for _ in range(50):
            norm = np.linalg.norm(W)
            if abs(norm / self.D - 1.0) <= 1e-13 or (mu == 0.0 and norm <= self.D):
                break
            slope = self._shifted(mu, W, slope)
            mu = max(mu + (norm / self.D - 1.0) * norm * norm / (W @ slope), 0.0)
            W = self._shifted(mu, self._b, W)
        self._mu = mu
        return W * min(1.0, self.D / max(np.linalg.norm(W), 1e-300))

    def _shifted(self, mu, right, start):
        """(A + μI)⁻¹ right by conjugate gradients, from `start`."""
        if mu == 0.0:
            return self._inverse @ right
        W = start
        residual = right - self._A @ W - mu * W
        direction, size = residual.copy(), residual @ residual
        for _ in range(10 * len(W)):
            if size <= 1e-28 * max(right @ right, 1e-300):
                break
            image = self._A @ direction + mu * direction
            step = size / (direction @ image)
            W = W + step * direction
            residual = residual - step * image
            size, before = residual @ residual, size
            direction = residual + (size / before) * direction
        return W
