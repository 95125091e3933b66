"""First-order bandits with W = s Θ, simulated by the compiled loop: Banditron and Gaptron."""

import math
from types import SimpleNamespace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skstructured._base.component import Seed, parameters
from skstructured._base.docstrings import documented
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import (
    check_share,
    check_size,
    refuse_row,
)
from skstructured._engine.compiled import kernel
from skstructured._engine.move_and_score import move_and_score_kernel
from skstructured._engine.rounds import (
    NO_FLOATS,
    loop_for,
    rounds_of,
)
from skstructured._engine.rows import Rows
from skstructured._engine.state import (
    DIM,
    OPTIONS,
    OWN,
    LinearState,
    at_once,
    new_state,
)
from skstructured._learners.lock import learned_aside
from skstructured._learners.passes import with_progress
from skstructured._learners.weights import LinearWeights, linear_scores
from skstructured.bandits._base import FOREIGN, BanditClassifier, mix_uniform
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.extend._types import Features, Floats, Kernel
from skstructured.extend.optimizer import no_high_probability
from skstructured.guarantees.certificates import Certificate
from skstructured.losses.gap import (
    HINGE,
    KINDS,
    LOGISTIC,
    GapSurrogate,
    add_gradient,
    best_class,
    gap,
)

# The state vector, after the loop's own entries; the gradient kernels read it too.
KIND, N_CLASSES, X_SQ, LEARN_NORM, ROUND, HORIZON = range(OWN, OWN + 6)
RHO, EXPLORATION, RADIUS, THETA_SQ, LARGEST_SQ = range(OWN + 6, OWN + 11)


#: What a round's row of scratch holds: a uniform number, and what was drawn with it.
UNIFORM, ACTION, PROPENSITY = range(3)


@kernel
def sum_step(state, inner, square, bound, weight):
    """u = −1; keeps ‖Θ‖² ← ‖Θ‖² − 2<g, raw> + ‖g‖²‖x‖²."""
    state[THETA_SQ] = max(state[THETA_SQ] - 2.0 * inner + square, 0.0)
    return -1.0


@kernel
def draw(theta, share, work):
    """Draw from (1 − share) e_{y*} + share/K; the action and its propensity, noted in `work`."""
    dim, top, total = theta.shape[0], best_class(theta), 0.0
    action = dim - 1
    for k in range(dim):
        total += share / dim + (1.0 - share if k == top else 0.0)
        if work[UNIFORM] < total:
            action = k
            break
    propensity = share / dim + (1.0 - share if action == top else 0.0)
    work[ACTION], work[PROPENSITY] = action, propensity
    return action, propensity


