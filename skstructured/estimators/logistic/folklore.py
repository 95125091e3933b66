"""FOLKLORE and AIOLI: online logistic regression by improper predictions."""

import math
import warnings
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Literal

import numpy as np
from scipy.linalg import helmert

from skstructured._base.component import inherit_parameters, parameters_with
from skstructured._base.exceptions import GuaranteeError, GuaranteeWarning
from skstructured._base.validation import check_choice, check_size
from skstructured._engine.rows import LONGEST_ROW
from skstructured._learners.online import OnlineEstimator
from skstructured._learners.predictions import DecodedPredictions
from skstructured.estimators._auto import given_decoder
from skstructured.estimators.logistic import _base, _rounds
from skstructured.estimators.logistic._rounds import (
    blocks_rounds,
    curvature,
    folklore_rounds,
    reach_of,
)
from skstructured.guarantees.certificates import Certificate
from skstructured.spaces.simplex import log_softmax


def grid_of(B):
    """The values of `radius`, a number or a sequence of them."""
    values = tuple(check_size("radius", value) for value in (B if np.ndim(B) else (B,)))
    if not values:
        raise ValueError(
            f"radius must be a positive number or a non-empty sequence of them, got {B!r}."
        )
    return values


def alpha_of(learner, B):
    """The parameter `alpha`, by default 2R/B, R the bound on rows, or 3/4 without one."""
    norm = check_size("feature_norm", learner.feature_norm, 0.75)
    return check_size("alpha", learner.alpha, 2.0 * norm / B)


def longest_row_of(learner: Any) -> float:
    """The largest norm of an unchanged row."""
    least = min(math.sqrt(alpha_of(learner, B)) for B in grid_of(learner.radius))
    return min(LONGEST_ROW, 1e5 * least)  # squares of 1e5 √λ leave ten digits of A⁻¹


def matrices_of(learner, structure, K, width):
    """The rounds of a class `structure` for every value of `radius`."""
    R = learner.feature_norm or 0.0
    return [structure(K, width, alpha_of(learner, B), B, R) for B in grid_of(learner.radius)]


