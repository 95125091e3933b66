"""Rounds of FOLKLORE, and of other learners that keep the inverse of a sum of Hessians.

``A = λI + Σ κ h ⊗ xxᵀ`` with ``h ⪯ diag s − ssᵀ``, which is 0 in the direction (1, …, 1) of the
classes. With an orthonormal basis Q (r, K) of the others, r = K − 1, A over them is
``λI + Σ κ (Q h Qᵀ) ⊗ xxᵀ``, and λI in the direction left out.

The prediction is improper: logits z with ``z = g − A softmax(z)``, in about K² products. Newton
steps for it are found by conjugate gradients, or in closed form if A is diagonal.

The basis is Helmert's, row i of it c_i (1, …, 1, −(i + 1), 0, …). So products with it are sums, and
take K² instead of K³.
"""

import math
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from skstructured._engine.compiled import FASTMATH, kernel, plain_integers
from skstructured._engine.state import clear, copy_into, inner
from skstructured._learners.second_order import rank_one
from skstructured.estimators.logistic._base import (
    MAX_WAITING_ROWS,
    SecondOrderNumbers,
    add_outer_products,
    downdate,
    multiply_panels,
    wait,
)
from skstructured.spaces.simplex import softmax_into

#: Steps of `CURVATURE_TABLE` per unit of ln(1 + a).
CURVATURE_STEPS = 128


def _ratio(t, a):
    """``Var/KL`` of two laws of two values, with logits t and −a; p, t + a and KL."""
    p, apart = 1.0 / (1.0 + np.exp(-t)), t + a
    distance = np.log1p(p * np.expm1(-apart)) + p * apart
    with np.errstate(invalid="ignore"):  # 0/0 for a = 0
        return p * (1.0 - p) * apart**2 / distance, p, apart, distance


def _best_ratio(a):
    """The logits t of the largest `_ratio`, by golden section."""
    low, high = -np.minimum(a, 3.0 + np.log1p(a)), np.zeros(len(a))
    share = (math.sqrt(5.0) - 1.0) / 2.0
    for _ in range(60):
        left, right = high - share * (high - low), low + share * (high - low)
        falls = _ratio(left, a)[0] > _ratio(right, a)[0]
        low, high = np.where(falls, low, left), np.where(falls, right, high)
    return 0.5 * (low + high)


def _table(last):
    """``2 + a − f(a)`` and its derivative in ln(1 + a), times the step, at nodes (last + 1, 2)."""
    a = np.expm1(np.arange(1, last + 1, dtype=np.longdouble) / CURVATURE_STEPS)
    value, p, apart, distance = _ratio(_best_ratio(a.astype(np.float64)), a)
    q = np.exp(-a) / (1.0 + np.exp(-a))
    slope = value * (2.0 / apart - (p - q) / distance)  # the best t moves no value
    table = np.zeros((last + 1, 2))
    table[0, 1] = 1.0 / CURVATURE_STEPS
    table[1:, 0], table[1:, 1] = 2.0 + a - value, (1.0 - slope) * (1.0 + a) / CURVATURE_STEPS
    return table


CURVATURE_TABLE = _table(16 * CURVATURE_STEPS)


@kernel(inline=True)
def largest_curvature(a):
    r"""κ = 1/f(a), the largest with ``KL(s‖s') ≥ κ Var_s(ln s/s')`` for ``a = 2c + ln(K − 1)``.

    Here s is any law of K values, and s' the softmax of logits in [−c, c]. With q of logit −a,

    .. math:: f = \max_p p(1-p) (\mathrm{logit}\,p - \mathrm{logit}\,q)^2 / KL(p‖q),

    which grows with a from 2, and is at most 2 + a. It is interpolated by cubics in ln(1 + a);
    beyond the table it is taken to be 2 + a.
    """
    place, table = CURVATURE_STEPS * math.log1p(a), CURVATURE_TABLE
    if not place < table.shape[0] - 1:
        return 1.0 / (2.0 + a)
    node = int(place)
    u = place - node
    v = 1.0 - u
    below = (1.0 + 2.0 * u) * v * v * table[node, 0] + u * v * v * table[node, 1]
    above = (3.0 - 2.0 * u) * u * u * table[node + 1, 0] - u * u * v * table[node + 1, 1]
    return (1.0 - 5e-11) / (2.0 + a - below - above)  # interpolation is off by 2e-11


