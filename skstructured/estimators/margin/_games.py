"""Visits to rows whose outputs are known by their oracle: small games and saddle points.

Both are compiled for oracles that are. Others are called from Python, by the same functions: all
that these call but the oracle is compiled for itself.
"""

import functools

import numpy as np
from numba import types

from skstructured._engine.addresses import VECTOR, address, function_at
from skstructured._engine.compiled import FASTMATH, kernel

#: Entries of the tableau closer to 0 than this count as 0.
ZERO = 1e-11


@kernel(fastmath=FASTMATH)
def _add_row(D, target, factor, source, columns):
    for j in range(columns):
        D[target, j] += factor * D[source, j]


@kernel
def pivot(D, rows, columns, row, column):
    """Exchange the basic variable of a row and the free one of a column."""
    scale = -1.0 / D[row, column]
    for j in range(columns):
        D[row, j] *= scale
    D[row, column] = -scale
    for i in range(rows):
        factor = D[i, column]
        if i != row and factor != 0.0:
            D[i, column] = 0.0
            _add_row(D, i, factor, row, columns)


@kernel
def _first_row(D, size):
    """The row that the artificial variable has to lift most; −1 where none is negative."""
    found, least = -1, 0.0
    for i in range(size):
        value = D[i, size + 1] / D[i, size]
        if value < least:
            found, least = i, value
    return found


@kernel
def _leaving(D, size, column, basic):
    """Row of the least ratio; ties go to the artificial variable, then to the largest pivot."""
    found, least = -1, 0.0
    for i in range(size):
        entry = -D[i, column]
        if entry > ZERO:
            ratio = max(D[i, size + 1], 0.0) / entry
            first = found < 0 or ratio < least - ZERO * least
            tie = not first and ratio <= least + ZERO * least
            if first or (tie and basic[found] != 2 * size and entry > -D[found, column]):
                found, least = i, min(ratio, least) if tie else ratio
            elif tie and basic[i] == 2 * size:
                found = i
    return found


@kernel
def complementary(D, size, basic, free):
    r"""Solve ``w = q + Mz, w, z ≥ 0, <w, z> = 0`` by Lemke's (1965) method; whether it did.

    Parameters
    ----------
    D : ndarray (size, size + 2)
        M, the positive column of the artificial variable, and q. M is positive semidefinite.
    basic, free : int64 ndarray (size,) and (size + 1,)
        Receive the variables of rows and columns: i < size for w_i, size + i for z_i.
    """
    for i in range(size):
        basic[i], free[i] = i, size + i
    free[size] = 2 * size
    row, column = _first_row(D, size), size
    for _ in range(20 * size + 20):
        if row < 0:
            return column == size  # q ≥ 0 at the start, or a ray
        pivot(D, size, size + 2, row, column)
        left = basic[row]
        basic[row], free[column] = free[column], left
        if left == 2 * size:
            return True
        wanted = left + size if left < size else left - size
        column = 0
        while free[column] != wanted:
            column += 1
        row = _leaving(D, size, column, basic)
        if row < 0:
            return False
    return False


@kernel
def _fill(G, s, B, group, P, R, groups, D):
    """The conditions of optimality; payoffs are in one unit, and moved to be positive."""
    size = P + R + 1 + groups
    low, high, dear, bent = s[0], s[0], 0.0, 0.0
    for i in range(P):
        low, high, bent = min(low, s[i]), max(high, s[i]), max(bent, abs(G[i, i]))
        for r in range(R):
            dear = max(dear, abs(B[r, i]))
    unit = max(max(high - low, dear), max(bent, 1e-300))
    D[:size, : size + 2] = 0.0
    for i in range(P):
        D[i, size + 1] = (low - s[i] - bent) / unit - 1.0
        D[i, P + R], D[P + R, i] = 1.0, -1.0
        for j in range(P):
            D[i, j] = G[i, j] / unit
        for r in range(R):
            D[P + r, i] = B[r, i] / unit + 2.0
            D[i, P + r] = -D[P + r, i]
    for r in range(R):
        D[P + r, P + R + 1 + group[r]], D[P + R + 1 + group[r], P + r] = -1.0, 1.0
    D[P + R, size + 1] = 1.0
    for g in range(groups):
        D[P + R + 1 + g, size + 1] = -1.0
    for i in range(size):
        golden = i * 0.6180339887498949
        D[i, size] = 1.0 + 0.5 * (golden - np.floor(golden))  # no two alike: no ties


