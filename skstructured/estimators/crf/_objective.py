"""Regularised mean losses of all rows or sequences, and their gradients in the weights."""

import itertools

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from skstructured._base.ragged import Ragged
from skstructured._chains import batch
from skstructured.estimators.crf._layout import Layout
from skstructured.estimators.crf._rows import BLOCK, block_bounds, part_of

#: Most numbers in gradients of single blocks, which are then summed in order.
MOST_NUMBERS = 1 << 24

__all__ = ["ChainObjective", "Layout", "Objective", "VectorObjective"]


class Objective:
    """``Σ_i c_i S(Θᵀ z_i, y_i) + (α/2)‖Θ‖²`` with weights c that sum to 1.

    Rows are cut into blocks which do not depend on `n_jobs`, and sums are made in their order: any
    number of threads gives the same bits.

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (N, p)
        Rows.
    offsets : ndarray of shape (n + 1,)
        Where outputs begin among the rows, one row each but for sequences.
    share : ndarray of shape (n,)
        c.
    alpha : float
        α.
    layout : Layout
        Where weights stand.
    n_jobs : int or None
        Threads.
    block : int, default=4096
        Rows of a block, at least.
    """

    def __init__(self, X, offsets, share, alpha, layout, n_jobs=None, block=BLOCK):
        self.X, self.offsets, self.share, self.alpha = X, offsets, share, alpha
        self.layout = layout
        self.threads = effective_n_jobs(n_jobs)
        bounds = block_bounds(offsets, min(block, BLOCK))
        self.blocks = [slice(*pair) for pair in itertools.pairwise(bounds)]
        self.rows = [slice(offsets[block.start], offsets[block.stop]) for block in self.blocks]
        self._parts = [part_of(X, rows.start, rows.stop) for rows in self.rows]
        self._gaps = np.empty((X.shape[0], layout.dim))
        self._by_block = len(self.blocks) * layout.width * layout.dim <= MOST_NUMBERS

    def __enter__(self):
        """Keep threads for many calls."""
        count = min(self.threads, len(self.blocks))
        self._pool = Parallel(count, backend="threading") if count > 1 else None
        if self._pool is not None:
            self._pool.__enter__()
        return self

    def __exit__(self, *error):
        if self._pool is not None:
            self._pool.__exit__(*error)

    def _map(self, function, *args):
        """What a function says of all blocks, in order: of as many at a time as are kept."""
        rest = (self.layout.shape[0] - self.layout.width) * self.layout.dim
        most, count = max(MOST_NUMBERS // max(rest, 1), self.threads), len(self.blocks)
        for first in range(0, count, most):
            every = range(first, min(first + most, count))
            if self._pool is None:
                yield from (function(i, *args) for i in every)
            else:
                yield from self._pool(delayed(function)(i, *args) for i in every)

    def scores(self, i, Theta):
        """Scores (rows, dim) of block i, without edges."""
        theta = self._parts[i] @ Theta[: self.layout.width]
        return theta + Theta[self.layout.width] if self.layout.intercept else theta

    def value_and_gradient(self, Theta):
        """The objective, and its gradient in Θ."""
        gradient, width, value = self.alpha * Theta, self.layout.width, 0.0
        for loss, features, rest in self._map(self._block, Theta):
            value += loss
            gradient[width:] += rest
            if features is not None:
                gradient[:width] += features
        if not self._by_block:
            gradient[:width] += self.X.T @ self._gaps
        return value + 0.5 * self.alpha * np.vdot(Theta, Theta), gradient

    def _block(self, i, Theta):
        """Weighted loss of a block, and its gradient: of features, or None, and of the rest."""
        gaps = self._gaps[self.rows[i]]
        loss, edges = self._losses(i, Theta, gaps)
        features = self._parts[i].T @ gaps if self._by_block else None
        constant = [gaps.sum(axis=0)[None]] if self.layout.intercept else []
        return loss, features, np.concatenate([*constant, edges])

    def gap(self, gradient):
        """‖∇‖²/(2α), the duality gap of the weights and the means at their scores."""
        return float(np.vdot(gradient, gradient)) / (2.0 * self.alpha)


class VectorObjective(Objective):
    """Objective of Fenchel–Young losses of vectors of scores.

    Parameters
    ----------
    loss : FenchelYoung
        Over a fitted space, of scale 1.
    packed : array
        Outputs.
    """

    def __init__(self, X, loss, packed, *rest, **options):
        super().__init__(X, np.arange(X.shape[0] + 1), *rest, **options)
        self.loss, self.packed = loss, packed

    def _losses(self, i, Theta, gaps):
        """The weighted loss of a block, whose gradients in scores are written; no edges."""
        V = self.loss.space.unpack(self.packed[self.blocks[i]])
        values, gradients = self.loss.value_and_gradient(self.scores(i, Theta), V)
        share = self.share[self.blocks[i]]
        np.multiply(gradients, share[:, None], out=gaps)
        return share @ values, np.empty((0, self.layout.dim))


class ChainObjective(Objective):
    """Objective of ``−ln p(y | x)`` of label sequences.

    Parameters
    ----------
    labels : Ragged
        Positions among the labels.
    """

    def __init__(self, X, labels, *rest, **options):
        super().__init__(X, labels.offsets, *rest, **options)
        self.labels = labels.values
        self._spread = np.repeat(self.share, np.diff(self.offsets))
        self.steps_of_truth = self._weighed_steps()

    def _weighed_steps(self):
        """Weighted counts (k, k) of steps from label to label."""
        y, counts = self.labels, np.zeros((self.layout.dim, self.layout.dim))
        inside = np.ones(len(y), dtype=bool)
        inside[self.offsets[1:] - 1] = False
        at = np.flatnonzero(inside)
        np.add.at(counts, (y[at], y[at + 1]), self._spread[at])
        return counts

    def chains(self, i, Theta):
        """Scores of the sequences of a block: unary, offsets, pair."""
        unary, offsets = self.scores(i, Theta), self._offsets(i)
        start, end, pair = self.layout.edges(Theta)
        unary[offsets[:-1]] += start
        unary[offsets[1:] - 1] += end
        return unary, offsets, pair[None]

    def _offsets(self, i):
        block = self.blocks[i]
        offsets = self.offsets[block.start : block.stop + 1]
        return offsets - offsets[0]

    def labels_of(self, i):
        """Positions among the labels of a block, `Ragged`."""
        return Ragged(self.labels[self.rows[i]], self._offsets(i))

    def _steps(self, i, chains, out):
        """log Z of a block, whose marginals are written, and the gradient of transitions."""
        share = self.share[self.blocks[i]]
        _, log_z, steps = batch.marginals(*chains, pairs="sum", weight=share, out=out)
        steps = steps - self.steps_of_truth if i == 0 else steps
        return log_z, steps[: self.layout.steps]

    def _losses(self, i, Theta, gaps):
        """The weighted loss of a block, whose gradients in scores are written, and edges'."""
        chains, rows, share = self.chains(i, Theta), self.rows[i], self.share[self.blocks[i]]
        offsets, y = chains[1], self.labels[rows]
        log_z, steps = self._steps(i, chains, gaps)
        losses = log_z - batch.score(*chains, y)
        gaps[np.arange(len(y)), y] -= 1.0
        gaps *= self._spread[rows, None]
        ends = gaps[offsets[:-1]].sum(axis=0), gaps[offsets[1:] - 1].sum(axis=0)
        return share @ losses, np.concatenate([np.array(ends), steps])
