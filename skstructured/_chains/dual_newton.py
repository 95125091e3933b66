"""Projection of one chain's scores on the hull of its label sequences, by Newton's method.

Means of label sequences are flows: ``u_m`` (k,), shares of the labels at position m, and ``p_m``
(k, k) ≥ 0, shares of the steps from m to m + 1, with ``p_m 1 = u_m``, ``p_mᵀ 1 = u_{m+1}`` and
``Σ u_0 = 1``. With multipliers a_m, b_m and c of these, the nearest ones to scores θ, P are

    u_m = θ_m − a_m − b_{m−1} − c [m = 0],    p_m = max(0, P_m + a_m 1ᵀ + 1 b_mᵀ),

where ``½ Σ ‖u_m‖² + ½ Σ ‖p_m‖² + c`` is least. That function is convex and piecewise quadratic, and
its Hessian couples the blocks c, a_0, b_0, a_1, … like beads on a string, so that a step of
Newton's method costs O(M k³). It is for means of many sequences; those of a few are found sooner by
`skstructured._chains.projection`.

References: Qi, Sun (1993), "A nonsmooth version of Newton's method"; for the Birkhoff polytope
Li, Sun, Toh (2020), "On the efficient computation of a generalized Jacobian of the projector over
the Birkhoff polytope".
"""

import math

import numpy as np

from skstructured._engine.arrays import Floats, Ints
from skstructured._engine.compiled import FASTMATH, kernel

#: Steps, and halvings of one, at the most; by how much rounding may raise the function.
MOST_STEPS, MOST_HALVINGS, ROUNDING = 500, 40, 1e-14
#: The ridge of the Hessian, as a share of what constraints are violated by, and its ends.
RIDGE, LEAST_RIDGE, LARGEST_RIDGE = 0.1, 1e-13, 1e-3
#: A violation of constraints that is rounding, over the size of the scores.
BALANCED = 4e-15


@kernel
def _means(unary, pair, possible, x, u, p):
    """u and p for the multipliers ``x`` = (a_0, b_0, a_1, …, c); returns the function."""
    M, k = unary.shape
    value = x[2 * M - 2, 0]
    for m in range(M):
        for i in range(k):
            before = x[2 * m - 1, i] if m > 0 else x[2 * M - 2, 0]
            after = x[2 * m, i] if m < M - 1 else 0.0
            u[m, i] = unary[m, i] - before - after if possible[m, i] else 0.0
            value += 0.5 * u[m, i] * u[m, i]
    for m in range(M - 1):
        for i in range(k):
            for j in range(k):
                both = possible[m, i] and possible[m + 1, j]
                share = pair[m, i, j] + x[2 * m, i] + x[2 * m + 1, j] if both else 0.0
                p[m, i, j] = max(0.0, share)
                value += 0.5 * p[m, i, j] * p[m, i, j]
    return value


@kernel
def _gradient(u, p, g):
    """The gradient, which is what the constraints are violated by; its largest entry."""
    M, k = u.shape
    g[:] = 0.0
    g[2 * M - 2, 0] = 1.0 - u[0].sum()
    for m in range(M - 1):
        for i in range(k):
            g[2 * m, i] -= u[m, i]
            g[2 * m + 1, i] -= u[m + 1, i]
            for j in range(k):
                g[2 * m, i] += p[m, i, j]
                g[2 * m + 1, j] += p[m, i, j]
    return np.abs(g).max()


@kernel
def _diagonal_block(r, p, possible, ridge, A):
    """Block r of the Hessian, of a_m (r = 2m) or of b_m (r = 2m + 1)."""
    m, of_rows = r // 2, r % 2 == 0
    k = A.shape[0]
    A[:] = 0.0
    for i in range(k):
        A[i, i] = 1.0
        if possible[m if of_rows else m + 1, i]:
            A[i, i] += ridge
            for j in range(k):
                A[i, i] += 1.0 if (p[m, i, j] if of_rows else p[m, j, i]) > 0.0 else 0.0


