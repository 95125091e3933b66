"""Random features of CSR rows, which stay CSR: literally, in chunks, and how much they take."""

import pickle
import tracemalloc

import naive
import naive.features as literal
import numpy as np
import pytest
from conftest import INTERPRETED
from learners import OVER_SPACES
from naive import kernels
from naive import mixture as literal_mixture
from naive.optimizers import ParameterFree, play, round_shares
from scipy import sparse

from skstructured import KernelStructuredPredictor, OnlineStructuredPredictor
from skstructured._engine.rows import Rows
from skstructured._engine.sincos import TILE
from skstructured._learners.models import SCORES
from skstructured.estimators.kernel import _features
from skstructured.estimators.kernel._features import FourierMap, orthogonal_frequencies
from skstructured.estimators.kernel._values import width_of
from skstructured.evaluation import progressive_validate
from skstructured.optimizers import GradientDescent, StepMixture

N = 30 if INTERPRETED else 120
STEPS, ADAPTIVE, SHARES = (0.25, 2.0), (0.5,), ("thinning", 0.02)


def fourier(**given):
    """A learner over few features, of one pass in order."""
    one = {"n_components": 20, "shuffle": False, "max_iter": 1, "random_state": 0}
    return KernelStructuredPredictor(**{"approximation": "fourier"} | one | given)


def made(p, m, kernel="rbf", multiscale=False, gamma=0.3, seed=0):
    """A map of CSR rows."""
    features = FourierMap(kernel, p, 2 * m, multiscale, np.random.RandomState(seed), float)
    features.set_width(gamma, 2.0)
    return features.drawn_for(True)


def scaled(features):
    """Frequencies in radians, and amplitudes."""
    widths = features.gamma * features.octave
    factor = widths if features.kernel == "laplacian" else np.sqrt(widths)
    return features.frequencies * factor, np.sqrt(features.square * features.shares)


def of_rows(model):
    """What a literal learner is told of the features of a model."""
    features = model._model.scale.features
    return features.places, features.signs, *scaled(features)


def phi(features, X):
    rows = features.behind_rows(Rows.from_array(X), np.arange(X.shape[0]), X.shape[1])
    return rows.matrix.toarray()[:, X.shape[1] :]


def sparse_rows(n, p, seed=0, density=0.5):
    """Rows of p columns whose entries lie in no order, the first row not empty."""
    rng = np.random.RandomState(seed)
    X = np.where(rng.rand(n, p) < density, 2.0 * rng.randn(n, p) + 0.5, 0.0)
    X[0, 0] = 3.0
    rows = sparse.csr_matrix(X)
    for i in range(n):
        part = slice(*rows.indptr[i : i + 2])
        order = rng.permutation(part.stop - part.start)
        rows.indices[part], rows.data[part] = rows.indices[part][order], rows.data[part][order]
    rows.has_sorted_indices = False
    return rows


def stream(seed=0, n=N, p=6):
    rng = np.random.RandomState(seed)
    X = sparse_rows(n, p, seed)
    y = np.argmax(np.sin(X.toarray()[:, :3]), axis=1)
    return X, y, rng.randint(4, size=n) * 0.7


@pytest.fixture(params=["each column", "hashed"])
def buckets(request, monkeypatch):
    """With as many features as columns, and with fewer."""
    if request.param == "hashed":
        monkeypatch.setattr(_features, "BUCKETS", 4)
    return request.param