@kernel
def solve_saddle(G, s, B, group, R, groups, p, nu):
    r"""``max_p min_ν <s, p> + νᵀBp − ½ pᵀGp`` of mixtures p, and of ν, one in each group of rows.

    Its conditions of optimality, with a multiplier for every sum that is 1, are a linear
    complementarity problem. G is positive semidefinite, and may be 0: a matrix game.

    Parameters
    ----------
    G, s : ndarray (at least P, at least P), (at least P,)
    B : ndarray (at least R, at least P)
    group : ndarray (at least R,)
        Group of a row, 0 … groups − 1; R = groups = 0 for a quadratic program.
    p, nu : ndarray (P,) and (at least R,)
        Receive the mixtures.

    Returns
    -------
    bool
        Whether p and ν are mixtures; where not, they are to be left.
    """
    P = len(p)
    size = P + R + 1 + groups
    D = np.empty((size, size + 2))
    basic, free = np.empty(size, dtype=np.int64), np.empty(size + 1, dtype=np.int64)
    _fill(G, s, B, group, P, R, groups, D)
    if not complementary(D, size, basic, free):
        return False
    for i in range(P):
        p[i] = 0.0
    for r in range(R):
        nu[r] = 0.0
    for i in range(size):
        place = basic[i] - size
        if 0 <= place < P:
            p[place] = max(D[i, size + 1], 0.0)
        elif P <= place < P + R:
            nu[place - P] = max(D[i, size + 1], 0.0)
    good, total = True, 0.0
    for i in range(P):
        total += p[i]
    good = total > 0.5
    for i in range(P):
        p[i] /= total
    for g in range(groups):
        total = 0.0
        for r in range(R):
            total += nu[r] if group[r] == g else 0.0
        good = good and total > 0.5
        for r in range(R):
            nu[r] /= total if group[r] == g else 1.0
    return good


#: What a mixture leaves of a mean is left out where it is lighter than this.
LIGHT = 1e-9


@kernel
def keep_heavy(places, weights, first, count, most):
    """Keep outputs of positive weight, the `most` heaviest; where they end."""
    least, kept = 0.0, first
    if count - first > most:
        least = max(least, np.sort(weights[first:count])[count - first - most - 1])
    for c in range(first, count):
        if weights[c] > least and kept - first < most:
            places[kept, :] = places[c]
            weights[kept] = weights[c]
            kept += 1
    return kept


@kernel
def is_known(places, first, count, output):
    """Whether an output is among those from `first` on."""
    for c in range(first, count):
        same = True
        for k in range(output.shape[0]):
            same = same and places[c, k] == output[k]
        if same:
            return True
    return False


@kernel
def is_better(value, gap, level, least, rounding):
    """Whether a point is the best so far: by its value, or as good and of a smaller gap."""
    return value > level + rounding or (gap < least and value >= level - rounding)


@kernel
def mean_of(places, first, count, weights, out):
    """Out = Σ weights · vertices."""
    out[:] = 0.0
    for c in range(first, count):
        if weights[c] != 0.0:
            for k in range(out.shape[0]):
                out[k] += weights[c] * places[c, k]


#: Most vertices of either side that are in play.
VERTICES = 64

#: oracle(theta, vertex), which writes the vertex of the largest score.
VERTEX_ORACLE = types.FunctionType(types.void(VECTOR, VECTOR))
as_oracle = function_at(VERTEX_ORACLE)


@functools.cache
def vertex_kernel(oracle):
    """A user's compiled oracle, whatever it returns, as one that returns nothing."""

    @kernel
    def vertex_of(theta, vertex):
        oracle(theta, vertex)

    return vertex_of


def oracle_address(function):
    """What compiled loops are handed of an oracle; interpreted ones get the function itself."""
    return address(function, VERTEX_ORACLE) if hasattr(function, "py_func") else function


@kernel(fastmath=FASTMATH)
def dot(x, y):
    """<x, y>."""
    total = 0.0
    for k in range(x.shape[0]):
        total += x[k] * y[k]
    return total


@kernel
def add_product(A, transposed, x, out):
    """Out += Ax, or Aᵀx."""
    if A.shape[0] == 1:
        for k in range(x.shape[0]):
            out[k] += A[0, 0] * x[k]
        return
    for k in range(x.shape[0]):
        if x[k] != 0.0:
            column = A[k] if transposed else A[:, k]
            for t in range(x.shape[0]):
                out[t] += x[k] * column[t]


@kernel
def rest_of(columns, weights, count, mu):
    """What μ has beside its vertices into column 0, of mass 1; its mass, 0 where it is light."""
    mass = 1.0
    mean_of(columns, 1, count, weights, columns[0])
    for c in range(1, count):
        mass -= weights[c]
    if mass < LIGHT:
        return 0.0
    for k in range(mu.shape[0]):
        columns[0, k] = (mu[k] - columns[0, k]) / mass
    return mass


