"""Regularized mean losses of all rows or sequences, and their gradients in the weights."""

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import sparse

from skstructured import _chains
from skstructured._base.ragged import row_blocks
from skstructured._engine.compiled import FASTMATH, kernel
from skstructured.spaces.sequence import Chains


class Layout:
    """Layout of weights in Θ, with a row per feature (`width`) and a column per score (`dim`).

    Below features are the intercept, and for `chains` starts, ends and transitions from each label.
    """

    def __init__(self, width, dim, intercept, chains):
        self.width, self.dim = width, dim
        self.intercept, self.chains = int(intercept), bool(chains)
        self.first_edge = width + self.intercept
        self.shape = self.first_edge + self.chains * (2 + dim), dim

    def offset(self, Theta):
        """The intercept, (dim,)."""
        return Theta[self.width] if self.intercept else np.zeros(self.dim)

    def edges(self, Theta):
        """Starts (k,), ends (k,) and transitions (k, k), as views."""
        start = self.first_edge
        return Theta[start], Theta[start + 1], Theta[start + 2 :]

    def join(self, coef, intercept, edges=()):
        """Θ of coefficients (dim, p), intercepts (dim,) and edges."""
        blocks = [coef.T, intercept[None]] if self.intercept else [coef.T]
        return np.concatenate([*blocks, *map(np.atleast_2d, edges)])


def part_of(X, start, stop):
    """Rows from `start` to `stop` as a view."""
    if not sparse.issparse(X):
        return X[start:stop]
    first, last = X.indptr[start], X.indptr[stop]
    arrays = (X.data[first:last], X.indices[first:last], X.indptr[start : stop + 1] - first)
    return sparse.csr_matrix(arrays, shape=(stop - start, X.shape[1]), copy=False)


@kernel(fastmath=FASTMATH)
def add_transposed(data, indices, indptr, gaps, gradient):
    """gradient += X' gaps of CSR rows X: no other array is as large as the gradient."""
    for i in range(gaps.shape[0]):
        for position in range(indptr[i], indptr[i + 1]):
            x, row = data[position], indices[position]
            for j in range(gaps.shape[1]):
                gradient[row, j] += x * gaps[i, j]


