"""What a mixture does with one new dense row, in one call: check, standardise, and learn it.

The loops for many rows do the work; handing each its arrays would take longer than one row does.
"""

import functools
from typing import Any

import numpy as np
from numba import float64, int64, types

from skstructured._engine.addresses import (
    CUBE,
    MATRIX,
    READ_INT64,
    READ_MATRIX,
    READ_VECTOR,
    VECTOR,
    address,
    function_at,
)
from skstructured._engine.arrays import Floats, Kernel
from skstructured._engine.compiled import kernel
from skstructured._engine.copies import copy_into
from skstructured._engine.mixture import bound_kernels, compiled_epoch, signature_of
from skstructured._engine.moments import standardize_rows

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
    shortest_learned_sq: float,
    longest_learned_sq: float,
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
        z[0], empty, empty, width, first, truth, weight, Theta, averaged, shortest_learned_sq,
        longest_learned_sq, vectors, shares, rates, totals, sums, kind, inner, nothing, nothing,
        none, kernels, scales, steps,
    )  # fmt: skip
    if stopped >= 0:
        copy_into(statistics.reshape(-1), before)
        counts[0], counts[1] = counted, recent
    return stopped


@functools.cache
def _compiled() -> Kernel:
    loops = (int64, int64, types.UniTuple(int64, 2), READ_INT64, READ_INT64, float64, int64)
    limits = (types.boolean, float64, float64, float64, float64, types.boolean, types.boolean)
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
