"""Row primitives: move the weights by one row and score the next, in one sweep.

Dense rows keep Θ as (dim, width), CSR rows as (width, dim): a score then reads contiguous memory
in both. An intercept is one more column (row) of Θ. Columns (rows) of Θ behind the first dim are
sums of the weights played; see `average`.
"""

import functools
from typing import Any

import numpy as np
from numba import int64

from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.simd import add_row, prefetch
from skstructured._engine.state import MixtureTotal, axpy, clear, copy_into
from skstructured._engine.types import Array, Floats, Kernel

#: CSR kernels are compiled for each dimension up to this one.
LARGEST_KNOWN_DIM = 32


def _move_and_score_arrays(
    data: Floats, indices: Array, indptr: Array, width: int, row: int, ahead: int,
    Theta: Floats, state: Floats, move: Floats, u: float, weight: float, raw: Floats,
) -> Any:  # fmt: skip
    x = data[row * width : (row + 1) * width]
    z = data[ahead * width : (ahead + 1) * width]
    W, factors = Theta[: len(raw)], u * move[: len(raw)]
    W[:, :width] += factors[:, None] * x
    raw[:] = W[:, :width] @ z
    if W.shape[1] == width:
        return z @ z
    W[:, width] += factors
    raw += W[:, width]
    return 1.0 + z @ z


@kernel(fastmath=FASTMATH, steps=0.01, python=_move_and_score_arrays)
def dense_move_and_score(
    data, indices, indptr, width, row, ahead, Theta, state, move, u, weight, raw
):
    """Θ ← Θ + u move xᵀ for dense `row`, then raw = Θz for dense row `ahead`, in one sweep over Θ.

    Returns ``‖z‖²``, the intercept's 1 included. A first score is the same sweep with u = 0, so
    chunks have the bits of one pass.
    """
    x = data[row * width : (row + 1) * width]
    z = data[ahead * width : (ahead + 1) * width]
    intercept = Theta.shape[1] > width
    z_sq = 1.0 if intercept else 0.0
    for j in range(width):
        z_sq += z[j] * z[j]
    for k in range(raw.shape[0]):
        theta, c, total = Theta[k], u * move[k], 0.0
        for j in range(width):
            moved = theta[j] + c * x[j]
            theta[j] = moved
            total += moved * z[j]
        raw[k] = total
    if intercept:
        for k in range(raw.shape[0]):
            Theta[k, width] += u * move[k]
            raw[k] += Theta[k, width]
    return z_sq


def _scores_of_array(Theta: Floats, z: Floats, raw: Floats) -> None:
    width, rows = len(z), len(raw)
    raw[:] = Theta[:rows, :width] @ z
    if Theta.shape[1] > width:
        raw += Theta[:rows, width]


@kernel(fastmath=FASTMATH, python=_scores_of_array)
def scores_of_dense(Theta, z, raw):
    """Raw scores Θz of one dense row, and the intercepts behind the features."""
    width = z.shape[0]
    for k in range(raw.shape[0]):
        total = 0.0
        for j in range(width):
            total += Theta[k, j] * z[j]
        raw[k] = total + Theta[k, width] if Theta.shape[1] > width else total


@kernel
def scores_of_row(data, indices, indptr, width, row, Theta, raw):
    """Θz of a row, of all rows of Θ, or of its columns if rows are CSR."""
    if indptr.shape[0] == 0:
        scores_of_dense(Theta, data[row * width : (row + 1) * width], raw)
        return
    clear(raw)
    if Theta.shape[0] > width:
        copy_into(raw, Theta[width])
    for t in range(indptr[row], indptr[row + 1]):
        axpy(raw, data[t], Theta[indices[t]])


def with_feature_subset(totals: Floats, dim: int, experts: int, near: int, features: int) -> Floats:
    """Totals of a mixture of `experts`, the last `near` of which read the first features."""
    return np.append(totals, [experts * dim, (experts - near) * dim, features, 0.0])


def _move_arrays(
    Theta: Floats, x: Floats, z: Floats, u: float, move: Floats, raw: Floats, start: int, stop: int
) -> None:
    W = Theta[start:stop, : len(x)]
    W += (u * move[start:stop])[:, None] * x
    raw[start:stop] = W @ z


