"""The compiled epoch: one loop over rows for every loss, optimiser and storage of X.

The learner's weights are ``W = s Θ``: the optimiser owns the scalar s, so that steps, projections
and bets never sweep over Θ. Dense rows keep Θ as (dim, width), CSR rows as (width, dim): a score
then reads contiguous memory in both. An intercept is one more column (row) of Θ.
"""

import functools
from typing import NamedTuple

import numpy as np
from numba import int64, njit, types, void

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
    compiled,
    is_compiled,
    prefetch,
)

# A comparison with it, because numba's isfinite(x) is x − x = 0, which reordered sums fold to True.
LARGEST = np.finfo(np.float64).max

#: CSR kernels are compiled for each dimension up to this one.
LARGEST_KNOWN_DIM = 16


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH)
def dense_advance(data, indices, indptr, width, row, ahead, Theta, g, u, raw):
    """Θ ← Θ + u g xᵀ for dense `row`, then raw = Θz for dense row `ahead`, in one sweep over Θ.

    Returns ``‖z‖²``, the intercept's 1 included. A first score is the same sweep with u = 0, which
    keeps sums in one order and so makes chunks bit-identical to one pass.
    """
    x = data[row * width : (row + 1) * width]
    z = data[ahead * width : (ahead + 1) * width]
    intercept = Theta.shape[1] > width
    z_sq = 1.0 if intercept else 0.0
    for j in range(width):
        z_sq += z[j] * z[j]
    for k in range(Theta.shape[0]):
        theta, c, total = Theta[k], u * g[k], 0.0
        for j in range(width):
            moved = theta[j] + c * x[j]
            theta[j] = moved
            total += moved * z[j]
        raw[k] = total
    if intercept:
        for k in range(Theta.shape[0]):
            Theta[k, width] += u * g[k]
            raw[k] += Theta[k, width]
    return z_sq


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH)
def _add_four(Theta, j, k, x, g):
    """Θ[j, k:k+4] += x g[k:k+4]; all loads before all stores, which makes it one vector."""
    a, b = Theta[j, k] + x * g[k], Theta[j, k + 1] + x * g[k + 1]
    c, d = Theta[j, k + 2] + x * g[k + 2], Theta[j, k + 3] + x * g[k + 3]
    Theta[j, k], Theta[j, k + 1], Theta[j, k + 2], Theta[j, k + 3] = a, b, c, d


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH)
def _dot(Theta, j0, j1, j2, j3, k, x0, x1, x2, x3):
    left = x0 * Theta[j0, k] + x1 * Theta[j1, k]
    return left + (x2 * Theta[j2, k] + x3 * Theta[j3, k])


#: Positions in CSR arrays are unsigned, which spares a check for negative indices on every access.
ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@functools.cache
def csr_advance_for(known_dim):
    """`dense_advance` for CSR rows and Θ of shape (width, dim); dim is `known_dim`, or any if 0.

    Rows of Θ are short: loops over a dimension known to the compiler are unrolled. Wide problems
    otherwise wait for memory, so while the rows of Θ that `row` touches are moved, those that
    `ahead` will read are prefetched.
    """

    @njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH)
    def csr_advance(data, indices, indptr, width, row, ahead, Theta, g, u, raw):
        dim = known_dim if known_dim > 0 else Theta.shape[1]
        quads = dim // 4 * 4
        start, stop = np.uint64(indptr[row]), np.uint64(indptr[row + 1])
        first, last = np.uint64(indptr[ahead]), np.uint64(indptr[ahead + 1])
        for t in range(start, stop):
            x, j, coming = u * data[t], np.uint64(indices[t]), first + (t - start)
            if coming < last:
                line = int64(indices[coming]) * dim
                prefetch(Theta, line)
                prefetch(Theta, line + dim - 1)
            for k in range(0, quads, 4):
                _add_four(Theta, j, k, x, g)
            for k in range(quads, dim):
                Theta[j, k] += x * g[k]
        intercept = Theta.shape[0] > width
        for k in range(dim):
            raw[k] = 0.0
            if intercept:
                Theta[width, k] += u * g[k]
                raw[k] = Theta[width, k]
        z_sq = 1.0 if intercept else 0.0
        blocked = first + (last - first) // FOUR * FOUR
        for t in range(first, blocked, FOUR):
            x0, x1, x2, x3 = data[t], data[t + ONE], data[t + TWO], data[t + THREE]
            j0, j1 = np.uint64(indices[t]), np.uint64(indices[t + ONE])
            j2, j3 = np.uint64(indices[t + TWO]), np.uint64(indices[t + THREE])
            z_sq += (x0 * x0 + x1 * x1) + (x2 * x2 + x3 * x3)
            for k in range(0, quads, 4):
                a = raw[k] + _dot(Theta, j0, j1, j2, j3, k, x0, x1, x2, x3)
                b = raw[k + 1] + _dot(Theta, j0, j1, j2, j3, k + 1, x0, x1, x2, x3)
                c = raw[k + 2] + _dot(Theta, j0, j1, j2, j3, k + 2, x0, x1, x2, x3)
                d = raw[k + 3] + _dot(Theta, j0, j1, j2, j3, k + 3, x0, x1, x2, x3)
                raw[k], raw[k + 1], raw[k + 2], raw[k + 3] = a, b, c, d
            for k in range(quads, dim):
                raw[k] += _dot(Theta, j0, j1, j2, j3, k, x0, x1, x2, x3)
        for t in range(blocked, last):
            x, j = data[t], np.uint64(indices[t])
            z_sq += x * x
            for k in range(dim):
                raw[k] += x * Theta[j, k]
        return z_sq

    return csr_advance


