"""Blocks of the dual: the means of outputs, and the weights or scores that follow their moves."""

import functools
import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from skstructured._engine.compiled import is_compiled
from skstructured._engine.rows import Rows
from skstructured.estimators.margin._atoms import (
    bend,
    bounds,
    bounds_in_python,
    oracle_address,
    visit,
    visit_in_python,
)
from skstructured.estimators.margin._chains import (
    COLUMNS,
    chain_bounds,
    chain_games,
    chain_pass,
    move_point,
)
from skstructured.estimators.margin._features import Found, check_size, weights_of, with_weights
from skstructured.estimators.margin._passes import (
    BEST,
    FIXED,
    chord_step,
    follow,
    read_scores,
    row_pass,
    shrink,
    upper_bounds,
)


class Means(NamedTuple):
    """Means of blocks and what makes them up.

    Attributes
    ----------
    point : tuple
        μ (N, dim) of rows or positions; of sequences the sums of steps (n, k, k) too.
    parts : tuple of arrays, or lists with one entry per block
        The mixtures of outputs that `point` is known to be.
    """

    point: tuple
    parts: tuple = ()

    @property
    def mu(self):
        """μ of rows or positions."""
        return self.point[0]

    def copy(self):
        """Another that is moved by itself."""
        return Means(*(tuple(part.copy() for part in parts) for parts in self))


class Blocks(ABC):
    r"""Blocks of the dual of ``min_w Σ share_i S(g_w(x_i), y_i) + (α/2)‖w‖²``, one per output.

    Parameters
    ----------
    inputs : Inputs
        Rows or sequences.
    alpha : float
        α.
    truth : tuple
        φ(y) as `Means.point` has it.
    constant : ndarray of shape (n,) or float
        What is added to h of a block.
    """

    #: Whether max H is a game whose bounds are moved by `visit`, to what may be off by `slack`.
    plays, slack = False, 0.0

    def __init__(self, inputs, alpha, truth, constant=0.0):
        self.inputs, self.truth, self.constant = inputs, truth, constant
        self.counted = np.flatnonzero(inputs.share > 0.0)
        self.steps = inputs.share / alpha
        self._rows = Rows.from_array(inputs.Z if inputs.K is None else np.zeros((0, 0))).arrays

    @abstractmethod
    def move(self, order, fixed, rule):
        """Visits to the blocks in `order`; `fixed` are the steps of the rule FIXED."""

    def at(self, i):
        """Where the means of block i are in each array of `Means.point`."""
        return (i,)

    def scores_at(self, i):
        """Scores of block i, as learned so far."""
        v = np.empty(self.truth[0].shape[1])
        read_scores(self._learned, i, v)
        return v

    def bend(self, i, d):
        """How the dual bends along a move of block i."""
        return self.squares[i] * self.steps[i] * (d @ d)

    def shift(self, i, d):
        """Move the mean of block i by d, and what is learned with it."""
        self.means.mu[i] += d
        follow(self._learned, i, d, self.steps[i])

    @functools.cached_property
    def squares(self):
        """k(x, x) of rows."""
        return self.inputs.squares()

    @abstractmethod
    def bound(self, V, means, which):
        """Upper bounds on max H of some blocks at the scores V (N, dim), and H at their means."""

    def at_truth(self):
        """`Means` at φ(y)."""
        return Means(tuple(part.copy() for part in self.truth))

    def begin(self, before):
        """Means at φ(y), or those of a fit before; a ValueError where those do not fit."""
        shape = self.truth[0].shape
        if before is not None and before.mu.shape != shape:
            raise ValueError(
                "warm_start=True goes on from the means of the same rows and classes, but the last "
                f"fit had means of shape {before.mu.shape}, and these are of shape {shape}."
            )
        self.means = self.at_truth() if before is None else before.copy()
        if self.plays:
            self.games = self.at_truth()
        self.refresh()

    def moved(self):
        """φ(y) − μ, as `Means.point`."""
        return tuple(y - mu for y, mu in zip(self.truth, self.means.point, strict=True))

    def dual(self):
        """Coefficients (N, dim)."""
        return self.moved()[0] * self.inputs.of_rows(self.steps)[:, None]

    def refresh(self):
        """Weights or scores anew."""
        D, K = self.dual(), self.inputs.K
        if K is None:
            self._learned = self._rows, np.zeros((0, 0)), weights_of(self.inputs, D), D[:0]
        else:
            self._learned = self._rows, K, D[:0], np.ascontiguousarray((K @ D).T)

    def scores(self):
        """Scores (N, dim) of rows, or of positions by themselves."""
        _, _, W, scores = self._learned
        if self.inputs.K is None:
            return with_weights(self.inputs.Z, W)
        return np.ascontiguousarray(scores.T)

    def inner(self, V, mu):
        """<v, μ> of each block."""
        return np.einsum("nk,nk->n", V, mu)

    def found(self):
        """The result of the fit."""
        return Found(self.dual(), None if self.inputs.K is not None else self._learned[2].copy())


