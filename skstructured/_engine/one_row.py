"""One row by itself, learned or played by one compiled call, and a few rows that are played."""

import functools

import numpy as np
from numba import float64, int64, types

from skstructured._engine.compiled import kernel
from skstructured._engine.moments import standardize_rows, transform
from skstructured._engine.move_and_score import scores_of_dense
from skstructured._engine.rounds import Kernels, play_raw
from skstructured._engine.rows import in_range
from skstructured._engine.state import copy_into, inner
from skstructured._engine.types import (
    LOOP_TYPE,
    LOOP_TYPES,
    MATRIX,
    READ_INT64,
    READ_MATRIX,
    READ_VECTOR,
    VECTOR,
    Kernel,
    address,
    as_loop,
    as_loss,
    function_at,
)

#: Steps that one compiled call for a row spares, if loops are compiled.
STEPS_SPARED = 100.0

#: Returned for rows out of range, or with gaps: nothing was done.
ROW_REFUSED = -2

#: `standardize_rows` for one row.
STANDARDIZE_TYPE = types.FunctionType(
    types.void(
        *(READ_VECTOR, int64, READ_INT64, READ_INT64, READ_VECTOR),
        *(MATRIX, VECTOR, types.boolean, types.boolean, MATRIX, MATRIX),
    )
)
as_standardize = function_at(STANDARDIZE_TYPE)


@kernel(
    signature=int64(
        *(int64, int64, *LOOP_TYPES.kernels, *[float64] * 3, READ_MATRIX, READ_MATRIX, READ_VECTOR),
        types.Tuple((MATRIX, VECTOR, *[types.boolean] * 3)),
        *(LOOP_TYPES.learned, LOOP_TYPES.constants, MATRIX),
    )
)
def learn_single_row(
    standardize, loop, kernels, scales, steps, intercept, shortest, longest, x, truth, weight,
    scale, learned, constants, work
):  # fmt: skip
    """Learn the row x (1, p); −1, 0 if it stops the loop and is not counted, or `ROW_REFUSED`."""
    (statistics, counts, used, centered, divided) = scale
    width, x_sq = x.shape[1], intercept + inner(x[0], x[0])
    if not in_range(x_sq, shortest * shortest, longest * longest):
        return ROW_REFUSED
    first, none, nothing = np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
    empty, counted = np.empty(0, dtype=np.int32), np.empty(counts.size)
    z, backup, no_rows = np.empty((1, width)), np.empty(statistics.size), np.empty((0, width))
    copy_into(z[0], x[0])
    if used:
        copy_into(backup, statistics.reshape(-1))
        copy_into(counted, counts)
        moments = (statistics, counts, centered, divided)
        as_standardize(standardize)(x[0], width, first, none, weight, *moments, z, no_rows)
    row, results = (z[0], empty, empty, width), (work, nothing, nothing, nothing)
    single_round = (first, none, truth.reshape(-1), weight, nothing, np.empty((0, 2)), none)
    stopped = as_loop(loop)(row, single_round, learned, constants, results, kernels, scales, steps)
    if used and stopped >= 0:
        copy_into(statistics.reshape(-1), backup)
        copy_into(counts, counted)
    return stopped


def compiled_learn_row(kernels: Kernels) -> Kernel | None:
    """`learn_single_row` with these functions; None as long as it or the loop is interpreted."""
    if kernels.in_python or not (
        kernels.loop.compiles() and learn_single_row.compiles(STEPS_SPARED)
    ):
        return None
    loops = address(standardize_rows, STANDARDIZE_TYPE), address(kernels.loop, LOOP_TYPE)
    return functools.partial(learn_single_row.dispatcher, *loops, *kernels.addresses)


@kernel(signature=types.void(LOOP_TYPES.learned, READ_INT64, MATRIX, types.boolean, MATRIX))
def play_rows(learned, scales, raws, averaged, played):
    """Scores `played` (n, dim) at raw scores Θz (n, .) of standardized rows."""
    theta = np.empty((raws.shape[1] // played.shape[1], played.shape[1]))
    means = np.empty_like(theta)
    for i in range(played.shape[0]):
        play_raw(learned, scales, raws[i : i + 1], averaged, theta, means, played[i])


@kernel(
    signature=types.boolean(
        *(int64, READ_INT64, float64, float64, READ_MATRIX, READ_MATRIX),
        *(types.boolean, types.boolean, READ_MATRIX, READ_MATRIX),
        *(types.Array(float64, 3, "C", readonly=True), int64, MATRIX),
    )
)
def play_row(
    loss, scales, shortest, longest, x, statistics, used, averaged, Theta, vectors, shares, kind,
    out,
):  # fmt: skip
    """Scores and means, `out` (2, dim), at the one row x (1, p) in its original units.

    Returns whether the row and its scores are finite and in range; else `out` must not be read.
    """
    (rows, width), dim, n_experts = (Theta.shape[0], x.shape[1]), out.shape[1], len(vectors)
    x_sq = inner(x[0], x[0])
    room = np.empty(width + 3 * rows)  # one allocation in the place of three
    z, raws = room[:width], room[width : width + rows].reshape((1, rows))
    theta = room[width + rows :].reshape((2, rows // dim, dim))
    if not in_range(x_sq, shortest * shortest, longest * longest):
        return False
    if used:
        transform(x[0], statistics, z)
    else:
        copy_into(z, x[0])
    nothing, bound_indices = np.zeros(dim), np.zeros(n_experts, np.int64)
    summed = Theta.shape[0] > n_experts * dim
    mixed = (shares, nothing, nothing, nothing, kind, bound_indices, nothing, bound_indices)
    scores_of_dense(Theta, z, raws[0])
    learned = (Theta, 0, summed, vectors, *mixed)
    play_raw(learned, scales, raws, averaged, theta[0], theta[1], out[0])
    as_loss(loss)(out[0], nothing, out[1], nothing, nothing)
    return inner(out[0], out[0]) < np.inf


def compiled_play_row(kernels: Kernels) -> Kernel | None:
    """`play_row` with these functions, the loss one without parameters; None if interpreted."""
    if kernels.in_python or not play_row.compiles(STEPS_SPARED):
        return None
    (_, loss, *_), scales, _ = kernels.addresses
    return functools.partial(play_row.dispatcher, loss, scales)


def play_rows_for(kernels: Kernels, steps: float) -> Kernel:
    """`play_rows`, for so many steps, to be called with all arguments but the functions."""
    form, functions = kernels.form_of(play_rows, steps)
    return lambda learned, *arguments: form(learned, functions[1], *arguments)
