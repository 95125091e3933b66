"""What PiSTOL is compared with: kernel descent with a fixed step, and the kernel Perceptron."""

from collections.abc import Callable
from typing import Literal

from skstructured._base.exceptions import GuaranteeError
from skstructured._base.parameters import Seed, parameters
from skstructured._base.validation import check_positive
from skstructured._engine.compiled import kernel
from skstructured._engine.state import OWN, new_state
from skstructured.estimators.kernel._margin_base import MarginClassifier
from skstructured.extend.optimizer import OnlineOptimizer

__all__ = ["AveragedKernelSGDClassifier", "KernelPerceptronClassifier"]


@kernel
def plain_scale(state, x_sq, weight):
    """s = 1."""
    return 1.0


@kernel
def fixed_step(state, raw, g, x_sq, weight):
    """u = −η w."""
    return -state[OWN] * weight


class FixedStep(OnlineOptimizer):
    """f ← f − η s k(x, ·)."""

    scale_kernel = staticmethod(plain_scale)
    step_kernel = staticmethod(fixed_step)
    entries = 1

    def __init__(self, eta=1.0):
        self.eta = eta

    def init(self, loss):
        """The initial state, with η behind the epoch's own entries."""
        state = new_state(self.entries)
        state[OWN] = check_positive("eta", self.eta)
        return state


@parameters
class AveragedKernelSGDClassifier(MarginClassifier):
    r"""Averaged descent with a kernel and a fixed step: a baseline for `PiSTOLClassifier`.

    ``f_{t+1} = f_t − η s_t k(x_t, ·)``, and an average of the functions played predicts. The step
    has to be chosen: it is best near ``‖f*‖/(L√T)``, which nobody knows.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        As in `KernelStructuredPredictor`. "linear" learns the weights of features themselves, in
        time that goes by the stored values of CSR rows.
    gamma : float, "multiscale", "scale" or None, default=None
        As in `KernelStructuredPredictor`; None is "multiscale".
    degree, coef0 : default=3, 1.0
        As in `KernelStructuredPredictor`.
    loss : {"smooth_hinge", "logistic", "hinge"}, default="smooth_hinge"
        As in `PiSTOLClassifier`.
    eta : float, default=0.3
        η, the step.
    average : bool, "uniform", "polynomial" or "linear", default="polynomial"
        Whether predictions use an average of the functions played, as `OnlineStructuredPredictor`;
        the mean of Algorithm 1 is "uniform".
    standardize : bool or "auto", default="auto"
        As in `OnlineStructuredPredictor`, but that "auto" leaves CSR rows as they are in `fit` with
        a linear kernel if all have one norm, as text that was normalised; with a kernel as in
        `KernelStructuredPredictor`.
    fit_intercept : bool or "auto", default="auto"
        Whether a constant feature 1 is appended, or 1 added to the kernel. "auto" does so with a
        linear kernel and not with others, which mostly learn slower for it.
    max_iter : int, default=20
        Most passes of `fit`; with 1 what is proved of a single pass holds.
    tol : float or None, default=None
        As in `OnlineStructuredPredictor`; None makes all passes.
    shuffle, class_weight, cache_size, budget, verbose, random_state
        As in `KernelStructuredPredictor`.

    Attributes
    ----------
    classes_, coef_, intercept_, dual_coef_, support_vectors_
        As in `PiSTOLClassifier`.
    space_, loss_, optimizer_, t_, n_iter_, loss_curve_, n_features_in_, feature_names_in_
        As in `PiSTOLClassifier`.

    References
    ----------
    Orabona (2014), Algorithm 1; Kivinen, Smola, Williamson (2004), "Online learning with kernels".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import AveragedKernelSGDClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> AveragedKernelSGDClassifier(random_state=0).fit(X, y).predict(X[:2])
    array([0, 0])
    """

    kernel: str | Callable = "rbf"
    gamma: float | Literal["multiscale", "scale"] | None = None
    degree: float = 3
    coef0: float = 1.0
    loss: Literal["smooth_hinge", "logistic", "hinge"] = "smooth_hinge"
    eta: float = 0.3
    average: bool | Literal["uniform", "polynomial", "linear"] = "polynomial"
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

    def _margin_kind(self):
        return self.loss

    def _optimizer(self):
        return FixedStep(self.eta)


@parameters
class KernelPerceptronClassifier(MarginClassifier):
    r"""The Perceptron with a kernel: a baseline for `PiSTOLClassifier`.

    ``f ← f + v k(x, ·)`` where ``v f(x) ≤ 0``, v = ±1; with K > 2 classes for each
    against the rest. Only rows that were mistaken become support rows.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        As in `KernelStructuredPredictor`. "linear" learns the weights of features themselves, in
        time that goes by the stored values of CSR rows.
    gamma : float, "multiscale", "scale" or None, default=None
        As in `KernelStructuredPredictor`; None is "multiscale".
    degree, coef0 : default=3, 1.0
        As in `KernelStructuredPredictor`.
    average : bool, "uniform", "polynomial" or "linear", default="uniform"
        Whether predictions use an average of the functions played, as `OnlineStructuredPredictor`,
        where Algorithm 2 takes the last.
    standardize : bool or "auto", default="auto"
        As in `OnlineStructuredPredictor`, but that "auto" leaves CSR rows as they are in `fit` with
        a linear kernel if all have one norm, as text that was normalised; with a kernel as in
        `KernelStructuredPredictor`.
    fit_intercept : bool or "auto", default="auto"
        Whether a constant feature 1 is appended, or 1 added to the kernel. "auto" does so with a
        linear kernel and not with others, which mostly learn slower for it.
    max_iter : int, default=20
        Most passes of `fit`; with 1 what is proved of a single pass holds.
    tol : float or None, default=None
        As in `OnlineStructuredPredictor`; None makes all passes.
    shuffle, class_weight, cache_size, budget, verbose, random_state
        As in `KernelStructuredPredictor`.

    Attributes
    ----------
    classes_, coef_, intercept_, dual_coef_, support_vectors_
        As in `PiSTOLClassifier`.
    space_, loss_, optimizer_, t_, n_iter_, loss_curve_, n_features_in_, feature_names_in_
        As in `PiSTOLClassifier`.

    References
    ----------
    Orabona (2014), Algorithm 2; Freund, Schapire (1999), "Large margin classification using the
    Perceptron algorithm", for the average.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import KernelPerceptronClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelPerceptronClassifier(random_state=0).fit(X, y).predict(X[:2])
    array([0, 0])
    """

    kernel: str | Callable = "rbf"
    gamma: float | Literal["multiscale", "scale"] | None = None
    degree: float = 3
    coef0: float = 1.0
    average: bool | Literal["uniform", "polynomial", "linear"] = "uniform"
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

    def _margin_kind(self):
        return "perceptron"

    def _optimizer(self):
        return FixedStep(1.0)

    def certificate(self, delta=None):
        """No theorem: a GuaranteeError."""
        raise GuaranteeError("No bound against a linear surrogate is stated for the Perceptron.")
