r"""Blocks solved exactly: where ``h(μ) + <v, μ> − (q/2)‖μ − μ_i‖²`` is largest over conv(Y)."""

import numpy as np

from skstructured._engine.compiled import kernel
from skstructured.estimators.margin._oracles import (
    HAMMING,
    LINEAR_CLASS,
    LINEAR_MATCHING,
    LINEAR_RANKS,
    ZERO_ONE,
)
from skstructured.spaces._matching_kernels import matching_projection
from skstructured.spaces.permutahedron import rank_projection


@kernel
def excess_level(z, total):
    """τ with ``Σ (z_k − τ)_+ = total`` > 0, of sorted z, the least first."""
    k = z.shape[0]
    above, level = 0.0, 0.0
    for s in range(k):
        above += z[k - 1 - s]
        level = (above - total) / (s + 1)
        if s + 1 == k or z[k - 2 - s] <= level:
            break
    return level


@kernel
def _on_simplex(z, top, out):
    """Out = the point of the simplex ``(min(z, top) − τ)_+``."""
    ordered = np.sort(z)
    for k in range(z.shape[0]):
        ordered[k] = min(ordered[k], top)
    level, total = excess_level(ordered, 1.0), 0.0
    for k in range(z.shape[0]):
        out[k] = max(min(z[k], top) - level, 0.0)
        total += out[k]
    for k in range(z.shape[0]):
        out[k] /= total


@kernel
def _on_matchings(z, out):
    """Out = the projection of z on the Birkhoff polytope."""
    dim = z.shape[0]
    m = int(np.sqrt(dim) + 0.5)
    work = np.zeros(1 + 2 * dim + 6 * m + 3 * (m + 1) + 4 * m)
    matching_projection(z, np.zeros(dim), out, np.empty(0), work)


@kernel
def _on_ranks(z, out):
    """Out = the projection of z on the permutahedron."""
    dim = z.shape[0]
    rank_projection(z, np.zeros(dim), out, np.empty(0), np.zeros(6 * dim))


@kernel
def solve_block(kind, A, v, ell, q, mu, out):
    r"""The best μ of a block into out.

    With ``z = μ_i + v/q``: for the SVM it is the projection of ``z + ℓ/q`` on conv(Y). For the
    max-min network of labels it is z moved towards ½ by c/q, though not beyond. For classes,
    ``c (1 − s) + <v, μ> − …`` with μ ≤ s gives μ = clip(z − τ, 0, s), where s is best if
    ``Σ (z − a)_+ = c/q`` with a = τ + s, and Σμ = 1 if ``Σ (min(z, a) − τ)_+ = 1``: two levels.
    """
    cost = A[A.shape[0] - 1, 0]
    for k in range(v.shape[0]):
        z = mu[k] + v[k] / q
        if kind >= LINEAR_CLASS:
            out[k] = z + ell[k] / q
        else:
            out[k] = z
    if kind == LINEAR_CLASS:
        _on_simplex(out.copy(), np.inf, out)
    elif kind == LINEAR_MATCHING:
        _on_matchings(out.copy(), out)
    elif kind == LINEAR_RANKS:
        _on_ranks(out.copy(), out)
    elif kind == ZERO_ONE:
        z = out.copy()
        _on_simplex(z, excess_level(np.sort(z), cost / q), out)
    else:
        for k in range(v.shape[0]):
            z = out[k]
            if kind == HAMMING:
                z = min(z + cost / q, 0.5) if z < 0.5 else max(z - cost / q, 0.5)
            out[k] = min(max(z, 0.0), 1.0)
