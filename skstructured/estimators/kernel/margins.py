"""Kernel learners of classes and numbers: PiSTOL, averaged SGD and the Perceptron."""

import math
from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from skstructured._base.component import (
    Seed,
    inherit_parameters,
    parameters,
    parameters_with,
    resolve,
)
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_choice
from skstructured._engine.state import LoopState
from skstructured._learners.lock import snapshot
from skstructured._learners.models import LinearModel
from skstructured._learners.online import OnlineEstimator
from skstructured._learners.predictions import DecodedPredictions, answered
from skstructured.estimators._auto import given_decoder
from skstructured.estimators.kernel._model import KernelModel, refuse_precomputed, score_factor
from skstructured.estimators.kernel._values import Kernel, intercept_of, kernel_of
from skstructured.estimators.kernel.structured import KernelStructuredPredictor
from skstructured.extend._types import Array, Features, Floats, Given, Outputs
from skstructured.extend.learner import Batch, Comparison
from skstructured.guarantees.certificates import Certificate, PerceptronCertificate, no_search
from skstructured.losses.surrogates import MarginLoss, ResidualLoss
from skstructured.optimizers import PiSTOL
from skstructured.optimizers.gradient_descent import FixedStep, FixedStepState
from skstructured.spaces._real_line import RealLine
from skstructured.spaces.hypercube import Signs


@parameters
class KernelParameters:
    """Parameters that the learners of this module share; the optional ones come last."""

    kernel: str | Callable | Kernel = "rbf"
    gamma: float | Literal["multiscale", "scale"] | None = None
    _: KW_ONLY
    average: bool | Literal["uniform", "polynomial"] = "polynomial"
    standardize: bool | Literal["auto", "moments"] = "auto"
    missing: Literal["mean", "indicator", "error"] = "mean"
    max_iter: int = 20
    shuffle: bool = True
    verbose: bool | int = 0
    random_state: Seed = None


class NormalizedText(LinearModel):
    """A `LinearModel` that does not scale CSR rows with equal norms, such as normalized text."""

    def prepare(self, learner, batch):
        """See `Model`."""
        rows = batch.rows
        if isinstance(learner.standardize, str) and rows.is_sparse:
            rows = rows.taken(batch.learned)
            lengths = np.asarray(rows.matrix.multiply(rows.matrix).sum(axis=1))
            if np.ptp(lengths) <= 1e-6 * lengths.max():
                self.scale.used = False


def is_linear(learner):
    """Whether weights are a matrix of those of features, and not coefficients of rows."""
    function = kernel_of(learner).function
    return isinstance(function, str) and function == "linear"


def pistol_of(learner):
    """The optimizer of a learner; without one `PiSTOL` with its parameters."""
    if learner.optimizer is None:
        return PiSTOL(learner.a, getattr(learner, "b", 1.0))
    return resolve("optimizer", learner.optimizer, {"pistol": PiSTOL}, PiSTOL)


def new_margin_model(self):
    """Return weights of features with ``kernel="linear"``, else coefficients of rows."""
    return NormalizedText(self) if is_linear(self) else KernelModel(self)


def wants_intercept(self):
    """Whether there is an intercept; "auto" has one with a linear kernel."""
    return intercept_of(self, is_linear(self))


def unfitted_margin_loss(self):
    """The loss of a learner of classes before it is fitted."""
    return MarginLoss(kind=self.loss)


class Errors:
    """Scores of a regressor, and by how much they miss, in units of y."""

    def __init__(self, theta, loss, space):
        self.theta, self.loss, self.space = theta, loss, space

    def losses(self, V, random_state=None):
        """`Losses` if V is true: |f(x) − y|."""
        return answered(self, V)

    def point_losses(self, V):
        """Surrogate losses, and |f(x) − y|."""
        error = np.abs(self.space.decode(self.theta) - self.space.decode(V))
        return self.loss.value(self.theta, V), error