class FirstOrderBandit(LinearWeights, BanditClassifier):
    """Bandit learners with W = s Θ, simulated by the compiled loop."""

    fractional_rewards = True
    _learns_singles = True
    scale_kernel: Kernel = None  # type: ignore[assignment]  # a subclass brings both
    gradient_kernel: Kernel = None  # type: ignore[assignment]

    def _setup(self, dim, width):
        vector = new_state(11, THETA_SQ)
        vector[N_CLASSES] = float(dim)
        vector[HORIZON] = 0.0 if self.horizon is None else float(self.horizon)
        vector[EXPLORATION] = self._exploration()
        vector[LEARN_NORM] = 1.0
        self._state = LinearState(dim, width, vector[None])

    def _exploration(self):
        """ρ as given, or −1 for the schedule of theory."""
        if self.exploration is None:
            return -1.0
        return check_share("exploration", self.exploration)

    def _largest_sq(self, X):
        sparse = hasattr(X, "multiply")
        squares = (X.multiply(X) if sparse else np.square(X, dtype=np.float64)).sum(axis=1)
        return float(np.max(squares)) + float(self._intercept)

    def _next_round(self, X):
        """Rows, s and the vector of the next round, whose rows count in it; nothing is changed."""
        vector = self._state.vector.copy()
        Z = self._ready(X, self._scale.copy())
        return Z, self.scale_kernel(vector, self._largest_sq(Z), 1.0), vector

    def _thetas(self, X):
        Z, s, _ = self._next_round(X)
        return s * linear_scores(self._state.matrix, Z)

    def _scores(self, X):
        """Scores of new rows, which do not count."""
        rows = Rows.from_array(self._fitted_rows(X))
        with self.lock:
            return linear_scores(self._weights(), self._scale.completed(rows).matrix)

    def _rho(self, X):
        return self._next_round(X)[2][RHO]

    def _learn_at(self, X, codes, rewards, propensities):
        self._state.store_for(hasattr(X, "indptr"))
        vector, Theta, p = self._state.vector, self._state.own, X.shape[1]
        s = self.scale_kernel(vector, self._largest_sq(X), 1.0)
        theta = s * linear_scores(self._state.matrix, X)
        vector[ROUND] += X.shape[0] - 1
        G = self._gradients(np.ascontiguousarray(theta), codes, rewards / propensities)
        Theta[:, :p] -= np.asarray((X.T @ G).T)
        if Theta.shape[1] > p:
            Theta[:, p] -= G.sum(axis=0)
        learned = self._state.matrix
        vector[THETA_SQ] = float(np.vdot(learned, learned))

    def _simulate(self, rows, codes):
        n = len(codes)
        sparse = self._scale.makes_sparse(rows)
        self._state.store_for(sparse)
        move_and_score = move_and_score_kernel(len(self.classes_), sparse)
        optimizer = SimpleNamespace(scale_kernel=self.scale_kernel, step_kernel=sum_step)
        learn, size = loop_for((move_and_score, self.gradient_kernel), [optimizer])
        size = self._scale.block_size(size, rows)
        actions, propensities = np.empty(n, dtype=np.intp), np.empty(n)
        for start in with_progress(self, range(0, n, size), n):
            block = np.arange(start, min(start + size, n))
            with self.lock, learned_aside(self, draws=True) as twin:
                drawn, stopped = twin._simulate_block(learn, rows, block, codes[block])
                learned = block[: stopped if stopped >= 0 else None]
                actions[block], propensities[block] = drawn[:, ACTION], drawn[:, PROPENSITY]
                twin._count(actions[learned], codes[learned])
            if stopped >= 0:
                refuse_row(self, rows.X, block[stopped])
        return actions, propensities

    def _simulate_block(self, learn, rows, block, codes):
        """Play and learn rows; what was drawn, and the place of a row that stopped it, or -1."""
        m, state = len(block), self._state
        drawn = np.zeros((m, 3))
        drawn[:, UNIFORM] = self.random_state_.random_sample(m)
        found = self._scale.counted(rows, block, np.ones(m))
        rounds = rounds_of(found.places, self.space_.unpack(codes), np.ones(m))
        options = np.zeros(OPTIONS, dtype=np.int64)
        options[DIM] = len(self.classes_)
        # The state is what the gradient kernels read as parameters: ρ is another in every round.
        results = (drawn, NO_FLOATS, NO_FLOATS, NO_FLOATS)
        loop = learn(found.rows, rounds, state, (state.vector, options), results)
        stopped, _ = at_once(loop, found.commit)
        if stopped >= 0:  # the rows before it are counted again, without it
            at_once(found.undo)
            self._scale.apply(rows, block[:stopped])
        return drawn, stopped

    def _weights(self):
        if not hasattr(self, "classes_"):
            raise AttributeError("coef_ and intercept_ are set by the first round.")
        with self.lock:
            state = self._state
            return self._scale.fold(self.scale_kernel(state.vector.copy(), 0.0, 1.0) * state.matrix)


