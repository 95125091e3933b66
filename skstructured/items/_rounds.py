"""Kernels of items for the loop: scores, bounds and gradients of the items of one round.

One vector of weights scores all items of a round, ``θ = X w``; experts have a column of Θ each.
"""

import math

import numpy as np

from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.state import OPTIONS, clear
from skstructured.sequences._rounds import add_position, add_scaled, row_product, touch

#: Places in the options of the loop: whether there is an intercept, and whether rows may be
#: centered in each round, because a number added to all scores changes nothing.
INTERCEPT, CENTRED = range(OPTIONS, OPTIONS + 2)

#: Items of a round, at most, whose products are all computed.
TOGETHER = 64

#: Numbers of scratch that a bound takes, besides a row.
SCRATCH = 2 * TOGETHER * TOGETHER

#: Items that differ by less than this share of the features that differ are the same.
EQUAL = 1e-13

#: Behind all columns.
LAST = np.iinfo(np.int64).max


@kernel
def rows_of(data, width, first, M):
    """The M dense rows from `first`, as a matrix."""
    return data[first * width : (first + M) * width].reshape((M, width))


@kernel(fastmath=FASTMATH)
def less_first(data, width, places, offsets, out):
    """Dense rows of each round less its first; 0 if they are the same up to rounding.

    Features that all items share are then exactly 0, however large they are.
    """
    for r in range(offsets.shape[0] - 1):
        first = data[places[offsets[r]] * width :]
        for m in range(offsets[r], offsets[r + 1]):
            row, apart, size = data[places[m] * width :], 0.0, 0.0
            for j in range(width):
                difference = row[j] - first[j]
                out[m, j] = difference
                apart += difference * difference
                size += row[j] * row[j]
            if apart <= EQUAL * EQUAL * size:
                size = 0.0  # without shared features
                for j in range(width):
                    size += row[j] * row[j] if out[m, j] != 0.0 else 0.0
                if apart <= EQUAL * EQUAL * size:
                    clear(out[m])


@kernel
def sparse_distance(data, indices, indptr, one, other):
    """‖x − z‖² of two CSR rows, whose columns are sorted: features that both have leave nothing."""
    s, t, total = indptr[one], indptr[other], 0.0
    while s < indptr[one + 1] or t < indptr[other + 1]:
        left = indices[s] if s < indptr[one + 1] else LAST
        right = indices[t] if t < indptr[other + 1] else LAST
        difference = data[s] if left <= right else 0.0
        difference -= data[t] if right <= left else 0.0
        total += difference * difference
        s += left <= right
        t += right <= left
    return total


@kernel
def _products(data, indices, indptr, width, first, M, centred, K):
    """K (M, M) = XXᵀ of the items; −½ their squared distances if CSR rows are `centred`.

    Both are the same when they are centered, but distances are exact when items are far from 0.
    """
    if indptr.shape[0] == 0:
        X = rows_of(data, width, first, M)
        np.dot(X, X.T, K)
        return
    for a in range(M):
        for b in range(a + 1):
            if centred > 0:
                both = -0.5 * sparse_distance(data, indices, indptr, first + a, first + b)
            else:
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
    """``Σ‖x_i‖²``; if `centred`, of dense rows less ``M‖x̄‖²``, CSR ones by the first."""
    total, apart = 0.0, 0.0
    for m in range(M):
        total += row_product(data, indices, indptr, width, first + m, first + m) + intercept
        if centred > 0 and indptr.shape[0] > 0:
            apart += sparse_distance(data, indices, indptr, first + m, first)
    if centred > 0 and indptr.shape[0] > 0:
        return min(total, apart)
    if centred > 0:
        X, off = rows_of(data, width, first, M), 0.0
        mean[0] = 0.0
        for m in range(M):
            add_scaled(mean, 0, 1.0 / M, X, m)
        for j in range(width):
            off += mean[0, j] * mean[0, j]
        return total - M * off + 1e-15 * M * total
    return total


@kernel
def largest_eigenvalue(data, indices, indptr, width, first, M, intercept, centred, both, mean):
    """An upper bound on ``λ_max(XXᵀ)``, of the rows less their mean if they are `centred`.

    0 if rows are the same. For at most `TOGETHER` items ``(tr K⁸)^{1/8}``, K their products, which
    is at most ``M^{1/8}`` too large; for more, the trace. Dense rows are those of `less_first`.
    """
    if M > TOGETHER:
        return _spread(data, indices, indptr, width, first, M, intercept, centred, mean)
    K, L = both[0, : M * M].reshape((M, M)), both[1, : M * M].reshape((M, M))
    _products(data, indices, indptr, width, first, M, centred, K)
    largest = 0.0
    for a in range(M):
        for b in range(M):
            K[a, b] += intercept
            largest = max(largest, abs(K[a, b]))
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
    # What rounding may have taken off.
    return largest * (math.pow(trace, 1.0 / power) + 1e-14 * M)


@kernel(fastmath=FASTMATH)
def score_columns(X, Theta, raw):
    """Raw = XΘ of the first columns of Θ."""
    for m in range(X.shape[0]):
        for c in range(raw.shape[1]):
            total = 0.0
            for j in range(X.shape[1]):
                total += X[m, j] * Theta[j, c]
            raw[m, c] = total


@kernel
def prepare_items(data, indices, indptr, width, first, M, Theta, options, terms, room, raw, bounds):
    """Raw (M, .) = XΘ of the items from the row `first`; bounds on ‖Xᵀg‖² and C²/λ.

    `terms` are D² and 1/λ of the round, which `λ_max(XXᵀ)` is multiplied by.
    """
    intercept, centred = options[INTERCEPT], options[CENTRED]
    both = room[:SCRATCH].reshape((2, TOGETHER * TOGETHER))
    mean = room[SCRATCH:].reshape((1, room.shape[0] - SCRATCH))
    place = (data, indices, indptr, width, first, M, intercept)
    largest = largest_eigenvalue(*place, centred, both, mean)
    bounds[0], bounds[1] = largest * terms[0], largest * terms[1]
    dense = indptr.shape[0] == 0
    if dense and raw.shape[1] == Theta.shape[1]:
        np.dot(rows_of(data, width, first, M), Theta[:width], raw[:M])
    elif dense:
        score_columns(rows_of(data, width, first, M), Theta, raw)
    for m in range(M):
        if not dense:
            for c in range(raw.shape[1]):
                raw[m, c] = 0.0
            add_position(data, indices, indptr, width, first + m, Theta, raw, m)
        if intercept > 0:
            for c in range(raw.shape[1]):
                raw[m, c] += Theta[width, c]


@kernel
def gather_items(data, indices, indptr, width, first, g, options, slot, touched, G):
    """G = Xᵀ g, its rows those of the features `touched`; how many these are."""
    M, count, sparse = g.shape[0], 0, indptr.shape[0] > 0
    if sparse:
        for m in range(M):
            for t in range(indptr[first + m], indptr[first + m + 1]):
                at, count = touch(indices[t], slot, touched, count, G)
                add_scaled(G, at, data[t], g, m)
        for t in range(count):
            slot[touched[t]] = -1
    else:
        np.dot(rows_of(data, width, first, M).T, g, G[:width])
        for j in range(width):
            touched[j] = j
        count = width
    if options[INTERCEPT] > 0:
        touched[count] = width
        for c in range(G.shape[1]):
            G[count, c] = 0.0
        for m in range(M):
            add_scaled(G, count, 1.0, g, m)
        count += 1
    return count
