"""Forward–backward passes of chains: by rescaling, and by logarithms if that is not enough.

Messages in logarithms are ``beta_m(i) = ln Σ exp`` of the scores of all that can follow label i at
position m, less a constant. Then
``p(y_{m+1} = j | y_m = i) ∝ exp(pair_m(i, j) + unary_{m+1}(j) + beta_{m+1}(j))``, in which nothing
cancels at any scale of the scores, and from which marginals and probabilities follow. It takes two
exponentials a step and pair of labels. Rescaled passes take k a position, for steps that are alike.

``pair`` is (1, k, k), one matrix for all steps, or has a matrix for each row of ``unary``.
"""

import math

import numpy as np

from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.simd import exp_of, greater, lesser
from skstructured._engine.state import axpy, copy_into, inner


@kernel
def longest_of(offsets):
    """How many positions the longest chain of a batch has."""
    longest = 0
    for s in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    return longest


@kernel(inline=True)
def exp_below(e):
    """exp(e) for e ≤ 0; 0 below −700."""
    value = exp_of(greater(e, -700.0))
    return value if e > -700.0 else 0.0


@kernel(fastmath=FASTMATH)
def row_max(A, row):
    """Largest entry of a row without NaN."""
    top = -np.inf
    for j in range(A.shape[1]):
        top = greater(top, A[row, j])
    return top


@kernel(fastmath=FASTMATH)
def row_sum(A, row):
    """Sum of a row."""
    total = 0.0
    for j in range(A.shape[1]):
        total += A[row, j]
    return total


def _exp_array(values):
    low = (values < -230.0) & (values > -np.inf)
    np.exp(values, out=values)
    return not low.any()


@kernel(fastmath={"contract"}, python=_exp_array)
def _exp_all(values):
    """values = exp(values), at most 0, in place; whether all that are not 0 reach 1e-100."""
    low = 0
    for i in range(values.shape[0]):
        e = values[i]
        values[i] = exp_below(e)
        low += (e < -230.0) & (e > -np.inf)
    return low == 0


@kernel
def row_softmax(A, row, target):
    """target[row] = exp(A[row]) over their sum, and its logarithm; −inf and zeros of −inf."""
    top = row_max(A, row)
    for j in range(A.shape[1]):
        target[row, j] = A[row, j] - top if top > -np.inf else -np.inf
    _exp_all(target[row])
    total = row_sum(target, row)
    for j in range(A.shape[1]):
        target[row, j] /= total if total > 0.0 else 1.0
    return top + math.log(total) if total > 0.0 else -np.inf


@kernel
def exp_rows(A, start, length, target):
    """target = exp(A − maximum of the row), of rows from `start` on; the sum of the maxima.

    −inf if all of a row is −inf, and NaN if something that is not 0 is less than 1e-100.
    """
    total, k = 0.0, A.shape[1]
    for m in range(length):
        top = row_max(A, start + m)
        if top == -np.inf:
            return top
        total += top
        for j in range(k):
            target[m, j] = A[start + m, j] - top
    return total if _exp_all(target[:length].reshape(length * k)) else np.nan


def _row_times_array(x, row, E, y, to):
    y[to] = x[row] @ E


@kernel(fastmath=FASTMATH, python=_row_times_array)
def row_times(x, row, E, y, to):
    """y[to] = E' x[at], four rows of E at a time."""
    k = E.shape[1]
    for j in range(k):
        y[to, j] = 0.0
    fours = E.shape[0] // 4 * 4
    for i in range(0, fours, 4):
        a, b, c, d = x[row, i], x[row, i + 1], x[row, i + 2], x[row, i + 3]
        for j in range(k):
            y[to, j] += a * E[i, j] + b * E[i + 1, j] + c * E[i + 2, j] + d * E[i + 3, j]
    for i in range(fours, E.shape[0]):
        a = x[row, i]
        for j in range(k):
            y[to, j] += a * E[i, j]


def _add_array_products(A, B, length, total):
    total += A[:length].T @ B[1 : length + 1]


@kernel(fastmath=FASTMATH, python=_add_array_products)
def add_step_products(A, B, length, total):
    """total += Σ_m A[m] B[m + 1]' over m < length, four m at a time."""
    k, fours = total.shape[0], length // 4 * 4
    for m in range(0, fours, 4):
        for i in range(k):
            a, b, c, d = A[m, i], A[m + 1, i], A[m + 2, i], A[m + 3, i]
            for j in range(k):
                first = a * B[m + 1, j] + b * B[m + 2, j]
                total[i, j] += first + (c * B[m + 3, j] + d * B[m + 4, j])
    for m in range(fours, length):
        for i in range(k):
            a = A[m, i]
            for j in range(k):
                total[i, j] += a * B[m + 1, j]


@kernel(fastmath=FASTMATH)
def multiply_row(A, row, B, other):
    """A[row] ← A[row] · B[other]; the sum."""
    total = 0.0
    for j in range(A.shape[1]):
        A[row, j] *= B[other, j]
        total += A[row, j]
    return total


