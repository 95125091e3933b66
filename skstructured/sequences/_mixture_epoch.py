"""The compiled loop of a mixture over label sequences: many experts move, and are played as one.

The weights of experts, and behind them the sums of their averages, stand beside each other as
columns of one Θ, k for each. Scores are mixed, ``θ = Σ_e v_e θ_e``, and v follows AdaHedge with
sharing, see `skstructured._engine.mixing`.
"""

import functools
import math

import numpy as np
from numba import int64, types

from skstructured._chains.marginals import chain_gap, scratch_size
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
)
from skstructured._engine.compiled import FASTMATH, is_compiled, kernel
from skstructured._engine.experts import fold_expert, renew_expert, settle_step
from skstructured._engine.mixing import learn_losses, marginal
from skstructured._engine.state import FLUSH, RENEW, RENEWED, RESCALE, SCALED_WEIGHT_SUM, WEIGHT_SUM
from skstructured.sequences._rounds import (
    INTERCEPT,
    LARGEST,
    LARGEST_RATIO,
    LARGEST_SQ,
    LEFT,
    PROJECTS,
    SOLVER,
    as_solver,
    gather_gradient,
    mean_cost,
    most_touched,
    projection_gap,
    raw_scores,
    sizes,
)


@kernel
def scaled_columns(source, first, n, begin, factor, target):
    """Target (n, k) becomes factor times n rows of source, from the column `begin`; its size."""
    size = 0.0
    for i in range(n):
        for j in range(target.shape[1]):
            target[i, j] = factor * source[first + i, begin + j]
            size += abs(target[i, j])
    return size


@kernel
def averaged_columns(source, first, n, begin, behind, played, total, target):
    """The same of ``(played Θ + A)/total``, A from the column `behind`."""
    size = 0.0
    for i in range(n):
        for j in range(target.shape[1]):
            both = played * source[first + i, begin + j] + source[first + i, behind + j]
            target[i, j] = both / total if total > 0.0 else 0.0
            size += abs(target[i, j])
    return size


@kernel
def chain_scores(vectors, scales, raw, Theta, begin, x_sq, weight, averaged, unary, pair, s):
    """Scores of the experts (N, ., k), (N, k, k) and of their averages; the sum of their sizes."""
    few, M, k, size = vectors.shape[0], raw.shape[0], unary.shape[2], 0.0
    for e in range(few):
        vector, one, sums = vectors[e], e * k, (few + e) * k
        s[e] = as_scale(scales[e])(vector, x_sq, weight)
        size += scaled_columns(raw, 0, M, one, s[e], unary[e])
        size += scaled_columns(Theta, begin, k, one, s[e], pair[e])
        if averaged:
            played, total, mean = vector[SCALED_WEIGHT_SUM], vector[WEIGHT_SUM], few + e
            size += averaged_columns(raw, 0, M, one, sums, played, total, unary[mean])
            size += averaged_columns(Theta, begin, k, one, sums, played, total, pair[mean])
    return size


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


@kernel
def expert_numbers(G, touched, count, Theta, e, k, x_sq, raw, g):
    """As `as_numbers`, of the columns of one expert."""
    square, inner = 0.0, 0.0
    for t in range(count):
        for j in range(e * k, (e + 1) * k):
            square += G[t, j] * G[t, j]
            inner += G[t, j] * Theta[touched[t], j]
    g[0] = math.sqrt(square / x_sq)
    raw[0] = inner / g[0] if g[0] > 0.0 else 0.0


@kernel(fastmath=FASTMATH)
def move_columns(Theta, j, factors, G, t):
    """Row j of Θ grows by row t of G, every column by its factor; of averages by the one behind."""
    wide = G.shape[1]
    for c in range(wide):
        Theta[j, c] += factors[c] * G[t, c]
    for c in range(Theta.shape[1] - wide):
        Theta[j, wide + c] += factors[wide + c] * G[t, c]


