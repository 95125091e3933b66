"""Matrix games, and saddle points with a quadratic term."""

import numpy as np

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


@kernel
def mean_of(places, first, count, weights, out):
    """Out = Σ weights · vertices."""
    out[:] = 0.0
    for c in range(first, count):
        if weights[c] != 0.0:
            for k in range(out.shape[0]):
                out[k] += weights[c] * places[c, k]
