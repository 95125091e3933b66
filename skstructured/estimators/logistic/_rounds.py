"""Rounds of the learners that keep the inverse of a sum of Hessians.

``A = λI + Σ κ h ⊗ xxᵀ`` with ``h = diag s − ssᵀ``, which says nothing of the direction (1, …, 1)
of the classes. With an orthonormal basis Q (r, K) of the others, r = K − 1, A over them is
``λI + Σ κ (Q h Qᵀ) ⊗ xxᵀ``, and λI in the direction left out.
"""

import math

import numpy as np

from skstructured._engine.compiled import kernel
from skstructured.estimators.logistic._blocks import downdate, products
from skstructured.estimators.logistic._curvature import curvature, inner
from skstructured.estimators.logistic._logits import improper_logits, root_of_hessian

#: Rows wait until so many are added to A together: between calls of loops, or within those of many
#: classes.
WAITING, WITHIN = 128, 16

#: Numbers of a state: Σ ¼ w² tr(A⁻¹H), rows that wait, the largest residual of a prediction.
POTENTIAL, COUNT, RESIDUAL = range(3)

#: Places of small matrices (r, r) and vectors (K,) in scratch.
S, HESSIAN, ROOT, FACTOR, TRIANGLE = range(5)
SCORE, LOGIT, SHARE, POINT, TRIAL, TARGET = range(6)


@kernel
def class_scores(P, G, Q, x, w, V, S, A, g, row):
    """Ã = ½w QᵀSQ and g̃ = −½<x, A⁻¹G> + ½ diag Ã over the K classes; V and S of `products`.

    `row` (K,) is written over.
    """
    products(P, x, V, S)
    r, K = Q.shape
    for k in range(K):
        g[k] = 0.0
    for i in range(r):
        m = 0.0
        for j in range(r):
            m += inner(V[j, i], G[j])
        for k in range(K):
            g[k] -= 0.5 * Q[i, k] * m
    for k in range(K):
        for j in range(r):
            half = 0.0
            for i in range(r):
                half += Q[i, k] * S[i, j]
            A[k, j] = half
    for k in range(K):
        for c in range(K):
            row[c] = 0.0
        for j in range(r):
            for c in range(K):
                row[c] += A[k, j] * Q[j, c]
        for c in range(K):
            A[k, c] = 0.5 * w * row[c]
        g[k] += 0.5 * A[k, k]
    for k in range(K):
        for c in range(k):
            A[c, k] = A[k, c]


@kernel
def reduced_hessian(Q, s, h):
    """h = Q (diag s − ssᵀ) Qᵀ."""
    r, K = Q.shape
    for i in range(r):
        for j in range(i + 1):
            both, one, other = 0.0, 0.0, 0.0
            for k in range(K):
                both += Q[i, k] * Q[j, k] * s[k]
                one += Q[i, k] * s[k]
                other += Q[j, k] * s[k]
            h[i, j] = both - one * other
            h[j, i] = h[i, j]


@kernel
def woodbury(small, factor, rank):
    """F with ``F Fᵀ = (S + (factor MMᵀ)⁻¹)⁻¹``: √factor M T⁻ᵀ, ``TTᵀ = I + factor MᵀSM``.

    M, and so F, have `rank` columns.
    """
    product, M, F, T = small[S], small[ROOT], small[FACTOR], small[TRIANGLE]
    r = M.shape[0]
    for i in range(r):
        for c in range(rank):
            T[i, c] = 0.0
        for j in range(r):
            for c in range(rank):
                T[i, c] += product[i, j] * M[j, c]
    for i in range(rank):
        for c in range(rank):
            F[i, c] = 1.0 if i == c else 0.0
        for j in range(r):
            for c in range(rank):
                F[i, c] += factor * M[j, i] * T[j, c]
    root_of_hessian(F, T, rank)
    for i in range(r):
        for c in range(rank):
            total = math.sqrt(factor) * M[i, c]
            for m in range(c):
                total -= T[c, m] * F[i, m]
            F[i, c] = total / T[c, c]


@kernel
def steps(V, F, L, rank):
    """L_im = Σ_j F_jm V_ij: the vectors of a downdate."""
    r, p = V.shape[0], V.shape[2]
    for i in range(r):
        for m in range(rank):
            out = L[i, m]
            for a in range(p):
                out[a] = 0.0
            for j in range(r):
                c, v = F[j, m], V[i, j]
                for a in range(p):
                    out[a] += c * v[a]