@kernel(fastmath=FASTMATH, python=_move_arrays)
def move_pairs(Theta, x, z, u, move, raw, start, stop):
    """Θ ← Θ + u move xᵀ, then raw = Θz, for rows of Θ from `start` to `stop`, two at a time."""
    width = x.shape[0]
    for k in range(start, stop, 2):
        after = min(k + 1, stop - 1)
        theta, other = Theta[k], Theta[after]
        c, d, total, sum_ = u * move[k], u * move[after], 0.0, 0.0
        if after == k:
            for j in range(width):
                moved = theta[j] + c * x[j]
                theta[j] = moved
                total += moved * z[j]
        else:
            for j in range(width):
                moved, also = theta[j] + c * x[j], other[j] + d * x[j]
                theta[j], other[j] = moved, also
                total += moved * z[j]
                sum_ += also * z[j]
            raw[after] = sum_
        raw[k] = total


@kernel(fastmath=FASTMATH, steps=0.01)
def dense_move_and_score_pairs(
    data, indices, indptr, width, row, ahead, Theta, state, move, u, weight, raw
):
    """`dense_move_and_score` of many rows of Θ, two at a time, which read x and z once.

    Some of the experts may read only the first features: `state` has these, and gets their ‖z‖².
    """
    x = data[row * width : (row + 1) * width]
    z = data[ahead * width : (ahead + 1) * width]
    intercept, has_near = Theta.shape[1] > width, state.shape[0] > MixtureTotal.SUBSET_SQ
    block_size, first, near = raw.shape[0], raw.shape[0], width
    if has_near:
        block_size = int(state[MixtureTotal.SUBSET_BLOCK])
        first = int(state[MixtureTotal.SUBSET_START])
        near = int(state[MixtureTotal.SUBSET_WIDTH])
    z_sq = 1.0 if intercept else 0.0
    for j in range(near):
        z_sq += z[j] * z[j]
    if has_near:
        state[MixtureTotal.SUBSET_SQ] = z_sq
    for j in range(near, width):
        z_sq += z[j] * z[j]
    for start in range(0, raw.shape[0], block_size):
        move_pairs(Theta, x, z, u, move, raw, start, start + first)
        if first < block_size:
            move_pairs(Theta, x[:near], z[:near], u, move, raw, start + first, start + block_size)
    if intercept:
        for k in range(raw.shape[0]):
            Theta[k, width] += u * move[k]
            raw[k] += Theta[k, width]
    return z_sq


@kernel
def _count_lines(length, stride):
    """The most cache lines that the first `length` entries of an aligned Θ's rows lie in."""
    return (15 - min(stride & -stride, 8) + length) // 8


@kernel
def prefetch_row(Theta, start, first_line, length, stride):
    """Request the cache lines of a row's first `length` entries, from `first_line` on."""
    for line in range(first_line, _count_lines(length, stride) - 1):
        prefetch(Theta, start + 8 * line)
    prefetch(Theta, start + length - 1)


@kernel(fastmath=FASTMATH)
def _score_csr(data, indices, first, last, Theta, stride, raw, dim):
    """Raw ← raw + Θz and ‖z‖², four entries of z at a time; requests the sums behind Θ."""
    # Unsigned positions spare a check for negative indices on every access.
    four = np.uint64(4)
    z_sq, blocked = 0.0, first + (last - first) // four * four
    for t in range(first, blocked, four):
        t1, t2, t3 = t + np.uint64(1), t + np.uint64(2), t + np.uint64(3)
        x0, x1, x2, x3 = data[t], data[t1], data[t2], data[t3]
        j0, j1 = int64(indices[t]) * stride, int64(indices[t1]) * stride
        j2, j3 = int64(indices[t2]) * stride, int64(indices[t3]) * stride
        z_sq += (x0 * x0 + x1 * x1) + (x2 * x2 + x3 * x3)
        add_row(raw, 0, (x0, x1, x2, x3), Theta, (j0, j1, j2, j3), dim)
        if stride > dim:
            for j in (j0, j1, j2, j3):
                prefetch_row(Theta, j, _count_lines(dim, stride), stride, stride)
    for t in range(blocked, last):
        z_sq += data[t] * data[t]
        add_row(raw, 0, (data[t],), Theta, (int64(indices[t]) * stride,), dim)
    return z_sq


