"""Bounds on mistakes, for the best comparator that is found."""

import math

import numpy as np

from benchmarks.papers._table1.streams import largest
from skstructured import GaptronClassifier
from skstructured.guarantees import best_comparator
from skstructured.losses.gap import GapSurrogate
from skstructured.spaces import Simplex


def ridge_directions(X, y, classes):
    """Comparators of norm 1: logistic ridge fits on at most 5000 rows, from strong to weak."""
    space, rows = Simplex().fit(classes), slice(0, 5000)
    V = space.unpack(space.pack(y[rows]))
    loss, scale = GapSurrogate(space, "logistic"), len(V) * largest(X[rows]) ** 2
    penalties = scale * np.logspace(-2, -7, 6)
    fits = [best_comparator(loss, X[rows], V, penalty, max_iter=100) for penalty in penalties]
    return [U / max(np.linalg.norm(U), 1e-300) for U in fits]


def mistake_bound(learner, played, X, y, classes, directions):
    """The smallest bound over multiples of the directions; every U makes a valid one."""
    if learner.bandit and not learner.loss:
        return math.nan
    if learner.bandit:
        return bandit_bound(learner, played, X, y, classes, directions)
    if not isinstance(played.estimator if played else None, GaptronClassifier):
        return math.nan
    norms = np.r_[0.0, np.logspace(-2, 2.5, 28)]
    return min(played.regret_bound(a * U) for U in directions for a in norms)


def bandit_bound(learner, model, X, y, classes, directions):
    """min over ‖U‖ ≤ D of Σ ℓ_t(U), plus the regret."""
    norms = model.radius * np.r_[0.0, np.logspace(-1, 0, 6)]
    smallest = least_loss(learner.loss, X, y, classes, directions, norms)
    return smallest + model.regret_bound()


def least_loss(kind, X, y, classes, directions, norms):
    """The smallest Σ ℓ_t(U) over multiples of the directions."""
    space = Simplex().fit(classes)
    loss, V = GapSurrogate(space, kind), space.unpack(space.pack(y))
    scores = [X @ U[:, :-1].T + U[:, -1] for U in directions]
    return min(loss.value(a * theta, V).sum() for theta in scores for a in norms)
