"""Random Fourier features: what they are, and learners over them against literal forms."""

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

from skstructured import (
    GuaranteeError,
    KernelStructuredPredictor,
    OnlineStructuredPredictor,
)
from skstructured._learners.models import SCORES
from skstructured.estimators.kernel import _features as _approximations
from skstructured.estimators.kernel._features import FourierMap, orthogonal_frequencies
from skstructured.evaluation import progressive_validate
from skstructured.optimizers import GradientDescent

N = 30 if INTERPRETED else 150


def fourier(**given):
    """A learner over few features, of one pass in order."""
    one = {"n_components": 20, "shuffle": False, "max_iter": 1, "random_state": 0}
    return KernelStructuredPredictor(**{"approximation": "fourier"} | one | given)


RELU = {"kernel": "arc-cosine", "approximation": "relu"}
BOTH = pytest.mark.parametrize("kind", [{}, RELU], ids=["fourier", "relu"])


def near(found, wanted):
    """Equal to 1e-12 of the largest of all, as random features and kernels are in any chunks."""
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-12 * np.abs(wanted).max())


def made(kernel="rbf", p=4, n_components=60, multiscale=False, gamma=0.3, seed=0):
    rng = np.random.RandomState(seed)
    features = FourierMap(kernel, p, n_components, multiscale, rng)
    features.set_width(gamma, 1.0)
    return features


def phi(features, Z):
    return features.behind(Z, Z.shape[1])[:, Z.shape[1] :]


def scaled(features):
    """Frequencies in radians, and amplitudes."""
    widths = features.gamma * features.octave
    factor = widths if features.kernel == "laplacian" else np.sqrt(widths)
    return features.frequencies * factor, np.sqrt(features.square * features.shares)


def literal_phi(features):
    """φ of one row, literally."""
    if isinstance(features, FourierMap):
        return lambda z: literal.waves(z, *scaled(features))
    gain = np.sqrt(2.0 / features.columns * features.square / (features.p + features.coef0))
    return lambda z: literal.rectified([*z, features.coef0**0.5], features.weights, gain)


def stream(seed=0, n=N, p=3):
    rng = np.random.RandomState(seed)
    X = 3.0 * rng.randn(n, p) + rng.randn(p)
    return X, np.argmax(np.sin(X), axis=1), rng.randint(4, size=n) * 0.7


