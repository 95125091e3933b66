"""Second-order learners: SOBA, Newtron and Confidit, and the second-order Perceptron.

They keep the inverse of a (Kp, Kp) matrix, or of K matrices (p, p), by rank-one updates.
"""

import numpy as np
from numba import njit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from skstructured._compiled import FASTMATH
from skstructured._validation import check_finite, check_positive, read_rows, unchanged_on_error
from skstructured.bandits._base import BanditClassifier, spread
from skstructured.spaces import Simplex
from skstructured.surrogates import best_other


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH)
def times(M, g, x, v):
    """v = M (g ⊗ x) for a symmetric M; classes with g_k = 0 are passed over."""
    p = x.shape[0]
    for i in range(M.shape[0]):
        total = 0.0
        for k in range(g.shape[0]):
            if g[k] != 0.0:
                part, row = 0.0, M[i, k * p : (k + 1) * p]
                for j in range(p):
                    part += row[j] * x[j]
                total += g[k] * part
        v[i] = total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH)
def rank_one(M, factor, v):
    """M ← M + factor v vᵀ."""
    for i in range(M.shape[0]):
        c, row = factor * v[i], M[i]
        for j in range(M.shape[1]):
            row[j] += c * v[j]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH)
def along(V, g, x):
    """<V, g ⊗ x> for V of shape (K p,)."""
    p, total = x.shape[0], 0.0
    for k in range(g.shape[0]):
        if g[k] != 0.0:
            part = 0.0
            for j in range(p):
                part += V[k * p + j] * x[j]
            total += g[k] * part
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def soba_update(inverse, W, sums, theta, x, right, p, v, g):
    """One correct round: g = z/√p', z = (e_ȳ − e_right) ⊗ x/√p', ȳ the best other class.

    ``m = (<W,z>² + 2<W,g>)/(1 + zᵀA⁻¹z)``; where m + Σ m_s over earlier updates is not negative,
    ``A ← A + zzᵀ`` and ``W ← A⁻¹(A_old W − g)``, in place by rank-one updates.
    """
    root = np.sqrt(p)
    for k in range(g.shape[0]):
        g[k] = 0.0
    g[best_other(theta, right)], g[right] = 1.0 / root, -1.0 / root
    times(inverse, g, x, v)
    q, inner = along(v, g, x), along(W, g, x)
    m = (inner * inner + 2.0 * inner / root) / (1.0 + q)
    if m + sums[0] < 0.0:
        return
    sums[0] += m
    sums[1] += q / (p * (1.0 + q))
    step = (inner + 1.0 / root) / (1.0 + q)
    for i in range(W.shape[0]):
        W[i] -= step * v[i]
    rank_one(inverse, -1.0 / (1.0 + q), v)


class SecondOrderBandit(BanditClassifier):
    """Bandit learners with dense weights W (K, p [+ 1]) and matrices over them."""

    def _setup(self, dim, width):
        self._W = np.zeros((dim, width))

    def _dense(self, X):
        """Rows as a dense array, the intercept's 1 appended."""
        X = np.asarray(X.todense()) if hasattr(X, "todense") else X
        return np.hstack([X, np.ones((len(X), 1))]) if self.fit_intercept else X

    def _thetas(self, X):
        return self._dense(X) @ self._W.T

    def _rho(self):
        """ρ as given, or ``min(½, √(K/T))``."""
        if self.exploration is not None:
            return float(self.exploration)
        rounds = self.horizon or self.t_ + 1
        return min(0.5, np.sqrt(len(self.classes_) / rounds))

    def _check_parameters(self):
        super()._check_parameters()
        given = getattr(self, "exploration", None)
        if given is not None and not 0.0 <= given <= 1.0:
            raise ValueError(f"exploration must lie in [0, 1], got {given!r}.")

    @property
    def coef_(self):
        """Weights W without the intercept, (K, n_features_in_)."""
        return self._W[:, : self.n_features_in_].copy()

    @property
    def intercept_(self):
        """Intercepts (K,); zeros where `fit_intercept` is False."""
        return self._W[:, -1].copy() if self.fit_intercept else np.zeros(len(self._W))


