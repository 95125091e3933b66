"""First-order bandits with W = s Θ, simulated by the compiled loop: Banditron and Gaptron."""

import math
from enum import IntEnum
from typing import Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skstructured._base.component import available_if, inherit_parameters, parameters_with
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_size
from skstructured._engine.compiled import kernel, plain_integers
from skstructured._engine.move_and_score import move_and_score_kernel
from skstructured._engine.rounds import NO_FLOATS, Kernels, single_row_rounds
from skstructured._engine.state import OWN, LinearState, LoopOption, at_once, clear, new_state
from skstructured._learners.predictions import has_probabilities_of
from skstructured._learners.weights import linear_scores
from skstructured.bandits._base import BanditClassifier, BanditModel, BanditParameters, mix_uniform
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.extend._types import Features, Floats
from skstructured.extend.learner import Batch, Comparison
from skstructured.extend.optimizer import no_high_probability
from skstructured.guarantees.certificates import Certificate
from skstructured.losses.gap import GapKind, GapSurrogate, add_gradient, best_class, gap


@plain_integers
class BanditState(IntEnum):
    """The state vector, after the loop's own entries; the gradient kernels read it too."""

    KIND, N_CLASSES, X_SQ, LEARN_NORM, ROUND, HORIZON = range(OWN, OWN + 6)
    RHO, EXPLORATION, RADIUS, THETA_SQ, LARGEST_SQ = range(OWN + 6, OWN + 11)


@plain_integers
class Draw(IntEnum):
    """A round's row of scratch: a uniform number, and the action drawn with it."""

    UNIFORM, ACTION, PROPENSITY = range(3)


#: The Banditron, which has no surrogate, among the kinds of surrogates.
BANDITRON = 3.0


@kernel
def sum_step(state, inner, square, bound, weight):
    """u = −1; keeps ‖Θ‖² ← ‖Θ‖² − 2<G, Θ> + ‖G‖²."""
    state[BanditState.THETA_SQ] = max(state[BanditState.THETA_SQ] - 2.0 * inner + square, 0.0)
    return -1.0


@kernel
def draw(theta, share, work):
    """Draw from (1 − share) e_{y*} + share/K; the action and its propensity, written to `work`."""
    dim, top, total = theta.shape[0], best_class(theta), 0.0
    action = dim - 1
    for k in range(dim):
        total += share / dim + (1.0 - share if k == top else 0.0)
        if work[Draw.UNIFORM] < total:
            action = k
            break
    propensity = share / dim + (1.0 - share if action == top else 0.0)
    work[Draw.ACTION], work[Draw.PROPENSITY] = action, propensity
    return action, propensity


@kernel
def bandit_scale(state, x_sq, weight):
    """The round's ρ, and s = η(X_t), projected on the ball of radius D (Theorems 4 to 6).

    T is the horizon, or the number of the round without one. With ρ = 0 the logistic loss has
    ``η = ln 2 e^{−2DX}/(2K²X²)``. The Banditron has s = 1.
    """
    kind, k = state[BanditState.KIND], state[BanditState.N_CLASSES]
    state[BanditState.ROUND] += 1.0
    state[BanditState.LARGEST_SQ] = max(state[BanditState.LARGEST_SQ], x_sq)
    if state[BanditState.LEARN_NORM] > 0.0:
        state[BanditState.X_SQ] = max(state[BanditState.X_SQ], x_sq)
    norm_sq, radius = state[BanditState.X_SQ], state[BanditState.RADIUS]
    horizon, reach, factor = state[BanditState.HORIZON], math.sqrt(norm_sq) * radius, 0.25
    rounds = horizon if horizon > 0.0 else state[BanditState.ROUND]
    if kind == BANDITRON:
        rho = min(0.5, (k / rounds) ** (1.0 / 3.0))
    elif kind == GapKind.LOGISTIC:
        rho, factor = k * reach / math.sqrt(rounds * math.log(2.0)), 0.5 * math.log(2.0)
    elif kind == GapKind.HINGE:
        factor = 1.0 - 1.0 / k
        rho = reach * math.sqrt(k**3 / (2.0 * factor * (k - 1.0) * rounds))
    else:
        rho = k * reach * math.sqrt(2.0 / rounds)
    if state[BanditState.EXPLORATION] >= 0.0:
        rho = state[BanditState.EXPLORATION]
    rho = min(rho, 1.0)
    state[BanditState.RHO] = rho
    if kind == BANDITRON:
        return 1.0
    if norm_sq == 0.0:
        return 0.0
    share = rho if rho > 0.0 else math.exp(-2.0 * reach)
    s, norm = share * factor / (k * k * norm_sq), math.sqrt(state[BanditState.THETA_SQ])
    return radius / norm if s * norm > radius else s


