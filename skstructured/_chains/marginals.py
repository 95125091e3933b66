"""Marginals of batches of chains, and the gap between marginals and truth that learning needs."""

import math

import numpy as np

from skstructured._chains.logarithms import (
    add_step_products,
    chain_log_probability,
    exp_rows,
    longest_of,
    marginals_of,
    messages,
    multiply_row,
    row_softmax,
    row_sum,
    row_times,
    scale_row,
)
from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.state import copy_into, inner


@kernel
def exp_transitions(pair, E, across):
    """E = exp(pair[0] − top) and its transpose; returns top, NaN if E spans more than 1e-100."""
    k, flat_shape = E.shape[0], (1, E.size)
    top = exp_rows(pair.reshape(flat_shape), np.int64(0), np.int64(1), E.reshape(flat_shape))
    for i in range(k):
        for j in range(k):
            across[j, i] = E[i, j]
    return top if top > -np.inf else np.nan


@kernel
def forward(unary, start, length, E, top, alpha, tilt):
    """alpha[m] ∝ Σ exp of the scores of all that ends in a label at m; tilt = exp(unary − max).

    Returns log Z; −inf if no path is possible, NaN if rescaling is not enough.
    """
    log_z = exp_rows(unary, start, length, tilt) + top * (length - 1)
    if not log_z > -np.inf:
        return log_z
    for m in range(length):
        if m == 0:
            alpha[m, :] = 1.0
        else:
            row_times(alpha, m - 1, E, alpha, m)
        total = multiply_row(alpha, m, tilt, m)
        if total == 0.0:
            return -np.inf
        if not scale_row(alpha, m, 1.0 / total):
            return np.nan
        log_z += math.log(total)
    return log_z


@kernel(fastmath=FASTMATH)
def _finish_row(alpha, m, b, scratch_row, factor, mu, row):
    """mu[row] = alpha[m] · b[scratch_row] · factor."""
    for j in range(alpha.shape[1]):
        mu[row, j] = alpha[m, j] * b[scratch_row, j] * factor


@kernel
def backward(start, length, across, alpha, tilt, b, mu):
    """Unary marginals, from the results of `forward`; whether rescaling was enough.

    With b_m = E (tilt_{m+1} b_{m+1}), mu_m = alpha_m b_m / <alpha_m, b_m>. Leaves in tilt[m + 1]
    the factors with which alpha_m(i) E_ij tilt_{m+1}(j) are the pair marginals of m and m + 1. A
    row of `b` holds b_m: a number 0 would have numba compile for it all functions that use a row.
    """
    scratch_row = b.shape[0] - 1
    copy_into(mu[start + length - 1], alpha[length - 1])
    for m in range(length - 2, -1, -1):
        row_times(tilt, m + 1, across, b, scratch_row)
        factor = 1.0 / inner(alpha[m], b[scratch_row])
        _finish_row(alpha, m, b, scratch_row, factor, mu, start + m)
        scale_row(tilt, m + 1, factor)
        if not scale_row(b, scratch_row, 1.0 / row_sum(b, scratch_row)):
            return False
        multiply_row(tilt, m, b, scratch_row)
    return True


@kernel(fastmath=FASTMATH)
def pairs_of(start, length, E, alpha, tilt, each):
    """Pair marginals of every step, each[start + m]."""
    k = E.shape[0]
    for m in range(length - 1):
        for i in range(k):
            a = alpha[m, i]
            for j in range(k):
                each[start + m, i, j] = a * E[i, j] * tilt[m + 1, j]


@kernel(fastmath=FASTMATH)
def add_pairs(length, E, alpha, tilt, weight, products, total):
    """total += weight · (sum of the pair marginals over steps)."""
    k = E.shape[0]
    products[:] = 0.0
    add_step_products(alpha, tilt, length - 1, products)
    for i in range(k):
        for j in range(k):
            total[i, j] += weight * (E[i, j] * products[i, j])


@kernel
def scratch_size(longest, k):
    """Length of the scratch vector for marginals of chains of up to this many positions."""
    return 2 * longest * k + 3 * k * k + 2 * k


