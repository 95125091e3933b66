"""What a linear learner of label sequences learns: weights of positions, starts, ends and steps."""

import math
from enum import IntEnum

import numpy as np

from skstructured._chains.best_paths import chain_score
from skstructured._chains.forward_backward import chain_gap, scratch_size, subtract_labels
from skstructured._chains.projection import project_means
from skstructured._engine.compiled import FASTMATH, kernel, plain_integers
from skstructured._engine.rounds import NO_FLOATS
from skstructured._engine.state import LoopOption, axpy, clear, copy_into, inner
from skstructured._learners.batch_scaling import scale_of
from skstructured._learners.models import Record
from skstructured.optimizers import ParameterFree, StepMixture, resolve_optimizer
from skstructured.sequences._decoding import rule_of
from skstructured.sequences._ragged import RoundKind
from skstructured.spaces.sequence import Chains, mean_per_sequence

#: Places in the options of the loop: whether there is an intercept, whether means are projections,
#: whether constants are sharp.
SequenceOption = plain_integers(
    IntEnum("SequenceOption", "INTERCEPT PROJECTS SHARP", start=len(LoopOption))
)


@kernel(fastmath=FASTMATH)
def add_scaled(target, i, factor, source, j):
    """Row i of target grows by factor times row j of source."""
    for k in range(target.shape[1]):
        target[i, k] += factor * source[j, k]


@kernel(fastmath=FASTMATH)
def add_four(target, i, factors, source, j):
    """Row i of target grows by four factors times rows j to j + 3 of source."""
    a, b, c, d = factors
    for k in range(target.shape[1]):
        target[i, k] += (a * source[j, k] + b * source[j + 1, k]) + (
            c * source[j + 2, k] + d * source[j + 3, k]
        )


def _add_product(data, start, stride, n, source, target, i):
    factors = data[start : start + n * stride : stride]
    target[i] += factors @ source[:n, : target.shape[1]]
    return bool(factors.any())


@kernel(python=_add_product)
def add_weighted_rows(data, start, stride, n, source, target, i):
    """Row i of target grows by the rows of source, n of them, times data from start in strides.

    Returns whether any of these numbers is not 0.
    """
    j, has_nonzero = np.int64(0), False
    while j + 4 <= n:
        index = start + j * stride
        x = data[index], data[index + stride], data[index + 2 * stride], data[index + 3 * stride]
        if x[0] != 0.0 or x[1] != 0.0 or x[2] != 0.0 or x[3] != 0.0:
            add_four(target, i, x, source, j)
            has_nonzero = True
        j += 4
    while j < n:
        if data[start + j * stride] != 0.0:
            add_scaled(target, i, data[start + j * stride], source, j)
            has_nonzero = True
        j += 1
    return has_nonzero


@kernel
def add_position(data, indices, indptr, width, row, Theta, out, m):
    """Out_m ← out_m + Σ_j x_j Θ_j over the features of a row."""
    if indptr.shape[0] > 0:
        for t in range(indptr[row], indptr[row + 1]):
            add_scaled(out, m, data[t], Theta, np.int64(indices[t]))
        return
    add_weighted_rows(data, row * width, np.int64(1), width, Theta, out, m)


@kernel
def sparse_product(data, indices, indptr, row, other):
    """<x, z> of two CSR rows, whose columns are sorted."""
    s, t, total = indptr[row], indptr[other], 0.0
    while s < indptr[row + 1] and t < indptr[other + 1]:
        if indices[s] == indices[t]:
            total += data[s] * data[t]
            s += 1
            t += 1
        elif indices[s] < indices[t]:
            s += 1
        else:
            t += 1
    return total


@kernel
def row_product(data, indices, indptr, width, row, other):
    """<x, z> of two rows."""
    if indptr.shape[0] > 0:
        return sparse_product(data, indices, indptr, row, other)
    return inner(data[row * width : (row + 1) * width], data[other * width :])


@kernel
def norms(data, indices, indptr, width, first, M, intercept):
    """A bound on ‖Σ_m g_m x_mᵀ‖ for g_m with ‖g_m‖ ≤ 1, and Σ‖x_m‖².

    ``√Σ_{m,m'} |<x_m, x_m'>|`` of each 32 positions, summed; the features that are added to rows
    included.
    """
    total, squares, block = 0.0, 0.0, 32
    for begin in range(0, M, block):
        end, block_sum = min(begin + block, M), 0.0
        for m in range(begin, end):
            square = row_product(data, indices, indptr, width, first + m, first + m)
            square += float(intercept + (m == 0) + (m == M - 1))
            squares += square
            block_sum += square
            for earlier in range(begin, m):
                both = row_product(data, indices, indptr, width, first + earlier, first + m)
                block_sum += 2.0 * abs(both + intercept)
        total += math.sqrt(block_sum)
    return total, squares


@kernel
def touch(j, slot, touched, count, G):
    """The row of G for feature j, a new row of zeros if it has none; and the number of rows."""
    if slot[j] < 0:
        slot[j] = count
        touched[count] = j
        clear(G[count])
        count += 1
    return slot[j], count


