"""Forecasters that average softmax over weights: over a Gaussian, or over particles that move."""

import copy
import math
from functools import lru_cache

import numpy as np
from scipy.special import logsumexp, ndtri
from scipy.stats.qmc import Sobol

from skstructured._base.component import inherit_parameters, parameters_with
from skstructured._base.validation import check_integer, check_size
from skstructured._engine.compiled import kernel
from skstructured._engine.state import clear, copy_into
from skstructured._learners.online import OnlineEstimator
from skstructured._learners.predictions import DecodedPredictions
from skstructured.estimators._auto import given_decoder
from skstructured.estimators.logistic import _base
from skstructured.estimators.logistic._rounds import (
    cholesky,
    class_scores,
    curvature,
    improper_logits,
    learn_second_order_row,
    new_scratch,
)
from skstructured.estimators.logistic.folklore import (
    FolkloreClassifier,
    FolkloreMatrix,
    longest_row_of,
    matrices_of,
)
from skstructured.spaces.simplex import log_softmax, softmax_into, softmax_rows


@lru_cache(maxsize=16)
def gaussian_points(r, n_points=2048):
    """Points (n_points, r) that represent a standard Gaussian: Sobol's, always the same."""
    if r == 1:
        return np.zeros((0, 1))
    return ndtri(Sobol(r, scramble=True, seed=np.random.default_rng(0)).random(n_points))


@kernel
def _sigmoid(x):
    e = math.exp(-abs(x))
    return (1.0 if x >= 0.0 else e) / (1.0 + e)


@kernel
def mean_sigmoid(mean, deviation):
    """E σ(u), u Gaussian, for mean ≤ 0: 1e-12 off at most, whatever the deviation s.

    By the trapezoidal rule, whose error falls like ``exp(−2π d/h)`` for an integrand that is
    analytic in a strip of half width d. For s ≤ 1 it integrates over the Gaussian, with d = π/s;
    for larger s over the logistic law, by ``E σ(u) = ∫ σ'(v) Φ((mean − v)/s) dv``, with d = π.
    """
    total, step, gaussian_tail, logistic_tail = 0.0, 0.5, 9.5, 37.0
    if deviation <= 1.0:
        half = int(gaussian_tail / step)
        for n in range(-half, half + 1):
            e = n * step
            total += math.exp(-0.5 * e * e) * _sigmoid(mean + deviation * e)
        return total * step / math.sqrt(2.0 * math.pi)
    center = min(0.0, mean + deviation * deviation)  # near the largest value of the integrand
    half = int((logistic_tail + gaussian_tail * min(deviation, 8.0)) / step)
    for n in range(-half, half + 1):
        v = center + n * step
        share = _sigmoid(v) * _sigmoid(-v)
        total += share * 0.5 * math.erfc((v - mean) / (deviation * math.sqrt(2.0)))
    return total * step


def _mean_over_arrays(Q, points, space):
    r = len(Q)
    Z = space.score + points[:, :r] @ np.tril(space.root[:r, :r]).T @ Q
    space.center[:] = softmax_rows(Z)[0].mean(axis=0)


@kernel(python=_mean_over_arrays)
def mean_over_points(Q, points, space):
    """`center` = the mean of softmax(score + Qᵀ C e) over points e, C in `root`."""
    (r, K), mean, z, s = Q.shape, space.center, space.logit, space.share
    clear(mean)
    for n in range(points.shape[0]):
        copy_into(z, space.score)
        for i in range(r):
            total = 0.0
            for j in range(i + 1):
                total += space.root[i, j] * points[n, j]
            for k in range(K):
                z[k] += Q[i, k] * total
        softmax_into(z, s)
        for k in range(K):
            mean[k] += s[k]
    for k in range(K):
        mean[k] /= points.shape[0]


