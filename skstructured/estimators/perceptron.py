"""The multiclass Perceptron and the second-order one, with full information."""

import math
from typing import Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skstructured._base.component import Seed, parameters
from skstructured._base.docstrings import documented
from skstructured._base.validation import check_positive
from skstructured._engine.rows import Rows
from skstructured._learners.classifier import OnlineClassifier
from skstructured._learners.online import OnlineEstimator
from skstructured._learners.predictions import DecodedPredictions
from skstructured._learners.second_order import SecondOrderWeights
from skstructured._learners.weights import LinearWeights, linear_scores
from skstructured.estimators._auto import given_decoder
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.extend.learner import Batch, Comparison
from skstructured.guarantees.certificates import Certificate, PerceptronCertificate, no_search
from skstructured.losses.gap import ZeroOneLoss
from skstructured.optimizers.gradient_descent import LARGEST_FIXED_SQ as LARGEST_SQ
from skstructured.optimizers.gradient_descent import FixedStep

__all__ = ["MulticlassPerceptron", "SecondOrderPerceptron"]


@documented(OnlineStructuredPredictor)
@parameters
class MulticlassPerceptron(DecodedPredictions, OnlineEstimator):
    """The multiclass Perceptron: on a mistake ``W ← W + (e_y − e_{y*}) xᵀ``.

    Parameters
    ----------
    {OnlineStructuredPredictor: average}
        A Perceptron's weights jump by whole rows for as long as there are mistakes, so that the
        mean of all of them errs less than one of the late ones.
    {OnlineStructuredPredictor: standardize, missing, fit_intercept}
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
    {OnlineStructuredPredictor: coef_, missing_coef_, intercept_, last_weights_, average_weights_,
    space_, loss_,
    optimizer_, t_, n_iter_, n_features_in_, feature_names_in_}

    References
    ----------
    Fink, Shalev-Shwartz, Singer, Ullman (2006), "Online multiclass learning by interclass
    hypothesis sharing"; Crammer, Singer (2003).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import MulticlassPerceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> MulticlassPerceptron(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    average: bool | Literal["uniform", "polynomial"] = "uniform"
    standardize: bool | Literal["auto"] = "auto"
    missing: Literal["mean", "indicator", "error"] = "mean"
    fit_intercept: bool = True
    max_iter: int = 10
    tol: float | None = 1e-4
    shuffle: bool = True
    class_weight: dict | Literal["balanced"] | None = None
    verbose: bool | int = 0
    random_state: Seed = None

    decoder, _given_decoder = "map", given_decoder

    def _unfitted_loss(self):
        return ZeroOneLoss()

    def _parts(self, space):
        return ZeroOneLoss(space), FixedStep()

    def certificate(self, delta: float | None = None) -> Certificate:
        """The bound on its mistakes, against the hinge losses ``max(1 − m, 0)`` of any U."""
        check_is_fitted(self)
        X = math.sqrt(2.0 * self._model.state.vector[LARGEST_SQ])
        return PerceptronCertificate("Van der Hoeven (2020), section 4.2", X)

    def comparison(self, rounds: Batch) -> Comparison:
        """Raise a GuaranteeError: comparators are measured by hinge losses."""
        raise no_search("MulticlassPerceptron")


@documented(OnlineStructuredPredictor)
@parameters
class SecondOrderPerceptron(OnlineClassifier):
    r"""The multiclass second-order Perceptron, with full information.

    `SOBAClassifier` with p' = 1 and the true label always revealed: ``g = z = (e_ȳ − e_y) ⊗ x``, ȳ
    the best class other than y, and the same rule for when to update.

    Parameters
    ----------
    alpha : float, default=1.0
        Regularization: A starts at ``alpha · I``.
    {OnlineStructuredPredictor: standardize, missing}
    fit_intercept : bool, default=True
        Append a constant feature 1.
    shuffle : bool, default=True
        Whether `fit` visits the rows in random order.
    verbose : bool or int, default=0
        Print, once a second, how many rows are learned.
    random_state : int, RandomState instance or None, default=None
        Seeds the shuffling.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels.
    coef_, intercept_ : ndarray
        Weights.
    {OnlineStructuredPredictor: missing_coef_}
    t_ : int
        Rounds learned.
    n_mistakes_ : int
        Mistakes on the way.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    No bound is stated. The bounds of its papers have no explicit constants.

    References
    ----------
    Cesa-Bianchi, Conconi, Gentile (2005), "A second-order Perceptron algorithm"; the multiclass
    form is that of Beygelzimer, Orabona, Zhang (2017).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import SecondOrderPerceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> SecondOrderPerceptron(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    _no_theorem = "The bounds of its papers have no explicit constants."

    alpha: float = 1.0
    standardize: bool | Literal["auto"] = "auto"
    missing: Literal["mean", "indicator", "error"] = "mean"
    fit_intercept: bool = True
    shuffle: bool = True
    verbose: bool | int = 0
    random_state: Seed = None

    coef_ = LinearWeights.coef_
    intercept_ = LinearWeights.intercept_
    missing_coef_ = LinearWeights.missing_coef_

    def _setup(self, K, width):
        self._learned = SecondOrderWeights(K, width, check_positive("alpha", self.alpha))

    def _thetas(self, X):
        rows = self._scale.completed(Rows.from_array(X))
        return linear_scores(self._weights(), rows.matrix)

    def _learn_row(self, x, code):
        theta = self._learned.W @ x
        self._learned.learn(theta, x, code)
        return np.argmax(theta) != code

    def _weights(self):
        if not hasattr(self, "classes_"):
            raise AttributeError("coef_ and intercept_ are set by fit or partial_fit.")
        with self.lock:
            return self._scale.fold(self._learned.W.copy())