class Objective:
    """``Σ_i c_i S(Θᵀ z_i, y_i) + (α/2)‖Θ‖² + Σ l1 |Θ|`` with weights c that sum to 1.

    Rows are cut into blocks, however many threads there are, and sums are made in their order: any
    number of threads, which is joblib's, gives the same bits. Outputs begin at the rows `offsets`
    (n + 1,), and have the shares c. α and l1 broadcast to the shape of Θ.
    """

    #: Rows of a block, at least: long enough for a thread to be worth its start.
    block_size = 4096

    #: Most numbers in gradients of single blocks, which are then summed in order.
    most_numbers = 1 << 21

    def __init__(self, X, offsets, share, alpha, layout, l1=None):
        self.X, self.offsets, self.share, self.alpha = X, offsets, share, alpha
        self.layout, self.l1 = layout, l1
        self.threads = effective_n_jobs(None)
        self.blocks = row_blocks(offsets, self.block_size)
        self.rows = [slice(offsets[block.start], offsets[block.stop]) for block in self.blocks]
        self._parts = [part_of(X, rows.start, rows.stop) for rows in self.rows]
        self._gaps = np.empty((X.shape[0], layout.dim))
        self._by_block = len(self.blocks) * layout.width * layout.dim <= self.most_numbers

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
        """Values of a function for all blocks, in order, of as many at a time as are kept."""
        n_other_weights = (self.layout.shape[0] - self.layout.width) * self.layout.dim
        most = max(self.most_numbers // max(n_other_weights, 1), self.threads)
        count = len(self.blocks)
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
        """The objective, and the gradient in Θ of all but the absolute weights."""
        gradient, width = self.alpha * Theta, self.layout.width
        value = 0.5 * np.vdot(Theta, gradient)
        if self.l1 is not None:
            self._last = Theta
            value += np.sum(self.l1 * np.abs(Theta))
        for loss, features, other_gradient in self._map(self._block, Theta):
            value += loss
            gradient[width:] += other_gradient
            if features is not None:
                gradient[:width] += features
        if not self._by_block and sparse.issparse(self.X):
            add_transposed(self.X.data, self.X.indices, self.X.indptr, self._gaps, gradient)
        elif not self._by_block:
            gradient[:width] += self.X.T @ self._gaps
        return value, gradient

    def _block(self, i, Theta):
        """Weighted loss of a block, and its gradient: of features, or None, and of the rest."""
        gaps = self._gaps[self.rows[i]]
        loss, edges = self._losses(i, Theta, gaps)
        features = self._parts[i].T @ gaps if self._by_block else None
        constant = [gaps.sum(axis=0)[None]] if self.layout.intercept else []
        return loss, features, np.concatenate([*constant, edges])

    def gap(self, gradient):
        """Σ ∇²/(2α), the duality gap of the weights and the means at their scores."""
        if self.l1 is not None:
            return self._elastic_gap(gradient)
        squares = np.einsum("ij,ij->i", gradient, gradient)
        return float(np.sum(squares / np.ravel(self.alpha))) / 2.0

    def _elastic_gap(self, gradient):
        """The gap with absolute weights, for the weights evaluated last.

        With the gradient u of the mean loss it is ``<Θ, u> + (α/2)‖Θ‖² + Σ l1 |Θ| + Σ max(|u| − l1,
        0)²/(2α)``, by Fenchel's inequality.
        """
        Theta, alpha = self._last, self.alpha
        u = gradient - alpha * Theta
        penalty = 0.5 * np.vdot(Theta, alpha * Theta) + np.sum(self.l1 * np.abs(Theta))
        dual = np.sum(np.maximum(np.abs(u) - self.l1, 0.0) ** 2 / (2.0 * alpha))
        return float(np.vdot(Theta, u) + penalty + dual)


class VectorObjective(Objective):
    """Objective of a Fenchel–Young loss of scale 1, over a fitted space."""

    def __init__(self, X, loss, packed, *settings):
        super().__init__(X, np.arange(X.shape[0] + 1), *settings)
        self.loss, self.packed = loss, packed

    def _losses(self, i, Theta, gaps):
        """The weighted loss of a block, whose gradients in scores are written; no edges."""
        V = self.loss.space.unpack(self.packed[self.blocks[i]])
        values, gradients = self.loss.value_and_gradient(self.scores(i, Theta), V)
        share = self.share[self.blocks[i]]
        np.multiply(gradients, share[:, None], out=gaps)
        return share @ values, np.empty((0, self.layout.dim))


class ChainObjective(Objective):
    """Objective of ``−ln p(y | x)`` of label sequences, `Ragged`."""

    def __init__(self, X, labels, *settings):
        super().__init__(X, labels.offsets, *settings)
        self.labels = labels.values
        self._spread = np.repeat(self.share, np.diff(self.offsets))
        self.steps_of_truth = np.zeros((self.layout.dim, self.layout.dim))
        starts = np.delete(np.arange(len(self.labels)), self.offsets[1:] - 1)
        steps = self.labels[starts], self.labels[starts + 1]
        np.add.at(self.steps_of_truth, steps, self._spread[starts])

    def chains(self, i, Theta):
        """Scores of the sequences of a block: unary, offsets, pair."""
        block, (*ends, pair) = self.blocks[i], self.layout.edges(Theta)
        offsets = self.offsets[block.start : block.stop + 1] - self.offsets[block.start]
        return Chains.of_rows(self.scores(i, Theta), offsets, ends, pair[None]).arrays

    def _losses(self, i, Theta, gaps):
        """The weighted loss of a block, whose gradients in scores are written, and edges'."""
        chains, rows, share = self.chains(i, Theta), self.rows[i], self.share[self.blocks[i]]
        offsets, y = chains[1], self.labels[rows]
        _, log_z, steps = _chains.marginals(*chains, pairs="sum", weight=share, out=gaps)
        losses = log_z - _chains.score(*chains, y)
        gaps[np.arange(len(y)), y] -= 1.0
        gaps *= self._spread[rows, None]
        ends = gaps[offsets[:-1]].sum(axis=0), gaps[offsets[1:] - 1].sum(axis=0)
        steps = steps - self.steps_of_truth if i == 0 else steps
        return share @ losses, np.concatenate([np.array(ends), steps])
