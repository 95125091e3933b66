"""Vovk's aggregating algorithm over a ball of weights, by particles that move."""

import copy
import math

import numpy as np
from sklearn.base import BaseEstimator

from skstructured._base.component import parameters
from skstructured._base.docstrings import documented
from skstructured._base.validation import check_integer, check_size
from skstructured._engine.state import Learned
from skstructured.estimators.logistic._base import LogisticLearner
from skstructured.estimators.logistic.folklore import FolkloreClassifier
from skstructured.spaces.simplex import log_softmax

__all__ = ["AggregatingForecaster"]


class Particles(Learned):
    """Weights W of ‖W_k‖ ≤ B with density ∝ exp(−Σ w ℓ_t(W)), as a sample that is renewed.

    Particles are weighed by their losses. Where fewer than half of them count, they are drawn
    anew by their weights and then moved by random walks that keep the density.

    Parameters
    ----------
    K, width : int
        Classes, and features with the intercept.
    B : float
        Radius of the ball of every class.
    n_particles, n_moves : int
        Particles, and steps of the random walk.
    rng : RandomState
        Where the draws come from.
    """

    residual, limits = 0.0, ()
    #: A round is Python, and now and then goes over all rows so far.
    products = 1 << 28

    def __init__(self, K, width, B, n_particles, n_moves, rng):
        self.B, self.n_moves, self.rng = B, n_moves, rng
        W = rng.standard_normal((n_particles, K, width))
        radius = B * rng.random_sample((n_particles, K, 1)) ** (1.0 / width)
        self.W = W / np.linalg.norm(W, axis=2, keepdims=True) * radius
        self.log_weights = np.zeros(n_particles)
        self._past = ([], [], [])

    def learn(self, X, truth, weight):
        """Play and learn rows one by one; logarithms (n, K) of what was played."""
        logits = np.empty(truth.shape)
        for t in range(len(X)):
            logits[t] = self.logits(X[t : t + 1])[0]
            if weight[t] > 0.0:
                self._learn_row(X[t], truth[t], weight[t])
        return logits

    def logits(self, X):
        """Logarithms (n, K) of the probabilities, averaged over the particles."""
        logs = log_softmax(np.einsum("mkp,np->mnk", self.W, X).reshape(-1, self.W.shape[1]))
        shares = log_softmax(self.log_weights[None])[0]
        total = shares[:, None, None] + logs.reshape(len(self.W), len(X), -1)
        top = total.max(axis=0)
        return top + np.log(np.exp(total - top).sum(axis=0))

    def _learn_row(self, x, y, w):
        for kept, new in zip(self._past, (x, y, w), strict=True):
            kept.append(new)
        self.log_weights = self.log_weights + self._gain(self.W, x[None], y[None], np.array([w]))
        shares = np.exp(log_softmax(self.log_weights[None])[0])
        if 2.0 * (1.0 / np.sum(shares**2)) < len(shares):
            self._renew(shares)

    def _gain(self, W, X, Y, weight):
        """−Σ_t w_t ℓ_t(W) of every particle."""
        logs = log_softmax(np.einsum("mkp,np->mnk", W, X).reshape(-1, W.shape[1]))
        return np.einsum("mnk,nk,n->m", logs.reshape(len(W), len(X), -1), Y, weight)

    def _renew(self, shares):
        """Draw particles by their shares, and move them."""
        places = (np.arange(len(shares)) + self.rng.random_sample()) / len(shares)
        chosen = np.searchsorted(np.cumsum(shares), places).clip(max=len(shares) - 1)
        W, past = self.W[chosen], tuple(np.array(part) for part in self._past)
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


@documented(FolkloreClassifier)
@parameters
class AggregatingForecaster(LogisticLearner, BaseEstimator):
    r"""Predicts the mean of softmax over a ball of weights, each counting by how well it predicted.

    Statistically the best there is, and for toy sizes only: the reference for the others. With
    the density ``∝ exp(−Σ ℓ_t(W))`` on ``{‖W_k‖ ≤ B}``, the prediction is its mean of
    ``softmax(Wx)``, by `n_particles` particles that are drawn anew and moved when few of them
    count, against all rows so far.

    Parameters
    ----------
    radius : float, default=3.0
        B, in units of the standardised features.
    feature_norm : float or None, default=None
        Largest norm of a row as standardised, the intercept's 1 included. None needs none.
    n_particles : int, default=500
        Particles.
    n_moves : int, default=5
        Steps of a random walk when they are moved.
    max_weights : int, default=60
        The most weights Kp, the intercept's included, that are taken.
    {FolkloreClassifier: iterate, decoder, standardize, missing, fit_intercept, shuffle, verbose,
    random_state}
        It draws the particles too.

    Attributes
    ----------
    {FolkloreClassifier: classes_, space_, loss_, t_, random_state_, n_features_in_,
    feature_names_in_}

    Raises
    ------
    {FolkloreClassifier: ValueError}
        At the first call to learn, for more than `max_weights` weights; it says how much work
        they would be.

    Notes
    -----
    The rows are kept. With exact integrals the regret is at most
    ``5(K−1)p ln(BRT/((K−1)p) + e)``. No bound is stated: the theorem needs exact integrals, and
    particles approximate them.

    References
    ----------
    Foster, Kale, Luo, Mohri, Sridharan (2018), "Logistic regression: the importance of being
    improper", Theorem 3; Vovk (1998), "A game of prediction with expert advice".

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

    def _new_weights(self, K, width):
        for name in ("n_particles", "n_moves", "max_weights"):
            check_integer(name, getattr(self, name))
        if K * width > self.max_weights:
            cost = self.n_particles * self.n_moves * K * width
            raise ValueError(
                f"{K} classes and {width} features, the intercept included, are {K * width} "
                f"weights, more than max_weights={self.max_weights}: a renewal of the particles "
                f"would take {cost:,} products for every row so far. Use FolkloreClassifier."
            )
        seed = self.random_state_.randint(2**31 - 1)
        given = (check_size("radius", self.radius), self.n_particles, self.n_moves)
        return Particles(K, width, *given, np.random.RandomState(seed))

    _no_theorem = "The theorem needs exact integrals, and particles approximate them."
