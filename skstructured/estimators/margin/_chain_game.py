"""Mixtures of few label sequences: the best of a row, as a small saddle point."""

import numpy as np

from skstructured._engine.compiled import kernel
from skstructured.estimators.margin._chain_points import (
    add_labels,
    inner,
    least_cost,
    product,
    pull,
    score,
    smooth,
    square,
)
from skstructured.estimators.margin._saddle import solve_saddle

#: Most label sequences, and most rows of costs, that are in play.
COLUMNS, ROWS = 48, 160

#: A rest lighter than this is left out.
LIGHT = 1e-9


@kernel
def rest_of(labels, weights, count, mu, sums, rest, rest_sums):
    """What a point has beside its label sequences, of mass 1; its mass, 0 where it is light."""
    mass = 1.0
    rest[:], rest_sums[:] = mu, sums
    for c in range(count):
        add_labels(labels, c, -weights[c], rest, rest_sums)
        mass -= weights[c]
    if mass < LIGHT:
        return 0.0
    for m in range(rest.shape[0]):
        for j in range(rest.shape[1]):
            rest[m, j] = max(rest[m, j], 0.0) / mass
    for i in range(rest_sums.shape[0]):
        for j in range(rest_sums.shape[1]):
            rest_sums[i, j] = max(rest_sums[i, j], 0.0) / mass
    return mass


@kernel
def rest_column(scores, means, rests, tables):
    """Score of the rest, its square, and its product with φ(μ): number 0 of the columns."""
    (u, T, Kb), (mu, sums, smoothed) = scores, means
    (rest, rest_sums, rest_smoothed), (G, pulls, s) = rests, tables
    M, ends = mu.shape[0], 0.0
    smooth(Kb, rest, rest_smoothed)
    for j in range(mu.shape[1]):
        ends += mu[0, j] * rest[0, j] + mu[M - 1, j] * rest[M - 1, j]
    s[0] = inner(u, rest) + inner(T[0], rest_sums)
    G[0, 0] = square(rest_smoothed, rest, rest_sums)
    pulls[0] = inner(smoothed, rest) + inner(sums, rest_sums) + ends


@kernel
def add_column(labels, c, scores, means, rests, tables, bent):
    """Score of label sequence c, and its products with φ(μ) and with the columns before it.

    Without a quadratic term, where `bent` is false, nothing needs the products.

    Parameters
    ----------
    scores, means, rests, tables : tuples
        (u, T, Kb); (mu, sums, Kb mu); the same three of the rest; (G, pulls, s), products of
        columns, products with φ(μ), scores. Column 0 is the rest, c + 1 label sequence c.
    """
    (u, T, Kb), (mu, sums, smoothed), (G, pulls, s) = scores, means, tables
    s[c + 1] = score(u, T, labels, c)
    if not bent:
        return
    pulls[c + 1] = pull(smoothed, mu, sums, labels, c)
    G[c + 1, 0] = pull(rests[2], rests[0], rests[1], labels, c)
    for t in range(c + 1):
        G[c + 1, t + 1] = product(labels, c, t, Kb)
    for t in range(c + 1):
        G[t, c + 1] = G[c + 1, t]


@kernel
def mark(path, point, nu, A, marks):
    """Mark predictions in play: labels of the last sequence, those of ν, the best at a point."""
    for m in range(point.shape[0]):
        marks[m, path[m]] = 1
        for r in range(nu.shape[1]):
            if nu[m, r] > 0.0:
                marks[m, r] = 1
        marks[m, least_cost(A, point, m)[0]] = 1


@kernel
def _cost_of(A, r, m, c, labels, rest):
    """(1/M) (A μ_m)_r of column c."""
    if c > 0:
        return A[r, labels[c - 1, m]] / labels.shape[1]
    cost = 0.0
    for j in range(A.shape[1]):
        cost += A[r, j] * rest[m, j]
    return cost / labels.shape[1]


@kernel
def _rows_of_costs(A, marks, nu, labels, rest, first, stop, s, B, group, place):
    """Payoffs of positions with several predictions in play, and costs of others into s.

    Returns how many rows there are, and how many groups.
    """
    R, groups = 0, 0
    for m in range(marks.shape[0]):
        many = marks[m].sum()
        if many == 1 or R + many > ROWS:
            best = np.argmax(marks[m]) if many == 1 else np.argmax(nu[m])
            nu[m, :] = 0.0
            nu[m, best] = 1.0
            for c in range(first, stop):
                s[c - first] += _cost_of(A, best, m, c, labels, rest)
            continue
        for r in range(marks.shape[1]):
            if marks[m, r] > 0:
                for c in range(first, stop):
                    B[R, c - first] = _cost_of(A, r, m, c, labels, rest)
                group[R], place[R] = groups, m * marks.shape[1] + r
                R += 1
        groups += 1
    return R, groups


@kernel
def _read_costs(mixed, group, place, R, nu):
    """Put mixtures of rows into ν."""
    k = nu.shape[1]
    for r in range(R):
        if r == 0 or group[r] != group[r - 1]:
            nu[place[r] // k, :] = 0.0
        nu[place[r] // k, place[r] % k] = mixed[r]


@kernel
def best_mixture(max_min, A, q, labels, count, first, rest, tables, own, marks, nu, p):
    """The best mixture p (count + 1,) of the columns and its ν; whether there is one.

    Features are taken less φ(μ_i), whose square is `own`: ``−(q/2)‖Σ p_c φ_c − φ(μ_i)‖²``.
    """
    (G, pulls, s), stop = tables, count + 1
    P, total = stop - first, int(marks.sum()) if max_min else 0
    room = P + min(total, ROWS) + 1 + min(marks.shape[0], ROWS)
    centred, costs = np.empty((P, P)), s[first:stop].copy()
    B, R, groups = np.empty((max(min(total, ROWS), 1), P)), 0, 0
    group, place = np.empty(len(B), dtype=np.int64), np.empty(len(B), dtype=np.int64)
    for c in range(first, stop):
        for t in range(first, stop):
            centred[c - first, t - first] = q * (G[c, t] - pulls[c] - pulls[t] + own)
    if max_min:
        rows = (A, marks, nu, labels, rest, first, stop)
        R, groups = _rows_of_costs(*rows, costs, B, group, place)
    weights, mixed, D = np.empty(P), np.empty(len(B)), np.empty((room, room + 2))
    scratch = (D, np.empty(room, dtype=np.int64), np.empty(room + 1, dtype=np.int64))
    if not solve_saddle(centred, costs, B, group, P, R, groups, weights, mixed, *scratch):
        return False
    _read_costs(mixed, group, place, R, nu)
    p[:] = 0.0
    for c in range(P):
        p[first + c] = weights[c]
    return True
