"""Messages of a chain in logarithms, and the conditionals they give.

``beta_m(i) = ln Σ exp`` of the scores of all that can follow label i at position m, less a
constant. Then ``p(y_{m+1} = j | y_m = i) ∝ exp(pair_m(i, j) + unary_{m+1}(j) + beta_{m+1}(j))``, in
which nothing cancels at any scale of the scores, and from which marginals, entropies, probabilities
and draws follow. It takes two exponentials a step and pair of labels.

``pair`` is (1, k, k), one matrix for all steps, or has a matrix for each row of ``unary``.
"""

import math

import numpy as np

from skstructured._chains.rows import exp_below, row_max, row_sum
from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.instructions import greater

#: Rows of the scratch `work` of these kernels: what lies ahead of a step; scores and weights of the
#: labels after one label; marginals of steps from it. How many there are.
AHEAD, SCORES, WEIGHTS, STEP, ROWS = 0, 1, 2, 3, 4
#: Rows of the scratch are as long as a multiple of this, so that all of them is vectors.
LANES = 32


@kernel
def row_length(k):
    """Length of a row of the scratch."""
    return (k + LANES - 1) // LANES * LANES


@kernel
def log_scratch(work, k):
    """The scratch of these kernels (ROWS, row_length(k)) in the first entries of a vector."""
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
def _scores_of_step(pair, at, i, work):
    """work[SCORES] = pair[at, i] + work[AHEAD]; the largest."""
    top = -np.inf
    for j in range(pair.shape[2]):
        value = pair[at, i, j] + work[AHEAD, j]
        work[SCORES, j] = value
        top = greater(top, value)
    return top