def reach_of(K, B, R=0.0):
    """(2B, ln(K − 1), R), from which `curvature` computes κ."""
    return np.array([2.0 * B, math.log(K - 1), R])


@kernel(inline=True)
def curvature(x, reach):
    """κ of a row, for the `reach_of` K, B and R; R, if it is not 0, replaces ‖x‖."""
    norm = reach[2] if reach[2] > 0.0 else math.sqrt(inner(x, x))
    return largest_curvature(reach[0] * norm + reach[1])


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


class Scratch(NamedTuple):
    """Scratch arrays of a round: products with P, small matrices, and vectors of classes."""

    V: Any  # (r, r p)
    L: Any  # rows that P is downdated by
    S: Any  # (r, r), and so the next four
    hessian: Any
    root: Any
    factor: Any
    triangle: Any
    A: Any  # (K, K)
    score: Any  # (K,), and so the next five
    logit: Any
    share: Any
    mass: Any
    center: Any
    target: Any
    cell: Any
    work: Any  # of the equations for logits
    sums: Any
    scaled: Any  # rows that are added to A


@kernel
def new_scratch(r, K, p):
    """A `Scratch` for r class directions, K classes and p features."""
    V, L = np.empty((r, r * p)), np.empty((r + 2, r * p))
    small, vectors = np.empty((5, r, r)), np.empty((6, K))
    return Scratch(
        V, L, small[0], small[1], small[2], small[3], small[4], np.empty((K, K)),
        vectors[0], vectors[1], vectors[2], vectors[3], vectors[4], vectors[5],
        np.empty(K, dtype=np.int64), np.empty((LogitsWork.N_ROWS, K)), np.empty(r),
        np.empty((MAX_WAITING_ROWS, r * p)),
    )  # fmt: skip


@kernel(inline=True)
def _over_classes(Q, S, A, sums):
    """A = QᵀSQ."""
    r = Q.shape[0]
    clear(sums)
    for k in range(r, -1, -1):  # rows: A[k, :r] = (QᵀS)_k, sums those of c_i S_i for i ≥ k
        for j in range(r):
            if k < r:
                sums[j] += Q[k, 0] * S[k, j]
            A[k, j] = sums[j]
            if k > 0:
                A[k, j] -= k * Q[k - 1, 0] * S[k - 1, j]
    for k in range(r + 1):
        total = 0.0
        for m in range(r, 0, -1):  # entry m is made of entry m − 1, and of those behind
            here = Q[m - 1, 0] * A[k, m - 1]
            A[k, m] = total - m * here
            total += here
        A[k, 0] = total


@kernel(inline=True)
def class_scores(P, G, Q, x, w, space):
    """Ã = ½w QᵀSQ and g̃ = −½<x, A⁻¹G> + ½ diag Ã over the K classes, in `A` and `score`."""
    r, flat, V, A, g = Q.shape[0], G.reshape(G.size), space.V, space.A, space.score
    multiply_panels(P, x, V, space.S)
    _over_classes(Q, space.S, A, space.sums)
    for k in range(r + 1):
        for m in range(k):
            A[k, m] = 0.5 * w * A[k, m]
            A[m, k] = A[k, m]
        A[k, k] *= 0.5 * w
    tail_sum = 0.0
    for k in range(r, -1, -1):
        # g_k = −½ (Qᵀm)_k + ½ A_kk for m_i = Σ_j <V_ij, G_j>
        entry = Q[k - 1, 0] * inner(V[k - 1], flat) if k > 0 else 0.0
        g[k] = 0.5 * A[k, k] - 0.5 * (tail_sum - k * entry)
        tail_sum += entry