@kernel
def mean_shares(Q, points, space):
    """`center` = E softmax(score + Qᵀ C e), ``C Cᵀ = ½S``: over points e if classes are many."""
    r, S, half, C = len(Q), space.S, space.hessian, space.root
    m, mean = space.score, space.center
    if r == 1:
        apart = m[1] - m[0]
        deviation = math.sqrt(max(0.5 * S[0, 0], 0.0)) * abs(Q[0, 1] - Q[0, 0])
        least = mean_sigmoid(-abs(apart), deviation)
        mean[0], mean[1] = (1.0 - least, least) if apart < 0.0 else (least, 1.0 - least)
        return
    width = 0.0
    for i in range(r):
        width += 0.5 * S[i, i]
        for j in range(r):
            half[i, j] = 0.5 * S[i, j]
    cholesky(half, C, r)
    mean_over_points(Q, points[: 256 if width <= 1.0 else points.shape[0]], space)


@kernel
def predict_gaussian(x, points, P, G, Q, space, out):
    """Logarithms of E softmax(z), z ∼ N(m, Ã); m is left in the `score` of `space`."""
    class_scores(P, G, Q, x, 1.0, space)
    for k in range(Q.shape[1]):
        space.score[k] -= 0.5 * space.A[k, k]
    mean_shares(Q, points, space)
    for k in range(Q.shape[1]):
        out[k] = np.log(max(space.center[k], 1e-300))


@kernel
def _gaussian_rounds(X, truth, weight, learns, reach, points, learned, Q, logits):
    """Play the rows, and learn them if it `learns`; `logits` receives log E softmax(z)."""
    _, P, G, _, _, _ = learned
    space = new_scratch(Q.shape[0], Q.shape[1], X.shape[1])
    for t in range(X.shape[0]):
        x, w = X[t], weight[t]
        predict_gaussian(x, points, P, G, Q, space, logits[t])
        if not (learns and w > 0.0):
            continue
        for k in range(Q.shape[1]):  # the center is z = m − wÃ(softmax(z) − y)
            space.target[k] = truth[t, k]
            for j in range(Q.shape[1]):
                space.A[k, j] *= w
                space.score[k] += space.A[k, j] * truth[t, j]
        improper_logits(space.A, space.score, space.logit, space.share, space.work)
        learn_second_order_row(x, w, curvature(x, reach), learned, Q, space)


class GaussianMatrix(FolkloreMatrix):
    """`FolkloreMatrix` with a Gaussian of mean −½A⁻¹G and covariance ½A⁻¹ over the weights."""

    rounds = staticmethod(_gaussian_rounds)

    @property
    def constants(self):
        """`reach`, and the points of the averages, which are not part of the learned state."""
        return self.reach, gaussian_points(len(self.Q))


