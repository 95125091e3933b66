"""Visits to outputs whose means are mixtures of few atoms: vertices of an oracle, label sequences.

A visit solves small saddle points, which are matrix games with a quadratic term.
Points are vectors. Of rows they are means of vertices, and the oracle of the space finds one; a
label sequence has the indicators (M, k) of its positions and the counts (k, k) of its steps, one
after the other, and Viterbi's algorithm finds one. `k` is 0 of rows.

All is compiled for compiled oracles. For others these functions run in Python, and only those that
they call are compiled.
"""

from typing import Any

import numpy as np
from numba import int64, types

from skstructured._chains.best_paths import chain_viterbi
from skstructured._engine.compiled import FASTMATH, also_interpreted, kernel, kernel_over
from skstructured._engine.state import axpy, inner
from skstructured._engine.types import VECTOR, function_at

#: Most atoms of either side that are in play.
MOST_ATOMS = 64

#: oracle(k, theta, vertex), which writes the vertex of the largest score.
VERTEX_ORACLE = types.FunctionType(types.void(int64, VECTOR, VECTOR))
as_oracle = function_at(VERTEX_ORACLE)


def vertex_kernel(oracle):
    """A user's compiled oracle, whatever it returns, as one that returns nothing."""
    return kernel_over(_vertex_of, USER_ORACLE=oracle)


#: What copies of `_vertex_of` have.
USER_ORACLE: Any = None


def _vertex_of(k, theta, vertex):
    USER_ORACLE(theta, vertex)


@kernel
def pivot(D, row, column):
    """Exchange the basic variable of a row and the free one of a column."""
    scale = -1.0 / D[row, column]
    D[row] *= scale
    D[row, column] = -scale
    for i in range(len(D)):
        factor = D[i, column]
        if i != row and factor != 0.0:
            D[i, column] = 0.0
            axpy(D[i], factor, D[row])


@kernel
def _leaving(D, size, column, basic):
    """Row of the least ratio; ties go to the artificial variable, then to the largest pivot."""
    row, least, rounding = -1, 0.0, 1e-11
    for i in range(size):
        entry = -D[i, column]
        if entry > rounding:
            ratio = max(D[i, size + 1], 0.0) / entry
            first = row < 0 or ratio < least - rounding * least
            tie = not first and ratio <= least + rounding * least
            if first or (tie and basic[row] != 2 * size and entry > -D[row, column]):
                row, least = i, min(ratio, least) if tie else ratio
            elif tie and basic[i] == 2 * size:
                row = i
    return row


@kernel
def complementary(D, size, basic, free):
    r"""Solve ``w = q + Mz, w, z ≥ 0, <w, z> = 0`` by Lemke's (1965) method; whether it did.

    D (size, size + 2) is M, positive semidefinite, the positive column of the artificial variable,
    and q. `basic` (size,) and `free` (size + 1,) receive the variables of rows and columns: i <
    size for w_i, size + i for z_i.
    """
    for i in range(size):
        basic[i], free[i] = i, size + i
    free[size] = 2 * size
    lifts = D[:, size + 1] / D[:, size]  # of each row by the artificial variable
    row, column = np.argmin(lifts) if lifts.min() < 0.0 else -1, size
    for _ in range(20 * size + 20):
        if row < 0:
            return column == size  # q ≥ 0 at the start, or a ray
        pivot(D, row, column)
        left = basic[row]
        basic[row], free[column] = free[column], left
        if left == 2 * size:
            return True
        complement = left + size if left < size else left - size
        column = 0
        while free[column] != complement:
            column += 1
        row = _leaving(D, size, column, basic)
        if row < 0:
            return False
    return False


