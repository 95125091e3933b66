"""Online learning over items with features, literally: explicit means and gradients."""

import math

import numpy as np

from naive.means import simplex_projection
from naive.mixture import HedgeWeights


def gibbs(theta):
    """Softmax."""
    z = np.exp(theta - theta.max())
    return z / z.sum()


def sigmoid(theta):
    """Of every item by itself."""
    return 1 / (1 + np.exp(-theta))


def ranks(theta):
    """Projection on the permutahedron: isotonic regression of θ − (m, …, 1) by min-max."""
    m = len(theta)
    order = np.argsort(-theta, kind="stable")
    z = theta[order] - np.arange(m, 0, -1)
    fit = [
        min(max(np.mean(z[i : j + 1]) for j in range(k, m)) for i in range(k + 1)) for k in range(m)
    ]
    mu = np.empty(m)
    mu[order] = theta[order] - fit
    return mu


def assignment(theta):
    """Entropic assignment: rows and columns divided by their sums, ever again."""
    d = math.isqrt(len(theta))
    P = np.exp(theta - theta.max()).reshape(d, d)
    for _ in range(20000):
        P = P / P.sum(axis=1, keepdims=True)
        P = P / P.sum(axis=0)
    return P.ravel()


def subsets(theta, k=2):
    """Projection on the subsets of k items: clip(θ − τ, 0, 1), τ by bisection."""
    if len(theta) <= k:
        return np.ones(len(theta))
    low, high = theta.min() - 2.0, theta.max()
    for _ in range(200):
        middle = (low + high) / 2
        if np.clip(theta - middle, 0, 1).sum() > k:
            low = middle
        else:
            high = middle
    return np.clip(theta - high, 0, 1)


def _xlogx(mu):
    return sum(v * math.log(v) for v in mu if v > 0)


#: Mean of scores, and Ω.
PAIRS = {
    ("simplex", "shannon"): (gibbs, _xlogx),
    ("simplex", "squared"): (simplex_projection, lambda mu: 0.5 * mu @ mu),
    ("hypercube", "shannon"): (sigmoid, lambda mu: _xlogx(mu) + _xlogx(1 - mu)),
    ("permutahedron", "squared"): (ranks, lambda mu: 0.5 * mu @ mu),
    ("birkhoff", "shannon"): (assignment, _xlogx),
    ("subsets", "squared"): (subsets, lambda mu: 0.5 * mu @ mu),
}


def loss_of(space, regularizer, omega_of):
    """``loss(theta, y) -> (mean, E Ω*(θ) + Ω(y) − <θ, y>)``; `omega_of` gives E Ω(y) of a truth."""
    mean, omega = PAIRS[space, regularizer]

    def loss(theta, y):
        mu = mean(theta)
        value = theta @ (mu - y) - omega(mu) + omega_of(y)
        return mu, value if value > 1e-15 * (1 + np.abs(theta).sum()) else 0.0

    return loss


def largest(X, centred):
    """``(tr K⁸)^{1/8}`` of the products of the items of a round, less their mean if `centred`."""
    X = X - X.mean(axis=0) if centred else X
    K = X @ X.T
    return float(np.trace(np.linalg.matrix_power(K, 8)) ** 0.125)


def play(experts, loss, rounds, truths, weight, rates, average, spread, flat):
    """Scores played in every round, sums of the experts' losses, and their weights.

    `experts` are pairs (literal learner, whether it is told λ_max/λ); ``loss(theta, y) -> (mean,
    value)``; `rounds` pairs (X, λ_max); `spread` and `flat` give D² and 1/λ of m items.
    """
    few = len(experts)
    many = few * (2 if average else 1)
    hedge = HedgeWeights(rates, many)
    sums, total, clock, lost = [0.0] * few, 0.0, 0.0, np.zeros(many)
    played = []
    for (X, reach), y, w in zip(rounds, truths, weight, strict=True):
        m = len(X)
        told = [math.sqrt(reach * (flat(m) if ratio else spread(m))) for _, ratio in experts]
        W = [one.play(np.array([t]), w) for (one, _), t in zip(experts, told, strict=True)]
        means = [part / total if total > 0 else 0 * now for part, now in zip(sums, W, strict=True)]
        theta = [X @ one for one in (W + means if average else W)]
        u = hedge.u.sum(axis=0)
        played.append(sum(v * one for v, one in zip(u, theta, strict=True)))
        values = np.array([loss(one, y)[1] for one in theta])
        lost += w * values
        if w > 0:
            hedge.learn(values, w)
        clock += w
        counts = w if average == "uniform" else w * clock**3
        sums = [part + counts * now for part, now in zip(sums, W, strict=True)]
        total += counts
        for (one, _), now in zip(experts, W, strict=True):
            one.learn(w * X.T @ (loss(X @ now, y)[0] - y), w)
    return played, lost, hedge.u