class SOBAClassifier(SecondOrderBandit):
    r"""SOBA: a second-order Perceptron with bandit feedback.

    Plays ``(1 − ρ) e_{y*} + ρ/K``. Only where the choice ỹ was right, with
    ``g = (e_ȳ − e_ỹ) ⊗ x/p'`` (ȳ the best other class), ``z = √p' g`` and
    ``m = (<W,z>² + 2<W,g>)/(1 + zᵀA⁻¹z)``: if m plus the m of earlier updates is not negative,
    ``A ← A + zzᵀ``, ``b ← b − g``, ``W = A⁻¹b``; A starts at a·I.

    Parameters
    ----------
    a : float, default=1.0
        Regularization.
    exploration : float or None, default=None
        ρ; None is ``min(½, √(K/T))``: the order T^{−1/2} of the theorem, with a constant of ours.
    horizon : int or None, default=None
        T of the default ρ; None takes the round.
    classes, fit_intercept, random_state
        As in `BanditGaptronClassifier`.

    Attributes
    ----------
    classes_, coef_, intercept_, t_, n_mistakes_, n_features_in_, feature_names_in_
        As in `BanditGaptronClassifier`.

    Notes
    -----
    ``Σ m = min_U [a‖U‖² + Σ(2<U,g> + <U,z>²)] + Σ q/(p'(1+q))``, q = zᵀA⁻¹z, over updates: an
    identity, which fixes the √p'.

    References
    ----------
    Beygelzimer, Orabona, Zhang (2017), "Efficient online bandit multiclass learning with Õ(√T)
    regret".
    """

    def __init__(
        self,
        a=1.0,
        exploration=None,
        horizon=None,
        classes=None,
        fit_intercept=True,
        random_state=None,
    ):
        self.a = a
        self.exploration = exploration
        self.horizon = horizon
        self.classes = classes
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _check_parameters(self):
        super()._check_parameters()
        check_positive("a", self.a)

    def _setup(self, dim, width):
        super()._setup(dim, width)
        self._inverse = np.eye(dim * width) / float(self.a)
        self._sums, self._work = np.zeros(2), (np.empty(dim * width), np.empty(dim))

    def _distribution(self, theta, X):
        return spread(theta, self._rho())

    def _learn_rows(self, X, codes, rewards, propensities):
        X = np.ascontiguousarray(self._dense(X))
        theta, W = X @ self._W.T, self._W.reshape(-1)
        for i in np.flatnonzero(rewards):
            arrays = (self._inverse, W, self._sums, theta[i], X[i])
            soba_update(*arrays, codes[i], propensities[i], *self._work)


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
        self._b, self._v = np.zeros(size), np.empty(size)

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
        """argmin ½<W, AW> − <b, W> over the ball: (A + μI)⁻¹ b, μ ≥ 0 by Newton's method."""
        W, mu = self._inverse @ self._b, 0.0
        norm = np.linalg.norm(W)
        for _ in range(50):
            if norm <= self.D * (1.0 + 1e-12):
                break
            slope = W @ self._shifted(mu, W) / norm
            mu += (norm / self.D - 1.0) * norm / slope
            W = self._shifted(mu, self._b)
            norm = np.linalg.norm(W)
        return W * min(1.0, self.D / max(norm, 1e-300))

    def _shifted(self, mu, right):
        """(A + μI)⁻¹ right by conjugate gradients, started at A⁻¹ right."""
        W = self._inverse @ right
        if mu == 0.0:
            return W
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


