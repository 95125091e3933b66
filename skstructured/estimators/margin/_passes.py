"""Passes of block-coordinate ascent over rows: one block after the other, each compiled."""

import numpy as np

from skstructured._engine.addresses import address
from skstructured._engine.compiled import FASTMATH, is_compiled, kernel
from skstructured.estimators.margin._closed_forms import (
    BLOCK,
    KINDS,
    ORACLE,
    as_oracle,
    as_solver,
    concave_part,
)


@kernel(fastmath=FASTMATH)
def _axpy(target, factor, row):
    for j in range(target.shape[0]):
        target[j] += factor * row[j]


@kernel(fastmath=FASTMATH)
def _score_row(rows, i, W, v):
    """v = Wᵀx of row i, W (p + intercept, dim)."""
    data, indices, indptr, width = rows
    sparse = indptr.shape[0] > 0
    start = indptr[i] if sparse else i * width
    stop = indptr[i + 1] if sparse else start + width
    for k in range(v.shape[0]):
        v[k] = W[width, k] if W.shape[0] > width else 0.0
    for t in range(start, stop):
        a, x = indices[t] if sparse else t - start, data[t]
        for k in range(v.shape[0]):
            v[k] += x * W[a, k]


@kernel(fastmath=FASTMATH)
def _move_by_row(rows, i, W, d, factor):
    """W ← W + factor x dᵀ."""
    data, indices, indptr, width = rows
    sparse = indptr.shape[0] > 0
    start = indptr[i] if sparse else i * width
    stop = indptr[i + 1] if sparse else start + width
    for t in range(start, stop):
        a, x = indices[t] if sparse else t - start, factor * data[t]
        for k in range(d.shape[0]):
            W[a, k] += x * d[k]
    if W.shape[0] > width:
        for k in range(d.shape[0]):
            W[width, k] += factor * d[k]


@kernel
def read_row(learned, i, v):
    """v = the scores of row i."""
    rows, K, W, scores = learned
    if K.shape[0] == 0:
        _score_row(rows, i, W, v)
    else:
        for k in range(v.shape[0]):
            v[k] = scores[k, i]


@kernel
def follow_row(learned, i, d, step):
    """Weights or scores after the mean of row i has moved by d: its coefficients lose step d."""
    rows, K, W, scores = learned
    if K.shape[0] == 0:
        _move_by_row(rows, i, W, d, -step)
    else:
        for k in range(d.shape[0]):
            if d[k] != 0.0:
                _axpy(scores[k], -step * d[k], K[i])


@kernel
def read_scores(learned, ends, T, i, v):
    """v = the scores of a sequence that begins at row i; of a row, where there are no labels."""
    k = len(T)
    last = len(v) - k * k
    width = k if k > 0 else last
    for m in range(last // width):
        read_row(learned, i + m, v[m * width : m * width + width])
    for j in range(k):
        v[j] += ends[0, j]
        v[last - k + j] += ends[1, j]
        for t in range(k):
            v[last + j * k + t] = T[j, t]


@kernel
def follow(learned, ends, T, i, d, step):
    """What is learned after the mean of a sequence at row i, or of a row, has moved by d."""
    k = len(T)
    last = len(d) - k * k
    width = k if k > 0 else last
    for m in range(last // width):
        follow_row(learned, i + m, d[m * width : m * width + width], step)
    for j in range(k):
        ends[0, j] -= step * d[j]
        ends[1, j] -= step * d[last - k + j]
        for t in range(k):
            T[j, t] -= step * d[last + j * k + t]


#: How far a block moves: Frank–Wolfe by 2n/(t + 2n), by line search, or all the way to its best.
FIXED, SEARCH, BEST = range(3)

#: Moves closer to 0 than this are rounding.
STILL = 1e-15


def costs_of(kind, A, C, codes):
    """What passes are handed of a kind of oracle, costs A and c(y), and which of c(y) a row has."""
    oracle, solver = KINDS[kind]
    if is_compiled(oracle):
        oracle, solver = address(oracle, ORACLE), address(solver, BLOCK)
    return kind, oracle, solver, np.array(A, dtype=np.float64, order="C"), C, codes


@kernel
def h_plus(kind, A, v, mu, ell):
    """H(μ) = h(μ) + <v, μ>."""
    value = concave_part(kind, A, mu, ell)
    for k in range(v.shape[0]):
        value += v[k] * mu[k]
    return value


@kernel
def chord_step(gain, bend):
    """The step in [0, 1] of the largest ``γ gain − γ² bend/2``."""
    return 0.0 if gain <= 0.0 else 1.0 if gain >= bend else gain / bend


@kernel
def shrink(gamma, d):
    """d ← γd, without what is rounding; whether anything is left."""
    moved = False
    for k in range(d.shape[0]):
        d[k] = gamma * d[k] if abs(gamma * d[k]) > STILL else 0.0
        moved = moved or d[k] != 0.0
    return moved


@kernel
def move(rule, fixed, costs, v, ell, q, mu, out):
    """The move of a block at scores v into out; whether there is any."""
    kind, oracle, solver, A, _, _ = costs
    if rule == BEST and q > 0.0:
        as_solver(solver)(kind, oracle, A, v, ell, q, mu, out)
        gamma = 1.0
        for k in range(v.shape[0]):
            out[k] -= mu[k]
    else:
        reached = h_plus(kind, A, v, mu, ell)
        as_oracle(oracle)(A, v, ell, out)
        gain, square = h_plus(kind, A, v, out, ell) - reached, 0.0
        for k in range(v.shape[0]):
            out[k] -= mu[k]
            square += out[k] * out[k]
        gamma = fixed
        if rule != FIXED:
            gamma = chord_step(gain, q * square)
    return shrink(gamma, out)


@kernel
def row_pass(learned, squares, order, fixed, rule, costs, steps, mu):
    """One pass over the blocks in `order`.

    `squares` are k(x, x), `costs` those of `costs_of`, `steps` shares over α, `fixed` the steps of
    the rule FIXED.
    """
    C, codes = costs[4], costs[5]
    dim = mu.shape[1]
    v, out = np.empty(dim), np.empty(dim)
    for t in range(order.shape[0]):
        i = order[t]
        read_row(learned, i, v)
        q = squares[i] * steps[i]
        if move(rule, fixed[t], costs, v, C[codes[i]], q, mu[i], out):
            for k in range(dim):
                mu[i, k] += out[k]
            follow_row(learned, i, out, steps[i])


@kernel
def upper_bounds(costs, V, mu, bounds, reached):
    """Upper bounds on max H of every row, and H at its μ."""
    kind, oracle, _, A, C, codes = costs
    best_point = as_oracle(oracle)
    out = np.empty(mu.shape[1])
    for i in range(mu.shape[0]):
        ell = C[codes[i]]
        reached[i] = h_plus(kind, A, V[i], mu[i], ell)
        bounds[i] = best_point(A, V[i], ell, out)
        bounds[i] = max(bounds[i], reached[i])
