"""Second-order bandits over dense rows: SOBA, Newtron and Confidit."""

from operator import attrgetter

import numpy as np

from skstructured._base.component import inherit_parameters, parameters_with
from skstructured._base.validation import (
    check_positive,
    check_real,
    check_size,
)
from skstructured._engine.compiled import kernel
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
from skstructured.bandits._base import (
    BanditClassifier,
    BanditModel,
    BanditParameters,
    mix_softmax,
    mix_uniform,
)
from skstructured.bandits._first_order import BanditGaptronClassifier
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.extend._types import Features, Floats
from skstructured.spaces.simplex import log_softmax


class SOBAModel(BanditModel):
    """Weights of `SecondOrderWeights`, played with uniform exploration."""

    def __init__(self, K, width, alpha):
        self.learned = SecondOrderWeights(K, width, alpha)

    W = property(attrgetter("learned.W"), doc="Weights A⁻¹b.")

    def distribution(self, theta, Z, rho):
        return mix_uniform(theta, rho)

    def learn(self, Z, codes, rewards, propensities, coins, rho):
        theta = self.scores(Z)
        for i in np.flatnonzero(rewards):
            self.learned.learn(theta[i], Z[i], codes[i], propensities[i])


@inherit_parameters(BanditGaptronClassifier, OnlineStructuredPredictor)
@parameters_with(BanditParameters)
class SOBAClassifier(BanditClassifier):
    r"""Classify from bandit feedback with SOBA, a second-order Perceptron.

    It plays ``(1 − ρ) e_{y*} + ρ/K``. It only updates if the choice ỹ was right. Let
    ``g = (e_ȳ − e_ỹ) ⊗ x/p'`` (ȳ the best other class), ``z = √p' g`` and
    ``m = (<W,z>² + 2<W,g>)/(1 + zᵀA⁻¹z)``. If m plus the m of earlier updates is not negative,
    ``A ← A + zzᵀ``, ``b ← b − g``, ``W = A⁻¹b``; A starts at α·I.

    Parameters
    ----------
    alpha : float, default=1.0
        Regularization strength. Must be positive.
    exploration : float or None, default=None
        The exploration rate ρ. None is ``min(½, √(K/T))``: the order T^{−1/2} of the theorem, with
        a constant chosen for this package.
    horizon : int or None, default=None
        Number T of rounds, for the default ρ. None uses the number of the round.
    {BanditGaptronClassifier: classes}
    {OnlineStructuredPredictor: standardize}
    {BanditGaptronClassifier: missing, fit_intercept, verbose, random_state}

    Attributes
    ----------
    {BanditGaptronClassifier: classes_, coef_, intercept_, missing_coef_, t_, n_mistakes_,
    n_features_in_, feature_names_in_}

    See Also
    --------
    ConfiditClassifier : Confidence bounds instead of random choices.
    BanditGaptronClassifier : A classifier with a regret bound.
    SecondOrderPerceptron : The same with full information.

    Notes
    -----
    ``Σ m = min_U [a‖U‖² + Σ(2<U,g> + <U,z>²)] + Σ q/(p'(1+q))``, q = zᵀA⁻¹z, over updates: an
    identity, which fixes the √p'.

    There is no regret bound: that of the paper has no explicit constants.

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

    def _check_parameters(self):
        super()._check_parameters()
        check_positive("alpha", self.alpha)

    def _new_model(self, K, width):
        return SOBAModel(K, width, self.alpha)


class NewtronModel(BanditModel):
    """W of the least sum of quadratic bounds over the ball, played as softmax(αWx)."""

    def __init__(self, K, width, alpha, beta, radius):
        self.alpha, self.beta, self.radius = float(alpha), float(beta), float(radius)
        self.W = np.zeros((K, width))
        size, self._basis = (K - 1) * width, np.zeros((K - 1, K))
        self._A, self._R = np.eye(size) / radius, np.eye(size) / np.sqrt(radius)
        self._b, self._r, self._V, self._mu = *np.zeros((3, size)), 0.0  # type: ignore[misc]

    def distribution(self, theta, Z, rho):
        return mix_softmax(theta, rho, self.alpha)

    def learn(self, Z, codes, rewards, propensities, coins, rho):
        P, W = mix_softmax(self.scores(Z), 0.0, self.alpha), self.W.reshape(-1).copy()
        for x, p, code, reward, propensity in zip(Z, P, codes, rewards, propensities, strict=True):
            # The other probabilities and not 1 − P, which has no digits left where P is nearly 1.
            others = np.delete(p, code).sum()
            size = (others if reward else -p[code]) / propensity
            g = np.full(len(p), size / len(p))
            g[code] -= size
            kappa = propensity if reward else 1.0
            self._newton_step(g, x, kappa * self.beta, along(W, g, x))
        self._V = self._solve()
        expand(self._basis, self._V, self.W.reshape(-1))

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
            size, previous_size = residual @ scaled, size
            direction = scaled + (size / previous_size) * direction
        return W

    def _unshifted(self, right):
        """A⁻¹ right, by the two triangles."""
        half, W = np.empty(len(right)), np.empty(len(right))
        solve_transposed(self._R, right, half)
        solve_upper(self._R, half, W)
        return W


@inherit_parameters(BanditGaptronClassifier, OnlineStructuredPredictor)
@parameters_with(BanditParameters)
class NewtronClassifier(BanditClassifier):
    r"""Classify from bandit feedback with Newtron: online Newton steps on the logistic loss.

    It plays ``p' = (1 − ρ) P + ρ/K``, ``P = softmax(αWx)``. If the choice ŷ was right,
    ``g = ((1−P_ŷ)/p'_ŷ) (1/K − e_ŷ) ⊗ x`` and κ = p'_ŷ, else
    ``g = (P_ŷ/p'_ŷ) (e_ŷ − 1/K) ⊗ x`` and κ = 1: E[g] is the gradient of ``−ln(P_y)/α``. Then

    .. math:: W ← \argmin_{\|W\|_F ≤ D} \sum_s \big(<g_s, W - W_s>
        + \tfrac{κ_s β}{2} <g_s, W - W_s>^2\big) + \|W\|^2/(2D).

    Parameters
    ----------
    alpha : float, default=10.0
        Scale α of the scores in the softmax. Must be positive.
    beta : float, default=0.01
        Curvature β of the quadratic bounds. Must be positive.
    radius : float, default=1.0
        Radius D of the ball of W; it also regularizes.
    exploration : float or None, default=None
        The exploration rate ρ. None is ``min(½, √(K/T))``.
    horizon : int or None, default=None
        Number T of rounds, for the default ρ. None uses the number of the round.
    {BanditGaptronClassifier: classes}
    {OnlineStructuredPredictor: standardize}
    {BanditGaptronClassifier: missing, fit_intercept, verbose, random_state}

    Attributes
    ----------
    {BanditGaptronClassifier: classes_, coef_, intercept_, missing_coef_, t_, n_mistakes_,
    n_features_in_, feature_names_in_}

    See Also
    --------
    ConfiditClassifier, SOBAClassifier : Other second-order classifiers.
    BanditGaptronClassifier : A classifier with a regret bound.
    OnlineNewtonClassifier : The same with full information.

    Notes
    -----
    There is no regret bound: the theorem needs one exploration rate, chosen with the horizon and
    ‖U‖ known.

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

    def _check_parameters(self):
        super()._check_parameters()
        check_positive("alpha", self.alpha)
        check_positive("beta", self.beta)
        check_size("radius", self.radius)

    def _new_model(self, K, width):
        return NewtronModel(K, width, self.alpha, self.beta, self.radius)

    def predict_proba(self, X: Features) -> Floats:
        """softmax(αWx), (n, K)."""
        return mix_softmax(self._scores(X), 0.0, self.alpha)

    def predict_log_proba(self, X: Features) -> Floats:
        """Log softmax(αWx), (n, K), from the scores, to full precision in the tails."""
        return log_softmax(self.alpha * self._scores(X))


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


class ConfiditModel(BanditModel):
    """W and one matrix per class, over rows of norm 1, played by upper confidence bounds."""

    def __init__(self, K, width, alpha, eta):
        self.W, self.alpha, self.eta = np.zeros((K, width)), float(alpha), float(eta)
        self._R = np.tile((1.0 + alpha) * np.eye(width), (K, 1, 1))

    def scores(self, Z):
        return np.clip(unit(Z) @ self.W.T, -self.alpha, 1.0)

    def distribution(self, theta, Z, rho):
        return mix_uniform(np.array([self.bounds(*self.clipped(x)) for x in unit(Z)]), 0.0)

    def clipped(self, x):
        """w'·x of every class, xᵀA⁻¹x and A⁻¹x, for one unit row."""
        v, width, inner = np.empty(self.W.shape), np.empty(len(self.W)), self.W @ x
        solve_each(self._R, x, v, width, np.empty(len(x)))
        return np.clip(inner, -self.alpha, 1.0), inner, width, v

    def bounds(self, clipped, inner, width, v):
        """Upper confidence bounds (K,) of a row, from its `clipped`."""
        return clipped + np.sqrt(self.eta * width)

    def learn(self, Z, codes, rewards, propensities, coins, rho):
        for x, code, reward, coin in zip(unit(Z), codes, rewards, coins[:, 0], strict=True):
            self.learn_one(x, self.clipped(x), code, reward == 1.0, coin)

    def round(self, z, truth, uniforms, rho):
        x = unit(z)[0]
        row_statistics = self.clipped(x)
        code = int(np.argmax(self.bounds(*row_statistics)))
        self.learn_one(x, row_statistics, code, code == truth, uniforms[1])
        return code, 1.0

    def learn_one(self, x, row_statistics, code, right, coin):
        """Learn a unit row, with the result `row_statistics` of `clipped`."""
        clipped, inner, width, v = row_statistics
        s = 1.0 if right or coin < (1.0 - self.alpha) / 2.0 else -1.0
        touched = width > 0.0
        shift = np.divide(clipped - inner, width, out=np.zeros_like(inner), where=touched)
        self.W += shift[:, None] * v
        # A_new⁻¹(A w' + s x) = w' + (s − w'·x) A_new⁻¹ x, and A_new⁻¹ x = A⁻¹x/(1 + xᵀA⁻¹x).
        self.W[code] += (s - clipped[code]) / (1.0 + width[code]) * v[code]
        rotate_in(self._R[code], np.zeros(len(x)), x.copy(), 0.0)


@inherit_parameters(BanditGaptronClassifier, OnlineStructuredPredictor)
@parameters_with(BanditParameters)
class ConfiditClassifier(BanditClassifier):
    r"""Classify from bandit feedback with Confidit: upper confidence bounds for every class.

    Standardized rows are scaled to ‖x‖ = 1. Every class starts with ``A_i = (1+α)² I`` and w_i = 0.
    In a round ``w'_i = w_i + (clip(w_i·x, −α, 1) − w_i·x) A_i⁻¹x/(xᵀA_i⁻¹x)``, and the class with
    the largest ``w'_i·x + √(η xᵀA_i⁻¹x)`` is played, without randomization. s = 1 if it was right;
    else −1 with probability (1+α)/2, 1 otherwise. For the played class
    ``w ← (A + xxᵀ)⁻¹(A w' + sx)`` and ``A ← A + xxᵀ``.

    Parameters
    ----------
    alpha : float, default=1.0
        Lower clipping −α of the scores, with α in (−1, 1].
    eta : float, default=1.0
        Width η > 0 of the confidence bounds; worth tuning.
    {BanditGaptronClassifier: classes}
    {OnlineStructuredPredictor: standardize}
    {BanditGaptronClassifier: missing, fit_intercept, verbose, random_state}

    Attributes
    ----------
    {BanditGaptronClassifier: classes_, missing_coef_, coef_, intercept_}
        They apply to rows that are scaled to norm 1 after standardization and appending the
        intercept.
    {BanditGaptronClassifier: t_, n_mistakes_, n_features_in_, feature_names_in_}

    See Also
    --------
    SOBAClassifier : Random choices, with propensities.
    BanditGaptronClassifier : A classifier with a regret bound.

    Notes
    -----
    There is no regret bound: the theorem assumes that labels are drawn from a linear model of the
    rows.

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

    def _check_parameters(self):
        super()._check_parameters()
        check_positive("eta", self.eta)
        check_real("alpha", self.alpha, lambda v: -1.0 < v <= 1.0, "lie in (-1, 1]")

    def _new_model(self, K, width):
        return ConfiditModel(K, width, self.alpha, self.eta)