class ClosedBlocks(Blocks):
    """Rows whose oracles, and mostly blocks too, have a closed form.

    Parameters
    ----------
    costs : tuple
        As `costs_of` makes them.
    """

    def __init__(self, inputs, alpha, vertices, constant, costs):
        super().__init__(inputs, alpha, (vertices,), constant)
        self._costs = costs

    def move(self, order, fixed, rule):
        """Visits in a compiled loop."""
        given = (self._costs, self.steps, self.means.mu)
        row_pass(self._learned, self.squares, order, fixed, rule, *given)

    def bound(self, V, means, which):
        """Bounds of all rows."""
        bounds, reached = np.empty((2, len(V)))
        upper_bounds(self._costs, V, means.mu, bounds, reached)
        return bounds, reached


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
        self._ell, self.loss, self._oracle = ell, loss, oracle_address(oracle)
        self._game = self._oracle, max_min, 0, loss
        compiled = is_compiled(oracle)
        self._visit = visit if compiled else visit_in_python
        self._bounds = bounds if compiled else bounds_in_python

    def at_truth(self):
        """Means at φ(y_i); parts are ν (n, dim), and each row's vertices and weights of both."""
        V, one = self.truth[0], np.ones(1)
        places = [(vertex[None].copy(), one) for vertex in V]
        rows = places if self.plays else [(vertex[None][:0], one[:0]) for vertex in V]
        return Means((V.copy(),), (V.copy(), places, list(rows)))

    def move(self, order, fixed, rule):
        """Visits, one by one."""
        for i, step in zip(order, fixed, strict=True):
            v, mu = self.scores_at(i) + self._ell[i], self.means.mu[i]
            exact = rule == BEST and self.squares[i] > 0.0
            out = self._target(self.means, i, v, self.squares[i] * self.steps[i] * (rule == BEST))
            d, gamma = out - mu, 1.0 if exact else step
            if rule != FIXED and not exact:
                both, pair = np.array([out, mu]), np.array([v, v])
                reached = self._bounds(*self._game, pair, both, both)[1]
                gamma = chord_step(reached[0] - reached[1], self.bend(i, d))
            if shrink(gamma, d):
                self.shift(i, d)

    def _target(self, means, i, v, q):
        """Where a row's mean goes to, and its vertices kept."""
        nu, columns, rows = means.parts
        given = self._oracle, self.plays, self.slack, (0, self.loss, q, ONE), v, means.mu[i]
        out, columns[i], rows[i] = self._visit(*given, columns[i], rows[i], nu[i])
        return out

    def bound(self, V, means, which):
        """Bounds by the ν of rows."""
        V, nu = V[which] + self._ell[which], means.parts[0][which]
        return self._bounds(*self._game, V, means.mu[which], nu)

    def visit(self, V, means, which):
        """Move the means of some rows to the games ``max_μ H``, nearly."""
        for i in which:
            means.mu[i] = self._target(means, i, V[i], 0.0)


#: The kernels within a row.
ONE = np.ones((1, 1))


