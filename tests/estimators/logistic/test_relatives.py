"""Online Newton steps, Gaussian and particle forecasters, against literal forms and integrals."""

import math

import naive.logistic
import numpy as np
import pytest
from scipy.linalg import helmert
from selection import test_the_room_as_python  # noqa: F401

from skstructured import (
    AggregatingForecaster,
    GaussianAggregatingForecaster,
    OnlineNewtonClassifier,
)
from skstructured.estimators.logistic._base import unpack_panels
from skstructured.estimators.logistic._rounds import new_scratch
from skstructured.estimators.logistic.forecasters import (
    GaussianMatrix,
    Particles,
    gaussian_points,
    mean_shares,
    mean_sigmoid,
)
from skstructured.estimators.logistic.newton import NewtonMatrix, in_the_box
from skstructured.spaces.simplex import log_softmax

WEIGHTS = (0.0, 0.25, 1.0, 3.0, 20.0)


def stream(K, p, T, seed=0):
    rng = np.random.RandomState(seed)
    return 2.0 * rng.randn(T, p), rng.dirichlet(np.ones(K), size=T), rng.choice(WEIGHTS, size=T)


def kappa(B, K):
    return lambda norm: naive.logistic.folklore_kappa(B, norm, K)


@pytest.mark.interpreted
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


@pytest.mark.interpreted
@pytest.mark.parametrize("K", [2, 3])
def test_the_center_of_the_gaussian_forecaster(K):
    X, Y, weight = stream(K, 2, 12)
    state = GaussianMatrix(K, 2, 0.7, 1.0)
    literal = naive.logistic.Gaussian(K, 2, 0.7, kappa(1.0, K))
    for t in range(12):
        played = np.exp(state.learn(X[t : t + 1], Y[t : t + 1], weight[t : t + 1])[0])
        m, S = literal.law(X[t])
        if K == 2:
            wanted = naive.logistic.mean_of_softmax(m, S)
            np.testing.assert_allclose(played, wanted, rtol=0, atol=1e-9)
        if weight[t] > 0.0:
            literal.update(X[t], literal.center(X[t], Y[t], weight[t]), Y[t], weight[t])
        np.testing.assert_allclose((state.Q.T @ state.G).ravel(), literal.G, rtol=0, atol=1e-7)


@pytest.mark.parametrize("width", [1, 2, 5])
def test_particles_begin_uniformly_in_the_ball(width):
    """‖W_k‖ ≤ r with probability (r/B)^width, by Kolmogorov and Smirnov at level 1e-5."""
    W = Particles(2, width, 3.0, 4000, 1, np.random.RandomState(0)).W
    for k in range(2):
        mass = np.sort((np.linalg.norm(W[:, k], axis=1) / 3.0) ** width)
        place = (np.arange(4000) + 0.5) / 4000
        assert np.abs(mass - place).max() <= math.sqrt(0.5 * math.log(2e5) / 4000) + 1e-3


@pytest.mark.interpreted
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
    np.testing.assert_array_equal(first.model_.rounds.W, again.model_.rounds.W)
    assert np.abs(first.model_.rounds.W - other.model_.rounds.W).max() > 0.1


@pytest.mark.interpreted
def test_gamma_of_theory_is_that_of_all_classes():
    """½ min{1/(4BR), exp(−2BR)/(K − 1)}."""
    X, Y, _ = stream(4, 2, 60)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y, B, R = np.argmax(Y, axis=1), 0.2, 1.5
    number = 0.5 * min(1.0 / (4.0 * B * R), math.exp(-2.0 * B * R) / 3.0)
    given_ = {"radius": B, "feature_norm": R, "standardize": False, "fit_intercept": False}
    models = [OnlineNewtonClassifier(exp_concavity=g, **given_) for g in ("theory", number)]
    one, other = (model.partial_fit(X, y, classes=range(4)) for model in models)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_projections_are_exact():
    rng = np.random.RandomState(0)
    for K in (1, 2, 5, 9):
        root, u = rng.randn(K, K), 3.0 * rng.randn(K)
        S, m, z = root @ root.T + 1e-3 * np.eye(K), np.empty(K), np.empty(K)
        in_the_box(S, u, 0.7, m, z)
        gradient = np.linalg.solve(S, z - u)
        inside = np.abs(z) < 0.7 * (1 - 1e-9)
        assert np.abs(z).max() <= 0.7 * (1 + 1e-12)
        assert np.abs(gradient[inside]).max(initial=0.0) < 1e-6
        assert np.all(gradient[~inside] * z[~inside] <= 1e-6)


