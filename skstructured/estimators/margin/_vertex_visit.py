"""A visit to a row whose outputs are known by their oracle, and its bounds.

Loops are compiled for oracles that are; for others the same functions run as Python.
"""

import types

import numpy as np

from skstructured._engine.compiled import kernel
from skstructured.estimators.margin._vertex_game import (
    add_column,
    add_product,
    as_oracle,
    best_mixture,
    dot,
    keep_heavy,
    mean_of,
    rest_of,
    same_vertex,
)

#: Most rounds of a visit, and vertices of either side that it finds room for.
ROUNDS, FREE = 16, 26

#: What a visit may leave of its gap, and of the size of H, which is rounding.
SLACK, ROUNDING = 0.1, 1e-13


@kernel
def least_cost(oracle, A, b, point, costs, row):
    """min_y' <y', Aμ + b>, and the y'."""
    costs[:] = b
    add_product(A, False, point, costs)
    as_oracle(oracle)(-costs, row)
    return dot(costs, row)


@kernel
def bound(oracle, max_min, loss, v, nu, column, scores):
    """An upper bound on H by ν, and its vertex."""
    A, a, b = loss
    scores[:] = v
    if max_min:
        scores += a
        add_product(A, True, nu, scores)
    as_oracle(oracle)(scores, column)
    return dot(scores, column) + (dot(b, nu) if max_min else 0.0)


@kernel
def height(oracle, max_min, loss, v, point, scratch, row):
    """H at a point, and the prediction that costs least there."""
    value = dot(v, point)
    if max_min:
        value += dot(loss[1], point)
        value += least_cost(oracle, loss[0], loss[2], point, scratch, row)
    return value


@kernel
def _pay(rows, many, columns, count, costs, payoffs, old_rows, old_columns):
    """Payoffs of new rows and new columns."""
    for r in range(many):
        for c in range(count):
            if r >= old_rows or c >= old_columns:
                payoffs[r, c] = dot(rows[r], costs[c])


@kernel
def _tables(room, dim):
    """Products, scores, costs and payoffs of columns."""
    return (
        np.zeros((room, room)),
        np.zeros(room),
        np.zeros((room, dim)),
        np.zeros((room, room)),
    )


@kernel
def _start(q, loss, v, mu, columns, p, count, rows, x, many, tables):
    """Leave room, and fill the tables; how many columns and rows there are, and the first one."""
    G, s, costs, payoffs = tables
    count = keep_heavy(columns, p, 1, count, len(p) - FREE - 1)
    many = keep_heavy(rows, x, 0, many, len(p) - FREE)
    p[0] = rest_of(columns, p, count, mu) if q > 0.0 else 0.0
    first = 0 if p[0] > 0.0 else 1
    for c in range(first, count):
        add_column(c, columns, mu, loss, v, G, s, costs)
    _pay(rows, many, columns, count, costs, payoffs, 0, 0)
    return count, many, first


@kernel
def _grow(max_min, loss, v, mu, columns, p, count, column, rows, x, many, row, tables):
    """Add the best vertices of both sides where they are new; how many there are then."""
    G, s, costs, payoffs = tables
    before = (count, many)
    if not same_vertex(columns[1:], count - 1, column):
        columns[count, :] = column
        p[count] = 0.0
        add_column(count, columns, mu, loss, v, G, s, costs)
        count += 1
    if max_min and not same_vertex(rows, many, row):
        rows[many, :] = row
        x[many] = 0.0
        many += 1
    _pay(rows, many, columns, count, costs, payoffs, before[1], before[0])
    return count, many


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
    point, column, row, here = mu.copy(), mu.copy(), mu.copy(), v.copy()
    scratch, mixed, kept_nu, out = mu.copy(), nu.copy(), nu.copy(), mu.copy()
    tables = _tables(len(p), len(mu))
    count, many, first = _start(q, loss, v, mu, columns, p, count, rows, x, many, tables)
    weights, shares, ends = p.copy(), x.copy(), (count, many)
    level, least, allowed, rounding = -np.inf, np.inf, 0.0, 0.0
    for t in range(ROUNDS):
        upper = bound(oracle, max_min, loss, here, mixed, column, scratch)
        reached = height(oracle, max_min, loss, here, point, scratch, row)
        moved = point - mu
        gap, value = upper - reached, reached + q * (0.5 * dot(moved, moved) + dot(moved, mu))
        if t == 0:
            rounding = ROUNDING * (1.0 + abs(reached))
            allowed = max(SLACK * gap, max(slack, rounding))
        if value > level + rounding or (gap < least and value >= level - rounding):
            level = max(level, value)
            least, weights[:], shares[:], kept_nu[:] = gap, p, x, mixed
            out[:], ends = point, (count, many)
        if least <= allowed or count == len(p) or many == len(p):
            break
        before, sides = (count, many), (columns, p, count, column, rows, x, many, row)
        count, many = _grow(max_min, loss, v, mu, *sides, tables)
        if t > 0 and before == (count, many):
            break
        if not best_mixture(q, first, count, many, tables[0], tables[1], tables[3], p, x):
            break
        mean_of(columns, first, count, p, point)
        if max_min:
            mean_of(rows, 0, many, x, mixed)
        here[:] = v - q * (point - mu)
    nu[:], p[:], x[:] = kept_nu, weights, shares
    last = keep_heavy(columns, p, 1, ends[0], len(p))
    return out, last, keep_heavy(rows, x, 0, ends[1], len(p))


def bounds_in_python(oracle, max_min, loss, V, mu, nu, bounds, reached):
    """Upper bounds on max H of every row, by its ν, and H at its μ."""
    scratch, vertex = np.empty(V.shape[1]), np.empty(V.shape[1])
    for i in range(V.shape[0]):
        reached[i] = height(oracle, max_min, loss, V[i], mu[i], scratch, vertex)
        bounds[i] = max(bound(oracle, max_min, loss, V[i], nu[i], vertex, scratch), reached[i])


def _interpreted(function, others):
    """The function, calling those of `others` in the place of what has their names."""
    function = getattr(function, "py_func", function)
    return types.FunctionType(function.__code__, {**function.__globals__, **others})


def _all_interpreted():
    others = {"least_cost": _interpreted(least_cost, {}), "bound": _interpreted(bound, {})}
    others["height"] = _interpreted(height, others)
    return _interpreted(visit_in_python, others), _interpreted(bounds_in_python, others)


visit, row_bounds = kernel(visit_in_python), kernel(bounds_in_python)
python_visit, python_bounds = _all_interpreted()
