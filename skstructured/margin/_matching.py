"""The max-min oracle of matchings: best responses to best responses, until they are known."""

import numpy as np

from skstructured._engine.compiled import kernel
from skstructured.margin._game import solve_game
from skstructured.spaces._assignment import assign

#: Most matchings of either side that are kept for a row.
KEPT = 64

#: Share of what a step can gain that the oracle may leave, and the gap that is rounding.
SLACK, ROUNDING = 0.1, 1e-12


@kernel
def matching_value(theta, m, out, work, scratch):
    """The maximal assignment of theta (m²,) into out (m²,); its value. work is (5, m + 1)."""
    match = work[2]
    assign(theta, m, work[0], work[1], match, scratch)
    out[:] = 0.0
    value = 0.0
    for j in range(m):
        place = (int(match[j + 1]) - 1) * m + j
        out[place] = 1.0
        value += theta[place]
    return value


@kernel
def _columns_of(P, m, columns):
    """The column of every row of a permutation matrix."""
    for i in range(m):
        for j in range(m):
            if P[i * m + j] > 0.5:
                columns[i] = j


@kernel
def _add(places, count, columns):
    """Add a matching unless it is there; how many there are."""
    for t in range(count):
        same = True
        for i in range(columns.shape[0]):
            same = same and places[t, i] == columns[i]
        if same:
            return count
    for i in range(columns.shape[0]):
        places[count, i] = columns[i]
    return count + 1


@kernel
def _payoffs(cost, theta, m, places, counts, B):
    """B_rj = <S, P_j> − c <Q_r, P_j>, of the matchings P in places[0] and Q in places[1]."""
    for j in range(counts[0]):
        score = 0.0
        for i in range(m):
            score += theta[i * m + places[0, j, i]]
        for r in range(counts[1]):
            same = 0
            for i in range(m):
                same += places[0, j, i] == places[1, r, i]
            B[r, j] = score - cost * same


@kernel
def _mean(places, count, weights, m, out):
    out[:] = 0.0
    for t in range(count):
        for i in range(m):
            out[i * m + places[t, i]] += weights[t]


@kernel
def _drop_unused(places, count, weights):
    """Keep the matchings of positive weight; how many."""
    kept = 0
    for t in range(count):
        if weights[t] > 0.0:
            for i in range(places.shape[1]):
                places[kept, i] = places[t, i]
            kept += 1
    return kept


@kernel
def _value_of(theta, cost, P, m, response, work, scratch):
    """<S, P> − c max_Q <Q, P>, and the Q into response."""
    value = 0.0
    for k in range(m * m):
        value += theta[k] * P[k]
    return value - cost * matching_value(P, m, response, work, scratch)


@kernel
def matching_game(cost, slack, theta, reached, out, places, counts, T, basis):
    r"""``max_P <S, P> − c max_Q <Q, P>`` over the Birkhoff polytope, by double oracles.

    The game between the matchings seen so far is solved exactly, and each side's best response to
    the other's mixture, an assignment, is added (McMahan, Gordon, Blum 2003). Every mixture ν̂ of
    matchings gives the upper bound ``max_P <S − c ν̂, P>``, every μ̂ the lower one that it attains.
    It stops where they differ by `slack` or by less than `SLACK` of what μ̂ gains over `reached`.
    `places` (2, KEPT + 1, m) and `counts` (2,) begin the next call of the row.

    Returns
    -------
    float
        The upper bound; μ̂ is in out.
    """
    m = int(np.sqrt(theta.shape[0]) + 0.5)
    work, scratch, columns = np.empty((5, m + 1)), np.empty(4 * m), np.empty(m, dtype=np.int64)
    B, x, y = np.empty((KEPT + 1, KEPT + 1)), np.empty(KEPT + 1), np.empty(KEPT + 1)
    P, Q, mean, less = np.empty(m * m), np.empty(m * m), np.empty(m * m), np.empty(m * m)
    matching_value(theta, m, P, work, scratch)
    lower, upper = _value_of(theta, cost, P, m, Q, work, scratch), np.inf
    out[:] = P
    for _ in range(2 * KEPT):
        _columns_of(P, m, columns)
        counts[0] = _add(places[0], counts[0], columns)
        _columns_of(Q, m, columns)
        counts[1] = _add(places[1], counts[1], columns)
        _payoffs(cost, theta, m, places, counts, B)
        solve_game(B, counts[1], counts[0], x, y, T, basis)
        _mean(places[1], counts[1], y, m, less)
        for k in range(m * m):
            less[k] = theta[k] - cost * less[k]
        upper = min(upper, matching_value(less, m, P, work, scratch))
        _mean(places[0], counts[0], x, m, mean)
        value = _value_of(theta, cost, mean, m, Q, work, scratch)
        if value > lower:
            lower, out[:] = value, mean
        full = max(counts[0], counts[1]) >= KEPT
        if full:
            counts[0] = _drop_unused(places[0], counts[0], x)
            counts[1] = _drop_unused(places[1], counts[1], y)
            full = max(counts[0], counts[1]) >= KEPT
        allowed = max(slack, ROUNDING * (1.0 + abs(upper)), SLACK * (lower - reached))
        if upper - lower <= allowed or full:
            break
    counts[0] = min(counts[0], KEPT - 1)
    counts[1] = min(counts[1], KEPT - 1)
    return upper
