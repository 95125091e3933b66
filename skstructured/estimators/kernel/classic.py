"""Baselines for PiSTOL: kernel descent with a fixed step, and the kernel Perceptron."""

import math
from collections.abc import Callable
from typing import Literal

from sklearn.utils.validation import check_is_fitted

from skstructured._base.exceptions import GuaranteeError
from skstructured._base.parameters import Seed, parameters
from skstructured._base.shared_docs import documented
from skstructured._engine.state import CLOCK
from skstructured.estimators.kernel._margin_base import MarginClassifier
from skstructured.estimators.kernel.pistol import PiSTOLClassifier
from skstructured.extend.learner import Batch, Comparison
from skstructured.guarantees.certificates import Certificate, PerceptronCertificate, no_search
from skstructured.optimizers._fixed import LARGEST_SQ, FixedStep

__all__ = ["AveragedKernelSGDClassifier", "KernelPerceptronClassifier"]


@documented(PiSTOLClassifier)
@parameters
class AveragedKernelSGDClassifier(MarginClassifier):
    r"""Averaged descent with a kernel and a fixed step: a baseline for `PiSTOLClassifier`.

    ``f_{t+1} = f_t − η s_t k(x_t, ·)``, and an average of the functions played predicts. The step
    has to be chosen: it is best near ``‖f*‖/(L√T)``, which nobody knows.

    Parameters
    ----------
    {PiSTOLClassifier: kernel, gamma, degree, coef0}
    loss : {"smooth_hinge", "logistic", "hinge", "square"}, default="smooth_hinge"
        φ, as for `PiSTOLClassifier`; "square" is ``(1 − z)²``, for which `certificate` has a bound.
    eta : float, default=0.3
        η, the step. With "square" it must be below ``1/k(x, x)``, or scores diverge; the bound
        needs a quarter of that.
    {PiSTOLClassifier: average}
        The mean of Algorithm 1 is "uniform".
    {PiSTOLClassifier: standardize, fit_intercept, max_iter, tol, shuffle, class_weight, cache_size,
    budget, verbose, random_state, missing}

    Attributes
    ----------
    {PiSTOLClassifier: classes_, coef_, intercept_, missing_coef_, dual_coef_, support_vectors_,
    space_, loss_,
    optimizer_, t_, n_iter_, loss_curve_, n_features_in_, feature_names_in_}

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
    loss: Literal["smooth_hinge", "logistic", "hinge", "square"] = "smooth_hinge"
    eta: float = 0.3
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

    _kinds = (*MarginClassifier._kinds, "square")

    def _margin_kind(self):
        return self.loss

    def _optimizer(self):
        return FixedStep(self.eta)

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
        loss, state = self._model.certified_loss(), self._model.state.vector
        step, eta = float(self.optimizer_.eta * state[LARGEST_SQ]), float(self.optimizer_.eta)
        if loss.kind != "square":
            raise GuaranteeError(f"No bound is known for loss={loss.kind!r}; 'square' has one.")
        if step > 0.25:
            raise GuaranteeError(
                f"Bound (3) needs eta ≤ {0.25 / state[LARGEST_SQ]:.6g}, which is 1/(4 C²) for the "
                f"rows learned, got eta={eta:g}."
            )
        numbers = {"eta": eta, "C": math.sqrt(state[LARGEST_SQ]), "rounds": float(state[CLOCK])}
        offset = 4.0 * step * state[CLOCK] * loss.space.dim_
        return Certificate("Orabona (2014), (3)", 1.0 / eta, offset, constants=numbers)


@documented(PiSTOLClassifier)
@parameters
class KernelPerceptronClassifier(MarginClassifier):
    r"""The Perceptron with a kernel: a baseline for `PiSTOLClassifier`.

    ``f ← f + v k(x, ·)`` where ``v f(x) ≤ 0``, v = ±1; with K > 2 classes for each
    against the rest. Only rows that were mistaken become support rows.

    Parameters
    ----------
    {PiSTOLClassifier: kernel, gamma, degree, coef0, average}
        Algorithm 2 takes the last.
    {PiSTOLClassifier: standardize, fit_intercept, max_iter, tol, shuffle, class_weight, cache_size,
    budget, verbose, random_state, missing}

    Attributes
    ----------
    {PiSTOLClassifier: classes_, coef_, intercept_, missing_coef_, dual_coef_, support_vectors_,
    space_, loss_,
    optimizer_, t_, n_iter_, loss_curve_, n_features_in_, feature_names_in_}

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
    average: bool | Literal["uniform", "polynomial"] = "uniform"
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
        return "perceptron"

    def _optimizer(self):
        return FixedStep(1.0)

    def certificate(self, delta: float | None = None) -> Certificate:
        """The bound (5) on the mistakes of all functions, against the hinge losses of any f."""
        check_is_fitted(self)
        self._model.certified_loss()
        X = math.sqrt(self._model.state.vector[LARGEST_SQ])
        return PerceptronCertificate("Orabona (2014), (5)", X)

    def comparison(self, rounds: Batch) -> Comparison:
        """Raise a GuaranteeError: comparators are measured by hinge losses."""
        raise no_search("KernelPerceptronClassifier")