@kernel
def _gather_dense(data, width, first, gap, slot, touched, G):
    """Σ_m x_m gap_mᵀ of dense rows into G, a row for each feature that is not 0; how many."""
    count = np.int64(0)
    for j in range(width):
        clear(G[count])
        if add_weighted_rows(data, first * width + j, width, gap.shape[0], gap, G, count):
            slot[j], touched[count] = count, j
            count += 1
    return count


@kernel
def gather_sparse(data, indices, indptr, first, gap, slot, touched, G):
    """Σ_m x_m gap_mᵀ of CSR rows into G, a row for each feature that is not 0; how many."""
    count = np.int64(0)
    for m in range(gap.shape[0]):
        for t in range(indptr[first + m], indptr[first + m + 1]):
            if data[t] != 0.0:
                row, count = touch(np.int64(indices[t]), slot, touched, count, G)
                add_scaled(G, row, data[t], gap, m)
    return count


@kernel
def sizes(data, indices, indptr, width, first, M, options):
    """A bound on ‖G‖², and C²/λ.

    The first is twice the square of that of `norms`, and 2(M − 1)² for the transitions.
    C² = max(Σ‖x_m‖², M − 1) bounds what gradients in scores are multiplied by; λ is 1/(2M − 1)²,
    with sharp constants 1/(2M − 1), and 1 for projections.
    """
    intercept, projects = options[SequenceOption.INTERCEPT], options[SequenceOption.PROJECTS]
    total, squares = norms(data, indices, indptr, width, first, M, intercept)
    wide = 2.0 * M - 1.0
    flat = 1.0 if projects > 0 else wide if options[SequenceOption.SHARP] > 0 else wide * wide
    return 2.0 * (total * total + (M - 1.0) ** 2), max(squares, M - 1.0) * flat


@kernel
def prepare_sequence(
    data, indices, indptr, width, first, M, Theta, options, terms, room, raw, bounds
):
    """Raw = Θ of every position, and of the steps behind them; `bounds` are the `sizes`."""
    bounds[0], bounds[1] = sizes(data, indices, indptr, width, first, M, options)
    intercept = options[SequenceOption.INTERCEPT]
    start = width + intercept
    for m in range(M):
        for k in range(raw.shape[1]):
            raw[m, k] = Theta[width, k] if intercept > 0 else 0.0
        add_position(data, indices, indptr, width, first + m, Theta, raw, m)
    add_scaled(raw, np.int64(0), 1.0, Theta, start)
    add_scaled(raw, M - 1, 1.0, Theta, start + 1)
    for i in range(Theta.shape[0] - start - 2):
        copy_into(raw[M + i], Theta[start + 2 + i])


@kernel
def gather_sequence(data, indices, indptr, width, first, g, options, slot, touched, G):
    """Gradient of the weights: its rows that are not 0, G, with their places; how many."""
    intercept = options[SequenceOption.INTERCEPT]
    k, start = slot.shape[0] - width - intercept - 2, width + intercept
    M = g.shape[0] - k
    gap = g[:M]
    if indptr.shape[0] > 0:
        count = gather_sparse(data, indices, indptr, first, gap, slot, touched, G)
    else:
        count = _gather_dense(data, width, first, gap, slot, touched, G)
    for m in range(M if intercept > 0 else 0):
        row, count = touch(width, slot, touched, count, G)
        add_scaled(G, row, 1.0, gap, m)
    row, count = touch(start, slot, touched, count, G)
    add_scaled(G, row, 1.0, gap, np.int64(0))
    row, count = touch(start + 1, slot, touched, count, G)
    add_scaled(G, row, 1.0, gap, M - 1)
    for i in range(k if M > 1 else 0):
        row, count = touch(start + 2 + i, slot, touched, count, G)
        add_scaled(G, row, 1.0, g, M + i)
    for t in range(count):
        slot[touched[t]] = -1
    return count


@kernel
def log_loss(theta, y, g, params, work):
    """−ln p(y) and its gradient; theta and g are (M + k, k), one row after the other."""
    M, k = y.shape[0], int(params[0])
    unary, pair = theta[: M * k].reshape((M, k)), theta[M * k :].reshape((1, k, k))
    gap, total = g[: M * k].reshape((M, k)), g[M * k :].reshape((k, k))
    return chain_gap(unary, pair, y.astype(np.int64), gap, total, work)


@kernel
def projection_loss(theta, y, g, params, work):
    """As `log_loss`, for SparseMAP; the first entry of `work` is the residual of the projection."""
    M, k = y.shape[0], int(params[0])
    unary, pair = theta[: M * k].reshape((M, k)), theta[M * k :].reshape((1, k, k))
    gap, total = g[: M * k].reshape((M, k)), g[M * k :].reshape((k, k))
    labels, steps = y.astype(np.int64), np.empty((M, k, k))
    work[0] = project_means(unary, pair, gap, steps)
    total[:] = 0.0
    value = 0.5 * (2 * M - 1) - chain_score(unary, np.int64(0), M, pair, labels)
    for m in range(M):
        value += inner(unary[m], gap[m]) - 0.5 * inner(gap[m], gap[m])
        for i in range(k if m < M - 1 else 0):
            value += inner(pair[0, i], steps[m, i]) - 0.5 * inner(steps[m, i], steps[m, i])
            axpy(total[i], 1.0, steps[m, i])
    subtract_labels(labels, gap, total)
    return max(value, 0.0)