@kernel
def gap_bandit_scale(state: Floats, x_sq: float, weight: float) -> float:
    """The round's ρ, and s = η(X_t), projected on the ball of radius D (spec of Theorems 4 to 6).

    With T the horizon, or the round where none is given: logistic ``ρ = KXD/√(T ln 2)``,
    ``η = ρ ln 2/(2K²X²)``; hinge ``ρ = √(K³X²D²/(2(1−1/K)(K−1)T))``, ``η = ρ(1−1/K)/(K²X²)``;
    smooth hinge ``ρ = √(2K²X²D²/T)``, ``η = ρ/(4K²X²)``. With ρ = 0,
    ``η = ln 2 e^{−2DX}/(2K²X²)``.
    """
    state[ROUND] += 1.0
    state[LARGEST_SQ] = max(state[LARGEST_SQ], x_sq)
    if state[LEARN_NORM] > 0.0:
        state[X_SQ] = max(state[X_SQ], x_sq)
    k, reach = state[N_CLASSES], math.sqrt(state[X_SQ]) * state[RADIUS]
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
    factor = 0.5 * math.log(2.0) if state[KIND] == LOGISTIC else 0.25
    if state[KIND] == HINGE:
        factor = 1.0 - 1.0 / k
    s = share * factor / (k * k * state[X_SQ])
    norm = math.sqrt(state[THETA_SQ])
    return state[RADIUS] / norm if s * norm > state[RADIUS] else s


@kernel
def gap_bandit(theta: Floats, truth: Floats, g: Floats, params: Floats, work: Floats) -> float:
    """Play p'; g = 1[y' = y]/p'(y') ∇ℓ(θ; y'); returns the reward."""
    action, propensity = draw(theta, max(gap(theta, params[KIND]), params[RHO]), work)
    for k in range(theta.shape[0]):
        g[k] = 0.0
    if truth[action] == 1.0:
        add_gradient(theta, action, params[KIND], 1.0 / propensity, g)
    return truth[action]


@kernel
def _gap_gradients(theta, codes, shares, kind, G):
    for i in range(theta.shape[0]):
        if shares[i] != 0.0:
            add_gradient(theta[i], codes[i], kind, shares[i], G[i])


def _is_logistic(learner):
    """Whether there are probabilities; for `available_if`."""
    return GapSurrogate(kind=learner.loss).has_probabilities


