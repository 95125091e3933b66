"""Rounds of FOLKLORE for `MANY` classes and more, with the curvature of their cells.

What they compute is what `folklore_rounds` does, up to that.

The basis of class directions is Helmert's, row i of it c_i (1, …, 1, −(i + 1), 0, …), of which only
the numbers c are needed: products with it are sums, and take K² in place of K³.
"""

import numpy as np

from skstructured._engine.compiled import kernel
from skstructured._engine.small_matmul import both_products, subtract_products
from skstructured.estimators.logistic._cells import (
    cells_of,
    gram_of,
    means_of_cells,
    root_of_cells,
)
from skstructured.estimators.logistic._curvature import curvature, inner
from skstructured.estimators.logistic._many_logits import WORK, logits_of_many
from skstructured.estimators.logistic._rounds import (
    COUNT,
    FACTOR,
    HESSIAN,
    LOGIT,
    POINT,
    POTENTIAL,
    RESIDUAL,
    ROOT,
    SCORE,
    SHARE,
    TARGET,
    S,
    move_gradient,
    woodbury,
)


@kernel
def _products(P, x, V, S, spare):
    """V_ij = P_ij x and S_ij = <x, P_ij x> for all class directions i, j."""
    at, r = 0, S.shape[0]
    for i in range(r):
        for j in range(i, r):
            both_products(P[at], x, V[i, j], spare if i == j else V[j, i])
            S[i, j] = inner(V[i, j], x)
            S[j, i] = S[i, j]
            at += 1


@kernel
def _over_classes(c, S, A, sums):
    """A = QᵀSQ, Q the basis of the numbers c."""
    r = c.shape[0]
    for j in range(r):
        sums[j] = 0.0
    for k in range(r, -1, -1):  # rows: A[k, :r] = (QᵀS)_k, sums those of c_i S_i for i ≥ k
        for j in range(r):
            if k < r:
                sums[j] += c[k] * S[k, j]
            A[k, j] = sums[j]
            if k > 0:
                A[k, j] -= k * c[k - 1] * S[k - 1, j]
    for k in range(r + 1):
        total = 0.0
        for m in range(r, 0, -1):  # entry m is made of entry m − 1, and of those behind
            here = c[m - 1] * A[k, m - 1]
            A[k, m] = total - m * here
            total += here
        A[k, 0] = total


@kernel
def scores_of_many(P, G, c, x, w, V, S, A, g, spare, sums):
    """As `class_scores`, with the basis of the numbers c."""
    _products(P, x, V, S, spare)
    r = c.shape[0]
    _over_classes(c, S, A, sums)
    for k in range(r + 1):
        for m in range(k):
            A[k, m] = 0.5 * w * A[k, m]
            A[m, k] = A[k, m]
        A[k, k] *= 0.5 * w
    behind = 0.0
    for k in range(r, -1, -1):
        before = 0.0
        if k > 0:
            for j in range(r):
                before += inner(V[j, k - 1], G[j])
        # g_k = −½ (Qᵀm)_k + ½ A_kk for m_i = Σ_j <V_ji, G_j>
        g[k] = 0.5 * A[k, k] - 0.5 * (behind - k * c[k - 1] * before if k > 0 else behind)
        if k > 0:
            behind += c[k - 1] * before


@kernel
def _trace(A, s):
    """Σ_k s_k (A_kk − (As)_k) = tr(HA)."""
    total = 0.0
    for k in range(s.shape[0]):
        total += s[k] * (A[k, k] - inner(A[k], s))
    return total


@kernel
def _downdate(P, V, F, L, rank):
    """P ← P − Σ_m L_m L_mᵀ for m below `rank`, with L_im = −Σ_j F_jm V_ij."""
    at, r = 0, V.shape[0]
    for i in range(r):
        for m in range(rank):
            for a in range(V.shape[2]):
                L[i, m, a] = 0.0
        subtract_products(L[i, :rank], F, V[i], r)
    for i in range(r):
        for j in range(i, r):
            subtract_products(P[at], L[i], L[j], rank)
            at += 1


@kernel
def _wait(x, h, factor, waiting, factors, numbers, A, scaled):
    """As `wait` of the few."""
    at, m, p = int(numbers[COUNT]), 0, x.shape[0]
    for a in range(p):
        waiting[at, a] = x[a]
    for i in range(h.shape[0]):
        for j in range(i, h.shape[0]):
            factors[m, at] = factor * h[i, j]
            m += 1
    numbers[COUNT] = at + 1.0
    if at + 1 < waiting.shape[0]:
        return
    for m in range(A.shape[0]):
        for t in range(waiting.shape[0]):
            for a in range(p):
                scaled[t, a] = -factors[m, t] * waiting[t, a]
        subtract_products(A[m], scaled, waiting, waiting.shape[0])
    numbers[COUNT] = 0.0


@kernel
def many_rounds(
    X, truth, weight, reach, shift, A, P, G, Q, waiting, factors, numbers, logits, learn
):
    """As `folklore_rounds`, whose curvature is that of the cells of `cells_of`."""
    r, K, p = Q.shape[0], Q.shape[1], X.shape[1]
    V, L, small = np.empty((r, r, p)), np.empty((r, r, p)), np.empty((5, r, r))
    vectors, scores, work = np.empty((6, K)), np.empty((K, K)), np.empty((WORK, K))
    c, spare, sums, scaled = Q[:, 0].copy(), np.empty(p), np.empty(r), np.empty(waiting.shape)
    places = np.empty(K, dtype=np.int64)
    g, z, s, mass = vectors[SCORE], vectors[LOGIT], vectors[SHARE], vectors[POINT]
    for t in range(X.shape[0]):
        x, w = X[t], weight[t]
        scores_of_many(P, G, c, x, w, V, small[S], scores, g, spare, sums)
        left = logits_of_many(scores, g, z, s, work)
        for k in range(K):
            logits[t, k] = z[k] - 0.25 * w * shift * inner(x, x)
            vectors[TARGET, k] = truth[t, k]
        if not (learn and w > 0.0):
            continue
        numbers[RESIDUAL] = max(numbers[RESIDUAL], left)
        numbers[POTENTIAL] += 0.5 * w * _trace(scores, s)
        kappa, count = curvature(x, reach), cells_of(s, places, mass)
        root_of_cells(Q, s, places, mass, count, small[ROOT])
        gram_of(small[ROOT], count - 1, small[HESSIAN])
        woodbury(small, w * kappa, count - 1)
        _downdate(P, V, small[FACTOR], L, count - 1)
        means_of_cells(vectors, places, mass, g)
        move_gradient(G, Q, x, w, kappa, vectors)
        _wait(x, small[HESSIAN], w * kappa, waiting, factors, numbers, A, scaled)


@kernel
def many_logits(X, shift, P, G, Q, logits):
    """As `folklore_logits`."""
    r, K, p = Q.shape[0], Q.shape[1], X.shape[1]
    V, S, scores = np.empty((r, r, p)), np.empty((r, r)), np.empty((K, K))
    vectors, work, spare = np.empty((3, K)), np.empty((WORK, K)), np.empty(p)
    c, sums = Q[:, 0].copy(), np.empty(r)
    for t in range(X.shape[0]):
        x = X[t]
        scores_of_many(P, G, c, x, 1.0, V, S, scores, vectors[0], spare, sums)
        logits_of_many(scores, vectors[0], vectors[1], vectors[2], work)
        for k in range(K):
            logits[t, k] = vectors[1, k] - 0.25 * shift * inner(x, x)