@kernel(inline=True)
def cells_of(s, cell, mass):
    """Classes of a share of at least 0.2/K have their own cell, the others all the last.

    ``cell[k]`` is that of class k, `mass` their shares; returns how many there are. Of fewer than
    10 classes every one of a share above 0 has its own.
    """
    K, count, pooled_mass = s.shape[0], 0, 0.0
    least = 0.2 if K >= 10 else 0.0
    for k in range(K):
        if s[k] > 0.0 and s[k] * K >= least:
            cell[k], mass[count] = count, s[k]
            count += 1
        else:
            cell[k] = K
            pooled_mass += s[k]
    last = count if pooled_mass > 0.0 else 0  # classes of no share at all count for nothing
    for k in range(K):
        if cell[k] == K:
            cell[k] = last
    if last > 0:
        mass[last] = pooled_mass
        count += 1
    return count


@kernel(inline=True)
def root_of_cells(Q, s, cell, mass, count, M):
    """M with ``MMᵀ = Q H Qᵀ``, H the covariance of the class as far as its cell shows it.

    ``H = Σ_c π_c m_c m_cᵀ − ssᵀ`` with m_c the mean of the classes of cell c, which is at most
    diag s − ssᵀ. The root of ``diag π − ππᵀ`` is in closed form (Tanabe, Sagae 1992); M has a
    column less than there are cells.
    """
    r, K = Q.shape
    for i in range(count - 1):
        tail_mass = 0.0
        for c in range(i + 1, count):
            tail_mass += mass[c]
        both = mass[i] + tail_mass
        diagonal = math.sqrt(mass[i] / both * tail_mass)
        other = -math.sqrt(mass[i] / both) / math.sqrt(tail_mass)
        for a in range(r):
            M[a, i] = 0.0
        for k in range(K):
            cell_k = cell[k]
            if cell_k < i:
                continue
            entry = (diagonal if cell_k == i else other * mass[cell_k]) * (s[k] / mass[cell_k])
            for a in range(r):
                M[a, i] += Q[a, k] * entry


@kernel(inline=True)
def means_of_cells(space):
    """The `center`: of each class the mean logit of its cell, by shares; `score` is used up."""
    s, z, inside, sums = space.share, space.logit, space.center, space.score
    cell, mass = space.cell, space.mass
    clear(sums)
    for k in range(s.shape[0]):
        if s[k] > 0.0:
            sums[cell[k]] += s[k] / mass[cell[k]] * z[k]
    for k in range(s.shape[0]):
        inside[k] = sums[cell[k]]


@kernel(inline=True)
def gram_of(M, rank, h):
    """h = MMᵀ."""
    for i in range(M.shape[0]):
        for j in range(i + 1):
            total = 0.0
            for m in range(rank):
                total += M[i, m] * M[j, m]
            h[i, j] = total
            h[j, i] = total


@kernel(inline=True)
def cholesky(h, M, r):
    """M (r, r) lower triangular with ``M Mᵀ = h ⪰ 0``; columns without a pivot are zero."""
    for i in range(r):
        clear(M[i, :r])
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


@kernel(inline=True)
def woodbury(space, factor, rank):
    """F with ``F Fᵀ = (S + (factor MMᵀ)⁻¹)⁻¹``: √factor M T⁻ᵀ, ``TTᵀ = I + factor MᵀSM``.

    M, the `root`, and so F, the `factor`, have `rank` columns.
    """
    product, M, F, T = space.S, space.root, space.factor, space.triangle
    r = M.shape[0]
    for i in range(r):
        clear(T[i, :rank])
        for j in range(r):
            for c in range(rank):
                T[i, c] += product[i, j] * M[j, c]
    for i in range(rank):
        for c in range(rank):
            F[i, c] = 1.0 if i == c else 0.0
        for j in range(r):
            for c in range(rank):
                F[i, c] += factor * M[j, i] * T[j, c]
    cholesky(F, T, rank)
    for i in range(r):
        for c in range(rank):
            total = math.sqrt(factor) * M[i, c]
            for m in range(c):
                total -= T[c, m] * F[i, m]
            F[i, c] = total / T[c, c]


@kernel(inline=True)
def move_gradient(G, Q, x, w, kappa, space):
    """G ← G + w Q(s − y − 2κHz) ⊗ x, with ``Hz = s (z̄ − sᵀz)``, z̄ the `center`."""
    s, z, y, inside = space.share, space.logit, space.target, space.center
    mean = inner(s, z)
    for i in range(Q.shape[0]):
        c = 0.0
        for k in range(Q.shape[1]):
            c += Q[i, k] * (s[k] - y[k] - 2.0 * kappa * s[k] * (inside[k] - mean))
        for a in range(x.shape[0]):
            G[i, a] += w * c * x[a]


