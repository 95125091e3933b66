"""First-order bandit learners: Gaptron with importance weights, and the Banditron."""

import math

import numpy as np
from numba import njit

from skstructured._advance import advance_kernel
from skstructured._driver import FACTOR, run_epoch
from skstructured._validation import check_positive
from skstructured.bandits._base import BanditClassifier, spread
from skstructured.surrogates import (
    HINGE,
    KINDS,
    LOGISTIC,
    GapSurrogate,
    add_gradient,
    best_class,
    gap,
)

#: Rounds simulated at a time.
BLOCK = 4096

# The state vector, after the driver's own entries; the gradient kernels read it too.
KIND, K, X_SQ, LEARN_NORM, ROUND, HORIZON, RHO, EXPLORATION, RADIUS, THETA_SQ = range(3, 13)


@njit(cache=True, nogil=True, error_model="numpy")
def gap_bandit_scale(state, x_sq, weight):
    """The round's ρ, and s = η(X_t), projected on the ball of radius D (spec of Theorems 4 to 6).

    With T the horizon, or the round where none is given: logistic ``ρ = KXD/√(T ln 2)``,
    ``η = ρ ln 2/(2K²X²)``; hinge ``ρ = √(K³X²D²/(2(1−1/K)(K−1)T))``, ``η = ρ(1−1/K)/(K²X²)``;
    smooth hinge ``ρ = √(2K²X²D²/T)``, ``η = ρ/(4K²X²)``. With ρ = 0,
    ``η = ln 2 e^{−2DX}/(2K²X²)``.
    """
    state[ROUND] += 1.0
    if state[LEARN_NORM] > 0.0:
        state[X_SQ] = max(state[X_SQ], x_sq)
    k, reach = state[K], math.sqrt(state[X_SQ]) * state[RADIUS]
    rounds = state[HORIZON] if state[HORIZON] > 0.0 else state[ROUND]
    if state[EXPLORATION] >= 0.0:
        rho = state[EXPLORATION]
    elif state[KIND] == LOGISTIC:
        rho = k * reach / math.sqrt(rounds * math.log(2.0))
    elif state[KIND] == HINGE:
        rho = reach * math.sqrt(k**3 / (2.0 * (1.0 - 1.0 / k) * (k - 1.0) * rounds))
    else:
        rho = k * reach * math.sqrt(2.0 / rounds)
    rho = min(rho, 1.0)
    state[RHO] = rho
    if state[X_SQ] == 0.0:
        return 0.0
    share = rho if rho > 0.0 else math.exp(-2.0 * reach)
    # The kernel's logistic gradient leaves out its 1/ln 2.
    factor = 0.5 if state[KIND] == LOGISTIC else (1.0 - 1.0 / k if state[KIND] == HINGE else 0.25)
    s = share * factor / (k * k * state[X_SQ])
    if s * s * state[THETA_SQ] > state[RADIUS] * state[RADIUS]:
        s = state[RADIUS] / math.sqrt(state[THETA_SQ])
    return s


@njit(cache=True, nogil=True, error_model="numpy")
def sum_step(state, raw, g, x_sq, weight):
    """u = −1; keeps ‖Θ‖² ← ‖Θ‖² − 2<g, raw> + ‖g‖²‖x‖²."""
    inner, g_sq = 0.0, 0.0
    for k in range(g.shape[0]):
        inner += g[k] * raw[k]
        g_sq += g[k] * g[k]
    state[THETA_SQ] = max(state[THETA_SQ] - 2.0 * inner + g_sq * x_sq, 0.0)
    return -1.0


@njit(cache=True, nogil=True, error_model="numpy")
def banditron_scale(state, x_sq, weight):
    """s = 1; ρ = min(½, (K/T)^{1/3}) unless it was given."""
    state[ROUND] += 1.0
    rounds = state[HORIZON] if state[HORIZON] > 0.0 else state[ROUND]
    given = state[EXPLORATION] >= 0.0
    state[RHO] = state[EXPLORATION] if given else min(0.5, (state[K] / rounds) ** (1.0 / 3.0))
    return 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def _draw(theta, share, work):
    """Draw from (1 − share) e_{y*} + share/K by the next uniform number; notes what was drawn.

    `work` holds the round, the number of rounds, then their uniforms, actions and propensities.
    """
    t, n, dim = int(work[0]), int(work[1]), theta.shape[0]
    top, total, action = best_class(theta), 0.0, dim - 1
    for k in range(dim):
        total += share / dim + (1.0 - share if k == top else 0.0)
        if work[2 + t] < total:
            action = k
            break
    propensity = share / dim + (1.0 - share if action == top else 0.0)
    work[2 + n + t], work[2 + 2 * n + t], work[0] = action, propensity, t + 1.0
    return action


