"""Messages of a chain in logarithms, and the conditionals they give.

``beta_m(i) = ln Σ exp`` of the scores of all that can follow label i at position m, less a
constant. Then ``p(y_{m+1} = j | y_m = i) ∝ exp(pair_m(i, j) + unary_{m+1}(j) + beta_{m+1}(j))``, in
which nothing cancels at any scale of the scores, and from which marginals and probabilities follow.
It takes two exponentials a step and pair of labels.

``pair`` is (1, k, k), one matrix for all steps, or has a matrix for each row of ``unary``.
"""

import math

import numpy as np

from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.simd import exp_of, greater, lesser
from skstructured._engine.state import copy_into

#: What is added up in scaled form is 0 or at least this, so that no product of three is lost.
SMALL = 1e-100
#: ln SMALL
LOW = -230.0


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


@kernel
def row_softmax(A, row, target):
    """target[row] = exp(A[row]) over their sum, and its logarithm; −inf and zeros of −inf."""
    top, total = row_max(A, row), 0.0
    for j in range(A.shape[1]):
        target[row, j] = exp_below(A[row, j] - top) if top > -np.inf else 0.0
        total += target[row, j]
    for j in range(A.shape[1]):
        target[row, j] /= total if total > 0.0 else 1.0
    return top + math.log(total) if total > 0.0 else -np.inf


@kernel(fastmath={"contract"})
def _exp_all(values):
    """values = exp(values), at most 0, in place; whether all that are not 0 reach `SMALL`."""
    low = 0
    for i in range(values.shape[0]):
        e = values[i]
        values[i] = exp_below(e)
        low += (e < LOW) & (e > -np.inf)
    return low == 0


@kernel
def exp_rows(A, start, length, target):
    """target = exp(A − maximum of the row), of rows from `start` on; the sum of the maxima.

    −inf if all of a row is −inf, and NaN if something that is not 0 is less than `SMALL`. All
    rows are one long loop: a short one's last entries would not be vectors.
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


@kernel
def exp_matrix(A, target):
    """target = exp(A − its maximum), and that; or −inf, or NaN, as of `exp_rows`."""
    k, top = A.shape[0], -np.inf
    for i in range(k):
        top = max(top, row_max(A, i))
    if top == -np.inf:
        return top
    for i in range(k):
        for j in range(k):
            target[i, j] = A[i, j] - top
    return top if _exp_all(target.reshape(k * k)) else np.nan


@kernel(fastmath=FASTMATH)
def row_times(x, at, E, y, to):
    """y[to] = E' x[at], four rows of E at a time."""
    k = E.shape[1]
    for j in range(k):
        y[to, j] = 0.0
    fours = E.shape[0] // 4 * 4
    for i in range(0, fours, 4):
        a, b, c, d = x[at, i], x[at, i + 1], x[at, i + 2], x[at, i + 3]
        for j in range(k):
            y[to, j] += a * E[i, j] + b * E[i + 1, j] + c * E[i + 2, j] + d * E[i + 3, j]
    for i in range(fours, E.shape[0]):
        a = x[at, i]
        for j in range(k):
            y[to, j] += a * E[i, j]


@kernel(fastmath=FASTMATH)
def add_products(A, B, length, total):
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
    """A[row] ← A[row] · factor; whether all that is not 0 is at least `SMALL`."""
    lowest = 1.0
    for j in range(A.shape[1]):
        value = A[row, j] * factor
        A[row, j] = value
        lowest = lesser(lowest, value if value > 0.0 else 1.0)
    return lowest >= SMALL


#: So many labels are taken at a time: what waits for one does not hold up the others.
BLOCK = 8
#: Rows of the scratch `work` of these kernels: what lies ahead of a step; marginals of steps from a
#: label; the largest score after each label of a block, and the sum of its weights; scores less the
#: largest, and weights, of the labels after each. How many rows there are.
AHEAD, STEP, TOPS, TOTALS, SCORES, WEIGHTS = 0, 1, 2, 3, 4, 4 + BLOCK
ROWS = WEIGHTS + BLOCK
#: Rows of the scratch are as long as a multiple of this, so that all of them is vectors.
LANES = 32