def epoch(
    data,
    indices,
    indptr,
    width,
    rows,
    truth,
    weight,
    Theta,
    state,
    params,
    work,
    scores,
    advance,
    mean,
    scale,
    step,
):
    """Learn `rows` in their order; stop before a row whose ‖x‖² is not finite.

    Each round: raw = Θx, s = scale(state, w‖x‖²), θ = s·raw, μ = mean(θ), g = μ − y,
    u = step(state, raw, g, ‖x‖², w), Θ ← Θ + u·g xᵀ. Where `scores` has rows, it receives every θ.
    Returns the place of the row that stopped it, or -1.
    """
    n, dim = truth.shape
    record = scores.shape[0] > 0
    raw, theta, y, g = np.empty(dim), np.empty(dim), np.empty(dim), np.zeros(dim)
    x_sq = advance(data, indices, indptr, width, rows[0], rows[0], Theta, g, 0.0, raw)
    for r in range(n):
        if not x_sq <= LARGEST:
            return r
        s = scale(state, weight[r] * x_sq)
        for k in range(dim):
            y[k] = truth[r, k]
            theta[k] = s * raw[k]
            if record:
                scores[r, k] = theta[k]
        mean(theta, y, g, params, work)
        for k in range(dim):
            g[k] -= y[k]
        u = step(state, raw, g, x_sq, weight[r])
        ahead = rows[min(r + 1, n - 1)]
        x_sq = advance(data, indices, indptr, width, rows[r], ahead, Theta, g, u, raw)
    return -1


def mean_rows(theta, truth, mu, values, params, work, mean):
    """One kernel over the rows of theta: writes every mean and conjugate value."""
    for i in range(theta.shape[0]):
        values[i] = mean(theta[i], truth[i], mu[i], params, work)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH)
def first_bad_row(data, indptr, width, n_rows):
    """First row whose squared norm is not finite, or -1. Dense rows have an empty `indptr`."""
    sparse = indptr.shape[0] > 0
    for i in range(n_rows):
        start = indptr[i] if sparse else i * width
        stop = indptr[i + 1] if sparse else start + width
        values, x_sq = data[start:stop], 0.0
        for t in range(values.shape[0]):
            x_sq += values[t] * values[t]
        if not x_sq <= LARGEST:
            return i
    return -1


_epoch_jit = njit(nogil=True, error_model="numpy")(epoch)
_mean_rows_jit = njit(nogil=True, error_model="numpy")(mean_rows)


@functools.cache
def _compiled_epoch():
    def epoch_at(
        data, indices, indptr, width, rows, truth, weight, Theta, state, params, work, scores, at
    ):
        advance, mean = as_advance(at[0]), as_mean(at[1])
        scale, step = as_scale(at[2]), as_step(at[3])
        arrays = (data, indices, indptr, width, rows, truth, weight, Theta)
        return _epoch_jit(*arrays, state, params, work, scores, advance, mean, scale, step)

    arrays = (READ_VECTOR, READ_INT32, READ_INT32, int64, READ_INT64, READ_MATRIX, READ_VECTOR)
    rest = (MATRIX, VECTOR, VECTOR, VECTOR, MATRIX, types.UniTuple(int64, 4))
    return compiled(int64(*arrays, *rest), epoch_at)


@functools.cache
def _compiled_mean_rows():
    def mean_rows_at(theta, truth, mu, values, params, work, at):
        _mean_rows_jit(theta, truth, mu, values, params, work, as_mean(at))

    arrays = (MATRIX, MATRIX, MATRIX, VECTOR, VECTOR, VECTOR)
    return compiled(void(*arrays, int64), mean_rows_at)


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
            return cls(X.data, indices, indptr, X.shape[1], X.shape[0])
        return cls(X.reshape(-1), EMPTY_INT32, EMPTY_INT32, X.shape[1], X.shape[0])

    @property
    def is_sparse(self):
        """Whether the rows are CSR."""
        return self.indptr.shape[0] > 0

    def first_bad(self):
        """Index of the first row that is not finite (or whose squared norm is not), or -1."""
        with np.errstate(over="ignore", invalid="ignore"):
            return first_bad_row(self.data, self.indptr, self.width, self.n_rows)


def run_epoch(rows, order, truth, weight, Theta, state, params, work, scores, kernels):
    """Learn ``order`` of `rows` with kernels (mean, scale, step); returns what `epoch` returns.

    Runs compiled when every kernel is a numba function, and interpreted otherwise.
    """
    dim = truth.shape[1]
    sparse_kernel = csr_advance_for(dim if dim <= LARGEST_KNOWN_DIM else 0)
    kernels = (sparse_kernel if rows.is_sparse else dense_advance, *kernels)
    arrays = (rows.data, rows.indices, rows.indptr, rows.width, order, truth, weight)
    arrays += (Theta, state, params, work, scores)
    if all(map(is_compiled, kernels)):
        at = tuple(map(address, kernels, (ADVANCE, MEAN, SCALE, STEP)))
        return _compiled_epoch()(*arrays, at)
    with np.errstate(over="ignore", invalid="ignore"):
        return epoch(*arrays, *kernels)


def run_mean_rows(kernel, theta, truth, params, work):
    """Means (n, dim) and conjugate values (n,) of the rows of theta."""
    mu, values = np.empty_like(theta), np.empty(theta.shape[0])
    if is_compiled(kernel):
        _compiled_mean_rows()(theta, truth, mu, values, params, work, address(kernel, MEAN))
    else:
        mean_rows(theta, truth, mu, values, params, work, kernel)
    return mu, values
