"""Bandit learners that keep the inverse of a (Kp, Kp) matrix by rank-one updates."""

import numpy as np

from skstructured._compiled import FASTMATH, kernel
from skstructured._linear import LinearWeights
from skstructured._validation import check_share
from skstructured.bandits._base import BanditClassifier


@kernel(fastmath=FASTMATH)
def times(M, g, x, v):
    """v = M (g ⊗ x) for a symmetric M; classes with g_k = 0 are passed over."""
    p = x.shape[0]
    for i in range(M.shape[0]):
        total = 0.0
        for k in range(g.shape[0]):
            if g[k] != 0.0:
                part, row = 0.0, M[i, k * p : (k + 1) * p]
                for j in range(p):
                    part += row[j] * x[j]
                total += g[k] * part
        v[i] = total


@kernel(fastmath=FASTMATH)
def rank_one(M, factor, v):
    """M ← M + factor v vᵀ."""
    for i in range(M.shape[0]):
        c, row = factor * v[i], M[i]
        for j in range(M.shape[1]):
            row[j] += c * v[j]


@kernel(fastmath=FASTMATH)
def along(V, g, x):
    """<V, g ⊗ x> for V of shape (K p,)."""
    p, total = x.shape[0], 0.0
    for k in range(g.shape[0]):
        if g[k] != 0.0:
            part = 0.0
            for j in range(p):
                part += V[k * p + j] * x[j]
            total += g[k] * part
    return total


class SecondOrderBandit(LinearWeights, BanditClassifier):
    """Bandit learners with dense weights W (K, p [+ 1]) and matrices over them."""

    def _setup(self, dim, width):
        self._W = np.zeros((dim, width))

    def _dense(self, X):
        """Rows as a dense array, the intercept's 1 appended."""
        X = np.asarray(X.todense()) if hasattr(X, "todense") else X
        return np.hstack([X, np.ones((len(X), 1))]) if self._intercept else X

    def _thetas(self, X):
        return self._dense(X) @ self._W.T

    def _rho(self):
        """ρ as given, or ``min(½, √(K/T))``."""
        if self.exploration is not None:
            return float(self.exploration)
        rounds = self.horizon or self.t_ + 1
        return min(0.5, np.sqrt(len(self.classes_) / rounds))

    def _check_parameters(self):
        super()._check_parameters()
        given = getattr(self, "exploration", None)
        if given is not None:
            check_share("exploration", given)

    def _weights(self):
        if not hasattr(self, "classes_"):
            raise AttributeError("weights are there after the first round.")
        return self._W.copy()
