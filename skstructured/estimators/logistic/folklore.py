"""FOLKLORE and AIOLI: online logistic regression by improper predictions."""

import math
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator

from skstructured._base.component import parameters
from skstructured._base.docstrings import inherit_parameters
from skstructured._base.exceptions import GuaranteeError, GuaranteeWarning
from skstructured._base.validation import check_choice, check_integer, check_size
from skstructured._engine.rows import LONGEST
from skstructured.estimators.logistic._base import LogisticLearner
from skstructured.estimators.logistic._curvature import curvature
from skstructured.estimators.logistic._full_matrix import SecondOrderRounds
from skstructured.estimators.logistic._rounds import ClassBlocks, FolkloreMatrix
from skstructured.guarantees.certificates import Certificate
from skstructured.spaces.simplex import log_softmax

__all__ = ["AioliClassifier", "FolkloreClassifier"]

#: What is kept of A, by the parameter `structure`; and for how many weights "auto" keeps all.
KINDS, MOST_WEIGHTS = {"full": FolkloreMatrix, "classes": ClassBlocks}, 4096

#: Rows taken as they are may be so much longer than √λ: their squares leave ten digits of A⁻¹.
LONGEST_OF_UNIT = 1e5


def grid_of(B):
    """The values of `radius`, a number or a sequence of them."""
    values = tuple(check_size("radius", value) for value in (B if np.ndim(B) else (B,)))
    if not values:
        raise ValueError(
            f"radius must be a positive number or a non-empty sequence of them, got {B!r}."
        )
    return values


def alpha_of(learner, B):
    """The parameter `alpha`, by default that of theory if rows have a bound R, and 1.5/B if not."""
    theory = (
        1.5 / B
        if learner.feature_norm is None
        else 2.0 * check_size("feature_norm", learner.feature_norm) / B
    )
    return check_size("alpha", learner.alpha, theory)


def longest_row_of(learner: Any) -> float:
    """The largest norm of a row that is taken as it is."""
    least = min(math.sqrt(alpha_of(learner, B)) for B in grid_of(learner.radius))
    return min(LONGEST, least * LONGEST_OF_UNIT)


def matrices_of(learner, kind, K, width):
    """What learns, of a `kind`, for every value of `radius`."""
    R = learner.feature_norm or 0.0
    return [kind(K, width, alpha_of(learner, B), B, R) for B in grid_of(learner.radius)]


class RadiusMixtureCertificate(Certificate):
    """The regret of a mixture: that of its best part whose ball has U, plus the mixture's own.

    Parameters
    ----------
    parts : list of Certificate
        Those of the parts, in one unit.
    price : float
        ln of how many, times the largest weight of a round or 1, in the same unit.
    """

    def __init__(self, parts, price):
        radius = max(part.radius for part in parts)
        constants = {"parts": len(parts), "radius": radius, "rounds": parts[0].constants["rounds"]}
        super().__init__("Theorem 3.3, mixed", None, None, radius, constants, parts[0].unit)
        self.parts, self.price = parts, price

    def regret(self, norm):
        """The regret against a comparator with ‖U‖_F = norm, in the largest ball."""
        self.check_inside(norm)
        allowed = [part for part in self.parts if norm <= part.radius * (1 + 1e-9)]
        return self.price + min(part.regret(norm) for part in allowed)


