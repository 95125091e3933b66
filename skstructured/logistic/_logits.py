"""The improper prediction: logits z with ``z = g − A softmax(z)``."""

import math

from skstructured._engine.compiled import kernel
from skstructured.spaces.simplex import softmax_into

#: Newton steps, and halvings of one, at most.
MOST_STEPS, MOST_HALVINGS = 100, 60

#: Residuals of z, in units of its largest entry and 1, that are none.
RESIDUAL = 4e-15


@kernel
def _shifted(A, g, q, z):
    """z = g − A q; returns ½<q, Aq>."""
    energy = 0.0
    for k in range(g.shape[0]):
        total = 0.0
        for j in range(g.shape[0]):
            total += A[k, j] * q[j]
        z[k] = g[k] - total
        energy += q[k] * total
    return 0.5 * energy


@kernel
def _eliminate(M, K):
    """Solve the K linear equations M[:, :K] u = M[:, K] in place, with row pivots."""
    for c in range(K):
        best = c
        for i in range(c + 1, K):
            if abs(M[i, c]) > abs(M[best, c]):
                best = i
        for j in range(c, K + 1):
            M[c, j], M[best, j] = M[best, j], M[c, j]
        for i in range(c + 1, K):
            f = M[i, c] / M[c, c]
            if f != 0.0:
                for j in range(c, K + 1):
                    M[i, j] -= f * M[c, j]
    for c in range(K - 1, -1, -1):
        for j in range(c + 1, K):
            M[c, K] -= M[c, j] * M[j, K]
        M[c, K] /= M[c, c]


@kernel
def _newton_system(A, s, q, M):
    """M = (I + H A | s − q) with H = diag s − ssᵀ."""
    K = s.shape[0]
    for j in range(K):
        mean = 0.0
        for k in range(K):
            mean += s[k] * A[k, j]
        for k in range(K):
            M[k, j] = s[k] * (A[k, j] - mean) + (1.0 if k == j else 0.0)
    for k in range(K):
        M[k, K] = s[k] - q[k]


@kernel
def _residual(A, s, q, z):
    """Largest entry of A(s − q) over 1 + that of z: what q is off, as seen in z."""
    worst, largest = 0.0, 1.0
    for k in range(z.shape[0]):
        off = 0.0
        for j in range(z.shape[0]):
            off += A[k, j] * (s[j] - q[j])
        worst, largest = max(worst, abs(off)), max(largest, abs(z[k]))
    return worst / largest


@kernel
def _start(A, g, q, trial):
    """A first q: the shares of scores that A, where it is large, keeps near each other."""
    widest = 0.0
    for k in range(g.shape[0]):
        widest = max(widest, A[k, k])
    for k in range(g.shape[0]):
        trial[k] = g[k] / (1.0 + widest)
    softmax_into(trial, q)


@kernel
def _descend(A, g, value, vectors, M):
    """Take the Newton step in M, halved until the objective is no larger than `value`."""
    z, s, q, trial = vectors[1], vectors[2], vectors[3], vectors[4]
    step = 1.0
    for _ in range(MOST_HALVINGS):
        for k in range(g.shape[0]):
            trial[k] = q[k] + step * M[k, g.shape[0]]
        energy = _shifted(A, g, trial, z)
        top, rest = softmax_into(z, s)
        if energy + top + rest <= value + 1e-15 * abs(value):
            break
        step *= 0.5
    for k in range(g.shape[0]):
        q[k] = trial[k]


@kernel
def improper_logits(A, vectors, M):
    """z with ``z = g − A s``, ``s = softmax(z)``, for A ⪰ 0; the residual that is left.

    The rows of `vectors` are g, which is read, z and s, which are written, and scratch. The
    function ``½qᵀAq + log Σ exp(g − Aq)_k`` is minimised over q by Newton's method, whose steps
    ``(I + HA)⁻¹(softmax(g − Aq) − q)`` need no inverse of A, which is singular for a row of zeros;
    a step that does not make it smaller is halved.
    """
    g, z, s, q, residual = vectors[0], vectors[1], vectors[2], vectors[3], 0.0
    _start(A, g, q, vectors[4])
    for _ in range(MOST_STEPS):
        energy = _shifted(A, g, q, z)
        top, rest = softmax_into(z, s)
        residual = _residual(A, s, q, z)
        if residual <= RESIDUAL:
            break
        _newton_system(A, s, q, M)
        _eliminate(M, g.shape[0])
        _descend(A, g, energy + top + rest, vectors, M)
    _shifted(A, g, s, z)
    softmax_into(z, s)
    return residual


@kernel
def root_of_hessian(h, M):
    """M lower triangular with ``M Mᵀ = h ⪰ 0``; columns without a pivot are zero."""
    for i in range(h.shape[0]):
        for j in range(h.shape[0]):
            M[i, j] = 0.0
    for c in range(h.shape[0]):
        pivot = h[c, c]
        for m in range(c):
            pivot -= M[c, m] * M[c, m]
        if not pivot > 1e-15 * h[c, c]:
            continue
        M[c, c] = math.sqrt(pivot)
        for i in range(c + 1, h.shape[0]):
            total = h[i, c]
            for m in range(c):
                total -= M[i, m] * M[c, m]
            M[i, c] = total / M[c, c]


@kernel
def solve_lower(T, f):
    """F ← T⁻¹f for T lower triangular."""
    for c in range(f.shape[0]):
        for m in range(c):
            f[c] -= T[c, m] * f[m]
        f[c] /= T[c, c]
