"""SparseMAP of one chain: the projection of its scores on the hull of all label sequences.

``argmin ½‖μ − θ‖²`` over means μ of indicators of labels and of steps: the marginals that
``½‖μ‖²`` regularizes, which consist of few sequences if scores are large. Wolfe's
minimum-norm-point method as in `extend._by_vertices`, but for vertices that are kept as labels.
The scalar product of two is the number of positions and steps they share, so a vertex needs
O(M), not O(M k²), and the linear oracle is Viterbi's.

References: Wolfe (1976), "Finding the nearest point in a polytope"; Niculae, Martins, Blondel,
Cardie (2018), "SparseMAP: differentiable sparse structured inference".
"""

import math

import numpy as np

from skstructured._chains.best_paths import chain_score, chain_viterbi
from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.state import copy_into, inner, move_towards

#: Sequences that there is room for at first.
FIRST_VERTICES = 100


@kernel
def _shared(labels, i, other):
    """How many positions and steps two label sequences share."""
    count, was_same = 0.0, False
    for m in range(labels.shape[1]):
        same = labels[i, m] == other[m]
        if same:
            count += 2.0 if was_same else 1.0
        was_same = same
    return count


@kernel
def _factor_row(shared, L, n):
    """Row n of the Cholesky factor, of a vertex's products; whether it is independent."""
    for j in range(n):
        L[n, j] = (shared[j] - inner(L[n, :j], L[j])) / L[j, j]
    left = shared[n] - inner(L[n, :n], L[n])
    L[n, n] = math.sqrt(max(left, 0.0))
    return left > 1e-9  # the square of a distance, a rational number, or 0


@kernel
def _drop_row(L, i, n):
    """Cholesky factor without vertex i: its rows below move up, and are rotated to a triangle."""
    for a in range(i, n - 1):
        copy_into(L[a, : a + 2], L[a + 1])
    for t in range(i, n - 1):
        r = math.hypot(L[t, t], L[t, t + 1])
        c, s = L[t, t] / r, L[t, t + 1] / r
        for a in range(t, n - 1):
            x, y = L[a, t], L[a, t + 1]
            L[a, t] = c * x + s * y
            L[a, t + 1] = c * y - s * x


@kernel(fastmath=FASTMATH)
def _solve(L, n, x):
    """x ← A⁻¹ x by the factor L of A, rows of which are read in both directions."""
    for i in range(n):
        x[i] = (x[i] - inner(L[i, :i], x)) / L[i, i]
    for i in range(n - 1, -1, -1):
        value = x[i] / L[i, i]
        x[i] = value
        for t in range(i):
            x[t] -= L[i, t] * value


@kernel
def _solve_affine_weights(L, n, scores, target, ones):
    """Weights, summing to 1, of the best point of the affine hull of the active vertices."""
    for i in range(n):
        target[i], ones[i] = scores[i] - scores[0], 1.0
    _solve(L, n, target)
    _solve(L, n, ones)
    excess = (target[:n].sum() - 1.0) / ones[:n].sum()
    for i in range(n):
        target[i] -= excess * ones[i]


@kernel
def _remove(i, n, labels, weights, scores, L):
    """Take a vertex off the active ones; how many are left."""
    for a in range(i, n - 1):
        copy_into(labels[a], labels[a + 1])
        weights[a], scores[a] = weights[a + 1], scores[a + 1]
    _drop_row(L, i, n)
    return n - 1


@kernel
def _move_weights(target, n, labels, weights, scores, L):
    """Move weights to `target`, or until one is 0 and leaves; how many are left, and whether."""
    if move_towards(target, weights, n):
        return n, True
    for i in range(n - 1, -1, -1):
        if weights[i] <= 1e-15:
            n = _remove(i, n, labels, weights, scores, L)
    return n, False


@kernel
def _add(n, vertex, weight, unary, pair, labels, weights, scores, shared, L):
    """Put a vertex after the n active ones; how many there are then: n if it depends on them."""
    copy_into(labels[n], vertex)
    weights[n] = weight
    scores[n] = chain_score(unary, 0, len(vertex), pair, vertex)
    for i in range(n + 1):
        shared[i] = _shared(labels, i, vertex)
    return n + 1 if _factor_row(shared, L, n) else n


@kernel
def add_vertices(labels, weights, n, mu, each, sign):
    """mu and each += sign · weighted indicators of positions and of steps; `each` may be empty."""
    for i in range(n):
        w = sign * weights[i]
        for m in range(labels.shape[1]):
            mu[m, labels[i, m]] += w
            if m > 0 and each.shape[0] > 0:
                each[m - 1, labels[i, m - 1], labels[i, m]] += w


