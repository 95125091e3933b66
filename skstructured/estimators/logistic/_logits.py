"""The improper prediction: logits z with ``z = g − A softmax(z)``, in about K² products.

Newton steps are found by conjugate gradients, or in closed form if A is diagonal.
"""

from enum import IntEnum

from skstructured._engine.compiled import FASTMATH, kernel, plain_integers
from skstructured._engine.state import copy_into
from skstructured.spaces.simplex import softmax_into

#: Rows of the work space: q, the step, and of its equations the residual, a direction and its image
#: by I + HA; the products with A; and how many they are.
LogitsWork = plain_integers(
    IntEnum(
        "LogitsWork", "Q A_Q STEP RESIDUAL A_RESIDUAL DIRECTION A_DIRECTION IMAGE N_ROWS", start=0
    )
)


@kernel(fastmath=FASTMATH)
def _times(A, v, out):
    """Out = Av; a diagonal A is its vector. Returns <v, Av>."""
    total = 0.0
    if A.ndim == 1:
        for k in range(v.shape[0]):
            out[k] = A[k] * v[k]
            total += out[k] * v[k]
        return total
    for k in range(v.shape[0]):
        inner = 0.0
        for j in range(v.shape[0]):
            inner += A[k, j] * v[j]
        out[k] = inner
        total += inner * v[k]
    return total


@kernel(inline=True)
def _diagonal_step(A, cold, s, work):
    """U = (I + cold H A)⁻¹r for a diagonal A, by the formula of Sherman and Morrison."""
    u, r, above, below = work[LogitsWork.STEP], work[LogitsWork.RESIDUAL], 0.0, 0.0
    for k in range(s.shape[0]):
        whole = 1.0 + cold * s[k] * A[k]
        u[k] = r[k] / whole
        above += s[k] * A[k] * u[k]
        below += s[k] / whole
    for k in range(s.shape[0]):
        u[k] += cold * s[k] * (above / below) / (1.0 + cold * s[k] * A[k])


@kernel(inline=True)
def _gradient_step(A, cold, s, enough, work):
    """U = (I + cold H A)⁻¹r by conjugate gradients, to `enough` of the norm of r, in that of A.

    I + HA is symmetric and positive in the inner product <·, A·>, whatever A ⪰ 0; every u on the
    way is a direction in which the objective goes down.
    """
    u, r, Ar = work[LogitsWork.STEP], work[LogitsWork.RESIDUAL], work[LogitsWork.A_RESIDUAL]
    d, Ad = work[LogitsWork.DIRECTION], work[LogitsWork.A_DIRECTION]
    image, K, size = work[LogitsWork.IMAGE], s.shape[0], 0.0
    for k in range(K):
        u[k], d[k], Ad[k] = 0.0, r[k], Ar[k]
        size += r[k] * Ar[k]
    start = size
    for _ in range(2 * K + 20):
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
            r[k] -= length * image[k]
        previous_size, size = size, _times(A, r, Ar)
        if not size > enough * enough * start:
            break
        for k in range(K):
            d[k] = r[k] + size / previous_size * d[k]
            Ad[k] = Ar[k] + size / previous_size * Ad[k]


@kernel
def _value(A, g, cold, z, s, work):
    """The objective at q, for A and g times `cold`; Aq, z = cold (g − Aq) and s = softmax(z)."""
    Aq = work[LogitsWork.A_Q]
    energy = _times(A, work[LogitsWork.Q], Aq)
    for k in range(g.shape[0]):
        z[k] = cold * (g[k] - Aq[k])
    top, log_sum = softmax_into(z, s)
    return 0.5 * cold * energy + top + log_sum


@kernel
def logits_residual(A, s, work):
    """R = s − q and Ar; the largest entry of Ar: what q is off, as seen in z."""
    q, r, Ar = work[LogitsWork.Q], work[LogitsWork.RESIDUAL], work[LogitsWork.A_RESIDUAL]
    worst = 0.0
    for k in range(s.shape[0]):
        r[k] = s[k] - q[k]
    _times(A, r, Ar)
    for k in range(s.shape[0]):
        worst = max(worst, abs(Ar[k]))
    return worst


@kernel(inline=True)
def _descend(A, g, cold, value, residual, unit, z, s, work):
    """Add the step to q, halved until it goes down; the objective there, and whether it does.

    Down from `value`, or if rounding hides that, from `residual`. A step that fails leaves q.
    """
    q, u, previous_q = work[LogitsWork.Q], work[LogitsWork.STEP], work[LogitsWork.DIRECTION]
    length, K = 1.0, g.shape[0]
    copy_into(previous_q, q)
    for _ in range(60):
        for k in range(K):
            q[k] = previous_q[k] + length * u[k]
        new = _value(A, g, cold, z, s, work)
        is_hidden = new - value <= 1e-14 * cold * unit
        if new < value or (is_hidden and logits_residual(A, s, work) < residual):
            return new, True
        length *= 0.5
    copy_into(q, previous_q)
    return _value(A, g, cold, z, s, work), False


@kernel
def _settle(A, g, cold, enough, unit, z, s, work):
    """Newton's method from q, for A and g times `cold`; the residual that is left.

    A singular A does not change a part of s − q, in which digits of the rest are lost. If that is
    why no step is found, s replaces q, once: it does not have that part.
    """
    value, goes_down, lost = _value(A, g, cold, z, s, work), True, False
    max_steps = 100
    for step in range(max_steps + 1):
        residual = logits_residual(A, s, work)
        if not (goes_down or lost or work[LogitsWork.STEP].any()):
            lost = True
            copy_into(work[LogitsWork.Q], s)
            value, goes_down = _value(A, g, cold, z, s, work), True
            residual = logits_residual(A, s, work)
        if residual <= enough or not goes_down or step == max_steps:
            break
        if A.ndim == 1:
            _diagonal_step(A, cold, s, work)
        else:
            _gradient_step(A, cold, s, max(1e-12, min(1e-2, residual / unit)), work)
        value, goes_down = _descend(A, g, cold, value, residual, unit, z, s, work)
    return residual


@kernel
def improper_logits(A, g, z, s, work):
    """z with ``z = g − A s``, ``s = softmax(z)``, for A ⪰ 0; the residual that is left.

    A diagonal A is given as its vector; `work` has the rows of `LogitsWork`. The function
    ``½qᵀAq + log Σ exp(g − Aq)_k`` is minimized over q by Newton's method, whose steps
    ``(I + HA)⁻¹(softmax(g − Aq) − q)`` need no inverse of A, which is singular for a row of zeros.
    If A is large, shares are nearly always 0 or 1, and steps are lost: then A and g are first
    multiplied by a fraction, which is increased to 1.
    """
    widest, largest = 0.0, 1.0
    for k in range(g.shape[0]):
        work[LogitsWork.Q, k] = 1.0 / g.shape[0]
        widest = max(widest, A[k] if A.ndim == 1 else A[k, k])
        largest = max(largest, 1.0 + abs(g[k]))
    unit = largest + widest
    cold = 20.0 / max(unit, 1e-300)  # scores of this size need no fraction of them first
    while True:
        if not 0.0 < cold < 1.0:  # 0 where A or g are not finite
            cold = 1.0
        enough = unit * (1e-15 if cold == 1.0 else 1e-3)
        left = _settle(A, g, cold, enough, unit, z, s, work)
        if cold == 1.0:
            return left / unit
        cold *= 8.0
