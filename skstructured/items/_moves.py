"""Scores of the items of a round, and what its gradient is: dense rows and CSR ones.

Weights are a matrix Θ with a row per feature, the intercept last, and a column per expert; behind
them, where averages are kept, a column with the sum of each.
"""

import math

import numpy as np

from skstructured._engine.compiled import FASTMATH, kernel
from skstructured.sequences._moves import add_dense, add_position, add_scaled, row_product, touch

#: Items of a round, at most, whose products are all computed.
TOGETHER = 64

#: Products of items less their mean, as a share of the largest, that are rounding.
EQUAL = 1e-13


@kernel(fastmath=FASTMATH)
def dense_score(data, start, width, flat):
    """<x, Θ> of a dense row and one vector of weights."""
    x, total = data[start : start + width], 0.0
    for j in range(width):
        total += x[j] * flat[j]
    return total


@kernel
def item_scores(data, indices, indptr, width, first, M, intercept, Theta, raw):
    """Raw (M, .) = XΘ of the items from the row `first`."""
    alone = Theta.shape[1] == 1 and indptr.shape[0] == 0
    flat = Theta.reshape(-1)
    for m in range(M):
        for c in range(raw.shape[1]):
            raw[m, c] = Theta[width, c] if intercept > 0 else 0.0
        if alone:
            raw[m, 0] += dense_score(data, (first + m) * width, width, flat)
        else:
            add_position(data, indices, indptr, width, first + m, Theta, raw, m)


@kernel(fastmath=FASTMATH)
def add_row(data, start, width, factor, flat):
    """Flat ← flat + factor x of a dense row."""
    x = data[start : start + width]
    for j in range(width):
        flat[j] += factor * x[j]


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
        flat = G.reshape(-1)
        for j in range(width):
            touched[j] = j
            for c in range(G.shape[1]):
                G[j, c] = 0.0
            if G.shape[1] > 1:
                add_dense(data, first * width + j, width, M, gap, G, j)
        for m in range(M if G.shape[1] == 1 else 0):
            add_row(data, (first + m) * width, width, gap[m, 0], flat)
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
def _products(data, indices, indptr, width, first, M, intercept, K):
    """K = XXᵀ of the items."""
    for a in range(M):
        for b in range(a + 1):
            both = row_product(data, indices, indptr, width, first + a, first + b) + intercept
            K[a, b] = both
            K[b, a] = both


@kernel
def _centre(K, M):
    """K ← (I − J) K (I − J), J the mean over the items."""
    total = 0.0
    for a in range(M):
        mean = 0.0
        for b in range(M):
            mean += K[a, b]
        K[a, M] = mean / M
        total += mean / M
    total /= M
    for a in range(M):
        for b in range(M):
            K[a, b] += total - K[a, M] - K[b, M]


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
        for j in range(width):
            mean[j] = 0.0
        for m in range(M):
            add_row(data, (first + m) * width, width, 1.0 / M, mean)
        off = 0.0
        for j in range(width):
            off += mean[j] * mean[j]
        apart = total - M * off
        return apart + 1e-15 * M * total if apart > EQUAL * M * total else 0.0
    return total


@kernel
def largest_eigenvalue(data, indices, indptr, width, first, M, intercept, centred, K, L, mean):
    """An upper bound on ``λ_max(XXᵀ)``, of the rows less their mean where they are `centred`.

    0 where rows are the same but for rounding. Of at most `TOGETHER` items ``(tr K⁸)^{1/8}``, K
    their products, which is at most ``M^{1/8}`` too large; of more the trace.
    """
    if M > TOGETHER:
        return _spread(data, indices, indptr, width, first, M, intercept, centred, mean)
    _products(data, indices, indptr, width, first, M, intercept, K)
    largest = 0.0
    for a in range(M):
        largest = max(largest, K[a, a])
    if largest == 0.0:
        return 0.0
    for a in range(M):
        for b in range(M):
            K[a, b] /= largest
    if centred > 0:
        _centre(K, M)
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


@kernel
def most_features(indptr, width, firsts, lengths):
    """The most features that the items of one round have."""
    if indptr.shape[0] == 0:
        return width
    most = 0
    for r in range(lengths.shape[0]):
        most = max(most, np.int64(indptr[firsts[r] + lengths[r]] - indptr[firsts[r]]))
    return most
