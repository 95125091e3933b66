"""Blocks of label sequences."""

import numpy as np

from skstructured.estimators.margin._blocks import Blocks
from skstructured.estimators.margin._chain_game import COLUMNS
from skstructured.estimators.margin._chain_passes import (
    chain_bounds,
    chain_games,
    chain_pass,
    move_edges,
)
from skstructured.estimators.margin._chain_points import square
from skstructured.estimators.margin._features import check_size
from skstructured.estimators.margin._learned import follow


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
        smoothed = blocks[begins[i] : begins[i + 1]].reshape(len(d), len(d)) @ d
        return self.steps[i] * square(smoothed, d, dsums)

    def shift(self, i, d, dsums):
        """Move the means of a sequence, and what is learned with them."""
        (rows, _), step, (mu, sums) = self.at(i), self.steps[i], self.means.point
        move_edges(mu[rows], sums[i], self._ends, self._T, step, d, dsums)
        for m, row in enumerate(d, rows.start):
            follow(self._learned, m, row, step)

    def bound(self, V, means, which):
        """Bounds by the ν of sequences."""
        bounds, reached = np.empty((2, len(which)))
        scores = (V, self._ends, self._T)
        given = (which, self._costs, *scores, means.point, means.parts[3])
        chain_bounds(self.inputs.offsets, *given, bounds, reached)
        return bounds, reached

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
