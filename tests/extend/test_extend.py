"""Each kind of part, made outside of the package from `skstructured.extend` alone."""

import numpy as np
import pytest
from conftest import INTERPRETED
from coordinate_steps import AdaGrad
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale

import skstructured as sk

X, y = load_iris(return_X_y=True)


class OneOrNone(sk.extend.OutputSpace):
    """A space: rows of 0/1 with at most a single one, from its linear oracle."""

    def fit(self, y):
        self.dim_ = np.shape(y)[1]
        return self

    def fit_stream(self, y, classes=None):
        return self.fit(y)

    def pack(self, y):
        return np.asarray(y, dtype=np.float64)

    unpack = encode = decode = pack

    def argmax(self, theta):
        best = np.eye(self.dim_)[np.argmax(theta, axis=1)]
        return best * (np.max(theta, axis=1, keepdims=True) > 0.0)

    def geometry(self, norm, dim=None):
        return sk.extend.Geometry(1.0, 2.0**0.5 if norm == "l2" else 2.0, 1.0)

    def expected_loss(self, mu, V):
        return 0.5 * np.abs(mu - V).sum(axis=1)


@sk.extend.kernel
def sign_step(state, W, a, b, g):
    """A step of state[OWN]/√(number of visits) against the sign of g."""
    a += 1.0
    return W - np.sign(g) * state[sk.extend.OWN] / np.sqrt(a), a, b


class SignDescent(sk.extend.CoordinateOptimizer):
    """An optimizer of single weights: by the sign of each gradient."""

    coordinate_kernel = staticmethod(sign_step)

    def __init__(self, eta=0.1):
        self.eta = eta

    def parameters(self):
        return (float(self.eta),)


@sk.extend.kernel
def still(state, bound, weight):
    return 1.0


@sk.extend.kernel
def root_step(state, inner, square, bound, weight):
    state[sk.extend.OWN] += weight * weight * square
    return -weight / np.sqrt(state[sk.extend.OWN]) if state[sk.extend.OWN] > 0.0 else 0.0


class RootDescent(sk.extend.OnlineOptimizer):
    """An optimizer of the whole matrix: W ← W − G/√(Σ‖G‖²)."""

    scale_kernel, step_kernel, entries = staticmethod(still), staticmethod(root_step), 1

    def init(self, loss):
        return sk.extend.new_state(self.entries)


@sk.extend.kernel
def absolute(theta, truth, g, params, work):
    """Σ |θ − y|."""
    value = 0.0
    for k in range(theta.shape[0]):
        g[k] = np.sign(theta[k] - truth[k])
        value += abs(theta[k] - truth[k])
    return value


class Absolute(sk.extend.Surrogate):
    """A loss: the absolute error of scores as indicators."""

    kernel = staticmethod(absolute)
    lipschitz = 2.0

    def __init__(self, space=None):
        self.space = space

    def mean(self, theta):
        return self.space.argmax(np.asarray(theta))

    def value_and_gradient(self, theta, V):
        return np.abs(theta - V).sum(axis=1), np.sign(theta - V)


class SecondBest(sk.extend.Decoder):
    """A decoder: the runner-up, which errs where the first is right."""

    def mixture(self, theta, mu, loss):
        second = np.argsort(theta, axis=1)[:, -2]
        return loss.space.unpack(second), np.zeros(len(theta))


@sk.extend.kernel
def linearised(theta, truth, g, params, work):
    """ŷ = uniform, for ever: the mean of a regularizer that is infinitely strong."""
    for k in range(theta.shape[0]):
        g[k] = 1.0 / theta.shape[0] - truth[k]
    return np.mean(theta)


class Immovable(sk.extend.Regularizer):
    """A regularizer, with its row in the table: Ω = 0 at the center and +∞ elsewhere."""


def _zero(mu, regularizer):
    return np.zeros(len(mu))


@pytest.fixture
def immovable(monkeypatch):
    row = sk.extend.Oracle(linearised, _zero, "l2", lambda dim: 1.0)
    monkeypatch.setitem(sk.extend.ORACLES, (sk.spaces.Simplex, Immovable), row)


def test_a_space(rng):
    V = np.vstack([np.eye(3), np.zeros((1, 3))])[rng.randint(4, size=80)]
    Z = V @ rng.randn(3, 5) + 0.1 * rng.randn(80, 5)
    model = sk.OnlineStructuredPredictor(OneOrNone(), "squared", random_state=0).fit(Z, V)
    assert model.score(Z, V) > 0.9


@pytest.mark.parametrize("optimizer", [SignDescent(0.05), RootDescent()], ids=["one", "whole"])
def test_an_optimizer(optimizer):
    model = sk.OnlineStructuredPredictor(optimizer=optimizer, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.75
    parts = clone(model).set_params(shuffle=False).partial_fit(X[:70], y[:70], classes=[0, 1, 2])
    whole = clone(parts).partial_fit(X, y, classes=[0, 1, 2])
    np.testing.assert_array_equal(parts.partial_fit(X[70:], y[70:]).coef_, whole.coef_)


def test_signs_are_followed_by_the_literal_rule():
    Z, eta = scale(X), 0.05
    given = {"standardize": False, "fit_intercept": False, "average": False}
    model = sk.OnlineStructuredPredictor(loss=Absolute(), optimizer=SignDescent(eta), **given)
    model.partial_fit(Z, y, classes=[0, 1, 2])
    W, visits = np.zeros((3, 4)), np.zeros((3, 4))
    for z, v in zip(Z, np.eye(3)[y], strict=True):
        g = np.outer(np.sign(W @ z - v), z)
        visits += 1.0
        W -= eta * np.sign(g) / np.sqrt(visits)
    np.testing.assert_allclose(model.last_weights_, W, rtol=1e-12, atol=1e-15)


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
def test_a_loss_and_a_decoder_in_one_search():
    grid = {"loss": ["fenchel_young", Absolute()], "decoder": ["nearest", SecondBest()]}
    model = sk.OnlineStructuredPredictor(optimizer=AdaGrad(), random_state=0)
    search = GridSearchCV(model, grid, error_score="raise").fit(X, y)
    assert search.best_params_["decoder"] == "nearest"
    assert (search.cv_results_["mean_test_score"] < 0.5).sum() == 2


def test_a_regularizer(immovable):
    model = sk.OnlineStructuredPredictor(regularizer=Immovable(), optimizer="ogd", random_state=0)
    np.testing.assert_allclose(model.fit(X, y).predict_proba(X), 1.0 / 3.0)
    assert model.loss_.lipschitz == pytest.approx(2.0**0.5)


def test_what_is_missing_is_named():
    class Nothing(sk.extend.Surrogate):
        def __init__(self, space=None):
            self.space = space

    class KernelAlone(Nothing):
        @staticmethod
        def kernel(theta, truth, g, params, work):
            return 0.0

    with pytest.raises(TypeError, match="Nothing.kernel must be a static method"):
        sk.OnlineStructuredPredictor(loss=Nothing()).fit(X, y)
    with pytest.raises(NotImplementedError, match="KernelAlone must define lipschitz, the largest"):
        sk.OnlineStructuredPredictor(loss=KernelAlone()).fit(X, y)