@kernel
def _fill(G, s, B, group, P, R, groups, D):
    """The conditions of optimality; payoffs are in one unit, and moved to be positive."""
    size, bent = P + R + 1 + groups, 0.0
    for i in range(P):
        bent = max(bent, abs(G[i, i]))
    low, high = s[:P].min(), s[:P].max()
    dear = np.abs(B[:R, :P]).max() if R > 0 else 0.0
    unit = max(max(high - low, dear), max(bent, 1e-300))
    D[:] = 0.0
    D[:P, :P], D[P : P + R, :P] = G[:P, :P] / unit, B[:R, :P] / unit + 2.0
    D[:P, P : P + R] = -D[P : P + R, :P].T
    D[:P, P + R], D[P + R, :P] = 1.0, -1.0
    D[:P, size + 1] = (low - s[:P] - bent) / unit - 1.0
    D[P + R, size + 1], D[P + R + 1 :, size + 1] = 1.0, -1.0
    for r in range(R):
        D[P + r, P + R + 1 + group[r]], D[P + R + 1 + group[r], P + r] = -1.0, 1.0
    golden = np.arange(size) * 0.6180339887498949
    D[:, size] = 1.0 + 0.5 * (golden - np.floor(golden))  # no two alike: no ties


@kernel
def solve_saddle(G, s, B, group, R, groups, p, nu):
    r"""``max_p min_ν <s, p> + νᵀBp − ½ pᵀGp`` of mixtures p, and of ν, one in each group of rows.

    Its conditions of optimality, with a multiplier for every sum that is 1, are a linear
    complementarity problem. G is positive semidefinite, and may be 0: a matrix game. Each of R rows
    has a group; R = groups = 0 for a quadratic program. Arrays may be longer than P and R. Returns
    whether p (P,) and ν are mixtures; if not, do not use them.
    """
    P = len(p)
    size = P + R + 1 + groups
    D = np.empty((size, size + 2))
    basic, free = np.empty(size, dtype=np.int64), np.empty(size + 1, dtype=np.int64)
    _fill(G, s, B, group, P, R, groups, D)
    if not complementary(D, size, basic, free):
        return False
    z = np.zeros(P + R)
    for i in range(size):
        place = basic[i] - size
        if 0 <= place < P + R:
            z[place] = max(D[i, size + 1], 0.0)
    p[:], nu[:R] = z[:P], z[P:]
    total = p.sum()
    good = total > 0.5
    p /= total
    totals = np.zeros(groups)
    for r in range(R):
        totals[group[r]] += nu[r]
    for r in range(R):
        nu[r] /= totals[group[r]]
    return good and (totals > 0.5).all()


@kernel
def mix_vertices(places, count, weights, out):
    """Out = Σ weights · vertices."""
    out[:] = 0.0
    for c in range(count):
        if weights[c] != 0.0:
            axpy(out, weights[c], places[c])


@kernel
def positions(k, dim):
    """How many positions a sequence has."""
    return dim // k - k


@kernel
def best_labels(k, theta, out):
    """The label sequence of the largest score."""
    M = positions(k, len(theta))
    u, T = theta[: M * k].reshape(M, k), theta[M * k :].reshape(1, k, k)
    best, path = np.empty((M, k)), np.empty(M, dtype=np.int64)
    chain_viterbi(u, 0, M, T, best, path)
    add_labels(k, path, out)


@kernel
def add_labels(k, path, out):
    """Out = the point of a label sequence."""
    M = len(path)
    out[:] = 0.0
    for m in range(M):
        out[m * k + path[m]] = 1.0
        if m < M - 1:
            out[(M + path[m]) * k + path[m + 1]] += 1.0


@kernel
def points_of(k, labels):
    """The points of label sequences, a row each."""
    out = np.empty((len(labels), (labels.shape[1] + k) * k))
    for c in range(len(labels)):
        add_labels(k, labels[c], out[c])
    return out


@kernel
def cheapest_labels(k, costs, out):
    """The prediction of the least costs, position by position; it has no steps."""
    out[:] = 0.0
    for m in range(positions(k, len(costs))):
        out[m * k + np.argmin(costs[m * k : m * k + k])] = 1.0


@kernel
def add_product(A, transposed, x, out):
    """Out += Ax, or Aᵀx."""
    if A.shape[0] == 1:
        axpy(out, A[0, 0], x)
        return
    for k in range(x.shape[0]):
        if x[k] != 0.0:
            axpy(out, x[k], A[k] if transposed else A[:, k])


