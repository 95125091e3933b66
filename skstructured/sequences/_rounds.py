"""The compiled loop over label sequences: one round per sequence.

Experts, one without a mixture, have k columns of Θ each, and behind them the sums of their
averages. As in `skstructured._engine.rounds`, weights are ``W = s Θ``, and the sum of those played
is ``(Σ v s) Θ + A``, v their shares. Scores are mixed, ``θ = Σ_e v_e θ_e``, and v follows AdaHedge
with sharing, see `skstructured._engine.mixing`.
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
    VECTOR,
    address,
    as_scale,
    function_at,
)
from skstructured._engine.compiled import FASTMATH, is_compiled, kernel
from skstructured._engine.experts import fold_expert, renew_expert, settle_step
from skstructured._engine.mixing import learn_losses, marginal
from skstructured._engine.mixture import experts_are_compiled, steps_of
from skstructured._engine.rounds import LARGEST
from skstructured._engine.state import (
    FLUSH,
    RENEW,
    RENEWED,
    RESCALE,
    SCALED_WEIGHT_SUM,
    WEIGHT_SUM,
    share_of,
)

#: Positions whose products are all computed, for a bound on gradients.
TOGETHER = 32


@kernel(fastmath=FASTMATH)
def add_scaled(target, i, factor, source, j):
    """Row i of target grows by factor times row j of source."""
    for k in range(target.shape[1]):
        target[i, k] += factor * source[j, k]


@kernel(fastmath=FASTMATH)
def add_four(target, i, factors, source, j):
    """Row i of target grows by four factors times rows j to j + 3 of source."""
    a, b, c, d = factors
    for k in range(target.shape[1]):
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


#: solver(unary, pair, labels, gap, each, total, work) -> loss; writes gradients into gap and total.
SOLVER = types.FunctionType(
    float64(MATRIX, CUBE, READ_INT64, MATRIX, CUBE, MATRIX, VECTOR),
)
as_solver = function_at(SOLVER)

#: Places in the options: whether there is an intercept, whether scores of experts are mixed,
#: whether means are projections, whether the optimiser is told C²/λ of a sequence or a bound on its
#: gradient, whether constants are sharp.
INTERCEPT, MIXED, PROJECTS, BY_RATIO, SHARP = range(5)

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


@kernel
def scores_of(vectors, s, source, averaged, target):
    """Scores (N, ., k) of the experts, ``s Θ``, and of their averages, ``(played Θ + A)/total``.

    From raw ones, A behind those of the experts; returns the sum of their sizes.
    """
    few, k, size = vectors.shape[0], target.shape[2], 0.0
    for e in range(few):
        played, total = vectors[e, SCALED_WEIGHT_SUM], vectors[e, WEIGHT_SUM]
        for i in range(source.shape[0]):
            for j in range(k):
                raw = source[i, e * k + j]
                target[e, i, j] = s[e] * raw
                size += abs(target[e, i, j])
                if averaged:
                    both = played * raw + source[i, (few + e) * k + j]
                    target[few + e, i, j] = both / total if total > 0.0 else 0.0
                    size += abs(target[few + e, i, j])
    return size


@kernel
def expert_scores(vectors, scales, raw, told, weight, averaged, unary, s):
    """`scores_of` a round, of which the optimisers were `told` (E,), and the scales s (E,)."""
    size = 0.0
    for e in range(vectors.shape[0]):
        s[e] = as_scale(scales[e])(vectors[e], told[e], weight)
        size += abs(vectors[e, SCALED_WEIGHT_SUM] + share_of(vectors[e], weight) * s[e])
    return size + scores_of(vectors, s, raw, averaged, unary)


@kernel
def mean_scores(v, source, target):
    """Target ← Σ_e v_e source_e."""
    target[:] = 0.0
    for e in range(v.shape[0]):
        for i in range(target.shape[0]):
            for j in range(target.shape[1]):
                target[i, j] += v[e] * source[e, i, j]


@kernel
def put(source, begin, target):
    """The columns of target from `begin` become those of source."""
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, begin + j] = source[i, j]


@kernel(fastmath=FASTMATH)
def _row_products(G, t, Theta, j):
    """‖G_t‖² and <G_t, Θ_j>."""
    square, inner = 0.0, 0.0
    for k in range(G.shape[1]):
        square += G[t, k] * G[t, k]
        inner += G[t, k] * Theta[j, k]
    return square, inner


@kernel
def expert_numbers(G, touched, count, Theta, e, k, x_sq, raw, g):
    """Numbers (1,) with <g, raw> = <G, Θ> and g² x_sq = ‖G‖² of an expert, for its optimiser."""
    square, inner = 0.0, 0.0
    for t in range(count):
        if G.shape[1] == k:
            more, along = _row_products(G, t, Theta, touched[t])
            square += more
            inner += along
            continue
        for j in range(e * k, (e + 1) * k):
            square += G[t, j] * G[t, j]
            inner += G[t, j] * Theta[touched[t], j]
    g[0] = math.sqrt(square / x_sq)
    raw[0] = inner / g[0] if g[0] > 0.0 else 0.0


@kernel
def settle_expert(vectors, steps, e, raw, g, x_sq, weight, s, Theta, k, averaged, factors):
    """Count a round of an expert, and let it step: what its columns of Θ are moved by."""
    few, vector = vectors.shape[0], vectors[e]
    u = settle_step(vector, steps[e], raw, g, x_sq, weight, s)
    if vector[RESCALE] != 1.0 or (averaged and vector[FLUSH] > 0.0):
        fold_expert(Theta, k, False, averaged, e, few, vector)
    for c in range(e * k, (e + 1) * k):
        factors[c] = u
        if averaged:
            factors[few * k + c] = -u * vector[SCALED_WEIGHT_SUM]


@kernel
def move_experts(Theta, k, vectors, factors, G, touched, count):
    """Θ moves by G, whose rows are those of the features `touched`."""
    for t in range(count):
        move_columns(Theta, touched[t], factors, G, t)
    for e in range(vectors.shape[0]):
        if vectors[e, RENEWED] + 1.0 < RENEW:
            vectors[e, RENEWED] += 1.0
        else:
            renew_expert(vectors[e], Theta, k, False, e)


@kernel(fastmath=FASTMATH)
def move_columns(Theta, j, factors, G, t):
    """Row j of Θ grows by row t of G, every column by its factor; of averages by the one behind."""
    wide = G.shape[1]
    for c in range(wide):
        Theta[j, c] += factors[c] * G[t, c]
    for c in range(Theta.shape[1] - wide):
        Theta[j, wide + c] += factors[wide + c] * G[t, c]


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
    averaged,
    vectors,
    shares,
    rates,
    totals,
    sums,
    options,
    numbers,
    slot,
    costs,
    losses,
    targets,
    scores,
    pairs,
    solver,
    scales,
    steps,
):
    """Learn sequences in order; stop before one whose scores are not finite.

    Sequence r has the rows ``firsts[r]`` to ``firsts[r] + lengths[r] − 1`` and the next
    ``lengths[r]`` of `labels`. `losses` get the losses of what is played, `targets` the mean costs
    of the most likely label of each position; `scores` and `pairs`, where they have rows, the
    scores. Returns the place of the sequence that stopped it, or -1.
    """
    solve, intercept, k = as_solver(solver), options[INTERCEPT], costs.shape[0]
    few, at, longest, begin = vectors.shape[0], 0, 1, width + intercept + 2
    mixed = options[MIXED] > 0
    experts = 2 * few if averaged and mixed else few
    for r in range(lengths.shape[0]):
        longest = max(longest, lengths[r])
    raw, unary = np.empty((longest, experts * k)), np.empty((experts, longest, k))
    pair, mean, between = np.empty((experts, k, k)), np.empty((longest, k)), np.empty((1, k, k))
    gap, total, each = np.empty((longest, k)), np.empty((k, k)), np.empty((0, k, k))
    gaps, all_totals = np.empty((longest, few * k)), np.empty((k, few * k))
    work, g, inner = np.zeros(scratch_size(longest, k)), np.zeros(1), np.zeros(1)
    room = min(most_touched(indptr, width, firsts, lengths) + 3 + k, Theta.shape[0])
    G, touched = np.empty((room, few * k)), np.empty(room, dtype=np.int64)
    v, lost, s, told = np.empty(experts), np.empty(experts), np.empty(few), np.empty(few)
    factors = np.empty(Theta.shape[1])
    for r in range(lengths.shape[0]):
        M, w, first = lengths[r], weight[r], firsts[r]
        y = labels[at : at + M]
        x_sq, ratio = sizes(data, indices, indptr, width, first, M, options)
        raw_scores(data, indices, indptr, width, first, M, intercept, Theta, raw)
        told[:] = x_sq
        size = expert_scores(vectors, scales, raw[:M], told, w, averaged and mixed, unary, s)
        size += scores_of(vectors, s, Theta[begin:], averaged and mixed, pair)
        if not size <= LARGEST:
            return r
        for b in range(experts):
            losses[r] = solve(unary[b, :M], pair[b : b + 1], y, gap[:M], each, total, work)
            lost[b] = w * losses[r]
            if b < few:
                put(gap[:M], b * k, gaps)
                put(total, b * k, all_totals)
        played, steps_played = unary[0, :M], pair[:1]
        if mixed:
            played, steps_played = mean[:M], between
            marginal(shares[0], v)
            mean_scores(v, unary[:, :M], played)
            mean_scores(v, pair, between[0])
            losses[r] = solve(played, between, y, gap[:M], each, total, work)
        targets[r] = mean_cost(gap[:M], y, costs)
        if scores.shape[0] > 0:
            scores[at : at + M] = played
            pairs[r] = steps_played[0]
        if mixed and w > 0.0:
            learn_losses(shares, rates, totals, lost, sums)
        found = (first, gaps[:M], intercept, all_totals, slot, touched, G)
        count = gather_gradient(data, indices, indptr, width, *found)
        for t in range(count):
            slot[touched[t]] = -1
        for e in range(few):
            expert_numbers(G, touched, count, Theta, e, k, x_sq, inner, g)
            settle_expert(vectors, steps, e, inner, g, x_sq, w, s[e], Theta, k, averaged, factors)
        move_experts(Theta, k, vectors, factors, G, touched, count)
        numbers[LARGEST_SQ] = max(numbers[LARGEST_SQ], w * x_sq)
        numbers[LARGEST_RATIO] = max(numbers[LARGEST_RATIO], w * ratio)
        numbers[LEFT] = max(numbers[LEFT], work[-1] if options[PROJECTS] > 0 else 0.0)
        at += M
    return -1


#: What loops over rounds are handed of the state, and addresses of a solver, scales and steps.
STATE = (MATRIX, types.boolean, MATRIX, CUBE, *[VECTOR] * 3, READ_INT64, VECTOR, int64[::1])
KERNELS = (int64, READ_INT64, READ_INT64)


@functools.cache
def _compiled_epoch():
    rows = (READ_VECTOR, READ_INT32, READ_INT32, int64)
    sequences = (READ_INT64, READ_INT64, READ_INT64, READ_VECTOR)
    rest = (READ_MATRIX, VECTOR, VECTOR, MATRIX, CUBE)
    return kernel(epoch, signature=int64(*rows, *sequences, *STATE, *rest, *KERNELS))


def epoch_for(experts, projects):
    """What makes a `Call` of the epoch of all but its kernels, for experts and a regularizer."""
    solve = projection_gap if projects else chain_gap
    return loop_for(epoch, _compiled_epoch, (solve, SOLVER), experts)


def loop_for(loop, compiled, solver, experts):
    """What makes a `Call` of a loop over rounds of all but its kernels: solver, scales, steps.

    Solver and type; `compiled` gives the loop for addresses. Weights are a number times Θ.
    """
    pairs = [(expert.scale_kernel, expert.step_kernel) for expert in experts]
    is_fast, steps = is_compiled(solver[0]) and experts_are_compiled(pairs), steps_of(pairs)
    loop, solve = (compiled(), address(*solver)) if is_fast else (loop, solver[0])
    return lambda *given: (loop, *given, solve, *steps)
