"""Blocks solved by few vertices at a time, where nothing but the oracle is known of h."""

import numpy as np

from skstructured._engine.compiled import kernel
from skstructured.estimators.margin._oracles import concave_part, oracle

#: Most vertices, and most calls of the oracle in a block.
VERTICES, CALLS = 48, 96

#: Ridge of the systems, relative to the largest entry: flat directions become long ones.
RIDGE = 1e-13

#: What a block may leave of its gap, and of the size of H, which is rounding.
SLACK, ROUNDING = 0.01, 1e-15


@kernel
def _solve_system(M, b, size):
    """Solve the first `size` rows of Mx = b in place, by elimination with pivots."""
    for s in range(size):
        top = s
        for r in range(s + 1, size):
            if abs(M[r, s]) > abs(M[top, s]):
                top = r
        if M[top, s] == 0.0:
            continue
        for t in range(size):
            M[s, t], M[top, t] = M[top, t], M[s, t]
        b[s], b[top] = b[top], b[s]
        for r in range(s + 1, size):
            factor = M[r, s] / M[s, s]
            for t in range(s, size):
                M[r, t] -= factor * M[s, t]
            b[r] -= factor * b[s]
    for s in range(size - 1, -1, -1):
        for t in range(s + 1, size):
            b[s] -= M[s, t] * b[t]
        b[s] = b[s] / M[s, s] if M[s, s] != 0.0 else 0.0


@kernel
def _best_mixture(inner, linear, q, size, M, b):
    """Weights b of sum 1 with the largest ``<linear, w> − (q/2)‖Σ w_a a‖²``, of any sign."""
    largest = 0.0
    for r in range(size):
        largest = max(largest, q * inner[r, r])
    for r in range(size):
        for t in range(size):
            M[r, t] = q * inner[r, t]
        M[r, r] += RIDGE * largest
        M[r, size], M[size, r] = 1.0, 1.0
        b[r] = linear[r]
    M[size, size], b[size] = 0.0, 1.0
    _solve_system(M, b, size + 1)


@kernel
def _forget(atoms, inner, linear, w, a, size):
    """Put the last vertex in the place of vertex a; how many there are."""
    last = size - 1
    for k in range(atoms.shape[1]):
        atoms[a, k] = atoms[last, k]
    for t in range(size):
        inner[a, t] = inner[last, t]
    for t in range(size):
        inner[t, a] = inner[t, last]
    inner[a, a] = inner[last, last]
    linear[a], w[a] = linear[last], w[last]
    return last


@kernel
def _correct(atoms, inner, linear, q, w, size, M, b):
    """Weights w ≥ 0 of the best mixture, by Wolfe's (1976) minor cycles; how many vertices stay."""
    for _ in range(2 * VERTICES):
        _best_mixture(inner, linear, q, size, M, b)
        step, blocking = 1.0, -1
        for a in range(size):
            if b[a] < 0.0 and w[a] <= step * (w[a] - b[a]):
                step, blocking = w[a] / (w[a] - b[a]), a
        for a in range(size):
            w[a] = max(w[a] + step * (b[a] - w[a]), 0.0)
        if blocking < 0:
            break
        size = _forget(atoms, inner, linear, w, blocking, size)
    total = 0.0
    for a in range(size):
        total += w[a]
    for a in range(size):
        w[a] /= total
    return size


@kernel
def _add(kind, A, v, ell, z, q, out, atoms, inner, linear, w, size):
    """Add the vertex `out` with weight 0; what is linear in it is ``h + <v, a> + q <μ_i, a>``."""
    linear[size] = concave_part(kind, A, out, ell)
    for k in range(out.shape[0]):
        atoms[size, k] = out[k]
        linear[size] += z[k] * out[k]
    for t in range(size + 1):
        total = 0.0
        for k in range(out.shape[0]):
            total += atoms[t, k] * out[k]
        inner[t, size], inner[size, t] = total, total
    w[size] = 1.0 if size == 0 else 0.0
    return size + 1


@kernel
def _value(kind, A, v, ell, q, mu, point):
    """h(point) + <v, point> − (q/2)‖point − μ_i‖²."""
    value = concave_part(kind, A, point, ell)
    for k in range(v.shape[0]):
        value += v[k] * point[k] - 0.5 * q * (point[k] - mu[k]) ** 2
    return value


@kernel
def solve_by_vertices(kind, A, v, ell, q, mu, out, T, basis):
    r"""Where ``h(μ) + <v, μ> − (q/2)‖μ − μ_i‖²`` is largest, nearly, into out.

    The oracle at the scores ``v − q (μ − μ_i)`` gives a vertex of the graph of h, and Wolfe's
    minor cycles the best mixture of those so far: fully corrective Frank–Wolfe steps, which end
    after finitely many. Of the points that are no worse than μ_i it is the one with the least gap.
    """
    dim = v.shape[0]
    atoms, inner = np.empty((VERTICES, dim)), np.empty((VERTICES, VERTICES))
    M, b = np.empty((VERTICES + 1, VERTICES + 1)), np.empty(VERTICES + 1)
    linear, w = np.empty(VERTICES), np.empty(VERTICES)
    point, scores, z, size = mu.copy(), v.copy(), np.empty(dim), 0
    for k in range(dim):
        z[k] = v[k] + q * mu[k]
    start = _value(kind, A, v, ell, q, mu, mu)
    level = start - ROUNDING * (1.0 + abs(start))
    least, allowed, calls = np.inf, 0.0, CALLS
    vertex = mu.copy()
    size = _add(kind, A, v, ell, z, q, vertex, atoms, inner, linear, w, size)
    for call in range(calls):
        reached = concave_part(kind, A, point, ell)
        for k in range(dim):
            scores[k] = z[k] - q * point[k]
            reached += scores[k] * point[k]
        gap = oracle(kind, A, scores, ell, vertex, T, basis) - reached
        if call == 0:
            allowed = max(SLACK * gap, ROUNDING * (1.0 + abs(reached)))
        if gap < least and _value(kind, A, v, ell, q, mu, point) >= level:
            least, out[:] = gap, point
        if gap <= allowed or size == VERTICES:
            break
        size = _add(kind, A, v, ell, z, q, vertex, atoms, inner, linear, w, size)
        size = _correct(atoms, inner, linear, q, w, size, M, b)
        for k in range(dim):
            point[k] = 0.0
            for a in range(size):
                point[k] += w[a] * atoms[a, k]
