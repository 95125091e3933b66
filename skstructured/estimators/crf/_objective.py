"""Regularized mean losses of all rows or sequences, their gradients, and their minima."""

import itertools
import logging
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse

from skstructured import _chains
from skstructured._base.lbfgs import minimize_orthant_wise, minimize_two_loops
from skstructured._base.ragged import row_blocks
from skstructured._engine.compiled import FASTMATH, kernel
from skstructured.extend._types import Floats, Ints
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


def rows_between(X, start, stop):
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
        self.blocks = row_blocks(offsets, self.block_size)
        self.rows = [slice(offsets[block.start], offsets[block.stop]) for block in self.blocks]
        self._row_blocks = [rows_between(X, rows.start, rows.stop) for rows in self.rows]
        self._gaps = np.empty((X.shape[0], layout.dim))
        self._by_block = len(self.blocks) * layout.width * layout.dim <= self.most_numbers
        n_threads = min(effective_n_jobs(None), len(self.blocks))
        n_other_weights = (layout.shape[0] - layout.width) * layout.dim
        self._n_at_once = max(self.most_numbers // max(n_other_weights, 1), n_threads)
        self._map = ThreadPoolExecutor(n_threads).map if n_threads > 1 else map

    def _evaluated(self, Theta):
        """Losses and gradients of all blocks, in order, of as many at a time as are kept."""
        every = range(len(self.blocks))
        for first in every[:: self._n_at_once]:
            indices = every[first : first + self._n_at_once]
            yield from self._map(self._block, indices, itertools.repeat(Theta))

    def scores(self, i, Theta):
        """Scores (rows, dim) of block i, without edges."""
        theta = self._row_blocks[i] @ Theta[: self.layout.width]
        return theta + Theta[self.layout.width] if self.layout.intercept else theta

    def value_and_gradient(self, Theta):
        """The objective, and the gradient in Θ of all but the absolute weights."""
        gradient, width = self.alpha * Theta, self.layout.width
        value = 0.5 * np.vdot(Theta, gradient)
        if self.l1 is not None:
            self._last = Theta
            value += np.sum(self.l1 * np.abs(Theta))
        for loss, features, other_gradient in self._evaluated(Theta):
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
        features = self._row_blocks[i].T @ gaps if self._by_block else None
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


def minimized(objective, Theta, max_iter, tol):
    """Weights near the optimum, begun at Theta; and objective and gap of each iteration, (m, 2)."""
    curve, logger = [], logging.getLogger("skstructured")

    def add(value, gradient):
        curve.append((float(value), objective.gap(gradient)))
        logger.info("iteration %d: objective %.8g, gap %.3g", len(curve), *curve[-1])
        return curve[-1][1] <= tol

    evaluate = objective.value_and_gradient
    value, gradient = evaluate(Theta)
    start = float(value), objective.gap(gradient)
    if start[1] <= tol:
        return Theta, np.array([start])
    if objective.l1 is None:
        Theta = minimize_two_loops(evaluate, Theta, max_iter, add)
    else:
        Theta = minimize_orthant_wise(evaluate, Theta, objective.l1, max_iter, add)
    return Theta, np.array(curve or [start])  # the start if no step was found that is better


class MergedColumns:
    """A CSR matrix (N, p) in which equal columns are one, and rare ones are larger.

    At the optimum of a loss with an ℓ2 penalty, c columns x that are the same have the same weight
    w. One column ``(c/f) x`` with the weight f w has the same scores, an ℓ2 penalty that is c/f²
    times as strong, and an ℓ1 penalty that is c/f times as strong.

    Solvers need fewer iterations if the objective is about as curved in all weights. Its curvature
    is about α + v m in the weight of √c x, whose mean square is m, at the start, and α in the end
    if few rows have the column. With √c times the square root of ``(α + v m)/(α + v)`` it would be
    equal at the start, with √c in the end. So f is √c times the fourth root, half way between.

    The curvature v is 0.1 times the sum of the weights (N,) of rows in the mean loss. Columns of
    `matrix` (N, q) are in the order of the first row that has them; `factors`, `l2` and `l1` (q, 1)
    are f, c/f² and c/f.
    """

    #: Curvature of a loss in a score, about; it is at most 1/4 and falls while rows are learned.
    curvature = 0.1

    def __init__(self, X: sparse.csr_matrix, weight: Floats, alpha: float) -> None:
        columns = X.tocsc()
        first, self._places, counts = _different(columns)
        columns = columns[:, first]
        squares = counts * (columns.multiply(columns).T @ weight)
        steep, flat = self.curvature * squares, self.curvature * weight.sum()
        factors = np.sqrt(counts) * ((alpha + steep) / (alpha + flat)) ** 0.25
        self.factors, self.l1 = factors[:, None], (counts / factors)[:, None]
        self.l2 = self.l1 / self.factors
        self.matrix = (columns @ sparse.diags(self.l1[:, 0])).tocsr()

    def join(self, weights: Floats) -> Floats:
        """Weights (q, dim) of the columns, given those (p, dim) of X."""
        joined = np.zeros((len(self.l1), weights.shape[1]))
        np.add.at(joined, self._places, weights)
        return joined / self.l1

    def split(self, weights: Floats) -> Floats:
        """Weights (p, dim) of the columns of X, given those of the merged ones."""
        return (weights / self.factors)[self._places]


def _different(columns: sparse.csc_matrix) -> tuple[Ints, Ints, Ints]:
    """Places (q,) of different columns by their first rows, which each is (p,), counts (q,)."""
    bits = np.random.RandomState(0).randint(1, 1 << 62, size=columns.shape[0]).astype(np.uint64)
    values = columns.data.view(np.uint64)  # those of short numbers end in zeros
    drawn = bits[columns.indices] * (values ^ (values >> np.uint64(32)))
    keys, filled = np.zeros(columns.shape[1], dtype=np.uint64), np.diff(columns.indptr) > 0
    keys[filled] = np.add.reduceat(drawn, columns.indptr[:-1][filled])
    _, first, same = np.unique(keys, return_index=True, return_inverse=True)
    compared = np.flatnonzero(first[same] != np.arange(len(same)))
    differences = columns[:, compared] != columns[:, first[same][compared]]
    apart = compared[np.diff(differences.indptr) > 0]  # by chance equal sums of bits
    same[apart] = len(first) + np.arange(len(apart))
    first, counts = np.append(first, apart), np.bincount(same)
    rows = np.full(columns.shape[1], columns.shape[0])
    rows[filled] = columns.indices[columns.indptr[:-1][filled]]
    order = np.lexsort((first, rows[first]))  # rows read weights that are near each other
    return first[order], np.argsort(order)[same], counts[order]