@kernel
def add_column(c, columns, mu, loss, v, tables):
    """Products of column c with those before it, less μ; its score; and its costs Aμ + b."""
    (A, a, b), (G, s, costs), moved = loss, tables, columns[c] - mu
    for t in range(c + 1):
        G[c, t] = dot(moved, columns[t]) - dot(moved, mu)
        G[t, c] = G[c, t]
    s[c] = dot(v, columns[c]) + dot(a, columns[c])
    costs[c, :] = b
    add_product(A, False, columns[c], costs[c])


@kernel
def payoffs(rows, many, costs, first, count):
    """What rows pay for columns."""
    B = np.empty((max(many, 1), count - first))
    for r in range(many):
        for c in range(first, count):
            B[r, c - first] = dot(rows[r], costs[c])
    return B


@kernel
def best_mixture(q, first, count, rows, many, tables, p, x):
    """The best mixtures of columns, p, and of rows, x; whether there are such."""
    G, s, costs = tables
    B, scores, p[:] = payoffs(rows, many, costs, first, count), s[first:count].copy(), 0.0
    bent, group = q * G[first:count, first:count], np.zeros(len(B), dtype=np.int64)
    if many == 1:
        scores += B[0]
        many, x[0] = 0, 1.0
    return solve_saddle(bent, scores, B, group, many, min(many, 1), p[first:count], x)


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
    r"""The best mean of a row; see `skstructured.estimators.margin._chains.visit`.

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


@kernel
def _fill_game(B):
    """Dictionary of ``max Σ y, w = 1 − Bᵀy ≥ 0, y ≥ 0`` with B scaled to [1, 2]; Σ y is last."""
    (rows, cols), low, high = B.shape, B.min(), B.max()
    scale = 1.0 / (high - low) if high > low else 1.0
    D = np.ones((cols + 1, rows + 1))
    for j in range(cols):
        for r in range(rows):
            D[j, r] = -1.0 - (B[r, j] - low) * scale
    D[cols, rows] = 0.0
    return D


@kernel
def _entering(D, cols, free, by_number):
    """Column of the largest gain, or of the variable that comes first; −1 at the end."""
    found = -1
    for t in range(len(free)):
        if D[cols, t] > ZERO:
            better = found < 0 or D[cols, t] > D[cols, found]
            if free[t] < free[found] if by_number and found >= 0 else better:
                found = t
    return found


@kernel
def _leaving_row(D, cols, column, basic):
    """Row of the least ratio; ties go to the variable that comes first."""
    found, least = -1, 0.0
    for j in range(cols):
        if D[j, column] < -ZERO:
            ratio = max(D[j, len(D[j]) - 1], 0.0) / -D[j, column]
            if found < 0 or ratio < least or (ratio == least and basic[j] < basic[found]):
                found, least = j, ratio
    return found


@kernel
def solve_game(B, mu, nu):
    r"""Optimal mixtures of the game ``max_μ min_ν νᵀBμ`` by the simplex method.

    With B > 0, as it is moved to be, the mixture ν is y/Σy for the y of ``max Σ y, Bᵀy ≤ 1``, and
    μ is the dual solution, also divided by its sum (Dantzig 1951): both come from one dictionary,
    which starts at y = 0. After 4 (rows + cols) steps the rule is Bland's, which cannot cycle.

    Parameters
    ----------
    B : ndarray (rows, cols)
        What the maximising side, which chooses columns, gets.
    mu, nu : ndarray (cols,) and (rows,)
        Receive the mixtures of columns and of rows.
    """
    (rows, cols), D = B.shape, _fill_game(B)
    basic, free = rows + np.arange(cols), np.arange(rows)
    for step in range(50 * (rows + cols)):
        column = _entering(D, cols, free, step > 4 * (rows + cols))
        row = _leaving_row(D, cols, column, basic) if column >= 0 else -1
        if row < 0:
            break
        pivot(D, cols + 1, rows + 1, row, column)
        basic[row], free[column] = free[column], basic[row]
    mu[:], nu[:] = 0.0, 0.0
    for j in range(cols):
        if basic[j] < rows:
            nu[basic[j]] = max(D[j, rows], 0.0)
    for r in range(rows):
        if free[r] >= rows:
            mu[free[r] - rows] = max(-D[cols, r], 0.0)
    mu /= mu.sum()
    nu /= nu.sum()
