"""Block-coordinate ascent to a duality gap: over a matrix of kernels, or over rows."""

from typing import NamedTuple

import numpy as np

from skstructured._engine.rows import Rows
from skstructured.margin._matching import KEPT
from skstructured.margin._oracles import GAME, MATCHING
from skstructured.margin._passes import BEST, FIXED, SEARCH, gram_pass, rows_pass, upper_bounds

#: Scores that follow the moves are computed anew after so many passes.
REFRESH = 10


class Problem(NamedTuple):
    """``min_w (1/n) Σ S(g_w(x_i), y_i) + (α/2)‖w‖²`` as its dual is solved.

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
    alpha : float
        α.
    """

    kind: int
    A: np.ndarray
    C: np.ndarray
    codes: np.ndarray
    constant: np.ndarray
    vertices: np.ndarray
    alpha: float

    @property
    def strength(self):
        """λn."""
        return self.alpha * len(self.vertices)

    def rule(self, solver, line_search):
        """How blocks move: exactly where that has a closed form."""
        if not line_search:
            return FIXED
        return BEST if solver == "auto" else SEARCH

    def with_slack(self, slack):
        """The same, of which matchings may be known up to `slack`: the certificate has it."""
        if self.kind != MATCHING:
            return self
        return self._replace(A=np.array([[self.A[0, 0], slack]]))

    def memory(self):
        """What oracles keep: outputs of each row, and scratch."""
        n, dim = self.vertices.shape
        rows, m = (n, int(np.sqrt(dim) + 0.5)) if self.kind == MATCHING else (1, 1)
        most = KEPT + 1 if self.kind == MATCHING else dim if self.kind == GAME else 1
        places = np.zeros((rows, 2, KEPT + 1 if self.kind == MATCHING else 1, m), dtype=np.int16)
        counts = np.zeros((rows, 2), dtype=np.int64)
        return places, counts, np.empty((most + 1, 2 * most + 1)), np.empty(most)

    def certificate(self, V, mu, kept):
        r"""The objective and the gap ``(1/n) Σ max_μ H_i(μ) − H_i(μ_i)``, both at most.

        The oracles' upper bounds make it one of suboptimality whether they are exact or not. As
        ``α‖w‖² = (1/n) Σ <v_i, φ(y_i) − μ_i>``, it is the objective less the dual one.
        """
        n = len(mu)
        bounds, reached = np.empty(n), np.empty(n)
        args = (self.kind, self.A, self.C, self.codes, np.ascontiguousarray(V), mu)
        upper_bounds(*args, bounds, reached, kept)
        losses = bounds + self.constant - np.einsum("nk,nk->n", V, self.vertices)
        norm = np.einsum("nk,nk->", V, self.vertices - mu) / n
        return losses.mean() + 0.5 * norm, (bounds - reached).mean()


class GramAscent:
    """Scores of all rows, which follow the moves by a matrix of kernels (n, n)."""

    def __init__(self, problem, K):
        self.problem, self.K = problem, K

    def start(self, mu):
        """Begin at the means μ, which later moves change."""
        self.mu = mu
        self.refresh()

    def refresh(self):
        """Scores anew."""
        D = (self.problem.vertices - self.mu) / self.problem.strength
        self._scores = np.ascontiguousarray((self.K @ D).T)

    def run(self, order, clock, rule, kept):
        """One pass."""
        p = self.problem
        args = (clock, rule, p.kind, p.A, p.C, p.codes, p.strength, self.mu, self._scores, kept)
        gram_pass(self.K, order, *args)

    def scores(self):
        """Scores (n, dim)."""
        return self._scores.T


class RowAscent:
    """Weights (p + intercept, dim), which follow the moves by rows of X."""

    def __init__(self, problem, Z, intercept):
        self.problem, self.Z, self.intercept = problem, Z, intercept
        self._rows = Rows.from_array(Z).arrays
        squares = Z.multiply(Z).sum(axis=1) if hasattr(Z, "indptr") else (Z * Z).sum(axis=1)
        self._squares = np.asarray(squares, dtype=np.float64).ravel() + float(intercept)

    def start(self, mu):
        """Begin at the means μ, which later moves change."""
        self.mu = mu
        self.refresh()

    def refresh(self):
        """Weights anew."""
        D = (self.problem.vertices - self.mu) / self.problem.strength
        W = np.asarray(self.Z.T @ D)
        self.W = np.ascontiguousarray(np.vstack([W, D.sum(axis=0)]) if self.intercept else W)

    def run(self, order, clock, rule, kept):
        """One pass."""
        p = self.problem
        args = (clock, rule, p.kind, p.A, p.C, p.codes, p.strength, self.mu, self.W, kept)
        rows_pass(self._rows, self._squares, order, *args)

    def scores(self):
        """Scores (n, dim)."""
        V = np.asarray(self.Z @ self.W[: self.Z.shape[1]])
        return V + self.W[-1] if self.intercept else V


class Trace(NamedTuple):
    """What is left of a run: the objective and the gap after each pass."""

    losses: list
    gaps: list


def ascend(state, mu, rule, max_iter, tol, rng, verbose=0):
    """Passes in random order until the duality gap is at most `tol`; their `Trace`.

    The gap is computed after each pass, of scores that were computed anew where it is the last.
    """
    problem, trace = state.problem, Trace([], [])
    kept, n = problem.memory(), len(mu)
    state.start(mu)
    for t in range(max_iter):
        state.run(rng.permutation(n), t * n, rule, kept)
        if t % REFRESH == REFRESH - 1:
            state.refresh()
        loss, gap = problem.certificate(state.scores(), mu, kept)
        if gap <= tol or t == max_iter - 1:
            state.refresh()
            loss, gap = problem.certificate(state.scores(), mu, kept)
        trace.losses.append(float(loss))
        trace.gaps.append(float(gap))
        if verbose:
            print(f"pass {t + 1}: objective {loss:.6g}, duality gap {gap:.3g}")
        if gap <= tol:
            break
    return trace
