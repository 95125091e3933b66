"""The quadratic surrogate."""

import itertools
from typing import Literal

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from sklearn.utils.extmath import safe_sparse_dot

from skstructured._base.component import inherit_parameters, parameters_with
from skstructured.estimators._batch import DualFit, check_memory, spread
from skstructured.estimators.margin import networks
from skstructured.spaces.sequence import Chains


def solve(C, inputs, alpha, cache_size):
    r"""The least ``Σ s_i ‖v_i + c_i‖² + (α/2) ‖w‖²``, s the shares: `DualFit`, it, and its gap.

    The coefficients D of rows solve ``(K + (α/2) S⁻¹) D = −C``, or with S^½ on either side; over
    features the weights solve ``(ZᵀSZ + (α/2) I) W = −ZᵀSC``. The gap is ‖∇‖²/(2α), by α-strong
    convexity.
    """
    share, K, W = spread(inputs.share, inputs.offsets), _kernels(inputs, cache_size), None
    if K is None:
        targets = -inputs.weights_of(share[:, None] * C)
        W = _solve_ridge(_weighted_gram(inputs, share), targets, alpha)
    else:
        root = np.sqrt(share)[:, None]
        dual = root * _solve_ridge(root * K * root.T, -root * C, alpha)
    if inputs.K is None:
        W = inputs.weights_of(dual) if W is None else W
        V = inputs.with_weights(W)
        dual, square = -2.0 * share[:, None] * (V + C) / alpha, float((W**2).sum())
        slope = float(((alpha * (W - inputs.weights_of(dual))) ** 2).sum())
    else:
        V = K @ dual
        square, residual = float((dual * V).sum()), 2.0 * share[:, None] * (V + C) + alpha * dual
        slope = float((residual * (K @ residual)).sum())
    value = float(share @ ((V + C) ** 2).sum(axis=1) + 0.5 * alpha * square)
    k = C.shape[1]  # edges have no weights, as costs are of single positions
    edges = None if inputs.offsets is None else (np.zeros((2, k)), np.zeros((k, k)))
    return DualFit(dual, W, edges), value, max(slope, 0.0) / (2.0 * alpha)


def _solve_ridge(M, C, alpha):
    M = M.copy()
    M.flat[:: len(M) + 1] += 0.5 * alpha
    try:
        return cho_solve(cho_factor(M, lower=True), C)
    except np.linalg.LinAlgError:
        return np.linalg.lstsq(M, C, rcond=None)[0]


def _kernels(inputs, cache_size):
    """Kernels of rows: what there is, or the products of fewer rows than features; else None."""
    (n, p), Z = inputs.Z.shape, inputs.Z
    if inputs.K is None:
        size = min(n, p + inputs.intercept)
        check_memory(f"matrix of kernels of {size} rows", size**2, cache_size)
    if inputs.K is not None or p + inputs.intercept <= n:
        return inputs.K
    return safe_sparse_dot(Z, Z.T, dense_output=True) + float(inputs.intercept)


def _weighted_gram(inputs, share):
    """Zᵀ S Z of features and the intercept."""
    Z = inputs.Z
    weighted = Z.multiply(share[:, None]).tocsr() if hasattr(Z, "indptr") else Z * share[:, None]
    M = safe_sparse_dot(Z.T, weighted, dense_output=True)
    if inputs.intercept:
        sums = np.asarray(weighted.sum(axis=0)).ravel()
        M = np.block([[M, sums[:, None]], [sums[None], np.array([[share.sum()]])]])
    return M


def left_out(C, inputs, cache_size):
    r"""Scores of every row, or sequence, under the ridge regression of all others, for each α.

    With ``G = (S½ K S½ + (α/2) I)⁻¹``, T = −S½ C and its coefficients E = G T, the residual of the
    rows B of an output without them is ``G_BB⁻¹ E_B``. One eigendecomposition serves all α:
    ``G = (I − U diag(λ/(λ + α/2)) Uᵀ)/(α/2)``.
    """
    offsets, k = inputs.offsets, C.shape[1]
    share = spread(inputs.share, offsets)
    root = np.sqrt(share)[:, None]
    U, values = _spectrum(inputs, share, root, cache_size)
    T = -root * C
    for alpha in networks.ALPHA_PATH:
        ridge = 0.5 * alpha
        damped = values / (values + ridge)
        E = (T - U @ (damped[:, None] * (U.T @ T))) / ridge
        residuals = _without(U, damped, E, offsets, ridge)
        V = np.where(root > 0.0, (T - residuals) / np.where(root > 0.0, root, 1.0), 0.0)
        edges = np.zeros((2, k)), np.zeros((1, k, k))
        yield V if offsets is None else Chains.of_rows(V, offsets, *edges)


