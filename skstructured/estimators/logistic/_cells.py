"""The curvature of a round for many classes: that of the likely ones, and of the rest as one."""

import math

from skstructured._engine.compiled import kernel
from skstructured.estimators.logistic._logits import root_of_hessian
from skstructured.estimators.logistic._rounds import (
    HESSIAN,
    LOGIT,
    POINT,
    ROOT,
    SCORE,
    SHARE,
    TRIAL,
    add_row,
    hessian_of_row,
)

#: From so many classes on, the curvature of a round is that of cells: a class of a share of at
#: least `LEAST`/K has its own, and all others one together.
MANY, LEAST = 10, 0.2


@kernel
def cells_of(s, cell, mass):
    """Classes of a share of at least `LEAST`/K are alone in their cell, the others all in the last.

    ``cell[k]`` is that of class k, `mass` their shares; returns how many there are.
    """
    K, count, rest = s.shape[0], 0, 0.0
    for k in range(K):
        if s[k] * K >= LEAST:
            cell[k], mass[count] = count, s[k]
            count += 1
        else:
            cell[k] = K
            rest += s[k]
    last = count if rest > 0.0 else 0  # classes of no share at all count for nothing
    for k in range(K):
        if cell[k] == K:
            cell[k] = last
    if last > 0:
        mass[last] = rest
        count += 1
    return count


@kernel
def root_of_cells(Q, s, cell, mass, count, M):
    """M with ``MMᵀ = Q H Qᵀ``, H the covariance of the class as far as its cell tells it.

    ``H = Σ_c π_c m_c m_cᵀ − ssᵀ`` with m_c the mean of the classes of cell c, which is at most
    diag s − ssᵀ. The root of ``diag π − ππᵀ`` is in closed form (Tanabe, Sagae 1992); M has a
    column less than there are cells.
    """
    r, K = Q.shape
    for i in range(count - 1):
        behind = 0.0
        for c in range(i + 1, count):
            behind += mass[c]
        both = mass[i] + behind
        own = math.sqrt(mass[i] * behind / both) if both > 0.0 else 0.0
        other = -math.sqrt(mass[i] / (both * behind)) if behind > 0.0 and both > 0.0 else 0.0
        for a in range(r):
            M[a, i] = 0.0
        for k in range(K):
            at = cell[k]
            if at < i:
                continue
            entry = (own if at == i else other * mass[at]) * (s[k] / mass[at])
            for a in range(r):
                M[a, i] += Q[a, k] * entry


@kernel
def means_of_cells(vectors, cell, mass, sums):
    """z̄ of `move_gradient`: of each class the mean of its cell, by shares; `sums` is scratch."""
    s, z, inside = vectors[SHARE], vectors[LOGIT], vectors[TRIAL]
    for k in range(s.shape[0]):
        sums[k] = 0.0
    for k in range(s.shape[0]):
        if s[k] > 0.0:
            sums[cell[k]] += s[k] / mass[cell[k]] * z[k]
    for k in range(s.shape[0]):
        inside[k] = sums[cell[k]]


@kernel
def gram_of(M, rank, h):
    """h = MMᵀ."""
    for i in range(M.shape[0]):
        for j in range(i + 1):
            total = 0.0
            for m in range(rank):
                total += M[i, m] * M[j, m]
            h[i, j] = total
            h[j, i] = total


@kernel
def learn_row(x, w, kappa, P, G, Q, waiting, factors, numbers, V, L, small, vectors, cell):
    """P = A⁻¹ and G for ``A ← A + wκ h ⊗ xxᵀ``, which waits.

    From the logits, shares and target in `vectors`. Of `MANY` classes and more, h is that of their
    cells.
    """
    hessian_of_row(Q, w, small, vectors, numbers)
    h, rank = small[HESSIAN], small.shape[1]
    if Q.shape[1] >= MANY:
        s, mass = vectors[SHARE], vectors[POINT]
        count = cells_of(s, cell, mass)
        root_of_cells(Q, s, cell, mass, count, small[ROOT])
        rank = count - 1
        gram_of(small[ROOT], rank, h)
        means_of_cells(vectors, cell, mass, vectors[SCORE])
    else:
        root_of_hessian(h, small[ROOT], rank)
    learned = (P, G, Q, waiting, factors, numbers)
    add_row(x, w, kappa, rank, *learned, V, L, small, vectors)