@njit(cache=True, nogil=True, error_model="numpy")
def gap_bandit(theta, truth, mu, params, work):
    """Play p', and write truth + 1[y' = y]/p'(y') ∇ℓ(θ; y') into μ; returns the reward."""
    action = _draw(theta, max(gap(theta, params[KIND]), params[RHO]), work)
    for k in range(theta.shape[0]):
        mu[k] = truth[k]
    if truth[action] == 1.0:
        t, n = int(work[0]) - 1, int(work[1])
        add_gradient(theta, action, params[KIND], 1.0 / work[2 + 2 * n + t], mu)
    return truth[action]


@njit(cache=True, nogil=True, error_model="numpy")
def banditron(theta, truth, mu, params, work):
    """Play (1−ρ) e_{y*} + ρ/K, and write truth + e_{y*} − 1[y' = y]/p'(y') e_{y'} into μ."""
    action = _draw(theta, params[RHO], work)
    for k in range(theta.shape[0]):
        mu[k] = truth[k]
    mu[best_class(theta)] += 1.0
    if truth[action] == 1.0:
        t, n = int(work[0]) - 1, int(work[1])
        mu[action] -= 1.0 / work[2 + 2 * n + t]
    return truth[action]


@njit(cache=True, nogil=True, error_model="numpy")
def _gap_gradients(theta, codes, shares, kind, G):
    for i in range(theta.shape[0]):
        if shares[i] != 0.0:
            add_gradient(theta[i], codes[i], kind, shares[i], G[i])


class FirstOrderBandit(BanditClassifier):
    """Bandit learners with W = s Θ, simulated by the compiled epoch."""

    fractional_rewards = True
    scale_kernel = None
    gradient_kernel = None

    def _setup(self, dim, width):
        self._state = np.zeros(13)
        self._state[FACTOR], self._state[K] = 1.0, float(dim)
        self._state[HORIZON] = 0.0 if self.horizon is None else float(self.horizon)
        self._state[EXPLORATION] = self._exploration()
        self._state[LEARN_NORM] = 1.0
        self._Theta, self._by_feature = np.zeros((dim, width)), False

    def _exploration(self):
        """ρ as given, or −1 for the schedule of theory."""
        if self.exploration is None:
            return -1.0
        if not 0.0 <= self.exploration <= 1.0:
            raise ValueError(f"exploration must lie in [0, 1], got {self.exploration!r}.")
        return float(self.exploration)

    def _matrix(self):
        return self._Theta.T if self._by_feature else self._Theta

    def _raw(self, X):
        Theta, p = self._matrix(), X.shape[1]
        raw = np.asarray(X @ Theta[:, :p].T)
        return raw + Theta[:, p] if Theta.shape[1] > p else raw

    def _largest_sq(self, X):
        squares = X.multiply(X).sum(axis=1) if hasattr(X, "multiply") else (X * X).sum(axis=1)
        return float(np.max(squares)) + float(bool(self.fit_intercept))

    def _thetas(self, X):
        s = self.scale_kernel(self._state.copy(), self._largest_sq(X), 1.0)
        return s * self._raw(X)

    def _rho(self, X):
        """ρ of the next round, whose features count in it."""
        state = self._state.copy()
        self.scale_kernel(state, self._largest_sq(X), 1.0)
        return state[RHO]

    def _learn_rows(self, X, codes, rewards, propensities):
        theta = self.scale_kernel(self._state, self._largest_sq(X), 1.0) * self._raw(X)
        self._state[ROUND] += X.shape[0] - 1
        G = self._gradients(np.ascontiguousarray(theta), codes, rewards / propensities)
        Theta, p = self._matrix(), X.shape[1]
        Theta[:, :p] -= np.asarray((X.T @ G).T)
        if Theta.shape[1] > p:
            Theta[:, p] -= G.sum(axis=0)
        self._state[THETA_SQ] = float(np.vdot(self._Theta, self._Theta))

    def _simulate(self, X, rows, codes):
        if rows.is_sparse != self._by_feature:
            self._Theta, self._by_feature = np.ascontiguousarray(self._Theta.T), rows.is_sparse
        dim, n = len(self.classes_), len(codes)
        advance = advance_kernel(dim, rows.is_sparse)
        kernels = (advance, self.gradient_kernel, self.scale_kernel, sum_step)
        actions, propensities = np.empty(n, dtype=np.intp), np.empty(n)
        nothing = np.empty((0, 0))
        for start in range(0, n, BLOCK):
            block = np.arange(start, min(start + BLOCK, n))
            m = len(block)
            work = np.zeros(2 + 3 * m)
            work[1], work[2 : 2 + m] = m, self.random_state_.random_sample(m)
            truth, ones = self.space_.unpack(codes[block]), np.ones(m)
            arrays = (rows, block, truth, ones, self._Theta, nothing, self._state, self._state)
            run_epoch(*arrays, work, nothing, kernels)
            actions[block], propensities[block] = work[2 + m : 2 + 2 * m], work[2 + 2 * m :]
        self.t_ += n
        return self._finish(codes, actions, propensities)

    @property
    def coef_(self):
        """Weights W of the next round without the intercept, (K, n_features_in_)."""
        return self._weights()[:, : self.n_features_in_]

    @property
    def intercept_(self):
        """Intercepts (K,); zeros where `fit_intercept` is False."""
        W = self._weights()
        return W[:, -1].copy() if self.fit_intercept else np.zeros(len(W))

    def _weights(self):
        if not hasattr(self, "classes_"):
            raise AttributeError("weights are there after the first round.")
        return self.scale_kernel(self._state.copy(), 0.0, 1.0) * self._matrix()


