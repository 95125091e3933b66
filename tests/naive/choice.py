"""The conditional logit as its formulas stand, one round and one item at a time."""

import math

import numpy as np
from scipy.special import softmax


def probabilities(w, x):
    """Softmax of the utilities of the items x (m, p) of one round."""
    return softmax([math.fsum(a * b for a, b in zip(w, row, strict=True)) for row in x])


def log_likelihood(w, rounds, chosen, weights):
    """``Σ_t c_t ln p(chosen item of t)``."""
    return math.fsum(
        c * math.log(probabilities(w, x)[k])
        for x, k, c in zip(rounds, chosen, weights, strict=True)
    )


def objective(w, rounds, chosen, weights, alpha=0.0):
    """``(1/Σc) Σ_t −c_t ln p(chosen item of t) + (α/2)‖w‖²``."""
    loss = -log_likelihood(w, rounds, chosen, weights) / math.fsum(weights)
    return loss + 0.5 * alpha * math.fsum(v * v for v in w)


def scores(w, x, k):
    """The gradient (p,) of −ln p(item k) of one round: mean of the items less the chosen one."""
    return probabilities(w, x) @ np.asarray(x) - x[k]


def gradient(w, rounds, chosen, weights, alpha=0.0):
    """Of `objective`."""
    total = sum(c * scores(w, x, k) for x, k, c in zip(rounds, chosen, weights, strict=True))
    return total / sum(weights) + alpha * np.asarray(w)


def hessian(w, rounds, weights, alpha=0.0):
    """Of `objective`: mean covariances of the items of rounds."""
    total = 0.0
    for x, c in zip(rounds, weights, strict=True):
        p = probabilities(w, x)
        away = np.asarray(x) - p @ np.asarray(x)
        total += c * (p[:, None] * away).T @ away
    return total / sum(weights) + alpha * np.eye(len(w))


def fitted(rounds, chosen, weights, alpha=0.0):
    """Weights by Newton steps."""
    w = np.zeros(len(rounds[0][0]))
    for _ in range(12):
        slope = gradient(w, rounds, chosen, weights, alpha)
        w = w - np.linalg.solve(hessian(w, rounds, weights, alpha), slope)
    assert np.abs(slope).max() < 1e-12
    return w