class TestFeatures:
    @pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
    @pytest.mark.parametrize(("p", "m"), [(1, 1), (3, 7), (9, TILE), (40, TILE + 1), (17, 300)])
    def test_are_cosines_and_sines_of_hashed_rows(self, p, m, kernel, monkeypatch):
        for most in (_features.BUCKETS, 5):
            monkeypatch.setattr(_features, "BUCKETS", most)
            features, X = made(p, m, kernel), sparse_rows(6, p)
            assert len(features.frequencies) == min(p, most)
            if p <= most:
                assert np.array_equal(features.places, np.arange(p)) and all(features.signs == 1.0)
            given = features.places, features.signs, len(features.frequencies)
            short = [literal.hashed(z, *given) for z in X.toarray()]
            wanted = [literal.waves(s, *scaled(features)) for s in short]
            np.testing.assert_allclose(phi(features, X), wanted, atol=1e-11)

    def test_stand_behind_the_entries_of_each_row(self):
        X, features = sparse_rows(5, 9), made(9, 4)
        order = np.array([3, 1, 1])
        rows = features.behind_rows(Rows.from_array(X), order, 12)
        assert rows.width == 20 and rows.matrix.shape == (3, 20)
        for i, j in enumerate(order):
            own = slice(rows.indptr[i], rows.indptr[i + 1] - 8)
            part = slice(X.indptr[j], X.indptr[j + 1])
            assert np.array_equal(rows.indices[own], X.indices[part])
            assert np.array_equal(rows.data[own], X.data[part])
            behind = slice(own.stop, own.stop + 8)
            assert np.array_equal(rows.indices[behind], np.arange(12, 20))
            assert np.array_equal(rows.data[behind], phi(features, X)[j])

    def test_have_the_same_bits_in_any_company(self):
        X, features = sparse_rows(9, 30), made(30, 200)
        together = phi(features, X)
        for i in range(9):
            assert np.array_equal(phi(features, X[i]), together[i : i + 1])

    def test_products_of_hashed_rows_are_right_on_average(self, monkeypatch):
        monkeypatch.setattr(_features, "BUCKETS", 8)
        x, z = np.random.RandomState(1).randn(2, 30)
        found = []
        for seed in range(300 if INTERPRETED else 2000):
            features = made(30, 1, seed=seed)
            of = [literal.hashed(v, features.places, features.signs, 8) for v in (x, z)]
            found.append(of[0] @ of[1])
        error = np.std(found) / np.sqrt(len(found))
        assert abs(np.mean(found) - x @ z) < 4.0 * error
        spread = np.sqrt(((x @ x) * (z @ z) + (x @ z) ** 2 - 2.0 * np.sum((x * z) ** 2)) / 8)
        assert np.std(found) == pytest.approx(spread, rel=0.15)

    @pytest.mark.skipif(INTERPRETED, reason="slow")
    @pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
    def test_of_wide_rows_are_near_the_kernel(self, kernel):
        X = sparse.random(20, 50_000, 0.001, format="csr", random_state=0)
        gamma = 0.02
        features = made(50_000, 4000, kernel, gamma=gamma)
        assert features.frequencies.shape == (_features.BUCKETS, 4000)
        columns = np.unique(X.indices)
        Z = X[:, columns].toarray()
        exact = kernels.gram(getattr(kernels, kernel)(gamma), Z, Z)
        found = phi(features, X) @ phi(features, X).T / 2.0
        assert np.sqrt(np.mean((found - exact) ** 2)) < 0.02
        assert exact.min() < 0.6

    def test_few_orthogonal_ones_are_those_of_narrow_rows(self):

        for p, m in ((3, 8), (5, 5)):
            both = [
                orthogonal_frequencies(p, m, np.random.RandomState(0), few) for few in (False, True)
            ]
            assert np.array_equal(*both)
        W = orthogonal_frequencies(40, 6, np.random.RandomState(0), few=True)
        products = W.T @ W
        np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-12)
        assert np.mean(np.diag(products)) == pytest.approx(40.0, rel=0.3)