class ConfiditClassifier(SecondOrderBandit):
    r"""Confidit: upper confidence bounds for every class.

    Rows are scaled to ‖x‖ = 1. Every class has ``A_i = (1+α)² I`` and w_i = 0; in a round
    ``w'_i = w_i + (clip(w_i·x, −α, 1) − w_i·x) A_i⁻¹x/(xᵀA_i⁻¹x)``, and the class of the largest
    ``w'_i·x + √(η xᵀA_i⁻¹x)`` is played, without randomization. s = 1 if it was right; else −1 with
    probability (1+α)/2, 1 otherwise. For the played class ``w ← (A + xxᵀ)⁻¹(A w' + sx)`` and
    ``A ← A + xxᵀ``.

    Parameters
    ----------
    alpha : float, default=1.0
        α in (−1, 1].
    eta : float, default=1.0
        η > 0, the width of the confidence bounds; tuned in practice.
    classes, fit_intercept, random_state
        As in `BanditGaptronClassifier`.

    Attributes
    ----------
    classes_, coef_, intercept_, t_, n_mistakes_, n_features_in_, feature_names_in_
        As in `BanditGaptronClassifier`; weights are for rows scaled to norm 1.

    References
    ----------
    Crammer, Gentile (2013), "Multiclass classification with bandit feedback using adaptive
    regularization".
    """

    draws = 2

    def __init__(self, alpha=1.0, eta=1.0, classes=None, fit_intercept=True, random_state=None):
        self.alpha = alpha
        self.eta = eta
        self.classes = classes
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _check_parameters(self):
        super()._check_parameters()
        check_positive("eta", self.eta)
        if not -1.0 < self.alpha <= 1.0:
            raise ValueError(f"alpha must lie in (-1, 1], got {self.alpha!r}.")

    def _setup(self, dim, width):
        super()._setup(dim, width)
        self._inverse = np.tile(np.eye(width) / (1.0 + self.alpha) ** 2, (dim, 1, 1))

    def _unit(self, X):
        X = self._dense(X)
        norms = np.linalg.norm(X, axis=1, keepdims=True)
        return X / np.where(norms > 0.0, norms, 1.0)

    def _clipped(self, x):
        """w'·x of every class, xᵀA⁻¹x and A⁻¹x, for one unit row."""
        v = self._inverse @ x
        width, inner = v @ x, self._W @ x
        return np.clip(inner, -self.alpha, 1.0), inner, width, v

    def _thetas(self, X):
        return np.clip(self._unit(X) @ self._W.T, -self.alpha, 1.0)

    def _bounds(self, X):
        widths = np.einsum("nj,kji,ni->nk", X, self._inverse, X, optimize=True)
        return np.clip(X @ self._W.T, -self.alpha, 1.0) + np.sqrt(self.eta * widths)

    def _distribution(self, theta, X):
        return spread(self._bounds(self._unit(X)), 0.0)

    def choose(self, X, random_state=None):
        """Choose the class of the largest upper confidence bound; propensities are 1."""
        with unchanged_on_error(self):
            X, _ = self._rows(X)
            self._start_with(None)
            codes = np.argmax(self._bounds(self._unit(X)), axis=1)
        return self.classes_[codes], np.ones(len(codes))

    def replay(self, X, actions, rewards, propensities):
        """Not possible without randomization: actions it would not have chosen teach nothing."""
        raise ValueError(
            "ConfiditClassifier does not use propensities and has no estimate on logged rounds."
        )

    def _simulate(self, X, rows, codes):
        n, X = len(codes), self._unit(X)
        uniforms = self.random_state_.random_sample((n, 2))
        actions = np.empty(n, dtype=np.intp)
        for i, x in enumerate(X):
            actions[i] = self._play(x)
            self._learn_one(x, actions[i], actions[i] == codes[i], uniforms[i, 1])
        self.t_ += n
        return self._finish(codes, actions, np.ones(n))

    def _play(self, x):
        clipped, _, width, _ = self._clipped(x)
        return int(np.argmax(clipped + np.sqrt(self.eta * width)))

    def _learn_rows(self, X, codes, rewards, propensities):
        uniforms = self.random_state_.random_sample((len(codes), 2))
        for x, code, reward, u in zip(self._unit(X), codes, rewards, uniforms, strict=True):
            self._learn_one(x, code, reward == 1.0, u[1])

    def _learn_one(self, x, code, right, uniform):
        clipped, inner, width, v = self._clipped(x)
        s = 1.0 if right or uniform < (1.0 - self.alpha) / 2.0 else -1.0
        touched = width > 0.0
        shift = np.divide(clipped - inner, width, out=np.zeros_like(inner), where=touched)
        self._W += shift[:, None] * v
        # A_new⁻¹(A w' + s x) = w' + (s − w'·x) A_new⁻¹ x, and A_new⁻¹ x = A⁻¹x/(1 + xᵀA⁻¹x).
        self._W[code] += (s - clipped[code]) / (1.0 + width[code]) * v[code]
        self._inverse[code] -= np.outer(v[code], v[code]) / (1.0 + width[code])


