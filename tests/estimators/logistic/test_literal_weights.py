"""Sample weights other than 0 and 1, against literal rounds that multiply losses by them."""

import math

import naive.logistic
import numpy as np
import pytest

from skstructured import AggregatingForecaster
from skstructured.estimators.logistic.gaussian import GaussianMatrix
from skstructured.estimators.logistic.newton import NewtonMatrix
from skstructured.estimators.logistic.particles import Particles
from skstructured.spaces.simplex import log_softmax

WEIGHTS = (0.0, 0.25, 1.0, 3.0, 20.0)


def stream(K, p, T, seed=0):
    rng = np.random.RandomState(seed)
    return 2.0 * rng.randn(T, p), rng.dirichlet(np.ones(K), size=T), rng.choice(WEIGHTS, size=T)


def kappa(B, K):
    return lambda norm: naive.logistic.folklore_kappa(B, norm, K)


@pytest.mark.parametrize(("K", "p"), [(2, 3), (4, 2)])
@pytest.mark.parametrize("gamma", [0.1, 0.5, 1.0, 3.0])
def test_online_newton_steps(K, p, gamma):
    X, Y, weight = stream(K, p, 40)
    state, literal = NewtonMatrix(K, p, 0.5, gamma), naive.logistic.OnlineNewton(K, p, 0.5, gamma)
    for t in range(40):
        given = X[t : t + 1], Y[t : t + 1], weight[t : t + 1]
        played, before = state.learn(*given)[0], literal.W
        z = literal.logits(X[t])
        np.testing.assert_allclose(played, z, rtol=0, atol=2e-5)
        if weight[t] == 0.0:
            literal.W = before
        else:
            literal.update(X[t], z, Y[t], weight[t])
        np.testing.assert_allclose(state.G.ravel(), literal.W, rtol=0, atol=2e-5)


@pytest.mark.parametrize("K", [2, 3])
def test_the_centre_of_the_gaussian_forecaster(K):
    X, Y, weight = stream(K, 2, 12)
    state = GaussianMatrix(K, 2, 0.7, 1.0)
    literal = naive.logistic.Gaussian(K, 2, 0.7, kappa(1.0, K))
    for t in range(12):
        played = np.exp(state.learn(X[t : t + 1], Y[t : t + 1], weight[t : t + 1])[0])
        m, S = literal.law(X[t])
        if K == 2:
            deviation = np.sqrt(S[0, 0] + S[1, 1] - 2.0 * S[0, 1])
            second = naive.logistic.mean_of_sigmoid(m[1] - m[0], deviation)
            np.testing.assert_allclose(played, [1.0 - second, second], rtol=0, atol=1e-9)
        if weight[t] > 0.0:
            literal.update(X[t], literal.centre(X[t], Y[t], weight[t]), Y[t], weight[t])
        np.testing.assert_allclose((state.Q.T @ state.G).ravel(), literal.G, rtol=0, atol=1e-7)


@pytest.mark.parametrize("width", [1, 2, 5])
def test_particles_begin_uniformly_in_the_ball(width):
    """‖W_k‖ ≤ r with probability (r/B)^width, by Kolmogorov and Smirnov at level 1e-5."""
    W = Particles(2, width, 3.0, 4000, 1, np.random.RandomState(0)).W
    for k in range(2):
        mass = np.sort((np.linalg.norm(W[:, k], axis=1) / 3.0) ** width)
        place = (np.arange(4000) + 0.5) / 4000
        assert np.abs(mass - place).max() <= math.sqrt(0.5 * math.log(2e5) / 4000) + 1e-3


def test_the_weights_of_particles_multiply_their_losses():
    X, Y, weight = stream(3, 2, 6)
    state = Particles(3, 2, 1e-3, 50, 1, np.random.RandomState(0))  # so small that none leaves
    state.learn(X, Y, weight)
    wanted = np.zeros(50)
    for x, y, w in zip(X, Y, weight, strict=True):
        wanted += w * np.array([log_softmax((W @ x)[None])[0] @ y for W in state.W])
    np.testing.assert_allclose(state.log_weights, wanted, rtol=1e-12)


def test_particles_are_drawn_by_the_seed():
    X, y = np.ones((2, 2)), [0, 1]
    first, again, other = (
        AggregatingForecaster(n_particles=20, random_state=seed) for seed in (0, 0, 1)
    )
    for model in (first, again, other):
        model.begin(X, y)
    np.testing.assert_array_equal(first._weights.W, again._weights.W)
    assert np.abs(first._weights.W - other._weights.W).max() > 0.1