@inherit_parameters(FolkloreClassifier)
@parameters_with(_base.LogisticParameters)
class GaussianAggregatingForecaster(DecodedPredictions, OnlineEstimator):
    r"""Predict the mean of softmax over a Gaussian of weights, as in Bayesian averaging.

    With A and G as in `FolkloreClassifier`, the weights are ``N(−½A⁻¹G, ½A⁻¹)`` [1]_. A row x then
    has logits ``z ∼ N(m, S)``, and the prediction is ``E softmax(z)``:

    .. math:: m_k = -\tfrac12 ⟨x, (A^{-1}G)_k⟩, \quad S_{ij} = \tfrac12 x^⊤[A^{-1}]_{ij}x.

    After y, the loss is expanded at the z with ``z = m − S(softmax(z) − y)``. For two classes the
    mean is one integral, exact to 1e-10. For more classes it is an average over 2048 points of
    Sobol's sequence, always the same, or 256 of them if the Gaussian is narrow. The error of
    probabilities is then at most 0.01 for up to 26 classes and any B (about 0.002 for three
    classes, and 0.005 for five).

    Parameters
    ----------
    radius : float, default=1.0
        Bound B on ‖U_k‖ of every class, which determines κ, in units of the standardized features.
        A smaller one converges sooner, a larger one follows changes longer.
    {FolkloreClassifier: feature_norm, alpha, decoder, standardize, missing, fit_intercept, verbose,
    random_state}

    Attributes
    ----------
    {FolkloreClassifier: classes_, space_, loss_, t_, random_state_, n_features_in_,
    feature_names_in_}

    Raises
    ------
    {FolkloreClassifier: ValueError}

    See Also
    --------
    FolkloreClassifier : The faster learner, with a regret bound.
    AggregatingForecaster : An average over all weights of a ball, for very small problems.

    Notes
    -----
    Memory: K(K−1)p² doubles. No bound is available. The bound in its paper has no explicit
    constants, and κ is that of `FolkloreClassifier`.

    References
    ----------
    .. [1] Jézéquel, Gaillard, Rudi (2021). Mixability made efficient: fast online multiclass
       logistic regression. NeurIPS.

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

    loss, new_model, _given_decoder = "fenchel_young", _base.new_second_order_model, given_decoder
    _parts, _take_decoder = _base.logistic_parts, _base.take_decoder

    def _new_weights(self, K, width):
        check_size("radius", self.radius)
        return matrices_of(self, GaussianMatrix, K, width)[0]

    longest_row = property(longest_row_of)

    _no_theorem = "Its paper's bound has no explicit constants."


class Particles(_base.SecondOrderRounds):
    """Weights W of ‖W_k‖ ≤ B with density ∝ exp(−Σ w ℓ_t(W)), as a sample that is renewed.

    Particles are weighted by their losses. If fewer than half of them count, they are resampled by
    their weights and then moved by random walks that keep the density.
    """

    in_place, residual, limits = False, 0.0, ()
    #: A round is Python, and now and then goes over all rows so far.
    products = 1 << 28

    def __init__(self, K, width, B, n_particles, n_moves, rng):
        self.B, self.n_moves, self.rng = B, n_moves, rng
        W = rng.standard_normal((n_particles, K, width))
        radius = B * rng.random_sample((n_particles, K, 1)) ** (1.0 / width)
        self.W = W / np.linalg.norm(W, axis=2, keepdims=True) * radius
        self.log_weights = np.zeros(n_particles)
        self._past = ([], [], [])

    def calls(self, X, truth, weight, logits):
        """See `SecondOrderRounds`; the plays are logarithms of probabilities."""
        return ((self._learn, X, truth, weight, logits),)

    def _learn(self, X, truth, weight, logits):
        for t in range(len(X)):
            logits[t] = self.logits(X[t : t + 1])[0]
            if weight[t] > 0.0:
                self._learn_row(X[t], truth[t], weight[t])

    def logits(self, X):
        """Logarithms (n, K) of the probabilities, averaged over the particles."""
        shares = log_softmax(self.log_weights[None])[0]
        return logsumexp(shares[:, None, None] + self._log_proba(self.W, X), axis=0)

    def _log_proba(self, W, X):
        """Logarithms (m, n, K) of the probabilities of every particle."""
        theta = np.einsum("mkp,np->mnk", W, X)
        return log_softmax(theta.reshape(-1, W.shape[1])).reshape(theta.shape)

    def _learn_row(self, x, y, w):
        for history, new in zip(self._past, (x, y, w), strict=True):
            history.append(new)
        self.log_weights = self.log_weights + self._gain(self.W, x[None], y[None], np.array([w]))
        shares = np.exp(log_softmax(self.log_weights[None])[0])
        if 2.0 * (1.0 / np.sum(shares**2)) < len(shares):
            self._renew(shares)

    def _gain(self, W, X, Y, weight):
        """−Σ_t w_t ℓ_t(W) of every particle."""
        return np.einsum("mnk,nk,n->m", self._log_proba(W, X), Y, weight)

    def _renew(self, shares):
        """Draw particles by their shares, and move them."""
        places = (np.arange(len(shares)) + self.rng.random_sample()) / len(shares)
        chosen = np.searchsorted(np.cumsum(shares), places).clip(max=len(shares) - 1)
        W, past = self.W[chosen], tuple(np.array(history) for history in self._past)
        flat = W.reshape(len(W), -1)
        spread = np.cov(flat.T) + 1e-12 * np.eye(flat.shape[1])
        root = np.linalg.cholesky(spread) * (2.38 / math.sqrt(flat.shape[1]))
        value = self._gain(W, *past)
        for _ in range(self.n_moves):
            W, value = self._walk(W, value, root, past)
        self.W, self.log_weights = W, np.zeros(len(W))

    def _walk(self, W, value, root, past):
        """One step of Metropolis' random walk of all particles; steps out of the ball are not."""
        steps = self.rng.standard_normal((len(W), len(root))) @ root.T
        moved = W + steps.reshape(W.shape)
        inside = (np.linalg.norm(moved, axis=2) <= self.B).all(axis=1)
        gain = self._gain(moved, *past)
        accepted = inside & (np.log(self.rng.random_sample(len(W))) < gain - value)
        return np.where(accepted[:, None, None], moved, W), np.where(accepted, gain, value)

    def copy(self):
        """Another one that learns by itself."""
        return copy.deepcopy(self)


