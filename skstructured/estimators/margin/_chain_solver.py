"""Block-coordinate ascent over label sequences."""

from typing import NamedTuple

import numpy as np

from skstructured._engine.rows import Rows
from skstructured.estimators.margin._chain_game import COLUMNS
from skstructured.estimators.margin._chain_passes import chain_bounds, chain_games, chain_pass
from skstructured.estimators.margin._features import check_size
from skstructured.estimators.margin._inputs import Found, with_weights
from skstructured.estimators.margin._solver import games_of, not_told, start_of, weights_of


class ChainProblem(NamedTuple):
    """What is learned of label sequences.

    Attributes
    ----------
    codes : ndarray of shape (N,)
        Labels of all positions.
    A : ndarray of shape (k, k)
        Costs [predicted, true] of a position; the loss is their mean.
    max_min : bool
        Whether it is the max-min network, or the structural SVM.
    alpha, slack : float
        α, and what a sequence may leave of its gap.
    cache_size : float
        MiB that kernels within sequences may take.
    """

    codes: np.ndarray
    A: np.ndarray
    max_min: bool
    alpha: float
    slack: float
    cache_size: float


class ChainMeans(NamedTuple):
    """Marginals of positions mu (N, k), sums of those of steps (n, k, k), and what makes them up.

    `kept` are label sequences (COLUMNS, N), their weights (n, COLUMNS) and numbers (n,), and
    mixtures of predictions ν (N, k).
    """

    mu: np.ndarray
    sums: np.ndarray
    kept: tuple
    offsets: np.ndarray

    def copy(self):
        """Another that is moved by itself."""
        kept = tuple(a.copy() for a in self.kept)
        return ChainMeans(self.mu.copy(), self.sums.copy(), kept, self.offsets)

    @property
    def shape(self):
        """Of the marginals of positions."""
        return self.mu.shape