@kernel(fastmath=FASTMATH)
def scale_row(A, row, factor):
    """A[row] ← A[row] · factor; whether all that is not 0 is at least 1e-100."""
    lowest = 1.0
    for j in range(A.shape[1]):
        value = A[row, j] * factor
        A[row, j] = value
        lowest = lesser(lowest, value if value > 0.0 else 1.0)
    return lowest >= 1e-100


@kernel(fastmath=FASTMATH)
def _shifted_scores(unary, row, pair, beta, i, shifted):
    """shifted[i] = scores of what can follow label i at a row, less the largest; the largest."""
    step, top = row if pair.shape[0] > 1 else 0, -np.inf
    for j in range(unary.shape[1]):
        shifted[i, j] = pair[step, i, j] + (unary[row + 1, j] + beta[row + 1, j])
        top = greater(top, shifted[i, j])
    for j in range(unary.shape[1]):
        shifted[i, j] -= top if top > -np.inf else 0.0
    return top


@kernel
def _weigh_steps(unary, row, pair, beta, weights, tops, totals):
    """Weights (k, k) of the labels after each label at a row, up to a factor for each, their sums.

    The logarithms of the factors are `tops`, −inf if no label can follow.
    """
    k = unary.shape[1]
    for i in range(k):
        tops[i] = _shifted_scores(unary, row, pair, beta, i, weights)
    _exp_all(weights.reshape(k * k))
    for i in range(k):
        totals[i] = row_sum(weights, i)


@kernel
def messages(unary, start, stop, pair, beta, scratch):
    """beta of the rows of a chain, the largest of each row 0; returns log Z, −inf for no path.

    The scratch are weights (k, k), tops (k,) and totals (k,).
    """
    (weights, tops, totals), log_z = scratch, 0.0
    beta[stop - 1, :] = 0.0
    for row in range(stop - 2, start - 1, -1):
        _weigh_steps(unary, row, pair, beta, weights, tops, totals)
        for i in range(unary.shape[1]):
            beta[row, i] = tops[i] + math.log(totals[i]) if totals[i] > 0.0 else -np.inf
        most = row_max(beta, row)
        if most == -np.inf:
            return most
        for i in range(unary.shape[1]):
            beta[row, i] -= most
        log_z += most
    copy_into(weights[0], beta[start])
    axpy(weights[0], 1.0, unary[start])
    return log_z + row_softmax(weights, np.int64(0), weights)


@kernel(fastmath=FASTMATH)
def _spread_mass(mass, weights, i, mu, row):
    """weights[i] ← mass · weights[i], the marginals of a step from a label; mu[row] += these."""
    for j in range(mu.shape[1]):
        weights[i, j] *= mass
        mu[row, j] += weights[i, j]


@kernel
def marginals_of(unary, start, stop, pair, weight, mu, each, total, scratch):
    """Marginals by conditionals; they agree with each other to rounding, at any scale of scores.

    `mu` holds the `messages`, and receives the marginals. Pair marginals are written to ``each``,
    and ``weight`` times their sum is added to ``total``, if these have rows.
    """
    weights, tops, totals = scratch
    k = unary.shape[1]
    axpy(mu[start], 1.0, unary[start])
    row_softmax(mu, start, mu)
    for row in range(start, stop - 1):
        _weigh_steps(unary, row, pair, mu, weights, tops, totals)
        mu[row + 1, :] = 0.0
        for i in range(k):
            mass = mu[row, i] / totals[i] if totals[i] > 0.0 else 0.0
            _spread_mass(mass, weights, i, mu, row + 1)
            if each.shape[0] > 0:
                copy_into(each[row, i], weights[i])
            if total.shape[0] > 0:
                axpy(total[i], weight, weights[i])


@kernel
def chain_log_probability(unary, start, stop, pair, beta, labels, scores):
    """ln p of labels, by conditionals; ``beta`` is of `messages`, ``labels`` of the whole batch."""
    copy_into(scores[0], beta[start])
    axpy(scores[0], 1.0, unary[start])
    label = labels[start]
    value = scores[0, label] - row_softmax(scores, np.int64(0), scores)
    for row in range(start, stop - 1):
        top = _shifted_scores(unary, row, pair, beta, label, scores)
        if top == -np.inf:
            return top
        after = labels[row + 1]
        value += scores[label, after] - row_softmax(scores, label, scores)
        label = after
    return value


@kernel(steps=50.0)
def batch_log_probabilities(unary, offsets, pair, labels, values):
    """`chain_log_probability` of all chains; NaN if no path is possible."""
    k, beta = unary.shape[1], np.empty(unary.shape)
    scratch = np.empty((k, k)), np.empty(k), np.empty(k)
    for s in range(offsets.shape[0] - 1):
        start, stop = offsets[s], offsets[s + 1]
        values[s] = np.nan
        if messages(unary, start, stop, pair, beta, scratch) > -np.inf:
            values[s] = chain_log_probability(unary, start, stop, pair, beta, labels, scratch[0])


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
