"""The compiled epoch of a mixture: many experts move by each row, and are played as one.

Every expert has weights ``W = s Θ`` and a vector of its own, as the learner of `epoch` has; their
Θ stand below each other in one array, and behind them the sums of their averages, so that one sweep
moves all of them and scores the next row.
"""

import functools
from typing import Any

import numpy as np
from numba import float64, int64, types

from skstructured._engine.addresses import (
    CUBE,
    LOSS,
    MATRIX,
    MOVE_AND_SCORE,
    READ_CUBE,
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
    function_at,
)
from skstructured._engine.arrays import Array, Floats, Kernel
from skstructured._engine.compiled import FASTMATH, is_compiled, kernel
from skstructured._engine.experts import (
    fold_expert,
    learn_shares,
    less_truth,
    means_of,
    renew_expert,
    score_experts,
    settle_step,
    squares_of,
)
from skstructured._engine.mixing import SCORES, mix, temper_for
from skstructured._engine.moments import INVERSE, MEAN, standardize_rows
from skstructured._engine.rounds import BLOCK, LARGEST, SLOW_BLOCK, quiet
from skstructured._engine.rows import LONGEST_SQ, SHORTEST_SQ, Rows, in_range
from skstructured._engine.state import (
    FLUSH,
    RENEW,
    RENEWED,
    RESCALE,
    SCALED_WEIGHT_SUM,
    Call,
    MixtureState,
    copy_into,
)


def mixture_epoch(
    rows: Any,
    order: Array,
    truth: Array,
    weight: Floats,
    learned: Any,
    inner: float,
    params: Floats,
    work: Floats,
    scores: Floats,
    kernels: tuple[Any, ...],
    scales: Any,
    steps: Any,
) -> int:
    """Learn `rows` in this order; stop before a row whose norm or scores are out of range.

    Each round: raw = Θz of all experts at once; θ_e = s_e raw_e, and θ of its average
    ((Σ v s)_e raw_e + A_e z)/Σ v; its mean, or where scores are mixed its loss, less <θ, y> where
    `inner`; what is played, by `mix`; the weights of the experts; then every Θ_e ← Θ_e + u_e g_e xᵀ
    and A_e ← A_e − u_e (Σ v s)_e g_e xᵀ. Where `scores` has rows, it receives what is played.
    Returns the place of the row that stopped it, or -1.
    """
    data, indices, indptr, width = rows
    Theta, averaged, vectors, shares, rates, totals, sums, kind = learned
    move_and_score, loss = as_move_and_score(kernels[0]), as_loss(kernels[1])
    n, dim = truth.shape
    few, record = vectors.shape[0], scores.shape[0] > 0
    experts = 2 * few if averaged else few
    dense = indptr.shape[0] == 0
    raw, move = np.empty(experts * dim), np.zeros(experts * dim)
    theta, g = np.empty((experts, dim)), np.empty((experts, dim))
    y, losses, v, s = np.empty(dim), np.empty(experts), np.empty(experts), np.empty(few)
    squares = np.empty(few)
    first, w, stopped = order[0], weight[0], -1
    x_sq = move_and_score(
        data, indices, indptr, width, first, first, Theta, totals, move, 0.0, w, raw
    )
    for r in range(n):
        if not in_range(x_sq, SHORTEST_SQ, LONGEST_SQ):
            stopped = r
            break
        w = weight[r]
        squares_of(totals, x_sq, squares)
        size = score_experts(vectors, scales, raw, squares, w, averaged, theta, s)
        if not size <= LARGEST:
            stopped = r
            break
        for k in range(dim):
            y[k] = truth[r, k]
        if kind != SCORES:
            means_of(kind, theta, g)
            temper_for(shares, totals, w)
        else:
            for b in range(experts):
                losses[b] = loss(theta[b], y, g[b], params, work)
                for k in range(dim):
                    losses[b] -= inner * theta[b, k] * y[k]
        if record:
            mix(kind, shares, theta, g, v, scores[r])
        if w > 0.0:
            learn_shares(kind, shares, rates, totals, g, y, w, losses, sums)
        if kind != SCORES:  # means become gradients
            less_truth(g, y)
        for e in range(few):
            own = raw[e * dim : (e + 1) * dim]
            u = settle_step(vectors[e], steps[e], own, g[e], squares[e], w, s[e])
            if vectors[e, RESCALE] != 1.0 or (averaged and vectors[e, FLUSH] > 0.0):
                fold_expert(Theta, dim, dense, averaged, e, few, vectors[e])
            for k in range(dim):
                move[e * dim + k] = u * g[e, k]
                if averaged:
                    move[(few + e) * dim + k] = -u * vectors[e, SCALED_WEIGHT_SUM] * g[e, k]
        after = min(r + 1, n - 1)
        x_sq = move_and_score(
            data, indices, indptr, width, order[r], order[after], Theta, totals, move, 1.0, w, raw
        )
        for e in range(few):
            if vectors[e, RENEWED] + 1.0 < RENEW:
                vectors[e, RENEWED] += 1.0
            else:
                renew_expert(vectors[e], Theta, dim, dense, e)
    return stopped


