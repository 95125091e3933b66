"""Online learning over items with features, literally: explicit means and gradients."""

import math

import numpy as np
from scipy.special import expit, softmax

from naive.means import falling, log_matching, root, simplex_projection, xlogx
from naive.rounds import Round


def ranks(theta):
    """Projection on the permutahedron: isotonic regression of θ − (m, …, 1)."""
    order, mu = np.argsort(-theta, kind="stable"), theta.copy()
    mu[order] -= falling(theta[order] - np.arange(len(theta), 0, -1))
    return mu


def assignment(theta):
    """Entropic assignment."""
    return np.exp(log_matching(theta))


def subsets(theta, k=2):
    """Projection on the subsets of k items: clip(θ − τ, 0, 1), τ by bisection."""
    if len(theta) <= k:
        return np.ones(len(theta))
    least = lambda tau: k - np.clip(theta - tau, 0, 1).sum()  # noqa: E731
    return np.clip(theta - root(least, theta.min() - 2.0, theta.max()), 0, 1)


#: Mean of scores, and Ω.
PAIRS = {
    ("simplex", "shannon"): (softmax, xlogx),
    ("simplex", "squared"): (simplex_projection, lambda mu: 0.5 * mu @ mu),
    ("hypercube", "shannon"): (expit, lambda mu: xlogx(mu) + xlogx(1 - mu)),
    ("permutahedron", "squared"): (ranks, lambda mu: 0.5 * mu @ mu),
    ("birkhoff", "shannon"): (assignment, xlogx),
    ("subsets", "squared"): (subsets, lambda mu: 0.5 * mu @ mu),
}


def loss_of(space, regularizer, omega_of):
    """``loss(theta, y) -> (mean − y, E Ω*(θ) + Ω(y) − <θ, y>)``, with `omega_of(y)` for E Ω(y)."""
    mean, omega = PAIRS[space, regularizer]

    def loss(theta, y):
        mu = mean(theta)
        value = theta @ (mu - y) - omega(mu) + omega_of(y)
        return mu - y, value if value > 1e-15 * (1 + np.abs(theta).sum()) else 0.0

    return loss


def largest(X, centered):
    """``(tr K⁸)^{1/8}`` of the products of the items of a round, less their mean if `centered`."""
    X = X - X.mean(axis=0) if centered else X
    K = X @ X.T
    return float(np.trace(np.linalg.matrix_power(K, 8)) ** 0.125)


def rounds_of(X, truths, centered, sizes):
    """Rounds of items, for W (p,); `sizes` has D² or 1/λ of m items for each learner."""
    return [
        Round(x, y, [math.sqrt(largest(x, centered) * size(len(x))) for size in sizes])
        for x, y in zip(X, truths, strict=True)
    ]
