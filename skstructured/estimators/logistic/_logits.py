"""The improper prediction: logits z with ``z = g − A softmax(z)``."""

import math

from skstructured._engine.compiled import kernel
from skstructured.spaces.simplex import softmax_into

#: Newton steps, and halvings of one, at most.
MOST_STEPS, MOST_HALVINGS = 100, 60

#: Residuals of z, in units of the numbers it is made of, that are none.
RESIDUAL = 1e-15

#: Differences of the objective, in the same units, that rounding may hide.
HIDDEN = 1e-14

#: Scores of this size need no fraction of them first; what is left of a residual there is enough.
WIDE, ROUGH = 20.0, 1e-3


@kernel
def _shifted(A, g, cold, q, z):
    """z = cold (g − A q); returns cold ½<q, Aq>."""
    energy = 0.0
    for k in range(g.shape[0]):
        total = 0.0
        for j in range(g.shape[0]):
            total += A[k, j] * q[j]
        z[k] = cold * (g[k] - total)
        energy += q[k] * total
    return 0.5 * cold * energy


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
        if M[c, c] == 0.0:  # an identity was added that rounding has lost
            M[c, c] = 1.0
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
def _newton_system(A, cold, s, q, M):
    """M = (I + cold H A | s − q) with H = diag s − ssᵀ."""
    K = s.shape[0]
    for j in range(K):
        mean = 0.0
        for k in range(K):
            mean += s[k] * A[k, j]
        for k in range(K):
            M[k, j] = cold * s[k] * (A[k, j] - mean) + (1.0 if k == j else 0.0)
    for k in range(K):
        M[k, K] = s[k] - q[k]


@kernel
def _residual(A, s, q):
    """Largest entry of A(s − q): what q is off, as seen in z."""
    worst = 0.0
    for k in range(s.shape[0]):
        off = 0.0
        for j in range(s.shape[0]):
            off += A[k, j] * (s[j] - q[j])
        worst = max(worst, abs(off))
    return worst


@kernel
def _start(A, g, q):
    """A first q, all equal; the unit that residuals are measured in, 1 + max |g| + max A."""
    widest, largest = 0.0, 1.0
    for k in range(g.shape[0]):
        q[k] = 1.0 / g.shape[0]
        widest, largest = max(widest, A[k, k]), max(largest, 1.0 + abs(g[k]))
    return largest + widest


@kernel
def _descend(A, g, cold, value, residual, unit, vectors, M):
    """Take the Newton step in M, halved until it goes down; whether it does at any length.

    Down from `value`, or where rounding hides that, from `residual`.
    """
    z, s, q, trial, step = vectors[1], vectors[2], vectors[3], vectors[4], 1.0
    for _ in range(MOST_HALVINGS):
        for k in range(g.shape[0]):
            trial[k] = q[k] + step * M[k, g.shape[0]]
        energy = _shifted(A, g, cold, trial, z)
        top, rest = softmax_into(z, s)
        rise = energy + top + rest - value
        hidden = rise <= HIDDEN * cold * unit
        if rise < 0.0 or (hidden and _residual(A, s, trial) < residual):
            for k in range(g.shape[0]):
                q[k] = trial[k]
            return True
        step *= 0.5
    return False


@kernel
def _settle(A, g, cold, enough, unit, vectors, M):
    """Newton's method from q, for A and g times `cold`; the residual that is left."""
    z, s, q, residual, steps = vectors[1], vectors[2], vectors[3], 0.0, 0
    while True:
        energy = _shifted(A, g, cold, q, z)
        top, rest = softmax_into(z, s)
        residual = _residual(A, s, q)
        if residual <= enough or steps >= MOST_STEPS:
            return residual
        _newton_system(A, cold, s, q, M)
        _eliminate(M, g.shape[0])
        goes_down = _descend(A, g, cold, energy + top + rest, residual, unit, vectors, M)
        steps = steps + 1 if goes_down else MOST_STEPS  # once more, for z and s at q


@kernel
def improper_logits(A, vectors, M):
    """z with ``z = g − A s``, ``s = softmax(z)``, for A ⪰ 0; the residual that is left.

    The rows of `vectors` are g, which is read, z and s, which are written, and scratch. The
    function ``½qᵀAq + log Σ exp(g − Aq)_k`` is minimised over q by Newton's method, whose steps
    ``(I + HA)⁻¹(softmax(g − Aq) − q)`` need no inverse of A, which is singular for a row of zeros.
    Where A is large, shares are 0 or 1 nearly everywhere, and steps are lost: then A and g are
    first taken at a fraction of their size, which is brought up to 1.
    """
    g, q = vectors[0], vectors[3]
    unit = _start(A, g, q)
    cold = min(1.0, WIDE / max(unit, 1e-300))
    while True:
        last = not 0.0 < cold < 1.0  # 0 where A or g are not finite
        cold = 1.0 if last else cold
        left = _settle(A, g, cold, (RESIDUAL if last else ROUGH) * unit, unit, vectors, M)
        if last:
            return left / unit
        cold = min(1.0, 8.0 * cold)


@kernel
def root_of_hessian(h, M, r):
    """M (r, r) lower triangular with ``M Mᵀ = h ⪰ 0``; columns without a pivot are zero."""
    for i in range(r):
        for j in range(r):
            M[i, j] = 0.0
    for c in range(r):
        pivot = h[c, c]
        for m in range(c):
            pivot -= M[c, m] * M[c, m]
        if not pivot > 1e-15 * h[c, c]:
            continue
        M[c, c] = math.sqrt(pivot)
        for i in range(c + 1, r):
            total = h[i, c]
            for m in range(c):
                total -= M[i, m] * M[c, m]
            M[i, c] = total / M[c, c]
