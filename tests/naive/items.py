"""Online learning over items with features, literally: explicit means and gradients."""

import math

import numpy as np
from scipy.special import expit, softmax

from naive.means import falling, log_matching, root, simplex_projection, xlogx
from naive.mixture import MixedScores, Round, play_rounds


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

    def round_of(X, reach, y):
        ms = [(flat if ratio else spread)(len(X)) for _, ratio in experts]
        told = [np.array([math.sqrt(reach * m)]) for m in ms]
        return Round(told, lambda W: X @ W, y, lambda theta: X.T @ (loss(theta, y)[0] - y))

    items = [round_of(X, reach, y) for (X, reach), y in zip(rounds, truths, strict=True)]
    many = len(experts) * (2 if average else 1)
    mix = MixedScores(rates, many, lambda theta, y: [loss(one, y)[1] for one in theta])
    learners = [one for one, _ in experts]
    played, losses, _ = play_rounds(learners, items, weight, mix, average)
    return played, losses.sum(axis=0), mix.groups[0].u
