"""A visit to a label sequence: its marginals go to where the dual is largest, given all others."""

import numpy as np

from skstructured._chains.best_paths import chain_viterbi
from skstructured._engine.compiled import kernel
from skstructured.margin._chain_game import (
    COLUMNS,
    add_column,
    best_mixture,
    mark,
    rest_column,
    rest_of,
)
from skstructured.margin._chain_points import (
    add_costs,
    add_labels,
    inner,
    mean_cost,
    shifted,
    smooth,
    square,
)

#: Most rounds of a visit; columns that a visit finds room for.
ROUNDS, FREE = 8, 16

#: What a visit may leave of its gap, and of the size of H, which is rounding.
SLACK, ROUNDING = 0.1, 1e-13


@kernel
def keep_heavy(labels, weights, count, most, least):
    """Keep the label sequences of weights above `least`, the `most` heaviest; how many."""
    kept = 0
    if count > most:
        least = max(least, np.sort(weights[:count])[count - most - 1])
    for c in range(count):
        if weights[c] > least and kept < most:
            labels[kept, :] = labels[c]
            weights[kept] = weights[c]
            kept += 1
    return kept


@kernel
def _is_new(labels, count, path):
    for c in range(count):
        same = True
        for m in range(path.shape[0]):
            same = same and labels[c, m] == path[m]
        if same:
            return False
    return True


@kernel
def _mix(p, labels, count, rest, rest_sums, point, total):
    """The point of a mixture."""
    point[:], total[:] = p[0] * rest, p[0] * rest_sums
    for c in range(count):
        add_labels(labels, c, p[c + 1], point, total)


@kernel
def _bound(max_min, A, nu, up, Tp, point, total, aug, best, path):
    """An upper bound on H at these scores, by ν; its label sequence; and H at the point."""
    aug[:] = up
    reached = inner(up, point) + inner(Tp[0], total)
    if max_min:
        add_costs(up, A, nu, aug)
        reached += mean_cost(A, point)
    return chain_viterbi(aug, 0, len(path), Tp, best, path), reached


@kernel
def _value(max_min, A, u, T, Kb, q, mu, sums, point, total, smoothed):
    """h + <v, μ> − (q/2)‖Φ(μ − μ_i)‖² of a point."""
    value = inner(u, point) + inner(T[0], total)
    if max_min:
        value += mean_cost(A, point)
    d = point - mu
    smooth(Kb, d, smoothed)
    return value - 0.5 * q * square(smoothed, d, total - sums)


@kernel
def _no_rest(rest, rest_sums, rest_smoothed):
    rest[:], rest_sums[:], rest_smoothed[:] = 0.0, 0.0, 0.0
    return 0.0


@kernel
def visit(max_min, A, slack, u, T, Kb, q, mu, sums, labels, weights, count, nu, out, out_sums):
    r"""The best marginals of a sequence into out (M, k) and out_sums (k, k).

    They are a mixture of label sequences. Where it is best for those known, with ν, the best
    mixture of predictions against it, the sequence of the largest score with the costs of ν is
    added, which is Viterbi's; it tells what is left to gain. q = 0 makes it the max-min oracle.
    Of the points that are no worse than μ_i it is the one with the least gap, and ν is that of it.

    Parameters
    ----------
    u, T : ndarray (M, k), (1, k, k)
        Scores; for the structural SVM with its costs.
    labels, weights, count, nu : ndarray (COLUMNS, M), (COLUMNS,), int, (M, k)
        Label sequences that make up μ_i (but for a rest) and the mixture of predictions.

    Returns
    -------
    int
        How many label sequences there are now.
    """
    (M, k), room = u.shape, COLUMNS + 1
    point, total, up, Tp = mu.copy(), sums.copy(), u.copy(), T.copy()
    aug, best, path = np.empty((M, k)), np.empty((M, k)), np.empty(M, dtype=np.int64)
    smoothed, rest, rest_sums = np.empty((M, k)), np.empty((M, k)), np.empty((k, k))
    rest_smoothed, marks = np.empty((M, k)), np.zeros((M, k), dtype=np.int64)
    G, pulls, s, p = np.empty((room, room)), np.empty(room), np.empty(room), np.zeros(room)
    count = keep_heavy(labels, weights, count, COLUMNS - FREE, 0.0)
    mass = _no_rest(rest, rest_sums, rest_smoothed)
    if q > 0.0:
        mass = rest_of(labels, weights, count, mu, sums, rest, rest_sums)
    first = 0 if mass > 0.0 else 1
    smooth(Kb, mu, smoothed)
    own = square(smoothed, mu, sums)
    here = (u, T, Kb, mu, sums, smoothed, rest, rest_sums, rest_smoothed, G, pulls, s)
    if first == 0:
        rest_column(*here)
    for c in range(count):
        add_column(labels, c, *here)
    p[0], p[1 : count + 1] = mass, weights[:count]
    chosen, kept_nu = p.copy(), nu.copy()
    level, least, allowed, known, still = -np.inf, np.inf, 0.0, count, True
    out[:], out_sums[:] = mu, sums
    for t in range(ROUNDS):
        upper, reached = _bound(max_min, A, nu, up, Tp, point, total, aug, best, path)
        value = _value(max_min, A, u, T, Kb, q, mu, sums, point, total, rest_smoothed * 0.0)
        gap = upper - reached
        rounding = ROUNDING * (1.0 + abs(reached))
        if t == 0:
            level, allowed = value - rounding, max(SLACK * gap, max(slack, rounding))
        if gap < least and value >= level:
            least, chosen[:], kept_nu[:] = gap, p, nu
            out[:], out_sums[:], still = point, total, t == 0
        if least <= allowed or count == COLUMNS:
            break
        before = count + marks.sum()
        if _is_new(labels, count, path):
            labels[count, :] = path
            weights[count] = 0.0
            add_column(labels, count, *here)
            count += 1
        if max_min:
            mark(path, point, nu, A, marks)
        if t > 0 and before == count + marks.sum():
            break
        inputs = (labels, count, first, rest, G, pulls, own, s, marks, nu, p)
        if not best_mixture(max_min, A, q, *inputs):
            break
        _mix(p, labels, count, rest, rest_sums, point, total)
        shifted(u, T, Kb, q, mu, sums, point, total, up, Tp)
    nu[:] = kept_nu
    if still:
        return keep_heavy(labels, weights, known, COLUMNS, 0.0)
    weights[:count] = chosen[1 : count + 1]
    return keep_heavy(labels, weights, count, COLUMNS, 0.0)