class BanditGaptronClassifier(FirstOrderBandit):
    r"""Gaptron with bandit feedback.

    Plays ``p' = (1 − max(a_t, ρ_t)) e_{y*} + max(a_t, ρ_t)/K`` and, if rewarded, moves along the
    gradient of the surrogate divided by p'(y'). With a horizon T the expected mistakes exceed
    ``Σ ℓ_t(U)``, ‖U‖_F ≤ D, by at most ``KXD max(2KXD/ln 2, 2√(T/ln 2))`` (logistic),
    ``max(K³X²D²/(K−1), 2KXD√(T/2))`` (hinge), ``max(4K²X²D², 2KXD√(2T))`` (smooth hinge).

    Parameters
    ----------
    loss : {"logistic", "hinge", "smooth_hinge"}, default="logistic"
        The surrogate; see `skstructured.surrogates.GapSurrogate`.
    radius : float
        D, the radius of the ball that W stays in and comparators come from. It cannot be learned
        and has no default.
    horizon : int or None, default=None
        T; None takes the round for T in every round (anytime): for the logistic loss the regret is
        then at most ``3KXD√(T/ln 2)``; for the others the same schedule is used by analogy.
    exploration : float or None, default=None
        ρ; None is the theory's. With 0 (logistic loss only) the regret is
        ``e^{2DX}K²X²D²/ln 2``, whatever T.
    feature_norm : float or None, default=None
        X, a bound on ``‖x‖_2`` (the intercept's 1 included); None learns it.
    classes : array-like or None, default=None
        The labels, where no labelled data will show them.
    fit_intercept : bool, default=True
        Append a constant feature 1.
    random_state : int, RandomState instance or None, default=None
        Seeds the choices.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels.
    coef_, intercept_ : ndarray
        Weights of the next round.
    t_ : int
        Rounds learned.
    n_mistakes_ : int
        Mistakes in simulated rounds.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    References
    ----------
    van der Hoeven (2020), Theorems 4 to 6; the exploration rates are those that prove the regret
    stated (the printed ones of the logistic and the smooth hinge loss do not).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import BanditGaptronClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BanditGaptronClassifier(radius=1.0, classes=[0, 1, 2], random_state=0)
    >>> actions, propensities = model.choose(X[:5])
    >>> model = model.update(X[:5], actions, actions == y[:5], propensities)
    """

    scale_kernel = staticmethod(gap_bandit_scale)
    gradient_kernel = staticmethod(gap_bandit)

    def __init__(
        self,
        loss="logistic",
        radius=None,
        horizon=None,
        exploration=None,
        feature_norm=None,
        classes=None,
        fit_intercept=True,
        random_state=None,
    ):
        self.loss = loss
        self.radius = radius
        self.horizon = horizon
        self.exploration = exploration
        self.feature_norm = feature_norm
        self.classes = classes
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _check_parameters(self):
        super()._check_parameters()
        _ = GapSurrogate(kind=self.loss).code
        if self.radius is None:
            raise ValueError(
                "radius must be given: the size of the comparator cannot be learned from bandit "
                "feedback; for features of norm X, radius=5/X is a start."
            )
        check_positive("radius", self.radius)
        if self._exploration() == 0.0 and self.loss != "logistic":
            raise ValueError(f"exploration=0 needs loss='logistic', got loss={self.loss!r}.")

    def _setup(self, dim, width):
        super()._setup(dim, width)
        self._state[KIND], self._state[RADIUS] = KINDS[self.loss], float(self.radius)
        if self.feature_norm is not None:
            self._state[X_SQ] = check_positive("feature_norm", self.feature_norm) ** 2
            self._state[LEARN_NORM] = 0.0

    def _distribution(self, theta, X):
        gaps = GapSurrogate(kind=self.loss).gaps(theta)
        return spread(theta, np.maximum(gaps, self._rho(X)))

    def _gradients(self, theta, codes, shares):
        G = np.zeros_like(theta)
        _gap_gradients(theta, codes, shares, KINDS[self.loss], G)
        return G

    def regret_bound(self):
        """The theorem's bound on expected mistakes − Σ ℓ_t(U), for every ‖U‖_F ≤ radius.

        For the rounds of the horizon, or those learned so far where none was given.
        """
        dim, T = len(self.classes_), self.horizon or max(self.t_, 1)
        reach = dim * math.sqrt(self._state[X_SQ]) * self.radius
        if self._exploration() == 0.0:
            return math.exp(2.0 * reach / dim) * reach**2 / math.log(2.0)
        if self.horizon is None:
            factors = {"logistic": 3.0 / math.sqrt(math.log(2.0))}
            if self.loss not in factors:
                from skstructured.exceptions import GuaranteeError

                raise GuaranteeError(f"Give a horizon: no anytime bound for loss={self.loss!r}.")
            return factors[self.loss] * reach * math.sqrt(T)
        if self.loss == "logistic":
            slow = 2.0 * math.sqrt(T / math.log(2.0))
            return reach * max(2.0 * reach / math.log(2.0), slow)
        if self.loss == "hinge":
            return max(dim * reach**2 / (dim - 1.0), 2.0 * reach * math.sqrt(T / 2.0))
        return max(4.0 * reach**2, 2.0 * reach * math.sqrt(2.0 * T))