class FolkloreMatrix(_base.SecondOrderRounds):
    """A over orthonormal class directions Q (r, K) and `width` features, from λI, and P = A⁻¹.

    κ is from B and R, or from row norms if R is 0.
    """

    structure = "full"
    #: Weights (K − 1)p for which ``structure="auto"`` keeps all of A.
    max_weights = 4096
    rounds, directions = staticmethod(folklore_rounds), staticmethod(helmert)
    #: What rounds read, besides what was learned.
    constants = property(lambda self: (self.reach, 1.0 / (self.lam * self.Q.shape[1])))

    def __init__(self, K, width, lam, B, R=0.0):
        self.Q, self.lam, self.reach = self.directions(K), lam, reach_of(K, B, R)
        r = len(self.Q)
        self.G = np.zeros((r, width))
        self.A, self.P = _base.unit_panels(r, width, lam), _base.unit_panels(r, width, 1.0 / lam)
        pairs = np.zeros((r * (r + 1) // 2, _base.MAX_WAITING_ROWS))
        self._waiting = (np.zeros((_base.MAX_WAITING_ROWS, width)), pairs)
        self.numbers, self.refactored = np.zeros(len(_base.SecondOrderNumbers)), 0

    def tidy(self):
        """Check P, and recompute it from A if it has drifted."""
        is_due = self.learned and self.learned % _base.ROUNDS_PER_CHECK == 0
        if is_due and not self.drift() <= 1e-10:
            self.refactor()

    @property
    def _learned(self):
        return self.A, self.P, self.G, *self._waiting, self.numbers

    def add_waiting(self):
        """Add the rows that wait to A."""
        scaled = np.empty((_base.MAX_WAITING_ROWS, self.G.size))
        _base.add_waiting(self.A, *self._waiting, self.numbers, scaled)

    def drift(self):
        """‖P A v − v‖ for a fixed vector v of length 1."""
        self.add_waiting()
        probe = np.random.RandomState(0).standard_normal(self.G.size)
        probe /= np.linalg.norm(probe)
        image = _base.unpack_panels(self.A, *self.G.shape) @ probe
        return float(np.linalg.norm(_base.unpack_panels(self.P, *self.G.shape) @ image - probe))

    def refactor(self):
        """Recompute the inverse of A."""
        self.add_waiting()
        _base.set_inverse(self.A, self.P, *self.G.shape)
        self.refactored += 1

    @property
    def potential(self):
        """Σ ¼ w² tr(A⁻¹ H) over the rounds, which the theorem adds to λ‖U‖²."""
        return float(self.numbers[_base.SecondOrderNumbers.POTENTIAL])


class ClassBlocks(_base.SecondOrderRounds):
    """The blocks of A of one class each, kept as inverses (K, p, p), if all of A is too large."""

    structure = "classes"
    rounds = staticmethod(blocks_rounds)

    def __init__(self, K, width, lam, B, R=0.0):
        self.lam, self.constants = lam, (reach_of(K, B, R),)
        self.numbers = np.zeros(len(_base.SecondOrderNumbers))
        self.G, self.Q = np.zeros((K, width)), np.zeros((0, K))
        self.P = np.repeat(np.eye(width)[None] / lam, K, axis=0)

    _learned = property(attrgetter("P", "G", "numbers"))


for matrix in (FolkloreMatrix, ClassBlocks):  # older saved objects look for them there
    setattr(_rounds, matrix.__name__, matrix)


class RadiusMixtureCertificate(Certificate):
    """The least regret of `bounds` whose ball has U, plus the `price` of the mixture."""

    def __init__(self, bounds, price):
        radius = max(bound.radius for bound in bounds)
        rounds = bounds[0].constants["rounds"]
        constants = {"parts": len(bounds), "radius": radius, "rounds": rounds}
        super().__init__("Theorem 3.3, mixed", None, None, radius, constants, bounds[0].unit)
        self.parts, self.price = bounds, price

    def regret(self, norm):
        """The regret against a comparator with ‖U‖_F = norm, in the largest ball."""
        self.check_inside(norm)
        allowed = [bound for bound in self.parts if norm <= bound.radius * (1 + 1e-9)]
        return self.price + min(bound.regret(norm) for bound in allowed)


class Mixture(_base.SecondOrderRounds):
    r"""The mixture Σ_i v_i p_i of learners, by their losses with weights w (Vovk 1998).

    In round t, with m the largest weight up to it, at least 1,

    .. math:: v_i ∝ \exp\Big(-\frac1m \sum_{s<t} w_s ℓ_s(p_i)\Big).

    Its loss is at most that of the best learner plus m ln N, N how many they are: with rate 1/m,
    ``exp(−w ℓ(p)/m)`` is a concave power of p. So a round costs at most the increase of
    ``−m ln mean_i exp(−L_i/m)``, which only falls when m grows.
    """

    in_place = False

    def __init__(self, experts):
        self.parts = tuple(experts)
        self.losses, self.heaviest = np.zeros(len(self.parts)), 1.0

    @property
    def residual(self):
        """The largest residual of a part."""
        return max(expert.residual for expert in self.parts)

    @property
    def limits(self):
        """How large rounds may be for every part."""
        return [limit for expert in self.parts for limit in expert.limits]

    @property
    def products(self):
        """About how many products a round takes."""
        return sum(expert.products for expert in self.parts)

    def calls(self, X, truth, weight, logits):
        """See `SecondOrderRounds`; the plays are the logarithms (n, K) of the mixture."""
        return ((self._learn, X, truth, weight, logits),)

    def _learn(self, X, truth, weight, logits):
        logs = np.array([log_softmax(expert.learn(X, truth, weight)) for expert in self.parts])
        losses = np.maximum(-weight[:, None] * np.einsum("ink,nk->ni", logs, truth), 0.0)
        total = np.cumsum(np.vstack([self.losses, losses]), axis=0)
        heaviest = np.maximum.accumulate(np.r_[self.heaviest, weight])
        self.losses, self.heaviest = total[-1], float(heaviest[-1])
        logits[:] = mix_logs(logs, total[:-1] / heaviest[1:, None])

    def logits(self, X):
        """Logarithms (n, K) of the mixture; nothing is learned."""
        logs = np.array([log_softmax(expert.logits(X)) for expert in self.parts])
        return mix_logs(logs, np.repeat(self.losses[None] / self.heaviest, len(X), axis=0))


def mix_logs(logs, losses):
    """Log Σ_i v_i exp(logs_i) with v ∝ exp(−losses), (n, K)."""
    return np.logaddexp.reduce(log_softmax(-losses).T[:, :, None] + logs, axis=0)


def choose_structure(learner, K, width):
    """The class for `structure`; "auto" warns if it does not keep all of A."""
    structures = {"full": FolkloreMatrix, "classes": ClassBlocks}
    check_choice("structure", learner.structure, ("auto", *structures))
    if learner.structure in structures:
        return structures[learner.structure]
    most = FolkloreMatrix.max_weights
    if (K - 1) * width <= most:
        return FolkloreMatrix
    message = f"{K} classes and {width} features have {(K - 1) * width} weights, more than {most}: "
    if K * width**2 > most**2:
        raise ValueError(
            f"{message}one matrix per class would have {K * width**2:,} entries. Select fewer "
            "features, use OnlineStructuredPredictor, or set structure='classes'."
        )
    warnings.warn(
        f"{message}structure='classes' is used, which has no regret bound.",
        GuaranteeWarning,
        stacklevel=2,
    )
    return ClassBlocks


def matrices_of_all_radii(self, K, width):
    """The rounds of the only radius, or a mixture of those of each."""
    experts = matrices_of(self, choose_structure(self, K, width), K, width)
    return experts[0] if len(experts) == 1 else Mixture(experts)


def certify_matrices(self: Any, delta: float | None = None) -> Certificate:
    """Bound the regret of the rounds seen so far, from their matrices; see Notes.

    Returns
    -------
    Certificate
        Bound whose ``unit`` is that of `loss_` and of surrogate losses: "bits" for "map" and
        "nearest", "nats" for "sampled". Its ``constants`` are radius, alpha, rounds, and with
        `feature_norm` kappa and excess_risk; see Notes.

    Raises
    ------
    GuaranteeError
        For an approximate `structure`, another decoder than "map", "nearest" or "sampled",
        or a `delta`.
    """
    _base.check_certified(self, "The bound of Agarwal et al. (2022)", delta)
    experts = getattr(self.model_.rounds, "parts", (self.model_.rounds,))
    if experts[0].structure != "full":
        raise GuaranteeError(
            f"No bound with structure={experts[0].structure!r}: set structure='full' (memory "
            "grows with (features × classes)²)."
        )
    bounds = [_bound_of(self, expert) for expert in experts]
    if len(bounds) == 1:
        return bounds[0]
    price = self.loss_.scale_ * math.log(len(experts)) * self.model_.rounds.heaviest
    return RadiusMixtureCertificate(bounds, price)


@parameters_with(_base.LogisticParameters)
class FolkloreClassifier(DecodedPredictions, OnlineEstimator):
    r"""Online logistic regression whose regret grows like log T, without a factor e^B.

    Use it for streams with up to a few hundred weights per class if every row counts. After one
    pass (epoch) its probabilities are about as good as those of a batch fit, on unscaled features
    and without hyperparameters to tune. A round takes about (Kp)²K/2 products for K classes and p
    features. For wider rows use `OnlineStructuredPredictor`.

    In round t, with x its standardized row and A and G from the rounds before [1]_,

    .. math:: z = \tilde g - \tilde A\,\mathrm{softmax}(z), \quad
        \tilde A_{ij} = \tfrac12 x^⊤[A^{-1}]_{ij}x, \quad
        \tilde g_k = -\tfrac12 ⟨x, (A^{-1}G)_k⟩ + \tfrac12 \tilde A_{kk},

    are the logits, and s = softmax(z) is the prediction. There is no weight matrix W that predicts
    the same: the learner is *improper*. Then, with ``h = diag s − ssᵀ`` and κ the largest number
    that theory allows (see Notes), from ‖x‖, or from R if `feature_norm` is given,

    .. math:: A ← A + κ\, h ⊗ xx^⊤, \quad G ← G + (s - y - 2κ h z) ⊗ x.

    With ten or more classes, those with a probability below 0.2/K form one cell. Then h is the
    covariance of the class as far as its cell determines it, which is at most diag s − ssᵀ. The
    bound holds for it too, and a round takes about (Kp)²m/2 products, with m the number of likely
    classes.

    A starts at λI. A⁻¹ is updated by Woodbury's formula over the K − 1 directions in which classes
    differ. It is checked every 1024 rounds, and recomputed if rounding errors are too large.

    Parameters
    ----------
    radius : float or sequence of float, default=1.5
        Norm B of the comparators of the guarantee: ‖U_k‖ ≤ B for every class k, in units of the
        standardized features. A smaller one converges sooner, a larger one follows changes longer.
        A sequence such as ``(0.25, 1, 4)`` runs one learner for each, and predicts a mixture of
        them by their losses. The mixture loses at most ln(len(radius)) nats more than the best one,
        times the largest weight of a row if that is above 1.
    feature_norm : float or None, default=None
        Largest norm R of a standardized row, the intercept's 1 included. A longer row, in learning
        or prediction, raises a ValueError. None has no limit: each round uses the κ of the current
        row.
    alpha : float or None, default=None
        Regularization strength λ. Must be positive. None is 1.5/B, or with `feature_norm` the 2R/B
        of theory.
    structure : {"auto", "full", "classes"}, default="auto"
        Which part of A to keep: all of it, or one block per class, K p² numbers. "auto" is "full"
        up to 4096 weights (K−1)p, the intercept's included. Beyond, it is "classes" with a
        `GuaranteeWarning`, because the theorem needs all of A, and an error if K p² is above 4096².
    decoder : str or Decoder, default="map"
        How `sample` chooses a class, and which losses are reported: "map" or "nearest" for the most
        likely class, "sampled" for a draw by the probabilities. `predict` always returns the most
        likely class.
    standardize : bool, "auto" or "moments", default="auto"
        Whether to center and scale each feature by its mean and standard deviation over the rows so
        far, the current row included. With more than 32 rows these lag: the latest rows, at most
        1/32 of all by weight, may not be included yet. "auto" is True. Cells far beyond the others
        count as an edge, as in `OnlineStructuredPredictor`, except with "moments"; all rows count
        alike. CSR rows are divided by the largest entry of each column so far and not centered, so
        they give different predictions than the same rows in dense form. They are converted to
        dense blocks.
    missing : {"mean", "indicator", "error"}, default="mean"
        How to treat missing values (NaN in dense rows), with `standardize`. "mean" imputes the mean
        of the rows so far, and "error" raises an error. "indicator" imputes the mean and appends
        one column per feature: 1 if the value is missing, else 0.
    fit_intercept : bool, default=True
        Whether to append a constant feature 1. Without an intercept, `standardize` does not center.
    verbose : bool or int, default=0
        Whether to print, once per second, how many rows are learned.
    random_state : int, RandomState instance or None, default=None
        Seeds the order of rows in `fit`, and the draws of `sample`.

    Attributes
    ----------
    feature_ranges_ : FeatureRanges
        With `standardize`: `center`, `scale` and the edges `low` and `high` of features, each of
        shape (n_features_in_,), and which are `heavy`, which become normal quantiles.
    classes_ : ndarray of shape (K,)
        Class labels.
    space_, loss_ : OutputSpace, FenchelYoung
        The simplex, and the logistic loss: in bits for "map" and "nearest", in nats for "sampled".
    t_ : int
        Number of rounds learned.
    random_state_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Raises
    ------
    ValueError
        When used: for a parameter out of its range, a row longer than R, labels that are not among
        the classes, and more features than `structure` allows. Nothing is then learned.

    See Also
    --------
    AioliClassifier : The same for two classes.
    OnlineNewtonClassifier : The proper second-order learner, for comparison.
    GaussianAggregatingForecaster : Probabilities averaged over a Gaussian of weights.
    OnlineStructuredPredictor : The first-order learner, for wide or sparse rows.
    GaptronClassifier : Online classification with a bound on the number of mistakes.

    Notes
    -----
    Memory: K(K−1)p² doubles, half of it for A and half for its inverse; twice as much while the
    inverse is recomputed.

    For any sequence of rows, and every U with ‖U_k‖ ≤ B,

    .. math:: \sum_t ℓ_t(z_t) - ℓ_t(U) \le λ\|U\|_F^2
        + \tfrac14 \sum_t \mathrm{tr}(A_{t-1}^{-1}H_t),

    in nats, with H the Hessian ``h ⊗ xxᵀ``. If rows have weights w, all losses and H are multiplied
    by w, and A is the sum of w κ H. `certificate` returns the right-hand side as a number, for rows
    of any norm. It is in the unit of `loss_`, which its `unit` names: bits (nats/ln 2) for "map"
    and "nearest", nats for "sampled". Predictions do not use a weight matrix, so there is no
    ``coef_``.

    The quadratics lie below the losses for ``κ = 1/f(q)``, ``q = 1/(1 + (K−1) exp(2B‖x‖))``,

    .. math:: f(q) = \max_p p(1-p)(\mathrm{logit}\,p - \mathrm{logit}\,q)^2 / KL(p‖q),

    and for no larger κ. It is 1.6 to 1.75 times ``1/(2B‖x‖ + ln(K−1) + 2)``. With R, κ is one
    number, ``constants["kappa"]`` of the certificate, and with the default λ the regret is at most
    ``2KBR + (1/(4κ))(K−1) p ln(1 + T/2)`` nats. The number of wrong predictions is at most the log
    loss in bits.

    Let a learner stop at random, after 0, …, T − 1 of T independent rows. Its expected log loss on
    a new row exceeds that of every U by at most the largest regret over T (section 4.3 of [1]_).
    ``constants["excess_risk"]`` is that number for R known and ``standardize=False``,

    .. math:: \frac1T \Big(λKB^2 + \frac{(K-1)p}{4κ}
        \ln\Big(1 + \frac{κTR^2}{Kpλ(1-ρ)}\Big)\Big), \quad ρ = \frac{κR^2}{2λ} < 1,

    if all weights are 1. It is infinite for ρ ≥ 1.

    References
    ----------
    .. [1] Agarwal, Kale, Zimmert (2022). Efficient methods for online multiclass logistic
       regression. ALT. Algorithm 1, with the linear part of its surrogate (3.2) and the largest κ
       of Lemma 3.1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import FolkloreClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> FolkloreClassifier(random_state=0).fit(X, y).predict_proba(X[:1]).round(1)
    array([[1., 0., 0.]])
    """

    radius: float | Sequence[float] = 1.5
    feature_norm: float | None = None
    alpha: float | None = None
    structure: Literal["auto", "full", "classes"] = "auto"

    loss, new_model, _given_decoder = "fenchel_young", _base.new_second_order_model, given_decoder
    _parts, _take_decoder = _base.logistic_parts, _base.take_decoder
    _new_weights, certificate = matrices_of_all_radii, certify_matrices
    longest_row = property(longest_row_of)


def _bound_of(learner, expert):
    constants = {"radius": 0.5 * float(expert.reach[0]), "alpha": expert.lam, "rounds": learner.t_}
    if learner.feature_norm is not None:
        constants["kappa"] = float(curvature(np.empty(0), expert.reach))
        largest = learner.loss_.scale_ * _largest_regret(learner, expert, constants)
        constants["excess_risk"] = largest / max(learner.t_, 1)
    bound = (expert.lam, expert.potential, constants)
    return _base.certificate_in_unit(learner, "Theorem 3.3", *bound)


def _largest_regret(learner, expert, constants):
    """The regret in nats for rows of weight 1, before any is seen; inf if ρ ≥ 1."""
    (rank, K), p, lam, kappa = expert.Q.shape, expert.G.shape[1], expert.lam, constants["kappa"]
    square = float(learner.feature_norm) ** 2
    room = lam - 0.5 * kappa * square  # λ(1 − ρ)
    if room <= 0.0:
        return math.inf
    grown = math.log1p(kappa * learner.t_ * square / (K * p * room))
    return lam * K * constants["radius"] ** 2 + rank * p * grown / (4.0 * kappa)


@inherit_parameters(FolkloreClassifier)
@parameters_with(_base.LogisticParameters)
class AioliClassifier(DecodedPredictions, OnlineEstimator):
    """Binary online logistic regression: `FolkloreClassifier` for K = 2, with p² products per row.

    With θ = w_1 − w_0 and C = A⁻¹ over it, ``q = xᵀCx`` and ``c = −xᵀCg``, the logit m is the root
    of ``m + q(σ(m) − ½) = c``. Then ``a = 2κσ(m)(1 − σ(m))``, ``C ← C − a Cx(Cx)ᵀ/(1 + aq)`` and
    ``g ← g + (σ(m) − y)x − a m x``. The algorithm is that of [1]_, with the constants of [2]_.

    Parameters
    ----------
    {FolkloreClassifier: radius, feature_norm, alpha, structure, decoder, standardize, missing,
    fit_intercept, verbose, random_state}

    Attributes
    ----------
    {FolkloreClassifier: classes_, space_, loss_, t_, random_state_, n_features_in_,
    feature_names_in_}

    Raises
    ------
    {FolkloreClassifier: ValueError}
        Also at the first call to learn, for more than two classes.

    See Also
    --------
    FolkloreClassifier : The same for any number of classes.
    AdaBoostOLMClassifier : Online boosting, whose weak learners are corrected by it.

    References
    ----------
    .. [1] Jézéquel, Gaillard, Rudi (2020). Efficient improper learning for online logistic
       regression. COLT.

    .. [2] Agarwal, Kale, Zimmert (2022). Efficient methods for online multiclass logistic
       regression. ALT. Appendix D.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skstructured import AioliClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> AioliClassifier(random_state=0).fit(X, y).score(X, y) > 0.97
    True
    """

    radius: float | Sequence[float] = 1.5
    feature_norm: float | None = None
    alpha: float | None = None
    structure: Literal["auto", "full", "classes"] = "auto"

    loss, new_model, _given_decoder = "fenchel_young", _base.new_second_order_model, given_decoder
    _parts, _take_decoder = _base.logistic_parts, _base.take_decoder
    certificate, longest_row = certify_matrices, property(longest_row_of)

    def _new_weights(self, K, width):
        if K != 2:
            raise ValueError(
                f"Only binary classification is supported by AioliClassifier, got {K} classes; "
                "use FolkloreClassifier."
            )
        return matrices_of_all_radii(self, K, width)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
