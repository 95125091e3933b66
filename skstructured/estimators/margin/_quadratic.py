"""The quadratic surrogate in closed form, over kernels or over features."""

import itertools

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from skstructured.estimators.margin._features import check_memory
from skstructured.estimators.margin._inputs import Found, chains_of, weights_of, with_weights


def solve(C, inputs, alpha, cache_size):
    r"""The least ``Σ s_i ‖v_i + c_i‖² + (α/2) ‖w‖²``, s the shares: `Found`, it, and its gap.

    The coefficients D of rows solve ``(K + (α/2) S⁻¹) D = −C``; over features the weights solve
    ``(ZᵀSZ + (α/2) I) W = −ZᵀSC``. The gap is ‖∇‖²/(2α), as it is α-strongly convex.
    """
    share = inputs.of_rows(inputs.share)
    if inputs.K is None:
        W = _solve_features(C, inputs, share, alpha, cache_size)
        V = with_weights(inputs.Z, W)
        dual, square = -2.0 * share[:, None] * (V + C) / alpha, float((W**2).sum())
        slope = float(((alpha * (W - weights_of(inputs, dual))) ** 2).sum())
    else:
        W, dual = None, _solve_gram(inputs.K, C, share, 0.5 * alpha)
        V = inputs.K @ dual
        square, residual = float((dual * V).sum()), 2.0 * share[:, None] * (V + C) + alpha * dual
        slope = float((residual * (inputs.K @ residual)).sum())
    value = float(share @ ((V + C) ** 2).sum(axis=1) + 0.5 * alpha * square)
    return Found(dual, W, _edges(C, inputs)), value, max(slope, 0.0) / (2.0 * alpha)


def _edges(C, inputs):
    """Weights of edges, which are 0: costs are of single positions."""
    k = C.shape[1]
    return None if inputs.offsets is None else (np.zeros((2, k)), np.zeros((k, k)))


def _solve_gram(K, C, share, ridge):
    """D of ``(S½ K S½ + ridge) S^{−½} D = −S½ C``: rows of share 0 have coefficients 0."""
    root = np.sqrt(share)[:, None]
    return root * _solve_ridge(root * K * root.T, -root * C, ridge)


def _solve_ridge(M, C, ridge):
    M = M.copy()
    M.flat[:: len(M) + 1] += ridge
    try:
        return cho_solve(cho_factor(M, lower=True), C)
    except np.linalg.LinAlgError:
        return np.linalg.lstsq(M, C, rcond=None)[0]


def _products(inputs, share, by_rows):
    """S½ (Z Zᵀ + intercept) S½ of rows, or Zᵀ S Z of features and the intercept."""
    Z = inputs.Z
    if by_rows:
        K, root = Z @ Z.T, np.sqrt(share)[:, None]
        K = np.asarray(K.toarray() if hasattr(K, "toarray") else K) + float(inputs.intercept)
        return root * K * root.T
    weighted = Z.multiply(share[:, None]).tocsr() if hasattr(Z, "indptr") else Z * share[:, None]
    M = Z.T @ weighted
    M = np.asarray(M.toarray() if hasattr(M, "toarray") else M)
    if inputs.intercept:
        sums = np.asarray(weighted.sum(axis=0)).ravel()
        M = np.block([[M, sums[:, None]], [sums[None], np.array([[share.sum()]])]])
    return M


def _fewer_rows(inputs, cache_size):
    """Whether there are fewer rows than features; a ValueError for products that are too many."""
    n, p = inputs.Z.shape
    check_memory(min(n, p + inputs.intercept), cache_size)
    return p + inputs.intercept > n


def _solve_features(C, inputs, share, alpha, cache_size):
    """Weights (p + intercept, dim): by columns, or by rows where those are fewer."""
    by_rows, root = _fewer_rows(inputs, cache_size), np.sqrt(share)[:, None]
    M = _products(inputs, share, by_rows)
    if by_rows:
        return weights_of(inputs, root * _solve_ridge(M, -root * C, 0.5 * alpha))
    return _solve_ridge(M, -weights_of(inputs, share[:, None] * C), 0.5 * alpha)


def check_enough(inputs):
    """A ValueError where nothing is left to learn from."""
    if np.count_nonzero(inputs.share) < 2:
        raise ValueError('alpha="path" needs at least 2 samples of positive weight, got 1.')


def left_out(C, inputs, alphas, cache_size):
    r"""Scores of every row, or sequence, under the ridge regression of all others, for each α.

    With ``G = (S½ K S½ + (α/2) I)⁻¹``, T = −S½ C and its coefficients E = G T, what is left of the
    rows B of an output without them is ``G_BB⁻¹ E_B``. One eigendecomposition serves all α:
    ``G = (I − U diag(λ/(λ + α/2)) Uᵀ)/(α/2)``.
    """
    share = inputs.of_rows(inputs.share)
    root = np.sqrt(share)[:, None]
    U, values = _spectrum(inputs, share, root, cache_size)
    T = -root * C
    for alpha in alphas:
        ridge = 0.5 * alpha
        damped = values / (values + ridge)
        E = (T - U @ (damped[:, None] * (U.T @ T))) / ridge
        rest = _without(U, damped, E, inputs.offsets, ridge)
        V = np.where(root > 0.0, (T - rest) / np.where(root > 0.0, root, 1.0), 0.0)
        yield V if inputs.offsets is None else chains_of(V, inputs.offsets, *_edges(C, inputs))


def _spectrum(inputs, share, root, cache_size):
    """U and λ with ``S½ K S½ = U diag(λ) Uᵀ``."""
    if inputs.K is not None or _fewer_rows(inputs, cache_size):
        by_rows = inputs.K is None
        M = _products(inputs, share, True) if by_rows else root * inputs.K * root.T
        values, U = eigh(M)
        return U, np.maximum(values, 0.0)
    values, Q = eigh(_products(inputs, share, False))
    kept = values > 1e-13 * max(values[-1], 0.0)
    U = root * with_weights(inputs.Z, Q[:, kept])
    return U / np.sqrt(values[kept]), values[kept]


def _without(U, damped, E, offsets, ridge):
    """What is left of each output without it, times the roots of shares."""
    if offsets is None:
        G = (1.0 - (U * U) @ damped) / ridge
        return E / G[:, None]
    rest = np.empty(E.shape)
    for first, stop in itertools.pairwise(offsets):
        B = U[first:stop]
        G = (np.eye(stop - first) - (B * damped) @ B.T) / ridge
        rest[first:stop] = np.linalg.solve(G, E[first:stop])
    return rest