class ChainAscent:
    """Marginals of sequences, and the weights or the scores that follow their moves."""

    def __init__(self, problem, inputs):
        self.problem, self.inputs = problem, inputs
        self.counted = np.flatnonzero(inputs.share > 0.0)
        lengths, k = np.diff(inputs.offsets), len(problem.A)
        self._lengths, self._truth = lengths, np.eye(k)[problem.codes]
        self._rows = Rows.from_array(inputs.Z).arrays
        ell = np.zeros((0, k))
        if not problem.max_min:
            ell = problem.A.T[problem.codes] / np.repeat(lengths, lengths)[:, None]
        self._costs = (problem.max_min, problem.A, ell, problem.slack)
        self._chains = (inputs.offsets, *self._blocks())

    def _blocks(self):
        """Kernels of positions within sequences, and where those of each begin."""
        sizes = self._lengths**2
        check_size("kernels within sequences", int(sizes.sum()), self.problem.cache_size)
        begins, blocks = np.r_[0, np.cumsum(sizes)], np.empty(int(sizes.sum()))
        Z, K, offsets, _, intercept = self.inputs
        for i in range(len(self._lengths)):
            rows = slice(offsets[i], offsets[i + 1])
            block = Z[rows] @ Z[rows].T if K is None else K[rows, rows]
            block = block.toarray() if hasattr(block, "toarray") else block
            blocks[begins[i] : begins[i + 1]] = np.ravel(block)
            if K is None:
                blocks[begins[i] : begins[i + 1]] += float(intercept)
        return blocks, begins

    def begin(self, before):
        """Means at the true labels, or those of a fit before; a ValueError where those differ."""
        codes, k = self.problem.codes, len(self.problem.A)
        self._true_sums = self._sums_of(codes, k)
        self.means = start_of(before, self._truth.shape)
        if self.means is not None and not np.array_equal(self.means.offsets, self.inputs.offsets):
            raise ValueError(
                "warm_start=True goes on from the means of the same sequences, but those of the "
                "last fit had other lengths."
            )
        self._games = self._at_truth()
        if self.means is None:
            self.means = self._at_truth()
        self.refresh()

    def _at_truth(self):
        """Means at the true labels."""
        codes = self.problem.codes
        labels = np.zeros((COLUMNS, len(codes)), dtype=np.int16)
        labels[0] = codes
        weights = np.zeros((len(self._lengths), COLUMNS))
        weights[:, 0] = 1.0
        counts = np.ones(len(weights), dtype=np.int64)
        kept, offsets = (labels, weights, counts, self._truth.copy()), self.inputs.offsets
        return ChainMeans(self._truth.copy(), self._true_sums.copy(), kept, offsets)

    def _sums_of(self, codes, k):
        """How often one label follows another in each sequence."""
        sums, offsets = np.zeros((len(self._lengths), k, k)), self.inputs.offsets
        inside = np.ones(len(codes), dtype=bool)
        inside[offsets[1:] - 1] = False
        at, owner = np.flatnonzero(inside), np.repeat(np.arange(len(sums)), self._lengths)
        np.add.at(sums, (owner[at], codes[at], codes[at + 1]), 1.0)
        return sums

    def to_go_on(self):
        """What a fit of the same sequences may begin with."""
        return self.means

    def dual(self):
        """Coefficients (N, k) of positions."""
        steps = self.inputs.share / self.problem.alpha
        return (self._truth - self.means.mu) * np.repeat(steps, self._lengths)[:, None]

    def refresh(self):
        """Weights or scores anew."""
        D, offsets = self.dual(), self.inputs.offsets
        steps = self.inputs.share / self.problem.alpha
        self.ends = np.array([D[offsets[:-1]].sum(axis=0), D[offsets[1:] - 1].sum(axis=0)])
        self.T = np.einsum("n,nij->ij", steps, self._true_sums - self.means.sums)[None]
        self.W = self._scores = np.zeros((1, 1))
        if self.inputs.K is None:
            self.W = weights_of(self.inputs, D)
        else:
            self._scores = np.ascontiguousarray((self.inputs.K @ D).T)

    def run(self, order, clock, rule):
        """One pass."""
        K, p = self.inputs.K, self.problem
        inputs = (self._rows, np.zeros((0, 0)) if K is None else K)
        learned = (self._scores, self.W, self.ends, self.T)
        steps, means = self.inputs.share / p.alpha, (self.means.mu, self.means.sums)
        rest = (self._costs, steps, means, self.means.kept)
        chain_pass(inputs, learned, self._chains, order, clock, rule, *rest)

    def scores(self):
        """Scores of positions by themselves, (N, k)."""
        if self.inputs.K is None:
            return with_weights(self.inputs.Z, self.W)
        return np.ascontiguousarray(self._scores.T)

    def _reached(self, V, means):
        """Upper bounds on max H of every sequence, by its ν, and H at its means."""
        bounds, reached = np.empty((2, self.inputs.n))
        args = (self._chains[0], self._costs, V, self.ends, self.T, (means.mu, means.sums))
        chain_bounds(*args, means.kept[3], bounds, reached)
        return bounds, reached

    def _play(self, V, bounds, reached, part):
        """Upper bounds on max H, moved to what is reached by playing the games of sequences."""
        games, left, lower, apart = self._games, self.counted, reached, np.inf
        slack = self.problem.slack
        for turn in range(games_of(part) if self.problem.max_min else 0):
            if turn > 0:
                args = (self._costs, V, self.ends, self.T, (games.mu, games.sums), games.kept)
                chain_games(self._chains, left, *args)
            upper, found = self._reached(V, games)
            bounds, lower = np.minimum(bounds, upper), np.maximum(lower, found)
            left = left[not_told(bounds, lower, reached, slack, part, apart)[left]]
            apart = bounds - lower
            if len(left) == 0:
                break
        return bounds

    def certificate(self, part=0.0):
        """The objective and the gap, as for rows."""
        V, (mu, sums, _, _), share = self.scores(), self.means, self.inputs.share
        bounds, reached = self._reached(V, self.means)
        bounds = np.maximum(self._play(V, bounds, reached, part), reached)
        offsets = self.inputs.offsets
        d = self._truth - mu
        owned = np.add.reduceat(np.einsum("nk,nk->n", V, d), offsets[:-1])
        owned += d[offsets[:-1]] @ self.ends[0] + d[offsets[1:] - 1] @ self.ends[1]
        owned += np.einsum("nij,ij->n", self._true_sums - sums, self.T[0])
        # bounds are of H at any mean, <v, y> = <v, μ> + owned
        if self.problem.max_min:
            height = self._heights(mu)
        else:
            height = np.add.reduceat(np.einsum("nk,nk->n", self._costs[2], mu), offsets[:-1])
        losses = bounds - (reached - height) - owned
        return share @ losses + 0.5 * (share @ owned), share @ (bounds - reached)

    def _heights(self, mu):
        """h of every sequence."""
        least = (mu @ self.problem.A.T).min(axis=1)
        return np.add.reduceat(least, self.inputs.offsets[:-1]) / self._lengths

    def found(self):
        """What the fit came to."""
        W = self.W.copy() if self.inputs.K is None else None
        return Found(self.dual(), W, (self.ends.copy(), self.T[0].copy()))
