"""The compiled loop over label sequences where every weight moves by itself.

Θ has a row per feature, as `skstructured.optimizers.coordinate_pistol` stores it for CSR rows; W,
the weights alone, is kept beside it. A weight of feature j has gradients of at most ``w Σ_m
|x_mj|``, which is known before it is played.
"""

import functools

import numpy as np
from numba import int64, types

from skstructured._chains.marginals import chain_gap, scratch_size
from skstructured._engine.compiled import (
    CUBE,
    MATRIX,
    READ_INT32,
    READ_INT64,
    READ_MATRIX,
    READ_VECTOR,
    VECTOR,
    address,
    is_compiled,
    kernel,
)
from skstructured._engine.state import count_round, share_of
from skstructured.optimizers.coordinate_pistol import PARAMETER_B, move_csr, reach_csr
from skstructured.sequences._epoch import (
    INTERCEPT,
    LARGEST,
    LEFT,
    PROJECTS,
    SOLVER,
    as_solver,
    mean_cost,
    projection_gap,
    scaled_scores,
)
from skstructured.sequences._moves import gather_gradient, most_touched, raw_scores, touch


@kernel
def _sizes_of(data, indices, indptr, width, first, M, intercept, slot, touched, sums):
    """Σ_m |x_mj| of the features that are not 0 into `sums`, with their numbers; how many."""
    count, start = 0, width + intercept
    for m in range(M):
        row, sparse = first + m, indptr.shape[0] > 0
        begin = indptr[row] if sparse else row * width
        end = indptr[row + 1] if sparse else begin + width
        for t in range(begin, end):
            if data[t] != 0.0:
                at, count = touch(indices[t] if sparse else t - begin, slot, touched, count, sums)
                sums[at, 0] += abs(data[t])
    for j in range(width, slot.shape[0]):
        at, count = touch(j, slot, touched, count, sums)
        sums[at, 0] = M if j < start else 1.0 if j < start + 2 else M - 1.0
    for t in range(count):
        slot[touched[t]] = -1
    return count


@kernel
def _play(Theta, W, touched, count, sums, weight, state, b):
    """Weights of the features of a sequence whose largest w Σ|x| grows."""
    k = W.shape[1]
    for t in range(count):
        j, reach = touched[t], weight * sums[t, 0]
        if Theta[j, 4 * k] < reach < LARGEST:
            reach_csr(Theta, j, k, reach, state, b)
            W[j] = Theta[j, 2 * k : 3 * k]


@kernel
def _move(Theta, W, touched, count, G, slot, weight, state, b):
    """Every weight by its gradient."""
    k = W.shape[1]
    for t in range(count):
        j = touched[t]
        slot[j] = -1
        move_csr(Theta, j, k, -weight, G[t], state, b)
        W[j] = Theta[j, 2 * k : 3 * k]


def coordinate_epoch(
    data,
    indices,
    indptr,
    width,
    firsts,
    lengths,
    labels,
    weight,
    Theta,
    W,
    state,
    options,
    numbers,
    slot,
    costs,
    losses,
    targets,
    scores,
    pairs,
    kernels,
):
    """`skstructured.sequences._epoch.epoch` with W in the place of A."""
    solve, intercept, b = as_solver(kernels[0]), options[INTERCEPT], state[PARAMETER_B]
    k, at, longest, b = W.shape[1], 0, 1, b / W.shape[0]
    for r in range(lengths.shape[0]):
        longest = max(longest, lengths[r])
    raw, unary, gap = np.empty((longest, k)), np.empty((longest, k)), np.empty((longest, k))
    pair, total, each = np.empty((1, k, k)), np.empty((k, k)), np.empty((0, k, k))
    work = np.zeros(scratch_size(longest, k))
    room = min(most_touched(indptr, width, firsts, lengths) + 3 + k, W.shape[0])
    G, sums, touched = np.empty((room, k)), np.empty((room, 1)), np.empty(room, dtype=np.int64)
    for r in range(lengths.shape[0]):
        M, w, first = lengths[r], weight[r], firsts[r]
        y, share = labels[at : at + M], share_of(state, w)
        count = _sizes_of(data, indices, indptr, width, first, M, intercept, slot, touched, sums)
        _play(Theta, W, touched, count, sums, w, state, b)
        raw_scores(data, indices, indptr, width, first, M, intercept, W, raw)
        if not scaled_scores(raw[:M], 1.0, W, width + intercept + 2, unary, pair) <= LARGEST:
            return r
        if scores.shape[0] > 0:
            scores[at : at + M] = unary[:M]
            pairs[r] = pair[0]
        losses[r] = solve(unary[:M], pair, y, gap[:M], each, total, work)
        targets[r] = mean_cost(gap[:M], y, costs)
        found = (first, gap[:M], intercept, total, slot, touched, G)
        count = gather_gradient(data, indices, indptr, width, *found)
        count_round(state, 1.0, w, share)
        _move(Theta, W, touched, count, G, slot, w, state, b)
        numbers[LEFT] = max(numbers[LEFT], work[-1] if options[PROJECTS] > 0 else 0.0)
        at += M
    return -1


@functools.cache
def _compiled():
    rows = (READ_VECTOR, READ_INT32, READ_INT32, int64)
    sequences = (READ_INT64, READ_INT64, READ_INT64, READ_VECTOR)
    learned = (MATRIX, MATRIX, VECTOR, READ_INT64, VECTOR, int64[::1], READ_MATRIX)
    rest = (VECTOR, VECTOR, MATRIX, CUBE, types.UniTuple(int64, 1))
    return kernel(coordinate_epoch, signature=int64(*rows, *sequences, *learned, *rest))


def coordinate_epoch_for(projects):
    """What makes a `Call` of the loop of all but its kernels, for a regularizer."""
    solve = projection_gap if projects else chain_gap
    if is_compiled(solve):
        return lambda *given: (_compiled(), *given, (address(solve, SOLVER),))
    return lambda *given: (coordinate_epoch, *given, (solve,))