@kernel
def add_move(theta, action, kind, share, g):
    """g ← g + share ∇ℓ(θ; y'), or g + e_{y*} − share e_{y'} of the Banditron."""
    if kind == BANDITRON:
        g[best_class(theta)] += 1.0
        g[action] -= share
    elif share != 0.0:
        add_gradient(theta, action, kind, share, g)


@kernel
def play_bandit_round(theta, truth, g, params, work):
    """Play p', and g of `add_move` with share 1[y' = y]/p'(y'); returns the reward."""
    kind, share = params[BanditState.KIND], params[BanditState.RHO]
    if kind != BANDITRON:
        share = max(gap(theta, kind), share)
    action, propensity = draw(theta, share, work)
    clear(g)
    add_move(theta, action, kind, truth[action] / propensity, g)
    return truth[action]


@kernel
def add_moves(theta, codes, shares, kind, G):
    """`add_move` of every row."""
    for i in range(theta.shape[0]):
        add_move(theta[i], codes[i], kind, shares[i], G[i])


class ScaledWeights(BanditModel):
    """W = s Θ of K classes, moved by the surrogate `loss`, or as the Banditron's without one."""

    dense = False
    scale_kernel, step_kernel = staticmethod(bandit_scale), staticmethod(sum_step)

    def __init__(self, K, width, learner, loss=None):
        vector = new_state(len(BanditState), BanditState.THETA_SQ)
        vector[BanditState.KIND] = BANDITRON if loss is None else loss.code
        vector[BanditState.N_CLASSES], vector[BanditState.LEARN_NORM] = K, 1.0
        vector[BanditState.HORIZON] = learner.horizon or 0.0
        rho = learner.exploration
        vector[BanditState.EXPLORATION] = -1.0 if rho is None else rho
        self.state, self.loss = LinearState(K, width, vector[None]), loss

    def next_round(self, Z):
        """s and ρ of the next round, whose rows z count in it; nothing is changed."""
        vector = self.state.vector.copy()
        return bandit_scale(vector, self._largest_sq(Z), 1.0), vector[BanditState.RHO]

    def _largest_sq(self, Z):
        sparse, intercept = hasattr(Z, "multiply"), self.state.matrix.shape[1] - Z.shape[1]
        squares = (Z.multiply(Z) if sparse else np.square(Z, dtype=np.float64)).sum(axis=1)
        return float(np.max(squares)) + intercept

    @property
    def W(self):
        """Weights of the next round."""
        return bandit_scale(self.state.vector.copy(), 0.0, 1.0) * self.state.matrix

    def scores(self, Z):
        return self.next_round(Z)[0] * linear_scores(self.state.matrix, Z)

    def predicted(self, Z):
        return linear_scores(self.W, Z)

    def distribution(self, theta, Z, rho):
        share = self.next_round(Z)[1]
        if self.loss is not None:
            share = np.maximum(self.loss.gaps(theta), share)
        return mix_uniform(theta, share)

    def learn(self, Z, codes, rewards, propensities, coins, rho):
        self.state.store_for(hasattr(Z, "indptr"))
        vector, Theta, p = self.state.vector, self.state.parts()[0], Z.shape[1]
        s = bandit_scale(vector, self._largest_sq(Z), 1.0)
        theta = np.ascontiguousarray(s * linear_scores(self.state.matrix, Z))
        vector[BanditState.ROUND] += Z.shape[0] - 1
        G = np.zeros_like(theta)
        add_moves(theta, codes, rewards / propensities, vector[BanditState.KIND], G)
        Theta[:, :p] -= np.asarray((Z.T @ G).T)
        if Theta.shape[1] > p:
            Theta[:, p] -= G.sum(axis=0)
        learned = self.state.matrix
        vector[BanditState.THETA_SQ] = float(np.vdot(learned, learned))

    def _loop(self, sparse):
        """The functions of the loop over rounds."""
        dim = int(self.state.vector[BanditState.N_CLASSES])
        return Kernels((move_and_score_kernel(dim, sparse), play_bandit_round), [self])

    compiled = True

    def block_size(self, learner, rows):
        scale = self.scale
        return scale.block_size(self._loop(scale.makes_sparse(rows)).block_size, rows)

    def simulate(self, rows, block, V, uniforms):
        """Play and learn a block with vertices V; see `BanditClassifier`."""
        m, state, scale = len(block), self.state, self.scale
        sparse, drawn = scale.makes_sparse(rows), np.zeros((m, len(Draw)))
        state.store_for(sparse)
        drawn[:, Draw.UNIFORM] = uniforms
        pending = scale.counted(rows, block, np.ones(m))
        rounds = single_row_rounds(pending.places, V, np.ones(m))
        options = np.zeros(len(LoopOption), dtype=np.int64)
        options[LoopOption.DIM] = V.shape[1]
        # The gradient kernels read the state as parameters: ρ is another in every round.
        results = (drawn, NO_FLOATS, NO_FLOATS, NO_FLOATS)
        constants, kernels = (state.vector, options), self._loop(sparse)
        loop = kernels.call_of(pending.rows, rounds, state, constants, results)
        stopped, _ = at_once(loop, pending.commit)
        if stopped >= 0:  # the rows before it are counted again, without it
            at_once(pending.undo)
            scale.apply(rows, block[:stopped])
        return drawn[:, Draw.ACTION].astype(np.intp), drawn[:, Draw.PROPENSITY], stopped


