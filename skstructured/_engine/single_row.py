"""What a mixture does with one new dense row: check, standardize, learn and score it.

The loops for many rows do the work; handing each its arrays would take longer than one row does.
"""

import functools
from typing import Any

import numpy as np
from numba import float64, int64, types

from skstructured._engine.addresses import (
    CUBE,
    LOSS,
    MATRIX,
    READ_CUBE,
    READ_INT64,
    READ_MATRIX,
    READ_VECTOR,
    SCALE,
    VECTOR,
    address,
    as_loss,
    function_at,
)
from skstructured._engine.arrays import Floats, Kernel
from skstructured._engine.compiled import FASTMATH, is_compiled, kernel
from skstructured._engine.experts import means_of, score_experts
from skstructured._engine.mixing import SCORES, mix
from skstructured._engine.mixture import bound_kernels, compiled_epoch, signature_of
from skstructured._engine.moments import INVERSE, MEAN, standardize_rows
from skstructured._engine.state import copy_into

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
    kind: int,
    averaged: bool,
    intercept: float,
    longest_sq: float,
    centred: bool,
    divided: bool,
    x: Floats,
    truth: Floats,
    weight: Floats,
    statistics: Floats,
    counts: Floats,
    Theta: Floats,
    vectors: Floats,
    shares: Floats,
    rates: Floats,
    totals: Floats,
    sums: Floats,
) -> int:
    """Learn the row x (1, p); -1, or 0 where it stops the epoch and is not counted, or `REFUSED`.

    `intercept` is 1 where there is one. The rest is as for `standardize_rows` and `mixture_epoch`.
    """
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
    empty = np.empty(0, dtype=np.int32)
    stopped = as_epoch(epoch)(
        z[0], empty, empty, width, first, truth, weight, Theta, averaged, vectors, shares, rates,
        totals, sums, kind, inner, nothing, nothing, none, kernels, scales, steps,
    )  # fmt: skip
    if stopped >= 0:
        copy_into(statistics.reshape(-1), before)
        counts[0], counts[1] = counted, recent
    return stopped


@functools.cache
def _compiled() -> Kernel:
    loops = (int64, int64, types.UniTuple(int64, 2), READ_INT64, READ_INT64, float64, int64)
    limits = (types.boolean, float64, float64, types.boolean, types.boolean)
    row = (READ_MATRIX, READ_MATRIX, READ_VECTOR)
    learned = (MATRIX, VECTOR, MATRIX, MATRIX, CUBE, VECTOR, VECTOR, VECTOR)
    return kernel(learn_row, signature=int64(*loops, *limits, *row, *learned))


def learn_row_for(
    kernels: tuple[Kernel, ...], experts: list[tuple[Kernel, Kernel]], inner: float
) -> Kernel | None:
    """`learn_row` with the kernels of `mixture_epoch_for`, for log-losses; None if interpreted."""
    at = bound_kernels(kernels, experts)
    if at is None:
        return None
    loops = address(standardize_rows, STANDARDIZE), address(compiled_epoch(), EPOCH)
    return functools.partial(_compiled(), *loops, *at, inner)


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
