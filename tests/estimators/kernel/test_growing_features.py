"""Rectified features of the arc-cosine kernel, which grow with their rows."""

import naive.features as literal
import numpy as np
import pytest
from conftest import INTERPRETED
from naive import kernels
from scipy.stats import kstest, norm

from skstructured import KernelStructuredPredictor
from skstructured.estimators.kernel import _features as _approximations
from skstructured.estimators.kernel._features import ReluMap

N = 30 if INTERPRETED else 150
ARC = {"kernel": "arc-cosine", "approximation": "relu"}


def learner(**given):
    """A learner over few features, of one pass in order."""
    one = {"n_components": 21, "shuffle": False, "max_iter": 1, "random_state": 0}
    return KernelStructuredPredictor(**ARC | one | given)


def stream(seed=0, n=N, p=3):
    rng = np.random.RandomState(seed)
    X = 3.0 * rng.randn(n, p) + rng.randn(p)
    return X, np.argmax(np.sin(X), axis=1), rng.randint(4, size=n) * 0.7


def made(p=4, m=60, coef0=0.7, seed=0, square=5.0):
    features = ReluMap(p, m, coef0, np.random.RandomState(seed))
    features.set_width(1.0, square)
    return features


def phi(features, Z):
    return features.behind(Z, Z.shape[1])[:, Z.shape[1] :]


def size_of(features):
    """k(z, z) if ‖z‖² is the number of features."""
    return features.p + features.coef0


def literal_phi(features, size=None):
    """φ of one row, literally, if ‖φ‖² is `square` for k(z, z) = `size`."""
    gain = np.sqrt(2.0 / features.columns * features.square / (size or size_of(features)))
    last = np.sqrt(features.coef0)
    return lambda z: literal.rectified(np.append(z, last), features.weights, gain)


def rows_of(one, Z):
    """A function of each row."""
    return np.array(list(map(one, Z)))


def exact(features):
    return kernels.arc_cosine(features.coef0)


class TestFeatures:
    @pytest.mark.parametrize("coef0", [0.0, 0.7, 30.0])
    @pytest.mark.parametrize(("p", "m"), [(1, 1), (3, 7), (8, 129), (17, 300)])
    def test_are_rectified_products(self, p, m, coef0):
        Z = 2.0 * np.random.RandomState(p).randn(6, p)
        features = made(p=p, m=m, coef0=coef0)
        wanted, found = rows_of(literal_phi(features), Z), phi(features, Z)
        assert found.shape == (6, m)
        np.testing.assert_allclose(found, wanted, atol=1e-10 * abs(wanted).max())

    @pytest.mark.parametrize("coef0", [0.0, 2.0])
    def test_products_are_the_kernel_on_average_and_errors_fall_with_the_root(self, coef0):
        Z = np.random.RandomState(0).randn(12, 12)
        first = made(p=12, coef0=coef0)
        wanted = kernels.gram(exact(first), Z, Z)
        sizes = np.sqrt(np.outer(np.diag(wanted), np.diag(wanted)))
        errors = []
        many, seeds = (16, 128, 1024), 40
        for m in many:
            maps = [made(p=12, m=m, coef0=coef0, seed=s) for s in range(seeds)]
            found = []
            for features in maps:
                features.set_width(1.0, size_of(features))
                found.append(phi(features, Z) @ phi(features, Z).T)
            error = (np.array(found) - wanted) / sizes
            errors.append(np.sqrt(np.mean(error**2)))
            assert errors[-1] < np.sqrt(5.0 / m)
            assert np.sqrt(np.mean(error.mean(axis=0) ** 2)) < 2.0 * errors[-1] / np.sqrt(seeds)
        for more, less in zip(errors[1:], errors[:-1], strict=True):
            ratio = np.sqrt(many[0] / many[1])
            assert 0.6 * ratio < more / less < 1.6 * ratio

    def test_weights_are_normal_and_orthogonal_with_that_of_the_constant(self):
        features = made(p=15, m=24)
        products = features.weights[:, :16].T @ features.weights[:, :16]
        np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-12)
        many = [made(p=3, m=5, seed=s).weights for s in range(400)]
        assert kstest(np.ravel(many)[::4], norm.cdf).pvalue > 1e-3

    def test_lengths_are_balanced_over_rows(self):
        Z = np.random.RandomState(0).randn(200, 5) * [0.1, 1.0, 1.0, 3.0, 10.0]
        features = made(p=5, m=1000)
        features.balance(Z, np.ones(len(Z)))
        sizes, found = [exact(features)(z, z) for z in Z], phi(features, Z)
        wanted = rows_of(literal_phi(features, np.mean(sizes)), Z[:1])
        np.testing.assert_allclose(found[:1], wanted, rtol=1e-8, atol=1e-10)
        assert np.sum(found**2, axis=1).mean() == pytest.approx(5.0, rel=0.1)
        before = features.copy()
        features.balance(0.0 * Z, np.ones(len(Z)))
        assert np.isfinite(phi(features, Z)).all()
        features.coef0 = 0.0
        features.balance(0.0 * Z, np.ones(len(Z)))  # leaves it as it was
        assert np.isfinite(phi(features, Z)).all() and before.square == features.square

    def test_huge_constants_are_no_overflow(self):
        features = made(coef0=1e30)
        found = phi(features, np.random.RandomState(0).randn(5, 4))
        assert np.isfinite(found).all() and abs(found).max() > 0.01


