"""Features of kernels that grow with their rows: tensor sketches, and rectified products."""

import pickle

import naive.features as literal
import numpy as np
import pytest
from conftest import INTERPRETED
from learners import OVER_SPACES
from naive import kernels
from naive.optimizers import ParameterFree, play, round_shares
from scipy import sparse
from scipy.stats import kstest, norm

from skstructured import KernelStructuredPredictor
from skstructured._engine.sincos import TILE
from skstructured._learners.models import SCORES
from skstructured.estimators.kernel import _features as _approximations
from skstructured.estimators.kernel._features import TOGETHER, ReluMap, SketchMap
from skstructured.evaluation import progressive_validate
from skstructured.optimizers import GradientDescent

N = 30 if INTERPRETED else 150
POLY = {"kernel": "poly", "approximation": "sketch"}
ARC = {"kernel": "arc-cosine", "approximation": "relu"}
BOTH = pytest.mark.parametrize("kind", [POLY, ARC], ids=["sketch", "relu"])


def learner(kind, **given):
    """A learner over few features, of one pass in order."""
    one = {"n_components": 21, "shuffle": False, "max_iter": 1, "random_state": 0}
    return KernelStructuredPredictor(**kind | one | given)


def stream(seed=0, n=N, p=3):
    rng = np.random.RandomState(seed)
    X = 3.0 * rng.randn(n, p) + rng.randn(p)
    return X, np.argmax(np.sin(X), axis=1), rng.randint(4, size=n) * 0.7


def made(kind, p=4, m=60, degree=3, coef0=0.7, gamma=0.3, seed=0, dtype=float, square=5.0):
    rng = np.random.RandomState(seed)
    if kind is POLY:
        features = SketchMap(p, m, degree, coef0, rng, dtype)
    else:
        features = ReluMap(p, m, coef0, rng, dtype)
    features.set_width(gamma, square)
    return features


def phi(features, Z):
    return features.behind(Z.astype(features.dtype), Z.shape[1])[:, Z.shape[1] :]


def size_of(features):
    """k(z, z) where ‖z‖² is the number of features."""
    gamma = features.gamma if isinstance(features, SketchMap) else 1.0
    return (gamma * features.p + features.coef0) ** features.degree


def literal_phi(features, size=None):
    """φ of one row, literally, where ‖φ‖² is `square` for k(z, z) = `size`."""
    gain = np.sqrt(features.square / (size_of(features) if size is None else size))
    last, m = np.sqrt(features.coef0), features.columns

    def sketched(z):
        row = np.append(np.sqrt(features.gamma) * np.asarray(z), last)
        return literal.tensor_sketch(row, features.places, features.signs, m, gain)

    def rectified(z):
        return literal.rectified(np.append(z, last), features.weights, gain * np.sqrt(2.0 / m))

    return sketched if isinstance(features, SketchMap) else rectified


def rows_of(one, Z):
    """A function of each row."""
    return np.array(list(map(one, Z)))


def exact(features):
    if isinstance(features, SketchMap):
        return kernels.poly(features.gamma, features.coef0, features.degree)
    return kernels.arc_cosine(features.coef0)