@kernel
def add_costs(k, A, transposed, x, out):
    """Out += Ax, or Aᵀx; of sequences with A for each position."""
    width = k if k > 0 else len(out)
    for start in range(0, len(out) - k * k, width):
        add_product(A, transposed, x[start : start + width], out[start : start + width])


@kernel
def loss_of(k, loss, dim):
    """A, a and b of an output; of a sequence A for each position, whose costs are a mean."""
    A, a, b = loss
    if k > 0:
        A, a, b = A / positions(k, dim), np.zeros(dim), np.zeros(dim)
    return A, a, b


@kernel(fastmath=FASTMATH)
def bend(k, q, K, d, out):
    """Out = q times the products of the features of a direction with those of each entry."""
    for j in range(d.shape[0]):
        out[j] = q * d[j]
    if k == 0 or q == 0.0:
        return
    M = K.shape[0]
    for m in range(M):
        for j in range(m * k, m * k + k):
            out[j] = q * d[j] if m == 0 or m == M - 1 else 0.0
        if M == 1:
            axpy(out[:k], q, d[:k])
        for t in range(M):
            axpy(out[m * k : m * k + k], q * K[m, t], d[t * k : t * k + k])


@kernel
def remainder_of(columns, weights, count, mu):
    """The part of μ outside its atoms into column 0, of mass 1; its mass, 0 if it is light."""
    weights[0] = 0.0
    mix_vertices(columns, count, weights, columns[0])
    mass = 1.0 - weights[:count].sum()
    if mass < 1e-9:
        return 0.0
    columns[0] = (mu - columns[0]) / mass
    return mass


@kernel
def add_column(c, game, columns, mu, v, tables):
    """Products of column c with those before it, less μ; its score; and its costs Aμ + b."""
    (k, (A, a, b), q, K), (G, s, costs, bent) = game, tables
    s[c] = inner(v, columns[c]) + inner(a, columns[c])
    costs[c, :] = b
    add_costs(k, A, False, columns[c], costs[c])
    bend(k, q, K, columns[c] - mu, bent[c])
    mean_product = inner(bent[c], mu)
    for t in range(c + 1):
        G[c, t] = inner(bent[c], columns[t]) - mean_product
        G[t, c] = G[c, t]


@kernel
def payoffs_of(k, rows, r, costs):
    """What prediction r pays for each column; of sequences r is a label of a position."""
    if k > 0:
        return costs[:, r].copy()
    paid = np.empty(len(costs))
    for c in range(len(costs)):
        paid[c] = inner(rows[r], costs[c])
    return paid


@kernel
def best_mixture(k, rows, marks, count, tables, p, x):
    """The best mixtures of columns, p, and of marked rows, x; whether there are such.

    Of sequences a row is a label of a position, and each position has a mixture. One of a single
    row is not a group, but is added to the scores. So is the heaviest row if there is no room.
    """
    G, s, costs = tables[0], tables[1][:count].copy(), tables[2][:count]
    R, groups = np.int64(0), np.int64(0)  # literals would be compiled anew
    most_rows, width = 160, k if k > 0 else max(len(marks), 1)
    most = min(int(marks.sum()), most_rows)
    B, mixed = np.empty((most, count)), np.ones(max(most, 1))
    group, place = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    for start in range(0, len(marks), width):
        here, group_weights = marks[start : start + width], x[start : start + width]
        n_marked = here.sum()
        if n_marked == 1 or R + n_marked > most_rows:
            best = np.argmax(here) if n_marked == 1 else np.argmax(group_weights)
            group_weights[:] = 0.0
            group_weights[best] = 1.0
            s += payoffs_of(k, rows, start + best, costs)
            continue
        for r in range(width):
            if here[r] > 0:
                B[R], group[R], place[R] = payoffs_of(k, rows, start + r, costs), groups, start + r
                R += 1
        groups += 1
    if not solve_saddle(G, s, B, group, R, groups, p[:count], mixed):
        return False
    for r in range(R):
        x[place[r]] = mixed[r]
    return True