class BanditronClassifier(FirstOrderBandit):
    """The Banditron: a Perceptron that explores.

    Plays ``p' = (1 − ρ) e_{y*} + ρ/K``; ``W ← W + (1[y' = y]/p'(y') e_{y'} − e_{y*}) xᵀ``.

    Parameters
    ----------
    exploration : float or None, default=None
        ρ; None is ``min(½, (K/T)^{1/3})``, with which the regret grows like T^{2/3}.
    horizon : int or None, default=None
        T of the default ρ; None takes the round.
    classes, fit_intercept, random_state
        As in `BanditGaptronClassifier`.

    Attributes
    ----------
    classes_, coef_, intercept_, t_, n_mistakes_, n_features_in_, feature_names_in_
        As in `BanditGaptronClassifier`.

    References
    ----------
    Kakade, Shalev-Shwartz, Tewari (2008), "Efficient bandit algorithms for online multiclass
    prediction".
    """

    scale_kernel = staticmethod(banditron_scale)
    gradient_kernel = staticmethod(banditron)

    def __init__(
        self, exploration=None, horizon=None, classes=None, fit_intercept=True, random_state=None
    ):
        self.exploration = exploration
        self.horizon = horizon
        self.classes = classes
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _check_parameters(self):
        super()._check_parameters()
        self._exploration()

    def _distribution(self, theta, X):
        return spread(theta, self._rho(X))

    def _gradients(self, theta, codes, shares):
        rows = np.arange(len(codes))
        G = np.zeros_like(theta)
        G[rows, np.argmax(theta, axis=1)] = 1.0
        G[rows, codes] -= shares
        return G