def mixture_epoch(
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
    """Learn sequences in order, as `skstructured.sequences._rounds.epoch` does, with many experts.

    `losses`, `targets`, `scores` and `pairs` are those of what is played. Returns the place of the
    sequence that stopped it, or -1.
    """
    solve, intercept, k = as_solver(solver), options[INTERCEPT], costs.shape[0]
    few, at, longest = vectors.shape[0], 0, 1
    experts, begin = Theta.shape[1] // k, width + intercept + 2
    for r in range(lengths.shape[0]):
        longest = max(longest, lengths[r])
    raw, unary = np.empty((longest, experts * k)), np.empty((experts, longest, k))
    pair, played, between = np.empty((experts, k, k)), np.empty((longest, k)), np.empty((1, k, k))
    gap, total, each = np.empty((longest, k)), np.empty((k, k)), np.empty((0, k, k))
    gaps, all_totals = np.empty((longest, few * k)), np.empty((k, few * k))
    work, g, inner = np.zeros(scratch_size(longest, k)), np.zeros(1), np.zeros(1)
    room = min(most_touched(indptr, width, firsts, lengths) + 3 + k, Theta.shape[0])
    G, touched = np.empty((room, few * k)), np.empty(room, dtype=np.int64)
    v, lost, s = np.empty(experts), np.empty(experts), np.empty(few)
    factors = np.empty(experts * k)
    for r in range(lengths.shape[0]):
        M, w, first = lengths[r], weight[r], firsts[r]
        y = labels[at : at + M]
        x_sq, ratio = sizes(data, indices, indptr, width, first, M, options)
        raw_scores(data, indices, indptr, width, first, M, intercept, Theta, raw)
        place = (begin, x_sq, w, averaged)
        size = chain_scores(vectors, scales, raw[:M], Theta, *place, unary, pair, s)
        if not size <= LARGEST:
            return r
        for b in range(experts):
            lost[b] = w * solve(unary[b, :M], pair[b : b + 1], y, gap[:M], each, total, work)
            if b < few:
                put(gap[:M], b * k, gaps)
                put(total, b * k, all_totals)
        marginal(shares[0], v)
        mean_scores(v, unary[:, :M], played[:M])
        mean_scores(v, pair, between[0])
        losses[r] = solve(played[:M], between, y, gap[:M], each, total, work)
        targets[r] = mean_cost(gap[:M], y, costs)
        if scores.shape[0] > 0:
            scores[at : at + M] = played[:M]
            pairs[r] = between[0]
        if w > 0.0:
            learn_losses(shares, rates, totals, lost, sums)
        found = (first, gaps[:M], intercept, all_totals, slot, touched, G)
        count = gather_gradient(data, indices, indptr, width, *found)
        for t in range(count):
            slot[touched[t]] = -1
        for e in range(few):
            expert_numbers(G, touched, count, Theta, e, k, x_sq, inner, g)
            u = settle_step(vectors[e], steps[e], inner, g, x_sq, w, s[e])
            if vectors[e, RESCALE] != 1.0 or (averaged and vectors[e, FLUSH] > 0.0):
                fold_expert(Theta, k, False, averaged, e, few, vectors[e])
            factors[e * k : (e + 1) * k] = u
            if averaged:
                factors[(few + e) * k : (few + e + 1) * k] = -u * vectors[e, SCALED_WEIGHT_SUM]
        for t in range(count):
            move_columns(Theta, touched[t], factors, G, t)
        for e in range(few):
            if vectors[e, RENEWED] + 1.0 < RENEW:
                vectors[e, RENEWED] += 1.0
            else:
                renew_expert(vectors[e], Theta, k, False, e)
        numbers[LARGEST_SQ] = max(numbers[LARGEST_SQ], w * x_sq)
        numbers[LARGEST_RATIO] = max(numbers[LARGEST_RATIO], w * ratio)
        numbers[LEFT] = max(numbers[LEFT], work[-1] if options[PROJECTS] > 0 else 0.0)
        at += M
    return -1


@functools.cache
def _compiled_epoch():
    rows = (READ_VECTOR, READ_INT32, READ_INT32, int64)
    sequences = (READ_INT64, READ_INT64, READ_INT64, READ_VECTOR)
    mixed = (MATRIX, types.boolean, MATRIX, CUBE, VECTOR, VECTOR, VECTOR)
    learned = (READ_INT64, VECTOR, int64[::1], READ_MATRIX)
    rest = (VECTOR, VECTOR, MATRIX, CUBE, int64, READ_INT64, READ_INT64)
    return kernel(mixture_epoch, signature=int64(*rows, *sequences, *mixed, *learned, *rest))


def mixture_epoch_for(experts, projects):
    """What makes a `Call` of the epoch of all but its kernels, for experts and a regularizer."""
    solve = projection_gap if projects else chain_gap
    scales = [expert.scale_kernel for expert in experts]
    steps = [expert.step_kernel for expert in experts]
    if all(map(is_compiled, (solve, *scales, *steps))):
        at = (address(solve, SOLVER), [address(f, SCALE) for f in scales])
        rest = (at[0], np.array(at[1]), np.array([address(f, STEP) for f in steps]))
        return lambda *given: (_compiled_epoch(), *given, *rest)
    return lambda *given: (mixture_epoch, *given, solve, scales, steps)