class TestFeatures:
    @pytest.mark.parametrize(("p", "m"), [(1, 1), (3, 7), (8, 128), (17, 300)])
    def test_are_cosines_and_sines(self, p, m):
        Z = 2.0 * np.random.RandomState(p).randn(6, p)
        features = made(p=p, n_components=2 * m)
        assert features.columns == 2 * m
        wanted = [literal.waves(z, *scaled(features)) for z in Z]
        np.testing.assert_allclose(phi(features, Z), wanted, atol=1e-12)

    def test_of_long_rows_lie_on_the_circle(self):
        features, Z = made(n_components=200), np.random.RandomState(0).randn(5, 4)
        for factor in (1e5, 1e15, 1e100, 1e300):
            found = phi(features, factor * Z)
            np.testing.assert_allclose(np.sum(found**2, axis=1), 1.0, rtol=1e-12)
        near = phi(features, 1e5 * Z)
        wanted = [literal.waves(z, *scaled(features)) for z in 1e5 * Z]
        np.testing.assert_allclose(near, wanted, atol=1e-10)

    def test_a_row_has_nearly_the_same_ones_in_any_company(self):
        Z, features = np.random.RandomState(0).randn(70, 11), made(p=11)
        together = phi(features, Z)
        near(together, np.vstack([phi(features, z[None]) for z in Z]))
        near(phi(features, Z[::-1])[::-1], together)

    @pytest.mark.parametrize("multiscale", [True, False])
    @pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
    def test_products_are_means_of_cosines_whose_limit_is_the_kernel(self, kernel, multiscale):
        if multiscale and kernel == "laplacian":
            pytest.skip("has one scale")
        exact = kernels.multiscale if multiscale else getattr(kernels, kernel)
        Z = np.random.RandomState(0).randn(12, 4)
        features = made(kernel, multiscale=multiscale, n_components=61)
        found = phi(features, Z) @ phi(features, Z).T
        frequencies = scaled(features)[0]
        wanted = [[literal.mean_kernel(frequencies, features.shares, x, z) for z in Z] for x in Z]
        np.testing.assert_allclose(found, wanted, atol=1e-12)
        errors = []
        for size in (50, 800, 12800):
            many = [
                made(kernel, multiscale=multiscale, n_components=size, seed=s) for s in range(8)
            ]
            of = [phi(one, Z) @ phi(one, Z).T - kernels.gram(exact(0.3), Z, Z) for one in many]
            errors.append(np.sqrt(np.mean(np.square(of))))
        for more, less in zip(errors[1:], errors[:-1], strict=True):
            assert 0.15 < more / less < 0.4  # ¼ is 1/√16
        assert errors[0] < 1.0 / np.sqrt(25)

    def test_orthogonal_ones_are_normal_and_nearer_to_the_kernel_than_independent_ones(self):
        W = orthogonal_frequencies(16, 24, np.random.RandomState(0))
        products = W[:, :16].T @ W[:, :16]
        np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-12)
        many = [orthogonal_frequencies(3, 5, np.random.RandomState(s)) for s in range(400)]
        assert kstest(np.ravel(many)[::4], norm.cdf).pvalue > 1e-3
        Z = np.random.RandomState(0).randn(20, 16)
        exact, errors = kernels.gram(kernels.rbf(0.02), Z, Z), np.zeros(2)
        for seed in range(20):
            features = made(p=16, n_components=32, gamma=0.02, seed=seed)
            errors[0] += np.sum((phi(features, Z) @ phi(features, Z).T - exact) ** 2)
            normal = np.random.RandomState(seed).standard_normal((16, 16))
            features.frequencies = np.sqrt(2.0) * normal
            features.set_width(0.02, 1.0)
            errors[1] += np.sum((phi(features, Z) @ phi(features, Z).T - exact) ** 2)
        assert errors[0] < 0.8 * errors[1]


