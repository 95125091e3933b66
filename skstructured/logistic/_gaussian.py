"""The forecaster that averages softmax over a Gaussian, and its rounds."""

import numpy as np

from skstructured._engine.compiled import kernel
from skstructured.logistic._curvature import curvature
from skstructured.logistic._logits import improper_logits, root_of_hessian
from skstructured.logistic._rounds import (
    HESSIAN,
    LOGIT,
    ROOT,
    SCORE,
    SHARE,
    TARGET,
    TRIAL,
    S,
    class_scores,
    learn_row,
    scratch,
)
from skstructured.logistic._state import FullMatrix
from skstructured.spaces.simplex import softmax_into

#: Nodes of quadrature in one and in two dimensions, and draws, in pairs, in more.
NODES, NODES_OF_TWO, DRAWS = 32, 12, 128


def gaussian_nodes(r, rng):
    """Points (m, r) and weights (m,) whose weighted means are those of a standard Gaussian."""
    if r <= 2:
        points, weights = np.polynomial.hermite_e.hermegauss(NODES if r == 1 else NODES_OF_TWO)
        grid = np.meshgrid(*([points] * r), indexing="ij")
        mass = np.prod(np.meshgrid(*([weights / weights.sum()] * r), indexing="ij"), axis=0)
        return np.stack([axis.ravel() for axis in grid], axis=1), mass.ravel()
    drawn = rng.standard_normal((DRAWS, r))
    return np.vstack([drawn, -drawn]), np.full(2 * DRAWS, 0.5 / DRAWS)


@kernel
def mean_shares(Q, small, m, points, mass, z, s, mean):
    """Mean = E softmax(m + Qᵀ C e), e the points, ``C Cᵀ = ½S``."""
    r, K = Q.shape
    half, C = small[HESSIAN], small[ROOT]
    for i in range(r):
        for j in range(r):
            half[i, j] = 0.5 * small[S, i, j]
    root_of_hessian(half, C)
    for k in range(K):
        mean[k] = 0.0
    for n in range(points.shape[0]):
        for k in range(K):
            z[k] = m[k]
        for i in range(r):
            total = 0.0
            for j in range(i + 1):
                total += C[i, j] * points[n, j]
            for k in range(K):
                z[k] += Q[i, k] * total
        softmax_into(z, s)
        for k in range(K):
            mean[k] += mass[n] * s[k]


@kernel
def _predict(P, G, Q, x, points, mass, V, small, vectors, scores):
    """E softmax(z) in `vectors[TRIAL]`, z ∼ N(m, Ã), and m in `vectors[SCORE]`."""
    class_scores(P, G, Q, x, 1.0, V, small[S], scores, vectors[SCORE])
    for k in range(Q.shape[1]):
        vectors[SCORE, k] -= 0.5 * scores[k, k]
    parts = (vectors[SCORE], points, mass, vectors[LOGIT], vectors[SHARE], vectors[TRIAL])
    mean_shares(Q, small, parts[0], parts[1], parts[2], parts[3], parts[4], parts[5])


@kernel
def gaussian_rounds(
    X, truth, weight, reach, points, mass, A, P, G, Q, waiting, factors, numbers, logits
):
    """Play and learn the rows; `logits` receives logarithms of E softmax(z)."""
    r, K = Q.shape
    V, L, small, vectors, scores, system = scratch(r, K, X.shape[1])
    for t in range(X.shape[0]):
        x, w = X[t], weight[t]
        _predict(P, G, Q, x, points, mass, V, small, vectors, scores)
        for k in range(K):
            logits[t, k] = np.log(max(vectors[TRIAL, k], 1e-300))
            vectors[TARGET, k] = truth[t, k]
        if w == 0.0:
            continue
        for k in range(K):  # the centre is z = m − wÃ(softmax(z) − y)
            for j in range(K):
                scores[k, j] *= w
                vectors[SCORE, k] += scores[k, j] * truth[t, j]
        improper_logits(scores, vectors, system)
        kappa = curvature(x, reach)
        learn_row(x, w, kappa, A, P, G, Q, waiting, factors, numbers, V, L, small, vectors)


@kernel
def gaussian_logits(X, points, mass, P, G, Q, logits):
    """Logarithms of E softmax(z) of rows, with what has been learned."""
    r, K = Q.shape
    V, _, small, vectors, scores, _ = scratch(r, K, X.shape[1])
    for t in range(X.shape[0]):
        _predict(P, G, Q, X[t], points, mass, V, small, vectors, scores)
        for k in range(K):
            logits[t, k] = np.log(max(vectors[TRIAL, k], 1e-300))


class GaussianMatrix(FullMatrix):
    """`FullMatrix` with a Gaussian of mean −½A⁻¹G and covariance ½A⁻¹ over the weights.

    Parameters
    ----------
    K, width, lam, reach
        As in `FullMatrix`.
    rng : RandomState
        Draws the points that a Gaussian in more than two dimensions is averaged over, once.
    """

    def __init__(self, K, width, lam, reach, rng):
        super().__init__(K, width, lam, reach)
        self.points, self.mass = gaussian_nodes(K - 1, rng)

    def logits(self, X):
        """Logarithms (n, K) of the probabilities of rows; nothing is learned."""
        logits = np.empty((len(X), self.Q.shape[1]))
        gaussian_logits(X, self.points, self.mass, self.P, self.G, self.Q, logits)
        return logits

    def _run(self, X, truth, weight, logits):
        given = (X, truth, weight, self.reach, self.points, self.mass)
        learned = (self.A, self.P, self.G, self.Q, *self._waiting, self.numbers)
        gaussian_rounds(*given, *learned, logits)
