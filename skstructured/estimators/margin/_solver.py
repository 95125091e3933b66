"""Block-coordinate ascent to a duality gap: over a matrix of kernels, or over rows."""

from typing import NamedTuple

import numpy as np

from skstructured._engine.rows import Rows
from skstructured.estimators.margin._inputs import Found, with_weights
from skstructured.estimators.margin._oracles import GAME
from skstructured.estimators.margin._passes import (
    BEST,
    FIXED,
    SEARCH,
    gram_pass,
    rows_pass,
    upper_bounds,
)

#: Scores that follow the moves are computed anew after so many passes.
REFRESH = 10

#: Most visits to a max-min game, in passes before the last and in the last; and what is rounding.
FEW_GAMES, GAMES, ROUNDING = 1, 20, 1e-12

#: A game is left where a visit does not take the distance of its bounds down to this part.
PROGRESS = 0.9

#: Part of a row's gap by which its loss may be off in passes before the last.
PART = 0.1


def rule_of(solver, line_search):
    """How blocks move: all the way to their best, or as Frank and Wolfe have it."""
    if not line_search:
        return FIXED
    return BEST if solver == "auto" else SEARCH


class Problem(NamedTuple):
    """``min_w Σ share_i S(g_w(x_i), y_i) + (α/2)‖w‖²`` as its dual is solved.

    Attributes
    ----------
    kind : int
        The oracle.
    A : ndarray
        Its costs.
    C, codes, constant : ndarray
        Costs c(y), which of them is that of a row, and what is added to h of a row.
    vertices : ndarray of shape (n, dim)
        φ(y_i).
    share : ndarray of shape (n,)
        Weights of rows, of sum 1: 1/n each where none are given.
    alpha : float
        α.
    """

    kind: int
    A: np.ndarray
    C: np.ndarray
    codes: np.ndarray
    constant: np.ndarray
    vertices: np.ndarray
    share: np.ndarray
    alpha: float

    @property
    def steps(self):
        """What a move of a row's mean takes off w, share_i/α."""
        return self.share / self.alpha

    def memory(self):
        """Scratch of oracles."""
        most = self.vertices.shape[1] if self.kind == GAME else 1
        return np.empty((most + 1, 2 * most + 1)), np.empty(most)

    def certificate(self, V, mu, kept):
        r"""The objective and the gap ``Σ share_i (max_μ H_i(μ) − H_i(μ_i))``, both at most.

        The oracles' upper bounds make it one of suboptimality whether they are exact or not. As
        ``α‖w‖² = Σ share_i <v_i, φ(y_i) − μ_i>``, it is the objective less the dual one.
        """
        bounds, reached = np.empty((2, len(mu)))
        args = (self.kind, self.A, self.C, self.codes, np.ascontiguousarray(V), mu)
        upper_bounds(*args, bounds, reached, kept)
        losses = bounds + self.constant - np.einsum("nk,nk->n", V, self.vertices)
        norm = self.share @ np.einsum("nk,nk->n", V, self.vertices - mu)
        return self.share @ losses + 0.5 * norm, self.share @ (bounds - reached)


def games_of(part):
    """How often bounds of games are computed, before the first visit and after each."""
    return 1 + (FEW_GAMES if part > 0.0 else GAMES)


def not_told(bounds, lower, reached, slack, part, before):
    """Which games are to be visited: bounds apart, and nearer than `before` the last visit.

    Upper bounds may be too large by `slack`, and by a `part` of the gap from what is `reached`.
    """
    room = np.maximum(part * (bounds - reached), slack)
    apart = bounds - lower
    return (apart > np.maximum(room, ROUNDING * (1.0 + np.abs(bounds)))) & (
        apart <= PROGRESS * before
    )


def start_of(before, shape):
    """A copy of the means of a fit before, if any; a ValueError where their shape is another."""
    if before is not None and before.shape != shape:
        raise ValueError(
            "warm_start=True goes on from the means of the same rows and classes, but the last "
            f"fit had means of shape {before.shape}, and these are of shape {shape}."
        )
    return None if before is None else before.copy()


