"""The mean of softmax over a Gaussian: its error against references of high precision."""

import naive.logistic
import numpy as np
import pytest

from skstructured import GaussianAggregatingForecaster
from skstructured.estimators.logistic._full_matrix import dense
from skstructured.estimators.logistic._rounds import class_basis
from skstructured.estimators.logistic.gaussian import gaussian_points, mean_shares, mean_sigmoid

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
    r, K = len(S), len(m)
    small, mean = np.empty((5, r, r)), np.empty(K)
    small[0] = S
    mean_shares(class_basis(K), small, m, gaussian_points(r), np.empty(K), np.empty(K), mean)
    return mean


@pytest.mark.parametrize("K", sorted(STATED))
@pytest.mark.parametrize("variance", [0.01, 0.1, 3.0, 30.0, 1000.0])
def test_the_mean_of_more_classes_is_off_by_what_is_stated(K, variance):
    rng, Q = np.random.RandomState(K), class_basis(K)
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
    model = GaussianAggregatingForecaster(
        B=B, standardize=False, fit_intercept=False, shuffle=False
    )
    weights = model.fit(X, y)._weights
    weights.add_waiting()
    Q, A = np.kron(weights.Q, np.eye(3)), dense(weights.A, K - 1, 3)
    cov = 0.5 * Q.T @ np.linalg.inv(A) @ Q
    mean = -0.5 * Q.T @ np.linalg.solve(A, weights.G.ravel())
    for x in X[:3]:
        each = np.kron(np.eye(K), x)
        m, S = each @ mean, each @ cov @ each.T
        if K == 2:
            deviation = np.sqrt(S[0, 0] + S[1, 1] - 2.0 * S[0, 1])
            second = naive.logistic.mean_of_sigmoid(m[1] - m[0], deviation)
            wanted = np.array([1.0 - second, second])
        else:
            wanted = naive.logistic.mean_of_softmax(m, S)
        np.testing.assert_allclose(model.predict_proba(x[None])[0], wanted, rtol=0, atol=off)


@pytest.mark.parametrize("K", [2, 4])
def test_chunks_of_any_size_give_the_same_bits(K):
    rng = np.random.RandomState(0)
    X, y = rng.randn(30, 3), rng.randint(K, size=30)
    found = []
    for size in (30, 7, 1):
        model = GaussianAggregatingForecaster(random_state=0)
        for i in range(0, 30, size):
            model.partial_fit(X[i : i + size], y[i : i + size], classes=np.arange(K))
        found.append(model.predict_proba(X[:5]))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    other = GaussianAggregatingForecaster(random_state=1).partial_fit(X, y, classes=np.arange(K))
    np.testing.assert_array_equal(other.predict_proba(X[:5]), found[0])
