"""Second-order bandits over dense rows: SOBA, Newtron and Confidit."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from skstructured._base.component import Seed, parameters
from skstructured._base.docstrings import documented
from skstructured._base.validation import check_positive, check_real, check_share, check_size
from skstructured._engine.compiled import kernel
from skstructured._engine.rows import Rows
from skstructured._learners.classifier import with_intercept
from skstructured._learners.second_order import (
    SecondOrderWeights,
    along,
    expand,
    rank_one,
    reduce_term,
    rotate_in,
    solve_transposed,
    solve_upper,
)
from skstructured._learners.weights import LinearWeights
from skstructured.bandits._base import BanditClassifier, mix_uniform
from skstructured.bandits._first_order import BanditGaptronClassifier
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.extend._types import Features, Floats
from skstructured.spaces.simplex import log_softmax


class SecondOrderBandit(LinearWeights, BanditClassifier):
    """Bandit learners with dense weights W (K, p [+ 1]) and matrices over them.

    Rows z are learned as `standardize` says, the row of a round counted before it is played.
    """

    def _ready(self, X, scale):
        return with_intercept(super()._ready(X, scale), self._intercept)

    def _scores_at(self, Z):
        """Scores (n, K) of rows z."""
        return Z @ self._W.T

    def _scores(self, X):
        """Scores of new rows, which do not count."""
        rows = Rows.from_array(self._fitted_rows(X))
        with self.lock:
            ready = self._scale.transformed(rows).matrix
            return self._scores_at(with_intercept(ready, self._intercept))

    def _rho(self):
        """ρ as given, or ``min(½, √(K/T))``."""
        if self.exploration is not None:
            return float(self.exploration)
        rounds = self.horizon or self.t_ + 1
        return min(0.5, np.sqrt(len(self.classes_) / rounds))

    def _check_parameters(self):
        super()._check_parameters()
        given = getattr(self, "exploration", None)
        if given is not None:
            check_share("exploration", given)

    def _weights(self):
        if not hasattr(self, "classes_"):
            raise AttributeError("coef_ and intercept_ are set by the first round.")
        with self.lock:
            return self._scale.fold(self._W.copy())


@documented(BanditGaptronClassifier, OnlineStructuredPredictor)
@parameters
class SOBAClassifier(SecondOrderBandit):
    r"""SOBA: a second-order Perceptron with bandit feedback.

    Plays ``(1 − ρ) e_{y*} + ρ/K``. Only where the choice ỹ was right, with
    ``g = (e_ȳ − e_ỹ) ⊗ x/p'`` (ȳ the best other class), ``z = √p' g`` and
    ``m = (<W,z>² + 2<W,g>)/(1 + zᵀA⁻¹z)``: if m plus the m of earlier updates is not negative,
    ``A ← A + zzᵀ``, ``b ← b − g``, ``W = A⁻¹b``; A starts at α·I.

    Parameters
    ----------
    alpha : float, default=1.0
        Regularization.
    exploration : float or None, default=None
        ρ; None is ``min(½, √(K/T))``: the order T^{−1/2} of the theorem, with a constant of ours.
    horizon : int or None, default=None
        T of the default ρ; None takes the round.
    {BanditGaptronClassifier: classes}
    {OnlineStructuredPredictor: standardize}
    {BanditGaptronClassifier: missing, fit_intercept, verbose, random_state}

    Attributes
    ----------
    {BanditGaptronClassifier: classes_, coef_, intercept_, missing_coef_, t_, n_mistakes_,
    n_features_in_, feature_names_in_}

    Notes
    -----
    ``Σ m = min_U [a‖U‖² + Σ(2<U,g> + <U,z>²)] + Σ q/(p'(1+q))``, q = zᵀA⁻¹z, over updates: an
    identity, which fixes the √p'.

    No bound is stated. Its paper's bound has no explicit constants.

    References
    ----------
    Beygelzimer, Orabona, Zhang (2017), "Efficient online bandit multiclass learning with Õ(√T)
    regret".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import SOBAClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SOBAClassifier(exploration=0.1, classes=[0, 1, 2], random_state=0)
    >>> actions, propensities = model.choose(X[:5])
    >>> model.update(X[:5], actions, actions == y[:5], propensities).t_
    5
    """

    _no_theorem = "Its paper's bound has no explicit constants."

    alpha: float = 1.0
    exploration: float | None = None
    horizon: int | None = None
    classes: ArrayLike | None = None
    standardize: bool | Literal["auto"] = "auto"
    missing: Literal["mean", "indicator", "error"] = "mean"
    fit_intercept: bool = True
    verbose: bool | int = 0
    random_state: Seed = None

    def _check_parameters(self):
        super()._check_parameters()
        check_positive("alpha", self.alpha)

    def _setup(self, dim, width):
        self._learned = SecondOrderWeights(dim, width, self.alpha)

    @property
    def _W(self):
        return self._learned.W

    def _distribution(self, theta, X):
        return mix_uniform(theta, self._rho())

    def _learn_at(self, Z, codes, rewards, propensities):
        theta = self._scores_at(Z)
        for i in np.flatnonzero(rewards):
            self._learned.learn(theta[i], Z[i], codes[i], propensities[i])


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
    {BanditGaptronClassifier: missing, fit_intercept, verbose, random_state}

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
    missing: Literal["mean", "indicator", "error"] = "mean"
    fit_intercept: bool = True
    verbose: bool | int = 0
    random_state: Seed = None

    def _check_parameters(self):
        super()._check_parameters()
        check_positive("alpha", self.alpha)
        check_positive("beta", self.beta)
        check_size("radius", self.radius)

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
            image = self._A @ direction + mu * direction
            curvature = direction @ image
            if size <= enough or curvature <= 0.0:  # which underflows with rows of 1e100
                break
            step = size / curvature
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


@kernel
def solve_each(R, x, V, widths, u):
    """V_i = A_i⁻¹x and its width xᵀA_i⁻¹x for every class, A_i = R_iᵀR_i."""
    for i in range(R.shape[0]):
        widths[i] = solve_transposed(R[i], x, u)
        solve_upper(R[i], u, V[i])


def unit(Z):
    """Rows scaled to norm 1; zeros stay zeros."""
    norms = np.linalg.norm(Z, axis=1, keepdims=True)
    return Z / np.where(norms > 0.0, norms, 1.0)


@documented(BanditGaptronClassifier, OnlineStructuredPredictor)
@parameters
class ConfiditClassifier(SecondOrderBandit):
    r"""Confidit: upper confidence bounds for every class.

    Rows, standardised, are scaled to ‖x‖ = 1. Every class has ``A_i = (1+α)² I`` and w_i = 0; in a
    round ``w'_i = w_i + (clip(w_i·x, −α, 1) − w_i·x) A_i⁻¹x/(xᵀA_i⁻¹x)``, and the class of the
    largest ``w'_i·x + √(η xᵀA_i⁻¹x)`` is played, without randomization. s = 1 if it was right; else
    −1 with probability (1+α)/2, 1 otherwise. For the played class
    ``w ← (A + xxᵀ)⁻¹(A w' + sx)`` and ``A ← A + xxᵀ``.

    Parameters
    ----------
    alpha : float, default=1.0
        α in (−1, 1].
    eta : float, default=1.0
        η > 0, the width of the confidence bounds; tuned in practice.
    {BanditGaptronClassifier: classes}
    {OnlineStructuredPredictor: standardize}
    {BanditGaptronClassifier: missing, fit_intercept, verbose, random_state}

    Attributes
    ----------
    {BanditGaptronClassifier: classes_, missing_coef_, coef_, intercept_}
        They are those of rows that are scaled to norm 1 once they are standardised and have their
        intercept.
    {BanditGaptronClassifier: t_, n_mistakes_, n_features_in_, feature_names_in_}

    Notes
    -----
    No bound is stated. Its theorem assumes that labels are drawn from a linear model of the rows.

    References
    ----------
    Crammer, Gentile (2013), "Multiclass classification with bandit feedback using adaptive
    regularization".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import ConfiditClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ConfiditClassifier(classes=[0, 1, 2], random_state=0)
    >>> actions, propensities = model.choose(X[:5])
    >>> model.update(X[:5], actions, actions == y[:5], propensities).t_
    5
    """

    draws = 2

    _no_theorem = "Its theorem assumes that labels are drawn from a linear model of the rows."

    alpha: float = 1.0
    eta: float = 1.0
    classes: ArrayLike | None = None
    standardize: bool | Literal["auto"] = "auto"
    missing: Literal["mean", "indicator", "error"] = "mean"
    fit_intercept: bool = True
    verbose: bool | int = 0
    random_state: Seed = None

    def _check_parameters(self):
        super()._check_parameters()
        check_positive("eta", self.eta)
        check_real("alpha", self.alpha, lambda v: -1.0 < v <= 1.0, "lie in (-1, 1]")

    def _setup(self, dim, width):
        self._W = np.zeros((dim, width))
        self._R = np.tile((1.0 + self.alpha) * np.eye(width), (dim, 1, 1))

    def _clipped(self, x):
        """w'·x of every class, xᵀA⁻¹x and A⁻¹x, for one unit row."""
        v, width, inner = np.empty(self._W.shape), np.empty(len(self._W)), self._W @ x
        solve_each(self._R, x, v, width, np.empty(len(x)))
        return np.clip(inner, -self.alpha, 1.0), inner, width, v

    def _scores_at(self, Z):
        return np.clip(unit(Z) @ self._W.T, -self.alpha, 1.0)

    def _distribution(self, theta, X):
        found = map(self._clipped, unit(self._ready(X, self._scale.copy())))
        return mix_uniform(np.array([self._bounds(*each) for each in found]), 0.0)

    def _bounds(self, clipped, inner, width, v):
        """Upper confidence bounds (K,) of a row of which `_clipped` was found."""
        return clipped + np.sqrt(self.eta * width)

    def replay(
        self, X: Features, actions: ArrayLike, rewards: ArrayLike, propensities: ArrayLike
    ) -> Floats:
        """Not available: without randomization there is no estimate from logged actions."""
        raise ValueError(
            "ConfiditClassifier does not use propensities and has no estimate on logged rounds."
        )

    def _round(self, z, truth, uniforms):
        """Play and learn one row; the position of the action, and its propensity, 1."""
        x = unit(z)[0]
        found = self._clipped(x)
        code = int(np.argmax(self._bounds(*found)))
        self._learn_one(x, found, code, code == truth, uniforms[1])
        return code, 1.0

    def _learn_at(self, Z, codes, rewards, propensities):
        uniforms = self.random_state_.random_sample(len(codes))
        for x, code, reward, u in zip(unit(Z), codes, rewards, uniforms, strict=True):
            self._learn_one(x, self._clipped(x), code, reward == 1.0, u)

    def _learn_one(self, x, found, code, right, uniform):
        """Learn a unit row of which `_clipped` was `found`."""
        clipped, inner, width, v = found
        s = 1.0 if right or uniform < (1.0 - self.alpha) / 2.0 else -1.0
        touched = width > 0.0
        shift = np.divide(clipped - inner, width, out=np.zeros_like(inner), where=touched)
        self._W += shift[:, None] * v
        # A_new⁻¹(A w' + s x) = w' + (s − w'·x) A_new⁻¹ x, and A_new⁻¹ x = A⁻¹x/(1 + xᵀA⁻¹x).
        self._W[code] += (s - clipped[code]) / (1.0 + width[code]) * v[code]
        rotate_in(self._R[code], np.zeros(len(x)), x.copy(), 0.0)
