"""Gaptron: online classification that exploits the surrogate gap, with full information."""

from __future__ import annotations

from typing import Literal

from sklearn.base import clone

from skstructured._base.component import Seed, parameters
from skstructured._base.docstrings import documented
from skstructured._learners.online import OnlineEstimator
from skstructured._learners.predictions import DecodedPredictions
from skstructured.decoders import resolve_decoder
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.estimators.perceptron import MulticlassPerceptron
from skstructured.extend.decoder import Decoder
from skstructured.extend.surrogate import Surrogate
from skstructured.losses import FenchelYoung, GapSurrogate
from skstructured.optimizers import GradientDescent

__all__ = ["GaptronClassifier", "MulticlassPerceptron"]


@documented(OnlineStructuredPredictor)
@parameters
class GaptronClassifier(DecodedPredictions, OnlineEstimator):
    r"""Gaptron: online multiclass classification that exploits the surrogate gap.

    In round t it plays a class from ``p' = (1 − a_t) e_{y*} + a_t/K``, y* the class of the largest
    score and a_t the gap, and takes a step of gradient descent on the surrogate ℓ. Then the
    expected number of mistakes is at most, for every U,

    .. math:: \sum_t \ell_t(U) + \mathrm{factor} \cdot C^2 \|U\|_F^2,

    factor = K/ln 2 (logistic), K²/(2(K−1)) (hinge), 2K (smooth hinge): finite on any sequence. With
    "hinge" it is ``OnlineStructuredPredictor(loss="hinge", decoder="gap", optimizer="ogd")``.

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
    {OnlineStructuredPredictor: average, standardize, missing, fit_intercept}
    max_iter : int, default=10
        Most passes (epochs) of `fit`.
    tol : float or None, default=1e-4
        `fit` stops after a pass whose surrogate loss is not smaller than that of the best pass
        before it, by this share of it. None makes all passes.
    {OnlineStructuredPredictor: shuffle, class_weight, verbose, random_state}

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Class labels.
    decoder_ : Decoder
        A copy of the decoder fitted, which predictions and `certificate` are about.
    {OnlineStructuredPredictor: coef_, missing_coef_, intercept_, last_weights_, average_weights_,
    space_, loss_,
    optimizer_, t_, n_iter_, loss_curve_, n_features_in_, feature_names_in_}

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

    loss: str | Surrogate = "hinge"
    radius: float | None = None
    feature_norm: float | None = None
    decoder: str | Decoder = "gap"
    average: bool | Literal["uniform", "polynomial"] = "polynomial"
    standardize: bool | Literal["auto"] = "auto"
    missing: Literal["mean", "indicator", "error"] = "mean"
    fit_intercept: bool = True
    max_iter: int = 10
    tol: float | None = 1e-4
    shuffle: bool = True
    class_weight: dict | Literal["balanced"] | None = None
    verbose: bool | int = 0
    random_state: Seed = None

    def _unfitted_loss(self):
        return GapSurrogate(kind=self.loss)

    def _given_decoder(self):
        return self.decoder_

    def _start(self, space, passes=1):
        # It chooses the surrogate and the step, which stay with it.
        self.decoder_ = clone(resolve_decoder(self.decoder))
        super()._start(space, passes)

    def _parts(self, space):
        surrogate = GapSurrogate(kind=self.loss).over(space)
        descent = GradientDescent(self.feature_norm, self.radius)
        if self.decoder_.exploits_gap and self.loss == "logistic":
            return FenchelYoung(space, "shannon"), descent
        return surrogate, descent
