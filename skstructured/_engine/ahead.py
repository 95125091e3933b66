"""Score every row as `predict` would before it, then learn it, in one compiled loop.

What the epoch plays may depend on how long a row is, and on its weight. Here the weights are those
that somebody who asks for a prediction meets: the last ones, or their average, and rows as the
statistics from before them transform them.
"""

import functools
from typing import Any

import numpy as np
from numba import types

from skstructured._engine.addresses import READ_SINGLE_VECTOR, READ_VECTOR, as_scale
from skstructured._engine.arrays import Array, Floats, Kernel
from skstructured._engine.compiled import kernel
from skstructured._engine.epoch import (
    BLOCK,
    SLOW_BLOCK,
    _compiled_epoch,
    bound_kernels,
    call_of,
    epoch,
    quiet,
    signature_of,
)
from skstructured._engine.state import SCALED_WEIGHT_SUM, WEIGHT_SUM


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
        data: Array,
        indices: Array,
        indptr: Array,
        width: int,
        rows: Array,
        truth: Array,
        weight: Floats,
        Theta: Array,
        A: Array,
        average: bool,
        shortest_sq: float,
        longest_sq: float,
        state: Floats,
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
        dim, dense, none = truth.shape[1], indptr.shape[0] == 0, scores[:0]
        scale, now, sums = as_scale(kernels[2]), np.empty_like(state), np.empty(dim)
        for r in range(truth.shape[0]):
            row, theta = rows[r], scores[r]
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
            one = slice(r, r + 1)
            given = (rows[one], truth[one], weight[one], Theta, A, average)
            bounds = (shortest_sq, longest_sq)
            if (
                learn(
                    data,
                    indices,
                    indptr,
                    width,
                    *given,
                    *bounds,
                    state,
                    params,
                    work,
                    none,
                    kernels,
                )
                >= 0
            ):
                return r
        return -1

    return ahead


@functools.cache
def _compiled_ahead(single: bool) -> Kernel:
    before = READ_SINGLE_VECTOR if single else READ_VECTOR
    return kernel(
        ahead_of(_compiled_epoch(single)), signature=signature_of(single, before, types.boolean)
    )


def ahead_for(kernels: tuple[Kernel, ...], single: bool = False) -> tuple[Kernel, int]:
    """As `epoch_for`; the loop is called with `before` and `averaged` behind `scores`."""
    at = bound_kernels(kernels, single)
    if at is not None:
        return functools.partial(call_of, _compiled_ahead(single), at), BLOCK
    return functools.partial(call_of, quiet(ahead_of(epoch)), kernels), SLOW_BLOCK
