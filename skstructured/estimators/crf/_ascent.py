"""Compiled passes of dual coordinate ascent over sequences, or over single rows."""

import math

import numpy as np

from skstructured._chains.marginals import batch_marginals
from skstructured._engine.compiled import kernel
from skstructured.sequences._rounds import (
    add_position,
    add_scaled,
    gather_gradient,
    most_touched,
    raw_scores,
)

#: Most steps of Newton's method in one line search.
NEWTON_STEPS = 60


@kernel
def line_sums(mean, d, step, factor, sums):
    """Add `factor` times H and its first two derivatives along d, at mean + step d, to sums."""
    for i in range(mean.shape[0]):
        m = mean[i] + step * d[i]
        if m > 0.0:
            log_m = math.log(m)
            sums[0] -= factor * m * log_m
            sums[1] -= factor * d[i] * log_m
            sums[2] -= factor * d[i] * d[i] / m


@kernel
def line_entropy(mean, pairs, d, d_pairs, step, sums):
    """H of the chain with these marginals, and its derivatives along d, into sums (3,).

    Entropies of steps, less those of positions that two steps share; that of a single position.
    """
    M = mean.shape[0]
    sums[:] = 0.0
    for m in range(M):
        shared = 1.0 if M == 1 else 0.0 if m == 0 or m == M - 1 else -1.0
        if shared != 0.0:
            line_sums(mean[m], d[m], step, shared, sums)
        if m < M - 1:
            for i in range(mean.shape[1]):
                line_sums(pairs[m, i], d_pairs[m, i], step, 1.0, sums)


@kernel
def line_search(mean, pairs, d, d_pairs, linear, square, sums):
    """The step in [0, 1] of the largest H + step linear − step² square/2, by Newton's method.

    Its derivative falls from KL(μ‖p) + KL(p‖μ) at 0 to −square at 1; steps that would leave the
    bracket halve it. `sums` keep the entropy there.
    """
    low, high, step = 0.0, 1.0, 1.0 / (1.0 + square)
    for _ in range(NEWTON_STEPS):
        line_entropy(mean, pairs, d, d_pairs, step, sums)
        slope, curve = sums[1] + linear - step * square, sums[2] - square
        if slope > 0.0:
            low = step
        else:
            high = step
        new = step - slope / curve if curve < 0.0 else 0.5 * (low + high)
        if not low <= new <= high:
            new = 0.5 * (low + high)
        if abs(new - step) <= 1e-3 * step:
            return step
        step = new
    line_entropy(mean, pairs, d, d_pairs, step, sums)
    return step


@kernel
def _inner(a, b):
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += a[i, j] * b[i, j]
    return total


@kernel
def _add(target, source, factor):
    for i in range(source.shape[0]):
        add_scaled(target, i, factor, source, i)


@kernel
def _less(p, mean):
    for i in range(p.shape[0]):
        for j in range(p.shape[1]):
            p[i, j] -= mean[i, j]


@kernel
def features_of(rows, first, d, total, intercept, chains, slot, touched, G):
    """Φ d of a sequence or a row: rows G of Θ with their numbers; how many, and ‖Φ d‖²."""
    data, indices, indptr, width = rows
    if chains:
        args = (first, d, intercept, total, slot, touched, G)
        count = gather_gradient(data, indices, indptr, width, *args)
    else:
        count, sparse = 0, indptr.shape[0] > 0
        begin = indptr[first] if sparse else first * width
        end = indptr[first + 1] if sparse else begin + width
        G[: end - begin + intercept] = 0.0
        for t in range(begin, end):
            touched[count] = indices[t] if sparse else t - begin
            add_scaled(G, count, data[t], d, 0)
            count += 1
        if intercept > 0:
            touched[count] = width
            add_scaled(G, count, 1.0, d, 0)
            count += 1
    for t in range(count):
        slot[touched[t]] = -1
    return count, _inner(G[:count], G[:count])


@kernel
def scores_of(rows, first, intercept, chains, Theta, unary):
    """Scores of the positions of a sequence, or of a row."""
    data, indices, indptr, width = rows
    if chains:
        raw_scores(data, indices, indptr, width, first, len(unary), intercept, Theta, unary)
        return
    unary[:] = 0.0
    if intercept > 0:
        add_scaled(unary, 0, 1.0, Theta, width)
    add_position(data, indices, indptr, width, first, Theta, unary, 0)


@kernel
def ascend(rows, offsets, order, share, alpha, intercept, chains, Theta, mu, pairs, slot, entropy):
    """One pass of proximal dual coordinate ascent, with the step of the largest dual.

    Marginals `mu` (N, k) and `pairs` (N, k, k) move towards those at the scores, and Θ with them;
    `entropy` (n,) gets the entropies of what was visited.
    """
    k, longest = mu.shape[1], np.max(offsets[1:] - offsets[:-1])
    indptr, width = rows[2], rows[3]
    room = most_touched(indptr, width, offsets[:-1], offsets[1:] - offsets[:-1]) + 3 + k
    G, touched = np.empty((room, k)), np.empty(room, dtype=np.int64)
    p, each = np.empty((longest, k)), np.zeros((longest, k, k))
    unary, total = np.empty((longest, k)), np.empty((0, k))
    pair = np.zeros((1 if chains else 2, k, k))  # of one for all steps, exponentials are made
    log_z, sums, steps = np.empty(1), np.empty(3), np.empty((k, k))
    for i in order:
        first, M = offsets[i], offsets[i + 1] - offsets[i]
        mean, here, d, d_pairs = mu[first : first + M], unary[:M], p[:M], each[:M]
        means = pairs[first : first + M - 1]
        scores_of(rows, first, intercept, chains, Theta, here)
        if chains:
            pair[0] = Theta[width + intercept + 2 :]
        ends = np.array([0, M])
        batch_marginals(here, ends, pair, np.empty(0), d, log_z, d_pairs, total)
        _less(d, mean)
        steps[:] = 0.0
        for m in range(M - 1):
            _less(d_pairs[m], means[m])
            _add(steps, d_pairs[m], 1.0)
        found = features_of(rows, first, d, steps, intercept, chains, slot, touched, G)
        linear, square = _inner(here, d) + _inner(pair[0], steps), share[i] * found[1] / alpha
        step = line_search(mean, means, d, d_pairs, linear, square, sums)
        entropy[i] = sums[0]
        _add(mean, d, step)
        for m in range(M - 1):
            _add(means[m], d_pairs[m], step)
        for t in range(found[0]):
            add_scaled(Theta, touched[t], -step * share[i] / alpha, G, t)


@kernel
def entropies(offsets, mu, pairs, entropy):
    """Entropies (n,) of all marginals."""
    sums = np.empty(3)
    for i in range(len(entropy)):
        mean = mu[offsets[i] : offsets[i + 1]]
        means = pairs[offsets[i] : offsets[i + 1] - 1]
        line_entropy(mean, means, mean, means, 0.0, sums)
        entropy[i] = sums[0]