@inherit_parameters(KernelStructuredPredictor)
@parameters_with(KernelParameters)
class PiSTOLClassifier(DecodedPredictions, OnlineEstimator):
    r"""PiSTOL: a classifier without hyperparameters to tune, linear or with a kernel.

    Use it instead of an SVM: ``PiSTOLClassifier(kernel="rbf")`` is on most data about as accurate
    as an SVC with tuned C and gamma, in a single fit or on a stream. `KernelStructuredPredictor` is
    the same for every output space.

    With two classes there is one function f. With K > 2 there is one per class, against the rest,
    and all share one length. With the sum of gradients ``g_t = −Σ_{i≤t} s_i k(x_i, ·)``, and s_i
    the derivative of the loss, it is [1]_

    .. math:: f_t = g_{t-1} \frac{b}{α_{t-1}} \exp\Big(\frac{\|g_{t-1}\|^2}{2 α_{t-1}}\Big),
        \quad α_t = a L N_t \Big(L N_t + \sum_{i \le t} \|s_i\| \|x_i\|\Big),

    with ``‖x‖² = k(x, x)``, N_t the largest ‖x_i‖ so far, and L the largest ‖s‖. The length of f is
    learned, so there is no step size and no C.

    Parameters
    ----------
    {KernelStructuredPredictor: kernel}
        "linear" learns the weights of the features themselves, in time proportional to the stored
        values of CSR rows.
    {KernelStructuredPredictor: gamma}
        None is "multiscale".
    loss : {"logistic", "smooth_hinge", "hinge"}, default="logistic"
        Loss ``Σ_k φ(v_k f_k(x))``, with v_k = ±1. For "logistic", φ(z) is ``log₂(1 + exp(−z))``,
        which has probabilities. For "smooth_hinge" it is ``1 − 2z`` if z ≤ 0, else
        ``max(1 − z, 0)²``, and for "hinge" ``max(1 − z, 0)``. With the last two, rows beyond the
        margin are not support rows.
    a : float, default=0.08
        Caution of the steps, see `PiSTOL`. Must be positive. Theorem 1 of Orabona (2014) needs
        2.25; the paper's experiments use 0.125.
    b : float, default=1.0
        Scale of the first functions. Must be positive.
    optimizer : PiSTOL or None, default=None
        Optimizer of the functions. None is ``PiSTOL(a, b)``. A given one uses its own `a` and `b`.
        It can have `feature_norm`, a bound on ``√k(x, x)`` that `certificate` needs (1 for "rbf"
        without an intercept). With `per_coordinate` each weight is learned separately, which
        requires ``kernel="linear"``.
    {KernelStructuredPredictor: class_weight, average, standardize}
        With a linear kernel and "auto", `fit` does not scale CSR rows if all have the same norm, as
        in normalized text.
    {KernelStructuredPredictor: missing}
    max_iter : int, default=20
        Number of passes (epochs) of `fit`, all of which are made. With 1, the guarantees for a
        single pass hold.
    {KernelStructuredPredictor: shuffle, verbose, random_state}

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Class labels.
    coef_, intercept_ : ndarray of shape (1 or K, p), (1 or K,)
        Weights and intercepts, with a linear kernel.
    missing_coef_ : ndarray of shape (1 or K, p)
        Change of the scores if a feature is missing, with a linear kernel and
        ``missing="indicator"``.
    dual_coef_ : ndarray of shape (1 or K, n_support)
        Coefficients of the support rows; not with a linear kernel.
    support_vectors_ : ndarray of shape (n_support, p)
        Transformed support rows; not with a linear kernel.
    {KernelStructuredPredictor: space_, loss_, optimizer_, t_, n_iter_, loss_curve_, n_features_in_,
    feature_names_in_}

    Raises
    ------
    ValueError
        When used: for a parameter out of its range, NaN or inf in X, and labels that are not among
        the classes. The fitted state is then unchanged.

    See Also
    --------
    PiSTOLRegressor : The same for numbers.
    KernelStructuredPredictor : Kernel models for every output space.
    AveragedKernelSGDClassifier : Kernel gradient descent with a fixed step size.
    KernelPerceptronClassifier : The Perceptron with a kernel.

    Notes
    -----
    If each class needs a function with its own length, as in one-vs-rest SVMs, use scikit-learn's
    ``OneVsRestClassifier(PiSTOLClassifier())``.

    References
    ----------
    .. [1] Orabona (2014). Simultaneous model selection and optimization through parameter-free
       stochastic learning. NeurIPS. Algorithm 3, Theorem 1 and Corollary 3.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skstructured import PiSTOLClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PiSTOLClassifier(kernel="rbf", random_state=0).fit(X[:300], y[:300])
    >>> model.score(X[300:], y[300:]) > 0.95
    True
    """

    kernel: str | Callable = "linear"
    loss: Literal["logistic", "smooth_hinge", "hinge"] = "logistic"
    a: float = 0.08
    b: float = 1.0
    optimizer: PiSTOL | None = None
    class_weight: dict | Literal["balanced"] | None = None

    space, decoder, _given_decoder = Signs(), "map", given_decoder
    _learns_singles, _unfitted_loss = True, unfitted_margin_loss
    _wants_intercept, new_model = wants_intercept, new_margin_model
    _check_stream, score_factor_ = refuse_precomputed, score_factor

    def _parts(self, space):
        check_choice("loss", self.loss, ("logistic", "smooth_hinge", "hinge"))
        return MarginLoss(space, self.loss), pistol_of(self)


