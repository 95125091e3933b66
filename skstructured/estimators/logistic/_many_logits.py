"""The improper prediction for many classes, with about K² products in place of K³.

As `improper_logits`; the Newton step is found by conjugate gradients, or, where A is diagonal, in
closed form.
"""

from skstructured._engine.compiled import FASTMATH, kernel
from skstructured.spaces.simplex import softmax_into

#: Newton steps, halvings of one, and conjugate gradients a class and beyond, at most.
MOST_STEPS, MOST_HALVINGS, MOST_INNER = 100, 60, (2, 20)

#: As in `_logits`: residuals that are none, what rounding may hide, and where fractions begin.
RESIDUAL, HIDDEN, WIDE, ROUGH = 1e-15, 1e-14, 20.0, 1e-3

#: A step is solved to this share of what it starts from, or to the share of the residual in its
#: unit where that is less; and never better than to the last.
LOOSE, TIGHT = 1e-2, 1e-12

#: Rows of the work space, below those of `vectors`: q, Aq, the step u, Au, and of its equations the
#: residual r, Ar, a direction d, Ad, and (I + HA)d.
Q_NOW, A_Q, STEP, A_STEP, REST, A_REST, WAY, A_WAY, IMAGE = range(9)


@kernel(fastmath=FASTMATH)
def _times(A, v, out):
    """Out = Av; a diagonal A has one row. Returns <v, Av>."""
    total = 0.0
    if A.shape[0] == 1:
        for k in range(v.shape[0]):
            out[k] = A[0, k] * v[k]
            total += out[k] * v[k]
        return total
    for k in range(v.shape[0]):
        row, inner = A[k], 0.0
        for j in range(v.shape[0]):
            inner += row[j] * v[j]
        out[k] = inner
        total += inner * v[k]
    return total


@kernel
def _diagonal_step(A, cold, s, work):
    """U = (I + cold H A)⁻¹r for a diagonal A, by the formula of Sherman and Morrison."""
    u, r, above, below = work[STEP], work[REST], 0.0, 0.0
    for k in range(s.shape[0]):
        whole = 1.0 + cold * s[k] * A[0, k]
        u[k] = r[k] / whole
        above += s[k] * A[0, k] * u[k]
        below += s[k] / whole
    for k in range(s.shape[0]):
        u[k] += cold * s[k] * (above / below) / (1.0 + cold * s[k] * A[0, k])


@kernel
def _gradient_step(A, cold, s, enough, work):
    """U = (I + cold H A)⁻¹r by conjugate gradients, to `enough` of the norm of r, in that of A.

    I + HA is symmetric and positive in the inner product <·, A·>, whatever A ⪰ 0; every u on the
    way is a direction in which the objective goes down.
    """
    u, Au, r, Ar = work[STEP], work[A_STEP], work[REST], work[A_REST]
    d, Ad, image, K = work[WAY], work[A_WAY], work[IMAGE], s.shape[0]
    size = 0.0
    for k in range(K):
        u[k], Au[k], d[k], Ad[k] = 0.0, 0.0, r[k], Ar[k]
        size += r[k] * Ar[k]
    start = size
    for _ in range(MOST_INNER[0] * K + MOST_INNER[1]):
        mean, curved = 0.0, 0.0
        for k in range(K):
            mean += s[k] * Ad[k]
        for k in range(K):
            image[k] = d[k] + cold * s[k] * (Ad[k] - mean)
            curved += image[k] * Ad[k]
        if not (size > 0.0 and curved > 0.0):  # a direction that A knows nothing of, or no number
            break
        length = size / curved
        for k in range(K):
            u[k] += length * d[k]
            Au[k] += length * Ad[k]
            r[k] -= length * image[k]
        before, size = size, _times(A, r, Ar)
        if not size > enough * enough * start:
            break
        for k in range(K):
            d[k] = r[k] + size / before * d[k]
            Ad[k] = Ar[k] + size / before * Ad[k]


@kernel
def _shifted(A, g, cold, q, Aq, z):
    """Aq, and z = cold (g − Aq); returns cold ½<q, Aq>."""
    energy = _times(A, q, Aq)
    for k in range(g.shape[0]):
        z[k] = cold * (g[k] - Aq[k])
    return 0.5 * cold * energy


@kernel
def _residual(A, s, work):
    """R = s − q and Ar; the largest entry of Ar: what q is off, as seen in z."""
    worst = 0.0
    for k in range(s.shape[0]):
        work[REST, k] = s[k] - work[Q_NOW, k]
    _times(A, work[REST], work[A_REST])
    for k in range(s.shape[0]):
        worst = max(worst, abs(work[A_REST, k]))
    return worst


@kernel
def _descend(A, g, cold, value, residual, unit, z, s, work):
    """Add the step to q, halved until it goes down; whether it does at any length.

    Down from `value`, or where rounding hides that, from `residual`. A step that fails leaves q.
    """
    q, u, length, K = work[Q_NOW], work[STEP], 1.0, g.shape[0]
    for k in range(K):
        work[WAY, k] = q[k]
    for _ in range(MOST_HALVINGS):
        for k in range(K):
            q[k] = work[WAY, k] + length * u[k]
        energy = _shifted(A, g, cold, q, work[A_Q], z)
        top, rest = softmax_into(z, s)
        rise = energy + top + rest - value
        hidden = rise <= HIDDEN * cold * unit
        if rise < 0.0 or (hidden and _residual(A, s, work) < residual):
            return True
        length *= 0.5
    for k in range(K):
        q[k] = work[WAY, k]
    return False


@kernel
def _settle(A, g, cold, enough, unit, z, s, work):
    """Newton's method from q, for A and g times `cold`; the residual that is left."""
    residual = 0.0
    for _ in range(MOST_STEPS):
        energy = _shifted(A, g, cold, work[Q_NOW], work[A_Q], z)
        top, rest = softmax_into(z, s)
        residual = _residual(A, s, work)
        if residual <= enough:
            break
        if A.shape[0] == 1:
            _diagonal_step(A, cold, s, work)
        else:
            _gradient_step(A, cold, s, max(TIGHT, min(LOOSE, residual / unit)), work)
        if not _descend(A, g, cold, energy + top + rest, residual, unit, z, s, work):
            _shifted(A, g, cold, work[Q_NOW], work[A_Q], z)
            softmax_into(z, s)
            break
    return residual


@kernel
def logits_of_many(A, g, z, s, work):
    """z with ``z = g − A s``, ``s = softmax(z)``, for A ⪰ 0; the residual that is left.

    A diagonal A is given as its one row; `work` has `WORK` rows of K numbers. The function that is
    minimised, and the way there, are those of `improper_logits`.
    """
    widest, largest = 0.0, 1.0
    for k in range(g.shape[0]):
        work[Q_NOW, k] = 1.0 / g.shape[0]
        widest = max(widest, A[0, k] if A.shape[0] == 1 else A[k, k])
        largest = max(largest, 1.0 + abs(g[k]))
    unit = largest + widest
    cold = min(1.0, WIDE / max(unit, 1e-300))
    while 0.0 < cold < 1.0:  # 0 where A or g are not finite
        _settle(A, g, cold, ROUGH * unit, unit, z, s, work)
        cold = min(1.0, 8.0 * cold)
    return _settle(A, g, 1.0, RESIDUAL * unit, unit, z, s, work) / unit


#: Rows of the work space.
WORK = 9
