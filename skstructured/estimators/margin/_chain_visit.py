"""A visit to a label sequence: its marginals go to where the dual is largest, given all others."""

import numpy as np

from skstructured._chains.best_paths import chain_viterbi
from skstructured._engine.compiled import kernel
from skstructured.estimators.margin._chain_game import (
    COLUMNS,
    add_column,
    best_mixture,
    mark,
    rest_column,
    rest_of,
)
from skstructured.estimators.margin._chain_points import (
    add_costs,
    add_labels,
    height,
    shifted,
    smooth,
    square,
)
from skstructured.estimators.margin._mixtures import is_better, is_known, keep_heavy

#: Most rounds of a visit; columns that a visit finds room for.
ROUNDS, FREE = 8, 16

#: What a visit may leave of its gap, and of the size of H, which is rounding.
SLACK, ROUNDING = 0.1, 1e-13


@kernel
def _mix(p, labels, count, rest, rest_sums, point, total):
    """The point of a mixture."""
    point[:], total[:] = p[0] * rest, p[0] * rest_sums
    for c in range(count):
        add_labels(labels, c, p[c + 1], point, total)


@kernel
def _measure(max_min, A, nu, up, Tp, point, total, aug, best, path):
    """An upper bound on H at these scores, by ν; its label sequence; and H at the point."""
    aug[:] = up
    if max_min:
        add_costs(up, A, nu, aug)
    upper = chain_viterbi(aug, 0, len(path), Tp, best, path)
    return upper, height(max_min, A, up, Tp, point, total)


@kernel
def _value(max_min, A, scores, q, mu, sums, point, total):
    """h + <v, μ> − (q/2)‖Φ(μ − μ_i)‖² of a point."""
    u, T, Kb = scores
    value = height(max_min, A, u, T, point, total)
    d, smoothed = point - mu, np.empty_like(mu)
    smooth(Kb, d, smoothed)
    return value - 0.5 * q * square(smoothed, d, total - sums)


@kernel
def _start(q, scores, mu, sums, labels, weights, count):
    """The tables of the columns, as `add_column` has them, and the mass of the rest."""
    (M, k), room, mass = mu.shape, COLUMNS + 1, 0.0
    rests = (np.zeros((M, k)), np.zeros((k, k)), np.zeros((M, k)))
    smoothed = np.empty((M, k))
    if q > 0.0:
        mass = rest_of(labels, weights, count, mu, sums, rests[0], rests[1])
    smooth(scores[2], mu, smoothed)
    means = (mu, sums, smoothed, square(smoothed, mu, sums))
    tables = (np.zeros((room, room)), np.zeros(room), np.zeros(room))
    if mass > 0.0:
        rest_column(scores, means, rests, tables)
    for c in range(count):
        add_column(labels, c, scores, means, rests, tables, q > 0.0)
    return means, rests, tables, mass


@kernel
def visit(max_min, A, slack, scores, q, mu, sums, labels, weights, count, nu, out, out_sums):
    r"""The best marginals of a sequence into out (M, k) and out_sums (k, k).

    They are a mixture of label sequences. Where it is best for those known, with ν, the best
    mixture of predictions against it, the sequence of the largest score with the costs of ν is
    added, which is Viterbi's; it tells what is left to gain. q = 0 makes it the max-min oracle.
    It ends with the best point, of equals that with the least gap, and with the ν of it.

    Parameters
    ----------
    scores : tuple
        u (M, k), T (1, k, k), for the structural SVM with its costs, and kernels (M, M).
    mu, sums : ndarray (M, k), (k, k)
        The present means.
    labels, weights, count, nu : ndarray (COLUMNS, M), (COLUMNS,), int, (M, k)
        Label sequences that make up μ_i (but for a rest) and the mixture of predictions.

    Returns
    -------
    int
        How many label sequences there are now.
    """
    (M, k), (u, T, Kb) = mu.shape, scores
    point, total, up, Tp, path = mu.copy(), sums.copy(), u.copy(), T.copy(), labels[0] * 0
    aug, best, marks = np.empty((M, k)), np.empty((M, k)), np.zeros((M, k), dtype=np.int64)
    count = keep_heavy(labels, weights, 0, count, COLUMNS - FREE)
    means, rests, tables, mass = _start(q, scores, mu, sums, labels, weights, count)
    p, first, mixed, ends = np.zeros(COLUMNS + 1), 0 if mass > 0.0 else 1, nu.copy(), count
    p[0], p[1 : count + 1] = mass, weights[:count]
    chosen, level, least, allowed, rounding = p.copy(), -np.inf, np.inf, 0.0, 0.0
    for t in range(ROUNDS):
        upper, reached = _measure(max_min, A, mixed, up, Tp, point, total, aug, best, path)
        value, gap = _value(max_min, A, scores, q, mu, sums, point, total), upper - reached
        if t == 0:
            rounding = ROUNDING * (1.0 + abs(reached))
            allowed = max(SLACK * gap, max(slack, rounding))
        if is_better(value, gap, level, least, rounding):
            level, least, ends = max(level, value), gap, count
            out[:], out_sums[:], nu[:], chosen[:] = point, total, mixed, p
        if least <= allowed or count == COLUMNS:
            break
        before = count + marks.sum()
        if not is_known(labels, 0, count, path):
            labels[count, :] = path
            add_column(labels, count, scores, means, rests, tables, q > 0.0)
            count += 1
        mark(path, point, mixed, A, marks)
        if t > 0 and before == count + marks.sum():
            break
        if not best_mixture(max_min, A, q, labels, count, first, rests[0], tables, marks, mixed, p):
            break
        _mix(p, labels, count, rests[0], rests[1], point, total)
        shifted(u, T, Kb, q, mu, sums, point, total, up, Tp)
    weights[:ends] = chosen[1 : ends + 1]
    return keep_heavy(labels, weights, 0, ends, COLUMNS)
