"""Gaptron: online classification that exploits the surrogate gap, with full information."""

import math

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skstructured._base.exceptions import GuaranteeError
from skstructured._base.short_cuts import ShortCuts
from skstructured._base.validation import check_size
from skstructured._engine.state import new_state
from skstructured._learners.linear import OnlineLinearModel
from skstructured._learners.predictions import DecodedPredictions, OverClasses
from skstructured.decoders import resolve_decoder
from skstructured.decoders.gap import GapDecoder
from skstructured.estimators.perceptron import MulticlassPerceptron
from skstructured.extend.optimizer import no_high_probability
from skstructured.guarantees.certificates import Certificate
from skstructured.losses import FenchelYoung
from skstructured.losses.gap import GapSurrogate
from skstructured.optimizers.gradient_descent import GAIN, LEARN_NORM, RADIUS, GradientDescent

__all__ = ["GaptronClassifier", "MulticlassPerceptron"]


class GapDescent(GradientDescent):
    """Gradient descent with Gaptron's steps (van der Hoeven 2020, Table 2), C learned or given.

    η = ln 2/(2KC²) for the logistic loss, (1 − 1/K)/(KC²) for the hinge and 1/(4KC²) for the smooth
    hinge (the table's 1/(2KC²) is a misprint: the proof of its Theorem 3 needs a quarter).
    """

    def init(self, loss):
        """Check the parameters and return the initial state vector for a surrogate."""
        K = loss.space.dim_
        norm = check_size("feature_norm", self.feature_norm, 1.0)
        state = new_state(self.entries)
        gains = {
            "logistic": 0.5 * math.log(2.0) / K,
            "hinge": (1.0 - 1.0 / K) / K,
            "smooth_hinge": 0.25 / K,
        }
        state[GAIN] = gains[loss.kind] / norm**2
        state[LEARN_NORM] = float(self.feature_norm is None)
        state[RADIUS] = check_size("radius", self.radius, math.inf)
        return state

    def certificate(self, loss, state, delta=None):
        """Expected mistakes ≤ Σ ℓ_t(U) + quadratic ‖U‖², Theorems 1 to 3.

        quadratic = KC²/ln 2 (logistic), K²C²/(2(K−1)) (hinge), 2KC² (smooth hinge).
        """
        no_high_probability(self, delta)
        K, C_sq = loss.space.dim_, self._norm_sq(state)
        factors = {
            "logistic": K / math.log(2.0),
            "hinge": K**2 / (2.0 * (K - 1.0)),
            "smooth_hinge": 2.0 * K,
        }
        numbers = {"K": float(K), "C": math.sqrt(C_sq), "b": C_sq}
        radius = math.inf if self.radius is None else float(self.radius)
        return Certificate(f"Gaptron, {loss.kind}", factors[loss.kind] * C_sq, 0.0, radius, numbers)


class GaptronClassifier(ShortCuts, OverClasses, DecodedPredictions, OnlineLinearModel):
    r"""Gaptron: online multiclass classification that exploits the surrogate gap.

    In round t it plays a class from ``p' = (1 − a_t) e_{y*} + a_t/K``, y* the class of the largest
    score and a_t the gap, and takes a step of gradient descent on the surrogate ℓ. Then the
    expected number of mistakes is at most, for every U,

    .. math:: \sum_t \ell_t(U) + \mathrm{factor} \cdot C^2 \|U\|_F^2,

    factor = K/ln 2 (logistic), K²/(2(K−1)) (hinge), 2K (smooth hinge): finite on any sequence.

    Parameters
    ----------
    loss : {"hinge", "logistic", "smooth_hinge"}, default="hinge"
        The surrogate; see `skstructured.losses.gap.GapSurrogate`. "hinge" errs the least on most
        data, "logistic" has probabilities.
    radius : float or None, default=None
        Radius of the Frobenius ball of W; None for no ball.
    feature_norm : float or None, default=None
        C, a bound on ``‖x‖_2`` (the intercept's 1 included); None learns it.
    decoder : "gap" or str or Decoder, default="gap"
        "gap" is p' above. With the logistic loss, "randomized" is the randomized decoding of
        `OnlineStructuredPredictor` with its own step, whose bound has no factor K; others are
        played without a bound. It enters learning, as `loss` does: a change of either, once
        fitted, has an effect at the next `fit` and none before.
    average, standardize, fit_intercept, max_iter, tol, shuffle, class_weight, verbose, random_state
        As in `OnlineStructuredPredictor`.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Class labels.
    decoder_ : Decoder
        A copy of the decoder fitted, which predictions and `certificate` are about.
    coef_, intercept_, last_weights_, average_weights_, space_, loss_, optimizer_
        As in `OnlineStructuredPredictor`.
    t_, n_iter_, loss_curve_, n_features_in_, feature_names_in_
        As in `OnlineStructuredPredictor`.

    References
    ----------
    van der Hoeven (2020), "Exploiting the surrogate gap in online multiclass classification",
    Algorithm 1, Theorems 1 to 3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import GaptronClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaptronClassifier(random_state=0).fit(X, y)
    >>> model.decoding_proba(X[:1]).shape
    (1, 3)
    """

    def __init__(
        self,
        loss="hinge",
        radius=None,
        feature_norm=None,
        decoder="gap",
        average="polynomial",
        standardize="auto",
        fit_intercept=True,
        max_iter=10,
        tol=1e-4,
        shuffle=True,
        class_weight=None,
        verbose=0,
        random_state=None,
    ):
        self.loss = loss
        self.radius = radius
        self.feature_norm = feature_norm
        self.decoder = decoder
        self.average = average
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state

    def _unfitted_loss(self):
        return GapSurrogate(kind=self.loss)

    def _decoder(self):
        return self.decoder_

    def _resolvers(self):
        return {"decoder": self._resolve}

    def _resolve(self, decoder):
        is_gap = isinstance(decoder, str) and decoder == "gap"
        return GapDecoder(self.loss) if is_gap else resolve_decoder(decoder)

    def _start(self, space):
        # It chooses the surrogate and the step, which stay with it.
        self.decoder_ = clone(self._resolve(self.decoder))
        super()._start(space)

    def _parts(self, space):
        surrogate = GapSurrogate(space, self.loss)
        _ = surrogate.code  # names an unknown loss
        if not self.decoder_.exploits_gap:
            return surrogate, GapDescent(self.feature_norm, self.radius)
        if self.loss != "logistic":
            raise ValueError(
                f"decoder={self.decoder!r} is for the logistic loss, got loss={self.loss!r}."
            )
        return FenchelYoung(space, "shannon"), GradientDescent(self.feature_norm, self.radius)

    def certificate(self, delta=None):
        """The theorem that bounds the expected mistakes; see `OnlineLearner.certificate`."""
        check_is_fitted(self)
        decoder, kind = self.decoder_, getattr(self.loss_, "kind", "logistic")
        is_gap = isinstance(decoder, GapDecoder) and (decoder.loss, decoder.exploration) == (
            kind,
            0.0,
        )
        if not (is_gap or decoder.exploits_gap):
            raise GuaranteeError(f"No bound is known for loss={kind!r} played with {decoder!r}.")
        return self.optimizer_.certificate(self.loss_, self._state.vector, delta)