@kernel
def _gap(vertex, labels, weights, n, unary, pair):
    """Σ weights · (score of vertex − score of labels), if they differ, and its terms' size."""
    gap, size = 0.0, 0.0
    for i in range(n):
        for m in range(len(vertex)):
            a, b = vertex[m], labels[i, m]
            if a != b:
                gap += weights[i] * (unary[m, a] - unary[m, b])
                size += weights[i] * (abs(unary[m, a]) + abs(unary[m, b]))
            if m > 0 and (a != b or vertex[m - 1] != labels[i, m - 1]):
                x, y = pair[m - 1, vertex[m - 1], a], pair[m - 1, labels[i, m - 1], b]
                gap += weights[i] * (x - y)
                size += weights[i] * (abs(x) + abs(y))
    return gap, size


@kernel
def _write_residual(unary, pair, labels, weights, n, residual, rest_pair):
    """Scores less the mean of the active vertices: the direction of steepest ascent."""
    for m in range(rest_pair.shape[0]):
        copy_into(residual[m], unary[m])
        step = pair[m if pair.shape[0] > 1 else 0]
        for i in range(step.shape[0]):
            copy_into(rest_pair[m, i], step[i])
    add_vertices(labels, weights, n, residual, rest_pair, -1.0)


@kernel
def project_chain(unary, pair, room, max_iter):
    """Project the scores of one chain, on at most `room` vertices.

    Returns labels (room, M) and weights (room,), how many of them are active (−1 if no labels are
    possible), the gap with the bound on its error, and whether it is at most that.
    """
    M = len(unary)
    labels, weights = np.zeros((room, M), dtype=np.int64), np.zeros(room)
    L, shared = np.empty((room, room)), np.empty(room)
    scores, target, ones = np.empty(room), np.empty(room), np.empty(room)
    residual, best = np.empty(unary.shape), np.empty(unary.shape)
    rest_pair, vertex = np.empty((M, *pair.shape[1:])), np.empty(M, dtype=np.int64)
    gap, size, lowest, waited, done = 0.0, 0.0, np.inf, 0, False
    if chain_viterbi(unary, 0, M, pair, best, vertex) == -np.inf:
        return labels, weights, -1, gap, True
    n = _add(0, vertex, 1.0, unary, pair, labels, weights, scores, shared, L)
    for _ in range(max_iter):
        reached = False
        while not reached:
            _solve_affine_weights(L, n, scores, target, ones)
            n, reached = _move_weights(target, n, labels, weights, scores, L)
        _write_residual(unary, pair, labels, weights, n, residual, rest_pair)
        chain_viterbi(residual, 0, M, rest_pair, best, vertex)
        gap, size = _gap(vertex, labels, weights, n, residual, rest_pair)
        waited = 0 if gap < 0.5 * lowest else waited + 1
        lowest = min(lowest, gap)
        # A small gap is rounding, and so is a larger one that has not halved in 20 rounds.
        done = gap <= (1e-12 if waited >= 20 else 1e-14) * (1.0 + size)
        if done or n == room:
            break
        n_previous = n
        n = _add(n, vertex, 0.0, unary, pair, labels, weights, scores, shared, L)
        if n == n_previous:
            break
    unit = 4.0 * np.finfo(np.float64).eps  # rounding of sums, relative to their terms
    return labels, weights, n, max(gap, 0.0) + unit * size, done


@kernel
def projected(unary, pair, calls, insists):
    """The label sequences (n, M) that make up the projection, weights (n,), gap, whether it is 0.

    It restarts with more room if they fill it, or, if it `insists`, whenever there is a gap.
    """
    M, k = unary.shape
    room = M * (k - 1) + (M - 1) * (k - 1) ** 2 + 1  # one more than the dimension of means
    size = min(FIRST_VERTICES, room)
    labels, weights, n, gap, done = project_chain(unary, pair, size, calls + size)
    while not done and size < room and (insists or n == size):
        size = min(4 * size, room)
        labels, weights, n, gap, done = project_chain(unary, pair, size, calls + size)
    return labels[: max(n, 0)], weights[: max(n, 0)], gap, done


@kernel
def project_means(unary, pair, mu, each):
    """Write the projection's means of labels (M, k) and steps; the gap, 0 if it is rounding."""
    labels, weights, gap, done = projected(unary, pair, 1000, True)
    mu[:] = 0.0
    each[:] = 0.0
    add_vertices(labels, weights, len(weights), mu, each, 1.0)
    return 0.0 if done else gap