@inherit_parameters(PiSTOLClassifier)
@parameters_with(KernelParameters)
class PiSTOLRegressor(RegressorMixin, OnlineEstimator):
    r"""PiSTOL for numbers: robust and quantile regression without hyperparameters to tune.

    It is linear or uses a kernel. The functions f_t are those of `PiSTOLClassifier` [1]_, with s_t
    the derivative of the loss of ``f(x) − y``, whose slope is at most 1. `fit` subtracts the median
    m of y. It divides by the mean of |y − m| between its quantiles ½ and ⅘, in units of a standard
    normal deviate. Predictions are in the original units of y. A stream cannot do that, so for
    `partial_fit` **y must be scaled to about 1**: subtract its median and divide by its spread
    beforehand.

    Beyond a small ε, Huber's loss [2]_ has the slope of the absolute loss. So the model learns the
    median of y given x, not the mean. A fifth of outliers on one side has little effect. If most
    values of y are the same, the prediction is that value. The defaults, ten passes (epochs) and a
    larger `a` than in `PiSTOLClassifier`, are chosen on data sets: more passes overfit noise. If
    ``a ε`` is below about 0.05, steps become so large that rounding errors grow.

    Parameters
    ----------
    {PiSTOLClassifier: kernel, gamma}
    loss : str or ResidualLoss, default="huber"
        Loss of the residual r. "huber" is ``r²/(2ε)`` if |r| < ε, else ``|r| − ε/2``; "absolute" is
        |r|; "epsilon_insensitive" is ``max(|r| − ε, 0)``. "quantile" is the pinball loss
        ``max(−q r, (1 − q) r)``, which learns the quantile q of y given x. ε is 0.2 for "huber" and
        0.1 for "epsilon_insensitive". A `ResidualLoss` sets its own ε, in units of scaled y in
        `fit`, and of y itself in streams.
    quantile : float, default=0.5
        Quantile q in (0, 1); only used by ``loss="quantile"``.
    {PiSTOLClassifier: a}
    optimizer : PiSTOL or None, default=None
        Optimizer of the functions, see `PiSTOLClassifier`. None is ``PiSTOL(a)``.
    {PiSTOLClassifier: average, standardize, missing, max_iter, shuffle, verbose, random_state}

    Attributes
    ----------
    coef_ : ndarray of shape (p,)
        Weights, with a linear kernel: ``predict(X) = X coef_ + intercept_``.
    missing_coef_ : ndarray of shape (p,)
        Change of the prediction if a feature is missing, with a linear kernel and
        ``missing="indicator"``.
    intercept_ : ndarray of shape (1,)
        Constant added to the scores.
    dual_coef_ : ndarray of shape (1, n_support)
        Coefficients of the support rows; not with a linear kernel.
    {PiSTOLClassifier: support_vectors_, space_, loss_, optimizer_, t_, n_iter_, n_features_in_,
    feature_names_in_}
    loss_curve_ : ndarray of shape (n_iter_, 2)
        Mean loss, and mean |f(x) − y| in units of y, of each pass of `fit`.

    Raises
    ------
    ValueError
        When used, for a parameter out of its range, and NaN or inf in X or y.

    See Also
    --------
    StructuredRegressor : A mixture of four of these, the regressor to try first.
    PiSTOLClassifier : The same for classes.
    skstructured.losses.surrogates.ResidualLoss : The losses, with a custom ε.

    Notes
    -----
    Theorem 1 of [1]_ holds for every convex Lipschitz loss, and so for those above. The pinball
    loss is that of [3]_.

    References
    ----------
    .. [1] Orabona (2014). Simultaneous model selection and optimization through parameter-free
       stochastic learning. NeurIPS. Algorithm 3 and Theorem 1.

    .. [2] Huber (1964). Robust estimation of a location parameter. Annals of Mathematical
       Statistics.

    .. [3] Koenker, Bassett (1978). Regression quantiles. Econometrica.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skstructured import PiSTOLRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = PiSTOLRegressor(random_state=0).fit(X[:300], y[:300])
    >>> model.score(X[300:], y[300:]) > 0.4
    True
    """

    kernel: str | Callable = "linear"
    loss: str | ResidualLoss = "huber"
    quantile: float = 0.5
    a: float = 0.3
    optimizer: PiSTOL | None = None
    _: KW_ONLY
    max_iter: int = 10

    _learns_singles = True
    _wants_intercept, new_model = wants_intercept, new_margin_model
    _check_stream, score_factor_ = refuse_precomputed, score_factor

    def _unfitted_space(self):
        return RealLine()

    def _space_of(self, batch, y, sample_weight):
        return self._unfitted_space().fit(y, sample_weight)

    def _parts(self, space):
        loss_or_kind = self.loss
        words = not isinstance(loss_or_kind, ResidualLoss)
        loss = ResidualLoss(kind=loss_or_kind, quantile=self.quantile) if words else loss_or_kind
        return loss.over(space), pistol_of(self)

    def partial_fit(self, X: Features, y: Outputs, sample_weight: Given = None) -> Self:  # type: ignore[override]  # no classes
        """Learn the rows in order, one round each; chunks of any size give the same weights.

        In contrast to `fit`, y is not scaled, so it must be scaled to about 1 beforehand.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features.
        y : array-like of shape (n,)
            Real outputs.
        sample_weight : array-like of shape (n,) or None, default=None
            Non-negative weights of the rounds.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a bad parameter, NaN or inf in X or y, or lengths that differ; the fitted state is
            then unchanged.
        """
        return super().partial_fit(X, y, sample_weight=sample_weight)

    def _space_of_stream(self, y, classes):
        return self._unfitted_space().fit_stream(y, classes)

    def predict(self, X: Features) -> Array:
        """Predictions f(x), (n,)."""
        twin = snapshot(self)
        theta = twin._scores(X)
        return twin.space_.decode(theta)

    def decode(self, theta: Floats) -> Errors:
        """The `Errors` of scores (n, 1)."""
        return Errors(theta, self.loss_, self.space_)

    @property
    def coef_(self) -> Array:
        """Weights of shape (p,), in units of y over those of X; only for a linear kernel."""
        return super().coef_[0] * self.space_.scale

    @property
    def missing_coef_(self) -> Array:
        """Change of predictions if a feature is missing, (p,), in units of y."""
        return super().missing_coef_[0] * self.space_.scale

    @property
    def intercept_(self) -> Array:
        """Intercept of shape (1,), in units of y."""
        self._fitted_model("intercept_ is")
        intercept = super().intercept_ if isinstance(self.model_, LinearModel) else 0.0
        return np.zeros(1) + intercept * self.space_.scale + self.space_.center

    @property
    def dual_coef_(self) -> Array:
        """Coefficients (1, n_support) of the kernels, in units of y."""
        return super().dual_coef_ * self.space_.scale


