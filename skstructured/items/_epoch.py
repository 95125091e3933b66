"""The compiled loop over rounds of items: experts move, and are played as one.

One vector of weights scores all items of a round, ``θ = X w``. Experts have a column of Θ each,
``w_e = s_e Θ_e``, and behind them the sums of their averages, as in
`skstructured._engine.mixture`; without a mixture there is one. Scores are mixed.
"""

import functools
import math

import numpy as np
from numba import int64, types

from skstructured._engine.addresses import (
    CUBE,
    LOSS,
    MATRIX,
    READ_INT32,
    READ_INT64,
    READ_VECTOR,
    SCALE,
    STEP,
    VECTOR,
    address,
    as_loss,
    as_scale,
)
from skstructured._engine.compiled import is_compiled, kernel
from skstructured._engine.epoch import LARGEST
from skstructured._engine.experts import fold_expert, renew_expert, settle_step
from skstructured._engine.mixing import learn_losses, marginal
from skstructured._engine.state import (
    FLUSH,
    RENEW,
    RENEWED,
    RESCALE,
    SCALED_WEIGHT_SUM,
    WEIGHT_SUM,
)
from skstructured.items._moves import (
    TOGETHER,
    gradient_sizes,
    item_gradient,
    item_scores,
    largest_eigenvalue,
    most_features,
)
from skstructured.sequences._mixture_epoch import move_columns

#: Places in the options: whether there is an intercept, whether rows may be centred in each round
#: because a number added to all scores changes nothing, whether scores of averages are mixed, and
#: whether the loss's kernel leaves a residual.
INTERCEPT, CENTRED, MIXED, ITERATIVE = range(4)

#: Places in the numbers that a learner keeps: the largest bound on w‖G‖² that an optimiser was
#: told, the largest w λ_max(XXᵀ)/λ, and what iterative oracles left at the most.
LARGEST_SQ, LARGEST_RATIO, LEFT = range(3)


#: Losses of this share of their terms are rounding, which would be large for AdaHedge's first rate.
NOTHING = 1e-15


@kernel
def scaled_scores(vectors, scales, raw, M, x_sq, weight, averaged, theta, s):
    """Scores of the experts (., M), and of their averages; the sum of their sizes."""
    few, size = vectors.shape[0], 0.0
    for e in range(few):
        vector = vectors[e]
        s[e] = as_scale(scales[e])(vector, x_sq[e], weight)
        played, total = vector[SCALED_WEIGHT_SUM], vector[WEIGHT_SUM]
        for m in range(M):
            theta[e, m] = s[e] * raw[m, e]
            size += abs(theta[e, m])
            if averaged:
                mean = played * raw[m, e] + raw[m, few + e]
                theta[few + e, m] = mean / total if total > 0.0 else 0.0
                size += abs(theta[few + e, m])
    return size


@kernel
def played_scores(v, theta, played):
    """Played ← Σ_e v_e θ_e."""
    for m in range(played.shape[0]):
        played[m] = 0.0
        for b in range(v.shape[0]):
            played[m] += v[b] * theta[b, m]


@kernel
def value_of(whole, theta, y, omega):
    """``Ω*(θ) + Ω − <θ, y>``, given Ω*(θ); 0 where it may be rounding."""
    value, size = whole + omega, abs(whole) + abs(omega)
    for m in range(theta.shape[0]):
        value -= theta[m] * y[m]
        size += abs(theta[m] * y[m])
    return value if value > NOTHING * size else 0.0


@kernel
def forget(work, options, numbers):
    """Begin anew with the scratch of an iterative oracle; what it left is kept in `numbers`."""
    if options[ITERATIVE] > 0:
        numbers[LEFT] = max(numbers[LEFT], work[0])
        for k in range(work.shape[0]):
            work[k] = 0.0