@kernel
def grow(places, weights, count, vertex):
    """Add a vertex if it is new; the end of the vertices."""
    for c in range(count):
        if np.array_equal(places[c], vertex):
            return count
    places[count, :], weights[count] = vertex, 0.0
    return count + 1


@kernel
def mark(marks, column, row, nu):
    """Mark the labels of a column, of a prediction and of ν; whether any is new."""
    new = False
    for j in range(len(marks)):
        if marks[j] == 0 and (row[j] > 0.0 or nu[j] > 0.0 or column[j] > 0.0):
            marks[j], new = 1, True
    return new


@kernel
def with_room(atoms, weights, first, most):
    """The heaviest atoms from number `first` on, with weights and room for more; their end."""
    least = np.sort(weights)[-most - 1] if len(weights) > most else 0.0
    heavy = weights > max(least, 0.0)
    places, p = np.empty((MOST_ATOMS, atoms.shape[1])), np.zeros(MOST_ATOMS)
    stop = first + heavy.sum()
    places[first:stop], p[first:stop] = atoms[heavy], weights[heavy]
    return places, p, stop


@kernel
def kept_of(places, weights, stop):
    """Atoms of positive weight, and their weights."""
    heavy = weights[:stop] > 0.0
    return places[:stop][heavy], weights[:stop][heavy]


@kernel
def begin(game, v, mu, columns, rows, is_game):
    """Both sides of a visit with room for more, whether the first column is a rest; tables, marks.

    The labels of sequences are not marked yet.
    """
    n_atoms = MOST_ATOMS - 26
    k, (columns, p, count) = game[0], with_room(*columns, 1, n_atoms - 1)
    rest_mass = remainder_of(columns, p, count, mu) if game[2] > 0.0 else 0.0
    first, p[0] = 0 if rest_mass > 0.0 else 1, rest_mass
    columns, p, count = columns[first:], p[first:], count - first
    rows, x, n_rows = with_room(*rows, 0, n_atoms)
    sides = np.empty((2, MOST_ATOMS, len(mu)))
    tables = np.empty((MOST_ATOMS, MOST_ATOMS)), np.empty(MOST_ATOMS), sides[0], sides[1]
    for c in range(count):
        add_column(c, game, columns, mu, v, tables)
    marks = np.zeros((len(mu) - k * k if k > 0 else MOST_ATOMS) * is_game, dtype=np.int64)
    if k == 0:
        marks[:n_rows] = 1
    return (columns, p, count), (rows, x, n_rows), 1 - first, tables, marks


@kernel
def extend(game, mu, v, new, columns, p, count, rows, x, n_rows, marks, tables, nu):
    """Add a column and a prediction, and find the best mixtures; their end, and success."""
    (column, row, is_later), previous_counts, marked = new, (count, n_rows), False
    count = grow(columns, p, count, column)
    if count > previous_counts[0]:
        add_column(previous_counts[0], game, columns, mu, v, tables)
    if game[0] > 0:
        marked = len(row) > 0 and mark(marks, column, row, nu)
    elif len(row) > 0:
        n_rows = grow(rows, x, n_rows, row)
        marks[n_rows - 1] = 1
    if is_later and not marked and previous_counts == (count, n_rows):
        return count, n_rows, False
    is_solved = best_mixture(game[0], rows, marks, count, tables, p, nu if game[0] > 0 else x)
    if is_solved and game[0] == 0 and n_rows > 0:
        mix_vertices(rows, n_rows, x, nu)
    return count, n_rows, is_solved


@also_interpreted
def evaluated(best_output, k, loss, v, point, nu, costs, column, row):
    """An upper bound on max H by ν, whose best output is `column`, and H at a point.

    `row` is the best prediction for the point; it is empty if the loss is linear.
    """
    (A, a, b), reached = loss, inner(v, point) + inner(loss[1], point)
    if len(row) > 0:
        costs[:] = b
        add_costs(k, A, False, point, costs)
        if k > 0:
            cheapest_labels(k, costs, row)
        else:
            best_output(k, -costs, row)
        reached += inner(costs, row)
    costs[:] = v + a
    add_costs(k, A, True, nu, costs)
    best_output(k, costs, column)
    return inner(costs, column) + inner(nu, b), reached


