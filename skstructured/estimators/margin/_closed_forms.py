r"""Blocks solved exactly: where ``h(μ) + <v, μ> − (q/2)‖μ − μ_i‖²`` is largest over conv(Y)."""

import numpy as np
from numba import float64, int64, types

from skstructured._engine.addresses import MATRIX, VECTOR, function_at
from skstructured._engine.compiled import kernel
from skstructured.estimators.margin._corrective import solve_by_vertices
from skstructured.estimators.margin._oracles import (
    GAME,
    HAMMING,
    LINEAR_CLASS,
    LINEAR_LABELS,
    LINEAR_MATCHING,
    LINEAR_RANKS,
    ORDINAL,
    ZERO_ONE,
)
from skstructured.spaces._matching_kernels import matching_projection
from skstructured.spaces.permutahedron import rank_projection, sort_descending

#: solve(kind, oracle, A, v, ell, q, mu, out), with the address of the kind's oracle.
BLOCK = types.FunctionType(
    types.void(int64, int64, MATRIX, VECTOR, VECTOR, float64, VECTOR, VECTOR)
)
as_solver = function_at(BLOCK)


@kernel
def excess_level(z, total):
    """τ with ``Σ (z_k − τ)_+ = total`` > 0, of sorted z, the largest first."""
    k = z.shape[0]
    above, level = 0.0, 0.0
    for s in range(k):
        above += z[s]
        level = (above - total) / (s + 1)
        if s + 1 == k or z[s + 1] <= level:
            break
    return level


@kernel
def _sorted(z):
    """Entries of z, the largest first."""
    k = z.shape[0]
    order, ordered = np.empty(k), np.empty(k)
    sort_descending(z, order, ordered)
    for s in range(k):
        ordered[s] = z[int(order[s])]
    return ordered


@kernel
def _on_simplex(z, ordered, top, out):
    """Out = the point of the simplex ``(min(z, top) − τ)_+``; `ordered` are the entries of z."""
    for k in range(z.shape[0]):
        ordered[k] = min(ordered[k], top)
    level, total = excess_level(ordered, 1.0), 0.0
    for k in range(z.shape[0]):
        out[k] = max(min(z[k], top) - level, 0.0)
        total += out[k]
    for k in range(z.shape[0]):
        out[k] /= total


@kernel
def _moved(v, ell, q, mu):
    """Z = μ_i + (v + ℓ)/q."""
    z = np.empty(v.shape[0])
    for k in range(v.shape[0]):
        z[k] = mu[k] + (v[k] + ell[k]) / q
    return z


@kernel
def solve_classes(kind, oracle, A, v, ell, q, mu, out):
    """Classes of the SVM: the projection of ``μ_i + (v + ℓ)/q`` on the simplex."""
    z = _moved(v, ell, q, mu)
    _on_simplex(z, _sorted(z), np.inf, out)


@kernel
def solve_matchings(kind, oracle, A, v, ell, q, mu, out):
    """Assignments of the SVM: the projection of ``μ_i + (v + ℓ)/q`` on the Birkhoff polytope."""
    dim = v.shape[0]
    m = int(np.sqrt(dim) + 0.5)
    work = np.zeros(1 + 2 * dim + 6 * m + 3 * (m + 1) + 4 * m)
    matching_projection(_moved(v, ell, q, mu), np.zeros(dim), out, np.empty(0), work)


@kernel
def solve_ranks(kind, oracle, A, v, ell, q, mu, out):
    """Rankings of the SVM: the projection of ``μ_i + (v + ℓ)/q`` on the permutahedron."""
    dim = v.shape[0]
    z = _moved(v, ell, q, mu)
    rank_projection(z, np.zeros(dim), out, np.empty(0), np.zeros(6 * dim))


@kernel
def solve_zero_one(kind, oracle, A, v, ell, q, mu, out):
    """Classes of the max-min network.

    With ``z = μ_i + v/q``, ``c (1 − s) + <v, μ> − …`` with μ ≤ s gives μ = clip(z − τ, 0, s),
    where s is best if ``Σ (z − a)_+ = c/q`` with a = τ + s, and Σμ = 1 if
    ``Σ (min(z, a) − τ)_+ = 1``: two levels.
    """
    z = np.empty(v.shape[0])
    for k in range(v.shape[0]):
        z[k] = mu[k] + v[k] / q
    ordered = _sorted(z)
    _on_simplex(z, ordered, excess_level(ordered, A[A.shape[0] - 1, 0] / q), out)


@kernel
def solve_labels(kind, oracle, A, v, ell, q, mu, out):
    """Labels: ``z = μ_i + v/q`` of the SVM moved by ℓ/q, else towards ½ by c/q, not beyond."""
    for k in range(v.shape[0]):
        z = mu[k] + v[k] / q
        if kind == HAMMING:
            z = min(z + A[0, 0] / q, 0.5) if z < 0.5 else max(z - A[0, 0] / q, 0.5)
        else:
            z += ell[k] / q
        out[k] = min(max(z, 0.0), 1.0)


#: What solves the blocks of each kind.
SOLVERS = {
    ZERO_ONE: solve_zero_one,
    ORDINAL: solve_by_vertices,
    GAME: solve_by_vertices,
    HAMMING: solve_labels,
    LINEAR_CLASS: solve_classes,
    LINEAR_LABELS: solve_labels,
    LINEAR_MATCHING: solve_matchings,
    LINEAR_RANKS: solve_ranks,
}
