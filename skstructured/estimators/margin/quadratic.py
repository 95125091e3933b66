"""The quadratic surrogate."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from skstructured._base.parameters import parameters
from skstructured._base.shared_docs import documented
from skstructured.estimators.margin._base import MarginLearner
from skstructured.estimators.margin._dual import DualLearner
from skstructured.estimators.margin._path import ALPHAS
from skstructured.estimators.margin._quadratic import check_enough, left_out, solve
from skstructured.extend.output_space import OutputSpace

__all__ = ["QuadraticSurrogate"]


@documented(DualLearner)
@parameters
class QuadraticSurrogate(MarginLearner):
    r"""Predict classes, multilabel outputs or label rankings by least squares on costs.

    It minimises ``(1/n) Σ ‖g(x_i) + c(y_i)‖² + (α/2)‖w‖²``, where ``c(y)`` are the costs in
    ``L(y', y) = <φ(y'), c(y)> + a(y)``, by ``(K + (αn/2) I) D = −C``, and predicts
    ``argmax_y <g(x), φ(y)>``.

    Parameters
    ----------
    {DualLearner: space, kernel, gamma, degree, coef0}
    alpha : float or "path", default=1e-3
        α > 0; "path" takes the best of 2⁻¹ … 2⁻²⁰ by the target loss of every row, or sequence,
        under the model of all others, which has a closed form.
    cost_matrix : array-like of shape (k, k) or None, default=None
        Costs [predicted, true] of classes, or of positions of sequences.
    {DualLearner: standardize, fit_intercept}
    cache_size : float, default=4096
        MiB that a matrix of kernels, or of products of features, may take.
    {DualLearner: missing}

    Attributes
    ----------
    {DualLearner: coef_, intercept_, start_, end_, transitions_, alpha_}
    alpha_losses_ : ndarray of shape (20,)
        Mean target losses of rows that are left out, for alpha="path" alone.
    dual_coef_ : ndarray of shape (n, dim)
        Coefficients of the rows of `fit`.
    {DualLearner: support_, classes_, space_}
    duality_gap_ : float
        At most so far is the objective from its least value: rounding.
    loss_curve_ : ndarray of shape (1,)
        The objective.
    n_iter_ : int
        1.
    {DualLearner: n_features_in_, feature_names_in_}

    References
    ----------
    Ciliberto, Rosasco, Rudi (2016), "A consistent regularization approach for structured
    prediction".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import QuadraticSurrogate
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(QuadraticSurrogate(kernel="rbf").fit(X, y).score(X, y) > 0.95)
    True
    """

    space: str | OutputSpace = "simplex"
    kernel: str | Callable = "linear"
    gamma: float | Literal["scale"] | None = None
    degree: float = 3
    coef0: float = 1.0
    alpha: float | Literal["path"] = 1e-3
    cost_matrix: ArrayLike | None = None
    standardize: bool = True
    fit_intercept: bool = True
    cache_size: float = 4096
    missing: Literal["mean", "error"] = "mean"

    def _solve(self, outputs, packed, inputs, before, alpha):
        found, value, left = solve(self._targets(outputs, packed), inputs, alpha, self.cache_size)
        self.loss_curve_ = np.array([value])
        self.duality_gap_, self.n_iter_ = left, 1
        return found

    def _targets(self, outputs, packed):
        """Costs c(y) of rows, or of positions."""
        if hasattr(outputs, "position_costs"):
            return outputs.position_costs(packed)
        costs, which, _ = outputs.costs(packed)
        return costs[which]

    def _search(self, outputs, packed, inputs):
        check_enough(inputs)
        targets, truth = self._targets(outputs, packed), outputs.labels(packed)
        losses = []
        for V in left_out(targets, inputs, ALPHAS, self.cache_size):
            loss = outputs.loss(outputs.decode(V), truth)
            losses.append(np.average(loss, weights=inputs.share))
        return ALPHAS[int(np.argmin(losses))], np.array(losses)