@kernel
def row_length(k):
    """Length of a row of the scratch."""
    return (k + LANES - 1) // LANES * LANES


@kernel
def log_scratch(work, k):
    """The scratch of these functions (ROWS, row_length(k)) in the first entries of a vector."""
    length = row_length(k)
    rows = work[: ROWS * length].reshape(ROWS, length)
    rows[:] = -np.inf  # what stands in SCORES beyond k has no weight
    return rows


@kernel
def look_ahead(unary, beta, row, work):
    """work[AHEAD] = unary + beta, the scores of the labels at a row and of all that follows."""
    for j in range(unary.shape[1]):
        work[AHEAD, j] = unary[row, j] + beta[row, j]


@kernel(fastmath=FASTMATH)
def _scores_of_step(pair, at, i, work, row):
    """work[row] = pair[at, i] + work[AHEAD]; the largest."""
    top = -np.inf
    for j in range(pair.shape[2]):
        value = pair[at, i, j] + work[AHEAD, j]
        work[row, j] = value
        top = greater(top, value)
    return top


@kernel(fastmath={"contract"})
def _exp_scores(work, many):
    """Weights and their sums, from scores and the largest of them, which are taken off."""
    for i in range(many):
        top = work[TOPS, i]
        shift = top if top > -np.inf else 0.0
        for j in range(work.shape[1] // LANES * LANES):
            e = work[SCORES + i, j] - shift
            work[SCORES + i, j] = e
            work[WEIGHTS + i, j] = exp_below(e)
    for i in range(many):
        work[TOTALS, i] = row_sum(work, WEIGHTS + i)


@kernel
def weigh_steps(pair, at, first, many, work):
    """Weights of the labels after labels first, …, first + many − 1, each up to a factor.

    They are in work[WEIGHTS + i], their sums in work[TOTALS], the logarithms of the factors, −inf
    if no label can follow, in work[TOPS].
    """
    for i in range(many):
        work[TOPS, i] = _scores_of_step(pair, at, first + i, work, SCORES + i)
    _exp_scores(work, many)


@kernel
def weigh_start(k, work):
    """The same of the first label, with work[AHEAD] of the first row; log factor, and the sum."""
    copy_into(work[SCORES, :k], work[AHEAD, :k])
    work[TOPS, 0] = row_max(work, SCORES)
    _exp_scores(work, np.int64(1))
    return work[TOPS, 0], work[TOTALS, 0]


@kernel
def messages(unary, start, stop, pair, beta, work):
    """beta of the rows of a chain, the largest of each row 0; returns log Z, −inf for no path."""
    k, log_z = unary.shape[1], 0.0
    beta[stop - 1, :] = 0.0
    for row in range(stop - 2, start - 1, -1):
        look_ahead(unary, beta, row + 1, work)
        at = row if pair.shape[0] > 1 else 0
        for first in range(0, k, BLOCK):
            many = min(BLOCK, k - first)
            weigh_steps(pair, at, first, many, work)
            for i in range(many):
                top, total = work[TOPS, i], work[TOTALS, i]
                beta[row, first + i] = top + math.log(total) if total > 0.0 else -np.inf
        most = row_max(beta, row)
        if most == -np.inf:
            return most
        for i in range(k):
            beta[row, i] -= most
        log_z += most
    look_ahead(unary, beta, start, work)
    top, total = weigh_start(k, work)
    return log_z + (top + math.log(total)) if total > 0.0 else -np.inf


@kernel(fastmath=FASTMATH)
def _spread(mass, row, work, i, mu):
    """work[STEP] = mass · weights, the marginals of a step from a label; mu[row] += these."""
    for j in range(mu.shape[1]):
        value = mass * work[WEIGHTS + i, j]
        work[STEP, j] = value
        mu[row, j] += value


@kernel(fastmath=FASTMATH)
def _keep_step(work, row, i, weight, each, total):
    """each[row, i] = work[STEP], and total[i] += weight · work[STEP], if they have rows."""
    if each.shape[0] > 0:
        for j in range(each.shape[2]):
            each[row, i, j] = work[STEP, j]
    if total.shape[0] > 0:
        for j in range(total.shape[1]):
            total[i, j] += weight * work[STEP, j]


@kernel
def marginals_of(unary, start, stop, pair, beta, weight, mu, each, total, work):
    """Marginals by conditionals; they agree with each other to rounding, at any scale of scores.

    Pair marginals are written to ``each``, and ``weight`` times their sum is added to ``total``,
    if these have rows.
    """
    k = unary.shape[1]
    look_ahead(unary, beta, start, work)
    sum_ = weigh_start(k, work)[1]
    for j in range(k):
        mu[start, j] = work[WEIGHTS, j] / sum_
    for row in range(start, stop - 1):
        look_ahead(unary, beta, row + 1, work)
        at = row if pair.shape[0] > 1 else 0
        mu[row + 1, :] = 0.0
        for first in range(0, k, BLOCK):
            many = min(BLOCK, k - first)
            weigh_steps(pair, at, first, many, work)
            for i in range(many):
                sum_ = work[TOTALS, i]
                mass = mu[row, first + i] / sum_ if sum_ > 0.0 else 0.0
                _spread(mass, row + 1, work, i, mu)
                _keep_step(work, row, first + i, weight, each, total)


@kernel
def log_marginals(unary, offsets, first, last, pair, weight, mu, log_z, each, total):
    """Marginals of the chains of a batch from `first` to before `last`."""
    work = log_scratch(np.empty(ROWS * row_length(unary.shape[1])), unary.shape[1])
    for s in range(first, last):
        start, stop = offsets[s], offsets[s + 1]
        if stop - start == 1:
            log_z[s] = row_softmax(unary, start, mu)
            continue
        log_z[s] = messages(unary, start, stop, pair, mu, work)
        if log_z[s] == -np.inf:
            mu[start:stop] = 0.0
        else:  # a row of mu is beta until it is overwritten, by when it was read
            marginals_of(unary, start, stop, pair, mu, weight[s], mu, each, total, work)


@kernel
def log_probability(unary, start, stop, pair, beta, labels, work):
    """ln p of labels, by conditionals; ``beta`` is of `messages`, ``labels`` of the whole batch."""
    look_ahead(unary, beta, start, work)
    top, total = weigh_start(unary.shape[1], work)
    value = work[AHEAD, labels[start]] - top - math.log(total)
    for row in range(start, stop - 1):
        look_ahead(unary, beta, row + 1, work)
        i, j, at = labels[row], labels[row + 1], row if pair.shape[0] > 1 else 0
        weigh_steps(pair, at, i, np.int64(1), work)
        top, total = work[TOPS, 0], work[TOTALS, 0]
        if total == 0.0:
            return -np.inf
        value += (pair[at, i, j] + work[AHEAD, j] - top) - math.log(total)
    return value


@kernel(steps=50.0)
def batch_log_probabilities(unary, offsets, pair, labels, values):
    """`log_probability` of all chains; NaN if no path is possible."""
    k, beta = unary.shape[1], np.empty(unary.shape)
    work = log_scratch(np.empty(ROWS * row_length(k)), k)
    for s in range(offsets.shape[0] - 1):
        start, stop = offsets[s], offsets[s + 1]
        values[s] = np.nan
        if messages(unary, start, stop, pair, beta, work) > -np.inf:
            values[s] = log_probability(unary, start, stop, pair, beta, labels, work)
