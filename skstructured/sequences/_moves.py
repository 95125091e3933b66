"""Scores of sequences, and moves of the weights by their gradients: dense rows and CSR ones.

Weights are a matrix Θ with a row per feature and a column per label: the features of positions, the
intercept, the first position, the last one, and each label just before, which are the transitions.
"""

import math

from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.state import FLUSH, RESCALE, SCALED_WEIGHT_SUM

#: Positions whose products are all computed, for a bound on gradients.
TOGETHER = 32


@kernel(fastmath=FASTMATH)
def add_scaled(target, i, factor, source, j):
    """Row i of target grows by factor times row j of source."""
    for k in range(source.shape[1]):
        target[i, k] += factor * source[j, k]


@kernel(fastmath=FASTMATH)
def add_four(target, i, factors, source, j):
    """Row i of target grows by four factors times rows j to j + 3 of source."""
    a, b, c, d = factors
    for k in range(source.shape[1]):
        target[i, k] += (a * source[j, k] + b * source[j + 1, k]) + (
            c * source[j + 2, k] + d * source[j + 3, k]
        )


@kernel
def add_dense(data, start, stride, n, source, target, i):
    """Row i of target grows by the rows of source, n of them, times data from start in strides.

    Returns whether any of these numbers is not 0.
    """
    j, found = 0, False
    while j + 4 <= n:
        at = start + j * stride
        x = data[at], data[at + stride], data[at + 2 * stride], data[at + 3 * stride]
        if x[0] != 0.0 or x[1] != 0.0 or x[2] != 0.0 or x[3] != 0.0:
            add_four(target, i, x, source, j)
            found = True
        j += 4
    while j < n:
        if data[start + j * stride] != 0.0:
            add_scaled(target, i, data[start + j * stride], source, j)
            found = True
        j += 1
    return found


@kernel
def add_position(data, indices, indptr, width, row, Theta, out, m):
    """Out_m ← out_m + Σ_j x_j Θ_j over the features of a row."""
    if indptr.shape[0] > 0:
        for t in range(indptr[row], indptr[row + 1]):
            add_scaled(out, m, data[t], Theta, indices[t])
        return
    add_dense(data, row * width, 1, width, Theta, out, m)


@kernel
def raw_scores(data, indices, indptr, width, first, M, intercept, Theta, raw):
    """Raw = Θ of every position, transitions left out."""
    start = width + intercept
    for m in range(M):
        for k in range(raw.shape[1]):
            raw[m, k] = Theta[width, k] if intercept > 0 else 0.0
        add_position(data, indices, indptr, width, first + m, Theta, raw, m)
    add_scaled(raw, 0, 1.0, Theta, start)
    add_scaled(raw, M - 1, 1.0, Theta, start + 1)


@kernel(fastmath=FASTMATH)
def dense_product(data, width, one, other):
    """<x, z> of two dense rows."""
    x, z, total = data[one * width :], data[other * width :], 0.0
    for j in range(width):
        total += x[j] * z[j]
    return total


@kernel
def sparse_product(data, indices, indptr, one, other):
    """<x, z> of two CSR rows, whose columns are sorted."""
    s, t, total = indptr[one], indptr[other], 0.0
    while s < indptr[one + 1] and t < indptr[other + 1]:
        if indices[s] == indices[t]:
            total += data[s] * data[t]
            s += 1
            t += 1
        elif indices[s] < indices[t]:
            s += 1
        else:
            t += 1
    return total


@kernel
def row_product(data, indices, indptr, width, one, other):
    """<x, z> of two rows."""
    if indptr.shape[0] > 0:
        return sparse_product(data, indices, indptr, one, other)
    return dense_product(data, width, one, other)


@kernel
def norms(data, indices, indptr, width, first, M, intercept):
    """A bound on ‖Σ_m g_m x_mᵀ‖ for g_m with ‖g_m‖ ≤ 1, and Σ‖x_m‖².

    ``√Σ_{m,m'} |<x_m, x_m'>|`` of each `TOGETHER` positions, summed; the features that are added to
    rows included.
    """
    total, squares = 0.0, 0.0
    for begin in range(0, M, TOGETHER):
        end, part = min(begin + TOGETHER, M), 0.0
        for m in range(begin, end):
            own = row_product(data, indices, indptr, width, first + m, first + m)
            own += float(intercept + (m == 0) + (m == M - 1))
            squares += own
            part += own
            for before in range(begin, m):
                both = row_product(data, indices, indptr, width, first + before, first + m)
                part += 2.0 * abs(both + intercept)
        total += math.sqrt(part)
    return total, squares