def _spectrum(inputs, share, root, cache_size):
    """U and λ with ``S½ K S½ = U diag(λ) Uᵀ``."""
    K = _kernels(inputs, cache_size)
    if K is not None:
        values, U = eigh(root * K * root.T)
        return U, np.maximum(values, 0.0)
    values, Q = eigh(_weighted_gram(inputs, share))
    is_positive = values > 1e-13 * max(values[-1], 0.0)
    U = root * inputs.with_weights(Q[:, is_positive])
    return U / np.sqrt(values[is_positive]), values[is_positive]


def _without(U, damped, E, offsets, ridge):
    """What is left of each output without it, times the roots of shares."""
    if offsets is None:
        return E / ((1.0 - (U * U) @ damped) / ridge)[:, None]
    residuals = np.empty(E.shape)
    for first, stop in itertools.pairwise(offsets):
        B = U[first:stop]
        G = (np.eye(stop - first) - (B * damped) @ B.T) / ridge
        residuals[first:stop] = np.linalg.solve(G, E[first:stop])
    return residuals


@inherit_parameters(networks.DualLearner)
@parameters_with(networks.MarginParameters)
class QuadraticSurrogate(networks.MarginLearner):
    r"""Predict classes, multilabel outputs or label rankings by least squares on costs.

    It minimizes ``(1/n) Σ ‖g(x_i) + c(y_i)‖² + (α/2)‖w‖²`` [1]_, with ``c(y)`` the costs in
    ``L(y', y) = <φ(y'), c(y)> + a(y)``, by solving ``(K + (αn/2) I) D = −C``. It predicts
    ``argmax_y <g(x), φ(y)>``.

    Parameters
    ----------
    {DualLearner: space, kernel, gamma, degree, coef0}
    alpha : float or "path", default=1e-3
        Regularization strength α. Must be positive. "path" chooses the best of 2⁻¹ … 2⁻²⁰ by the
        leave-one-out target loss of rows, or sequences, which has a closed form.
    cost_matrix : array-like of shape (k, k) or None, default=None
        Costs [true, predicted] of classes, or of positions of sequences. None is the loss of the
        space.
    {DualLearner: standardize, fit_intercept}
    cache_size : float, default=4096
        Maximum size in MiB of a matrix of kernels, or of products of features.
    {DualLearner: missing}

    Attributes
    ----------
    {DualLearner: coef_, intercept_, start_, end_, transitions_, alpha_}
    alpha_losses_ : ndarray of shape (20,)
        Mean leave-one-out target losses, for alpha="path" only.
    dual_coef_ : ndarray of shape (n, dim)
        Coefficients of the rows of `fit`.
    {DualLearner: support_, classes_, space_}
    duality_gap_ : float
        Upper bound on the distance of the objective from its minimum, due to rounding.
    loss_curve_ : ndarray of shape (1,)
        The objective.
    n_iter_ : int
        Always 1.
    {DualLearner: n_features_in_, feature_names_in_}

    See Also
    --------
    MaxMinMarginNetwork : A consistent max-margin method.
    StructuralSVM : The classical max-margin method.
    KernelStructuredPredictor : Online kernel models, for larger data sets.

    References
    ----------
    .. [1] Ciliberto, Rosasco, Rudi (2016). A consistent regularization approach for structured
       prediction. NeurIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import QuadraticSurrogate
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(QuadraticSurrogate(kernel="rbf").fit(X, y).score(X, y) > 0.95)
    True
    """

    alpha: float | Literal["path"] = 1e-3
    fit_intercept: bool = True
    cache_size: float = 4096
    missing: Literal["mean", "error"] = "mean"

    def _solve(self, outputs, packed, inputs, initial_means, alpha):
        dual_fit, value, left = solve(outputs.targets(packed), inputs, alpha, self.cache_size)
        self.loss_curve_, self.duality_gap_, self.n_iter_ = np.array([value]), left, 1
        return dual_fit

    def _path(self, outputs, packed, inputs):
        truth = outputs.labels(packed)
        scores = left_out(outputs.targets(packed), inputs, self.cache_size)
        losses = (outputs.loss(outputs.decode(V), truth) for V in scores)
        return np.array([np.average(loss, weights=inputs.share) for loss in losses])
