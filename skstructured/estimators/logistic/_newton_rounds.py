"""Rounds of online Newton steps: ``A ← A + ggᵀ``, and a projection when a row arrives."""

import math

import numpy as np

from skstructured._engine.compiled import kernel
from skstructured.estimators.logistic._blocks import downdate, products
from skstructured.estimators.logistic._curvature import inner
from skstructured.estimators.logistic._heavy_rows import RoundLimit
from skstructured.estimators.logistic._rounds import LOGIT, POTENTIAL, SHARE, TARGET, scratch, wait
from skstructured.estimators.logistic._state import FullMatrix
from skstructured.spaces.simplex import softmax_into

#: The place of the largest 1/γ that the theorem asks for, after those of `FullMatrix`.
SHARPEST = 3

#: Sweeps of coordinate descent, and the change that ends them, in units of the bound.
MOST_SWEEPS, STILL = 10000, 1e-15


@kernel
def in_the_box(S, u, bound, multipliers, z):
    """z = argmin (z − u)ᵀS⁻¹(z − u) over |z_k| ≤ bound, as z = u − S m; whether m is not 0.

    Coordinate descent on the dual, ``½ mᵀSm − mᵀu + bound ‖m‖₁``.
    """
    K, inside = u.shape[0], True
    for k in range(K):
        multipliers[k], z[k] = 0.0, u[k]
        inside &= abs(u[k]) <= bound
    if inside:
        return False
    for _ in range(MOST_SWEEPS):
        moved = 0.0
        for k in range(K):
            if S[k, k] <= 0.0:
                continue
            free = z[k] + S[k, k] * multipliers[k]
            new = math.copysign(max(abs(free) - bound, 0.0), free) / S[k, k]
            step = new - multipliers[k]
            if step != 0.0:
                multipliers[k] = new
                for j in range(K):
                    z[j] -= S[j, k] * step
            moved = max(moved, abs(step) * S[k, k])
        if moved <= STILL * bound:
            break
    return True


@kernel
def _project(W, V, multipliers):
    """W ← W − A⁻¹ (m ⊗ x)."""
    for i in range(W.shape[0]):
        for k in range(W.shape[0]):
            for a in range(W.shape[1]):
                W[i, a] -= multipliers[k] * V[i, k, a]


@kernel
def _newton_step(W, V, d, q, gamma, L):
    """L = A⁻¹g/√(1 + q) for g = d ⊗ x and q = gᵀA⁻¹g, and W ← W − (A + ggᵀ)⁻¹g/γ."""
    root = 1.0 / math.sqrt(1.0 + q)
    for i in range(W.shape[0]):
        out = L[i, 0]
        for a in range(W.shape[1]):
            out[a] = 0.0
        for j in range(W.shape[0]):
            for a in range(W.shape[1]):
                out[a] += d[j] * V[i, j, a]
        for a in range(W.shape[1]):
            out[a] *= root
            W[i, a] -= root * out[a] / gamma


@kernel
def newton_rounds(X, truth, weight, B, gamma, P, W, waiting, factors, numbers, logits):
    """Play and learn the rows; `logits` receives every Wx."""
    K = W.shape[0]
    V, L, small, vectors, outer, _ = scratch(K, K, X.shape[1])
    z, s, d, u, m = vectors[LOGIT], vectors[SHARE], vectors[TARGET], vectors[3], vectors[4]
    for t in range(X.shape[0]):
        x, w, q = X[t], weight[t], 0.0
        products(P, x, V, small[0])
        for k in range(K):
            u[k] = inner(W[k], x)
        if in_the_box(small[0], u, B * math.sqrt(inner(x, x)), m, z) and w > 0.0:
            _project(W, V, m)
        softmax_into(z, s)
        for k in range(K):
            logits[t, k] = z[k]
            d[k] = w * (s[k] - truth[t, k])
        if w == 0.0:
            continue
        for i in range(K):
            for j in range(K):
                outer[i, j] = d[i] * d[j]
                q += outer[i, j] * small[0, i, j]
        reach = B * math.sqrt(inner(x, x))
        least = max(4.0 * reach, (K - 1.0) * math.exp(min(2.0 * reach, 700.0)))
        numbers[SHARPEST] = max(numbers[SHARPEST], 2.0 * w * least)
        numbers[POTENTIAL] += q / (1.0 + q)
        _newton_step(W, V, d, q, gamma, L)
        downdate(P, L, 1)
        wait(x, outer, 1.0, waiting, factors, numbers)


@kernel
def newton_logits(X, B, P, W, logits):
    """The projected scores of rows, with what has been learned."""
    K = W.shape[0]
    V, _, small, vectors, _, _ = scratch(K, K, X.shape[1])
    z, u, m = vectors[LOGIT], vectors[3], vectors[4]
    for t in range(X.shape[0]):
        x, bound, inside = X[t], B * math.sqrt(inner(X[t], X[t])), True
        for k in range(K):
            u[k] = inner(W[k], x)
            inside &= abs(u[k]) <= bound
        if not inside:
            products(P, x, V, small[0])
        in_the_box(small[0], u, bound, m, z)
        for k in range(K):
            logits[t, k] = z[k]


class NewtonMatrix(FullMatrix):
    """A = A₀ + Σ ggᵀ over the weights of all K classes, A₀ = I/(γ²KB²), and W.

    Parameters
    ----------
    K, width : int
        Classes, and features with the intercept.
    B, gamma : float
        Bound on ‖W_k‖, and γ.
    """

    _adds_within = False

    def __init__(self, K, width, B, gamma):
        super().__init__(K, width, (gamma * B) ** -2.0 / K, None)
        self.B, self.gamma, self.numbers = B, gamma, np.zeros(4)

    def _basis(self, K):
        return np.eye(K)

    @property
    def limits(self):
        """How large rounds may be, a list of `RoundLimit`."""
        return [RoundLimit(self.lam, 2, f"1/(gamma² K B²)={self.lam:g}")]

    def logits(self, X):
        """Projected scores (n, K) of rows; nothing is learned."""
        logits = np.empty((len(X), len(self.G)))
        newton_logits(X, self.B, self.P, self.G, logits)
        return logits

    def _run(self, X, truth, weight, logits):
        learned = (self.P, self.G, *self._waiting, self.numbers)
        return newton_rounds, X, truth, weight, self.B, self.gamma, *learned, logits
