"""An approximation of A where all of it is too large: a block for each class."""

import numpy as np

from skstructured._engine.compiled import kernel
from skstructured._engine.state import Learned
from skstructured.estimators.logistic._curvature import curvature, inner
from skstructured.estimators.logistic._full_matrix import RoundLimit
from skstructured.estimators.logistic._logits import WORK, improper_logits

#: Rows of `vectors` behind the work space of logits: Ã, g, z and its softmax.
LOGIT, SHARE, ROWS = WORK + 2, WORK + 3, WORK + 4


@kernel
def _shrink(P, v, factor):
    """P ← P − factor vvᵀ."""
    for a in range(v.shape[0]):
        row, f = P[a], factor * v[a]
        for b in range(v.shape[0]):
            row[b] -= f * v[b]


@kernel
def _play_row(P, G, x, w, V, q, vectors):
    """The logits of a row, in `vectors`, and their softmax; the residual that is left.

    Ã is diagonal: it is a vector, and an equation for logits takes K products.
    """
    scores, g = vectors[WORK], vectors[WORK + 1]
    for k in range(G.shape[0]):
        for a in range(x.shape[0]):
            V[k, a] = inner(P[k, a], x)
        q[k] = inner(V[k], x)
        scores[k] = 0.5 * w * q[k]
        g[k] = 0.5 * scores[k] - 0.5 * inner(V[k], G[k])
    return improper_logits(scores, g, vectors[LOGIT], vectors[SHARE], vectors)


@kernel
def _blocks_rounds(X, truth, weight, reach, P, G, logits):
    """FOLKLORE's rounds where blocks of different classes are taken to be 0; largest residual."""
    K, p = G.shape
    V, q, vectors, left = np.empty((K, p)), np.empty(K), np.empty((ROWS, K)), 0.0
    z, s = vectors[LOGIT], vectors[SHARE]
    for t in range(X.shape[0]):
        x, w = X[t], weight[t]
        residual = _play_row(P, G, x, w, V, q, vectors)
        for k in range(K):
            logits[t, k] = z[k]
        if w == 0.0:
            continue
        kappa, mean, left = curvature(x, reach), inner(s, z), max(left, residual)
        for k in range(K):
            grown = w * kappa * s[k] * (1.0 - s[k])
            _shrink(P[k], V[k], grown / (1.0 + grown * q[k]))
            c = s[k] - truth[t, k] - 2.0 * kappa * s[k] * (z[k] - mean)
            for a in range(p):
                G[k, a] += w * c * x[a]
    return left


@kernel
def _blocks_logits(X, P, G, logits):
    """The logits of rows, with what has been learned."""
    K, p = G.shape
    V, q, vectors = np.empty((K, p)), np.empty(K), np.empty((ROWS, K))
    for t in range(X.shape[0]):
        _play_row(P, G, X[t], 1.0, V, q, vectors)
        for k in range(K):
            logits[t, k] = vectors[LOGIT, k]


class ClassBlocks(Learned):
    """The blocks of A of one class each, kept as inverses (K, p, p).

    Parameters
    ----------
    K, width : int
        Classes, and features with the intercept.
    lam : float
        λ: A starts at λI.
    reach : ndarray of shape (3,)
        2B, ln(K − 1) and R (0: the norm of the row), of which κ is made.
    """

    structure, exact = "classes", False

    def __init__(self, K, width, lam, reach):
        self.lam, self.reach, self.residual = lam, reach, 0.0
        self.G = np.zeros((K, width))
        self.P = np.repeat(np.eye(width)[None] / lam, K, axis=0)

    @property
    def limits(self):
        """How large rounds may be, a list of `RoundLimit`."""
        return [RoundLimit(self.lam, 1, f"lam={self.lam:g}")]

    @property
    def products(self):
        """About how many products a round takes."""
        return 3 * self.P.size

    def learn(self, X, truth, weight):
        """Play and learn rows; their logits (n, K)."""
        logits = np.empty(truth.shape)
        left = _blocks_rounds(X, truth, weight, self.reach, self.P, self.G, logits)
        self.residual = max(self.residual, left)
        return logits

    def logits(self, X):
        """Logits (n, K) of rows; nothing is learned."""
        logits = np.empty((len(X), len(self.G)))
        _blocks_logits(X, self.P, self.G, logits)
        return logits
