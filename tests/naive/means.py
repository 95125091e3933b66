"""Regularized predictions: by a generic solver, by min-max, by trying every support."""

import math
from decimal import Decimal, localcontext

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from skstructured.regularizers import Shannon, Tsallis
from skstructured.spaces import OrdinalChain


def log_sum(z, axis=None, keepdims=False):
    """ln Σ exp z; of few numbers in a hundredth of the time that scipy's needs."""
    return np.logaddexp.reduce(z, axis=axis, keepdims=keepdims)


def root(f, low, high, steps=200):
    """Where f, which rises, is 0, by bisection."""
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (low, middle) if f(middle) > 0 else (middle, high)
    return (low + high) / 2


def xlogx(p):
    """Σ p ln p."""
    return sum(v * math.log(v) for v in p if v > 0)


def omega(space, regularizer, mu, weights=None):
    """Ψ(μ), term by term; with the weights over vertices for conditional random fields."""
    if isinstance(regularizer, Shannon) and isinstance(space, OrdinalChain):
        return xlogx(weights)
    if isinstance(regularizer, Shannon):
        two_sided = space.task == "multilabel"
        return xlogx(mu) + (xlogx(1 - mu) if two_sided else 0.0)
    if isinstance(regularizer, Tsallis):
        alpha = regularizer.alpha
        return sum(max(v, 0.0) ** alpha for v in mu) / (alpha * (alpha - 1))
    return 0.5 * float(mu @ mu)


def mean_and_conjugate(space, regularizer, theta):
    """Maximise <θ,μ> − Ψ(μ) over weights on the listed vertices, by a generic solver."""
    V = space.vertices()

    def objective(weights):
        mu = weights @ V
        return omega(space, regularizer, mu, weights) - float(theta @ mu)

    m = len(V)
    if isinstance(regularizer, Shannon):  # an interior optimum: any weights are a softmax
        found = minimize(lambda z: objective(softmax(z)), V @ theta * 0.5, method="BFGS")
        return softmax(found.x) @ V, -found.fun
    best = None
    for start in (np.full(m, 1 / m), 0.9 * np.eye(m)[np.argmax(V @ theta)] + 0.1 / m):
        found = minimize(
            objective,
            start,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * m,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0},
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        if best is None or found.fun < best.fun:
            best = found
    weights = np.maximum(best.x, 0) / np.maximum(best.x, 0).sum()
    return weights @ V, -best.fun


def falling(z):
    """The nearest z_1 ≥ … ≥ z_d by the min-max formula of isotonic regression."""
    d = len(z)
    return [
        max(min(np.mean(z[i : j + 1]) for i in range(k + 1)) for j in range(k, d)) for k in range(d)
    ]


def isotonic_staircase(theta):
    """Projection on 1 ≥ μ_1 ≥ … ≥ μ_d ≥ 0."""
    return np.clip(falling(theta), 0.0, 1.0)


def log_matching(theta):
    """Logarithms of entropic assignment: rows and columns in turn, until none moves."""
    m = math.isqrt(len(theta))
    log_mu = theta.reshape(m, m).copy()
    for _ in range(20_000):
        over = log_sum(log_mu, axis=1, keepdims=True)
        log_mu -= over
        log_mu -= log_sum(log_mu, axis=0, keepdims=True)
        if np.abs(over).max() <= 1e-15:
            break
    return log_mu.ravel()


def simplex_projection(theta):
    """Projection on the simplex: try every support size."""
    ordered = sorted(theta, reverse=True)
    tau = max((sum(ordered[:k]) - 1) / k for k in range(1, len(ordered) + 1))
    return np.maximum(theta - tau, 0.0)


def log_proba(space, theta):
    """Logarithms of the `Shannon` probabilities of one row of scores, with 400 digits."""
    with localcontext(prec=400, Emin=-(10**9), Emax=10**9):
        scores = [Decimal(float(t)) for t in theta]
        if space.task == "multilabel":
            return np.array([float(-(1 + (-t).exp()).ln()) for t in scores])
        if isinstance(space, OrdinalChain):
            scores = [sum(scores[:k], Decimal(0)) for k in range(len(scores) + 1)]
        top = max(scores)
        total = sum((t - top).exp() for t in scores).ln() + top
        return np.array([float(t - total) for t in scores])