#: Θ, whether averages are experts, the experts' vectors, their weights, rates of sharing, totals,
#: sums of losses, and what is mixed: see `MixtureState.learned`.
LEARNED = types.Tuple((MATRIX, types.boolean, MATRIX, CUBE, VECTOR, VECTOR, VECTOR, int64))


def signature_of(*more: Any) -> Any:
    """The signature of loops over rows, `more` behind the scores."""
    arrays = (READ_ROWS, READ_INT64, READ_MATRIX, READ_VECTOR, LEARNED)
    rest = (float64, VECTOR, VECTOR, MATRIX)
    kernels = (types.UniTuple(int64, 2), READ_INT64, READ_INT64)
    return int64(*arrays, *rest, *more, *kernels)


@functools.cache
def _compiled(ahead: bool = False) -> Kernel:
    if ahead:
        loop = mixture_ahead_of(_compiled())
        return kernel(loop, signature=signature_of(READ_VECTOR, types.boolean))
    return kernel(mixture_epoch, signature=signature_of())


def bound_kernels(
    kernels: tuple[Kernel, ...], experts: list[tuple[Kernel, Kernel]]
) -> tuple[Any, ...] | None:
    """Addresses of the kernels, of all scales, of all steps; None for interpreted ones."""
    if not (all(map(is_compiled, kernels)) and experts_are_compiled(experts)):
        return None
    return tuple(map(address, kernels, (MOVE_AND_SCORE, LOSS))), *steps_of(experts)


def experts_are_compiled(experts: list[tuple[Kernel, Kernel]]) -> bool:
    """Whether the scale and the step of every expert are."""
    return all(is_compiled(kernel) for pair in experts for kernel in pair)


def steps_of(experts: list[tuple[Kernel, Kernel]]) -> tuple[Any, Any]:
    """All scales and all steps as the kernels of `experts` take them, compiled or not.

    These are compiled also where the loss, and so the loop, is not.
    """
    if not experts_are_compiled(experts):
        return [scale for scale, _ in experts], [step for _, step in experts]
    at = [(address(scale, SCALE), address(step, STEP)) for scale, step in experts]
    return np.array([scale for scale, _ in at]), np.array([step for _, step in at])


def mixture_epoch_for(
    kernels: tuple[Kernel, ...],
    experts: list[tuple[Kernel, Kernel]],
    inner: float,
    ahead: bool = False,
) -> tuple[Kernel, int]:
    """The epoch with kernels (move and score, loss) and pairs (scale, step) of the experts.

    As `skstructured._engine.rounds.epoch_for`, and called like that, with a `MixtureState`.
    """
    at = bound_kernels(kernels, experts)
    if at is not None:
        return functools.partial(call_of, _compiled(ahead), at, inner), BLOCK
    given, loop = (kernels, *steps_of(experts)), mixture_epoch
    loop = mixture_ahead_of(loop) if ahead else loop
    return functools.partial(call_of, quiet(loop), given, inner), SLOW_BLOCK


def call_of(
    loop: Kernel,
    kernels: tuple[Any, ...],
    inner: float,
    rows: Rows,
    order: Array,
    truth: Array,
    weight: Floats,
    state: MixtureState,
    params: Floats,
    work: Floats,
    *rest: Any,
) -> Call:
    """A loop over rows, and the arrays of its arguments."""
    given = (rows.arrays, order, truth, weight, state.learned)
    return loop, *given, inner, params, work[0], *rest, *kernels


@kernel
def without_averages(shares: Floats, few: int, out: Floats) -> None:
    """Weights (groups, R, N) of the experts that are no averages, the first `few`, to sum 1."""
    out[:] = 0.0
    for group in range(shares.shape[0]):
        total = 0.0
        for r in range(shares.shape[1]):
            for e in range(few):
                total += shares[group, r, e]
        for r in range(shares.shape[1]):
            for e in range(few):
                out[group, r, e] = shares[group, r, e] / (total if total > 0.0 else 1.0)


