r"""Oracles of one row: where ``H(μ) = h(μ) + <v, μ>`` is largest over conv(Y), and how large.

For the max-min network ``h(μ) = min_ν L(ν, μ)``, for the structural SVM ``h(μ) = <ℓ, μ>``, both
without the part that is the same for all μ. Loops are handed the oracle that they need by its
address, and are compiled without the others.
"""

import numpy as np
from numba import float64, types

from skstructured._engine.addresses import MATRIX, VECTOR, function_at
from skstructured._engine.compiled import kernel
from skstructured.estimators.margin._game import solve_game
from skstructured.spaces._assignment import assign
from skstructured.spaces.permutahedron import rank_vertex, sort_descending

#: Max-min oracles, and those of linear losses.
ZERO_ONE, ORDINAL, GAME, HAMMING = range(4)
LINEAR_CLASS, LINEAR_LABELS, LINEAR_MATCHING, LINEAR_RANKS = range(4, 8)

#: oracle(A, v, ell, out) -> H(μ*), of games an upper bound that it attains but for rounding; it
#: writes μ* into out. `A` is the cost matrix (k, k), or (1, 1) with the cost of a label or item.
ORACLE = types.FunctionType(float64(MATRIX, VECTOR, VECTOR, VECTOR))
as_oracle = function_at(ORACLE)


@kernel
def zero_one_oracle(A, v, ell, out):
    r"""``max_μ c (1 − max_r μ_r) + <v, μ>`` over the simplex; μ into out.

    Uniform on the set S of the largest scores that maximises ``(Σ_S v + c (|S| − 1))/|S|``
    (Fathony et al. 2016; Nowak-Vila, Bach, Rudi 2020).
    """
    k, cost = v.shape[0], A[1, 0]
    order = np.empty(k)
    sort_descending(v, order, np.empty(k))
    total, best, size = 0.0, 0.0, 0
    for s in range(k):
        total += v[int(order[s])]
        value = (total + cost * s) / (s + 1)
        if s == 0 or value > best:
            best, size = value, s + 1
    out[:] = 0.0
    for s in range(size):
        out[int(order[s])] = 1.0 / size
    return best


@kernel
def ordinal_oracle(A, v, ell, out):
    r"""``max_μ min_r Σ_j c |r − j| μ_j + <v, μ>``, the largest (v_i + v_j + c (j − i))/2.

    Half of μ is at argmax v_i − c i and half at argmax v_j + c j.
    """
    i, j, cost = 0, 0, A[1, 0]
    for k in range(v.shape[0]):
        i = k if v[k] - cost * k > v[i] - cost * i else i
        j = k if v[k] + cost * k > v[j] + cost * j else j
    out[:] = 0.0
    out[i] += 0.5
    out[j] += 0.5
    return 0.5 * (v[i] + v[j] + cost * (j - i))


@kernel
def game_oracle(A, v, ell, out):
    r"""``max_μ min_r (Aμ)_r + <v, μ>`` as the game of A + 1vᵀ; the bound is by ν."""
    B, nu, upper = A + v, np.empty(len(v)), -np.inf
    solve_game(B, out, nu)
    for j in range(len(v)):
        value = 0.0
        for r in range(len(v)):
            value += nu[r] * B[r, j]
        upper = max(upper, value)
    return upper


@kernel
def hamming_oracle(A, v, ell, out):
    r"""``max_μ Σ_m c min(μ_m, 1 − μ_m) + v_m μ_m`` over [0,1]^d, label by label.

    The Hamming loss ``c Σ_m ν_m (1 − μ_m) + (1 − ν_m) μ_m`` is a sum over labels and so is the set
    of ν, hence its least value is ``c Σ_m min(μ_m, 1 − μ_m)``. Every term is concave in μ_m with
    kinks at 0, ½ and 1, where it is 0, (c + v_m)/2 and v_m: μ_m is 1 where v_m > c, 0 where
    v_m < −c, and ½ between.
    """
    value, cost = 0.0, A[0, 0]
    for m in range(v.shape[0]):
        out[m] = 1.0 if v[m] > cost else 0.0 if v[m] < -cost else 0.5
        value += max(0.0, v[m], 0.5 * (cost + v[m]))
    return value


@kernel
def linear_class_oracle(A, v, ell, out):
    """The class of the largest ℓ + v."""
    best = 0
    for k in range(v.shape[0]):
        best = k if ell[k] + v[k] > ell[best] + v[best] else best
    out[:] = 0.0
    out[best] = 1.0
    return ell[best] + v[best]


@kernel
def linear_labels_oracle(A, v, ell, out):
    """Labels with a positive ℓ + v."""
    value = 0.0
    for m in range(v.shape[0]):
        out[m] = 1.0 if ell[m] + v[m] > 0.0 else 0.0
        value += max(ell[m] + v[m], 0.0)
    return value


@kernel
def best_matching(theta, vertex):
    """The maximal assignment of theta (m²,)."""
    m = int(np.sqrt(theta.shape[0]) + 0.5)
    work = np.empty((3, m + 1))
    assign(theta, m, work[0], work[1], work[2], np.empty(4 * m))
    vertex[:] = 0.0
    for j in range(m):
        vertex[(int(work[2, j + 1]) - 1) * m + j] = 1.0


@kernel
def best_ranks(theta, vertex):
    """The ranks of scores."""
    rank_vertex(theta, vertex)


@kernel
def _reached(theta, out):
    value = 0.0
    for k in range(theta.shape[0]):
        value += theta[k] * out[k]
    return value


@kernel
def linear_matching_oracle(A, v, ell, out):
    """The assignment of ℓ + v."""
    theta = v + ell
    best_matching(theta, out)
    return _reached(theta, out)


@kernel
def linear_ranks_oracle(A, v, ell, out):
    """The ranks of ℓ + v."""
    theta = v + ell
    rank_vertex(theta, out)
    return _reached(theta, out)


@kernel
def concave_part(kind, A, mu, ell):
    """h(μ), with A as oracles have it."""
    k, value = mu.shape[0], 0.0
    if kind >= LINEAR_CLASS:
        for j in range(k):
            value += ell[j] * mu[j]
    elif kind == ZERO_ONE:
        top = 0.0
        for j in range(k):
            top = max(top, mu[j])
        value = A[1, 0] * (1.0 - top)
    elif kind == HAMMING:
        for j in range(k):
            value += A[0, 0] * min(mu[j], 1.0 - mu[j])
    elif kind == ORDINAL:
        below, total = 0.0, 0.0
        for j in range(k):
            total += mu[j]
        for j in range(k - 1):
            below += mu[j]
            value += A[1, 0] * min(below, total - below)
    else:
        value = np.inf
        for r in range(k):
            row = 0.0
            for j in range(k):
                row += A[r, j] * mu[j]
            value = min(value, row)
    return value


#: The oracle of each kind.
ORACLES = {
    ZERO_ONE: zero_one_oracle,
    ORDINAL: ordinal_oracle,
    GAME: game_oracle,
    HAMMING: hamming_oracle,
    LINEAR_CLASS: linear_class_oracle,
    LINEAR_LABELS: linear_labels_oracle,
    LINEAR_MATCHING: linear_matching_oracle,
    LINEAR_RANKS: linear_ranks_oracle,
}