@kernel(function_type=VERTEX_ORACLE, steps=15.0)
def visit(oracle, max_min, slack, game, v, mu, columns, rows, nu):
    r"""The best mean of an output, with the largest ``h(μ) + <v, μ> − (q/2)‖Φ(μ − μ_i)‖²``.

    It is a mixture of atoms. Once it is best for the known ones, with ν the best mixture of
    predictions against it, the atom of the largest score with the costs of ν is added; its score
    bounds the remaining gain. q = 0 makes it the max-min oracle. It returns the best point (if
    several are equal, that with the least gap) and its atoms and predictions, and moves ν to its.

    Parameters
    ----------
    game : tuple
        k; the loss (A, a, b), of a sequence the costs A of a position; q, and the kernels (M, M)
        within a sequence.
    v, mu : ndarray (dim,)
        Scores, for the structural SVM with its costs, and the present mean.
    columns, rows : tuples of ndarray (c, dim) and (c,)
        Atoms that make up μ_i but for a rest, and predictions whose mixture is ν, with their
        weights. Sequences have all labels of a position instead of predictions.
    """
    best_output, k, loss = as_oracle(oracle), game[0], loss_of(game[0], game[1], len(mu))
    game, costs, out = (k, loss, game[2], game[3]), mu.copy(), mu.copy()
    here, point, column, row = v.copy(), mu.copy(), mu.copy(), mu.copy()[: len(mu) * max_min]
    begun = begin(game, v, mu, columns, rows, max_min)
    (columns, p, count), (rows, x, n_rows), n_rest_columns, tables, marks = begun
    mixed, kept_p, kept_x, ends = nu.copy(), p.copy(), x.copy(), (count, n_rows)
    level, least, allowed, rounding = -np.inf, np.inf, 0.0, 0.0
    for t in range(8 if k > 0 else 16):
        upper, reached = evaluated(best_output, k, loss, here, point, mixed, costs, column, row)
        gap, pull = upper - reached, v - here
        value = reached + inner(pull, point) - 0.5 * inner(pull, point - mu)
        if t == 0:
            rounding = 1e-13 * (1.0 + abs(reached))
            allowed = max(0.1 * gap, max(slack, rounding))
        if value > level + rounding or (gap < least and value >= level - rounding):
            level, least, ends = max(level, value), gap, (count, n_rows)
            out[:], nu[:], kept_p[:], kept_x[:] = point, mixed, p, x
        if least <= allowed or count == len(p) or n_rows == len(x):
            break
        sides, new = (columns, p, count, rows, x, n_rows), (column, row, t > 0)
        count, n_rows, is_solved = extend(game, mu, v, new, *sides, marks, tables, mixed)
        if not is_solved:
            break
        mix_vertices(columns, count, p, point)
        mix_vertices(tables[3], count, p, here)
        here[:] = v - here
    kept_p[:n_rest_columns] = 0.0
    return out, kept_of(columns, kept_p, ends[0]), kept_of(rows, kept_x, ends[1])


@kernel(function_type=VERTEX_ORACLE)
def bounds(oracle, max_min, k, loss, indices, begins, V, mu, nu):
    """Upper bounds on max H of some outputs at scores V, by their ν, and H at their μ.

    V, μ and ν are those of all outputs, which start at `begins`.
    """
    best_output, values = as_oracle(oracle), np.empty((2, len(indices)))
    for t in range(len(indices)):
        block = slice(begins[indices[t]], begins[indices[t] + 1])
        point, costs, column, row = mu[block], mu[block].copy(), mu[block].copy(), mu[block].copy()
        terms, row = loss_of(k, loss, len(point)), row[: len(row) * max_min]
        upper, reached = evaluated(
            best_output, k, terms, V[block], point, nu[block], costs, column, row
        )
        values[0, t], values[1, t] = max(upper, reached), reached
    return values