@kernel(inline=True)
def _trace(A, s):
    """Σ_k s_k (A_kk − (As)_k) = tr(HA)."""
    total = 0.0
    for k in range(s.shape[0]):
        total += s[k] * (A[k, k] - inner(A[k], s))
    return total


@kernel
def learn_second_order_row(x, w, kappa, learned, Q, space):
    """P = A⁻¹ and G for ``A ← A + wκ h ⊗ xxᵀ``, which waits, from Ã and the shares in `space`."""
    A, P, G, waiting, factors, numbers = learned
    s, M, F, L = space.share, space.root, space.factor, space.L
    numbers[SecondOrderNumbers.POTENTIAL] += 0.5 * w * _trace(space.A, s)
    rank = cells_of(s, space.cell, space.mass) - 1
    root_of_cells(Q, s, space.cell, space.mass, rank + 1, M)
    gram_of(M, rank, space.hessian)
    woodbury(space, w * kappa, rank)
    for m in range(rank):  # L_m = Σ_j F_jm V_j
        clear(L[m])
    add_outer_products(L[:rank], 1.0, F, space.V, np.int64(0), F.shape[0])
    downdate(P, L, F.shape[0], rank)
    means_of_cells(space)
    move_gradient(G, Q, x, w, kappa, space)
    wait(x, space.hessian, w * kappa, A, waiting, factors, numbers, space.scaled)


@kernel
def folklore_rounds(X, truth, weight, learns, reach, shift, learned, Q, logits):
    """Play the rows, and learn them if it `learns`; `logits` receives every z.

    `shift` is 1/(λK): the direction that Q leaves out adds the same number to all logits.
    """
    _, P, G, _, _, numbers = learned
    space = new_scratch(Q.shape[0], Q.shape[1], X.shape[1])
    for t in range(X.shape[0]):
        x, w = X[t], weight[t]
        class_scores(P, G, Q, x, w, space)
        left = improper_logits(space.A, space.score, space.logit, space.share, space.work)
        less = 0.25 * w * shift * inner(x, x)
        for k in range(Q.shape[1]):
            logits[t, k] = space.logit[k] - less
        if learns and w > 0.0:
            residual = numbers[SecondOrderNumbers.RESIDUAL]
            numbers[SecondOrderNumbers.RESIDUAL] = max(residual, left)
            copy_into(space.target, truth[t])
            learn_second_order_row(x, w, curvature(x, reach), learned, Q, space)


@kernel
def blocks_rounds(X, truth, weight, learns, reach, learned, Q, logits):
    """FOLKLORE's rounds if blocks of different classes are taken to be 0.

    Ã is diagonal: it is a vector, and an equation for logits takes K products.
    """
    P, G, numbers = learned
    K, p = G.shape
    V, work = np.empty((K, p)), np.empty((LogitsWork.N_ROWS, K))
    q, scores, g, z, s = np.empty(K), np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    for t in range(X.shape[0]):
        x, w = X[t], weight[t]
        for k in range(K):
            for a in range(p):
                V[k, a] = inner(P[k, a], x)
            q[k] = inner(V[k], x)
            scores[k] = 0.5 * w * q[k]
            g[k] = 0.5 * scores[k] - 0.5 * inner(V[k], G[k])
        left = improper_logits(scores, g, z, s, work)
        copy_into(logits[t], z)
        if not (learns and w > 0.0):
            continue
        residual = numbers[SecondOrderNumbers.RESIDUAL]
        numbers[SecondOrderNumbers.RESIDUAL] = max(residual, left)
        kappa, mean = curvature(x, reach), inner(s, z)
        for k in range(K):
            grown = w * kappa * s[k] * (1.0 - s[k])
            rank_one(P[k], -grown / (1.0 + grown * q[k]), V[k])
            c = s[k] - truth[t, k] - 2.0 * kappa * s[k] * (z[k] - mean)
            for a in range(p):
                G[k, a] += w * c * x[a]
