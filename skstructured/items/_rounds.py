"""The compiled loop over rounds of items: experts move, and are played as one.

One vector of weights scores all items of a round, ``θ = X w``. Experts have a column of Θ each,
``w_e = s_e Θ_e``, and behind them the sums of their averages, as in
`skstructured._engine.mixture`; without a mixture there is one. Scores are mixed.
"""

import functools
import math

import numpy as np
from numba import int64

from skstructured._engine.addresses import (
    LOSS,
    READ_INT32,
    READ_INT64,
    READ_VECTOR,
    VECTOR,
    as_loss,
)
from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.mixing import learn_losses, marginal
from skstructured._engine.rounds import LARGEST
from skstructured.sequences._rounds import (
    INTERCEPT,
    KERNELS,
    LARGEST_RATIO,
    LARGEST_SQ,
    LEFT,
    MIXED,
    STATE,
    add_position,
    add_scaled,
    expert_scores,
    loop_for,
    mean_scores,
    most_touched,
    move_experts,
    row_product,
    settle_expert,
    touch,
)

#: Items of a round, at most, whose products are all computed.
TOGETHER = 64

#: Products of items less their mean, as a share of the largest, that are rounding.
EQUAL = 1e-13


@kernel
def rows_of(data, width, first, M):
    """The M dense rows from `first`, as a matrix."""
    return data[first * width : (first + M) * width].reshape((M, width))


@kernel
def item_scores(data, indices, indptr, width, first, M, intercept, Theta, raw):
    """Raw (M, .) = XΘ of the items from the row `first`."""
    if indptr.shape[0] == 0:
        np.dot(rows_of(data, width, first, M), Theta[:width], raw[:M])
    for m in range(M):
        if indptr.shape[0] > 0:
            for c in range(raw.shape[1]):
                raw[m, c] = 0.0
            add_position(data, indices, indptr, width, first + m, Theta, raw, m)
        if intercept > 0:
            for c in range(raw.shape[1]):
                raw[m, c] += Theta[width, c]


@kernel
def item_gradient(data, indices, indptr, width, first, gap, intercept, slot, touched, G):
    """G = Xᵀ gap, its rows those of the features `touched`; how many these are."""
    M, count, sparse = gap.shape[0], 0, indptr.shape[0] > 0
    if sparse:
        for m in range(M):
            for t in range(indptr[first + m], indptr[first + m + 1]):
                at, count = touch(indices[t], slot, touched, count, G)
                add_scaled(G, at, data[t], gap, m)
        for t in range(count):
            slot[touched[t]] = -1
    else:
        np.dot(rows_of(data, width, first, M).T, gap, G[:width])
        for j in range(width):
            touched[j] = j
        count = width
    if intercept > 0:
        touched[count] = width
        for c in range(G.shape[1]):
            G[count, c] = 0.0
        for m in range(M):
            add_scaled(G, count, 1.0, gap, m)
        count += 1
    return count


@kernel
def _products(data, indices, indptr, width, first, M, K):
    """K (M, M) = XXᵀ of the items."""
    if indptr.shape[0] == 0:
        X = rows_of(data, width, first, M)
        np.dot(X, X.T, K)
        return
    for a in range(M):
        for b in range(a + 1):
            both = row_product(data, indices, indptr, width, first + a, first + b)
            K[a, b] = both
            K[b, a] = both


@kernel
def _centre(K, M, means):
    """K ← (I − J) K (I − J), J the mean over the items."""
    total = 0.0
    for a in range(M):
        mean = 0.0
        for b in range(M):
            mean += K[a, b]
        means[a] = mean / M
        total += mean / M
    total /= M
    for a in range(M):
        for b in range(M):
            K[a, b] += total - means[a] - means[b]


@kernel(fastmath=FASTMATH)
def _square(K, M, L):
    """L = K² of a symmetric K, the trace of K² returned."""
    trace = 0.0
    for a in range(M):
        for b in range(a + 1):
            both = 0.0
            for c in range(M):
                both += K[a, c] * K[b, c]
            L[a, b] = both
            L[b, a] = both
        trace += L[a, a]
    return trace


@kernel
def _spread(data, indices, indptr, width, first, M, intercept, centred, mean):
    """``Σ‖x_i‖²``; of dense rows less ``M‖x̄‖²`` where they are `centred`."""
    total = 0.0
    for m in range(M):
        total += row_product(data, indices, indptr, width, first + m, first + m) + intercept
    if centred > 0 and indptr.shape[0] == 0:
        X, off = rows_of(data, width, first, M), 0.0
        mean[0] = 0.0
        for m in range(M):
            add_scaled(mean, 0, 1.0 / M, X, m)
        for j in range(width):
            off += mean[0, j] * mean[0, j]
        apart = total - M * off
        return apart + 1e-15 * M * total if apart > EQUAL * M * total else 0.0
    return total


