"""The compiled loop over label sequences: one round per sequence.

Weights are a matrix Θ, see `skstructured.sequences._moves`. As in `skstructured._engine.epoch`,
weights are ``W = s Θ``, and the sum of those played is ``(Σ v s) Θ + A``, v their shares.
"""

import functools

import numpy as np
from numba import float64, int64, types

from skstructured._chains.marginals import chain_gap, scratch_size
from skstructured._chains.sparse import project_means
from skstructured._engine.addresses import (
    CUBE,
    MATRIX,
    READ_INT32,
    READ_INT64,
    READ_MATRIX,
    READ_VECTOR,
    SCALE,
    STEP,
    VECTOR,
    address,
    as_scale,
    as_step,
    function_at,
)
from skstructured._engine.compiled import is_compiled, kernel
from skstructured._engine.state import SCALED_WEIGHT_SUM, count_round, renew_norm, share_of
from skstructured.sequences._moves import (
    as_numbers,
    gather_gradient,
    most_touched,
    move,
    norms,
    raw_scores,
)

LARGEST = np.finfo(np.float64).max

#: solver(unary, pair, labels, gap, each, total, work) -> loss; writes gradients into gap and total.
SOLVER = types.FunctionType(
    float64(MATRIX, CUBE, READ_INT64, MATRIX, CUBE, MATRIX, VECTOR),
)
as_solver = function_at(SOLVER)

#: Places in the options: whether there is an intercept, whether means are projections, whether the
#: optimiser is told C²/λ of a sequence or a bound on its gradient, whether constants are sharp.
INTERCEPT, PROJECTS, BY_RATIO, SHARP = range(4)

#: Places in the numbers that a learner keeps: the largest w‖·‖² that the optimiser was told, the
#: largest w C²/λ, and what projections left at the most.
LARGEST_SQ, LARGEST_RATIO, LEFT = range(3)


@kernel
def projection_gap(unary, pair, labels, gap, each, total, work):
    """Gap = μ − y with the SparseMAP μ, total = that of transitions; returns the loss.

    The last entry of `work` keeps what projections left at the most.
    """
    M, k = unary.shape
    steps = np.empty((M, k, k))
    work[-1] = max(work[-1], project_means(unary, pair, gap, steps))
    total[:] = 0.0
    value = 0.5 * (2 * M - 1)
    for m in range(M):
        for i in range(k):
            value -= 0.5 * gap[m, i] * gap[m, i]
            value += unary[m, i] * gap[m, i]
            for j in range(k if m < M - 1 else 0):
                value += (pair[0, i, j] - 0.5 * steps[m, i, j]) * steps[m, i, j]
                total[i, j] += steps[m, i, j]
        gap[m, labels[m]] -= 1.0
        value -= unary[m, labels[m]]
        if m < M - 1:
            value -= pair[0, labels[m], labels[m + 1]]
            total[labels[m], labels[m + 1]] -= 1.0
    return max(value, 0.0)


@kernel
def sizes(data, indices, indptr, width, first, M, options):
    """‖·‖² of a sequence as the optimiser is told, and C²/λ.

    C² = max(Σ‖x_m‖², M − 1) bounds what gradients in scores are multiplied by; λ is 1/(2M − 1)²,
    with sharp constants 1/(2M − 1), and 1 for projections. The optimiser is told C²/λ or a bound on
    ‖G‖², twice the square of that of `norms`, and 2(M − 1)² for the transitions.
    """
    total, squares = norms(data, indices, indptr, width, first, M, options[INTERCEPT])
    wide = 2.0 * M - 1.0
    flat = 1.0 if options[PROJECTS] > 0 else wide if options[SHARP] > 0 else wide * wide
    ratio = max(squares, M - 1.0) * flat
    return ratio if options[BY_RATIO] > 0 else 2.0 * (total * total + (M - 1.0) ** 2), ratio


@kernel
def scaled_scores(raw, s, Theta, first_transition, unary, pair):
    """Unary = s raw, pair = s times the transitions; returns the sum of their sizes."""
    size = 0.0
    for m in range(raw.shape[0]):
        for i in range(raw.shape[1]):
            unary[m, i] = s * raw[m, i]
            size += abs(unary[m, i])
    for i in range(raw.shape[1]):
        for j in range(raw.shape[1]):
            pair[0, i, j] = s * Theta[first_transition + i, j]
            size += abs(pair[0, i, j])
    return size


