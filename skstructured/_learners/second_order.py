"""Learners with a matrix A over their weights, kept as a triangular factor.

``A = RᵀR`` with R upper triangular, and right sides ``A V = Rᵀr``: a term zzᵀ is rotated into R,
and its target into r. This is the orthogonal way to solve least squares: its error grows with the
condition of R, but that of an inverse with rank-one updates grows with its square. V are the
weights in coordinates of the directions seen so far, which separate the classes; see `reduce_term`.
"""

import math

import numpy as np

from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.state import State, clear, copy_into
from skstructured.extend._types import Floats
from skstructured.losses.gap import best_other


@kernel
def reduce_term(basis, g, x, z):
    """z = h ⊗ x, of shape ((K−1) p,), with g = Σ_m h_m basis_m; g, which sums to 0, is used up.

    The rows of `basis` are orthonormal, and are added when they are first seen. Directions that no
    term has had so far have the coordinate 0, not rounding errors of others, which large features
    would amplify. A multiple of I does not change.
    """
    p, K, size = x.shape[0], g.shape[0], np.dot(g, g)
    for m in range(K - 1):
        row, h, left = basis[m], np.dot(basis[m], g), 0.0
        for k in range(K):
            g[k] -= h * row[k]
            left += g[k] * g[k]
        if h == 0.0 and left > 1e-16 * size and np.dot(row, row) == 0.0:
            h = math.sqrt(left)
            for k in range(K):
                row[k], g[k] = g[k] / h, 0.0
        for j in range(p):
            z[m * p + j] = h * x[j]


@kernel
def expand(basis, V, W):
    """W (K p,) of the reduced weights V ((K−1) p,): W_k = Σ_m basis_mk V_m."""
    n, K = basis.shape
    np.dot(basis.T, V.reshape((n, V.shape[0] // n)), W.reshape((K, W.shape[0] // K)))


@kernel
def rank_one(M, factor, v):
    """M ← M + factor v vᵀ."""
    for i in range(M.shape[0]):
        c, row = factor * v[i], M[i]
        for j in range(M.shape[1]):
            row[j] += c * v[j]


@kernel
def rotate_in(R, r, z, target):
    """RᵀR ← RᵀR + zzᵀ and Rᵀr ← Rᵀr + target z, by plane rotations; z is used up."""
    n = R.shape[0]
    for i in range(n):
        if z[i] == 0.0:
            continue
        length = math.sqrt(R[i, i] * R[i, i] + z[i] * z[i])
        c, s = R[i, i] / length, z[i] / length
        R[i, i] = length
        row, tail = R[i, i + 1 :], z[i + 1 :]  # slices, over which the compiler makes vectors
        for j in range(row.shape[0]):
            above, below = row[j], tail[j]
            row[j] = c * above + s * below
            tail[j] = c * below - s * above
        r[i], target = c * r[i] + s * target, c * target - s * r[i]


@kernel
def solve_transposed(R, z, u):
    """u = R⁻ᵀz with ‖u‖² = zᵀA⁻¹z; returns the latter."""
    n, total = R.shape[0], 0.0
    copy_into(u, z)
    for i in range(n):
        u[i] /= R[i, i]
        if u[i] != 0.0:
            row, tail, c = R[i, i + 1 :], u[i + 1 :], u[i]
            for j in range(row.shape[0]):
                tail[j] -= c * row[j]
            total += c * c
    return total


@kernel(fastmath=FASTMATH)
def solve_upper(R, u, w):
    """w = R⁻¹u, for u = r the weights."""
    n = R.shape[0]
    for i in range(n - 1, -1, -1):
        row, tail, total = R[i, i + 1 :], w[i + 1 :], 0.0
        for j in range(row.shape[0]):
            total += row[j] * tail[j]
        w[i] = (u[i] - total) / R[i, i]


@kernel(fastmath=FASTMATH)
def along(V, g, x):
    """<V, g ⊗ x> for V of shape (K p,)."""
    return np.dot(g, np.dot(V.reshape((g.shape[0], x.shape[0])), x))


@kernel
def soba_update(R, r, basis, W, sums, theta, x, right, p, z, u, g):
    """One correct round: g = z/√p', z = (e_ȳ − e_right) ⊗ x/√p', ȳ the best other class.

    ``m = (<W,z>² + 2<W,g>)/(1 + zᵀA⁻¹z)``; if m + Σ m_s over earlier updates is not negative,
    ``A ← A + zzᵀ`` and ``b ← b − g = b − z/√p'``, and ``W ← A⁻¹b``; see `reduce_term`, `rotate_in`.
    """
    root = np.sqrt(p)
    clear(g)
    g[best_other(theta, right)], g[right] = 1.0 / root, -1.0 / root
    inner = along(W, g, x)
    reduce_term(basis, g, x, z)
    q = solve_transposed(R, z, u)
    m = (inner * inner + 2.0 * inner / root) / (1.0 + q)
    if m + sums[0] < 0.0:
        return
    sums[0] += m
    sums[1] += q / (p * (1.0 + q))
    rotate_in(R, r, z, -1.0 / root)
    solve_upper(R, r, u)
    expand(basis, u, W)


class SecondOrderWeights(State):
    """Weights W = A⁻¹b of the second-order Perceptron, A = aI at first; see `soba_update`."""

    def __init__(self, K: int, width: int, a: float) -> None:
        size = (K - 1) * width
        self.W = np.zeros((K, width))
        self._factor = (math.sqrt(a) * np.eye(size), np.zeros(size), np.zeros((K - 1, K)))
        self.sums = np.zeros(2)
        self._scratch = (np.empty(size), np.empty(size), np.empty(K))

    def learn(self, theta: Floats, x: Floats, right: int, propensity: float = 1.0) -> None:
        """Learn one row whose class is `right`, played with this propensity at the scores theta."""
        learned = (*self._factor, self.W.reshape(-1), self.sums)
        soba_update(*learned, theta, x, right, propensity, *self._scratch)
