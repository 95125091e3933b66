"""Regularized mean losses of all rows or sequences, and their gradients in the weights."""

import itertools

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import sparse

from skstructured._base.ragged import Ragged
from skstructured._chains import batch
from skstructured._engine.compiled import FASTMATH, kernel
from skstructured.spaces.sequence import indicators

#: What the score of a label after another goes by.
TRANSITIONS = ("bigram", "features", "none")


class Layout:
    """Layout of weights in Θ, a matrix with a row per feature and a column per score.

    Features, the intercept, and for sequences starts, ends, transitions from each label, and for
    each feature its weights in the transitions from each label.

    Parameters
    ----------
    width, dim : int
        Features and scores.
    intercept, chains : bool
        Whether there is an intercept, and whether outputs are sequences.
    transitions : {"bigram", "features", "none"}, default="bigram"
        Whether the transitions of sequences have a weight each, weights of features too, or none.
    """

    def __init__(self, width, dim, intercept, chains, transitions="bigram"):
        self.width, self.dim = width, dim
        self.intercept, self.chains = int(intercept), bool(chains)
        self.steps = chains * dim * (transitions != "none")
        self.step_features = chains * width * dim * (transitions == "features")

    @property
    def shape(self):
        """Shape of Θ."""
        return self.first_edge + 2 * self.chains + self.steps + self.step_features, self.dim

    @property
    def first_edge(self):
        """The row of starts, before those of ends and transitions."""
        return self.width + self.intercept

    def offset(self, Theta):
        """The intercept, (dim,)."""
        return Theta[self.width] if self.intercept else np.zeros(self.dim)

    def edges(self, Theta):
        """Starts (k,), ends (k,) and transitions (k, k), as views; zeros if not in use."""
        at = self.first_edge
        steps = Theta[at + 2 : at + 2 + self.dim] if self.steps else np.zeros((self.dim, self.dim))
        return Theta[at], Theta[at + 1], steps

    def step_coef(self, Theta):
        """Weights of features in transitions, (p, k²), a view."""
        return Theta[len(Theta) - self.step_features :].reshape(self.width, self.dim**2)

    def join(self, coef, intercept, edges=(), step_coef=None):
        """Θ of coefficients (dim, p), intercepts (dim,), edges, and those of steps (k², p)."""
        parts = [coef.T, intercept[None]] if self.intercept else [coef.T]
        edges = edges[: 2 + (self.steps > 0)]
        if self.step_features:
            edges = *edges, step_coef.T.reshape(-1, self.dim)
        return np.concatenate([*parts, *map(np.atleast_2d, edges)])


#: Rows of a block, at least: long enough for a thread to be worth its start.
BLOCK = 4096


def block_bounds(offsets, size=BLOCK):
    """Bounds of blocks of whole sequences, of `size` rows or more but for the last one."""
    bounds = [0]
    while bounds[-1] < len(offsets) - 1:
        stop = np.searchsorted(offsets, offsets[bounds[-1]] + size)
        bounds.append(int(min(max(stop, bounds[-1] + 1), len(offsets) - 1)))
    return bounds


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
        for at in range(indptr[i], indptr[i + 1]):
            x, row = data[at], indices[at]
            for j in range(gaps.shape[1]):
                gradient[row, j] += x * gaps[i, j]


#: Most numbers in gradients of single blocks, which are then summed in order.
MOST_NUMBERS = 1 << 21


class Objective:
    """``Σ_i c_i S(Θᵀ z_i, y_i) + (α/2)‖Θ‖²`` with weights c that sum to 1.

    Rows are cut into blocks, however many threads there are, and sums are made in their order: any
    number of threads, which is joblib's, gives the same bits.

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (N, p)
        Rows.
    offsets : ndarray of shape (n + 1,)
        First row of each output; except for sequences, outputs have one row each.
    share : ndarray of shape (n,)
        c.
    alpha : float or ndarray
        α, broadcast to the shape of Θ if rows of Θ have their own.
    layout : Layout
        Layout of the weights in Θ.
    block : int, default=4096
        Rows of a block, at least.
    """

    #: Of absolute weights, which have no penalty.
    l1 = None

    def __init__(self, X, offsets, share, alpha, layout, block=BLOCK):
        self.X, self.offsets, self.share, self.alpha = X, offsets, share, alpha
        self.layout = layout
        self.threads = effective_n_jobs(None)
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
        """Values of a function for all blocks, in order, of as many at a time as are kept."""
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
        gradient, width = self.alpha * Theta, self.layout.width
        value = 0.5 * np.vdot(Theta, gradient)
        for loss, features, rest in self._map(self._block, Theta):
            value += loss
            gradient[width:] += rest
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
        squares = np.einsum("ij,ij->i", gradient, gradient)
        return float(np.sum(squares / np.ravel(self.alpha))) / 2.0


