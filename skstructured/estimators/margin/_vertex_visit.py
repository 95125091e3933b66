"""A visit to a row whose outputs are known by their oracle, and its bounds.

Both are compiled for oracles that are. Others are called from Python, by the same functions: all
that these call but the oracle is compiled for itself.
"""

import numpy as np

from skstructured._engine.compiled import kernel
from skstructured.estimators.margin._mixtures import is_better, is_known, keep_heavy, mean_of
from skstructured.estimators.margin._vertex_game import (
    add_column,
    add_product,
    as_oracle,
    best_mixture,
    dot,
    rest_of,
)

#: Most rounds of a visit, and vertices of either side that it finds room for.
ROUNDS, FREE = 16, 26

#: What a visit may leave of its gap, and of the size of H, which is rounding.
SLACK, ROUNDING = 0.1, 1e-13


@kernel
def _augment(max_min, loss, v, nu, scores):
    """Scores of outputs with the costs of ν: v + a + Aᵀν."""
    scores[:] = v
    if max_min:
        scores += loss[1]
        add_product(loss[0], True, nu, scores)


@kernel
def _costs_at(loss, point, costs):
    """Costs of predictions at a point: Aμ + b."""
    costs[:] = loss[2]
    add_product(loss[0], False, point, costs)


@kernel
def _start(q, loss, v, mu, columns, p, count, tables):
    """Room for columns, the rest among them, and their tables; the first, and where they end."""
    count = keep_heavy(columns, p, 1, count, len(p) - FREE - 1)
    p[0] = rest_of(columns, p, count, mu) if q > 0.0 else 0.0
    first = 0 if p[0] > 0.0 else 1
    for c in range(first, count):
        add_column(c, columns, mu, loss, v, tables)
    return first, count


@kernel
def _grow(places, weights, first, count, vertex):
    """Add a vertex where it is new; where they end then."""
    if is_known(places, first, count, vertex):
        return count
    places[count, :], weights[count] = vertex, 0.0
    return count + 1


def visit_in_python(oracle, max_min, loss, slack, v, q, mu, columns, p, count, rows, x, many, nu):
    r"""The best mean of a row; see `skstructured.estimators.margin._chain_visit.visit`.

    Parameters
    ----------
    loss : tuple
        A, a and b.
    columns, p, count : ndarray (VERTICES, dim), (VERTICES,), int
        From 1 to `count`, vertices that make up μ_i but for a rest, which is put at 0.
    rows, x, many : ndarray (VERTICES, dim), (VERTICES,), int
        Predictions whose mixture is ν (dim,).

    Returns
    -------
    ndarray (dim,), int, int
        The mean, and `count` and `many` as they are now.
    """
    best_output, room, here = as_oracle(oracle), len(p), v.copy()
    point, column, row, costs, out = mu.copy(), mu.copy(), mu.copy(), mu.copy(), mu.copy()
    tables = (np.zeros((room, room)), np.zeros(room), np.zeros((room, len(mu))))
    first, count = _start(q, loss, v, mu, columns, p, count, tables)
    many = keep_heavy(rows, x, 0, many, room - FREE)
    mixed, kept_nu, kept_p, kept_x, ends = nu.copy(), nu.copy(), p.copy(), x.copy(), (count, many)
    level, least, allowed, rounding = -np.inf, np.inf, 0.0, 0.0
    for t in range(ROUNDS):
        reached = dot(here, point) + dot(loss[1], point)
        if max_min:
            _costs_at(loss, point, costs)
            best_output(-costs, row)
            reached += dot(costs, row)
        _augment(max_min, loss, here, mixed, costs)
        best_output(costs, column)
        gap, moved = dot(costs, column) + dot(loss[2], mixed) - reached, point - mu
        value = reached + q * (0.5 * dot(moved, moved) + dot(moved, mu))
        if t == 0:
            rounding = ROUNDING * (1.0 + abs(reached))
            allowed = max(SLACK * gap, max(slack, rounding))
        if is_better(value, gap, level, least, rounding):
            level, least, ends = max(level, value), gap, (count, many)
            out[:], kept_nu[:], kept_p[:], kept_x[:] = point, mixed, p, x
        if least <= allowed or count == room or many == room:  # noqa: PLR1714
            break
        before = (count, many)
        count = _grow(columns, p, 1, count, column)
        if count > before[0]:
            add_column(before[0], columns, mu, loss, v, tables)
        many = _grow(rows, x, 0, many, row) if max_min else many
        if t > 0 and before == (count, many):
            break
        if not best_mixture(q, first, count, rows, many, tables, p, x):
            break
        mean_of(columns, first, count, p, point)
        if max_min:
            mean_of(rows, 0, many, x, mixed)
        here[:] = v - q * (point - mu)
    nu[:], p[:], x[:] = kept_nu, kept_p, kept_x
    return out, keep_heavy(columns, p, 1, ends[0], room), keep_heavy(rows, x, 0, ends[1], room)


def bounds_in_python(oracle, max_min, loss, V, mu, nu, bounds, reached):
    """Upper bounds on max H of every row, by its ν, and H at its μ."""
    best_output = as_oracle(oracle)
    costs, vertex = np.empty(V.shape[1]), np.empty(V.shape[1])
    for i in range(V.shape[0]):
        reached[i] = dot(V[i], mu[i]) + dot(loss[1], mu[i])
        if max_min:
            _costs_at(loss, mu[i], costs)
            best_output(-costs, vertex)
            reached[i] += dot(costs, vertex)
        _augment(max_min, loss, V[i], nu[i], costs)
        best_output(costs, vertex)
        bounds[i] = max(dot(costs, vertex) + dot(loss[2], nu[i]), reached[i])


visit, row_bounds = kernel(visit_in_python), kernel(bounds_in_python)
