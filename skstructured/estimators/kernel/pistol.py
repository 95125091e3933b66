"""PiSTOL: classifiers and regressors with nothing to tune, linear and with kernels."""

from collections.abc import Callable
from typing import Literal

from skstructured._base.parameters import Seed, parameters
from skstructured._base.shared_docs import documented
from skstructured.estimators.kernel._margin_base import MarginClassifier, ResidualRegressor
from skstructured.estimators.kernel.structured import KernelStructuredPredictor
from skstructured.optimizers import PiSTOL

__all__ = ["PiSTOLClassifier", "PiSTOLRegressor"]


class _WithPiSTOL:
    """Parameters of the optimiser."""

    def _optimizer(self):
        return PiSTOL(self.a, self.b, self.feature_norm, self.per_coordinate)


@documented(KernelStructuredPredictor)
@parameters
class PiSTOLClassifier(_WithPiSTOL, MarginClassifier):
    r"""PiSTOL: a classifier with nothing to tune, linear or with a kernel.

    Take it where an SVM comes to mind: ``PiSTOLClassifier(kernel="rbf")`` is on most data about
    as good as an SVC whose C and gamma were searched for, in one fit and as a stream.
    `KernelStructuredPredictor` is the same for every output space.

    Two classes have one function f, K > 2 one against the rest each, which share one length. With
    the sum of gradients ``g_t = −Σ_{i≤t} s_i k(x_i, ·)``, s_i the derivative of the loss,

    .. math:: f_t = g_{t-1} \frac{b}{α_{t-1}} \exp\Big(\frac{\|g_{t-1}\|^2}{2 α_{t-1}}\Big),
        \quad α_t = a L N_t \Big(L N_t + \sum_{i \le t} \|s_i\| \|x_i\|\Big),

    with ``‖x‖² = k(x, x)``, N_t the largest ‖x_i‖ so far, and L the largest ‖s‖. The length of f is
    found on the way: no step size, no C.

    Parameters
    ----------
    {KernelStructuredPredictor: kernel}
        "linear" learns the weights of features themselves, in time that goes by the stored values
        of CSR rows.
    {KernelStructuredPredictor: gamma}
        None is "multiscale".
    {KernelStructuredPredictor: degree, coef0}
    loss : {"logistic", "smooth_hinge", "hinge"}, default="logistic"
        φ of the loss ``Σ_k φ(v_k f_k(x))``, v_k = ±1: "logistic" is ``log₂(1 + exp(−z))`` and has
        probabilities; "smooth_hinge" is ``1 − 2z`` where z ≤ 0 and ``max(1 − z, 0)²`` elsewhere,
        "hinge" ``max(1 − z, 0)``: with these two, rows beyond the margin are no support rows.
    a : float, default=0.08
        Caution, see `PiSTOL`. Theorem 1 needs 2.25; the paper's experiments have 0.125.
    b : float, default=1.0
        Scale of the first functions.
    feature_norm : float or None, default=None
        A bound on ``√k(x, x)``, 1 for "rbf" without an intercept, for which `certificate` asks;
        None learns it.
    per_coordinate : bool, default=False
        Learn every weight separately, see `PiSTOL`; needs ``kernel="linear"``.
    {KernelStructuredPredictor: average, standardize}
        With a linear kernel "auto" leaves CSR rows as they are in `fit` if all have one norm, as
        text that was normalised.
    fit_intercept : bool or "auto", default="auto"
        Whether a constant feature 1 is appended, or 1 added to the kernel. "auto" does so with a
        linear kernel and not with others, which mostly learn slower for it.
    max_iter : int, default=20
        Most passes of `fit`; with 1 what is proved of a single pass holds.
    {KernelStructuredPredictor: tol, shuffle, class_weight, cache_size, budget, verbose,
    random_state, missing}

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels.
    coef_, intercept_ : ndarray of shape (1 or K, p), (1 or K,)
        Weights, with a linear kernel.
    missing_coef_ : ndarray of shape (1 or K, p)
        With a linear kernel and ``missing="indicator"``: what a missing feature adds to scores.
    dual_coef_ : ndarray of shape (1 or K, n_support)
        Coefficients of the support rows; not with a linear kernel.
    support_vectors_ : ndarray of shape (n_support, p)
        Rows as they were transformed; not with a linear kernel.
    {KernelStructuredPredictor: space_, loss_, optimizer_, t_, n_iter_, loss_curve_, n_features_in_,
    feature_names_in_}

    Raises
    ------
    ValueError
        When used: a parameter out of its range, NaN or inf in X, labels that are not among the
        classes, a `budget` for more than one pass; the fitted state is then unchanged.

    Notes
    -----
    Functions of their own lengths, as one-vs-rest SVMs have them:
    ``OneVsRestClassifier(PiSTOLClassifier())`` of scikit-learn.

    References
    ----------
    Orabona (2014), "Simultaneous model selection and optimization through parameter-free stochastic
    learning", Algorithm 3, Theorem 1 and Corollary 3.

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
    gamma: float | Literal["multiscale", "scale"] | None = None
    degree: float = 3
    coef0: float = 1.0
    loss: Literal["logistic", "smooth_hinge", "hinge"] = "logistic"
    a: float = 0.08
    b: float = 1.0
    feature_norm: float | None = None
    per_coordinate: bool = False
    average: bool | Literal["uniform", "polynomial"] = "polynomial"
    standardize: bool | Literal["auto"] = "auto"
    fit_intercept: bool | Literal["auto"] = "auto"
    max_iter: int = 20
    tol: float | None = None
    shuffle: bool = True
    class_weight: dict | Literal["balanced"] | None = None
    cache_size: float = 200
    budget: int | None = None
    verbose: bool | int = 0
    random_state: Seed = None
    missing: Literal["mean", "indicator", "error"] = "mean"

    def _margin_kind(self):
        return self.loss


@documented(PiSTOLClassifier)
@parameters
class PiSTOLRegressor(_WithPiSTOL, ResidualRegressor):
    r"""PiSTOL for real outputs: a regressor with nothing to tune, linear or with a kernel.

    Functions f_t as in `PiSTOLClassifier`, with s_t the derivative of the loss of ``f(x) − y``,
    whose slopes are 1 at most. `fit` takes the median m of y off first and divides by the mean of
    the distances |y − m| between their quantiles ½ and ⅘, in units of a normal deviation, and gives
    both back in predictions; a stream cannot, and its y **must be of the order of 1**: subtract and
    divide beforehand.

    Huber's loss, beyond a small ε, has the slopes of the absolute one: what is learned is about the
    median of y given x: a fifth of outliers on one side move little, and of outputs of which
    most are the same it is this one and not the mean. Ten passes and a more cautious `a` than
    `PiSTOLClassifier` has are the choice of ``benchmarks/defaults/regression.py``: more passes fit
    the noise, and below about ``a ε = 0.05`` steps become so bold that rounding errors grow.

    Parameters
    ----------
    {PiSTOLClassifier: kernel, gamma, degree, coef0}
    loss : {"huber", "absolute", "epsilon_insensitive", "quantile"}, default="huber"
        Of the residual r: "huber" is ``r²/(2ε)`` where |r| < ε and ``|r| − ε/2`` elsewhere,
        "absolute" |r|, "epsilon_insensitive" ``max(|r| − ε, 0)``, "quantile" the pinball loss
        ``max(−q r, (1 − q) r)``, with which the quantile q of y given x is learned.
    epsilon : float or None, default=None
        ε, in units of what `fit` divides y by, and for streams in those of y. None
        is 0.2 for "huber" and 0.1 for "epsilon_insensitive".
    quantile : float, default=0.5
        q in (0, 1), of ``loss="quantile"`` alone.
    {PiSTOLClassifier: a, b, feature_norm, per_coordinate, average, standardize, fit_intercept,
    max_iter, tol, shuffle, cache_size, budget, verbose, random_state, missing}

    Attributes
    ----------
    coef_ : ndarray of shape (p,)
        Weights, with a linear kernel: ``predict(X) = X coef_ + intercept_``.
    missing_coef_ : ndarray of shape (p,)
        With a linear kernel and ``missing="indicator"``: what a missing feature adds.
    intercept_ : ndarray of shape (1,)
        What is added to the scores.
    dual_coef_ : ndarray of shape (1, n_support)
        Coefficients of the support rows; not with a linear kernel.
    {PiSTOLClassifier: support_vectors_, space_, loss_, optimizer_, t_, n_iter_, n_features_in_,
    feature_names_in_}
    loss_curve_ : ndarray of shape (n_iter_, 2)
        Mean loss, as learned, and mean |f(x) − y|, in units of y, of each pass of `fit`.

    Raises
    ------
    ValueError
        When used: a parameter out of its range, NaN or inf in X or y.

    References
    ----------
    Orabona (2014), Algorithm 3 and Theorem 1, which hold for every convex Lipschitz loss; Huber
    (1964); Koenker, Bassett (1978).

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
    gamma: float | Literal["multiscale", "scale"] | None = None
    degree: float = 3
    coef0: float = 1.0
    loss: Literal["huber", "absolute", "epsilon_insensitive", "quantile"] = "huber"
    epsilon: float | None = None
    quantile: float = 0.5
    a: float = 0.3
    b: float = 1.0
    feature_norm: float | None = None
    per_coordinate: bool = False
    average: bool | Literal["uniform", "polynomial"] = "polynomial"
    standardize: bool | Literal["auto"] = "auto"
    fit_intercept: bool | Literal["auto"] = "auto"
    max_iter: int = 10
    tol: float | None = None
    shuffle: bool = True
    cache_size: float = 200
    budget: int | None = None
    verbose: bool | int = 0
    random_state: Seed = None
    missing: Literal["mean", "indicator", "error"] = "mean"
