"""The compiled epoch: one loop over rows for every loss, optimiser and storage of X.

The learner's weights are ``W = s Θ``: the optimiser owns the scalar s, so that steps, projections
and bets never sweep over Θ. The sum of the weights played is ``(Σ w s) Θ + A``; see `average`.
"""

import functools
from typing import Any

import numpy as np
from numba import int64, types

from skstructured._engine.addresses import (
    LOSS,
    MATRIX,
    MOVE_AND_SCORE,
    READ_INT64,
    READ_MATRIX,
    READ_ROWS,
    READ_VECTOR,
    SCALE,
    STEP,
    VECTOR,
    address,
    as_loss,
    as_move_and_score,
    as_scale,
    as_step,
)
from skstructured._engine.arrays import Array, Floats, Kernel
from skstructured._engine.compiled import is_compiled, kernel
from skstructured._engine.move_and_score import WAITING, add_dense, fold
from skstructured._engine.rows import LONGEST_SQ, SHORTEST_SQ, Rows, in_range
from skstructured._engine.state import (
    CLOCK,
    DECAYS,
    FLUSH,
    RENEW,
    RENEWED,
    RESCALE,
    ROUNDS,
    SCALED_WEIGHT_SUM,
    WEIGHT_SUM,
    Call,
    LinearState,
    clear,
    renew_norm,
    share_of,
)

# A comparison with it, because numba's isfinite(x) is x − x = 0, which reordered sums fold to True.
LARGEST = np.finfo(np.float64).max

#: Rows learned at a time, by compiled and by interpreted loops.
BLOCK, SLOW_BLOCK = 4096, 64


def epoch(
    rows: Any,
    order: Array,
    truth: Array,
    weight: Floats,
    learned: Any,
    params: Floats,
    work: Floats,
    scores: Floats,
    kernels: tuple[Any, ...],
) -> int:
    """Learn `rows` in this order; stop before a row whose norm or scores are out of range.

    Each round: raw = Θx, s = scale(state, ‖x‖², w), θ = s·raw, g = ∇loss(θ; y),
    u = step(state, raw, g, ‖x‖², w), Θ ← Θ + u·g xᵀ and, where `average`, A ← A − u (Σ v s) g xᵀ
    (CSR: for the columns behind Θ). Losses are handed the rows of `work` in turn: one row, as
    scratch, or one per round, where a bandit finds its uniform number and leaves what it drew.
    Where `scores` has rows, it receives every θ. Returns the place of the row that stopped it, or
    -1.
    """
    (data, indices, indptr, width), (Theta, A, average, state) = rows, learned
    move_and_score, loss = as_move_and_score(kernels[0]), as_loss(kernels[1])
    scale, step = as_scale(kernels[2]), as_step(kernels[3])
    n, dim = truth.shape
    record, dense, turns = scores.shape[0] > 0, indptr.shape[0] == 0, work.shape[0] > 1
    waiting, together = average and dense, average and not dense
    uniform = state[DECAYS] == 0.0
    raw, theta, y = np.empty(dim), np.empty(dim), np.empty(dim)
    move = np.empty(2 * dim if together else dim)
    clear(move)
    own = (dim, Theta.shape[1]) if dense else (Theta.shape[0], dim)
    g, terms = move[:dim], np.empty((WAITING if waiting else 0, dim))
    start, stopped, first, w, scratch = 0, -1, order[0], weight[0], work[0]
    x_sq = move_and_score(
        data, indices, indptr, width, first, first, Theta, state, move, 0.0, w, raw
    )
    for r in range(n):
        if not in_range(x_sq, SHORTEST_SQ, LONGEST_SQ):
            stopped = r
            break
        w = weight[r]
        s = scale(state, x_sq, w)
        share = w if uniform else share_of(state, w)
        size = abs(state[SCALED_WEIGHT_SUM] + share * s)
        for k in range(dim):
            y[k] = truth[r, k]
            theta[k] = s * raw[k]
            size += abs(theta[k])
            if record:
                scores[r, k] = theta[k]
        if not size <= LARGEST:
            stopped = r
            break
        if turns:
            scratch = work[r]
        loss(theta, y, g, params, scratch)
        state[SCALED_WEIGHT_SUM] += share * s
        state[WEIGHT_SUM] += share
        state[CLOCK] += w
        state[ROUNDS] += 1.0
        u = step(state, raw, g, x_sq, w)
        if state[RESCALE] != 1.0 or (average and state[FLUSH] > 0.0):
            if waiting:
                add_dense(data, width, order[start:r], terms, A)
                start = r
            fold(Theta, A, dim, dense, average, state[RESCALE], state[SCALED_WEIGHT_SUM])
            state[RESCALE], state[SCALED_WEIGHT_SUM], state[FLUSH] = 1.0, 0.0, 0.0
        if waiting:
            for k in range(dim):
                terms[r - start, k] = -u * state[SCALED_WEIGHT_SUM] * g[k]
            if r + 1 - start == WAITING:
                add_dense(data, width, order[start : r + 1], terms, A)
                start = r + 1
        if together:
            for k in range(dim):
                move[dim + k] = -state[SCALED_WEIGHT_SUM] * g[k]
        after = min(r + 1, n - 1)
        row, ahead, w = order[r], order[after], weight[after]
        x_sq = move_and_score(
            data, indices, indptr, width, row, ahead, Theta, state, move, u, w, raw
        )
        if state[RENEWED] + 1.0 < RENEW:
            state[RENEWED] += 1.0
        else:
            renew_norm(state, Theta, *own)
    if waiting:
        add_dense(data, width, order[start : n if stopped < 0 else stopped], terms, A)
    return stopped