@kernel
def _scratch(work, longest, k):
    """The scratch of the rescaled passes, and that of logarithms: parts of a vector."""
    a, b = 2 * longest * k, 2 * longest * k + 3 * k * k
    rows = work[:a].reshape(2, longest, k)
    squares = work[a:b].reshape(3, k, k)
    vectors = work[b : b + 2 * k].reshape(2, k)
    alpha, tilt, E, across, products = rows[0], rows[1], squares[0], squares[1], squares[2]
    return (alpha, tilt, E, across, products), (products, vectors[0], vectors[1])


@kernel
def _top_of(pair, scaled):
    """E among the scratch from steps that are alike; `exp_transitions`, or NaN if they differ."""
    return exp_transitions(pair, scaled[2], scaled[3]) if pair.shape[0] == 1 else np.nan


@kernel
def _scaled_marginals(unary, start, stop, top, scaled, weight, mu, each, total):
    """Marginals by rescaling; log Z, NaN if that is not enough."""
    length = stop - start
    if top != top or length < 2:
        return np.nan
    alpha, tilt, E, across, products = scaled
    log_z = forward(unary, start, length, E, top, alpha, tilt)
    if not log_z > -np.inf:
        return log_z
    if not backward(start, length, across, alpha, tilt, products, mu):
        return np.nan
    if each.shape[0] > 0:
        pairs_of(start, length, E, alpha, tilt, each)
    if total.shape[0] > 0:
        add_pairs(length, E, alpha, tilt, weight, products, total)
    return log_z


@kernel(steps=5.0)
def batch_marginals(unary, offsets, pair, weight, mu, log_z, each, total):
    """Marginals of all chains: by rescaling, and by logarithms if that is not enough."""
    longest, k = longest_of(offsets), unary.shape[1]
    scaled, logarithmic = _scratch(np.empty(scratch_size(longest, k)), longest, k)
    top = _top_of(pair, scaled)
    for s in range(log_z.shape[0]):
        start, stop = offsets[s], offsets[s + 1]
        if stop - start == 1:
            log_z[s] = row_softmax(unary, start, mu)
            continue
        outputs = weight[s], mu, each, total
        log_z[s] = _scaled_marginals(unary, start, stop, top, scaled, *outputs)
        if log_z[s] != log_z[s]:
            log_z[s] = messages(unary, start, stop, pair, mu, logarithmic)
            if log_z[s] > -np.inf:
                marginals_of(unary, start, stop, pair, *outputs, logarithmic)
        if log_z[s] == -np.inf:
            mu[start:stop] = 0.0


@kernel
def chain_gap(unary, pair, labels, gap, total, work):
    """−ln p(labels) of one chain, inf if they are forbidden, NaN if all are; writes its gradients.

    That in ``unary`` (M, k) is `gap`, marginals less indicators of labels; `total` (k, k), without
    rows if it is not needed, is that in ``pair``, summed over steps. `work` has `scratch_size`.
    """
    (M, k), first = unary.shape, np.int64(0)
    scaled, logarithmic = _scratch(work, M, k)
    total[:] = 0.0
    outputs = 1.0, gap, np.empty((0, k, k)), total
    log_z = _scaled_marginals(unary, first, M, _top_of(pair, scaled), scaled, *outputs)
    if log_z == log_z:
        loss = -_scaled_log_probability(labels, scaled, gap)
    else:
        log_z = messages(unary, first, M, pair, gap, logarithmic)
        loss = -chain_log_probability(unary, first, M, pair, gap, labels, logarithmic[0])
        marginals_of(unary, first, M, pair, *outputs, logarithmic)
    if log_z == -np.inf:
        return np.nan
    subtract_labels(labels, gap, total)
    return loss


@kernel
def _scaled_log_probability(labels, scaled, mu):
    """ln p of labels: of the first, and of every next one given the one before it."""
    alpha, tilt, E, _across, _products = scaled
    first = mu[0, labels[0]]
    value = math.log(first) if first > 0.0 else -np.inf
    for m in range(labels.shape[0] - 1):
        i, j = labels[m], labels[m + 1]
        mass = mu[m, i]
        conditional = alpha[m, i] * E[i, j] * tilt[m + 1, j] / mass if mass > 0.0 else 0.0
        value += math.log(conditional) if conditional > 0.0 else -np.inf
    return value


@kernel
def subtract_labels(labels, gap, total):
    """Marginals of positions and of steps, less the indicators of labels."""
    for m in range(labels.shape[0]):
        gap[m, labels[m]] -= 1.0
        if m > 0 and total.shape[0] > 0:
            total[labels[m - 1], labels[m]] -= 1.0
