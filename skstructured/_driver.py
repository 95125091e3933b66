"""The compiled epoch: one loop over rows for every loss, optimiser and storage of X.

The learner's weights are ``W = s Θ``: the optimiser owns the scalar s, so that steps, projections
and bets never sweep over Θ. The sum of the weights played is ``(Σ w s) Θ + A``; see `_average`.
"""

import functools
from typing import NamedTuple

import numpy as np
from numba import int64, types, void

from skstructured._average import WAITING, add_dense, fold
from skstructured._compiled import (
    ADVANCE,
    EMPTY_INT32,
    FASTMATH,
    MATRIX,
    MEAN,
    READ_INT32,
    READ_INT64,
    READ_MATRIX,
    READ_VECTOR,
    SCALE,
    STEP,
    VECTOR,
    address,
    as_advance,
    as_mean,
    as_scale,
    as_step,
    is_compiled,
    kernel,
)

# A comparison with it, because numba's isfinite(x) is x − x = 0, which reordered sums fold to True.
LARGEST = np.finfo(np.float64).max

#: Rows are zero, or their norms lie between these (docs/numbers.md): squares of norms, of weighted
#: norms and of their sums then stay far from both ends of float64.
SHORTEST, LONGEST = 1e-100, 1e100
SHORTEST_SQ, LONGEST_SQ = SHORTEST**2, LONGEST**2

#: Entries of every optimiser's state that belong to the driver: a factor to be multiplied into Θ
#: (1 for none), Σ w s over the rounds since the last such sweep, Σ w over all rounds, whether the
#: sum of the weights must be brought up to date before Θ moves, and the weight of the row scored.
FACTOR, PLAYED, TOTAL, SETTLE, WEIGHT = range(5)

#: Rows learned at a time, by compiled and by interpreted loops.
BLOCK, SLOW_BLOCK = 4096, 64

#: Where an optimiser's own entries begin.
OWN = 5


def new_state(entries):
    """The state vector of an optimiser with so many entries of its own, all zero."""
    state = np.zeros(OWN + entries)
    state[FACTOR] = 1.0
    return state


@kernel
def is_zero_row(data, indptr, width, row):
    """Whether a row has no entry but 0. Dense rows have an empty `indptr`."""
    sparse = indptr.shape[0] > 0
    start = indptr[row] if sparse else row * width
    stop = indptr[row + 1] if sparse else start + width
    for t in range(start, stop):
        if data[t] != 0.0:
            return False
    return True


def epoch(
    data,
    indices,
    indptr,
    width,
    rows,
    truth,
    weight,
    Theta,
    average,
    state,
    params,
    work,
    scores,
    kernels,
):
    """Learn `rows` in their order; stop before a row whose norm or scores are out of range.

    Each round: raw = Θx, s = scale(state, ‖x‖², w), θ = s·raw, μ = mean(θ), g = μ − y,
    u = step(state, raw, g, ‖x‖², w), Θ ← Θ + u·g xᵀ and, where `average`, A ← A − u (Σ w s) g xᵀ
    for the rows (CSR: columns) behind Θ. Where `scores` has rows, it receives every θ.
    Returns the place of the row that stopped it, or -1.
    """
    advance, mean = as_advance(kernels[0]), as_mean(kernels[1])
    scale, step = as_scale(kernels[2]), as_step(kernels[3])
    n, dim = truth.shape
    record, dense = scores.shape[0] > 0, indptr.shape[0] == 0
    waiting, together = average and dense, average and not dense
    raw, theta, y = np.empty(dim), np.empty(dim), np.empty(dim)
    move = np.zeros(2 * dim if together else dim)
    g, terms = move[:dim], np.empty((WAITING if waiting else 0, dim))
    start, stopped, state[WEIGHT] = 0, -1, weight[0]
    x_sq = advance(data, indices, indptr, width, rows[0], rows[0], Theta, state, move, 0.0, raw)
    for r in range(n):
        usual = SHORTEST_SQ <= x_sq <= LONGEST_SQ
        if not usual and not is_zero_row(data, indptr, width, rows[r]):
            stopped = r
            break
        s = scale(state, x_sq, weight[r])
        size = abs(state[PLAYED] + weight[r] * s)
        for k in range(dim):
            y[k] = truth[r, k]
            theta[k] = s * raw[k]
            size += abs(theta[k])
            if record:
                scores[r, k] = theta[k]
        if not size <= LARGEST:
            stopped = r
            break
        mean(theta, y, g, params, work)
        for k in range(dim):
            g[k] -= y[k]
        state[PLAYED] += weight[r] * s
        state[TOTAL] += weight[r]
        u = step(state, raw, g, x_sq, weight[r])
        if state[FACTOR] != 1.0 or (average and state[SETTLE] > 0.0):
            if waiting:
                add_dense(data, width, rows[start:r], terms, Theta[dim:])
                start = r
            fold(Theta, dim, dense, average, state[FACTOR], state[PLAYED])
            state[FACTOR], state[PLAYED], state[SETTLE] = 1.0, 0.0, 0.0
        if waiting:
            for k in range(dim):
                terms[r - start, k] = -u * state[PLAYED] * g[k]
            if r + 1 - start == WAITING:
                add_dense(data, width, rows[start : r + 1], terms, Theta[dim:])
                start = r + 1
        if together:
            for k in range(dim):
                move[dim + k] = -state[PLAYED] * g[k]
        after = min(r + 1, n - 1)
        ahead, state[WEIGHT] = rows[after], weight[after]
        x_sq = advance(data, indices, indptr, width, rows[r], ahead, Theta, state, move, u, raw)
    if waiting:
        add_dense(data, width, rows[start : n if stopped < 0 else stopped], terms, Theta[dim:])
    return stopped


