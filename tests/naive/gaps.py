"""Gaptron in full information, and its surrogates with their gaps."""

import math

import numpy as np
from scipy.special import log_softmax, softmax

from naive.optimizers import Descent
from naive.rounds import learn_rounds, of_rows


def margins(theta):
    """m(y) = θ_y − max of the others, for every y."""
    return np.array([t - max(np.delete(theta, y)) for y, t in enumerate(theta)])


def gap_surrogate(kind, theta, y):
    """(ℓ, ∇ℓ in θ, gap a) of spec 4.1, case by case."""
    K, m, star = len(theta), margins(theta), int(np.argmax(theta))
    other = max((k for k in range(K) if k != y), key=lambda k: theta[k])
    direction = np.eye(K)[other] - np.eye(K)[y]
    if kind == "logistic":
        p = softmax(theta)
        top = p.max()
        gradient = (p - np.eye(K)[y]) / math.log(2)
        return (
            float(-log_softmax(theta)[y]) / math.log(2),
            gradient,
            1.0 - (top if top >= 0.5 else 0.0),
        )
    if kind == "hinge":
        a = 1 - max(1.0 if m[star] > 1 / K else 0.0, m[star])
        a = 0.0 if m[star] > 1 / K else a
        if star == y and m[star] > 1 / K:
            return 0.0, 0.0 * direction, a
        return max(1 - m[y], 0.0), direction * (1.0 if m[y] < 1 else 0.0), a
    a = (1 - min(1.0, m[star])) ** 2
    if m[y] <= 0:
        return 1 - 2 * m[y], 2 * direction, a
    return max(1 - m[y], 0.0) ** 2, 2 * max(1 - m[y], 0.0) * direction, a


def gaptron_step(kind, K, X_sq):
    """η of the full-information table."""
    if kind == "logistic":
        return math.log(2) / (2 * K * X_sq)
    return (1 - 1 / K) / (K * X_sq) if kind == "hinge" else 1 / (4 * K * X_sq)


def gaptron(kind, K, X, y, radius=math.inf):
    """Scores, probabilities p' and final W of Gaptron, X learned by dual averaging."""
    learner = Descent((K, X.shape[1]), lambda sq: gaptron_step(kind, K, sq), radius)
    loss = lambda theta, v: gap_surrogate(kind, theta, int(np.argmax(v)))[1::-1]  # noqa: E731
    found = learn_rounds([learner], of_rows(X, np.eye(K)[y]), loss, np.ones(len(X)))
    gaps = np.array([gap_surrogate(kind, theta, 0)[2] for theta in found.scores])[:, None]
    best = np.eye(K)[np.argmax(found.scores, axis=1)]
    return np.array(found.scores), gaps / K + (1 - gaps) * best, found.weights[-1, 0]