class TestLearner:
    def test_fit_balances_by_its_rows(self):
        X, y, weight = stream(n=60)
        model = learner(n_components=900).fit(X, y, sample_weight=weight)
        mean = np.average(X, axis=0, weights=weight)
        Z = (X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
        features = model._model.scale.features
        sizes = [exact(features)(z, z) for z in Z]
        gain = np.sqrt(9.0 / np.average(sizes, weights=weight))
        streamed = np.sqrt(9.0 / size_of(features))
        wanted = rows_of(literal_phi(features), Z[:1]) * gain / streamed
        np.testing.assert_allclose(phi(features, Z[:1]), wanted, rtol=1e-8, atol=1e-10)
        lengths = np.sum(phi(features, Z) ** 2, axis=1)
        assert lengths.mean() == pytest.approx(9.0, rel=0.1)

    def test_random_state_draws_them(self):
        X, y, _ = stream()
        one, same, other = (
            learner(random_state=seed).fit(X, y)._model.scale.features.weights for seed in (0, 0, 1)
        )
        assert np.array_equal(one, same) and not np.array_equal(one, other)

    def test_auto_takes_what_belongs_to_the_kernel(self, monkeypatch):
        monkeypatch.setattr(_approximations, "ALL_KERNELS", 50)
        X, y, _ = stream(n=51)
        model = learner(approximation="auto")
        assert model.fit(X[:50], y[:50]).support_vectors_.shape == (50, 3)
        found, given = model.fit(X, y), learner().fit(X, y)
        assert found.n_components_ == 21
        assert np.array_equal(found.last_weights_, given.last_weights_)

    def test_constants_below_0(self):
        X, y, _ = stream()
        with pytest.raises(ValueError, match="coef0 must be at least 0"):
            learner(coef0=-1.0).fit(X, y)


def test_auto_takes_all_kernels_where_there_are_no_features(monkeypatch):
    monkeypatch.setattr(_approximations, "ALL_KERNELS", 20)
    X, y, _ = stream()
    model = learner(kernel="poly", approximation="auto").fit(X, y)
    assert len(model.support_vectors_) == len(X)
    with pytest.raises(ValueError, match="coef0 must be at least 0 with kernel='arc-cosine'"):
        learner(approximation="auto", coef0=-0.1).fit(X, y)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            ARC | {"kernel": "poly"},
            "'relu' is for kernel='arc-cosine', got.*'none' takes",
        ),
        (ARC | {"kernel": kernels.linear}, "'relu' is for kernel='arc-cosine', got kernel=<func"),
        (ARC | {"approximation": "sketch"}, "approximation must be one of"),
        (ARC | {"coef0": np.nan}, "coef0 must be"),
        (ARC | {"coef0": "1"}, "coef0 must be"),
        (ARC | {"n_components": 0}, "n_components must be"),
        (ARC | {"budget": 10}, "with approximation='relu' there are none"),
    ],
)
def test_parameters_out_of_range(given, message):
    X, y, _ = stream()
    for more in ({}, {"classes": [0, 1, 2]}):
        model = KernelStructuredPredictor(**given)
        with pytest.raises(ValueError, match=message):
            (model.partial_fit if more else model.fit)(X, y, **more)
