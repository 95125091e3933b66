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
from skstructured.estimators.margin._mixtures import LIGHT
from skstructured.estimators.margin._saddle import solve_saddle

#: Most label sequences, and most rows of costs, that are in play.
COLUMNS, ROWS = 48, 160


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
    """Number 0 of the columns: score of the rest, its square, and its product with φ(μ)."""
    (u, T, Kb), (mu, sums, smoothed, own) = scores, means
    (rest, rest_sums, rest_smoothed), (G, s, pulls) = rests, tables
    M, ends = mu.shape[0], 0.0
    smooth(Kb, rest, rest_smoothed)
    for j in range(mu.shape[1]):
        ends += mu[0, j] * rest[0, j] + mu[M - 1, j] * rest[M - 1, j]
    s[0] = inner(u, rest) + inner(T[0], rest_sums)
    pulls[0] = inner(smoothed, rest) + inner(sums, rest_sums) + ends
    G[0, 0] = square(rest_smoothed, rest, rest_sums) - pulls[0] - pulls[0] + own


@kernel
def add_column(labels, c, scores, means, rests, tables, bent):
    """Score of label sequence c, and its products with φ(μ) and with the columns before it.

    Without a quadratic term, where `bent` is false, nothing needs the products.

    Parameters
    ----------
    scores, means, rests, tables : tuples
        (u, T, Kb); (mu, sums, Kb mu, their square); the rest, its sums, and Kb of it; (G, s,
        pulls): products of columns less φ(μ), scores, products with φ(μ). Column 0 is the rest,
        c + 1 label sequence c.
    """
    (u, T, Kb), (mu, sums, smoothed, own), (G, s, pulls) = scores, means, tables
    s[c + 1] = score(u, T, labels, c)
    if not bent:
        return
    pulls[c + 1] = pull(smoothed, mu, sums, labels, c)
    for t in range(c + 2):
        if t == 0:
            found = pull(rests[2], rests[0], rests[1], labels, c)
        else:
            found = product(labels, c, t - 1, Kb)
        G[c + 1, t] = found - pulls[c + 1] - pulls[t] + own
        G[t, c + 1] = found - pulls[t] - pulls[c + 1] + own


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
def best_mixture(max_min, A, q, labels, count, first, rest, tables, marks, nu, p):
    """The best mixture p (count + 1,) of the columns and its ν; whether there is one.

    Features are taken less φ(μ_i): ``−(q/2)‖Σ p_c φ_c − φ(μ_i)‖²``.
    """
    (G, s, _), stop, R, groups = tables, count + 1, 0, 0
    costs, total = s[first:stop].copy(), min(int(marks.sum()), ROWS) if max_min else 0
    B, mixed = np.empty((max(total, 1), stop - first)), np.empty(max(total, 1))
    group, place = np.empty(len(B), dtype=np.int64), np.empty(len(B), dtype=np.int64)
    if max_min:
        rows = (A, marks, nu, labels, rest, first, stop)
        R, groups = _rows_of_costs(*rows, costs, B, group, place)
    p[:], bent = 0.0, q * G[first:stop, first:stop]
    if not solve_saddle(bent, costs, B, group, R, groups, p[first:stop], mixed):
        return False
    _read_costs(mixed, group, place, R, nu)
    return True
