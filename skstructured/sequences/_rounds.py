"""The compiled loop over label sequences: one round per sequence.

Weights are a matrix Θ, see `skstructured.sequences._rounds`. As in `skstructured._engine.rounds`,
weights are ``W = s Θ``, and the sum of those played is ``(Σ v s) Θ + A``, v their shares.
"""

import functools
import math

import numpy as np
from numba import float64, int64, types

from skstructured._chains.marginals import chain_gap, scratch_size
from skstructured._chains.projection import project_means
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
from skstructured._engine.compiled import FASTMATH, is_compiled, kernel
from skstructured._engine.state import (
    FLUSH,
    RESCALE,
    SCALED_WEIGHT_SUM,
    count_round,
    renew_norm,
    share_of,
)

#: Positions whose products are all computed, for a bound on gradients.
TOGETHER = 32


@kernel(fastmath=FASTMATH)
def add_scaled(target, i, factor, source, j):
    """Row i of target grows by factor times row j of source."""
    for k in range(source.shape[1]):
        target[i, k] += factor * source[j, k]


@kernel(fastmath=FASTMATH)
def add_four(target, i, factors, source, j):
    """Row i of target grows by four factors times rows j to j + 3 of source."""
    a, b, c, d = factors
    for k in range(source.shape[1]):
        target[i, k] += (a * source[j, k] + b * source[j + 1, k]) + (
            c * source[j + 2, k] + d * source[j + 3, k]
        )


@kernel
def add_dense(data, start, stride, n, source, target, i):
    """Row i of target grows by the rows of source, n of them, times data from start in strides.

    Returns whether any of these numbers is not 0.
    """
    j, found = 0, False
    while j + 4 <= n:
        at = start + j * stride
        x = data[at], data[at + stride], data[at + 2 * stride], data[at + 3 * stride]
        if x[0] != 0.0 or x[1] != 0.0 or x[2] != 0.0 or x[3] != 0.0:
            add_four(target, i, x, source, j)
            found = True
        j += 4
    while j < n:
        if data[start + j * stride] != 0.0:
            add_scaled(target, i, data[start + j * stride], source, j)
            found = True
        j += 1
    return found


@kernel
def add_position(data, indices, indptr, width, row, Theta, out, m):
    """Out_m ← out_m + Σ_j x_j Θ_j over the features of a row."""
    if indptr.shape[0] > 0:
        for t in range(indptr[row], indptr[row + 1]):
            add_scaled(out, m, data[t], Theta, indices[t])
        return
    add_dense(data, row * width, 1, width, Theta, out, m)


@kernel
def raw_scores(data, indices, indptr, width, first, M, intercept, Theta, raw):
    """Raw = Θ of every position, transitions left out."""
    start = width + intercept
    for m in range(M):
        for k in range(raw.shape[1]):
            raw[m, k] = Theta[width, k] if intercept > 0 else 0.0
        add_position(data, indices, indptr, width, first + m, Theta, raw, m)
    add_scaled(raw, 0, 1.0, Theta, start)
    add_scaled(raw, M - 1, 1.0, Theta, start + 1)


@kernel(fastmath=FASTMATH)
def dense_product(data, width, one, other):
    """<x, z> of two dense rows."""
    x, z, total = data[one * width :], data[other * width :], 0.0
    for j in range(width):
        total += x[j] * z[j]
    return total


@kernel
def sparse_product(data, indices, indptr, one, other):
    """<x, z> of two CSR rows, whose columns are sorted."""
    s, t, total = indptr[one], indptr[other], 0.0
    while s < indptr[one + 1] and t < indptr[other + 1]:
        if indices[s] == indices[t]:
            total += data[s] * data[t]
            s += 1
            t += 1
        elif indices[s] < indices[t]:
            s += 1
        else:
            t += 1
    return total


@kernel
def row_product(data, indices, indptr, width, one, other):
    """<x, z> of two rows."""
    if indptr.shape[0] > 0:
        return sparse_product(data, indices, indptr, one, other)
    return dense_product(data, width, one, other)


@kernel
def norms(data, indices, indptr, width, first, M, intercept):
    """A bound on ‖Σ_m g_m x_mᵀ‖ for g_m with ‖g_m‖ ≤ 1, and Σ‖x_m‖².

    ``√Σ_{m,m'} |<x_m, x_m'>|`` of each `TOGETHER` positions, summed; the features that are added to
    rows included.
    """
    total, squares = 0.0, 0.0
    for begin in range(0, M, TOGETHER):
        end, part = min(begin + TOGETHER, M), 0.0
        for m in range(begin, end):
            own = row_product(data, indices, indptr, width, first + m, first + m)
            own += float(intercept + (m == 0) + (m == M - 1))
            squares += own
            part += own
            for before in range(begin, m):
                both = row_product(data, indices, indptr, width, first + before, first + m)
                part += 2.0 * abs(both + intercept)
        total += math.sqrt(part)
    return total, squares


