"""Scores of sequences, and moves of the weights by their gradients: dense rows and CSR ones.

Weights are a matrix Θ with a row a feature and a column a label: the features of positions, the
intercept, the first position, the last one, and each label just before, which are the transitions.
"""

import math

from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.state import FLUSH, RESCALE, SCALED_WEIGHT_SUM


@kernel(fastmath=FASTMATH)
def add_scaled(target, i, factor, source, j):
    """Row i of target grows by factor times row j of source."""
    for k in range(source.shape[1]):
        target[i, k] += factor * source[j, k]


@kernel
def add_position(data, indices, indptr, width, row, Theta, out, m):
    """Out_m ← out_m + Σ_j x_j Θ_j over the features of a row."""
    if indptr.shape[0] > 0:
        for t in range(indptr[row], indptr[row + 1]):
            add_scaled(out, m, data[t], Theta, indices[t])
        return
    for j in range(width):
        x = data[row * width + j]
        if x != 0.0:
            add_scaled(out, m, x, Theta, j)


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


@kernel
def norms(data, indptr, width, first, M, intercept):
    """Σ‖x_m‖ and Σ‖x_m‖² of a sequence, with the features that are added to its rows."""
    total, squares = 0.0, 0.0
    for m in range(M):
        row = first + m
        begin = indptr[row] if indptr.shape[0] > 0 else row * width
        end = indptr[row + 1] if indptr.shape[0] > 0 else begin + width
        size = float(intercept + (m == 0) + (m == M - 1))
        for t in range(begin, end):
            size += data[t] * data[t]
        total += math.sqrt(size)
        squares += size
    return total, squares


@kernel
def _touch(j, slot, touched, count, G):
    """The row of G for feature j, a new row of zeros where it has none; and how many there are."""
    if slot[j] < 0:
        slot[j] = count
        touched[count] = j
        for k in range(G.shape[1]):
            G[count, k] = 0.0
        count += 1
    return slot[j], count


@kernel
def gather_gradient(data, indices, indptr, width, first, gap, intercept, total, slot, touched, G):
    """Gradient of the weights: its rows that are not 0, G, with their numbers; how many."""
    M, k, count, start = gap.shape[0], gap.shape[1], 0, width + intercept
    for m in range(M):
        row = first + m
        sparse = indptr.shape[0] > 0
        begin = indptr[row] if sparse else row * width
        end = indptr[row + 1] if sparse else begin + width
        for t in range(begin, end):
            if data[t] != 0.0:
                at, count = _touch(indices[t] if sparse else t - begin, slot, touched, count, G)
                add_scaled(G, at, data[t], gap, m)
        if intercept > 0:
            at, count = _touch(width, slot, touched, count, G)
            add_scaled(G, at, 1.0, gap, m)
    at, count = _touch(start, slot, touched, count, G)
    add_scaled(G, at, 1.0, gap, 0)
    at, count = _touch(start + 1, slot, touched, count, G)
    add_scaled(G, at, 1.0, gap, M - 1)
    for i in range(k if M > 1 else 0):
        at, count = _touch(start + 2 + i, slot, touched, count, G)
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


@kernel
def as_numbers(G, touched, count, Theta, slot, x_sq, raw, g):
    """Numbers (1,) with <g, raw> = <G, Θ> and g² x_sq = ‖G‖²: what an optimiser asks for."""
    square, inner = 0.0, 0.0
    for t in range(count):
        slot[touched[t]] = -1
        for i in range(G.shape[1]):
            square += G[t, i] * G[t, i]
            inner += G[t, i] * Theta[touched[t], i]
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