def mixture_ahead_of(learn: Kernel) -> Kernel:
    """The loop that scores a row, and then lets an epoch of one row, `learn`, learn it."""

    def ahead(
        rows: Any,
        order: Array,
        truth: Array,
        weight: Floats,
        learned: Any,
        inner: float,
        params: Floats,
        work: Floats,
        scores: Floats,
        before: Array,
        averaged: bool,
        kernels: tuple[Any, ...],
        scales: Any,
        steps: Any,
    ) -> int:
        """As `mixture_epoch`; `scores` are those of the rows in `before`, in the place of `data`.

        By the experts and, where `averaged`, by their averages, at a weight of 0.
        """
        _, indices, indptr, width = rows
        Theta, average, vectors, shares, _, totals, _, kind = learned
        move_and_score = as_move_and_score(kernels[0])
        few, dim, none = vectors.shape[0], truth.shape[1], scores[:0]
        experts = 2 * few if average else few
        raw, still = np.empty(experts * dim), np.zeros(experts * dim)
        theta, means = np.empty((experts, dim)), np.empty((experts, dim))
        v, s, none_sq, now = np.empty(experts), np.empty(few), np.zeros(few), np.empty_like(vectors)
        by_last = np.empty_like(shares)
        for r in range(truth.shape[0]):
            one, row = slice(r, r + 1), order[r]
            places = (indices, indptr, width, row, row)
            move_and_score(before, *places, Theta, totals, still, 0.0, 0.0, raw)
            now[:] = vectors
            score_experts(now, scales, raw, none_sq, 0.0, average, theta, s)
            if kind != SCORES:
                means_of(kind, theta, means)
            counted = shares
            if average and not averaged:
                without_averages(shares, few, by_last)
                counted = by_last
            mix(kind, counted, theta, means, v, scores[r])
            given = (order[one], truth[one], weight[one], learned, inner, params, work, none)
            if learn(rows, *given, kernels, scales, steps) >= 0:
                return r
        return -1

    return ahead


#: Returned for rows out of range, or with gaps: nothing was done.
REFUSED = -2

_COUNT = (MATRIX, VECTOR, types.boolean, types.boolean, MATRIX, MATRIX)
STANDARDIZE = types.FunctionType(
    types.void(READ_VECTOR, int64, READ_INT64, READ_VECTOR, *_COUNT)  # see `standardize_rows`
)
EPOCH = types.FunctionType(signature_of())

as_standardize, as_epoch = map(function_at, (STANDARDIZE, EPOCH))


def learn_row(
    standardize: Any,
    epoch: Any,
    kernels: tuple[Any, ...],
    scales: Any,
    steps: Any,
    inner: float,
    intercept: float,
    longest_sq: float,
    x: Floats,
    truth: Floats,
    weight: Floats,
    scale: Any,
    learned: Any,
) -> int:
    """Learn the row x (1, p); -1, or 0 where it stops the epoch and is not counted, or `REFUSED`.

    `intercept` is 1 where there is one, `scale` what `standardize_rows` is told of statistics.
    """
    (statistics, counts, centred, divided), empty = scale, np.empty(0, dtype=np.int32)
    width, x_sq = x.shape[1], intercept
    for j in range(width):
        x_sq += x[0, j] * x[0, j]
    if not x_sq <= longest_sq:
        return REFUSED
    first, nothing = np.zeros(1, dtype=np.int64), np.empty(0)
    z, before = np.empty((1, width)), np.empty(statistics.size)
    copy_into(before, statistics.reshape(-1))
    counted, recent = counts[0], counts[1]
    none = np.empty((0, truth.shape[1]))
    as_standardize(standardize)(
        x[0], width, first, weight, statistics, counts, centred, divided, z, none
    )
    row, rest = (z[0], empty, empty, width), (inner, nothing, nothing, none)
    stopped = as_epoch(epoch)(row, first, truth, weight, learned, *rest, kernels, scales, steps)
    if stopped >= 0:
        copy_into(statistics.reshape(-1), before)
        counts[0], counts[1] = counted, recent
    return stopped


@functools.cache
def _compiled_learn_row() -> Kernel:
    loops = (int64, int64, types.UniTuple(int64, 2), READ_INT64, READ_INT64, float64)
    row = (float64, float64, READ_MATRIX, READ_MATRIX, READ_VECTOR)
    scale = types.Tuple((MATRIX, VECTOR, types.boolean, types.boolean))
    return kernel(learn_row, signature=int64(*loops, *row, scale, LEARNED))


def learn_row_for(
    kernels: tuple[Kernel, ...], experts: list[tuple[Kernel, Kernel]], inner: float
) -> Kernel | None:
    """`learn_row` with the kernels of `mixture_epoch_for`, for log-losses; None if interpreted."""
    at = bound_kernels(kernels, experts)
    if at is None:
        return None
    loops = address(standardize_rows, STANDARDIZE), address(_compiled(), EPOCH)
    return functools.partial(_compiled_learn_row(), *loops, *at, inner)