def mean_rows(theta, truth, mu, values, params, work, mean):
    """One kernel over the rows of theta: writes every mean and conjugate value."""
    mean = as_mean(mean)
    for i in range(theta.shape[0]):
        values[i] = mean(theta[i], truth[i], mu[i], params, work)


@kernel(fastmath=FASTMATH)
def first_bad_row(data, indptr, width, n_rows, constant, longest_sq):
    """First row whose norm is out of range, or -1; `constant` is the square of its intercept."""
    sparse = indptr.shape[0] > 0
    for i in range(n_rows):
        start = indptr[i] if sparse else i * width
        stop = indptr[i + 1] if sparse else start + width
        values, x_sq = data[start:stop], constant
        for t in range(values.shape[0]):
            x_sq += values[t] * values[t]
        usual = SHORTEST_SQ <= x_sq <= longest_sq
        if not usual and not is_zero_row(data, indptr, width, i):
            return i
    return -1


@kernel
def index_range(indices):
    """Smallest and largest entry, in one pass; (0, -1) where there is none."""
    low, high = np.int64(0), np.int64(-1)
    if indices.shape[0] > 0:
        smallest, largest = indices[0], indices[0]
        for i in range(indices.shape[0]):
            smallest, largest = min(smallest, indices[i]), max(largest, indices[i])
        low, high = np.int64(smallest), np.int64(largest)
    return low, high


@functools.cache
def _compiled_epoch():
    arrays = (READ_VECTOR, READ_INT32, READ_INT32, int64, READ_INT64, READ_MATRIX, READ_VECTOR)
    rest = (MATRIX, types.boolean, VECTOR, VECTOR, VECTOR, MATRIX, types.UniTuple(int64, 4))
    return kernel(epoch, signature=int64(*arrays, *rest))


@functools.cache
def _compiled_mean_rows():
    arrays = (MATRIX, MATRIX, MATRIX, VECTOR, VECTOR, VECTOR)
    return kernel(mean_rows, signature=void(*arrays, int64))


class Rows(NamedTuple):
    """Validated rows of X as the kernels read them: float64 values, int32 indices.

    Dense rows have empty `indices` and `indptr`; `width` excludes the intercept.
    """

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    width: int
    n_rows: int

    @classmethod
    def from_array(cls, X):
        """Read a C-contiguous float64 array or a CSR matrix without copying its values."""
        if hasattr(X, "indptr"):
            indices = np.ascontiguousarray(X.indices, dtype=np.int32)
            indptr = np.ascontiguousarray(X.indptr, dtype=np.int32)
            data = np.ascontiguousarray(X.data)
            return cls(data, indices, indptr, X.shape[1], X.shape[0])
        return cls(X.reshape(-1), EMPTY_INT32, EMPTY_INT32, X.shape[1], X.shape[0])

    @property
    def arrays(self):
        """What kernels are handed of the rows: data, indices, indptr, width."""
        return self[:4]

    @property
    def is_sparse(self):
        """Whether the rows are CSR."""
        return self.indptr.shape[0] > 0

    def first_bad(self, intercept=False, longest=LONGEST):
        """Index of the first row that is not finite, or too long, or too short but not 0; or -1."""
        rows = (self.data, self.indptr, self.width, self.n_rows)
        rest = (float(intercept), longest * longest)
        if is_compiled(first_bad_row):
            return first_bad_row(*rows, *rest)
        with np.errstate(over="ignore", invalid="ignore"):
            return first_bad_row(*rows, *rest)


def epoch_for(kernels):
    """The epoch with kernels (advance, mean, scale, step), and how many rows it learns at a time.

    It is called without `kernels`; compiled, here and now, when every kernel is a numba function,
    and interpreted otherwise, with fewer rows, so that an interruption does not wait for long.
    """
    if all(map(is_compiled, kernels)):
        run, at = _compiled_epoch(), tuple(map(address, kernels, (ADVANCE, MEAN, SCALE, STEP)))
        return lambda rows, *rest: run(*rows.arrays, *rest, at), BLOCK
    return functools.partial(_interpreted_epoch, kernels), SLOW_BLOCK


def _interpreted_epoch(kernels, rows, order, truth, weight, Theta, average, state, *rest):
    """`epoch` with kernels that may raise: Θ and the state are then as they were."""
    before = Theta.copy(), state.copy()
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            arrays = (*rows.arrays, order, truth, weight, Theta, average, state, *rest)
            return epoch(*arrays, kernels)
    except BaseException:
        Theta[...], state[...] = before
        raise


def run_mean_rows(kernel, theta, truth, params, work):
    """Means (n, dim) and conjugate values (n,) of the rows of theta."""
    mu, values = np.empty_like(theta), np.empty(theta.shape[0])
    if is_compiled(kernel):
        _compiled_mean_rows()(theta, truth, mu, values, params, work, address(kernel, MEAN))
    else:
        mean_rows(theta, truth, mu, values, params, work, kernel)
    return mu, values
