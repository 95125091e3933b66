"""Marginals of batches of chains, and the gap between marginals and truth that learning needs."""

import math

import numpy as np

from skstructured._chains.logarithms import (
    ROWS,
    add_products,
    exp_matrix,
    exp_rows,
    log_probability,
    log_scratch,
    marginals_of,
    messages,
    multiply_row,
    row_length,
    row_softmax,
    row_sum,
    row_times,
    scale_row,
)
from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.state import copy_into, inner


@kernel
def exp_transitions(pair, E, across):
    """E = exp(pair[0] − top) and its transpose; returns top, or NaN if E cannot be used.

    It cannot if entries that are not forbidden span more than `SMALL`, or if all are forbidden.
    """
    top, k = exp_matrix(pair[0], E), E.shape[0]
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
def _finish_row(alpha, m, b, at, factor, mu, row):
    """mu[row] = alpha[m] · b[at] · factor."""
    for j in range(alpha.shape[1]):
        mu[row, j] = alpha[m, j] * b[at, j] * factor


@kernel
def backward(start, length, across, alpha, tilt, b, mu):
    """Unary marginals, from the results of `forward`; whether rescaling was enough.

    With b_m = E (tilt_{m+1} b_{m+1}), mu_m = alpha_m b_m / <alpha_m, b_m>. Leaves in tilt[m + 1],
    for m + 1 ≥ 1, the factors with which alpha_m(i) E_ij tilt_{m+1}(j) are the pair marginals of m
    and m + 1. A row of the scratch `b` holds b_m: a number 0 here would have numba compile for it
    every function that uses a row.
    """
    at = b.shape[0] - 1
    copy_into(mu[start + length - 1], alpha[length - 1])
    for m in range(length - 2, -1, -1):
        row_times(tilt, m + 1, across, b, at)
        factor = 1.0 / inner(alpha[m], b[at])
        _finish_row(alpha, m, b, at, factor, mu, start + m)
        scale_row(tilt, m + 1, factor)
        if not scale_row(b, at, 1.0 / row_sum(b, at)):
            return False
        multiply_row(tilt, m, b, at)
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
    add_products(alpha, tilt, length - 1, products)
    for i in range(k):
        for j in range(k):
            total[i, j] += weight * (E[i, j] * products[i, j])


@kernel
def scratch_size(longest, k):
    """Length of the scratch vector for marginals of chains of up to this many positions."""
    return 2 * longest * k + 3 * k * k + ROWS * row_length(k)


@kernel
def _parts(work, longest, k):
    """alpha, tilt, E, its transpose and products; and the scratch of logarithms."""
    a, b, c, d, e = longest * k, 2 * longest * k, k * k, 2 * k * k, 3 * k * k
    rest = work[b:]
    alpha, tilt = work[:a].reshape(longest, k), work[a:b].reshape(longest, k)
    E, across = rest[:c].reshape(k, k), rest[c:d].reshape(k, k)
    parts = (alpha, tilt, E, across, rest[d:e].reshape(k, k))
    return parts, log_scratch(rest[e:], k)


@kernel
def _scaled(unary, start, stop, top, parts, mu):
    """Unary marginals by rescaling; log Z, NaN if that is not enough.

    One position has no steps, and is not rescaled whether steps are alike or not.
    """
    if top != top or stop - start < 2:
        return np.nan
    alpha, tilt, E, across, row = parts
    log_z = forward(unary, start, stop - start, E, top, alpha, tilt)
    if log_z > -np.inf and not backward(start, stop - start, across, alpha, tilt, row, mu):
        return np.nan
    return log_z


@kernel
def _nothing(start, stop, mu, each):
    """Marginals if no path is possible: zeros."""
    mu[start:stop] = 0.0
    if each.shape[0] > 0:
        each[start : stop - 1] = 0.0


