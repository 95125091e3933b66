"""Block-coordinate ascent over rows whose outputs are known by their oracle."""

from typing import NamedTuple

import numpy as np

from skstructured._engine.compiled import is_compiled
from skstructured.estimators.margin._inputs import Found, with_weights
from skstructured.estimators.margin._passes import BEST, FIXED, STILL
from skstructured.estimators.margin._solver import (
    games_of,
    not_told,
    squares_of,
    start_of,
    weights_of,
)
from skstructured.estimators.margin._vertex_game import VERTICES, oracle_address
from skstructured.estimators.margin._vertex_visit import (
    python_bounds,
    python_visit,
    row_bounds,
    visit,
)


class VertexProblem(NamedTuple):
    """What is learned of the outputs of an oracle.

    Attributes
    ----------
    oracle : callable
        ``oracle(theta, vertex)``; compiled, or not.
    max_min : bool
        Whether it is the max-min network, or the structural SVM.
    loss : tuple
        A, a and b of ``L(y', y) = <y', A y + b> + <a, y>``; for the SVM zeros.
    ell : ndarray of shape (n, dim)
        Costs c(y_i) of the structural SVM, else zeros.
    constant : ndarray of shape (n,)
        What is added to h of a row.
    vertices : ndarray of shape (n, dim)
        φ(y_i).
    alpha, slack : float
        α, and what a row may leave of its gap.
    """

    oracle: object
    max_min: bool
    loss: tuple
    ell: np.ndarray
    constant: np.ndarray
    vertices: np.ndarray
    alpha: float
    slack: float


class VertexMeans(NamedTuple):
    """Means μ (n, dim), ν (n, dim), and for each row the vertices and weights of both."""

    mu: np.ndarray
    nu: np.ndarray
    columns: list
    rows: list

    def copy(self):
        """Another that is moved by itself."""
        return VertexMeans(self.mu.copy(), self.nu.copy(), list(self.columns), list(self.rows))

    @property
    def shape(self):
        """Of the means."""
        return self.mu.shape