@kernel(fastmath={"contract"})
def _exp_scores(work, top):
    """work[SCORES] −= top; work[WEIGHTS] = exp(work[SCORES])."""
    for j in range(work.shape[1] // LANES * LANES):
        e = work[SCORES, j] - top
        work[SCORES, j] = e
        work[WEIGHTS, j] = exp_below(e)


@kernel
def weigh_step(pair, at, i, work):
    """Weights of the labels after label i, up to a factor, in work[WEIGHTS].

    Returns the logarithm of that factor, −inf where no label can follow, and their sum.
    """
    top = _scores_of_step(pair, at, i, work)
    if top == -np.inf:
        work[WEIGHTS, :] = 0.0
        return top, 0.0
    _exp_scores(work, top)
    return top, row_sum(work, WEIGHTS)


@kernel
def weigh_start(work):
    """The same of the first label, with work[AHEAD] that of the first row."""
    work[SCORES, :] = work[AHEAD]
    top = row_max(work, SCORES)
    if top == -np.inf:
        work[WEIGHTS, :] = 0.0
        return top, 0.0
    _exp_scores(work, top)
    return top, row_sum(work, WEIGHTS)


@kernel
def messages(unary, start, stop, pair, beta, work):
    """beta of the rows of a chain, the largest of each row 0; returns log Z, −inf for no path."""
    k, log_z = unary.shape[1], 0.0
    beta[stop - 1, :] = 0.0
    for row in range(stop - 2, start - 1, -1):
        look_ahead(unary, beta, row + 1, work)
        at = row if pair.shape[0] > 1 else 0
        for i in range(k):
            top, total = weigh_step(pair, at, i, work)
            beta[row, i] = top + math.log(total) if total > 0.0 else -np.inf
        most = row_max(beta, row)
        if most == -np.inf:
            return most
        for i in range(k):
            beta[row, i] -= most
        log_z += most
    look_ahead(unary, beta, start, work)
    top, total = weigh_start(work)
    return log_z + (top + math.log(total)) if total > 0.0 else -np.inf


@kernel(fastmath=FASTMATH)
def _spread(mass, row, work, mu):
    """work[STEP] = mass · weights, the marginals of a step from a label; mu[row] += these."""
    for j in range(mu.shape[1]):
        value = mass * work[WEIGHTS, j]
        work[STEP, j] = value
        mu[row, j] += value


@kernel(fastmath=FASTMATH)
def _keep_step(work, row, i, weight, each, total):
    """each[row, i] = work[STEP], and total[i] += weight · work[STEP], where they have rows."""
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
    where these have rows.
    """
    k = unary.shape[1]
    look_ahead(unary, beta, start, work)
    sum_ = weigh_start(work)[1]
    for j in range(k):
        mu[start, j] = work[WEIGHTS, j] / sum_
    for row in range(start, stop - 1):
        look_ahead(unary, beta, row + 1, work)
        at = row if pair.shape[0] > 1 else 0
        mu[row + 1, :] = 0.0
        for i in range(k):
            sum_ = weigh_step(pair, at, i, work)[1]
            mass = mu[row, i] / sum_ if sum_ > 0.0 else 0.0
            _spread(mass, row + 1, work, mu)
            _keep_step(work, row, i, weight, each, total)


@kernel(fastmath=FASTMATH)
def _entropy_of_weights(total, work, row, after):
    """Entropy of weights that `weigh_step` left, plus the mean of the entropies after.

    With weights exp(d), the largest 1, it is ln Σ exp(d) + Σ (−d) exp(d) / Σ exp(d): no term is
    negative.
    """
    value = 0.0
    for j in range(after.shape[1]):
        w = work[WEIGHTS, j]
        value += w * (after[row, j] - work[SCORES, j]) if w > 0.0 else 0.0
    return math.log(total) + value / total


@kernel
def chain_entropy(unary, start, stop, pair, beta, entropies, work):
    """Entropy of a chain, from the last step to the first.

    ``entropies`` gets that of all that follows a label. ``beta`` is of `messages`.
    """
    entropies[stop - 1, :] = 0.0
    for row in range(stop - 2, start - 1, -1):
        look_ahead(unary, beta, row + 1, work)
        at = row if pair.shape[0] > 1 else 0
        for i in range(unary.shape[1]):
            total = weigh_step(pair, at, i, work)[1]
            entropies[row, i] = 0.0
            if total > 0.0:
                entropies[row, i] = _entropy_of_weights(total, work, row + 1, entropies)
    look_ahead(unary, beta, start, work)
    total = weigh_start(work)[1]
    return _entropy_of_weights(total, work, start, entropies)


@kernel
def log_probability(unary, start, stop, pair, beta, labels, work):
    """ln p of labels, by conditionals; ``beta`` is of `messages`, ``labels`` of the whole batch."""
    look_ahead(unary, beta, start, work)
    top, total = weigh_start(work)
    value = work[AHEAD, labels[start]] - top - math.log(total)
    for row in range(start, stop - 1):
        look_ahead(unary, beta, row + 1, work)
        i, j, at = labels[row], labels[row + 1], row if pair.shape[0] > 1 else 0
        top, total = weigh_step(pair, at, i, work)
        if total == 0.0:
            return -np.inf
        value += (pair[at, i, j] + work[AHEAD, j] - top) - math.log(total)
    return value


@kernel
def batch_entropies(unary, offsets, pair, entropies, log_z):
    """`chain_entropy` of all chains, with their log Z."""
    k, beta, after = unary.shape[1], np.empty(unary.shape), np.empty(unary.shape)
    work = log_scratch(np.empty(ROWS * row_length(k)), k)
    for s in range(offsets.shape[0] - 1):
        start, stop = offsets[s], offsets[s + 1]
        log_z[s] = messages(unary, start, stop, pair, beta, work)
        entropies[s] = np.nan
        if log_z[s] > -np.inf:
            entropies[s] = chain_entropy(unary, start, stop, pair, beta, after, work)


@kernel
def batch_log_probabilities(unary, offsets, pair, labels, values):
    """`log_probability` of all chains; NaN where no path is possible."""
    k, beta = unary.shape[1], np.empty(unary.shape)
    work = log_scratch(np.empty(ROWS * row_length(k)), k)
    for s in range(offsets.shape[0] - 1):
        start, stop = offsets[s], offsets[s + 1]
        values[s] = np.nan
        if messages(unary, start, stop, pair, beta, work) > -np.inf:
            values[s] = log_probability(unary, start, stop, pair, beta, labels, work)