class SecondOrderPerceptron(ClassifierMixin, BaseEstimator):
    r"""The multiclass second-order Perceptron, with full information.

    `SOBAClassifier` with p' = 1 and the true label always revealed: ``g = z = (e_ȳ − e_y) ⊗ x``, ȳ
    the best class other than y, and the same rule for when to update.

    Parameters
    ----------
    a : float, default=1.0
        Regularization: A starts at a·I.
    fit_intercept : bool, default=True
        Append a constant feature 1.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels.
    coef_, intercept_ : ndarray
        Weights.
    t_ : int
        Rounds learned.
    n_mistakes_ : int
        Mistakes on the way.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    References
    ----------
    Cesa-Bianchi, Conconi, Gentile (2005), "A second-order Perceptron algorithm"; the multiclass
    form is that of Beygelzimer, Orabona, Zhang (2017).
    """

    def __init__(self, a=1.0, fit_intercept=True):
        self.a = a
        self.fit_intercept = fit_intercept

    def fit(self, X, y):
        """Learn one pass from scratch; returns self."""
        with unchanged_on_error(self):
            X, rows = read_rows(self, X, reset=True)
            check_finite(self, X, rows)
            self._start(Simplex().fit(y))
            codes = self._core._check_labels(rows, y)
        return self._learn(X, codes)

    def partial_fit(self, X, y, classes=None):
        """Learn rows in order, one round each; `classes` on the first call. Returns self."""
        with unchanged_on_error(self):
            first = not hasattr(self, "_core")
            X, rows = read_rows(self, X, reset=first)
            check_finite(self, X, rows)
            if first:
                self._start(Simplex().fit_stream(y, classes))
            codes = self._core._check_labels(rows, y)
        return self._learn(X, codes)

    def _start(self, space):
        """Weights and matrix are those of a `SOBAClassifier` that never plays."""
        core = SOBAClassifier(self.a, fit_intercept=self.fit_intercept)
        core.n_features_in_ = self.n_features_in_
        core._start(space)
        self._core, self.classes_, self.t_, self.n_mistakes_ = core, space.classes_, 0, 0

    def _learn(self, X, codes):
        core, X = self._core, np.ascontiguousarray(self._core._dense(X))
        W = core._W.reshape(-1)
        for x, code in zip(X, codes, strict=True):
            theta = core._W @ x
            self.n_mistakes_ += int(np.argmax(theta) != code)
            soba_update(core._inverse, W, core._sums, theta, x, code, 1.0, *core._work)
        self.t_ += len(codes)
        return self

    def decision_function(self, X):
        """Scores of the classes, (n, K); with two classes their difference, (n,)."""
        theta = self._thetas(X)
        return theta[:, 1] - theta[:, 0] if theta.shape[1] == 2 else theta

    def predict(self, X):
        """The class of the largest score of every row."""
        best = np.argmax(self._thetas(X), axis=1)
        return self.classes_[best]

    def _thetas(self, X):
        check_is_fitted(self, "classes_")
        X, rows = read_rows(self, X)
        check_finite(self, X, rows)
        return self._core._thetas(X)

    @property
    def coef_(self):
        """Weights without the intercept, (K, n_features_in_)."""
        return self._core.coef_

    @property
    def intercept_(self):
        """Intercepts (K,)."""
        return self._core.intercept_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