class TestFeatures:
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("coef0", [0.0, 0.7, 30.0])
    @pytest.mark.parametrize(("p", "m"), [(1, 1), (3, 7), (7, TILE), (8, TILE + 1), (17, 300)])
    def test_are_rectified_products(self, p, m, coef0, dtype):
        Z = 2.0 * np.random.RandomState(p).randn(6, p).astype(dtype)
        features = made(ARC, p=p, m=m, coef0=coef0, dtype=dtype)
        wanted, found = rows_of(literal_phi(features), Z.astype(float)), phi(features, Z)
        assert found.dtype == dtype and found.shape == (6, m)
        tolerance = 1e-10 if dtype == np.float64 else 1e-5
        np.testing.assert_allclose(found, wanted, atol=tolerance * abs(wanted).max())

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize(("degree", "coef0"), [(1, 0.7), (2, 0.0), (3, 0.7), (5, 4.0)])
    @pytest.mark.parametrize(("p", "m"), [(1, 1), (3, 2), (4, 7), (9, 64), (17, 101)])
    def test_are_convolved_sketches(self, p, m, degree, coef0, dtype):
        Z = 2.0 * np.random.RandomState(p).randn(6, p).astype(dtype)
        features = made(POLY, p=p, m=m, degree=degree, coef0=coef0, dtype=dtype)
        wanted, found = rows_of(literal_phi(features), Z.astype(float)), phi(features, Z)
        assert found.dtype == dtype and found.shape == (6, m)
        tolerance = 1e-10 if dtype == np.float64 else 2e-5
        np.testing.assert_allclose(found, wanted, atol=tolerance * abs(wanted).max())

    @BOTH
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("m", [10, 97, 260])
    def test_a_row_has_the_same_bits_in_any_company(self, kind, dtype, m):
        n = 20 if INTERPRETED else 3 * TOGETHER + 5
        Z, features = np.random.RandomState(0).randn(n, 11), made(kind, p=11, m=m, dtype=dtype)
        together = phi(features, Z)
        assert np.array_equal(together, np.vstack([phi(features, z[None]) for z in Z]))
        assert np.array_equal(phi(features, Z[::-1])[::-1], together)
        assert np.array_equal(phi(features, np.asfortranarray(Z)[3:]), together[3:])

    @BOTH
    @pytest.mark.parametrize("coef0", [0.0, 2.0])
    def test_products_are_the_kernel_on_average_and_errors_fall_with_the_root(self, kind, coef0):
        Z = np.random.RandomState(0).randn(12, 12)
        first = made(kind, p=12, coef0=coef0)
        first.set_width(first.gamma, size_of(first))
        wanted = kernels.gram(exact(first), Z, Z)
        sizes = np.sqrt(np.outer(np.diag(wanted), np.diag(wanted)))
        errors, spread = [], (2.0 + 3.0**3 if kind is POLY else 5.0)
        slow = INTERPRETED and kind is ARC
        many, seeds = (16, 128) if slow else (16, 128, 1024), 10 if slow else 40
        for m in many:
            maps = [made(kind, p=12, m=m, coef0=coef0, seed=s) for s in range(seeds)]
            found = []
            for features in maps:
                features.set_width(features.gamma, size_of(features))
                found.append(phi(features, Z) @ phi(features, Z).T)
            error = (np.array(found) - wanted) / sizes
            errors.append(np.sqrt(np.mean(error**2)))
            assert errors[-1] < np.sqrt(spread / m)
            assert np.sqrt(np.mean(error.mean(axis=0) ** 2)) < 2.0 * errors[-1] / np.sqrt(seeds)
        for more, less in zip(errors[1:], errors[:-1], strict=True):
            ratio = np.sqrt(many[0] / many[1])
            assert 0.6 * ratio < more / less < 1.6 * ratio

    def test_weights_are_normal_and_orthogonal_with_that_of_the_constant(self):
        features = made(ARC, p=15, m=24)
        products = features.weights[:, :16].T @ features.weights[:, :16]
        np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-12)
        many = [made(ARC, p=3, m=5, seed=s).weights for s in range(400)]
        assert kstest(np.ravel(many)[::4], norm.cdf).pvalue > 1e-3

    @BOTH
    def test_lengths_are_balanced_over_rows(self, kind):
        Z = np.random.RandomState(0).randn(200, 5) * [0.1, 1.0, 1.0, 3.0, 10.0]
        features = made(kind, p=5, m=1000)
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

    @BOTH
    def test_huge_constants_and_degrees_are_no_overflow(self, kind):
        for dtype in (np.float64, np.float32):
            features = made(kind, degree=60, coef0=1e30, dtype=dtype)
            found = phi(features, np.random.RandomState(0).randn(5, 4))
            assert np.isfinite(found).all() and abs(found).max() > 0.01