class Mixture(SecondOrderRounds):
    r"""The mixture Σ_i v_i p_i of learners, by their losses with weights w (Vovk 1998).

    In round t, with m the largest weight up to it, or 1 where that is less,

    .. math:: v_i ∝ \exp\Big(-\frac1m \sum_{s<t} w_s ℓ_s(p_i)\Big).

    Its loss is at most that of the best learner plus m ln N, N how many they are: with rate 1/m,
    ``exp(−w ℓ(p)/m)`` is a power of p that is concave, so that a round costs at most what
    ``−m ln mean_i exp(−L_i/m)`` grows by, and that only falls when m grows.

    Parameters
    ----------
    parts : sequence of Rounds
        The learners.
    """

    in_place = False

    def __init__(self, parts):
        self.parts = tuple(parts)
        self.losses, self.heaviest = np.zeros(len(self.parts)), 1.0

    @property
    def residual(self):
        """The largest residual of a part."""
        return max(part.residual for part in self.parts)

    @property
    def limits(self):
        """How large rounds may be for every part."""
        return [limit for part in self.parts for limit in part.limits]

    @property
    def products(self):
        """About how many products a round takes."""
        return sum(part.products for part in self.parts)

    def calls(self, X, truth, weight, logits):
        """See `SecondOrderRounds`; what is played are the logarithms (n, K) of the mixture."""
        return ((self._learn, X, truth, weight, logits),)

    def _learn(self, X, truth, weight, logits):
        logs = np.array([log_softmax(part.learn(X, truth, weight)) for part in self.parts])
        losses = np.maximum(-weight[:, None] * np.einsum("ink,nk->ni", logs, truth), 0.0)
        total = np.cumsum(np.vstack([self.losses, losses]), axis=0)
        heaviest = np.maximum.accumulate(np.r_[self.heaviest, weight])
        self.losses, self.heaviest = total[-1], float(heaviest[-1])
        logits[:] = _mixed(logs, total[:-1] / heaviest[1:, None])

    def logits(self, X):
        """Logarithms (n, K) of the mixture; nothing is learned."""
        logs = np.array([log_softmax(part.logits(X)) for part in self.parts])
        return _mixed(logs, np.repeat(self.losses[None] / self.heaviest, len(X), axis=0))


def _mixed(logs, losses):
    """Log Σ_i v_i exp(logs_i) with v ∝ exp(−losses), (n, K)."""
    return np.logaddexp.reduce(log_softmax(-losses).T[:, :, None] + logs, axis=0)


def new_weights(learner, K, width):
    """What learns, for the parameters of `FolkloreClassifier`."""
    made = matrices_of(learner, kind_of(learner, K, width), K, width)
    return made[0] if len(made) == 1 else Mixture(made)


def kind_of(learner, K, width):
    """The class for `structure`; "auto" warns if it does not keep all of A."""
    given = learner.structure
    if isinstance(given, str):
        check_choice("structure", given, ("auto", *KINDS))
    else:
        check_integer('structure, unless it is "auto", "full" or "classes",', given)
    if given in KINDS:
        return KINDS[given]
    most = MOST_WEIGHTS if given == "auto" else given
    if (K - 1) * width <= most:
        return FolkloreMatrix
    many = f"{K} classes and {width} features have {(K - 1) * width} weights, more than {most}: "
    if K * width**2 > most**2:
        raise ValueError(
            f"{many}a matrix for each class would have {K * width**2:,} numbers. Select fewer "
            "features, use OnlineStructuredPredictor, or set structure='classes'."
        )
    warnings.warn(
        f"{many}structure='classes' is used, to which the theorem does not apply.",
        GuaranteeWarning,
        stacklevel=2,
    )
    return ClassBlocks


