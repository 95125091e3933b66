"""Digits that are kept: of scores with a common offset, and of second-order learners."""

import decimal
import warnings
from decimal import Decimal

import numpy as np
import pytest
from conftest import INTERPRETED
from pairs import CASES, LARGEST, loss_of, space_of
from plain import confidit, newtron, second_order, soba
from sklearn.exceptions import ConvergenceWarning

from skstructured.extend._by_vertices import project

OFFSETS = [1e4, 1e8, -1e10, 1e12]
K = 3


def grains(rng, shape, offset):
    """Scores of a few units that stay exact when `offset` is added."""
    grain = np.spacing(abs(offset)) * 4.0
    return np.round(2.0 * rng.randn(*shape) / grain) * grain


def constant(name):
    return not name.startswith(("hypercube", "ordinal"))


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize(("name", "dim"), [c for c in CASES if constant(c[0])])
def test_a_common_offset_of_the_scores_changes_nothing(name, dim, offset, rng):
    loss, theta = loss_of(name, dim), grains(rng, (30, dim), offset)
    V = loss.space.argmax(rng.randn(30, dim))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        moved, mean = loss.mean(theta + offset), loss.mean(theta)
        values, moved_values = loss.value(theta, V), loss.value(theta + offset, V)
    np.testing.assert_allclose(moved, mean, atol=1e-11)
    np.testing.assert_allclose(moved_values, values, atol=1e-11)


@pytest.mark.parametrize("offset", [1e6, 1e8, 1e12])
@pytest.mark.exhaustive
def test_projections_over_an_oracle_do_not_stop_early_far_from_zero(offset, rng):
    space = space_of("k_subsets-squared", 12)
    for theta in 0.1 * grains(rng, (60, 12), offset).round(4):
        moved = theta + offset
        exact = project(space, moved - offset)[0]
        np.testing.assert_allclose(project(space, moved)[0], exact, atol=1e-11)


@pytest.mark.parametrize("size", [1e8, 1e12])
@pytest.mark.exhaustive
def test_projections_keep_the_digits_of_scores_between_far_ones(size, rng):
    """One score far above, one far below: the others share what is left as if alone."""
    space, two = space_of("k_subsets-squared", 7), space_of("k_subsets-squared", 6)
    for theta in rng.randn(20, 5):
        x = project(space, np.r_[size, theta, -size])[0]
        alone = project(two, np.r_[1e3, theta])[0]
        np.testing.assert_allclose(x, np.r_[1.0, alone[1:], 0.0], atol=1e-11)


@pytest.mark.parametrize(("name", "dim"), LARGEST)
def test_offsets_that_mean_something_still_do(name, dim, rng):
    """`constant_sum` is said of the spaces whose vertices have it; others see every offset."""
    loss, theta = loss_of(name, dim), rng.randn(5, dim)
    sums = loss.space.vertices().sum(axis=1)
    assert loss.space.constant_sum == bool(np.all(sums == sums[0]))
    seen = np.abs(loss.mean(theta + 3.0) - loss.mean(theta)).max() > 1e-3
    assert seen != loss.space.constant_sum


def digits(array):
    return np.vectorize(Decimal, otypes=[object])(np.asarray(array, dtype=np.float64))


class ExactSOBA:
    """`SOBAClassifier`'s updates in fifty digits, by the inverse."""

    def __init__(self, size, a):
        self.inverse, self.W, self.m = digits(np.eye(size)) / Decimal(a), digits(np.zeros(size)), 0

    def scores(self, x):
        return self.W.reshape(K, -1).dot(digits(x))

    def learn(self, x, right, p):
        theta, root = self.scores(x), Decimal(p).sqrt()
        other = max((k for k in range(K) if k != right), key=lambda k: theta[k])
        z = digits(np.zeros((K, len(x))))
        z[other], z[right] = digits(x) / root, -digits(x) / root
        z = z.ravel()
        v = self.inverse.dot(z)
        q, inner = v.dot(z), self.W.dot(z)
        m = (inner**2 + 2 * inner / root) / (1 + q)
        if m + self.m < 0:
            return
        self.m += m
        self.W = self.W - (inner + 1 / root) / (1 + q) * v
        self.inverse = self.inverse - np.multiply.outer(v, v) / (1 + q)

    def weights(self):
        return self.W.reshape(K, -1).astype(float)