class TestWidths:
    def test_of_fit_go_by_distances_and_lengths_of_rows(self):
        X, y, _ = stream(n=60)
        model = fourier(standardize=False).fit(X, y)
        features, Z = model._model.scale.features, X.toarray()
        gamma, multiscale = width_of("multiscale", "rbf", 6, Z, np.ones(Z.shape[0]))
        assert multiscale and features.gamma == pytest.approx(gamma, rel=1e-12)
        assert features.square == pytest.approx(3.0 * np.mean(np.sum(Z**2, axis=1)), rel=1e-12)
        model = fourier(standardize=False, gamma="scale").fit(X, y)
        assert model._model.scale.features.gamma == pytest.approx(1.0 / (6.0 * Z.var()), rel=1e-12)

    def test_rows_that_are_the_same_have_no_distance(self):
        few = sparse_rows(4, 12)
        X = sparse.vstack([few] * 9).tocsr() * 0.1
        wanted = width_of("multiscale", "rbf", 12, X.toarray(), np.ones(X.shape[0]))
        assert width_of("multiscale", "rbf", 12, X, np.ones(X.shape[0])) == pytest.approx(
            wanted, rel=1e-9
        )
        same = sparse.vstack([few[1]] * 9).tocsr()
        assert width_of("multiscale", "rbf", 12, same, np.ones(same.shape[0])) == (1.0, True)

    @pytest.mark.parametrize("standardize", [True, False])
    def test_of_a_stream_go_by_the_first_row_that_counts(self, standardize):
        X, y, _ = stream()
        weight = np.ones(len(y))
        weight[:3] = 0.0
        row = X[3].toarray()
        size = np.count_nonzero(row) if standardize else np.sum(row**2)
        whole, parts = (fourier(standardize=standardize) for _ in range(2))
        whole.partial_fit(X, y, [0, 1, 2], weight)
        for i in range(0, len(y), 2):
            part = slice(i, i + 2)
            parts.partial_fit(X[part], y[part], [0, 1, 2], weight[part])
        for model in (whole, parts):
            features = model._model.scale.features
            assert features.gamma == pytest.approx(0.5 / size)
            assert features.square == pytest.approx(3.0 * size)
        assert np.array_equal(whole.last_weights_, parts.last_weights_)