class TestAgainstLiteral:
    def played(self, model, X, y, weight):
        """Scores played, and outputs as vertices."""
        rounds = model.begin(X, y)._replace(weight=weight)
        played = []
        every = np.arange(len(X))
        model._learn(rounds, every, lambda block, w: played.append(block.theta), SCORES)
        return np.concatenate(played), model.space_.unpack(rounds.packed)

    @BOTH
    @pytest.mark.parametrize("standardize", [True, False])
    @pytest.mark.parametrize("name", OVER_SPACES)
    def test_gradient_descent_in_every_space(self, kind, name, standardize):
        other, X, y = OVER_SPACES[name]
        given = {"space": other.space, "regularizer": other.regularizer, "gamma": 0.4}
        optimizer = GradientDescent(eta=0.05)
        model = fourier(**kind, optimizer=optimizer, standardize=standardize, **given)
        weight = np.random.RandomState(0).randint(4, size=len(X)) * 0.7
        found, V = self.played(model, X, y, weight)
        features, loss = model._model.scale.features, model.loss_
        assert features.square == 3.0 * X.shape[1]
        rows = literal.mapped_rows(X, weight, literal_phi(features), standardize)
        W, mean = np.zeros((V.shape[1], rows.shape[1])), 0.0
        shares = round_shares(weight)
        for x, v, w, share, theta in zip(rows, V, weight, shares, found, strict=True):
            np.testing.assert_allclose(theta, W @ x, rtol=1e-10, atol=1e-10)
            mean = mean + share * W
            gradient = loss.mean((W @ x)[None])[0] - v
            W = W - 0.05 * loss.scale_ * w * np.outer(gradient, x)
        np.testing.assert_allclose(model.last_weights_, W, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(model.average_weights_, mean, rtol=1e-10, atol=1e-10)

    @pytest.mark.parametrize("kind", [{}, {"kernel": "laplacian"}, RELU | {"coef0": 0.5}])
    def test_the_parameter_free_learner(self, kind):
        X, y, weight = stream()
        model = fourier(**kind, optimizer="parameter_free")
        found, V = self.played(model, X, y, weight)
        features = model._model.scale.features
        if isinstance(features, FourierMap):
            assert features.gamma == (1.0 / 6.0 if features.kernel == "rbf" else 1.0 / 3.0)
        rows = literal.mapped_rows(X, weight, literal_phi(features))
        shape, diameter = (3, rows.shape[1]), model.space_.geometry("l2").diameter
        optimizer = ParameterFree(shape, diameter, 100.0)
        wanted, weights = play(optimizer, model.loss_, rows, V, weight, intercept=False)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(model.last_weights_, weights[-1], rtol=1e-9, atol=1e-10)
        new = X[:5] + 1.0
        Z = (new - model._model.scale.inner.statistics[0]) / model._model.scale.inner.statistics[1]
        rows = [[*z, *literal_phi(features)(z), 1.0] for z in Z]
        scores = np.array(rows) @ model.average_weights_.T
        np.testing.assert_allclose(model.embedding_scores(new), scores, rtol=1e-10, atol=1e-10)

    def test_fit_takes_the_median_distance(self):
        X, y, _ = stream(n=60)
        model = fourier().fit(X, y)
        exact = KernelStructuredPredictor(max_iter=1).fit(X, y)
        gamma = exact._model.expansion.support.function.numbers[0]
        assert model._model.scale.features.gamma == gamma


@BOTH
@pytest.mark.parametrize("optimizer", ["auto", "parameter_free", "adagrad", "ogd"])
class TestChunks:
    def test_of_any_size_give_nearly_the_same_weights(self, kind, optimizer):
        X, y, weight = stream()
        whole, parts = (fourier(**kind, optimizer=optimizer) for _ in range(2))
        whole.partial_fit(X, y, [0, 1, 2], weight)
        start = 0
        for size in [1, 2, 7, 1, 64, 3] * 9:
            part = slice(start, start + size)
            if start < len(X):
                parts.partial_fit(X[part], y[part], [0, 1, 2], weight[part])
                parts = pickle.loads(pickle.dumps(parts)) if size == 7 else parts
            start += size
        assert parts.t_ == whole.t_ == len(X)
        near(parts.last_weights_, whole.last_weights_)
        near(parts.predict_proba(X), whole.predict_proba(X))

    def test_rows_without_weight_are_left_out_and_csr_rows_made_dense(self, kind, optimizer):
        X, y, weight = stream()
        X = np.where(np.random.RandomState(0).rand(*X.shape) < 0.5, 0.0, X)
        model = fourier(**kind, optimizer=optimizer).partial_fit(X, y, [0, 1, 2], weight)
        there = weight > 0
        other = fourier(**kind, optimizer=optimizer).partial_fit(
            sparse.csr_matrix(X[there]), y[there], [0, 1, 2], weight[there]
        )
        near(other.last_weights_, model.last_weights_)
        near(other.predict_proba(sparse.csr_matrix(X)), model.predict_proba(X))


class TestLearner:
    @BOTH
    def test_learns_curves(self, kind):
        if kind and INTERPRETED:
            pytest.skip("slow")
        rng = np.random.RandomState(0)
        n = 300 if INTERPRETED else 800
        X = 10.0 ** rng.randint(-3, 4, 4) * rng.randn(3 * n // 2, 4)
        radius = np.sum((X / X.std(axis=0)) ** 2, axis=1)
        y = (radius > np.median(radius)).astype(int)
        for passes in (1, 5):
            model = fourier(**kind, n_components=300, max_iter=passes).fit(X[:n], y[:n])
            exact = KernelStructuredPredictor(kernel=model.kernel, max_iter=passes, random_state=0)
            score = exact.fit(X[:n], y[:n]).score(X[n:], y[n:])
            assert model.score(X[n:], y[n:]) > score - 0.05 > 0.75

    @BOTH
    def test_singles_are_near_doubles(self, kind):
        X, y, _ = stream(n=60 if INTERPRETED else 400)
        double = fourier(**kind, optimizer="parameter_free").fit(X, y)
        single = fourier(**kind, optimizer="parameter_free").fit(X.astype(np.float32), y)
        np.testing.assert_allclose(single.predict_proba(X), double.predict_proba(X), atol=5e-3)

    @BOTH
    def test_a_bad_row_leaves_the_rows_before_it_learned_alone(self, kind):
        X, y, _ = stream(n=40)
        model, other = (fourier(**kind, optimizer="ogd", standardize=False) for _ in range(2))
        model.partial_fit(X, y, [0, 1, 2])
        other.partial_fit(X, y, [0, 1, 2])
        bad = X.copy()
        bad[7] = 1e120
        with pytest.raises(ValueError, match="Row 7 of X is too large"):
            model.partial_fit(bad, y)
        if model.t_ == 47:
            other.partial_fit(X[:7], y[:7])
        assert model.t_ == other.t_
        assert np.array_equal(model.last_weights_, other.last_weights_)

    @BOTH
    @pytest.mark.parametrize("optimizer", ["auto", "ogd", "parameter_free"])
    def test_certificates_hold_over_rows_and_features(self, kind, optimizer):
        X, y, _ = stream()
        model = fourier(**kind, optimizer=optimizer)
        result = progressive_validate(model, X, y)
        model = result.estimator
        comparison = model.comparison(model.resume(X, y))
        assert comparison.X.shape == (len(X), 3 + 20)
        rng = np.random.RandomState(0)
        for size in (0.0, 0.03, 0.3):
            U = size * rng.randn(3, 24)
            theta = comparison.X @ U[:, :23].T + U[:, 23]
            loss = model.loss_.value(theta, comparison.V).sum()
            bound = model.certificate().bound(loss, np.linalg.norm(U))
            assert result.expected_target_loss.sum() <= bound

    @BOTH
    @pytest.mark.parametrize("standardize", [True, False])
    @pytest.mark.parametrize("averaged", [True, False])
    @pytest.mark.parametrize("optimizer", ["auto", "parameter_free"])
    def test_plays_ahead_what_it_would_predict(self, kind, optimizer, averaged, standardize):
        X, y, _ = stream(n=24)
        given = {"optimizer": optimizer, "average": averaged, "standardize": standardize}
        model, other = fourier(**kind, **given), fourier(**kind, **given)
        play = "average" if averaged else "last"
        result = progressive_validate(model, X, y, play=play, batch_size=1, classes=[0, 1, 2])
        other.partial_fit(X[:1], y[:1], [0, 1, 2])
        for t in range(1, len(X)):
            theta, V = other.embedding_scores(X[t : t + 1]), np.eye(3)[y[t : t + 1]]
            wanted = other.loss_.value(theta, V)[0]
            assert result.surrogate_loss[t] == pytest.approx(wanted, rel=1e-8, abs=1e-10)
            other.partial_fit(X[t : t + 1], y[t : t + 1])

    @BOTH
    @pytest.mark.skipif(INTERPRETED, reason="slow")
    def test_fit_leaves_them_where_a_line_does_as_well(self, kind):
        rng = np.random.RandomState(0)
        X = rng.randn(600, 6) + 1.0
        noisy = (X @ rng.randn(6) + 2.0 * rng.randn(len(X)) > 0.0).astype(int)
        model = fourier(**kind, max_iter="auto", n_components=200).fit(X, noisy)
        assert model.n_components_ == 0
        passes = {"max_iter": model.n_iter_, "tol": None, "shuffle": False}
        line = OnlineStructuredPredictor(optimizer="parameter_free", **passes).fit(X, noisy)
        found = model.embedding_scores(X) / model.score_factor_
        np.testing.assert_allclose(found, line.embedding_scores(X), rtol=1e-8, atol=1e-10)
        before = model.t_
        assert model.partial_fit(X, noisy).t_ == before + len(X)
        curved = (np.sum((X - 1.0) ** 2, axis=1) > 5.0).astype(int)
        assert model.fit(X, curved).n_components_ == 200
        assert model.last_weights_.shape == (2, 207)
        assert model.set_params(max_iter=2).fit(X, noisy).n_components_ == 200

    def test_random_state_draws_them(self):
        X, y, _ = stream()
        one, same, other = (
            fourier(random_state=seed).fit(X, y)._model.scale.features.frequencies
            for seed in (0, 0, 1)
        )
        assert np.array_equal(one, same) and not np.isclose(one, other).any()

    @pytest.mark.skipif(INTERPRETED, reason="slow")
    def test_memory_of_predictions_is_that_of_some_rows(self):
        import tracemalloc

        X, y, _ = stream(n=500)
        model = fourier(n_components=1000, optimizer="ogd").fit(X[:20], y[:20])
        many = np.tile(X, (10 if INTERPRETED else 100, 1))
        tracemalloc.start()
        model.predict(many)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8 * 1003 * len(many) / 3

    def test_what_is_not_there(self):
        X, y, _ = stream()
        model = fourier().fit(X, y)
        for name in ("dual_coef_", "support_vectors_", "support_", "coef_", "intercept_"):
            with pytest.raises(AttributeError, match="random features"):
                getattr(model, name)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"approximation": "nystroem"}, "approximation must be one of"),
            ({"n_components": 0}, "n_components must be"),
            (
                {"kernel": "poly"},
                "approximation='fourier' is for kernel='rbf' and 'laplacian'.*'none'",
            ),
            ({"kernel": "precomputed"}, "approximation='fourier' is for"),
            ({"budget": 10}, "budget is for support rows"),
            ({"gamma": -1.0}, "gamma must be"),
        ],
    )
    def test_parameters_out_of_range(self, given, message):
        X, y, _ = stream()
        with pytest.raises(ValueError, match=message):
            fourier(**given).fit(X, y)

    def test_auto_takes_all_kernels_of_few_rows(self, monkeypatch):

        monkeypatch.setattr(_approximations, "ALL_KERNELS", 50)
        X, y, _ = stream(n=51)
        model = KernelStructuredPredictor(
            approximation="auto", n_components=20, max_iter=1, random_state=0
        )
        assert model.fit(X[:50], y[:50]).support_vectors_.shape == (50, 3)
        assert model.fit(X, y).last_weights_.shape == (3, 24)
        for name in ("sigmoid", "linear"):
            model.set_params(kernel=name).fit(X, y)
            assert len(model.support_vectors_) == 51
        model.set_params(kernel="rbf", budget=20).fit(X, y)
        assert len(model.support_vectors_) <= 20
        model.set_params(budget=None).fit(X, y)
        fresh = KernelStructuredPredictor(approximation="auto").partial_fit(X, y, [0, 1, 2])
        assert len(fresh.support_vectors_) == 51

    def test_exact_kernels_have_no_features(self):
        X, y, _ = stream()
        model = KernelStructuredPredictor(max_iter=1).fit(X, y)
        assert type(model.optimizer_).__name__ == "ParameterFree"
        with pytest.raises(GuaranteeError, match="functions"):
            model.comparison(model.resume(X, y))


def test_wide_csr_rows_are_refused():
    X, y, _ = stream()
    wide = sparse.csr_matrix((len(X), 5000))
    for call in (fourier().fit, lambda *given: fourier().partial_fit(*given, [0, 1, 2])):
        with pytest.raises(ValueError, match=r"at most 4,096 columns, got 5,000: put TruncatedSVD"):
            call(wide, y)
