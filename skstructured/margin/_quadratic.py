"""The quadratic surrogate in closed form, over kernels or over features."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from skstructured.margin._features import check_memory


def solve_gram(K, C, strength):
    r"""Coefficients α of ``(K + (λn/2) I) α = −C``, strength is λn, C (n, dim) costs."""
    M = K.copy()
    M.flat[:: len(M) + 1] += 0.5 * strength
    try:
        return cho_solve(cho_factor(M, lower=True, overwrite_a=True), -C)
    except np.linalg.LinAlgError:
        return np.linalg.lstsq(K + 0.5 * strength * np.eye(len(K)), -C, rcond=None)[0]


def solve_rows(Z, C, strength, intercept, cache_size):
    """Weights (p + intercept, dim) of the same over features: by columns, or by rows if fewer."""
    n, p = Z.shape
    check_memory(min(n, p + intercept), cache_size)
    if p + intercept > n:
        K = Z @ Z.T
        K = np.asarray(K.toarray() if hasattr(K, "toarray") else K) + float(intercept)
        return with_ones(Z, solve_gram(K, C, strength), intercept)
    M = Z.T @ Z
    M = np.asarray(M.toarray() if hasattr(M, "toarray") else M)
    if intercept:
        sums = np.asarray(Z.sum(axis=0)).ravel()
        M = np.block([[M, sums[:, None]], [sums[None], np.array([[float(n)]])]])
    return solve_gram(M, with_ones(Z, C, intercept), strength)


def with_ones(Z, D, intercept):
    """Zᵀ D, and the sums of D below it where there is an intercept."""
    W = np.asarray(Z.T @ D)
    return np.vstack([W, D.sum(axis=0)]) if intercept else W


def objective(V, C, square, alpha):
    """(1/n) Σ ‖v_i + c_i‖² + (α/2) ‖w‖², with ‖w‖² given."""
    return float(((V + C) ** 2).sum() / len(V) + 0.5 * alpha * square)


def gap(gradient_square, alpha):
    """At most so far from the least objective: ‖∇‖²/(2α), as it is α-strongly convex."""
    return float(max(gradient_square, 0.0) / (2.0 * alpha))