def sequence_optimizer(optimizer, steps=(16.0, 64.0, 256.0), wealth=10_000.0):
    """The optimizer of a parameter, with more wealth and longer steps than for single rows."""
    name = optimizer if isinstance(optimizer, str) else None
    if name == "mixture":
        return StepMixture(steps, others=(ParameterFree(wealth),))
    return ParameterFree(wealth) if name == "parameter_free" else resolve_optimizer(optimizer)


def mean_costs(gap, truth, costs):
    """Mean costs (n,) of the labels of the least expected cost, from means less truths (N, k)."""
    means = gap.copy()
    means[np.arange(len(gap)), truth.values] += 1.0
    least = np.argmin(means @ costs.T, axis=1)
    return mean_per_sequence(costs[least, truth.values], truth.offsets)


class ChainRounds(RoundKind):
    """Label sequences: Θ has rows of features, the intercept, starts and ends, and steps."""

    names = "sequences", "sequence"

    def __init__(self, space, decoder):
        rule_of(decoder)
        self.k, self.costs = space.dim_, space.costs_

    def new_scale(self, learner):
        return scale_of(learner, learner.n_features_in_, learner.fit_intercept_)

    def constants(self, model):
        projects, k = model.loss.projects, self.k
        options = np.zeros(SequenceOption.SHARP + 1, dtype=np.int64)
        options[[LoopOption.DIM, LoopOption.EXTRA, LoopOption.FRESH]] = k, k, projects
        is_sharp = model.loss.constants == "sharp"
        options[SequenceOption.INTERCEPT :] = model.intercept, projects, is_sharp
        return np.array([float(k)]), options

    def kernels(self, loss):
        return projection_loss if loss.projects else log_loss, prepare_sequence, gather_sequence

    def terms(self, loss, truth, by_ratio):
        """Gradients grow with M, C²/λ with M/λ."""
        lengths, terms = truth.lengths, np.zeros((len(truth), 3))
        power = 0 if loss.projects or not by_ratio else 1 if loss.constants == "sharp" else 2
        terms[:, 2] = lengths * (2.0 * lengths - 1.0) ** power
        size = 1 if loss.projects else scratch_size(int(lengths.max()), self.k)
        return NO_FLOATS, terms, np.full(len(truth), size)

    def rows_behind(self, k):
        return 2 + k

    def prepare(self, scale, learner, batch):
        """With "auto", features that are all indicators are not divided by their deviations."""
        data = batch.rows.data
        if learner.standardize == "auto" and np.all((data == 0.0) | (data == 1.0)):
            scale.without_edges().divided = False
            scale.used = scale.centered and not batch.rows.is_sparse

    def numbers(self, model, record):
        return self.k**2 if record > Record.NOTHING else 0

    def results(self, truth, record):
        """Scores, gradients and losses."""
        if record == Record.NOTHING:
            return NO_FLOATS, NO_FLOATS, NO_FLOATS
        size = (len(truth.values) + len(truth) * self.k) * self.k
        return np.empty(size), np.empty(size), np.empty(len(truth))

    def played(self, loss, truth, results):
        scores, gradients, losses = results
        unary, pair = self._parts_of(truth, scores)
        gap, _ = self._parts_of(truth, gradients)
        theta = Chains(unary, truth.offsets, np.repeat(pair, truth.lengths, axis=0))
        return theta, truth, (loss.scale_ * losses, mean_costs(gap, truth, self.costs))

    def _parts_of(self, truth, numbers):
        """Numbers of rounds, of positions (N, k) and of steps (n, k, k)."""
        rows, k = numbers.reshape(-1, self.k), self.k
        counts = np.column_stack([truth.lengths, np.full(len(truth), k)]).ravel()
        is_step = np.repeat(np.arange(2 * len(truth)) % 2 == 1, counts)
        return rows[~is_step], rows[is_step].reshape(-1, k, k)

    def weights(self, model, W):
        width = model.width + model.intercept
        return np.hstack([model.scale.fold(W[:, :width].copy()), W[:, width:]])

    def scores(self, model, batch, W):
        """Scores of sequences, as `Chains`."""
        p, k = model.width, self.k
        unary = np.asarray(model.scale.imputed(batch.rows).matrix @ W[:, :p].T)
        if model.intercept:
            unary = unary + W[:, p]
        pair = np.ascontiguousarray(W[:, -k:].T)[None]
        return Chains.of_rows(unary, batch.offsets, W[:, -k - 2 : -k].T, pair)
