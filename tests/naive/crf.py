"""Objectives of conditional random fields, by enumeration of all outputs and by Sinkhorn."""

import itertools

import numpy as np
from scipy.optimize import minimize

from naive import chains
from naive.means import log_matching, log_sum


def sequence_scores(x, coef, intercept, start, end, transitions):
    """Scores of positions, and of each and the next."""
    unary = x @ coef.T + intercept
    unary[0] += start
    unary[-1] += end
    return unary, transitions[None]


def sequence_loss(x, labels, *weights):
    """−ln p(labels | x), all k^M sequences summed up."""
    unary, pair = sequence_scores(x, *weights)
    scores = chains.all_scores(unary, pair)[1]
    return log_sum(scores) - chains.score(labels, unary, pair)


def sequence_objective(weights, X, y, alpha, sample_weight):
    """Mean loss plus (α/2)‖W‖² of weights in the order of `sequence_loss`."""
    losses = [sequence_loss(x, labels, *weights) for x, labels in zip(X, y, strict=True)]
    squares = sum((part**2).sum() for part in weights)
    return np.average(losses, weights=sample_weight) + 0.5 * alpha * squares


def vertices(space, dim):
    """All vertices, where the entropy is that of a distribution over them."""
    if space == "simplex":
        return np.eye(dim)
    if space == "ordinal":
        return np.tri(dim + 1, dim, -1)
    return np.array(list(itertools.product((0.0, 1.0), repeat=dim)))


def matching_loss(theta, v):
    """<θ, μ − v> − Σ μ ln μ with μ of Sinkhorn's iterations."""
    log_mu = log_matching(theta)
    mu = np.exp(log_mu)
    return theta @ (mu - v) - (mu * log_mu).sum()


def vector_loss(space, theta, v):
    """Ω*(θ) − <θ, v>."""
    if space == "birkhoff":
        return matching_loss(theta, v)
    return log_sum(vertices(space, len(theta)) @ theta) - theta @ v


def vector_objective(weights, space, X, V, alpha, sample_weight):
    """Mean loss plus (α/2)‖W‖² of coefficients and intercept."""
    coef, intercept = weights
    theta = X @ coef.T + intercept
    losses = [vector_loss(space, t, v) for t, v in zip(theta, V, strict=True)]
    squares = (coef**2).sum() + (intercept**2).sum()
    return np.average(losses, weights=sample_weight) + 0.5 * alpha * squares


def split(flat, shapes):
    """Arrays of these shapes, one after the other in a vector."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    parts = np.split(flat, ends[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def least(objective, shapes):
    """The least value of a function of arrays, by BFGS on differences."""
    start = np.zeros(sum(int(np.prod(shape)) for shape in shapes))
    found = minimize(lambda flat: objective(split(flat, shapes)), start, options={"gtol": 1e-7})
    return found.fun