@inherit_parameters(FolkloreClassifier)
@parameters_with(_base.LogisticParameters)
class AggregatingForecaster(DecodedPredictions, OnlineEstimator):
    r"""Predict the mean of softmax over a ball of weights, each weighted by its past predictions.

    It has the best known regret and is only feasible for very small problems: use it as a reference
    for other learners. With the density ``∝ exp(−Σ ℓ_t(W))`` on ``{‖W_k‖ ≤ B}``, the prediction is
    the mean of ``softmax(Wx)`` [1]_ [2]_. The mean is over `n_particles` particles. If few of them
    have weight, they are resampled and moved, using all rows so far.

    Parameters
    ----------
    radius : float, default=3.0
        Radius B of the ball of each class, in units of the standardized features.
    feature_norm : float or None, default=None
        Largest norm of a standardized row, the intercept's 1 included. None has no limit.
    n_particles : int, default=500
        Number of particles.
    n_moves : int, default=5
        Number of steps of the random walk that moves particles after resampling.
    max_weights : int, default=60
        Maximum number of weights Kp, the intercept's included.
    {FolkloreClassifier: decoder, standardize, missing, fit_intercept, verbose, random_state}
        It seeds the particles too.

    Attributes
    ----------
    {FolkloreClassifier: classes_, space_, loss_, t_, random_state_, n_features_in_,
    feature_names_in_}

    Raises
    ------
    {FolkloreClassifier: ValueError}
        Also at the first call to learn, for more than `max_weights` weights.

    See Also
    --------
    FolkloreClassifier : The learner for larger problems, with a regret bound.
    GaussianAggregatingForecaster : An average over a Gaussian of weights, which is faster.

    Notes
    -----
    All rows are kept in memory. With exact integrals the regret is at most
    ``5(K−1)p ln(BRT/((K−1)p) + e)``. No bound is available for this class: the theorem needs exact
    integrals, and particles approximate them.

    References
    ----------
    .. [1] Foster, Kale, Luo, Mohri, Sridharan (2018). Logistic regression: the importance of being
       improper. COLT. Theorem 3.

    .. [2] Vovk (1998). A game of prediction with expert advice. Journal of Computer and System
       Sciences.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import AggregatingForecaster
    >>> X, y = load_iris(return_X_y=True)
    >>> X = X[:, 2:]  # up to 60 weights in all: two features, three classes
    >>> AggregatingForecaster(n_particles=100, random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    radius: float = 3.0
    feature_norm: float | None = None
    n_particles: int = 500
    n_moves: int = 5
    max_weights: int = 60

    loss, new_model, _given_decoder = "fenchel_young", _base.new_second_order_model, given_decoder
    _parts, _take_decoder = _base.logistic_parts, _base.take_decoder

    def _new_weights(self, K, width):
        for name in ("n_particles", "n_moves", "max_weights"):
            check_integer(name, getattr(self, name))
        if K * width > self.max_weights:
            cost = self.n_particles * self.n_moves * K * width
            raise ValueError(
                f"AggregatingForecaster supports at most max_weights={self.max_weights} weights "
                f"(classes × features, with the intercept), got {K} × {width} = {K * width}: "
                f"resampling would take {cost:,} products per row so far. Use "
                "FolkloreClassifier."
            )
        seed = self.random_state_.randint(2**31 - 1)
        args = (check_size("radius", self.radius), self.n_particles, self.n_moves)
        return Particles(K, width, *args, np.random.RandomState(seed))

    _no_theorem = "The theorem needs exact integrals, and particles approximate them."