@documented(OnlineStructuredPredictor)
@parameters
class BanditGaptronClassifier(FirstOrderBandit):
    r"""Gaptron with bandit feedback.

    Plays ``p' = (1 − max(a_t, ρ_t)) e_{y*} + max(a_t, ρ_t)/K`` and, if rewarded, moves along the
    gradient of the surrogate divided by p'(y'). With a horizon T the expected mistakes exceed
    ``Σ ℓ_t(U)``, ‖U‖_F ≤ D, by at most ``KXD max(2KXD/ln 2, 2√(T/ln 2))`` (logistic),
    ``max(K³X²D²/(K−1), 2KXD√(T/2))`` (hinge), ``max(4K²X²D², 2KXD√(2T))`` (smooth hinge).

    On short streams it guesses: as its theorem says, it explores in nearly every round, on the
    digits for a hundred thousand (``docs/bandit_feedback.md``). Take `ConfiditClassifier` there, or
    `SOBAClassifier` where propensities are needed. What it has learned meanwhile is in `predict`,
    which does not explore.

    Parameters
    ----------
    loss : {"logistic", "hinge", "smooth_hinge"}, default="logistic"
        The surrogate; see `skstructured.losses.gap.GapSurrogate`.
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
    {OnlineStructuredPredictor: standardize}
        The bounds are about the rows as standardised, and `radius` and `feature_norm` are in their
        units.
    {OnlineStructuredPredictor: missing}
    fit_intercept : bool, default=True
        Append a constant feature 1.
    verbose : bool or int, default=0
        Print, once a second, how many rows are learned.
    random_state : int, RandomState instance or None, default=None
        Seeds the choices.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels.
    coef_, intercept_ : ndarray
        Weights of the next round.
    missing_coef_ : ndarray of shape (K, n_features_in_)
        With ``missing="indicator"``: weights of the indicators of what rows lack.
    loss_ : GapSurrogate
        The surrogate, which `certificate` is against.
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

    loss: Literal["logistic", "hinge", "smooth_hinge"] = "logistic"
    radius: float | None = None
    horizon: int | None = None
    exploration: float | None = None
    feature_norm: float | None = None
    classes: ArrayLike | None = None
    standardize: bool | Literal["auto"] = "auto"
    missing: Literal["mean", "indicator", "error"] = "mean"
    fit_intercept: bool = True
    verbose: bool | int = 0
    random_state: Seed = None

    def _check_parameters(self):
        super()._check_parameters()
        _ = GapSurrogate(kind=self.loss).code
        if self.radius is None:
            raise ValueError(
                "radius must be given: the size of the comparator cannot be learned from bandit "
                "feedback; for features of norm X, radius=5/X is a start."
            )
        check_size("radius", self.radius)
        if self._exploration() == 0.0 and self.loss != "logistic":
            raise ValueError(f"exploration=0 needs loss='logistic', got loss={self.loss!r}.")

    def _setup(self, dim, width):
        super()._setup(dim, width)
        self.loss_ = GapSurrogate(self.space_, self.loss)
        self._state.vector[KIND], self._state.vector[RADIUS] = KINDS[self.loss], float(self.radius)
        if self.feature_norm is not None:
            self._state.vector[X_SQ] = check_size("feature_norm", self.feature_norm) ** 2
            self._state.vector[LEARN_NORM] = 0.0

    def _distribution(self, theta, X):
        gaps = GapSurrogate(kind=self.loss).gaps(theta)
        return mix_uniform(theta, np.maximum(gaps, self._rho(X)))

    def _gradients(self, theta, codes, shares):
        G = np.zeros_like(theta)
        _gap_gradients(theta, codes, shares, KINDS[self.loss], G)
        return G

    @available_if(_is_logistic)
    def predict_proba(self, X: Features) -> Floats:
        """Probabilities (n, K) of the classes, softmax of the scores; with ``loss="logistic"``.

        They are not those of `choose`, which are `decoding_proba`.
        """
        theta = self._scores(X)
        return self.loss_.mean(theta)

    def regret_bound(self) -> float:
        """The theorem's bound on expected mistakes − Σ ℓ_t(U), for every ‖U‖_F ≤ radius.

        For the rounds of the horizon, or those learned so far where none was given. Each must have
        been simulated, or chosen by `choose` for a single row and handed to `update` before the
        next, with the same row, action and propensity: the proofs need every action drawn with the
        weights it is learned with, and no choice left out.

        Returns
        -------
        float

        Raises
        ------
        GuaranteeError
            If no theorem covers the rounds learned; the message says why.
        """
        trouble = self._why_no_bound()
        if trouble is not None:
            raise GuaranteeError(trouble)
        dim, T = len(self.classes_), self.horizon or max(self.t_, 1)
        reach = dim * math.sqrt(self._state.vector[X_SQ]) * self.radius  # type: ignore[operator]  # given
        if self._exploration() == 0.0:
            factor = math.exp(2.0 * reach / dim) if 2.0 * reach / dim < 700.0 else math.inf
            return factor * reach**2 / math.log(2.0)
        if self.horizon is None:
            return 3.0 * reach * math.sqrt(T / math.log(2.0))
        if self.loss == "logistic":
            slow = 2.0 * math.sqrt(T / math.log(2.0))
            return reach * max(2.0 * reach / math.log(2.0), slow)
        if self.loss == "hinge":
            return max(dim * reach**2 / (dim - 1.0), 2.0 * reach * math.sqrt(T / 2.0))
        return max(4.0 * reach**2, 2.0 * reach * math.sqrt(2.0 * T))

    def certificate(self, delta: float | None = None) -> Certificate:
        """The theorem behind `regret_bound`, for comparators with ‖U‖_F ≤ radius.

        The theorems bound the expectation: a `delta` other than None is a GuaranteeError.
        """
        check_is_fitted(self, "classes_")
        no_high_probability(self, delta)
        numbers = {"K": float(len(self.classes_)), "X": math.sqrt(self._state.vector[X_SQ])}
        name = f"Gaptron with bandit feedback, {self.loss}"
        return Certificate(name, 0.0, self.regret_bound(), float(self.radius), numbers)  # type: ignore[arg-type]

    def _why_no_bound(self):
        """What voids the theorems, or None."""
        check_is_fitted(self, "classes_")
        if self._exploration() > 0.0:
            return f"The bounds are for the theory's exploration (or 0), got {self.exploration!r}."
        if self._uncovered:
            return FOREIGN
        if self.horizon is not None and self.t_ > self.horizon:
            return f"{self.t_} rounds exceed horizon={self.horizon}."
        largest = math.sqrt(self._state.vector[LARGEST_SQ])
        if self.feature_norm is not None and largest > self.feature_norm * (1.0 + 1e-9):
            return f"A row with ‖x‖ = {largest:.6g} exceeded feature_norm={self.feature_norm:g}."
        if self.horizon is None and self.exploration is None and self.loss != "logistic":
            return f"Give a horizon: no anytime bound for loss={self.loss!r}."
        return None


@kernel
def banditron_scale(state: Floats, x_sq: float, weight: float) -> float:
    """s = 1; ρ = min(½, (K/T)^{1/3}) unless it was given."""
    state[ROUND] += 1.0
    rounds = state[HORIZON] if state[HORIZON] > 0.0 else state[ROUND]
    state[RHO] = min(0.5, (state[N_CLASSES] / rounds) ** (1.0 / 3.0))
    if state[EXPLORATION] >= 0.0:
        state[RHO] = state[EXPLORATION]
    return 1.0


@kernel
def banditron(theta: Floats, truth: Floats, g: Floats, params: Floats, work: Floats) -> float:
    """Play (1−ρ) e_{y*} + ρ/K; g = e_{y*} − 1[y' = y]/p'(y') e_{y'}; returns the reward."""
    action, propensity = draw(theta, params[RHO], work)
    for k in range(theta.shape[0]):
        g[k] = 0.0
    g[best_class(theta)] = 1.0
    if truth[action] == 1.0:
        g[action] -= 1.0 / propensity
    return truth[action]


@documented(BanditGaptronClassifier, OnlineStructuredPredictor)
@parameters
class BanditronClassifier(FirstOrderBandit):
    """The Banditron: a Perceptron that explores.

    Plays ``p' = (1 − ρ) e_{y*} + ρ/K``; ``W ← W + (1[y' = y]/p'(y') e_{y'} − e_{y*}) xᵀ``.

    Parameters
    ----------
    exploration : float or None, default=None
        ρ; None is ``min(½, (K/T)^{1/3})``, with which the regret grows like T^{2/3}.
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
    No bound is stated. Its theorem is for one exploration rate in all rounds, chosen with ‖U‖
    known.

    References
    ----------
    Kakade, Shalev-Shwartz, Tewari (2008), "Efficient bandit algorithms for online multiclass
    prediction".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import BanditronClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BanditronClassifier(classes=[0, 1, 2], random_state=0)
    >>> actions, propensities = model.choose(X[:5])
    >>> model.update(X[:5], actions, actions == y[:5], propensities).t_
    5
    """

    _no_theorem = "Its theorem is for one exploration rate in all rounds, chosen with ‖U‖ known."
    scale_kernel = staticmethod(banditron_scale)
    gradient_kernel = staticmethod(banditron)

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
        self._exploration()

    def _distribution(self, theta, X):
        return mix_uniform(theta, self._rho(X))

    def _gradients(self, theta, codes, shares):
        rows = np.arange(len(codes))
        G = np.zeros_like(theta)
        G[rows, np.argmax(theta, axis=1)] = 1.0
        G[rows, codes] -= shares
        return G
