"""Maximal assignment: the linear oracle of the Birkhoff polytope.

Column minima as first potentials and the rows that have them as first matches, then shortest
augmenting paths for the rows left over (Jonker, Volgenant 1987), over costs c = −θ. Loops run along
rows and become vectors. Their bids between the two steps cost more here than they spare.
"""

import numpy as np

from skstructured._engine.compiled import kernel
from skstructured._engine.copies import copy_into
from skstructured._engine.instructions import lesser

#: Scores of a larger size count as this: sums of m of them stay finite.
LARGEST = 1e300

#: For loops over costs, which are never NaN: minima then become vectors.
NO_NAN = {"nnan", "nsz"}


@kernel
def _cost(score):
    """−θ, of NaN as of the least score."""
    return -(min(score, LARGEST) if score >= -LARGEST else -LARGEST)


@kernel(fastmath=NO_NAN)
def _lower(theta, i, prices, less, least, origin, whence):
    """`least` lowered to c_i − prices − less, where `origin` becomes `whence`; its least entry."""
    row, lowest = theta[i * least.shape[0] : (i + 1) * least.shape[0]], np.inf
    for j in range(least.shape[0]):
        cost = _cost(row[j]) - prices[j] - less
        lower = cost < least[j]
        least[j] = cost if lower else least[j]
        origin[j] = whence if lower else origin[j]
        lowest = lesser(lowest, least[j])
    return lowest


@kernel
def _place(values, value, prices, match):
    """The first column with `value`, before those with a row one without, if there are any.

    Where there is none, which is so for numbers out of range, one that is not taken.
    """
    m = values.shape[0]
    found = m
    for j in range(m):
        place = j if match[j + 1] > 0.0 else j - m
        place = place if values[j] == value else m
        found = place if place < found else found
    if found < m:
        return found + m if found < 0 else found
    for j in range(m):
        if prices[j] > -np.inf:
            return j
    return 0


@kernel
def _start(theta, m, v, match, free, zeros, origin):
    """v = column minima, each matched with a row that has it; returns how many rows are free."""
    v[:], zeros[:], match[:], free[:] = np.inf, 0.0, 0.0, 0.0
    for i in range(m):
        _lower(theta, i, zeros, 0.0, v, origin, i)
    for j in range(m):
        i = int(origin[j])
        if free[i] == 0.0:
            free[i], match[j + 1] = 1.0, i + 1
    many = 0
    for i in range(m):
        if free[i] == 0.0:
            free[many] = i + 1
            many += 1
    return many


@kernel
def _augment(theta, m, i, v, match, least, origin, prices, done):
    """Match row i (from 1) along a shortest path, and move the potentials v.

    Columns on the way keep their length in `done`, and have the price −∞. Every step takes one that
    had not been taken, so that it ends whatever the numbers are.
    """
    copy_into(prices, v)
    least[:], done[:], match[0], j, less = np.inf, 0.0, i, -1, 0.0
    while True:
        length = _lower(theta, int(match[j + 1]) - 1, prices, less, least, origin, j + 1)
        j = _place(least, length, prices, match)
        done[j + 1], least[j], prices[j] = length, np.inf, -np.inf
        if match[j + 1] == 0.0:
            break
        less = _cost(theta[(int(match[j + 1]) - 1) * m + j]) - v[j] - length
    for k in range(m):
        if prices[k] == -np.inf:
            v[k] += done[k + 1] - length
    while j >= 0:
        before = int(origin[j]) - 1
        match[j + 1] = match[before + 1]
        j = before


@kernel
def assign(theta, m, u, v, match, scratch):
    """Maximal assignment of theta (m²,), flat.

    u, v (m+1,) become potentials with ``θ_ij + u_i + v_j ≤ 0``, 0 where matched; match (m+1,) holds
    at j+1 the row of column j, counted from 1; scratch is (4m,). Scores beyond ±1e300 count as
    that, NaN as the least; it ends with a permutation whatever the numbers are.
    """
    least, origin = scratch[:m], scratch[m : 2 * m]
    prices, free, columns = scratch[2 * m : 3 * m], scratch[3 * m :], v[1:]
    many = _start(theta, m, columns, match, free, prices, origin)
    for k in range(many):
        _augment(theta, m, int(free[k]), columns, match, least, origin, prices, u)
    u[0], v[0] = 0.0, 0.0
    for j in range(m):
        i = int(match[j + 1])
        u[i] = _cost(theta[(i - 1) * m + j]) - v[j + 1]


@kernel
def assign_rows(theta, V, m):
    """Maximal assignment of every row of theta (n, m²) into the 0/1 rows of V."""
    u, v, match, scratch = np.empty(m + 1), np.empty(m + 1), np.empty(m + 1), np.empty(4 * m)
    for n in range(theta.shape[0]):
        assign(theta[n], m, u, v, match, scratch)
        V[n, :] = 0.0
        for j in range(1, m + 1):
            V[n, (int(match[j]) - 1) * m + j - 1] = 1.0