def test_particles_are_near_the_exact_mean():
    """One weight per class, two classes: the mean over a square, by a grid."""
    rng = np.random.RandomState(0)
    X, y = np.ones((40, 1)), (rng.rand(40) < 0.2).astype(int)
    model = AggregatingForecaster(
        radius=2.0,
        n_particles=4000,
        standardize=False,
        fit_intercept=False,
        random_state=0,
    ).partial_fit(X, y, classes=[0, 1])
    axis = np.linspace(-2, 2, 401)
    logs = log_softmax(np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2))
    shares = np.exp(log_softmax((logs * np.bincount(y)).sum(axis=1)[None])[0])
    wanted = shares @ np.exp(logs)
    np.testing.assert_allclose(model.predict_proba(X[:1])[0], wanted, atol=0.01)


def test_too_many_weights_for_particles_say_what_they_would_cost():
    with pytest.raises(ValueError, match=r"at most max_weights=60 weights .* = 90: .*225,000"):
        AggregatingForecaster().fit(np.ones((9, 29)), np.arange(9) % 3)


#: Off at most, by the number of classes, as the docstring says.
STATED = {3: 0.002, 5: 0.005, 10: 0.01, 26: 0.01}


@pytest.mark.parametrize(
    "deviation", [0.0, 1e-6, 0.3, 0.999, 1.001, 2.0, 7.0, 40.0, 900.0, 1e6, 1e12]
)
def test_the_mean_of_two_classes_is_exact_for_any_variance(deviation):
    for mean in (0.0, -1e-3, -0.7, -4.0, -12.0, -35.0):
        wanted = naive.logistic.mean_of_sigmoid(mean, deviation)
        got = mean_sigmoid(mean, deviation)
        assert abs(got - wanted) <= 1e-12
        assert got == pytest.approx(wanted, rel=1e-6)


@pytest.mark.interpreted
def test_small_probabilities_of_two_classes_keep_their_logarithm():
    """E σ(u) ≤ E exp u = exp(mean + s²/2), and hardly less where that is small."""
    for mean, deviation in ((-300.0, 1e-3), (-300.0, 5.0), (-160.0, 8.0)):
        assert np.log(mean_sigmoid(mean, deviation)) == pytest.approx(
            mean + 0.5 * deviation**2, rel=1e-9
        )


def test_points_are_always_the_same():
    first = gaussian_points(4).copy()
    gaussian_points.cache_clear()
    np.testing.assert_array_equal(gaussian_points(4), first)


def shares(m, S):
    """`mean_shares` for logits ∼ N(m, ½QᵀSQ)."""
    space = new_scratch(len(S), len(m), 1)
    space.S[:], space.score[:] = S, m
    mean_shares(helmert(len(m)), gaussian_points(len(S)), space)
    return space.center


@pytest.mark.parametrize("K", sorted(STATED))
@pytest.mark.parametrize("variance", [0.01, 0.1, 3.0, 30.0, 1000.0])
def test_the_mean_of_more_classes_is_off_by_what_is_stated(K, variance):
    rng, Q = np.random.RandomState(K), helmert(K)
    for size in (0.0, 1.0):
        root = rng.randn(K - 1, K + 1)
        S = variance * root @ root.T / (K + 1)
        m = size * np.sqrt(variance) * rng.randn(K)
        wanted = naive.logistic.mean_of_softmax(m, 0.5 * Q.T @ S @ Q, power=16)
        got = shares(m, S)
        assert np.abs(got - wanted).max() <= STATED[K]
        assert got.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("K", "B", "off"), [(2, 10.0, 1e-10), (2, 1e4, 1e-10), (3, 10.0, 0.002), (5, 1.0, 0.005)]
)
def test_probabilities_of_the_forecaster(K, B, off):
    rng = np.random.RandomState(0)
    X, y = rng.randn(12, 3), np.arange(12) % K
    model = GaussianAggregatingForecaster(radius=B, standardize=False, fit_intercept=False)
    weights = model.partial_fit(X, y, classes=range(K)).model_.rounds
    weights.add_waiting()
    Q, A = np.kron(weights.Q, np.eye(3)), unpack_panels(weights.A, K - 1, 3)
    cov = 0.5 * Q.T @ np.linalg.inv(A) @ Q
    mean = -0.5 * Q.T @ np.linalg.solve(A, weights.G.ravel())
    for x in X[:3]:
        each = np.kron(np.eye(K), x)
        m, S = each @ mean, each @ cov @ each.T
        wanted = naive.logistic.mean_of_softmax(m, S)
        np.testing.assert_allclose(model.predict_proba(x[None])[0], wanted, rtol=0, atol=off)