@kernel
def _scaled_pairs(start, stop, log_z, weight, mu, each, total, parts):
    """Pair marginals from the results of the rescaled passes."""
    alpha, tilt, E, _across, products = parts
    if log_z == -np.inf:
        _nothing(start, stop, mu, each)
        return
    if each.shape[0] > 0:
        pairs_of(start, stop - start, E, alpha, tilt, each)
    if total.shape[0] > 0:
        add_pairs(stop - start, E, alpha, tilt, weight, products, total)


@kernel(steps=5.0)
def scaled_marginals(unary, offsets, first, top, parts, weight, mu, log_z, each, total):
    """Marginals by rescaling, of chains from `first` on, up to one for which that is not enough.

    Returns which it is, or how many there are; `top` and E among `parts` are of `exp_transitions`.
    """
    for s in range(first, log_z.shape[0]):
        start, stop = offsets[s], offsets[s + 1]
        if stop - start == 1:
            log_z[s] = row_softmax(unary, start, mu)
            continue
        log_z[s] = _scaled(unary, start, stop, top, parts, mu)
        if log_z[s] != log_z[s]:
            return s
        _scaled_pairs(start, stop, log_z[s], weight[s], mu, each, total, parts)
    return log_z.shape[0]


@kernel
def chain_gap(unary, pair, labels, gap, each, total, work):
    """Marginals less the truth's indicators, of one chain; returns −ln p(labels).

    Parameters
    ----------
    unary : ndarray of shape (M, k)
    pair : ndarray of shape (1, k, k) or (M, k, k)
    labels : int64 ndarray of shape (M,)
    gap : ndarray of shape (M, k)
        Overwritten, with the gradient of the loss in ``unary``.
    each, total : ndarrays of shapes (M, k, k) and (k, k)
        Overwritten with the gradient in ``pair``, at every step or summed over steps; without rows
        if it is not needed.
    work : ndarray of shape (scratch_size(M, k),)

    Returns
    -------
    float
        The loss; inf if the labels are forbidden, NaN if all are, and no step is then learned.
    """
    (M, k), first = unary.shape, np.int64(0)
    parts, rest = _parts(work, M, k)
    top = exp_transitions(pair, parts[2], parts[3]) if pair.shape[0] == 1 else np.nan
    total[:] = 0.0
    log_z = _scaled(unary, first, M, top, parts, gap)
    if log_z == log_z:
        loss = -_scaled_log_probability(labels, parts, gap) if log_z > -np.inf else np.nan
        _scaled_pairs(first, M, log_z, 1.0, gap, each, total, parts)
    else:
        log_z = messages(unary, first, M, pair, gap, rest)
        if log_z == -np.inf:
            _nothing(first, M, gap, each)
            return np.nan
        loss = -log_probability(unary, first, M, pair, gap, labels, rest)
        marginals_of(unary, first, M, pair, gap, 1.0, gap, each, total, rest)
    if log_z > -np.inf:
        _less_truth(labels, gap, each, total)
    return loss


@kernel
def _scaled_log_probability(labels, parts, mu):
    """ln p of labels: of the first, and of every next one given the one before it."""
    alpha, tilt, E, _across, _products = parts
    first = mu[0, labels[0]]
    value = math.log(first) if first > 0.0 else -np.inf
    for m in range(labels.shape[0] - 1):
        i, j = labels[m], labels[m + 1]
        mass = mu[m, i]
        given = alpha[m, i] * E[i, j] * tilt[m + 1, j] / mass if mass > 0.0 else 0.0
        value += math.log(given) if given > 0.0 else -np.inf
    return value


@kernel
def _less_truth(labels, gap, each, total):
    for m in range(labels.shape[0]):
        gap[m, labels[m]] -= 1.0
        if m > 0 and each.shape[0] > 0:
            each[m - 1, labels[m - 1], labels[m]] -= 1.0
        if m > 0 and total.shape[0] > 0:
            total[labels[m - 1], labels[m]] -= 1.0
