"""The quadratic surrogate."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from skstructured._base.parameters import parameters
from skstructured.estimators.margin._base import MarginLearner
from skstructured.estimators.margin._path import ALPHAS
from skstructured.estimators.margin._quadratic import check_enough, left_out, solve
from skstructured.extend.output_space import OutputSpace

__all__ = ["QuadraticSurrogate"]


@parameters
class QuadraticSurrogate(MarginLearner):
    r"""Predict classes, label sets or rankings by least squares on costs.

    It minimises ``(1/n) Σ ‖g(x_i) + c(y_i)‖² + (α/2)‖w‖²``, where ``c(y)`` are the costs in
    ``L(y', y) = <φ(y'), c(y)> + a(y)``, by ``(K + (αn/2) I) D = −C``, and predicts
    ``argmax_y <g(x), φ(y)>``.

    Parameters
    ----------
    space : str or OutputSpace, default="simplex"
        What an output is: "simplex", a class (0–1 loss); "ordinal", an ordered class (|i − j|, with
        a score a class); "hypercube", a label set (share of wrong labels); "birkhoff", a
        permutation (share of misplaced items); "permutahedron", a rank vector (Spearman's loss);
        "sequence", a label sequence (share of wrong positions); or any space whose target loss is
        affine in the mean.
    kernel : str or callable, default="linear"
        As in scikit-learn's ``pairwise_kernels``, or "precomputed"; a callable returns the kernels
        (n, m) of two arrays of rows. "linear" is learned in weights.
    gamma : float, "scale" or None, default=None
        Of the kernel; None is "scale", ``1/(p Var X)`` of standardised rows.
    degree, coef0 : float, default=3 and 1
        Of "poly" and "sigmoid".
    alpha : float or "path", default=1e-3
        α > 0; "path" takes the best of 2⁻¹ … 2⁻²⁰ by the target loss of every row, or sequence,
        under the model of all others, which has a closed form.
    cost_matrix : array-like of shape (k, k) or None, default=None
        Costs [predicted, true] of classes, or of positions of sequences.
    standardize : bool, default=True
        Whether dense features are centred and divided by their deviation, and CSR ones divided by
        their largest entry; `coef_` is in units of X.
    fit_intercept : bool, default=True
        Whether there is a feature 1, which is regularised too: kernels are k(x, z) + 1.
    cache_size : float, default=4096
        MiB that a matrix of kernels, or of products of features, may take.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (dim, n_features_in_) and (dim,)
        Weights of features, for the linear kernel alone.
    start_, end_, transitions_ : ndarray of shape (k,), (k,) and (k, k)
        Scores of first and last labels, and of labels beside each other, for "sequence" alone.
    alpha_ : float
        The α of the fit.
    alpha_losses_ : ndarray of shape (20,)
        Mean target losses of rows that are left out, for alpha="path" alone.
    dual_coef_ : ndarray of shape (n, dim)
        Coefficients of the rows of `fit`.
    support_ : ndarray
        Rows whose coefficients are not 0.
    classes_ : ndarray
        Labels, where the space has some.
    space_ : OutputSpace
        Fitted.
    duality_gap_ : float
        At most so far is the objective from its least value: rounding.
    loss_curve_ : ndarray of shape (1,)
        The objective.
    n_iter_ : int
        1.
    n_features_in_ : int
        Number of features.

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