@kernel
def largest_eigenvalue(data, indices, indptr, width, first, M, intercept, centred, both, mean):
    """An upper bound on ``λ_max(XXᵀ)``, of the rows less their mean where they are `centred`.

    0 where rows are the same but for rounding. Of at most `TOGETHER` items ``(tr K⁸)^{1/8}``, K
    their products, which is at most ``M^{1/8}`` too large; of more the trace.
    """
    if M > TOGETHER:
        return _spread(data, indices, indptr, width, first, M, intercept, centred, mean)
    K, L = both[0, : M * M].reshape((M, M)), both[1, : M * M].reshape((M, M))
    _products(data, indices, indptr, width, first, M, K)
    largest = 0.0
    for a in range(M):
        for b in range(M):
            K[a, b] += intercept
        largest = max(largest, K[a, a])
    if largest == 0.0:
        return 0.0
    for a in range(M):
        for b in range(M):
            K[a, b] /= largest
    if centred > 0:
        _centre(K, M, L[0])
    _square(K, M, L)
    trace = _square(L, M, K)
    power = 4.0
    if trace > 0.0:
        trace, power = max(_square(K, M, L), 0.0), 8.0
    root = math.pow(trace, 1.0 / power)
    if centred > 0 and root <= EQUAL * M:
        return 0.0
    # What rounding may have taken off, of products whose mean is large.
    return largest * (root + 1e-14 * M)


@kernel
def gradient_sizes(G, count, few, squares):
    """Squares[e] = ‖G_e‖² of each expert."""
    for e in range(few):
        squares[e] = 0.0
    for t in range(count):
        for e in range(few):
            squares[e] += G[t, e] * G[t, e]


#: Places in the options behind `INTERCEPT` and `MIXED`: whether rows may be centred in each round
#: because a number added to all scores changes nothing, and whether the loss's kernel leaves a
#: residual.
CENTRED, ITERATIVE = range(2, 4)

#: Losses of this share of their terms are rounding, which would be large for AdaHedge's first rate.
NOTHING = 1e-15


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
    by_ratio,
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
    all_theta, all_g = np.empty((experts, longest, 1)), np.empty((experts, longest))
    both = np.empty((2, TOGETHER * TOGETHER))
    mean = np.empty((1, width if longest > TOGETHER else 0))
    room = min(most_touched(indptr, width, firsts, lengths), width) + 1
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
        mixed = averaged and options[MIXED] > 0
        size = expert_scores(vectors, scales, raw[:M], told, w, mixed, all_theta, s)
        if not size <= LARGEST:
            return r
        for b in range(experts):
            theta, g = all_theta[b, :M].reshape(M), all_g[b, :M]
            forget(scratch, options, numbers)
            lost[b] = w * value_of(oracle(theta, y, g, params, scratch), theta, y, omega[r])
            if b < few:
                for m in range(M):
                    gaps[m, b] = g[m]
        marginal(shares[0], v)
        played = scores[at : at + M]
        mean_scores(v, all_theta[:, :M], played.reshape((M, 1)))
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
            move = (vectors, steps, e, raw_one, g_one, told[e], w, s[e])
            settle_expert(*move, Theta, 1, averaged, factors)
        move_experts(Theta, 1, vectors, factors, G, touched, count)
        numbers[LARGEST_SQ] = max(numbers[LARGEST_SQ], w * largest * spread[r])
        numbers[LARGEST_RATIO] = max(numbers[LARGEST_RATIO], w * largest * flatness[r])
        at += M
    return -1


@functools.cache
def _compiled_epoch():
    rows = (READ_VECTOR, READ_INT32, READ_INT32, int64)
    rounds = (READ_INT64, READ_INT64, READ_VECTOR, READ_VECTOR)
    of_sizes = (READ_VECTOR, READ_VECTOR, READ_VECTOR, READ_INT64, READ_INT64)
    rest = (*STATE, *[VECTOR] * 4)
    return kernel(item_epoch, signature=int64(*rows, *rounds, *of_sizes, *rest, *KERNELS))


def item_epoch_for(loss, experts):
    """What makes a `Call` of the epoch of all but its kernels, for a loss's kernel and experts."""
    return loop_for(item_epoch, _compiled_epoch, (loss, LOSS), experts)