class VertexAscent:
    """Means of rows, and the weights or the scores that follow their moves."""

    def __init__(self, problem, inputs):
        self.problem, self.inputs = problem, inputs
        self.counted = np.flatnonzero(inputs.share > 0.0)
        self._steps = inputs.share / problem.alpha
        compiled = is_compiled(problem.oracle)
        self._oracle = oracle_address(problem.oracle)
        self._visit = visit if compiled else python_visit
        self._bounds = row_bounds if compiled else python_bounds
        if inputs.K is None:
            self._squares = squares_of(inputs.Z, inputs.intercept)
        else:
            self._squares = np.diag(inputs.K)

    def begin(self, before):
        """Means at φ(y_i), or those of a fit before; a ValueError where those do not fit."""
        V, one = self.problem.vertices, np.ones(1)
        self.means = start_of(before, V.shape)
        places = [(vertex[None].copy(), one) for vertex in V]
        self._games = VertexMeans(V.copy(), V.copy(), places, list(places))
        if self.means is None:
            self.means = self._games.copy()
        self.refresh()

    def to_go_on(self):
        """What a fit of the same rows may begin with."""
        return self.means

    def dual(self):
        """Coefficients (n, dim)."""
        return (self.problem.vertices - self.means.mu) * self._steps[:, None]

    def refresh(self):
        """Weights or scores anew."""
        if self.inputs.K is None:
            self.W = weights_of(self.inputs, self.dual())
        else:
            self._scores = self.inputs.K @ self.dual()

    def scores(self):
        """Scores (n, dim)."""
        if self.inputs.K is None:
            return with_weights(self.inputs.Z, self.W)
        return self._scores

    def run(self, order, clock, rule):
        """One pass."""
        n = len(order)
        for t, i in enumerate(order):
            v = self._scores_of(i) + self.problem.ell[i]
            d = self._move(i, v, rule, 2.0 * n / (clock + t + 2.0 * n))
            d[np.abs(d) <= STILL] = 0.0
            if d.any():
                self.means.mu[i] += d
                self._follow(i, -self._steps[i] * d)

    def _scores_of(self, i):
        if self.inputs.K is not None:
            return self._scores[i]
        return np.ravel(with_weights(self.inputs.Z[i : i + 1], self.W))

    def _follow(self, i, d):
        """Scores or weights after a row's coefficients have moved by d."""
        if self.inputs.K is not None:
            moved = np.flatnonzero(d)
            if 2 * len(moved) < len(d):
                self._scores[:, moved] += np.outer(self.inputs.K[i], d[moved])
            else:
                self._scores += np.outer(self.inputs.K[i], d)
            return
        Z, p = self.inputs.Z, self.inputs.Z.shape[1]
        if hasattr(Z, "indptr"):
            row = slice(Z.indptr[i], Z.indptr[i + 1])
            self.W[Z.indices[row]] += np.outer(Z.data[row], d)
        else:
            self.W[:p] += np.outer(Z[i], d)
        if self.inputs.intercept:
            self.W[p] += d

    def _move(self, i, v, rule, fixed):
        """The move of a row's mean."""
        q, mu = self._squares[i] * self._steps[i], self.means.mu[i]
        out = self._target(self.means, i, v, q if rule == BEST else 0.0)
        if rule == BEST and q > 0.0:
            return out - mu
        d, gamma = out - mu, fixed
        if rule != FIXED:
            found, reached = np.empty((2, 2))
            pair, both = np.array([v, v]), np.array([out, mu])
            self._bounds(*self._parts(), pair, both, both, found, reached)
            gain, bend = reached[0] - reached[1], q * (d @ d)
            gamma = 0.0 if gain <= 0.0 else 1.0 if gain >= bend else gain / bend
        return gamma * d

    def _parts(self):
        return self._oracle, self.problem.max_min, self.problem.loss

    def _target(self, means, i, v, q):
        """Where a row's mean goes to, and its vertices kept."""
        dim = len(v)
        columns, p = np.zeros((VERTICES, dim)), np.zeros(VERTICES)
        rows, x = np.zeros((VERTICES, dim)), np.zeros(VERTICES)
        (old, weights), (known, shares) = means.columns[i], means.rows[i]
        count, many = 1 + len(old), len(known) if self.problem.max_min else 0
        columns[1:count], p[1:count] = old, weights
        rows[:many], x[:many] = known[:many], shares[:many]
        sides = (columns, p, count, rows, x, many, means.nu[i])
        given = (*self._parts(), self.problem.slack, v, q, means.mu[i])
        out, count, many = self._visit(*given, *sides)
        means.columns[i] = columns[1:count].copy(), p[1:count].copy()
        means.rows[i] = rows[:many].copy(), x[:many].copy()
        return out

    def _heights(self, V, means, which):
        """Upper bounds on max H of some rows, by their ν, and H at their μ."""
        bounds, reached = np.empty((2, len(which)))
        given = (np.ascontiguousarray(V[which]), means.mu[which], means.nu[which])
        self._bounds(*self._parts(), *given, bounds, reached)
        return bounds, reached

    def _play(self, V, bounds, reached, part):
        """Upper bounds on max H, moved to what is reached by playing the games of rows."""
        games, lower, left = self._games, reached.copy(), self.counted
        slack, apart = self.problem.slack, np.inf
        for turn in range(games_of(part) if self.problem.max_min else 0):
            for i in left if turn > 0 else ():
                games.mu[i] = self._target(games, i, V[i], 0.0)
            upper, found = self._heights(V, games, left)
            bounds[left] = np.minimum(bounds[left], upper)
            lower[left] = np.maximum(lower[left], found)
            left = left[not_told(bounds, lower, reached, slack, part, apart)[left]]
            apart = bounds - lower
            if len(left) == 0:
                break
        return bounds

    def certificate(self, part=0.0):
        """The objective and the gap, as for rows."""
        p, V, share = self.problem, self.scores(), self.inputs.share
        augmented = V + p.ell
        bounds, reached = self._heights(augmented, self.means, np.arange(len(V)))
        bounds = np.maximum(self._play(augmented, bounds, reached, part), reached)
        losses = bounds + p.constant - np.einsum("nk,nk->n", V, p.vertices)
        norm = share @ np.einsum("nk,nk->n", V, p.vertices - self.means.mu)
        return share @ losses + 0.5 * norm, share @ (bounds - reached)

    def found(self):
        """What the fit came to."""
        return Found(self.dual(), self.W.copy() if self.inputs.K is None else None)