@kernel
def _coupled(r, i, j, p, possible):
    """Entry i, j of the Hessian's block r, r − 1: whether u or p have both multipliers."""
    if r % 2 == 0:
        return i == j and possible[r // 2, i]
    return p[r // 2, j, i] > 0.0


@kernel(fastmath=FASTMATH)
def _inner(x, y, many):
    """Scalar product of the first entries."""
    total = 0.0
    for t in range(many):
        total += x[t] * y[t]
    return total


@kernel
def _factor(A):
    """Cholesky's factor of A, in its lower triangle."""
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] = (A[i, j] - _inner(A[i], A[j], j)) / A[j, j]
        A[i, i] = math.sqrt(max(A[i, i] - _inner(A[i], A[i], i), LEAST_RIDGE))


@kernel
def _forward(L, x):
    """x ← L⁻¹ x."""
    for i in range(len(x)):
        x[i] = (x[i] - _inner(L[i], x, i)) / L[i, i]


@kernel
def _backward(L, x):
    """x ← L⁻ᵀ x."""
    for i in range(len(x) - 1, -1, -1):
        x[i] /= L[i, i]
        for t in range(i):
            x[t] -= L[i, t] * x[i]


@kernel
def _take_off_before(r, p, possible, L, B, A, d):
    """What eliminating block r − 1, of factor L, leaves of block r and of its right side."""
    k = A.shape[0]
    for i in range(k):
        for j in range(k):
            B[i, j] = 1.0 if _coupled(r, i, j, p, possible) else 0.0
        _forward(L, B[i])
        for j in range(i + 1):
            A[i, j] -= _inner(B[i], B[j], k)
        d[r, i] -= _inner(B[i], d[r - 1], k)


@kernel
def _newton_step(p, possible, g, ridge, factors, B, d):
    """d = −(H + ridge)⁻¹ g, by elimination of c, a_0, b_0, … in this order, and back."""
    last, k = len(factors), d.shape[1]
    first = possible[0].astype(np.float64)
    total = ridge + first.sum()
    d[:] = -g
    d[0] -= first * (d[last, 0] / total)
    for r in range(last):
        A = factors[r]
        _diagonal_block(r, p, possible, ridge, A)
        for i in range(k if r == 0 else 0):
            for j in range(k):
                A[i, j] -= first[i] * first[j] / total
        if r > 0:
            _take_off_before(r, p, possible, factors[r - 1], B, A, d)
        _factor(A)
        _forward(A, d[r])
    for r in range(last - 1, -1, -1):
        _backward(factors[r], d[r])
        for i in range(k if r > 0 else 0):
            B[0, i] = 0.0
            for j in range(k):
                B[0, i] += d[r, j] if _coupled(r, j, i, p, possible) else 0.0
        if r > 0:
            _forward(factors[r - 1], B[0])
            d[r - 1] -= B[0]
    d[last, 0] = (d[last, 0] - _inner(first, d[0], k)) / total


@kernel
def _centred(unary, pair):
    """Scores less the largest of each position and step, which moves no projection."""
    M, k = unary.shape
    singles, steps = np.empty((M, k)), np.empty((M - 1, k, k))
    for m in range(M):
        singles[m] = unary[m] - unary[m].max()
    for m in range(M - 1):
        step = pair[m if pair.shape[0] > 1 else 0]
        steps[m] = step - step.max()
    return singles, steps


@kernel
def _search(singles, steps, possible, x, d, slope, value, u, p):
    """Move x along d, as far as the function falls; returns its value there."""
    length, new = 1.0, value
    for _ in range(MOST_HALVINGS):
        new = _means(singles, steps, possible, x + length * d, u, p)
        if new <= value + 1e-4 * length * slope + ROUNDING * (1.0 + abs(value)):
            break
        length *= 0.5
    x += length * d
    return new


@kernel
def nearest_marginals(unary: Floats, pair: Floats, u: Floats, p: Floats) -> float:
    """Write the means u (M, k) and p (M − 1, k, k) nearest to the scores of a chain, M ≥ 2.

    ``pair`` is (1, k, k) or one matrix per step; scores may be −∞ where some sequence is possible.
    Returns what the constraints are violated by at the most, over the size of the scores where they
    are large: rounding, unless `MOST_STEPS` did not do.
    """
    M, k = unary.shape
    singles, steps = _centred(unary, pair)
    possible = singles > -np.inf
    size = 1.0
    for score in singles.flat:
        size = max(size, -score) if score > -np.inf else size
    for score in steps.flat:
        size = max(size, -score) if score > -np.inf else size
    x, g, d = np.zeros((2 * M - 1, k)), np.empty((2 * M - 1, k)), np.empty((2 * M - 1, k))
    factors, B = np.empty((2 * M - 2, k, k)), np.empty((k, k))
    x[2 * M - 2, 0] = -1.0 / k
    value = _means(singles, steps, possible, x, u, p)
    violated = _gradient(u, p, g)
    for _ in range(MOST_STEPS):
        if violated <= BALANCED * size:
            break
        ridge = min(max(RIDGE * violated, LEAST_RIDGE), LARGEST_RIDGE)
        _newton_step(p, possible, g, ridge, factors, B, d)
        slope = (g * d).sum()
        value = _search(singles, steps, possible, x, d, slope, value, u, p)
        violated = _gradient(u, p, g)
    return violated / size


@kernel
def _fullest(row):
    """Place of the largest entry."""
    best = 0
    for i in range(1, len(row)):
        if row[i] > row[best]:
            best = i
    return best


@kernel
def decompose(u: Floats, p: Floats, labels: Ints, weights: Floats) -> int:
    """Write label sequences and weights whose mean has the steps p; returns how many.

    Each takes a path through the steps, by the fullest step that leaves a label, as often as the
    emptiest of them allows: with it one step at least is used up. p is used up; ``labels`` (room,
    M) and ``weights`` (room,) must have a row for every step with a share, and one for every label.
    """
    M, left, n = len(u), 1.0, 0
    first = u[0].copy()
    while n < len(weights) and left > 1e-15:
        labels[n, 0] = _fullest(first)
        share = first[labels[n, 0]]
        for m in range(M - 1):
            labels[n, m + 1] = _fullest(p[m, labels[n, m]])
            share = min(share, p[m, labels[n, m], labels[n, m + 1]])
        if share <= 0.0:
            break
        first[labels[n, 0]] -= share
        for m in range(M - 1):
            p[m, labels[n, m], labels[n, m + 1]] -= share
        weights[n] = share
        left, n = left - share, n + 1
    weights[:n] /= weights[:n].sum()
    return n
