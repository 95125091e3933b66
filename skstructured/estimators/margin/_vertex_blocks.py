"""Blocks of rows whose outputs are known by their oracle."""

import numpy as np

from skstructured._engine.compiled import is_compiled
from skstructured.estimators.margin._blocks import Blocks, Means
from skstructured.estimators.margin._passes import BEST, FIXED, chord_step, shrink
from skstructured.estimators.margin._vertex_game import VERTICES, oracle_address
from skstructured.estimators.margin._vertex_visit import (
    bounds_in_python,
    row_bounds,
    visit,
    visit_in_python,
)


class VertexBlocks(Blocks):
    """Rows whose means are mixtures of few vertices, as are ν, the predictions against them.

    Parameters
    ----------
    inputs, alpha, vertices, constant
        See `Blocks`.
    oracle : callable
        ``oracle(theta, vertex)``; compiled, or not.
    max_min : bool
        Whether it is the max-min network, or the structural SVM.
    loss : tuple
        A, a and b of ``L(y', y) = <y', A y + b> + <a, y>``; for the SVM zeros.
    ell : ndarray of shape (n, dim)
        Costs c(y_i) of the structural SVM, else zeros.
    slack : float
        What a row may leave of its gap.
    """

    def __init__(self, inputs, alpha, vertices, constant, oracle, max_min, loss, ell, slack):
        super().__init__(inputs, alpha, (vertices,), constant)
        self.plays, self.slack = max_min, slack
        self._ell, self.loss = ell, loss
        self._given = oracle_address(oracle), max_min, loss
        compiled = is_compiled(oracle)
        self._visit = visit if compiled else visit_in_python
        self._bounds = row_bounds if compiled else bounds_in_python

    def at_truth(self):
        """Means at φ(y_i); parts are ν (n, dim), and each row's vertices and weights of both."""
        V, one = self.truth[0], np.ones(1)
        places = [(vertex[None].copy(), one) for vertex in V]
        return Means((V.copy(),), (V.copy(), places, list(places)))

    def move(self, order, fixed, rule):
        """Visits, one by one."""
        for i, step in zip(order, fixed, strict=True):
            gamma, d = self._direction(i, self.scores_at(i) + self._ell[i], rule, step)
            if shrink(gamma, d):
                self.shift(i, d)

    def _direction(self, i, v, rule, fixed):
        """How far a row's mean moves, and where to."""
        q, mu = self.squares[i] * self.steps[i], self.means.mu[i]
        out = self._target(self.means, i, v, q if rule == BEST else 0.0)
        d, gamma = out - mu, 1.0 if rule == BEST else fixed
        if rule != FIXED and not (rule == BEST and q > 0.0):
            found, reached = np.empty((2, 2))
            pair, both = np.array([v, v]), np.array([out, mu])
            self._bounds(*self._given, pair, both, both, found, reached)
            gamma = chord_step(reached[0] - reached[1], self.bend(i, d))
        return gamma, d

    def _target(self, means, i, v, q):
        """Where a row's mean goes to, and its vertices kept."""
        nu, all_columns, all_rows = means.parts
        columns, p, count = _with_room(*all_columns[i], 1)
        rows, x, many = _with_room(*all_rows[i], 0)
        sides = (columns, p, count, rows, x, many if self.plays else 0, nu[i])
        out, count, many = self._visit(*self._given, self.slack, v, q, means.mu[i], *sides)
        all_columns[i] = columns[1:count].copy(), p[1:count].copy()
        all_rows[i] = rows[:many].copy(), x[:many].copy()
        return out

    def bound(self, V, means, which):
        """Bounds by the ν of rows."""
        bounds, reached = np.empty((2, len(which)))
        given = (V[which] + self._ell[which], means.mu[which], means.parts[0][which])
        self._bounds(*self._given, *given, bounds, reached)
        return bounds, reached

    def visit(self, V, means, which):
        """Move the means of some rows to the games ``max_μ H``, nearly."""
        for i in which:
            means.mu[i] = self._target(means, i, V[i], 0.0)


def _with_room(vertices, weights, first):
    """Copies of vertices and weights with room for `VERTICES`, and where they end."""
    places, p = np.zeros((VERTICES, vertices.shape[1])), np.zeros(VERTICES)
    stop = first + len(weights)
    places[first:stop], p[first:stop] = vertices, weights
    return places, p, stop