@kernel
def mean_cost(gap, labels, costs):
    """Mean cost of the most likely label of each position, given means less the truth."""
    total = 0.0
    for m in range(gap.shape[0]):
        best, most = 0, -1.0
        for i in range(gap.shape[1]):
            share = gap[m, i] + (1.0 if i == labels[m] else 0.0)
            if share > most:
                best, most = i, share
        total += costs[best, labels[m]]
    return total / gap.shape[0]


def epoch(
    data,
    indices,
    indptr,
    width,
    firsts,
    lengths,
    labels,
    weight,
    Theta,
    A,
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
    """Learn sequences in order; stop before one whose scores are not finite.

    Sequence r has the rows ``firsts[r]`` to ``firsts[r] + lengths[r] − 1`` and the next
    ``lengths[r]`` of `labels`. `losses` get the losses, `targets` the mean costs of the most
    likely label of each position; `scores` and `pairs`, where they have rows, the scores played.
    Returns the place of the sequence that stopped it, or -1.
    """
    scale, step, solve = as_scale(kernels[0]), as_step(kernels[1]), as_solver(kernels[2])
    intercept = options[INTERCEPT]
    k, at, longest = Theta.shape[1], 0, 1
    for r in range(lengths.shape[0]):
        longest = max(longest, lengths[r])
    raw, unary, gap = np.empty((longest, k)), np.empty((longest, k)), np.empty((longest, k))
    pair, total, each = np.empty((1, k, k)), np.empty((k, k)), np.empty((0, k, k))
    work, g, inner = np.zeros(scratch_size(longest, k)), np.zeros(1), np.zeros(1)
    room = min(most_touched(indptr, width, firsts, lengths) + 3 + k, Theta.shape[0])
    G, touched = np.empty((room, k)), np.empty(room, dtype=np.int64)
    for r in range(lengths.shape[0]):
        M, w, first = lengths[r], weight[r], firsts[r]
        y = labels[at : at + M]
        x_sq, ratio = sizes(data, indices, indptr, width, first, M, options)
        s = scale(state, x_sq, w)
        raw_scores(data, indices, indptr, width, first, M, intercept, Theta, raw)
        size = scaled_scores(raw[:M], s, Theta, width + intercept + 2, unary, pair)
        share = share_of(state, w)
        if not size + abs(state[SCALED_WEIGHT_SUM] + share * s) <= LARGEST:
            return r
        if scores.shape[0] > 0:
            scores[at : at + M] = unary[:M]
            pairs[r] = pair[0]
        losses[r] = solve(unary[:M], pair, y, gap[:M], each, total, work)
        targets[r] = mean_cost(gap[:M], y, costs)
        found = (first, gap[:M], intercept, total, slot, touched, G)
        count = gather_gradient(data, indices, indptr, width, *found)
        as_numbers(G, touched, count, Theta, slot, x_sq, inner, g)
        count_round(state, s, w, share)
        move(Theta, A, state, step(state, inner, g, x_sq, w), G, touched, count)
        renew_norm(state, Theta, Theta.shape[0], k)
        numbers[LARGEST_SQ] = max(numbers[LARGEST_SQ], w * x_sq)
        numbers[LARGEST_RATIO] = max(numbers[LARGEST_RATIO], w * ratio)
        numbers[LEFT] = max(numbers[LEFT], work[-1] if options[PROJECTS] > 0 else 0.0)
        at += M
    return -1


@functools.cache
def _compiled_epoch():
    rows = (READ_VECTOR, READ_INT32, READ_INT32, int64)
    sequences = (READ_INT64, READ_INT64, READ_INT64, READ_VECTOR)
    learned = (MATRIX, MATRIX, VECTOR, READ_INT64, VECTOR, int64[::1], READ_MATRIX)
    rest = (VECTOR, VECTOR, MATRIX, CUBE, types.UniTuple(int64, 3))
    return kernel(epoch, signature=int64(*rows, *sequences, *learned, *rest))


def epoch_for(optimizer, projects):
    """What makes a `Call` of the epoch of all but its kernels, for an optimiser and a regularizer.

    For optimisers whose weights are a number times Θ.
    """
    solve = projection_gap if projects else chain_gap
    kernels = (optimizer.scale_kernel, optimizer.step_kernel, solve)
    if all(map(is_compiled, kernels)):
        at = tuple(map(address, kernels, (SCALE, STEP, SOLVER)))
        return lambda *given: (_compiled_epoch(), *given, at)
    return lambda *given: (epoch, *given, kernels)