@kernel
def move_gradient(G, Q, x, w, kappa, vectors):
    """G ← G + w Q(s − y − 2κHz) ⊗ x, with ``Hz = s (z̄ − sᵀz)``.

    z̄ (K,) stands in `vectors[TRIAL]`: z itself, or its means over cells, see `root_of_cells`.
    """
    r, K = Q.shape
    s, z, y, inside = vectors[SHARE], vectors[LOGIT], vectors[TARGET], vectors[TRIAL]
    mean = inner(s, z)
    for i in range(r):
        c = 0.0
        for k in range(K):
            c += Q[i, k] * (s[k] - y[k] - 2.0 * kappa * s[k] * (inside[k] - mean))
        for a in range(x.shape[0]):
            G[i, a] += w * c * x[a]


@kernel
def wait(x, h, factor, waiting, factors, numbers):
    """Let factor h ⊗ xxᵀ wait, for which there is room."""
    at, m = np.int64(numbers[COUNT]), 0
    for a in range(x.shape[0]):
        waiting[at, a] = x[a]
    for i in range(h.shape[0]):
        for j in range(i, h.shape[0]):
            factors[m, at] = factor * h[i, j]
            m += 1
    numbers[COUNT] = at + 1.0


@kernel
def hessian_of_row(Q, w, small, vectors, numbers):
    """h of a row, and what the theorem adds for it; z̄ of `move_gradient` is z."""
    s, h = vectors[SHARE], small[HESSIAN]
    reduced_hessian(Q, s, h)
    for i in range(h.shape[0]):
        for j in range(h.shape[0]):
            numbers[POTENTIAL] += 0.25 * w * w * h[i, j] * small[S, i, j]
    for k in range(s.shape[0]):
        vectors[TRIAL, k] = vectors[LOGIT, k]


@kernel
def add_row(x, w, kappa, rank, P, G, Q, waiting, factors, numbers, V, L, small, vectors):
    """P = A⁻¹ and G for ``A ← A + wκ h ⊗ xxᵀ``, which waits; M of `rank` columns is a root of h."""
    woodbury(small, w * kappa, rank)
    steps(V, small[FACTOR], L, rank)
    downdate(P, L, rank)
    move_gradient(G, Q, x, w, kappa, vectors)
    wait(x, small[HESSIAN], w * kappa, waiting, factors, numbers)


def room(r, K, p):
    """Room for what a round computes: V, L, small matrices, vectors, Ã, and its equations."""
    V, L, small = np.empty((r, r, p)), np.empty((r, r, p)), np.empty((5, r, r))
    return V, L, small, np.empty((6, K)), np.empty((K, K)), np.empty((K, K + 1))


#: As `room`, for loops that make their own.
scratch = kernel(room)


@kernel
def folklore_rounds(
    X,
    truth,
    weight,
    reach,
    shift,
    P,
    G,
    Q,
    waiting,
    factors,
    numbers,
    logits,
    learn,
    V,
    L,
    small,
    vectors,
    scores,
    system,
):
    """Play and, where `learn`, learn the rows; `logits` receives every z.

    `shift` is 1/(λK): the direction that Q leaves out adds the same number to all logits. The last
    arguments are a `room`.
    """
    r, K = Q.shape
    for t in range(X.shape[0]):
        x, w = X[t], weight[t]
        scored = small[S], scores, vectors[SCORE], vectors[TRIAL]
        class_scores(P, G, Q, x, w, V, *scored)
        left = improper_logits(scores, vectors, system)
        for k in range(K):
            logits[t, k] = vectors[LOGIT, k] - 0.25 * w * shift * inner(x, x)
            vectors[TARGET, k] = truth[t, k]
        if learn and w > 0.0:
            numbers[RESIDUAL] = max(numbers[RESIDUAL], left)
            kappa = curvature(x, reach)
            hessian_of_row(Q, w, small, vectors, numbers)
            root_of_hessian(small[HESSIAN], small[ROOT], r)
            learned = (P, G, Q, waiting, factors, numbers)
            add_row(x, w, kappa, r, *learned, V, L, small, vectors)


@kernel
def folklore_logits(X, shift, P, G, Q, logits):
    """The logits of rows, with what has been learned, from arrays that may be read-only."""
    r, K = Q.shape
    V, _, small, vectors, scores, system = scratch(r, K, X.shape[1])
    for t in range(X.shape[0]):
        x = X[t]
        scored = small[S], scores, vectors[SCORE], vectors[TRIAL]
        class_scores(P, G, Q, x, 1.0, V, *scored)
        improper_logits(scores, vectors, system)
        for k in range(K):
            logits[t, k] = vectors[LOGIT, k] - 0.25 * shift * inner(x, x)