@inherit_parameters(PiSTOLClassifier)
@parameters_with(KernelParameters)
class AveragedKernelSGDClassifier(DecodedPredictions, OnlineEstimator):
    r"""Averaged gradient descent with a kernel and a fixed step: a baseline for `PiSTOLClassifier`.

    The update is ``f_{t+1} = f_t − η s_t k(x_t, ·)`` [1]_ [2]_, and predictions use an average of
    the functions of all rounds. You must tune the step size η: the best one is near ``‖f*‖/(L√T)``,
    which is unknown.

    Parameters
    ----------
    {PiSTOLClassifier: kernel, gamma}
    loss : {"smooth_hinge", "logistic", "hinge", "square"}, default="smooth_hinge"
        Loss φ, as in `PiSTOLClassifier`. "square" is ``(1 − z)²``, for which `certificate` has a
        bound.
    eta : float, default=0.3
        Step size η. With "square" it must be below ``1/k(x, x)``, or scores diverge; the bound
        needs a quarter of that.
    {PiSTOLClassifier: class_weight, average}
        "uniform" is the mean of Algorithm 1 of Orabona (2014).
    {PiSTOLClassifier: standardize, missing, max_iter, shuffle, verbose, random_state}

    Attributes
    ----------
    {PiSTOLClassifier: classes_, coef_, intercept_, missing_coef_, dual_coef_, support_vectors_,
    space_, loss_,
    optimizer_, t_, n_iter_, loss_curve_, n_features_in_, feature_names_in_}

    See Also
    --------
    PiSTOLClassifier : The same without a step size to tune.
    KernelPerceptronClassifier : The Perceptron with a kernel.

    References
    ----------
    .. [1] Orabona (2014). Simultaneous model selection and optimization through parameter-free
       stochastic learning. NeurIPS. Algorithm 1.

    .. [2] Kivinen, Smola, Williamson (2004). Online learning with kernels. IEEE Transactions on
       Signal Processing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import AveragedKernelSGDClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> AveragedKernelSGDClassifier(random_state=0).fit(X, y).predict(X[:2])
    array([0, 0])
    """

    loss: Literal["smooth_hinge", "logistic", "hinge", "square"] = "smooth_hinge"
    eta: float = 0.3
    class_weight: dict | Literal["balanced"] | None = None

    space, decoder, _given_decoder = Signs(), "map", given_decoder
    _learns_singles, _unfitted_loss = True, unfitted_margin_loss
    _wants_intercept, new_model = wants_intercept, new_margin_model
    _check_stream, score_factor_ = refuse_precomputed, score_factor

    def _parts(self, space):
        check_choice("loss", self.loss, ("logistic", "smooth_hinge", "hinge", "square"))
        return MarginLoss(space, self.loss), FixedStep(self.eta)

    def certificate(self, delta: float | None = None) -> Certificate:
        """The bound (3) on the sum of the square losses of the rounds, for any sequence of rows.

        With C² the largest ``w k(x, x)`` and k functions it adds ``‖f‖²/η + 4 η C² k Σ w`` to the
        square losses of f.

        Raises
        ------
        GuaranteeError
            For another `loss`, and for `eta` above ``1/(4 C²)``.
        """
        check_is_fitted(self)
        loss: Any = self.model_.certified_loss()
        state = self.model_.state.vector
        largest_sq, rounds = state[FixedStepState.LARGEST_SQ], float(state[LoopState.CLOCK])
        step, eta = float(self.optimizer_.eta * largest_sq), float(self.optimizer_.eta)
        if loss.kind != "square":
            raise GuaranteeError(f"No bound is known for loss={loss.kind!r}: use loss='square'.")
        if step > 0.25:
            raise GuaranteeError(
                f"eta is too large for a bound: set eta ≤ {0.25 / largest_sq:.6g}, which "
                f"is 1/(4 C²) for the rows learned; got eta={eta:g}."
            )
        numbers = {"eta": eta, "C": math.sqrt(largest_sq), "rounds": rounds}
        offset = 4.0 * step * rounds * loss.space.dim_
        return Certificate("Orabona (2014), (3)", 1.0 / eta, offset, constants=numbers)


