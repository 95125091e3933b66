"""Exact draws from chains: of given scores, and of given marginals.

A draw takes one uniform number per position, from the first to the last, and inverts the
distribution of a label given the one before it, which the messages of all that follows have made
exact (the mirror image of forward filtering, backward sampling: Scott (2002), "Bayesian methods for
hidden Markov models").
"""

import numpy as np

from skstructured._chains.logarithms import (
    ROWS,
    WEIGHTS,
    log_scratch,
    look_ahead,
    messages,
    row_length,
    weigh_start,
    weigh_step,
)
from skstructured._chains.rows import row_sum
from skstructured._engine.arrays import Floats, Ints
from skstructured._engine.compiled import kernel


@kernel
def _pick(weights, row, total, u):
    """First label whose weights up to it exceed u · total, the last possible one at the latest."""
    left, last = u * total, 0
    for j in range(weights.shape[1]):
        if weights[row, j] > 0.0:
            last = j
            left -= weights[row, j]
            if left < 0.0:
                return j
    return last


@kernel
def _draw_steps(row, pair, at, uniforms, labels, table, totals, work):
    """Labels after a row, work[AHEAD] being that of the next; a label is weighed once at most."""
    totals[:] = -1.0
    for d in range(labels.shape[0]):
        i = labels[d, row]
        if totals[i] < 0.0:
            totals[i] = weigh_step(pair, at, i, work)[1]
            table[i, :] = work[WEIGHTS, : table.shape[1]]
        labels[d, row + 1] = _pick(table, i, totals[i], uniforms[d, row + 1])


@kernel
def chain_draws(
    unary: Floats,
    start: int,
    stop: int,
    pair: Floats,
    beta: Floats,
    uniforms: Floats,
    labels: Ints,
    table: Floats,
    totals: Floats,
    work: Floats,
) -> None:
    """Draws (n, N) of a chain's rows from uniform numbers (n, N); ``beta`` is of `messages`."""
    look_ahead(unary, beta, start, work)
    total = weigh_start(unary.shape[1], work)[1]
    for d in range(labels.shape[0]):
        labels[d, start] = _pick(work, WEIGHTS, total, uniforms[d, start])
    for row in range(start, stop - 1):
        look_ahead(unary, beta, row + 1, work)
        at = row if pair.shape[0] > 1 else 0
        _draw_steps(row, pair, at, uniforms, labels, table, totals, work)


@kernel
def batch_draws(
    unary: Floats, offsets: Ints, pair: Floats, uniforms: Floats, labels: Ints, log_z: Floats
) -> None:
    """`chain_draws` of all chains, with their log Z; labels are left alone where that is −inf."""
    k, beta = unary.shape[1], np.empty(unary.shape)
    work = log_scratch(np.empty(ROWS * row_length(k)), k)
    table, totals = np.empty((k, k)), np.empty(k)
    for s in range(offsets.shape[0] - 1):
        start, stop = offsets[s], offsets[s + 1]
        log_z[s] = messages(unary, start, stop, pair, beta, work)
        if log_z[s] > -np.inf:
            chain_draws(unary, start, stop, pair, beta, uniforms, labels, table, totals, work)


@kernel
def mean_draws(
    mu: Floats, start: int, stop: int, pairs: Floats, uniforms: Floats, labels: Ints
) -> None:
    """Draws (n, N) of a chain of given marginals, the next label by pairs[row, y] / mu[row, y].

    ``pairs`` (N, k, k) are the marginals of each row and the next, with ``mu`` as their sums; their
    rows are taken by their own sums, so that rounding in ``mu`` does not matter.
    """
    total = row_sum(mu, start)
    for d in range(labels.shape[0]):
        labels[d, start] = _pick(mu, start, total, uniforms[d, start])
    for row in range(start, stop - 1):
        step = pairs[row]
        for d in range(labels.shape[0]):
            i = labels[d, row]
            labels[d, row + 1] = _pick(step, i, row_sum(step, i), uniforms[d, row + 1])


@kernel
def batch_mean_draws(
    mu: Floats, offsets: Ints, pairs: Floats, uniforms: Floats, labels: Ints
) -> None:
    """`mean_draws` of all chains."""
    for s in range(offsets.shape[0] - 1):
        mean_draws(mu, offsets[s], offsets[s + 1], pairs, uniforms, labels)