@BOTH
class TestAgainstLiteral:
    def played(self, model, X, y, weight):
        """Scores played, and outputs as vertices."""
        rounds = model.begin(X, y)._replace(weight=weight)
        played = []
        every = np.arange(len(X))
        model._learn(rounds, every, lambda block, w: played.append(block.theta), SCORES)
        return np.concatenate(played), model.space_.unpack(rounds.packed)

    @pytest.mark.parametrize("name", OVER_SPACES)
    def test_gradient_descent_in_every_space(self, kind, name):
        other, X, y = OVER_SPACES[name]
        space = {"space": other.space, "regularizer": other.regularizer}
        model = learner(kind, optimizer=GradientDescent(eta=0.05), **space)
        weight = np.random.RandomState(0).randint(4, size=len(X)) * 0.7
        found, V = self.played(model, X, y, weight)
        features, loss = model._model.scale.features, model.loss_
        assert features.square == 3.0 * X.shape[1]
        rows = literal.mapped_rows(X, weight, literal_phi(features))
        W, mean = np.zeros((V.shape[1], rows.shape[1])), 0.0
        for x, v, w, share, theta in zip(rows, V, weight, round_shares(weight), found, strict=True):
            np.testing.assert_allclose(theta, W @ x, rtol=1e-9, atol=1e-9)
            mean = mean + share * W
            gradient = loss.mean((W @ x)[None])[0] - v
            W = W - 0.05 * loss.scale_ * w * np.outer(gradient, x)
        np.testing.assert_allclose(model.last_weights_, W, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(model.average_weights_, mean, rtol=1e-9, atol=1e-9)

    def test_the_parameter_free_learner(self, kind):
        X, y, weight = stream()
        model = learner(kind, optimizer="parameter_free", coef0=0.5, degree=2)
        found, V = self.played(model, X, y, weight)
        features = model._model.scale.features
        assert features.coef0 == 0.5 and features.gamma == (1.0 / 3.0 if kind is POLY else 1.0)
        rows = literal.mapped_rows(X, weight, literal_phi(features))
        shape, diameter = (3, rows.shape[1]), model.space_.geometry("l2").diameter
        optimizer = ParameterFree(shape, diameter, 100.0)
        wanted, weights = play(optimizer, model.loss_, rows, V, weight, intercept=False)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(model.last_weights_, weights[-1], rtol=1e-9, atol=1e-9)

    def test_fit_balances_by_its_rows(self, kind):
        X, y, weight = stream(n=60)
        model = learner(kind, n_components=900).fit(X, y, sample_weight=weight)
        mean = np.average(X, axis=0, weights=weight)
        Z = (X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
        features = model._model.scale.features
        gamma = 1.0 / 3.0 if kind is POLY else 1.0  # by their weights Z has variance 1
        assert features.gamma == pytest.approx(gamma, rel=1e-10)
        sizes = [exact(features)(z, z) for z in Z]
        gain = np.sqrt(9.0 / np.average(sizes, weights=weight))
        streamed = np.sqrt(9.0 / size_of(features))
        assert kind is not POLY or abs(gain / streamed - 1.0) > 1e-3
        wanted = rows_of(literal_phi(features), Z[:1]) * gain / streamed
        np.testing.assert_allclose(phi(features, Z[:1]), wanted, rtol=1e-8, atol=1e-10)
        lengths = np.sum(phi(features, Z) ** 2, axis=1)
        assert lengths.mean() == pytest.approx(9.0, rel=0.1)


@BOTH
@pytest.mark.parametrize("optimizer", ["auto", "parameter_free", "adagrad", "ogd"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_chunks_of_any_size_give_the_same_bits(kind, optimizer, dtype):
    X, y, weight = stream()
    X = X.astype(dtype)
    whole, parts = (learner(kind, optimizer=optimizer) for _ in range(2))
    whole.partial_fit(X, y, [0, 1, 2], weight)
    start = 0
    for size in [1, 2, 7, 1, 64, 3] * 9:
        part = slice(start, start + size)
        if start < len(X):
            parts.partial_fit(X[part], y[part], [0, 1, 2], weight[part])
            parts = pickle.loads(pickle.dumps(parts)) if size == 7 else parts
        start += size
    assert parts.t_ == whole.t_ == len(X)
    assert np.array_equal(whole.last_weights_, parts.last_weights_)
    assert np.array_equal(whole.predict_proba(X), parts.predict_proba(X))


@BOTH
class TestLearner:
    @pytest.mark.skipif(INTERPRETED, reason="slow")
    def test_learns_curves_about_as_all_kernels_do(self, kind):
        rng, n = np.random.RandomState(0), 800
        X = 10.0 ** rng.randint(-3, 4, 4) * rng.randn(3 * n // 2, 4)
        radius = np.sum((X / X.std(axis=0)) ** 2, axis=1)
        y = (radius > np.median(radius)).astype(int)
        for passes in (1, 5):
            model = learner(kind, n_components=300, max_iter=passes).fit(X[:n], y[:n])
            every = KernelStructuredPredictor(kernel=kind["kernel"], max_iter=passes)
            score = every.fit(X[:n], y[:n]).score(X[n:], y[n:])
            assert model.score(X[n:], y[n:]) > score - 0.05 > 0.75

    def test_singles_are_near_doubles(self, kind):
        X, y, _ = stream(n=60 if INTERPRETED else 400)
        double = learner(kind, optimizer="parameter_free").fit(X, y)
        single = learner(kind, optimizer="parameter_free").fit(X.astype(np.float32), y)
        np.testing.assert_allclose(single.predict_proba(X), double.predict_proba(X), atol=5e-3)

    def test_csr_rows_and_rows_without_weight(self, kind):
        X, y, weight = stream()
        X = np.where(np.random.RandomState(0).rand(*X.shape) < 0.5, 0.0, X)
        dense, other = (learner(kind, standardize=False) for _ in range(2))
        dense.partial_fit(X, y, [0, 1, 2], weight)
        there = weight > 0.0
        other.partial_fit(sparse.csr_matrix(X[there]), y[there], [0, 1, 2], weight[there])
        assert np.array_equal(other.last_weights_, dense.last_weights_)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("size", [1e13, 1e37, 1e60, 1e120])
    def test_a_row_too_large_is_told_and_leaves_the_rows_before_it(self, kind, size, dtype):
        X, y, _ = stream(n=40)
        model, other = (learner(kind, optimizer="ogd", standardize=False) for _ in range(2))
        bad = X.astype(dtype)
        model.partial_fit(bad, y, [0, 1, 2])
        other.partial_fit(bad, y, [0, 1, 2])
        if size > float(np.finfo(dtype).max):
            pytest.skip("is not finite")
        bad[7] = size
        try:
            model.partial_fit(bad, y)
        except ValueError as error:
            assert "Row 7 of X is too large" in str(error) or "Row 7 of X has" in str(error)
            if model.t_ == 47:
                other.partial_fit(bad[:7], y[:7])
            assert model.t_ == other.t_
            assert np.array_equal(model.last_weights_, other.last_weights_)
        else:
            assert size < 1e100
        assert np.isfinite(model.last_weights_).all()

    @pytest.mark.parametrize("optimizer", ["auto", "ogd", "parameter_free"])
    def test_certificates_hold_over_rows_and_features(self, kind, optimizer):
        X, y, _ = stream()
        model = learner(kind, optimizer=optimizer)
        result = progressive_validate(model, X, y)
        model = result.estimator
        comparison = model.comparison(model.resume(X, y))
        assert comparison.X.shape == (len(X), 3 + 21)
        rng = np.random.RandomState(0)
        for size in (0.0, 0.03, 0.3):
            U = size * rng.randn(3, 25)
            theta = comparison.X @ U[:, :24].T + U[:, 24]
            loss = model.loss_.value(theta, comparison.V).sum()
            bound = model.certificate().bound(loss, np.linalg.norm(U))
            assert result.expected_target_loss.sum() <= bound

    @pytest.mark.parametrize("averaged", [True, False])
    @pytest.mark.parametrize("optimizer", ["auto", "parameter_free"])
    def test_plays_ahead_what_it_would_predict(self, kind, optimizer, averaged):
        X, y, _ = stream(n=24)
        given = {"optimizer": optimizer, "average": averaged}
        model, other = learner(kind, **given), learner(kind, **given)
        play = "average" if averaged else "last"
        result = progressive_validate(model, X, y, play=play, batch_size=1, classes=[0, 1, 2])
        other.partial_fit(X[:1], y[:1], [0, 1, 2])
        for t in range(1, len(X)):
            theta, V = other.embedding_scores(X[t : t + 1]), np.eye(3)[y[t : t + 1]]
            wanted = other.loss_.value(theta, V)[0]
            assert result.surrogate_loss[t] == pytest.approx(wanted, rel=1e-8, abs=1e-10)
            other.partial_fit(X[t : t + 1], y[t : t + 1])

    @pytest.mark.skipif(INTERPRETED, reason="slow")
    def test_fit_leaves_them_where_a_line_does_as_well(self, kind):
        rng = np.random.RandomState(0)
        X = rng.randn(600, 6) + 1.0
        noisy = (X @ rng.randn(6) + 2.0 * rng.randn(len(X)) > 0.0).astype(int)
        model = learner(kind, max_iter="auto", n_components=201).fit(X, noisy)
        assert model.n_components_ == 0
        before = model.t_
        assert model.partial_fit(X, noisy).t_ == before + len(X)
        curved = (np.sum((X - 1.0) ** 2, axis=1) > 5.0).astype(int)
        assert model.fit(X, curved).n_components_ == 201
        assert model.last_weights_.shape == (2, 208)

    def test_random_state_draws_them(self, kind):
        X, y, _ = stream()
        name = "signs" if kind is POLY else "weights"
        one, same, other = (
            getattr(learner(kind, random_state=seed).fit(X, y)._model.scale.features, name)
            for seed in (0, 0, 1)
        )
        assert np.array_equal(one, same) and not np.array_equal(one, other)

    def test_auto_takes_what_belongs_to_the_kernel(self, kind, monkeypatch):
        monkeypatch.setattr(_approximations, "ALL_KERNELS", 50)
        X, y, _ = stream(n=51)
        model = learner(kind, approximation="auto")
        assert model.fit(X[:50], y[:50]).support_vectors_.shape == (50, 3)
        found, given = model.fit(X, y), learner(kind).fit(X, y)
        assert found.n_components_ == 21
        assert np.array_equal(found.last_weights_, given.last_weights_)

    def test_constants_below_0(self, kind):
        X, y, _ = stream()
        with pytest.raises(ValueError, match="coef0 must be at least 0"):
            learner(kind, coef0=-1.0).fit(X, y)


def test_auto_takes_all_kernels_where_there_is_no_sketch(monkeypatch):
    monkeypatch.setattr(_approximations, "ALL_KERNELS", 20)
    X, y, _ = stream()
    model = learner(POLY, approximation="auto", coef0=-0.1, degree=2).fit(X, y)
    assert len(model.support_vectors_) == len(X)
    with pytest.raises(ValueError, match="coef0 must be at least 0 with kernel='arc-cosine'"):
        learner(ARC, approximation="auto", coef0=-0.1).fit(X, y)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (POLY | {"kernel": "rbf"}, "'sketch' is for kernel='poly', got kernel='rbf'.*'fourier'"),
        (ARC | {"kernel": "poly"}, "'relu' is for kernel='arc-cosine', got.*'sketch'"),
        (POLY | {"kernel": "linear"}, "got kernel='linear'; approximation='none' takes"),
        (ARC | {"kernel": kernels.linear}, "'relu' is for kernel='arc-cosine', got kernel=<func"),
        (POLY | {"degree": 0}, "degree must be"),
        (POLY | {"degree": 1.5}, "degree must be"),
        (POLY | {"coef0": np.nan}, "coef0 must be"),
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