def rows(rng, scale, n=40 if INTERPRETED else 300):
    """Features of one scale beside an intercept's 1, and noisy labels."""
    X = rng.randn(n, 4)
    y = np.argmax(X @ rng.randn(4, K) + rng.randn(n, K), axis=1)
    y[:K] = np.arange(K)
    return scale * X, y


def assert_columns_close(W, exact, rtol):
    error = np.abs(W - exact).max(axis=0)
    assert np.all(error <= rtol * np.abs(exact).max(axis=0)), error / np.abs(exact).max(axis=0)


SCALES = [1e-3, 1.0, 1e4, 1e5, 1e7]


@pytest.mark.parametrize("is_bandit", [True, False])
@pytest.mark.parametrize("scale", SCALES)
def test_second_order_updates_do_not_drift(scale, is_bandit, rng):
    X, y = rows(rng, scale)
    if is_bandit:
        model = soba(exploration=0.3, classes=range(K), random_state=0)
        rounds = model.simulate(X, y)
    else:
        model, rounds = second_order().fit(X, y), (y, np.ones(len(y)), np.ones(len(y)))
    with decimal.localcontext(prec=50):
        exact, mistakes = ExactSOBA(5 * K, 1.0), 0
        for x, action, p, reward in zip(np.hstack([X, np.ones((len(X), 1))]), *rounds, strict=True):
            mistakes += int(np.argmax(exact.scores(x)) != action)
            if reward:
                exact.learn(x, action, p)
    assert is_bandit or model.n_mistakes_ == mistakes
    assert_columns_close(np.c_[model.coef_, model.intercept_], exact.weights(), 1e-12)


class ExactNewtron:
    """`NewtronClassifier`'s updates in fifty digits, while the ball does not bind."""

    def __init__(self, size, alpha, beta, D):
        self.inverse, self.b = digits(np.eye(size)) * Decimal(D), digits(np.zeros(size))
        self.W, self.alpha, self.beta, self.D = self.b, Decimal(alpha), Decimal(beta), Decimal(D)

    def learn(self, x, action, p, reward):
        x, p = digits(x), Decimal(p)
        theta = self.W.reshape(K, -1).dot(x)
        P = [(self.alpha * (t - max(theta))).exp() for t in theta]
        P = [v / sum(P) for v in P]
        size = (1 - P[action] if reward else -P[action]) / p
        g = np.array([size / K] * K)
        g[action] -= size
        g, weight = np.multiply.outer(g, x).ravel(), self.beta * (p if reward else 1)
        v, inner = self.inverse.dot(g), g.dot(self.W)
        self.inverse = self.inverse - np.multiply.outer(v, v) * (weight / (1 + weight * v.dot(g)))
        self.b = self.b + (weight * inner - 1) * g
        self.W = self.inverse.dot(self.b)
        assert self.W.dot(self.W).sqrt() <= self.D


@pytest.mark.parametrize("scale", [1e4, 1e5, 1e7])
def test_newtron_does_not_drift(scale, rng):
    X, y = rows(rng, scale, n=300)  # the first rows of fewer would reach the ball
    model = newtron(exploration=0.3, classes=range(K), fit_intercept=False, random_state=0)
    rounds = model.simulate(X, y)
    with decimal.localcontext(prec=50):
        exact = ExactNewtron(4 * K, 10.0, 0.01, 1.0)
        for x, action, p, reward in zip(X, *rounds, strict=True):
            exact.learn(x, action, p, reward)
    # The softmax passes errors on, and directions that hardly any row had feel squares of features,
    # 2e-16 of which are lost: libraries that sum in another order differ by a hundredth of that.
    W, rtol = exact.W.reshape(K, -1).astype(float), 1e-11 + 1e-17 * scale**2
    assert_columns_close(model.coef_, W, rtol)


@pytest.mark.parametrize("make", [second_order, soba, newtron, confidit])
def test_rows_of_second_order_learners_may_be_as_long_as_any(make, rng):
    X, y = rng.randn(40, 2), np.arange(40) % K
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    seed = {} if make is second_order else {"random_state": 1}
    model = make(**seed).fit(X * 0.999e100, y)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.decision_function(X)).all()
    with pytest.raises(ValueError, match="Row 0 of X is too large.* Rescale the features"):
        model.partial_fit(X * 1.001e100, y)