@inherit_parameters(OnlineStructuredPredictor)
@parameters_with(BanditParameters)
class BanditGaptronClassifier(BanditClassifier):
    r"""Classify from bandit feedback with Gaptron, with a regret bound.

    It plays ``p' = (1 − max(a_t, ρ_t)) e_{y*} + max(a_t, ρ_t)/K`` and, if rewarded, moves along the
    gradient of the surrogate divided by p'(y'). With a horizon T the expected mistakes exceed
    ``Σ ℓ_t(U)``, ‖U‖_F ≤ D, by at most ``KXD max(2KXD/ln 2, 2√(T/ln 2))`` (logistic),
    ``max(K³X²D²/(K−1), 2KXD√(T/2))`` (hinge), ``max(4K²X²D², 2KXD√(2T))`` (smooth hinge).

    On short streams it mostly guesses: to keep its bound it explores in nearly every round, with
    the digits data for about 100,000 rounds. There use `ConfiditClassifier`, or `SOBAClassifier` if
    you need propensities. `predict` does not explore, so it uses all that has been learned.

    Parameters
    ----------
    loss : {"logistic", "hinge", "smooth_hinge"}, default="logistic"
        The surrogate; see `skstructured.losses.GapSurrogate`.
    radius : float
        The radius D of the ball that W stays in and comparators come from. It cannot be learned
        and has no default.
    horizon : int or None, default=None
        Number T of rounds. None uses the number of the round instead of T (anytime): for the
        logistic loss the regret is then at most ``3KXD√(T/ln 2)``; for the others the same schedule
        is used by analogy.
    exploration : float or None, default=None
        The exploration rate ρ; None is that of the theory. With 0 (logistic loss only) the regret
        is ``e^{2DX}K²X²D²/ln 2``, for any T.
    feature_norm : float or None, default=None
        An upper bound X on ``‖x‖_2`` (the intercept's 1 included); None learns it.
    classes : array-like or None, default=None
        The labels; needed if no labeled data will show them.
    {OnlineStructuredPredictor: standardize}
        The bounds are about the standardized rows, and `radius` and `feature_norm` are in their
        units.
    {OnlineStructuredPredictor: missing}
    fit_intercept : bool, default=True
        Whether to append a constant feature 1.
    verbose : bool or int, default=0
        Whether to print the number of learned rows once a second.
    random_state : int, RandomState instance or None, default=None
        Seeds the choices.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels.
    coef_, intercept_ : ndarray
        Weights of the next round.
    missing_coef_ : ndarray of shape (K, n_features_in_)
        With ``missing="indicator"``: weights of the indicators of missing values.
    loss_ : GapSurrogate
        The surrogate that `certificate` compares with.
    t_ : int
        Rounds learned.
    n_mistakes_ : int
        Mistakes in simulated rounds.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    ConfiditClassifier : Fewer mistakes on short streams, without random choices.
    SOBAClassifier : Fewer mistakes on short streams, with propensities.
    BanditReduction : Bandit feedback for any classifier with ``partial_fit``.
    GaptronClassifier : The same with full information.

    References
    ----------
    van der Hoeven (2020), "Exploiting the surrogate gap in online multiclass classification",
    Theorems 4 to 6. The exploration rates are those that prove the stated regret; the printed ones
    of the logistic and the smooth hinge loss do not.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import BanditGaptronClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BanditGaptronClassifier(radius=1.0, classes=[0, 1, 2], random_state=0)
    >>> actions, propensities = model.choose(X[:5])
    >>> model = model.update(X[:5], actions, actions == y[:5], propensities)
    """

    fractional_rewards = True
    _learns_singles = True

    loss: Literal["logistic", "hinge", "smooth_hinge"] = "logistic"
    radius: float | None = None
    horizon: int | None = None
    exploration: float | None = None
    feature_norm: float | None = None

    def _check_parameters(self):
        super()._check_parameters()
        _ = GapSurrogate(kind=self.loss).code
        if self.radius is None:
            raise ValueError(
                "radius must be given: the size of the comparator cannot be learned from bandit "
                "feedback. For features of norm X, start with radius=5/X."
            )
        check_size("radius", self.radius)
        if self.exploration == 0.0 and self.loss != "logistic":
            raise ValueError(
                f"exploration=0 is only supported for loss='logistic'; got loss={self.loss!r}."
            )

    def _new_model(self, K, width):
        self.loss_ = GapSurrogate(self.space_, self.loss)
        model = ScaledWeights(K, width, self, self.loss_)
        vector = model.state.vector
        vector[BanditState.RADIUS] = self.radius
        vector[BanditState.X_SQ] = check_size("feature_norm", self.feature_norm, 0.0) ** 2
        vector[BanditState.LEARN_NORM] = self.feature_norm is None
        return model

    def comparison(self, rounds: Batch) -> Comparison:
        """What a comparator over these rounds is measured by; see `OnlineLearner.comparison`."""
        X, scale = rounds.X, self._scale
        if scale.used:
            X = scale.reset_copy().apply(rounds.rows)[0].matrix
        return Comparison(self.loss_, X, self.space_.unpack(rounds.packed), self.fit_intercept_)

    def _surrogate(self, theta, codes):
        return self.loss_.mean_and_value(theta, self.space_.unpack(codes))[1]

    @available_if(lambda learner: has_probabilities_of(GapSurrogate(kind=learner.loss)))
    def predict_proba(self, X: Features) -> Floats:
        """Probabilities (n, K) of the classes, softmax of the scores; with ``loss="logistic"``.

        They are not those of `choose`, which are `decoding_proba`.
        """
        theta = self._scores(X)
        return self.loss_.mean(theta)

    def regret_bound(self) -> float:
        """The theorem's bound on expected mistakes − Σ ℓ_t(U), for every ‖U‖_F ≤ radius.

        It covers the rounds of the horizon, or without one those learned so far. Each round
        must have been simulated, or chosen by `choose` for a single row and passed to `update`
        before the next, with the same row, action and propensity.

        Returns
        -------
        float

        Raises
        ------
        GuaranteeError
            If no theorem covers the rounds learned; the message gives the reason.
        """
        trouble = self._why_no_bound()
        if trouble is not None:
            raise GuaranteeError(trouble)
        dim, T = len(self.classes_), self.horizon or max(self.t_, 1)
        reach = dim * math.sqrt(self.model_.state.vector[BanditState.X_SQ]) * self.radius  # type: ignore[operator]  # given
        if self.exploration == 0.0:
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

        The theorems bound the expectation: a `delta` other than None raises a GuaranteeError.
        """
        check_is_fitted(self, "classes_")
        no_high_probability(self, delta)
        numbers = {
            "K": float(len(self.classes_)),
            "X": math.sqrt(self.model_.state.vector[BanditState.X_SQ]),
        }
        name = f"Gaptron with bandit feedback, {self.loss}"
        return Certificate(name, 0.0, self.regret_bound(), float(self.radius), numbers)  # type: ignore[arg-type]

    def _why_no_bound(self):
        """The reason why the theorems do not hold, or None."""
        check_is_fitted(self, "classes_")
        if self.exploration is not None and self.exploration > 0.0:
            return f"The bounds are for the theory's exploration (or 0), got {self.exploration!r}."
        if self._uncovered:
            return (
                "The bounds are about the learner's own choices: single rows that `choose` has "
                "played with its own generator, each learned by `update` as it was played, and "
                "before the next round. Some rounds were others, or a choice was left without its "
                "update."
            )
        if self.horizon is not None and self.t_ > self.horizon:
            return f"{self.t_} rounds exceed horizon={self.horizon}."
        largest = math.sqrt(self.model_.state.vector[BanditState.LARGEST_SQ])
        if self.feature_norm is not None and largest > self.feature_norm * (1.0 + 1e-9):
            return f"A row with ‖x‖ = {largest:.6g} exceeded feature_norm={self.feature_norm:g}."
        if self.horizon is None and self.exploration is None and self.loss != "logistic":
            return f"Give a horizon: no anytime bound for loss={self.loss!r}."
        return None


@inherit_parameters(BanditGaptronClassifier, OnlineStructuredPredictor)
@parameters_with(BanditParameters)
class BanditronClassifier(BanditClassifier):
    """Classify from bandit feedback with the Banditron, a Perceptron that explores.

    It plays ``p' = (1 − ρ) e_{y*} + ρ/K`` and updates
    ``W ← W + (1[y' = y]/p'(y') e_{y'} − e_{y*}) xᵀ``.

    Parameters
    ----------
    exploration : float or None, default=None
        The exploration rate ρ. None is ``min(½, (K/T)^{1/3})``; the regret then grows like T^{2/3}.
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
    ConfiditClassifier, SOBAClassifier : Second-order classifiers with fewer mistakes.
    BanditGaptronClassifier : A classifier with a regret bound.
    MulticlassPerceptron : The same with full information.

    Notes
    -----
    There is no regret bound: the theorem needs one exploration rate for all rounds, chosen with ‖U‖
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
    fractional_rewards = True
    _learns_singles = True

    exploration: float | None = None
    horizon: int | None = None

    def _new_model(self, K, width):
        return ScaledWeights(K, width, self)