def signature_of(*more: Any) -> Any:
    """The signature of loops over rows, `more` behind the scores."""
    arrays = (READ_ROWS, READ_INT64, READ_MATRIX, READ_VECTOR)
    learned = types.Tuple((MATRIX, MATRIX, types.boolean, VECTOR))
    return int64(*arrays, learned, VECTOR, MATRIX, MATRIX, *more, types.UniTuple(int64, 4))


@functools.cache
def _compiled(ahead: bool) -> Kernel:
    if ahead:
        return kernel(
            ahead_of(_compiled(False)), signature=signature_of(READ_VECTOR, types.boolean)
        )
    return kernel(epoch, signature=signature_of())


def bound_kernels(kernels: tuple[Kernel, ...]) -> tuple[int, ...] | None:
    """Addresses of the kernels (move and score, loss, scale, step); None for interpreted ones."""
    if not all(map(is_compiled, kernels)):
        return None
    return tuple(map(address, kernels, (MOVE_AND_SCORE, LOSS, SCALE, STEP)))


def epoch_for(kernels: tuple[Kernel, ...], ahead: bool = False) -> tuple[Kernel, int]:
    """The epoch with kernels (move and score, loss, scale, step), and how many rows it takes.

    It takes ``(rows, order, truth, weight, state, params, work, scores)``, with `Rows` and
    `LinearState`, and returns the `Call` that learns; `ahead` is that of `ahead_of`, which takes
    `before` and `averaged` behind `scores`. Compiled, here and now, when every kernel is a numba
    function; interpreted otherwise, with fewer rows.
    """
    at = bound_kernels(kernels)
    if at is not None:
        return functools.partial(call_of, _compiled(ahead), at), BLOCK
    loop = ahead_of(epoch) if ahead else epoch
    return functools.partial(call_of, quiet(loop), kernels), SLOW_BLOCK


def quiet(loop: Kernel) -> Kernel:
    """An interpreted loop without numpy's warnings, which compiled ones do not have."""
    return np.errstate(over="ignore", invalid="ignore")(loop)


def call_of(
    loop: Kernel,
    kernels: tuple[Any, ...],
    rows: Rows,
    order: Array,
    truth: Array,
    weight: Floats,
    state: LinearState,
    *rest: Any,
) -> Call:
    """A loop over rows, and the arrays of its arguments."""
    return loop, rows.arrays, order, truth, weight, state.learned, *rest, kernels


@kernel
def dense_scores(z: Array, Theta: Array, theta: Floats) -> None:
    """Θz, of rows with an intercept where Θ has one more column."""
    for k in range(theta.shape[0]):
        total = 0.0
        for j in range(z.shape[0]):
            total += Theta[k, j] * z[j]
        if Theta.shape[1] > z.shape[0]:
            total += Theta[k, z.shape[0]]
        theta[k] = total


@kernel
def csr_scores(
    z: Array, columns: Array, width: int, Theta: Array, first: int, theta: Floats
) -> None:
    """Θz of the columns of Θ from `first` on."""
    theta[:] = 0.0
    for t in range(z.shape[0]):
        for k in range(theta.shape[0]):
            theta[k] += Theta[columns[t], first + k] * z[t]
    if Theta.shape[0] > width:
        for k in range(theta.shape[0]):
            theta[k] += Theta[width, first + k]


def ahead_of(learn: Kernel) -> Kernel:
    """The loop that scores a row, and then lets an epoch of one row, `learn`, learn it."""

    def ahead(
        rows: Any,
        order: Array,
        truth: Array,
        weight: Floats,
        learned: Any,
        params: Floats,
        work: Floats,
        scores: Floats,
        before: Array,
        averaged: bool,
        kernels: tuple[Any, ...],
    ) -> int:
        """As `epoch`; `scores` are those of the rows in `before`, which replaces `data` there.

        ``s Θz``, s that of a round of weight 0; `averaged`: ``((Σ v s) Θz + Az)/Σ v``.
        """
        (_, indices, indptr, width), (Theta, A, _, state) = rows, learned
        dim, dense, none = truth.shape[1], indptr.shape[0] == 0, scores[:0]
        scale, now, sums = as_scale(kernels[2]), np.empty_like(state), np.empty(dim)
        for r in range(truth.shape[0]):
            row, theta, one = order[r], scores[r], slice(r, r + 1)
            first = row * width if dense else indptr[row]
            last = first + width if dense else indptr[row + 1]
            z, columns = before[first:last], indices[first:last]
            if dense:
                dense_scores(z, Theta, theta)
            else:
                csr_scores(z, columns, width, Theta, 0, theta)
            if averaged:
                if dense:
                    dense_scores(z, A, sums)
                else:
                    csr_scores(z, columns, width, Theta, dim, sums)
                total = max(state[WEIGHT_SUM], 1e-300)
                for k in range(dim):
                    theta[k] = (state[SCALED_WEIGHT_SUM] * theta[k] + sums[k]) / total
            else:
                now[:] = state
                s = scale(now, 0.0, 0.0)
                for k in range(dim):
                    theta[k] *= s
            given = (order[one], truth[one], weight[one])
            if learn(rows, *given, learned, params, work, none, kernels) >= 0:
                return r
        return -1

    return ahead