def _csr_arrays(
    data: Floats, indices: Array, indptr: Array, width: int, row: int, ahead: int,
    Theta: Floats, state: Floats, move: Floats, u: float, weight: float, raw: Floats,
) -> Any:  # fmt: skip
    dim, entries = len(raw), slice(indptr[row], indptr[row + 1])
    move = u * move[: Theta.shape[1]]
    np.add.at(Theta, indices[entries], data[entries, None] * move)
    entries = slice(indptr[ahead], indptr[ahead + 1])
    x = data[entries]
    raw[:] = x @ Theta[indices[entries], :dim]
    if len(Theta) == width:
        return x @ x
    Theta[width] += move
    raw += Theta[width, :dim]
    return 1.0 + x @ x


@functools.cache
def csr_move_and_score_for(known_dim: int, known_stride: int) -> Kernel:
    """`dense_move_and_score` for CSR rows: moves all columns of Θ and scores with the first dim.

    Loops over lengths known to the compiler (`known_dim` and `known_stride`, or any if 0) are
    unrolled. The weights that `ahead` reads are prefetched while `row` is moved, and those that
    move with it while it is scored.
    """

    @kernel(fastmath=FASTMATH, steps=0.1, python=_csr_arrays)
    def csr_move_and_score(
        data, indices, indptr, width, row, ahead, Theta, state, move, u, weight, raw
    ):
        dim = known_dim if known_dim > 0 else raw.shape[0]
        stride = known_stride if known_stride > 0 else Theta.shape[1]
        start, stop = np.uint64(indptr[row]), np.uint64(indptr[row + 1])
        first, last = np.uint64(indptr[ahead]), np.uint64(indptr[ahead + 1])
        for t in range(start, stop):
            coming = first + (t - start)
            if coming < last:
                prefetch_row(Theta, int64(indices[coming]) * stride, 0, dim, stride)
            add_row(Theta, int64(indices[t]) * stride, (u * data[t],), move, (0,), stride)
        raw[:] = 0.0
        z_sq = 0.0
        if Theta.shape[0] > width:
            z_sq = 1.0
            add_row(Theta, width * stride, (u,), move, (0,), stride)
            add_row(raw, 0, (1.0,), Theta, (width * stride,), dim)
        return z_sq + _score_csr(data, indices, first, last, Theta, stride, raw, dim)

    return csr_move_and_score


def move_and_score_kernel(dim: int, sparse: bool, average: bool = False) -> Kernel:
    """The primitive for rows of one storage and scores of length `dim`, with averages or not."""
    if not sparse:
        return dense_move_and_score
    static_dim = dim if dim <= LARGEST_KNOWN_DIM else 0
    return csr_move_and_score_for(static_dim, 2 * static_dim if average else static_dim)


#: Dense rows wait in blocks this long: they are still in cache when their terms are added.
WAITING_ROWS = 48


def _add_rows_of_array(data: Floats, width: int, rows: Array, terms: Floats, A: Floats) -> None:
    factors = terms[: len(rows)].T
    A[:, :width] += factors @ data.reshape(-1, width)[rows]
    if A.shape[1] > width:
        A[:, width] += factors.sum(axis=1)


@kernel(fastmath={"contract"}, python=_add_rows_of_array)
def add_dense_rows(data, width, rows, terms, A):
    """A ← A + Σ_r terms_r x_rᵀ, three rows to a sweep over A."""
    dim, n = terms.shape[1], rows.shape[0]
    for r in range(0, n, 3):
        after, other = min(r + 1, n - 1), min(r + 2, n - 1)  # those behind the last count 0
        x = data[rows[r] * width : (rows[r] + 1) * width]
        y = data[rows[after] * width : (rows[after] + 1) * width]
        z = data[rows[other] * width : (rows[other] + 1) * width]
        for k in range(dim):
            a, c = A[k], terms[r, k]
            d, e = terms[after, k] if after > r else 0.0, terms[other, k] if other > after else 0.0
            for j in range(width):
                a[j] = ((a[j] + c * x[j]) + d * y[j]) + e * z[j]
    if A.shape[1] > width:
        for r in range(n):
            for k in range(dim):
                A[k, width] += terms[r, k]