def item_epoch(
    data,
    indices,
    indptr,
    width,
    firsts,
    lengths,
    truth,
    weight,
    spread,
    flatness,
    omega,
    sizes,
    Theta,
    averaged,
    vectors,
    by_ratio,
    shares,
    rates,
    totals,
    sums,
    options,
    numbers,
    slot,
    params,
    work,
    scores,
    losses,
    loss,
    scales,
    steps,
):
    """Learn rounds in order; stop before one whose scores are not finite.

    Each round: ``θ_e = s_e X Θ_e``, and of its average; what is played, ``Σ v_e θ_e``; losses and
    gradients g_e in θ; the weights of the experts;
    ``Θ_e ← Θ_e + u_e Xᵀ g_e``. An expert is told ``D² λ_max(XXᵀ)``, which bounds ‖Xᵀg‖², or where
    it is `by_ratio` ``λ_max(XXᵀ)/λ``. `scores` receives what was played, `losses` its loss. Returns
    the place of the round that stopped it, or -1.
    """
    oracle = as_loss(loss)
    intercept, few, at = options[INTERCEPT], vectors.shape[0], 0
    experts = 2 * few if averaged and options[MIXED] > 0 else few
    longest = 1
    for r in range(lengths.shape[0]):
        longest = max(longest, lengths[r])
    raw, gaps = np.empty((longest, Theta.shape[1])), np.empty((longest, few))
    all_theta, all_g = np.empty((Theta.shape[1], longest)), np.empty((experts, longest))
    both = np.empty((2, TOGETHER * TOGETHER))
    mean = np.empty(width if longest > TOGETHER else 0)
    room = min(most_features(indptr, width, firsts, lengths), width) + 1
    G, touched = np.empty((room, few)), np.empty(room, dtype=np.int64)
    v, lost, s, told = np.empty(experts), np.empty(experts), np.empty(few), np.empty(few)
    squares, factors, own = np.empty(few), np.zeros(Theta.shape[1]), np.empty(longest)
    g_one, raw_one = np.zeros(1), np.zeros(1)
    for r in range(lengths.shape[0]):
        M, w, first = lengths[r], weight[r], firsts[r]
        y, scratch = own[:M], work[: sizes[r]]
        for m in range(M):
            y[m] = truth[at + m]
        place = (data, indices, indptr, width, first, M, intercept)
        largest = largest_eigenvalue(*place, options[CENTRED], both, mean)
        for e in range(few):
            told[e] = largest * (flatness[r] if by_ratio[e] > 0 else spread[r])
        item_scores(*place, Theta, raw)
        size = scaled_scores(vectors, scales, raw, M, told, w, averaged, all_theta, s)
        if not size <= LARGEST:
            return r
        for b in range(experts):
            theta, g = all_theta[b, :M], all_g[b, :M]
            forget(scratch, options, numbers)
            lost[b] = w * value_of(oracle(theta, y, g, params, scratch), theta, y, omega[r])
            if b < few:
                for m in range(M):
                    gaps[m, b] = g[m]
        marginal(shares[0], v)
        played = scores[at : at + M]
        played_scores(v, all_theta, played)
        g = all_g[experts - 1, :M]
        forget(scratch, options, numbers)
        losses[r] = value_of(oracle(played, y, g, params, scratch), played, y, omega[r])
        if w > 0.0:
            learn_losses(shares, rates, totals, lost, sums)
        found = (gaps[:M], intercept, slot, touched, G)
        count = item_gradient(data, indices, indptr, width, first, *found)
        gradient_sizes(G, count, few, squares)
        for e in range(few):
            inner = 0.0
            for m in range(M):
                inner += gaps[m, e] * raw[m, e]
            g_one[0] = math.sqrt(squares[e] / told[e]) if told[e] > 0.0 else 0.0
            raw_one[0] = inner / g_one[0] if g_one[0] > 0.0 else 0.0
            u = settle_step(vectors[e], steps[e], raw_one, g_one, told[e], w, s[e])
            if vectors[e, RESCALE] != 1.0 or (averaged and vectors[e, FLUSH] > 0.0):
                fold_expert(Theta, 1, False, averaged, e, few, vectors[e])
            factors[e] = u
            if averaged:
                factors[few + e] = -u * vectors[e, SCALED_WEIGHT_SUM]
        for t in range(count):
            move_columns(Theta, touched[t], factors, G, t)
        for e in range(few):
            if vectors[e, RENEWED] + 1.0 < RENEW:
                vectors[e, RENEWED] += 1.0
            else:
                renew_expert(vectors[e], Theta, 1, False, e)
        numbers[LARGEST_SQ] = max(numbers[LARGEST_SQ], w * largest * spread[r])
        numbers[LARGEST_RATIO] = max(numbers[LARGEST_RATIO], w * largest * flatness[r])
        at += M
    return -1


@functools.cache
def _compiled_epoch():
    rows = (READ_VECTOR, READ_INT32, READ_INT32, int64)
    rounds = (READ_INT64, READ_INT64, READ_VECTOR, READ_VECTOR)
    of_sizes = (READ_VECTOR, READ_VECTOR, READ_VECTOR, READ_INT64)
    learned = (MATRIX, types.boolean, MATRIX, READ_INT64, CUBE, VECTOR, VECTOR, VECTOR)
    rest = (READ_INT64, VECTOR, int64[::1], VECTOR, VECTOR, VECTOR, VECTOR)
    kernels = (int64, READ_INT64, READ_INT64)
    return kernel(item_epoch, signature=int64(*rows, *rounds, *of_sizes, *learned, *rest, *kernels))


def item_epoch_for(loss, experts):
    """What makes a `Call` of the epoch of all but its kernels, for a loss's kernel and experts."""
    scales = [expert.scale_kernel for expert in experts]
    steps = [expert.step_kernel for expert in experts]
    if all(map(is_compiled, (loss, *scales, *steps))):
        at = np.array([address(f, SCALE) for f in scales])
        rest = (address(loss, LOSS), at, np.array([address(f, STEP) for f in steps]))
        return lambda *given: (_compiled_epoch(), *given, *rest)
    return lambda *given: (item_epoch, *given, loss, scales, steps)
