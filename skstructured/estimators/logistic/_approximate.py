"""Approximations of A where all of it is too large: a block per class, or the diagonal."""

import warnings

import numpy as np

from skstructured._base.exceptions import GuaranteeWarning
from skstructured._base.validation import check_choice, check_integer
from skstructured._engine.compiled import kernel
from skstructured._engine.state import Learned
from skstructured.estimators.logistic._curvature import curvature, inner
from skstructured.estimators.logistic._heavy_rows import RoundLimit
from skstructured.estimators.logistic._many_logits import WORK, logits_of_many
from skstructured.estimators.logistic._state import FullMatrix

#: What may be kept of A.
STRUCTURES = ("auto", "full", "classes", "diagonal")

#: Rows of `vectors` behind the work space of logits: Ã, g, z and its softmax.
LOGIT, SHARE, ROWS = WORK + 2, WORK + 3, WORK + 4


@kernel
def multiply(P, x, v, diagonal):
    """v = P x; returns <x, v>. A diagonal P has one row."""
    total = 0.0
    for a in range(x.shape[0]):
        v[a] = P[0, a] * x[a] if diagonal else inner(P[a], x)
        total += v[a] * x[a]
    return total


@kernel
def shrink(P, x, v, q, c, diagonal):
    """P ← (P⁻¹ + c xxᵀ)⁻¹, v = Px, q = <x, v>; or of the diagonal of what is in brackets."""
    if diagonal:
        for a in range(x.shape[0]):
            P[0, a] /= 1.0 + c * P[0, a] * x[a] * x[a]
        return
    factor = c / (1.0 + c * q)
    for a in range(x.shape[0]):
        row, f = P[a], factor * v[a]
        for b in range(x.shape[0]):
            row[b] -= f * v[b]


@kernel
def play(P, G, x, w, V, q, vectors, diagonal):
    """The logits of a row, in `vectors`, and their softmax; the residual that is left.

    Ã is diagonal: it is one row, and an equation for logits takes K products.
    """
    scores, g = vectors[WORK : WORK + 1], vectors[WORK + 1]
    for k in range(G.shape[0]):
        q[k] = multiply(P[k], x, V[k], diagonal)
        scores[0, k] = 0.5 * w * q[k]
        g[k] = 0.5 * scores[0, k] - 0.5 * inner(V[k], G[k])
    return logits_of_many(scores, g, vectors[LOGIT], vectors[SHARE], vectors)


@kernel
def approximate_rounds(X, truth, weight, reach, P, G, logits, diagonal):
    """`folklore_rounds` where blocks of different classes are taken to be 0; largest residual."""
    K, p = G.shape
    V, q, vectors, left = np.empty((K, p)), np.empty(K), np.empty((ROWS, K)), 0.0
    z, s = vectors[LOGIT], vectors[SHARE]
    for t in range(X.shape[0]):
        x, w = X[t], weight[t]
        residual = play(P, G, x, w, V, q, vectors, diagonal)
        for k in range(K):
            logits[t, k] = z[k]
        if w == 0.0:
            continue
        kappa, mean, left = curvature(x, reach), inner(s, z), max(left, residual)
        for k in range(K):
            shrink(P[k], x, V[k], q[k], w * kappa * s[k] * (1.0 - s[k]), diagonal)
            c = s[k] - truth[t, k] - 2.0 * kappa * s[k] * (z[k] - mean)
            for a in range(p):
                G[k, a] += w * c * x[a]
    return left


@kernel
def approximate_logits(X, P, G, logits, diagonal):
    """The logits of rows, with what has been learned."""
    K, p = G.shape
    V, q, vectors = np.empty((K, p)), np.empty(K), np.empty((ROWS, K))
    for t in range(X.shape[0]):
        play(P, G, X[t], 1.0, V, q, vectors, diagonal)
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

    structure, exact, diagonal = "classes", False, False

    def __init__(self, K, width, lam, reach):
        self.lam, self.reach, self.residual = lam, reach, 0.0
        self.G = np.zeros((K, width))
        unit = np.ones((1, width)) if self.diagonal else np.eye(width)
        self.P = np.repeat(unit[None] / lam, K, axis=0)

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
        learned = (self.reach, self.P, self.G)
        left = approximate_rounds(X, truth, weight, *learned, logits, self.diagonal)
        self.residual = max(self.residual, left)
        return logits

    def logits(self, X):
        """Logits (n, K) of rows; nothing is learned."""
        logits = np.empty((len(X), len(self.G)))
        approximate_logits(X, self.P, self.G, logits, self.diagonal)
        return logits


class Diagonal(ClassBlocks):
    """The diagonal of A, kept as its inverse (K, 1, p)."""

    structure, diagonal = "diagonal", True


def chosen(structure, max_weights, K, width):
    """The class for a `structure`; "auto" warns where it does not keep all of A."""
    check_choice("structure", structure, STRUCTURES)
    check_integer("max_weights", max_weights)
    kinds = {kind.structure: kind for kind in (FullMatrix, ClassBlocks, Diagonal)}
    if structure != "auto":
        return kinds[structure]
    if (K - 1) * width <= max_weights:
        return FullMatrix
    found = ClassBlocks if K * width**2 <= max_weights**2 else Diagonal
    warnings.warn(
        f"{K} classes and {width} features have {(K - 1) * width} weights, more than "
        f"max_weights={max_weights}: structure={found.structure!r} is used, to which the theorem "
        "does not apply.",
        GuaranteeWarning,
        stacklevel=2,
    )
    return found