@kernel
def touch(j, slot, touched, count, G):
    """The row of G for feature j, a new row of zeros where it has none; and how many there are."""
    if slot[j] < 0:
        slot[j] = count
        touched[count] = j
        for k in range(G.shape[1]):
            G[count, k] = 0.0
        count += 1
    return slot[j], count


@kernel
def _gather_dense(data, width, first, gap, slot, touched, G):
    """Σ_m x_m gap_mᵀ of dense rows into G, a row for each feature that is not 0; how many."""
    count = 0
    for j in range(width):
        for k in range(G.shape[1]):
            G[count, k] = 0.0
        if add_dense(data, first * width + j, width, gap.shape[0], gap, G, count):
            slot[j], touched[count] = count, j
            count += 1
    return count


@kernel
def _gather_sparse(data, indices, indptr, first, gap, slot, touched, G):
    """The same of CSR rows."""
    count = 0
    for m in range(gap.shape[0]):
        for t in range(indptr[first + m], indptr[first + m + 1]):
            if data[t] != 0.0:
                at, count = touch(indices[t], slot, touched, count, G)
                add_scaled(G, at, data[t], gap, m)
    return count


@kernel
def gather_gradient(data, indices, indptr, width, first, gap, intercept, total, slot, touched, G):
    """Gradient of the weights: its rows that are not 0, G, with their numbers; how many."""
    M, k, start = gap.shape[0], total.shape[0], width + intercept
    if indptr.shape[0] > 0:
        count = _gather_sparse(data, indices, indptr, first, gap, slot, touched, G)
    else:
        count = _gather_dense(data, width, first, gap, slot, touched, G)
    for m in range(M if intercept > 0 else 0):
        at, count = touch(width, slot, touched, count, G)
        add_scaled(G, at, 1.0, gap, m)
    at, count = touch(start, slot, touched, count, G)
    add_scaled(G, at, 1.0, gap, 0)
    at, count = touch(start + 1, slot, touched, count, G)
    add_scaled(G, at, 1.0, gap, M - 1)
    for i in range(k if M > 1 else 0):
        at, count = touch(start + 2 + i, slot, touched, count, G)
        add_scaled(G, at, 1.0, total, i)
    return count


@kernel
def most_touched(indptr, width, firsts, lengths):
    """The most features that rows of one sequence have."""
    most = 0
    for r in range(lengths.shape[0] if indptr.shape[0] > 0 else 0):
        most = max(most, indptr[firsts[r] + lengths[r]] - indptr[firsts[r]])
    return most if indptr.shape[0] > 0 else width


@kernel
def fold_sum(Theta, A, factor, played):
    """A ← A + played Θ where there is an A, then Θ ← factor Θ."""
    for i in range(Theta.shape[0]):
        for k in range(Theta.shape[1]):
            if A.shape[0] > 0:
                A[i, k] += played * Theta[i, k]
            Theta[i, k] *= factor


@kernel(fastmath=FASTMATH)
def _row_products(G, t, Theta, j):
    """‖G_t‖² and <G_t, Θ_j>."""
    square, inner = 0.0, 0.0
    for k in range(G.shape[1]):
        square += G[t, k] * G[t, k]
        inner += G[t, k] * Theta[j, k]
    return square, inner


@kernel
def as_numbers(G, touched, count, Theta, slot, x_sq, raw, g):
    """Numbers (1,) with <g, raw> = <G, Θ> and g² x_sq = ‖G‖²: what an optimiser asks for."""
    square, inner = 0.0, 0.0
    for t in range(count):
        slot[touched[t]] = -1
        more, along = _row_products(G, t, Theta, touched[t])
        square += more
        inner += along
    g[0] = math.sqrt(square / x_sq)
    raw[0] = inner / g[0] if g[0] > 0.0 else 0.0


@kernel
def move(Theta, A, state, u, G, touched, count):
    """Θ ← Θ + uG, and A with it, after what the optimiser asked to be multiplied in."""
    if state[RESCALE] != 1.0 or (A.shape[0] > 0 and state[FLUSH] > 0.0):
        fold_sum(Theta, A, state[RESCALE], state[SCALED_WEIGHT_SUM])
        state[RESCALE], state[SCALED_WEIGHT_SUM], state[FLUSH] = 1.0, 0.0, 0.0
    for t in range(count):
        add_scaled(Theta, touched[t], u, G, t)
        if A.shape[0] > 0:
            add_scaled(A, touched[t], -u * state[SCALED_WEIGHT_SUM], G, t)


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