class ChainBlocks(Blocks):
    """Marginals of sequences: of positions (N, k), and sums (n, k, k) of those of steps.

    Parameters
    ----------
    inputs, alpha
        As of all `Blocks`.
    codes : ndarray of shape (N,)
        Labels of all positions.
    A : ndarray of shape (k, k)
        Costs [predicted, true] of a position; the loss is their mean.
    max_min : bool
        Whether it is the max-min network, or the structural SVM.
    slack : float
        What a sequence may leave of its gap.
    cache_size : float
        MiB that kernels within sequences may take.
    """

    def __init__(self, inputs, alpha, codes, A, max_min, slack, cache_size):
        k, lengths = len(A), np.diff(inputs.offsets)
        self._first, self._last = inputs.offsets[:-1], inputs.offsets[1:] - 1
        super().__init__(inputs, alpha, (np.eye(k)[codes], self._steps_of(codes, k)))
        self.plays, self.slack, self._codes = max_min, slack, codes
        ell = np.zeros((0, k))
        if not max_min:
            ell = A.T[codes] / np.repeat(lengths, lengths)[:, None]
        self._costs = (max_min, A, ell, slack)
        self._chains = (inputs.offsets, *kernels_within(inputs, cache_size))

    def _steps_of(self, codes, k):
        """How often one label follows another in each sequence."""
        sums = np.zeros((len(self._last), k, k))
        inside = np.ones(len(codes), dtype=bool)
        inside[self._last] = False
        at, owner = (
            np.flatnonzero(inside),
            np.repeat(np.arange(len(sums)), self._last - self._first + 1),
        )
        np.add.at(sums, (owner[at], codes[at], codes[at + 1]), 1.0)
        return sums

    def at_truth(self):
        """Means at the true labels.

        Parts are label sequences (COLUMNS, N), their weights (n, COLUMNS) and numbers (n,), the
        mixtures of predictions ν (N, k), and the offsets of sequences.
        """
        labels = np.zeros((COLUMNS, len(self._codes)), dtype=np.int16)
        labels[0] = self._codes
        weights = np.zeros((len(self._last), COLUMNS))
        weights[:, 0] = 1.0
        counts, nu = np.ones(len(weights), dtype=np.int64), self.truth[0].copy()
        return super().at_truth()._replace(parts=(labels, weights, counts, nu, self.inputs.offsets))

    def begin(self, before):
        """Means at φ(y), or those of a fit before; a ValueError where lengths differ."""
        super().begin(before)
        if not np.array_equal(self.means.parts[-1], self.inputs.offsets):
            raise ValueError(
                "warm_start=True goes on from the means of the same sequences, but those of the "
                "last fit had other lengths."
            )

    def refresh(self):
        """Weights or scores anew, and the weights of first and last labels and of steps."""
        super().refresh()
        D = self.dual()
        self._ends = np.array([D[self._first].sum(axis=0), D[self._last].sum(axis=0)])
        self._T = np.einsum("n,nij->ij", self.steps, self.moved()[1])[None]

    def move(self, order, fixed, rule):
        """Visits in a compiled loop."""
        learned, means = (self._learned, self._ends, self._T), self.means
        given = (self._costs, self.steps, means.point, means.parts[:-1])
        chain_pass(learned, self._chains, order, fixed, rule, *given)

    def at(self, i):
        """Positions, and the sequence."""
        return slice(*self.inputs.offsets[i : i + 2]), i

    def scores_at(self, i):
        """Scores of positions, with those of ends, and of steps."""
        rows = range(*self.inputs.offsets[i : i + 2])
        u = np.array([super(ChainBlocks, self).scores_at(m) for m in rows])
        u[0] += self._ends[0]
        u[-1] += self._ends[1]
        return u, self._T

    def bend(self, i, d, dsums):
        """How the dual bends along a move of a sequence."""
        blocks, begins = self._chains[1:]
        d, k = np.r_[d.ravel(), dsums.ravel()], len(dsums)
        bent, K = np.empty_like(d), blocks[begins[i] : begins[i + 1]]
        bend(k, self.steps[i], K.reshape(2 * (math.isqrt(len(K)),)), d, bent)
        return bent @ d

    def shift(self, i, d, dsums):
        """Move the means of a sequence, and what is learned with them."""
        (rows, _), step, (mu, sums) = self.at(i), self.steps[i], self.means.point
        move = np.r_[d.ravel(), dsums.ravel()]
        move_point(move, step, mu[rows], sums[i], self._ends, self._T)
        for m, row in enumerate(d, rows.start):
            follow(self._learned, m, row, step)

    def bound(self, V, means, which):
        """Bounds by the ν of sequences."""
        found, scores = np.empty((2, len(which))), (V, self._ends, self._T)
        given = (which, self._costs, *scores, means.point, means.parts[3])
        chain_bounds(self._chains, *given, found)
        return found

    def visit(self, V, means, which):
        """Move the means of some sequences to the games ``max_μ H``, nearly."""
        scores = (V, self._ends, self._T)
        chain_games(self._chains, which, self._costs, *scores, means.point, means.parts[:-1])

    def inner(self, V, mu, sums):
        """<v, μ> of each sequence, with first and last labels and steps."""
        own = np.add.reduceat(np.einsum("nk,nk->n", V, mu), self._first)
        own += mu[self._first] @ self._ends[0] + mu[self._last] @ self._ends[1]
        return own + np.einsum("nij,ij->n", sums, self._T[0])

    def found(self):
        """The result of the fit."""
        return super().found()._replace(edges=(self._ends.copy(), self._T[0].copy()))


def kernels_within(inputs, cache_size):
    """Kernels of positions within sequences, one after the other, and where those of each begin."""
    Z, K, offsets, _, intercept = inputs
    sizes = np.diff(offsets) ** 2
    check_size("kernels within sequences", int(sizes.sum()), cache_size)
    begins, blocks = np.r_[0, np.cumsum(sizes)], np.empty(int(sizes.sum()))
    for i in range(len(sizes)):
        rows = slice(offsets[i], offsets[i + 1])
        block = Z[rows] @ Z[rows].T if K is None else K[rows, rows]
        block = block.toarray() if hasattr(block, "toarray") else block
        blocks[begins[i] : begins[i + 1]] = np.ravel(block)
        if K is None:
            blocks[begins[i] : begins[i + 1]] += float(intercept)
    return blocks, begins