@inherit_parameters(PiSTOLClassifier)
@parameters_with(KernelParameters)
class KernelPerceptronClassifier(DecodedPredictions, OnlineEstimator):
    r"""The Perceptron with a kernel: a baseline for `PiSTOLClassifier`.

    The update is ``f ← f + v k(x, ·)`` if ``v f(x) ≤ 0``, with v = ±1 [1]_. With K > 2 classes
    there is one function per class, against the rest. Only misclassified rows become support rows.

    Parameters
    ----------
    {PiSTOLClassifier: kernel, gamma, class_weight, average}
        Algorithm 2 of Orabona (2014) uses the last functions.
    {PiSTOLClassifier: standardize, missing, max_iter, shuffle, verbose, random_state}

    Attributes
    ----------
    {PiSTOLClassifier: classes_, coef_, intercept_, missing_coef_, dual_coef_, support_vectors_,
    space_, loss_,
    optimizer_, t_, n_iter_, loss_curve_, n_features_in_, feature_names_in_}

    See Also
    --------
    PiSTOLClassifier : A more accurate kernel classifier, with probabilities.
    AveragedKernelSGDClassifier : Kernel gradient descent with a fixed step size.
    MulticlassPerceptron : The linear Perceptron.

    Notes
    -----
    The average is that of [2]_.

    References
    ----------
    .. [1] Orabona (2014). Simultaneous model selection and optimization through parameter-free
       stochastic learning. NeurIPS. Algorithm 2.

    .. [2] Freund, Schapire (1999). Large margin classification using the Perceptron algorithm.
       Machine Learning.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import KernelPerceptronClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelPerceptronClassifier(random_state=0).fit(X, y).predict(X[:2])
    array([0, 0])
    """

    class_weight: dict | Literal["balanced"] | None = None
    _: KW_ONLY
    average: bool | Literal["uniform", "polynomial"] = "uniform"

    loss = "perceptron"

    space, decoder, _given_decoder = Signs(), "map", given_decoder
    _learns_singles, _unfitted_loss = True, unfitted_margin_loss
    _wants_intercept, new_model = wants_intercept, new_margin_model
    _check_stream, score_factor_ = refuse_precomputed, score_factor

    def _parts(self, space):
        return MarginLoss(space, self.loss), FixedStep(1.0)

    def certificate(self, delta: float | None = None) -> Certificate:
        """The bound (5) on the mistakes of all functions, against the hinge losses of any f."""
        check_is_fitted(self)
        self.model_.certified_loss()
        X = math.sqrt(self.model_.state.vector[FixedStepState.LARGEST_SQ])
        return PerceptronCertificate("Orabona (2014), (5)", X)

    def comparison(self, rounds: Batch) -> Comparison:
        """Raise a GuaranteeError: comparators are measured by hinge losses."""
        raise no_search("KernelPerceptronClassifier")