class TestAgainstLiteral:
    def played(self, model, X, y, weight, size=7):
        """Scores played, in chunks, and outputs as vertices."""
        rounds = model.begin(X, y)._replace(weight=weight)
        played = []
        for start in range(0, X.shape[0], size):
            some = np.arange(start, min(start + size, X.shape[0]))
            model._learn(rounds, some, lambda block, w: played.append(block.theta), SCORES)
        return np.concatenate(played), model.space_.unpack(rounds.packed)

    @pytest.mark.parametrize("standardize", [True, False])
    @pytest.mark.parametrize("name", OVER_SPACES)
    def test_gradient_descent_in_every_space(self, name, standardize, buckets):
        other, X, y = OVER_SPACES[name]
        X = sparse.csr_matrix(np.hstack([X, np.where(X > 0.4, X, 0.0)]))
        given = {"space": other.space, "regularizer": other.regularizer, "gamma": 0.4}
        optimizer = GradientDescent(eta=0.02)
        model = fourier(optimizer=optimizer, standardize=standardize, **given)
        weight = np.random.RandomState(0).randint(4, size=X.shape[0]) * 0.7
        found, V = self.played(model, X, y, weight)
        rows = literal.learned_csr_rows(X.toarray(), weight, *of_rows(model), standardize)
        loss, W, mean = model.loss_, np.zeros((V.shape[1], rows.shape[1])), 0.0
        shares = round_shares(weight)
        for x, v, w, share, theta in zip(rows, V, weight, shares, found, strict=True):
            np.testing.assert_allclose(theta, W @ x, rtol=1e-10, atol=1e-10)
            mean = mean + share * W
            gradient = loss.mean((W @ x)[None])[0] - v
            W = W - 0.02 * loss.scale_ * w * np.outer(gradient, x)
        np.testing.assert_allclose(model.last_weights_, W, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(model.average_weights_, mean, rtol=1e-10, atol=1e-10)

    @pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
    def test_the_parameter_free_learner(self, kernel, buckets):
        X, y, weight = stream()
        model = fourier(kernel=kernel, optimizer="parameter_free")
        found, V = self.played(model, X, y, weight)
        rows = literal.learned_csr_rows(X.toarray(), weight, *of_rows(model))
        shape, diameter = (3, rows.shape[1]), model.space_.geometry("l2").diameter
        optimizer = ParameterFree(shape, diameter, 100.0)
        wanted, weights = play(optimizer, model.loss_, rows, V, weight, intercept=False)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(model.last_weights_, weights[-1], rtol=1e-9, atol=1e-10)
        assert model.last_weights_.shape == (3, 6 + model.n_components_ + 1)

    @pytest.mark.parametrize("average", ["polynomial", False])
    @pytest.mark.parametrize("name", ["classes", "label sets", "grades", "rankings"])
    def test_the_mixture_with_lines_beside(self, name, average, buckets):
        if name == "classes":
            given, (X, y, weight) = {}, stream(n=40)
        else:
            other, X, y = OVER_SPACES[name]
            X, given = sparse.csr_matrix(np.where(X > -0.5, X, 0.0)), {"space": other.space}
            given["regularizer"] = other.regularizer
            weight = np.random.RandomState(0).randint(4, size=X.shape[0]) * 1.4
        steps = StepMixture(steps=STEPS, adaptive=ADAPTIVE, share=SHARES)
        model = fourier(optimizer=steps, average=average, gamma=0.4, n_components=8, **given)
        scores, V = self.played(model, X, y, weight)
        Z = literal.learned_csr_rows(X.toarray(), weight, *of_rows(model))
        dim, p = V.shape[1], X.shape[1]
        diameter = model.space_.geometry("l2").diameter

        def experts(columns):
            found = [literal_mixture.RelativeStep((dim, columns), eta) for eta in STEPS]
            found += [literal_mixture.RootStep((dim, columns), length) for length in ADAPTIVE]
            free = naive.ParameterFree((dim, columns), diameter, 100.0)
            return [*found, literal_mixture.Other(free)]

        seen = [*range(p), Z.shape[1] - 1]
        lines = [literal_mixture.OnColumns(e, seen) for e in experts(p + 1)]
        kind = {"classes": "classes", "label sets": "labels"}.get(name, "scores")
        wanted, losses, u = literal_mixture.play_mixture(
            experts(Z.shape[1]) + lines, model.loss_, Z, V, weight, SHARES, kind, average
        )
        np.testing.assert_allclose(scores, wanted, atol=1e-9 * np.abs(wanted).max())
        np.testing.assert_allclose(model._model.state.shares, u, atol=1e-8)
        np.testing.assert_allclose(model.expert_losses_, losses.sum(axis=0), rtol=1e-8, atol=1e-6)
        matrices = model._model._matrices()
        names = model.expert_names_
        of_lines = [i for i, told in enumerate(names) if "of the line" in told]
        assert len(of_lines) == len(names) // 2
        assert not matrices[of_lines][:, :, p:-1].any()


@pytest.mark.parametrize("optimizer", ["auto", "parameter_free", "adagrad", "ogd"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
class TestChunks:
    def test_of_any_size_give_the_same_bits(self, optimizer, dtype, buckets):
        X, y, weight = stream()
        X = X.astype(dtype)
        whole, parts = (fourier(optimizer=optimizer) for _ in range(2))
        whole.partial_fit(X, y, [0, 1, 2], weight)
        start = 0
        for size in [1, 2, 7, 1, 64, 3] * 9:
            part = slice(start, start + size)
            if start < len(y):
                parts.partial_fit(X[part], y[part], [0, 1, 2], weight[part])
                parts = pickle.loads(pickle.dumps(parts)) if size == 7 else parts
            start += size
        assert parts.t_ == whole.t_ == len(y)
        assert whole.last_weights_.dtype == dtype
        assert np.array_equal(whole.last_weights_, parts.last_weights_)
        assert np.array_equal(whole.predict_proba(X), parts.predict_proba(X))

    def test_dense_ones_after_sparse_ones_are_learned_alike(self, optimizer, dtype, buckets):
        X, y, _ = stream()
        X = X.astype(dtype)
        X.sort_indices()
        one, mixed = (fourier(optimizer=optimizer) for _ in range(2))
        for i in range(0, len(y), 10):
            part = slice(i, i + 10)
            rows = X[part] if i % 20 == 0 else X[part].toarray()
            one.partial_fit(X[part], y[part], [0, 1, 2])
            mixed.partial_fit(rows, y[part], [0, 1, 2])
        assert np.array_equal(one.last_weights_, mixed.last_weights_)

    def test_sparse_ones_after_dense_ones_are_made_dense(self, optimizer, dtype):
        X, y, _ = stream()
        X = X.astype(dtype)
        one, mixed = (fourier(optimizer=optimizer) for _ in range(2))
        for i in range(0, len(y), 10):
            part = slice(i, i + 10)
            rows = X[part].toarray() if i % 20 == 0 else X[part]
            one.partial_fit(X[part].toarray(), y[part], [0, 1, 2])
            mixed.partial_fit(rows, y[part], [0, 1, 2])
        assert np.array_equal(one.last_weights_, mixed.last_weights_)
        np.testing.assert_allclose(mixed.predict_proba(X), one.predict_proba(X.toarray()))


class TestLearner:
    @pytest.mark.parametrize("standardize", [True, False])
    @pytest.mark.parametrize("optimizer", ["auto", "parameter_free"])
    def test_predicts_dense_rows_and_few_rows_alike(self, optimizer, standardize, buckets):
        X, y, _ = stream()
        model = fourier(optimizer=optimizer, standardize=standardize).partial_fit(X, y, [0, 1, 2])
        scores = model.embedding_scores(X)
        for rows in (X, X.toarray()):
            few = [model.embedding_scores(rows[i : i + 3]) for i in range(0, len(y), 3)]
            np.testing.assert_allclose(np.vstack(few), scores, rtol=1e-9, atol=1e-11)
            np.testing.assert_allclose(model.embedding_scores(rows), scores, rtol=1e-9, atol=1e-11)
        wide = sparse.csr_matrix((len(y), 400))  # few of whose columns have entries
        wide = sparse.hstack([X, wide]).tocsr()
        model = fourier(optimizer=optimizer, standardize=standardize).partial_fit(
            wide, y, [0, 1, 2]
        )
        assert model._model._is_wide(model._model.scale.completed(Rows.from_array(wide[:1])))
        np.testing.assert_allclose(
            np.vstack([model.embedding_scores(wide[i]) for i in range(len(y))]),
            model.embedding_scores(wide),
            rtol=1e-9,
            atol=1e-11,
        )

    def test_rows_as_they_are_are_learned_as_dense_ones(self):
        X, y, _ = stream()
        dense, rows = (fourier(standardize=False, gamma=0.1) for _ in range(2))
        dense.partial_fit(X.toarray(), y, [0, 1, 2])
        rows.partial_fit(X, y, [0, 1, 2])
        size = np.sum(X[0].toarray() ** 2)
        for model, square in ((dense, 18.0), (rows, 3.0 * size)):
            assert model._model.scale.features.square == pytest.approx(square)
        frequencies = [m._model.scale.features.frequencies for m in (dense, rows)]
        assert frequencies[0].shape == frequencies[1].shape == (6, 10)

    @pytest.mark.parametrize("standardize", [True, False])
    @pytest.mark.parametrize("averaged", [True, False])
    @pytest.mark.parametrize("optimizer", ["auto", "parameter_free"])
    def test_plays_ahead_what_it_would_predict(self, optimizer, averaged, standardize):
        X, y, _ = stream(n=24)
        given = {"optimizer": optimizer, "average": averaged, "standardize": standardize}
        model, other = fourier(**given), fourier(**given)
        play = "average" if averaged else "last"
        result = progressive_validate(model, X, y, play=play, batch_size=1, classes=[0, 1, 2])
        other.partial_fit(X[:1], y[:1], [0, 1, 2])
        for t in range(1, len(y)):
            theta, V = other.embedding_scores(X[t : t + 1]), np.eye(3)[y[t : t + 1]]
            wanted = other.loss_.value(theta, V)[0]
            assert result.surrogate_loss[t] == pytest.approx(wanted, rel=1e-8, abs=1e-10)
            other.partial_fit(X[t : t + 1], y[t : t + 1])

    @pytest.mark.parametrize("optimizer", ["auto", "ogd", "parameter_free"])
    def test_certificates_hold_over_rows_and_features(self, optimizer, buckets):
        X, y, _ = stream()
        result = progressive_validate(fourier(optimizer=optimizer), X, y)
        model = result.estimator
        comparison = model.comparison(model.resume(X, y))
        assert comparison.X.shape == (len(y), 6 + 20)
        features = model._model.scale.features
        lengths = comparison.X[:, 6:].power(2).sum(axis=1)
        np.testing.assert_allclose(lengths, features.square, rtol=1e-12)
        rng = np.random.RandomState(0)
        for size in (0.0, 0.03, 0.3):
            U = size * rng.randn(3, 27)
            theta = comparison.X @ U[:, :26].T + U[:, 26]
            loss = model.loss_.value(theta, comparison.V).sum()
            bound = model.certificate().bound(loss, np.linalg.norm(U))
            assert result.expected_target_loss.sum() <= bound

    def test_a_bad_row_leaves_the_rows_before_it_learned_alone(self):
        X, y, _ = stream(n=40)
        model, other = (fourier(optimizer="ogd", standardize=False) for _ in range(2))
        model.partial_fit(X, y, [0, 1, 2])
        other.partial_fit(X, y, [0, 1, 2])
        bad = X.toarray()
        bad[7] = 1e120
        with pytest.raises(ValueError, match="Row 7 of X is too large"):
            model.partial_fit(sparse.csr_matrix(bad), y)
        if model.t_ == 47:
            other.partial_fit(X[:7], y[:7])
        assert model.t_ == other.t_
        assert np.array_equal(model.last_weights_, other.last_weights_)

    @pytest.mark.skipif(INTERPRETED, reason="slow")
    def test_fit_leaves_features_where_a_line_does_as_well(self):
        rng = np.random.RandomState(0)
        X = sparse_rows(600, 6)
        Z = X.toarray()
        noisy = (Z @ [2.0, -1.0, 1.0, 0.0, 3.0, 1.0] + 20.0 * rng.randn(len(Z)) > 0.0).astype(int)
        model = fourier(max_iter="auto", n_components=200).fit(X, noisy)
        assert model.n_components_ == 0
        passes = {"max_iter": model.n_iter_, "tol": None, "shuffle": False}
        line = OnlineStructuredPredictor(optimizer="parameter_free", **passes).fit(X, noisy)
        found = model.embedding_scores(X) / model.score_factor_
        np.testing.assert_allclose(found, line.embedding_scores(X), rtol=1e-8, atol=1e-10)
        before = model.t_
        assert model.partial_fit(X, noisy).t_ == before + len(Z)

    @pytest.mark.skipif(INTERPRETED, reason="slow")
    def test_learns_which_pairs_of_words_come_together(self):
        rng = np.random.RandomState(0)
        X = sparse.csr_matrix((rng.rand(3000, 6) < 0.5).astype(float))
        X = sparse.hstack([X, sparse.random(3000, 8000, 0.0005, random_state=0)]).tocsr()
        first, second = (X[:, j].toarray().ravel() > 0.0 for j in (0, 1))
        y = (first ^ second).astype(int)
        points = [
            model.fit(X[:2000], y[:2000]).score(X[2000:], y[2000:])
            for model in (
                fourier(n_components=1000, max_iter=3),
                OnlineStructuredPredictor(random_state=0, max_iter=3),
            )
        ]
        assert points[0] > 0.7
        assert points[1] < 0.6

    @pytest.mark.skipif(INTERPRETED, reason="slow")
    def test_memory_does_not_go_by_the_columns(self):
        n, p = 3000, 200_000
        X = sparse.random(n, p, 20 / p, format="csr", random_state=0)
        y = np.arange(n) % 2
        fourier(n_components=100, optimizer="ogd").fit(X[:200], y[:200])  # compiled
        tracemalloc.start()
        model = fourier(n_components=100, optimizer="ogd").fit(X, y)
        model.predict(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        dense_block = 8 * 64 * p
        assert peak < 0.8 * dense_block
        assert len(model._model.scale.features.frequencies) == _features.BUCKETS