class ElasticNet:
    """An objective plus ``Σ l1 |Θ|``.

    With the gradient u of the mean loss, the gap between Θ and the means at its scores is
    ``<Θ, u> + (α/2)‖Θ‖² + Σ l1 |Θ| + Σ max(|u| − l1, 0)²/(2α)``, by Fenchel's inequality.

    Parameters
    ----------
    objective : Objective
        With α > 0.
    l1 : float or ndarray
        Strengths of the absolute weights, broadcast to the shape of Θ.
    """

    def __init__(self, objective, l1):
        self.objective, self.l1 = objective, l1

    def __enter__(self):
        return self.objective.__enter__()

    def __exit__(self, *error):
        self.objective.__exit__(*error)

    def value_and_gradient(self, Theta):
        """The objective, and the gradient in Θ of all but the absolute weights."""
        self._last = Theta
        value, gradient = self.objective.value_and_gradient(Theta)
        return value + np.sum(self.l1 * np.abs(Theta)), gradient

    def gap(self, gradient):
        """The duality gap of the weights evaluated last, whose gradient this is."""
        Theta, alpha = self._last, self.objective.alpha
        u = gradient - alpha * Theta
        penalty = 0.5 * np.vdot(Theta, alpha * Theta) + np.sum(self.l1 * np.abs(Theta))
        dual = np.sum(np.maximum(np.abs(u) - self.l1, 0.0) ** 2 / (2.0 * alpha))
        return float(np.vdot(Theta, u) + penalty + dual)


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
        at = np.delete(np.arange(len(y)), self.offsets[1:] - 1)
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


#: Most numbers in the scores of the transitions of a block.
MOST_SCORES = 1 << 22


class EdgeObjective(ChainObjective):
    """Objective of ``−ln p(y | x)`` with scores of steps that depend on the features of the row.

    The score of label j after i, at a row x, is ``T_ij + <U_ij, x>``; the gradient in U_ij is the
    sum over steps of their marginals, less the truth, times x.

    Parameters
    ----------
    X, labels : {ndarray, CSR matrix}, Ragged
        Rows of all positions, and the positions of their labels among the classes.
    """

    def __init__(self, X, labels, share, alpha, layout):
        size = max(MOST_SCORES // layout.dim**2, 1)
        super().__init__(X, labels, share, alpha, layout, block=size)
        self._after = [part_of(X, rows.start + 1, rows.stop) for rows in self.rows]

    def chains(self, i, Theta):
        """Scores of the sequences of a block, those of each row and the next among them."""
        unary, offsets, shared = super().chains(i, Theta)
        pair = np.zeros((len(unary), *shared.shape[1:]))
        pair[:-1].reshape(-1, shared.size)[:] = self._after[i] @ self.layout.step_coef(Theta)
        pair[:-1] += shared
        return unary, offsets, pair

    def _steps(self, i, chains, out):
        """The parts of the loss's gradient: log Z, and that of transitions (k + p k, k)."""
        truth = indicators(self.labels_of(i), self.layout.dim).pair
        _, log_z, gaps = batch.marginals(*chains, pairs="each", out=out)
        gaps -= truth
        gaps *= self._spread[self.rows[i], None, None]
        flat = gaps[:-1].reshape(-1, self.layout.dim**2)
        features = self._after[i].T @ flat
        return log_z, np.concatenate([gaps.sum(axis=0), features.reshape(-1, self.layout.dim)])
