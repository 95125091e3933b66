"""The forecaster that averages softmax over a Gaussian, and its rounds."""

import math
from functools import lru_cache

import numpy as np
from scipy.special import ndtri
from scipy.stats.qmc import Sobol

from skstructured._engine.compiled import kernel
from skstructured.estimators.logistic._cells import learn_row
from skstructured.estimators.logistic._curvature import curvature
from skstructured.estimators.logistic._logits import improper_logits, root_of_hessian
from skstructured.estimators.logistic._rounds import (
    HESSIAN,
    LOGIT,
    ROOT,
    SCORE,
    SHARE,
    TARGET,
    TRIAL,
    S,
    class_scores,
    scratch,
)
from skstructured.estimators.logistic._state import FullMatrix
from skstructured.spaces.simplex import softmax_into

#: Points that a Gaussian in two dimensions or more is averaged over, see `gaussian_points`; and how
#: many of them, the first, where all its variances sum to `NARROW` at most.
POINTS, FEW, NARROW = 2048, 256, 1.0

#: The integral of two classes: step of the trapezoidal rule; how far it goes where weights fall
#: like a Gaussian's and like exp(−|u|); deviations beyond which the latter need not go further.
STEP, TAIL, FAR, WIDE = 0.5, 9.5, 37.0, 8.0


@lru_cache(maxsize=16)
def gaussian_points(r):
    """Points (POINTS, r) whose mean is that of a standard Gaussian: Sobol's, always the same.

    Means of softmax over them are right to 0.01 for Gaussians of any width, and of up to 26
    classes: 0.002 for three, 0.005 for five.
    """
    if r == 1:
        return np.zeros((0, 1))
    return ndtri(Sobol(r, scramble=True, seed=np.random.default_rng(0)).random(POINTS))


@kernel
def _sigmoid(x):
    e = math.exp(-abs(x))
    return (1.0 if x >= 0.0 else e) / (1.0 + e)


@kernel
def mean_sigmoid(mean, deviation):
    """E σ(u), u Gaussian, for mean ≤ 0: 1e-12 off at most, whatever the deviation s.

    By the trapezoidal rule, whose error falls like ``exp(−2π d/h)`` where the integrand is analytic
    in a strip of half width d. For s ≤ 1 it goes over the Gaussian, where d = π/s; for larger s
    over the logistic law, by ``E σ(u) = ∫ σ'(v) Φ((mean − v)/s) dv``, where d = π.
    """
    total = 0.0
    if deviation <= 1.0:
        half = int(TAIL / STEP)
        for n in range(-half, half + 1):
            e = n * STEP
            total += math.exp(-0.5 * e * e) * _sigmoid(mean + deviation * e)
        return total * STEP / math.sqrt(2.0 * math.pi)
    centre = min(0.0, mean + deviation * deviation)  # near the largest value of the integrand
    half = int((FAR + TAIL * min(deviation, WIDE)) / STEP)
    for n in range(-half, half + 1):
        v = centre + n * STEP
        share = _sigmoid(v) * _sigmoid(-v)
        total += share * 0.5 * math.erfc((v - mean) / (deviation * math.sqrt(2.0)))
    return total * STEP


@kernel
def mean_of_two(Q, variance, m, mean):
    """Mean = E softmax(m + Qᵀe) for two classes, e of this variance."""
    apart = m[1] - m[0]
    least = mean_sigmoid(-abs(apart), math.sqrt(max(variance, 0.0)) * abs(Q[0, 1] - Q[0, 0]))
    mean[0], mean[1] = (1.0 - least, least) if apart < 0.0 else (least, 1.0 - least)


@kernel
def mean_shares(Q, small, m, points, z, s, mean):
    """Mean = E softmax(m + Qᵀ C e), ``C Cᵀ = ½S``: for more than two classes over points e."""
    r, K = Q.shape
    half, C = small[HESSIAN], small[ROOT]
    if r == 1:
        mean_of_two(Q, 0.5 * small[S, 0, 0], m, mean)
        return
    width = 0.0
    for i in range(r):
        width += 0.5 * small[S, i, i]
        for j in range(r):
            half[i, j] = 0.5 * small[S, i, j]
    root_of_hessian(half, C, r)
    size = FEW if width <= NARROW else POINTS
    for k in range(K):
        mean[k] = 0.0
    for n in range(size):
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
            mean[k] += s[k]
    for k in range(K):
        mean[k] /= size


@kernel
def _predict(P, G, Q, x, points, V, small, vectors, scores):
    """E softmax(z) in `vectors[TRIAL]`, z ∼ N(m, Ã), and m in `vectors[SCORE]`."""
    class_scores(P, G, Q, x, 1.0, V, small[S], scores, vectors[SCORE], vectors[TRIAL])
    for k in range(Q.shape[1]):
        vectors[SCORE, k] -= 0.5 * scores[k, k]
    parts = (vectors[SCORE], points, vectors[LOGIT], vectors[SHARE], vectors[TRIAL])
    mean_shares(Q, small, parts[0], parts[1], parts[2], parts[3], parts[4])


@kernel
def gaussian_rounds(X, truth, weight, reach, points, P, G, Q, waiting, factors, numbers, logits):
    """Play and learn the rows; `logits` receives logarithms of E softmax(z)."""
    r, K = Q.shape
    V, L, small, vectors, scores, system = scratch(r, K, X.shape[1])
    cell = np.empty(K, dtype=np.int64)
    for t in range(X.shape[0]):
        x, w = X[t], weight[t]
        _predict(P, G, Q, x, points, V, small, vectors, scores)
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
        learn_row(x, w, kappa, P, G, Q, waiting, factors, numbers, V, L, small, vectors, cell)


@kernel
def gaussian_logits(X, points, P, G, Q, logits):
    """Logarithms of E softmax(z) of rows, with what has been learned."""
    r, K = Q.shape
    V, _, small, vectors, scores, _ = scratch(r, K, X.shape[1])
    for t in range(X.shape[0]):
        _predict(P, G, Q, X[t], points, V, small, vectors, scores)
        for k in range(K):
            logits[t, k] = np.log(max(vectors[TRIAL, k], 1e-300))


class GaussianMatrix(FullMatrix):
    """`FullMatrix` with a Gaussian of mean −½A⁻¹G and covariance ½A⁻¹ over the weights.

    Parameters
    ----------
    K, width : int
        Classes, and features with the intercept.
    lam : float
        λ: A starts at λI.
    reach : ndarray of shape (3,)
        2B, ln(K − 1) and R (0: the norm of the row), of which κ is made.
    """

    _adds_within = False

    @property
    def points(self):
        """The points that means go over; they are no part of what is learned."""
        return gaussian_points(len(self.Q))

    @property
    def products(self):
        """About how many products a round takes; an exponential counts as ten."""
        return super().products + 10 * self.points.shape[0] * self.Q.shape[1]

    def logits(self, X):
        """Logarithms (n, K) of the probabilities of rows; nothing is learned."""
        logits = np.empty((len(X), self.Q.shape[1]))
        gaussian_logits(X, self.points, self.P, self.G, self.Q, logits)
        return logits

    def _run(self, X, truth, weight, logits):
        given = (X, truth, weight, self.reach, self.points)
        learned = (self.P, self.G, self.Q, *self._waiting, self.numbers)
        return gaussian_rounds, *given, *learned, logits
