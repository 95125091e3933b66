"""The forecaster that averages softmax over a Gaussian of weights."""

import math
from functools import lru_cache

import numpy as np
from scipy.special import ndtri
from scipy.stats.qmc import Sobol
from sklearn.base import BaseEstimator

from skstructured._base.component import parameters
from skstructured._base.docstrings import documented
from skstructured._base.validation import check_size
from skstructured._engine.compiled import kernel
from skstructured.estimators.logistic._base import LogisticLearner
from skstructured.estimators.logistic._curvature import curvature
from skstructured.estimators.logistic._logits import improper_logits
from skstructured.estimators.logistic._rounds import (
    CENTRE,
    HESSIAN,
    LOGIT,
    ROOT,
    SCORE,
    SHARE,
    TARGET,
    FolkloreMatrix,
    S,
    cholesky,
    class_scores,
    learn_row,
    scratch,
)
from skstructured.estimators.logistic.folklore import LONGEST_OF_UNIT, FolkloreClassifier, alpha_of
from skstructured.spaces.simplex import softmax_into

__all__ = ["GaussianAggregatingForecaster"]

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
    cholesky(half, C, r)
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
def _predict(x, points, P, G, Q, space, out):
    """Logarithms of E softmax(z), z ∼ N(m, Ã); m is left in the vector `SCORE` of `space`."""
    V, _, small, vectors, scores, _, sums, _, _ = space
    m, mean = vectors[SCORE], vectors[CENTRE]
    class_scores(P, G, Q, x, 1.0, V, small[S], scores, m, sums)
    for k in range(Q.shape[1]):
        m[k] -= 0.5 * scores[k, k]
    mean_shares(Q, small, m, points, vectors[LOGIT], vectors[SHARE], mean)
    for k in range(Q.shape[1]):
        out[k] = np.log(max(mean[k], 1e-300))


@kernel
def _gaussian_rounds(X, truth, weight, learns, reach, points, learned, Q, logits):
    """Play the rows, and learn them if it `learns`; `logits` receives log E softmax(z)."""
    _, P, G, _, _, _ = learned
    space = scratch(Q.shape[0], Q.shape[1], X.shape[1])
    vectors, scores, work = space[3], space[4], space[5]
    for t in range(X.shape[0]):
        x, w = X[t], weight[t]
        _predict(x, points, P, G, Q, space, logits[t])
        if not (learns and w > 0.0):
            continue
        for k in range(Q.shape[1]):  # the centre is z = m − wÃ(softmax(z) − y)
            vectors[TARGET, k] = truth[t, k]
            for j in range(Q.shape[1]):
                scores[k, j] *= w
                vectors[SCORE, k] += scores[k, j] * truth[t, j]
        improper_logits(scores, vectors[SCORE], vectors[LOGIT], vectors[SHARE], work)
        learn_row(x, w, curvature(x, reach), learned, Q, space)


class GaussianMatrix(FolkloreMatrix):
    """`FolkloreMatrix` with a Gaussian of mean −½A⁻¹G and covariance ½A⁻¹ over the weights."""

    rounds = staticmethod(_gaussian_rounds)

    @property
    def constants(self):
        """`reach`, and the points that means go over, which are no part of what is learned."""
        return self.reach, gaussian_points(len(self.Q))

    @property
    def products(self):
        """About how many products a round takes; an exponential counts as ten."""
        return super().products + 10 * len(self.constants[1]) * self.Q.shape[1]


@documented(FolkloreClassifier)
@parameters
class GaussianAggregatingForecaster(LogisticLearner, BaseEstimator):
    r"""Predicts the mean of softmax over a Gaussian of weights, as a Bayesian would.

    With A and G as in `FolkloreClassifier`, the weights are ``N(−½A⁻¹G, ½A⁻¹)``. A row x then has
    logits ``z ∼ N(m, S)``, and the prediction is ``E softmax(z)``:

    .. math:: m_k = -\tfrac12 ⟨x, (A^{-1}G)_k⟩, \quad S_{ij} = \tfrac12 x^⊤[A^{-1}]_{ij}x.

    After y, the loss is expanded at the z with ``z = m − S(softmax(z) − y)``. The mean is one
    integral for two classes, taken to 1e-10, and goes over 2048 points of Sobol's sequence, always
    the same, for more, or 256 of them where it is narrow: probabilities are then off by at most
    0.01 up to 26 classes, whatever B (by about 0.002 for three classes, and 0.005 for five).

    Parameters
    ----------
    radius : float, default=1.0
        Bound on ‖U_k‖ of every class for which κ is made, in units of the standardised features.
        Smaller settles sooner, larger goes on following what changes.
    {FolkloreClassifier: feature_norm, alpha, iterate, decoder, standardize, missing, fit_intercept,
    shuffle, verbose, random_state}

    Attributes
    ----------
    {FolkloreClassifier: classes_, space_, loss_, t_, random_state_, n_features_in_,
    feature_names_in_}

    Raises
    ------
    {FolkloreClassifier: ValueError}

    Notes
    -----
    Memory: K(K−1)p² doubles. No bound is stated. Its paper's bound has no explicit constants,
    and κ is that of `FolkloreClassifier`.

    References
    ----------
    Jézéquel, Gaillard, Rudi (2021), "Mixability made efficient: fast online multiclass logistic
    regression".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import GaussianAggregatingForecaster
    >>> X, y = load_iris(return_X_y=True)
    >>> GaussianAggregatingForecaster(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    radius: float = 1.0
    feature_norm: float | None = None
    alpha: float | None = None

    def _new_weights(self, K, width):
        B = check_size("radius", self.radius)
        return GaussianMatrix(K, width, alpha_of(self, B), B, self.feature_norm or 0.0)

    @property
    def longest_row(self) -> float:
        """The largest norm of a row that is taken as it is."""
        return LONGEST_OF_UNIT * math.sqrt(alpha_of(self, check_size("radius", self.radius)))

    _no_theorem = "Its paper's bound has no explicit constants."