@kernel
def touch(j, slot, touched, count, G):
    """The row of G for feature j, a new row of zeros where it has none; and how many there are."""
    if slot[j] < 0:
        slot[j] = count
        touched[count] = j
        for k in range(G.shape[1]):
            G[count, k] = 0.0
        count += 1
    return slot[j], count


@kernel
def _gather_dense(data, width, first, gap, slot, touched, G):
    """Σ_m x_m gap_mᵀ of dense rows into G, a row for each feature that is not 0; how many."""
    count = 0
    for j in range(width):
        for k in range(G.shape[1]):
            G[count, k] = 0.0
        if add_dense(data, first * width + j, width, gap.shape[0], gap, G, count):
            slot[j], touched[count] = count, j
            count += 1
    return count


@kernel
def _gather_sparse(data, indices, indptr, first, gap, slot, touched, G):
    """The same of CSR rows."""
    count = 0
    for m in range(gap.shape[0]):
        for t in range(indptr[first + m], indptr[first + m + 1]):
            if data[t] != 0.0:
                at, count = touch(indices[t], slot, touched, count, G)
                add_scaled(G, at, data[t], gap, m)
    return count


@kernel
def gather_gradient(data, indices, indptr, width, first, gap, intercept, total, slot, touched, G):
    """Gradient of the weights: its rows that are not 0, G, with their numbers; how many."""
    M, k, start = gap.shape[0], total.shape[0], width + intercept
    if indptr.shape[0] > 0:
        count = _gather_sparse(data, indices, indptr, first, gap, slot, touched, G)
    else:
        count = _gather_dense(data, width, first, gap, slot, touched, G)
    for m in range(M if intercept > 0 else 0):
        at, count = touch(width, slot, touched, count, G)
        add_scaled(G, at, 1.0, gap, m)
    at, count = touch(start, slot, touched, count, G)
    add_scaled(G, at, 1.0, gap, 0)
    at, count = touch(start + 1, slot, touched, count, G)
    add_scaled(G, at, 1.0, gap, M - 1)
    for i in range(k if M > 1 else 0):
        at, count = touch(start + 2 + i, slot, touched, count, G)
        add_scaled(G, at, 1.0, total, i)
    return count


@kernel
def most_touched(indptr, width, firsts, lengths):
    """The most features that rows of one sequence have."""
    most = 0
    for r in range(lengths.shape[0] if indptr.shape[0] > 0 else 0):
        most = max(most, indptr[firsts[r] + lengths[r]] - indptr[firsts[r]])
    return most if indptr.shape[0] > 0 else width


@kernel
def fold_sum(Theta, A, factor, played):
    """A ← A + played Θ where there is an A, then Θ ← factor Θ."""
    for i in range(Theta.shape[0]):
        for k in range(Theta.shape[1]):
            if A.shape[0] > 0:
                A[i, k] += played * Theta[i, k]
            Theta[i, k] *= factor


@kernel(fastmath=FASTMATH)
def _row_products(G, t, Theta, j):
    """‖G_t‖² and <G_t, Θ_j>."""
    square, inner = 0.0, 0.0
    for k in range(G.shape[1]):
        square += G[t, k] * G[t, k]
        inner += G[t, k] * Theta[j, k]
    return square, inner


@kernel
def as_numbers(G, touched, count, Theta, slot, x_sq, raw, g):
    """Numbers (1,) with <g, raw> = <G, Θ> and g² x_sq = ‖G‖²: what an optimiser asks for."""
    square, inner = 0.0, 0.0
    for t in range(count):
        slot[touched[t]] = -1
        more, along = _row_products(G, t, Theta, touched[t])
        square += more
        inner += along
    g[0] = math.sqrt(square / x_sq)
    raw[0] = inner / g[0] if g[0] > 0.0 else 0.0


@kernel
def move(Theta, A, state, u, G, touched, count):
    """Θ ← Θ + uG, and A with it, after what the optimiser asked to be multiplied in."""
    if state[RESCALE] != 1.0 or (A.shape[0] > 0 and state[FLUSH] > 0.0):
        fold_sum(Theta, A, state[RESCALE], state[SCALED_WEIGHT_SUM])
        state[RESCALE], state[SCALED_WEIGHT_SUM], state[FLUSH] = 1.0, 0.0, 0.0
    for t in range(count):
        add_scaled(Theta, touched[t], u, G, t)
        if A.shape[0] > 0:
            add_scaled(A, touched[t], -u * state[SCALED_WEIGHT_SUM], G, t)