class Ascent:
    """Means μ of rows, and scores that follow their moves."""

    def __init__(self, problem):
        self.problem, self.counted = problem, np.flatnonzero(problem.share > 0.0)

    def begin(self, before):
        """Means at φ(y_i), or those of a fit before; a ValueError where those do not fit."""
        vertices = self.problem.vertices
        found = start_of(before, vertices.shape)
        self.mu = vertices.copy() if found is None else found
        self.kept = self.problem.memory()
        self.refresh()

    def to_go_on(self):
        """What a fit of the same rows may begin with."""
        return self.mu

    def dual(self):
        """Coefficients (n, dim)."""
        return (self.problem.vertices - self.mu) * self.problem.steps[:, None]

    def certificate(self, part=0.0):
        """The objective and the gap; a `part` of it where that is quicker to tell."""
        return self.problem.certificate(self.scores(), self.mu, self.kept)


class GramAscent(Ascent):
    """Scores of all rows, which follow the moves by a matrix of kernels (n, n)."""

    def __init__(self, problem, inputs):
        super().__init__(problem)
        self.K = inputs.K

    def refresh(self):
        """Scores anew."""
        self._scores = np.ascontiguousarray((self.K @ self.dual()).T)

    def run(self, order, clock, rule):
        """One pass."""
        p = self.problem
        args = (clock, rule, p.kind, p.A, p.C, p.codes, p.steps, self.mu, self._scores, self.kept)
        gram_pass(self.K, order, *args)

    def scores(self):
        """Scores (n, dim)."""
        return self._scores.T

    def found(self):
        """What the fit came to."""
        return Found(self.dual(), None)


class RowAscent(Ascent):
    """Weights (p + intercept, dim), which follow the moves by rows of X."""

    def __init__(self, problem, inputs):
        super().__init__(problem)
        self.inputs, self._rows = inputs, Rows.from_array(inputs.Z).arrays
        self._squares = squares_of(inputs.Z, inputs.intercept)

    def refresh(self):
        """Weights anew."""
        self.W = weights_of(self.inputs, self.dual())

    def run(self, order, clock, rule):
        """One pass."""
        p = self.problem
        args = (clock, rule, p.kind, p.A, p.C, p.codes, p.steps, self.mu, self.W, self.kept)
        rows_pass(self._rows, self._squares, order, *args)

    def scores(self):
        """Scores (n, dim)."""
        return with_weights(self.inputs.Z, self.W)

    def found(self):
        """What the fit came to."""
        return Found(self.dual(), self.W)


def squares_of(Z, intercept):
    """k(x, x) of rows, for the linear kernel."""
    squares = Z.multiply(Z).sum(axis=1) if hasattr(Z, "indptr") else (Z * Z).sum(axis=1)
    return np.asarray(squares, dtype=np.float64).ravel() + float(intercept)


def weights_of(inputs, dual):
    """Weights (p + intercept, dim) of coefficients."""
    W = np.asarray(inputs.Z.T @ dual)
    return np.ascontiguousarray(np.vstack([W, dual.sum(axis=0)]) if inputs.intercept else W)


class Trace(NamedTuple):
    """What is left of a run: the objective and the gap after each pass."""

    losses: list
    gaps: list


def ascend(state, rule, max_iter, tol, rng, verbose=0):
    """Passes in random order until the duality gap is at most `tol`; their `Trace`.

    The gap is computed after each pass, of scores that were computed anew where it is the last.
    """
    trace, n = Trace([], []), len(state.counted)
    for t in range(max_iter):
        state.run(state.counted[rng.permutation(n)], t * n, rule)
        if t % REFRESH == REFRESH - 1:
            state.refresh()
        loss, gap = state.certificate(PART)
        if gap <= tol or t == max_iter - 1:
            state.refresh()
            loss, gap = state.certificate()
        trace.losses.append(float(loss))
        trace.gaps.append(float(gap))
        if verbose:
            print(f"pass {t + 1}: objective {loss:.6g}, duality gap {gap:.3g}")
        if gap <= tol:
            break
    return trace