def play_rows(
    scales: Any,
    kind: int,
    raw: Floats,
    vectors: Floats,
    averaged: bool,
    shares: Floats,
    played: Floats,
) -> None:
    """Scores `played` (n, dim) at raw scores Θz (n, N dim) of rows as standardised."""
    n, dim = played.shape
    experts = shares.shape[2]
    theta, means = np.empty((experts, dim)), np.empty((experts, dim))
    few = vectors.shape[0]
    v, s, now = np.empty(experts), np.empty(few), np.empty_like(vectors)
    squares = np.zeros(few)
    for e in range(few):  # optimisers may note what they see in them
        copy_into(now[e], vectors[e])
    for i in range(n):
        score_experts(now, scales, raw[i], squares, 0.0, averaged, theta, s)
        if kind != SCORES:
            means_of(kind, theta, means)
        mix(kind, shares, theta, means, v, played[i])


@kernel(fastmath=FASTMATH)
def scores_of_row(Theta: Floats, z: Floats, intercept: bool, raw: Floats) -> None:
    """Raw scores Θz, and the intercepts behind the features."""
    width = z.shape[0]
    for k in range(Theta.shape[0]):
        total = 0.0
        for j in range(width):
            total += Theta[k, j] * z[j]
        raw[k] = total + Theta[k, width] if intercept else total


def play_row(
    loss: Any,
    scales: Any,
    kind: int,
    intercept: bool,
    averaged: bool,
    longest_sq: float,
    x: Floats,
    statistics: Floats,
    Theta: Floats,
    vectors: Floats,
    shares: Floats,
    out: Floats,
) -> bool:
    """Scores and means, `out` (2, dim), at the one row x (1, p) as it was given.

    The row is standardised as for predictions, scored by all experts, and played as one. Returns
    whether the row, and what is played at it, are finite and in range; else `out` is not to be
    read.
    """
    z, x_sq = np.empty(x.shape[1]), 0.0
    for j in range(z.shape[0]):
        x_sq += x[0, j] * x[0, j]
        scaled = (x[0, j] - statistics[MEAN, j]) * statistics[INVERSE, j]
        z[j] = scaled if scaled == scaled else 0.0
    if not x_sq <= longest_sq:
        return False
    few, experts, dim = vectors.shape[0], shares.shape[2], out.shape[1]
    theta, means = np.empty((experts, dim)), np.empty((experts, dim))
    v, s, now, raw = np.empty(experts), np.empty(few), np.empty_like(vectors), np.empty(len(Theta))
    for e in range(few):  # optimisers may note what they see in them
        copy_into(now[e], vectors[e])
    scores_of_row(Theta, z, intercept, raw)
    score_experts(now, scales, raw, np.zeros(few), 0.0, averaged, theta, s)
    means_of(kind, theta, means)
    mix(kind, shares, theta, means, v, out[0])
    size, nothing = 0.0, np.zeros(dim)
    for k in range(dim):
        size += out[0, k] * out[0, k]
    as_loss(loss)(out[0], nothing, out[1], nothing, nothing)
    return size < np.inf


@functools.cache
def _compiled_row() -> Kernel:
    plain = (int64, READ_INT64, int64, types.boolean, types.boolean, float64)
    arrays = (READ_MATRIX, READ_MATRIX, READ_MATRIX, READ_MATRIX, READ_CUBE, MATRIX)
    return kernel(play_row, signature=types.boolean(*plain, *arrays))


def play_row_for(loss: Kernel, scales: list[Kernel]) -> Kernel | None:
    """`play_row` with these kernels, for means that are probabilities; None for interpreted ones.

    The loss's kernel has no parameters, and needs no scratch.
    """
    if not (is_compiled(loss) and all(map(is_compiled, scales))):
        return None
    at = np.array([address(scale, SCALE) for scale in scales])
    return functools.partial(_compiled_row(), address(loss, LOSS), at)


@functools.cache
def _compiled_rows() -> Kernel:
    given = (READ_INT64, int64, READ_MATRIX, READ_MATRIX, types.boolean, CUBE, MATRIX)
    return kernel(play_rows, signature=types.void(*given))


def play_rows_for(scales: list[Kernel]) -> Kernel:
    """`play_rows`, to be called with all but the experts' scale kernels."""
    if all(map(is_compiled, scales)):
        at = np.array([address(scale, SCALE) for scale in scales])
        return functools.partial(_compiled_rows(), at)
    return functools.partial(play_rows, scales)