@parameters
class FolkloreClassifier(LogisticLearner, BaseEstimator):
    r"""Online logistic regression with a regret that grows like log T, and no factor e^B.

    The place to start for a stream of rows with up to a few hundred weights a class, where every
    row counts: probabilities after one pass are about as good as those of a batch fit, from
    features as they come and with nothing to tune. A round takes about (Kp)²K/2 products for K
    classes and p features. Wider rows: `OnlineStructuredPredictor`.

    Round t, x its row as standardised, with A and G of the rounds before it:

    .. math:: z = \tilde g - \tilde A\,\mathrm{softmax}(z), \quad
        \tilde A_{ij} = \tfrac12 x^⊤[A^{-1}]_{ij}x, \quad
        \tilde g_k = -\tfrac12 ⟨x, (A^{-1}G)_k⟩ + \tfrac12 \tilde A_{kk},

    are the logits, and s = softmax(z) the prediction: there is no W behind it (it is *improper*).
    Then, with ``h = diag s − ssᵀ`` and κ the largest for which theory holds (see Notes), from ‖x‖,
    or from R if `feature_norm` is given,

    .. math:: A ← A + κ\, h ⊗ xx^⊤, \quad G ← G + (s - y - 2κ h z) ⊗ x.

    Of ten classes and more, those of a share below .2/K are one cell, and h is the covariance of
    the class as far as its cell tells it, which is at most diag s − ssᵀ: what is proved holds as
    before, and a round takes about (Kp)²m/2 products, m the classes that are likely.

    A starts at λI. A⁻¹ is kept by Woodbury's formula over the K − 1 directions that classes
    differ in, checked every 1024 rounds and inverted anew where it has drifted.

    Parameters
    ----------
    radius : float or sequence of float, default=1.5
        B: the comparators of the guarantee have ‖U_k‖ ≤ B for every class k, in units of the
        standardised features. Smaller settles sooner, larger goes on following what changes. A
        sequence such as ``(0.25, 1, 4)`` runs a learner for each, and predicts their mixture by
        how well each has done, which loses at most ln(len(radius)) nats more than the best, times
        the largest weight of a row where that is above 1.
    feature_norm : float or None, default=None
        R: the largest norm of a row as standardised, the intercept's 1 included; a longer one, to
        learn or to predict, is a ValueError. None needs none: every round has the κ of its own row.
    alpha : float or None, default=None
        λ; None is 1.5/B, or with `feature_norm` the 2R/B of theory.
    structure : {"auto", "full", "classes"} or int, default="auto"
        What is kept of A: all of it, or the K blocks of a class each, K p² numbers. "auto" is
        "full" up to 4096 weights (K−1)p, the intercept's included, then "classes" with a
        `GuaranteeWarning`, since the theorem needs all of A, and an error if K p² is above 4096².
        An integer is "auto" with this number of weights in place of 4096.
    decoder : str or Decoder, default="map"
        What `sample` and the losses are about: "map", the most likely class, or "sampled", one
        drawn by the probabilities. `predict` always gives the most likely one.
    standardize : bool or "auto", default="auto"
        Whether features are centred and scaled by their mean and deviation over the rows so far,
        the row itself included; "auto" is True. CSR rows are divided by the largest entry of each
        column so far and not centred, so that they give other predictions than the same rows dense;
        they are made dense block by block.
    missing : "mean" or "error", default="mean"
        What NaN in dense rows is, with `standardize`: the mean of the rows so far, or an error.
    fit_intercept : bool, default=True
        Append a constant feature 1. Without it, `standardize` does not centre.
    verbose : bool or int, default=0
        Print, once a second, how many rows are learned.
    random_state : int, RandomState instance or None, default=None
        Seeds the order of `fit`, and the draws.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels.
    space_, loss_ : OutputSpace, FenchelYoung
        The simplex, and the logistic loss: in bits for "map", in nats for "sampled".
    t_ : int
        Rounds learned.
    random_state_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Raises
    ------
    ValueError
        When used: a parameter out of its range, a row longer than R, labels that are not among the
        classes, more features than `structure` allows; nothing is then learned.

    Notes
    -----
    Memory: K(K−1)p² doubles, half of it A and half its inverse; as much again while it is
    inverted anew.

    For all rows, and every U with ‖U_k‖ ≤ B,

    .. math:: \sum_t ℓ_t(z_t) - ℓ_t(U) \le λ\|U\|_F^2
        + \tfrac14 \sum_t \mathrm{tr}(A_{t-1}^{-1}H_t),

    in nats, with H the Hessian ``h ⊗ xxᵀ``; where rows have weights w, all losses and H have the
    factor w, and A sums w κ H. `certificate` has the right side as a number, whatever R turns out
    to be, in the unit of `loss_`, which its `unit` names: bits, that is nats/ln 2, for "map", and
    nats for "sampled".
    The matrix of weights U is not what predicts, so that there is no ``coef_``.

    The quadratics lie below the losses for ``κ = 1/f(q)``, ``q = 1/(1 + (K−1) exp(2B‖x‖))``,

    .. math:: f(q) = \max_p p(1-p)(\mathrm{logit}\,p - \mathrm{logit}\,q)^2 / KL(p‖q),

    and for none that is larger (docs/theory.md has the proof): 1.6 to 1.75 times
    ``1/(2B‖x‖ + ln(K−1) + 2)``. With R, κ is one number, the certificate's ``constants["kappa"]``,
    and with its λ the regret is at most ``2KBR + (1/(4κ))(K−1) p ln(1 + T/2)`` nats. A prediction
    is wrong at most as often as its log loss has bits.

    References
    ----------
    Agarwal, Kale, Zimmert (2022), "Efficient methods for online multiclass logistic regression",
    Algorithm 1, with the linear part of its surrogate (3.2) and the largest κ of Lemma 3.1.

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
    structure: Literal["auto", "full", "classes"] | int = "auto"

    longest_row = property(longest_row_of)

    def _new_weights(self, K, width):
        return new_weights(self, K, width)

    def certificate(self, delta: float | None = None) -> Certificate:
        """The regret of the rounds seen so far, from the matrices they made; see Notes.

        Returns
        -------
        Certificate
            Its ``unit`` is that of `loss_` and of surrogate losses: "bits" for "map" and "nearest",
            "nats" for "sampled". Its ``constants`` are radius, alpha, rounds, and
            with `feature_norm` kappa.

        Raises
        ------
        GuaranteeError
            For an approximate `structure`, another decoder than "map", "nearest" or "sampled",
            or a `delta`.
        """
        self._check_certified("Theorem 3.3", delta)
        parts = getattr(self._weights, "parts", (self._weights,))
        if parts[0].structure != "full":
            raise GuaranteeError(
                "Theorem 3.3 needs all of A, which structure='full' keeps, not "
                f"{parts[0].structure!r}."
            )
        bounds = [_bound_of(self, part) for part in parts]
        if len(bounds) == 1:
            return bounds[0]
        price = self.loss_.scale_ * math.log(len(parts)) * self._weights.heaviest
        return RadiusMixtureCertificate(bounds, price)


def _bound_of(learner, part):
    constants = {"radius": 0.5 * float(part.reach[0]), "alpha": part.lam, "rounds": learner.t_}
    if learner.feature_norm is not None:
        constants["kappa"] = float(curvature(np.empty(0), part.reach))
    return learner._bound("Theorem 3.3", part.lam, part.potential, constants)


@inherit_parameters(FolkloreClassifier)
@parameters
class AioliClassifier(LogisticLearner, BaseEstimator):
    """Binary online logistic regression: `FolkloreClassifier` for K = 2, p² products per row.

    With θ = w_1 − w_0 and C = A⁻¹ over it, ``q = xᵀCx`` and ``c = −xᵀCg``, the logit m is the root
    of ``m + q(σ(m) − ½) = c``, and then ``a = 2κσ(m)(1 − σ(m))``, ``C ← C − a Cx(Cx)ᵀ/(1 + aq)``
    and ``g ← g + (σ(m) − y)x − a m x``.

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
        At the first call to learn, for more than two classes.

    References
    ----------
    Jézéquel, Gaillard, Rudi (2020), "Efficient improper learning for online logistic regression";
    the constants are those of Agarwal, Kale, Zimmert (2022), appendix D.

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
    structure: Literal["auto", "full", "classes"] | int = "auto"

    longest_row = property(longest_row_of)

    def _new_weights(self, K, width):
        if K != 2:
            raise ValueError(
                f"Only binary classification is supported by AioliClassifier, got {K} classes; "
                "FolkloreClassifier takes any number."
            )
        return new_weights(self, K, width)

    certificate = FolkloreClassifier.certificate

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
