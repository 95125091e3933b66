"""Support rows: which are kept, in which precision, and kernels that are not computed here."""

import pickle
from functools import partial

import naive.kernels as literal
import numpy as np
import pytest
from conftest import INTERPRETED
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import pairwise
from sklearn.model_selection import GridSearchCV, cross_val_score

from skstructured import GuaranteeError, KernelStructuredPredictor
from skstructured.evaluation import progressive_validate
from skstructured.optimizers import (
    AdaptiveGradientDescent,
    GradientDescent,
    OnlineOptimizer,
    adaptive,
    coin_betting,
    gradient_descent,
    pistol,
)

N = 90 if INTERPRETED else 300
CLASSES = [0, 1, 2]


def stream(n=N, p=3, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, p)
    return X, np.argmax(np.sin(2.0 * X[:, :3]), axis=1)


def plain(**given):
    """A kernel learner of one pass over rows as they are."""
    one = {"standardize": False, "shuffle": False, "max_iter": 1, "gamma": 0.5}
    return KernelStructuredPredictor(**one | given)


def in_chunks(model, X, y, size):
    for start in range(0, len(X), size):
        model.partial_fit(X[start : start + size], y[start : start + size], classes=CLASSES)
    return model


def assert_same(one, other):
    for name in ("dual_coef_", "support_vectors_", "support_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one._state.vector, other._state.vector)


class TestRowsThatAreKept:
    @pytest.mark.parametrize("passes", [1, 4])
    @pytest.mark.parametrize("average", [False, "polynomial"])
    def test_have_coefficients_and_there_are_no_others(self, average, passes):
        X, y = stream()
        model = plain(regularizer="squared", average=average, max_iter=passes).fit(X, y)
        assert 0 < len(model.support_) < len(X)
        assert np.any(model._model.expansion.current() != 0.0, axis=0).all()
        assert model.dual_coef_.shape == (3, len(model.support_))
        np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
        scores = literal.gram(literal.rbf(0.5), X[model.support_], X) @ model.dual_coef_.T
        np.testing.assert_allclose(model.embedding_scores(X), scores, rtol=1e-8, atol=1e-10)
        support = model._model.expansion.support
        assert len(support.blocks) <= 2 * (support.count // 64 + 1)

    @pytest.mark.parametrize("size", [1, 7, 64, 100])
    def test_are_the_same_in_chunks(self, size):
        X, y = stream()
        model = plain(regularizer="squared", standardize=True)
        whole, chunks = (
            in_chunks(model, X, y, len(X)),
            in_chunks(plain(regularizer="squared", standardize=True), X, y, size),
        )
        assert_same(whole, chunks)
        np.testing.assert_array_equal(whole.embedding_scores(X), chunks.embedding_scores(X))

    def test_one_pass_of_fit_is_a_stream(self):
        X, y = stream()
        one, other = plain(regularizer="squared").fit(X, y), plain(regularizer="squared")
        np.testing.assert_allclose(
            one.dual_coef_, in_chunks(other, X, y, 50).dual_coef_, rtol=1e-12, atol=1e-15
        )
        np.testing.assert_array_equal(one.support_, other.support_)

    def test_streams_go_on_with_the_next_number(self):
        X, y = stream()
        model = plain(max_iter=2).fit(X[:30], y[:30]).partial_fit(X[30:], y[30:])
        np.testing.assert_array_equal(model.support_, np.arange(len(X)))

    def test_rows_of_weight_0_take_no_place(self):
        X, y = stream()
        weight = (np.arange(len(X)) % 3 > 0).astype(float)
        given, heavy = {"budget": 40, "average": False}, weight > 0.0
        all_ = plain(**given).partial_fit(X, y, CLASSES, sample_weight=weight)
        some = plain(**given).partial_fit(X[heavy], y[heavy], CLASSES)
        np.testing.assert_array_equal(all_.embedding_scores(X), some.embedding_scores(X))
        assert all_.t_ == len(X)
        assert plain(max_iter=3).fit(X, y, weight).loss_curve_.shape == (3, 2)


class TestCosine:
    def test_is_that_of_scikit_learn_at_any_size_and_0_for_rows_of_zeros(self):
        X, y = stream(p=5)
        X[3], X[7] = 0.0, 1e-90 * X[7]
        X[9] *= 1e90
        own = plain(kernel="cosine").fit(X, y)
        theirs = plain(kernel="precomputed").fit(unit(X) @ unit(X).T, y)
        np.testing.assert_allclose(own.dual_coef_, theirs.dual_coef_, rtol=1e-7, atol=1e-9)
        np.testing.assert_array_equal(own.embedding_scores(np.zeros((1, 5))), np.zeros((1, 3)))

    def test_is_that_of_scikit_learn(self):
        X, y = stream(p=5)
        own = plain(kernel="cosine").fit(X, y).embedding_scores(X)
        theirs = plain(kernel=pairwise.cosine_similarity).fit(X, y).embedding_scores(X)
        np.testing.assert_allclose(own, theirs, rtol=1e-7, atol=1e-9)


def unit(X):
    largest = np.abs(X).max(axis=1, keepdims=True)
    Z = X / np.where(largest > 0.0, largest, 1.0)
    norm = np.linalg.norm(Z, axis=1, keepdims=True)
    return Z / np.where(norm > 0.0, norm, 1.0)


FUNCTIONS = {
    "partial": partial(pairwise.rbf_kernel, gamma=0.5),
    "gaussian process": RBF(1.0),
    "own": lambda X, Z: np.exp(-0.5 * ((X[:, None] - Z) ** 2).sum(axis=2)),
}


class TestCallables:
    @pytest.mark.parametrize("given", [{}, {"max_iter": 3}, {"max_iter": 3, "cache_size": 0}])
    @pytest.mark.parametrize("name", FUNCTIONS)
    def test_are_kernels(self, name, given):
        X, y = stream()
        model = plain(kernel=FUNCTIONS[name], fit_intercept=True, **given).fit(X, y)
        own = plain(fit_intercept=True, **given).fit(X, y)
        thetas = model.embedding_scores(X), own.embedding_scores(X)
        single = given == {"max_iter": 3}  # kernels that are kept are in single precision
        np.testing.assert_allclose(*thetas, rtol=1e-6, atol=1e-3 if single else 1e-8)

    @pytest.mark.parametrize("size", [1, 7, 100])
    @pytest.mark.parametrize("name", FUNCTIONS)
    def test_chunks_have_the_same_bits(self, name, size):
        X, y = stream(n=N // 2 + 40, p=9)
        given = {"kernel": FUNCTIONS[name], "regularizer": "squared"}
        assert_same(in_chunks(plain(**given), X, y, len(X)), in_chunks(plain(**given), X, y, size))

    def test_parameters_of_other_kernels_are_ignored(self):
        X, y = stream(n=40)
        plain(kernel=pairwise.rbf_kernel, gamma="no", degree=-1, coef0=None).fit(X, y)

    def test_may_not_write_to_rows(self):
        def vandal(X, Z):
            Z[:] = 0.0
            return X @ Z.T

        X, y = stream(n=40)
        with pytest.raises(ValueError, match="read-only"):
            plain(kernel=vandal).fit(X, y)

    @pytest.mark.parametrize(
        ("kernel", "message"),
        [
            (lambda X, Z: X @ Z.T * np.nan, r"kernel=.* must return finite numbers, got nan"),
            (lambda X, Z: (X @ Z.T)[:, :-1], r"kernel=.* must return an array of shape \(1, 1\)"),
            (lambda X, Z: (X @ Z.T).astype(str), r"kernel=.* must return real numbers"),
            (lambda X, Z: None, r"kernel=.* must return an array of shape"),
            (lambda X, Z: -X @ Z.T, r"kernel=.* k\(x, x\) = -.* for row 0 of X"),
        ],
    )
    def test_what_they_return_is_checked(self, kernel, message):
        X, y = stream(n=40)
        with pytest.raises(ValueError, match=message):
            plain(kernel=kernel).partial_fit(X, y, CLASSES)
        assert not hasattr(plain(kernel=kernel), "dual_coef_")

    def test_bad_values_in_a_stream_leave_whole_rounds(self):
        def until(X, Z):
            return pairwise.rbf_kernel(X, Z) * (np.nan if X[0, 0] == 5.0 else 1.0)

        X, y = stream()
        model = plain(kernel=until, standardize=False).partial_fit(X[:70], y[:70], CLASSES)
        before = model.embedding_scores(X)
        bad = np.full((1, 3), 5.0)
        with pytest.raises(ValueError, match="kernel="):
            model.partial_fit(bad, [0])
        np.testing.assert_array_equal(model.embedding_scores(X), before)
        assert model.t_ == 70
        other = plain(kernel=until, standardize=False).partial_fit(X[:70], y[:70], CLASSES)
        assert_same(model.partial_fit(X[70:], y[70:]), other.partial_fit(X[70:], y[70:]))


class TestPrecomputed:
    @pytest.mark.parametrize("passes", [1, 3])
    @pytest.mark.parametrize("intercept", [False, True])
    def test_is_the_kernel_computed_here(self, intercept, passes):
        X, y = stream()
        G = literal.gram(literal.rbf(0.5), X, X)
        given = {"fit_intercept": intercept, "regularizer": "squared", "max_iter": passes}
        given |= {"shuffle": True, "random_state": 0, "cache_size": 0}
        own = plain(**given).fit(X, y)
        theirs = plain(kernel="precomputed", **given | {"standardize": True}).fit(G, y)
        np.testing.assert_array_equal(own.support_, theirs.support_)
        assert own.support_.dtype.kind == "i"
        assert len(own.support_) < len(X) or passes > 1
        np.testing.assert_allclose(own.dual_coef_, theirs.dual_coef_, rtol=1e-6, atol=1e-9)
        scores = own.embedding_scores(X[:9]), theirs.embedding_scores(G[:9])
        np.testing.assert_allclose(*scores, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(
            scores[1], (G[:9, theirs.support_] + intercept) @ theirs.dual_coef_.T, atol=1e-9
        )
        assert not hasattr(theirs, "support_vectors_")

    def test_is_not_copied(self, monkeypatch):
        X, y = stream(n=40)
        G, kept = pairwise.rbf_kernel(X), []
        model = plain(kernel="precomputed")
        monkeypatch.setattr(
            type(model), "_learn_pass", lambda self, _: kept.append(self._model.given) or (0.0, 0.0)
        )
        model.fit(G, y)
        assert np.shares_memory(kept[0], G)

    def test_is_sliced_by_cross_validation(self):
        X, y = stream()
        G, model = pairwise.rbf_kernel(X, gamma=0.5), plain(kernel="precomputed")
        np.testing.assert_allclose(cross_val_score(model, G, y), cross_val_score(plain(), X, y))
        search = GridSearchCV(model, {"average": [True, False]}).fit(G, y)
        assert search.predict(G).shape == y.shape

    def test_is_validated_progressively_and_pickled(self):
        X, y = stream(n=80)
        G = pairwise.rbf_kernel(X, gamma=0.5)
        given = {"random_state": 0, "play": "iterates"}
        losses = progressive_validate(plain(kernel="precomputed"), G, y, **given).target_loss
        wanted = progressive_validate(plain(), X, y, **given).target_loss
        np.testing.assert_array_equal(losses, wanted)
        model = pickle.loads(pickle.dumps(plain(kernel="precomputed").fit(G, y)))
        again = plain(kernel="precomputed").fit(sparse.csr_matrix(G), y)
        np.testing.assert_allclose(model.embedding_scores(G), again.embedding_scores(G))
        with pytest.raises(ValueError, match=r"k\(x, x\) of a row that is not in X"):
            model.expected_losses(G[:1], np.eye(3))

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_rows_far_from_all_others_are_predicted(self, dtype):
        X, y = stream(n=60)
        G = pairwise.rbf_kernel(X, gamma=0.5)
        far = np.vstack([G[:3], np.full(60, 1e-106), np.full(60, 1e-30)]).astype(dtype)
        model = plain(kernel="precomputed").fit(G.astype(dtype), y)
        theta = model.embedding_scores(far)
        np.testing.assert_allclose(theta[3:], 0.0, atol=1e-20)
        assert np.abs(theta[:3]).max() > 0.1

    def test_bad_input_is_refused(self):
        X, y = stream(n=40)
        G, model = pairwise.rbf_kernel(X), plain(kernel="precomputed")
        with pytest.raises(ValueError, match="'precomputed' is for fit: rows of a stream"):
            model.partial_fit(G, y, CLASSES)
        with pytest.raises(ValueError, match=r"square matrix .* got X of shape \(40, 39\)"):
            model.fit(G[:, :39], y)
        model.fit(G, y)
        with pytest.raises(ValueError, match="39 features"):
            model.predict(G[:5, :39])
        with pytest.raises(ValueError, match="budget must be None with kernel='precomputed'"):
            plain(kernel="precomputed", budget=20).fit(G, y)


class TestFloat32:
    @pytest.mark.parametrize("passes", [1, 5])
    @pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "cosine", "linear", "callable"])
    @pytest.mark.parametrize("gamma", ["multiscale", "scale"])
    def test_predictions_are_those_of_float64(self, gamma, kernel, passes):
        X, y = stream(p=6)
        X = (X * [1, 10, 0.1, 1, 3, 1] + [0, 30, 0, 0, 1, 1]).astype(np.float32)
        kernel = pairwise.laplacian_kernel if kernel == "callable" else kernel
        given = {"kernel": kernel, "gamma": gamma, "max_iter": passes, "random_state": 0}
        single = KernelStructuredPredictor(**given).fit(X, y)
        double = KernelStructuredPredictor(**given).fit(X.astype(np.float64), y)
        assert single.support_vectors_.dtype == np.float32
        assert single.dual_coef_.dtype == np.float64
        thetas = single.embedding_scores(X), double.embedding_scores(X)
        assert np.abs(thetas[0] - thetas[1]).max() < 2e-5 * np.abs(thetas[1]).max()

    def test_streams_stay_what_they_began_as(self):
        X, y = stream()
        single = plain().partial_fit(X[:50].astype(np.float32), y[:50], CLASSES)
        assert single.partial_fit(X[50:], y[50:]).support_vectors_.dtype == np.float32
        again = in_chunks(plain(), X.astype(np.float32), y, 7)
        assert_same(single, again)
        double = plain().partial_fit(X[:50], y[:50], CLASSES)
        double.partial_fit(X[50:].astype(np.float32), y[50:])
        assert double.support_vectors_.dtype == np.float64

    def test_rows_far_from_each_other(self):
        X = np.float32([[0.0], [1e4], [2.0], [1e4 + 1]] * 20)
        model = plain(gamma="multiscale").fit(X, [0, 1, 0, 1] * 20)
        assert np.isfinite(model.embedding_scores(X)).all()


THETA_SQ = {
    "pistol": ("pistol", pistol.THETA_SQ),
    "parameter free": ("parameter_free", coin_betting.THETA_SQ),
    "adaptive": (AdaptiveGradientDescent(0.5), adaptive.THETA_SQ),
    "a ball": (GradientDescent(radius=0.3), gradient_descent.THETA_SQ),
}


class TestBudget:
    @pytest.mark.parametrize("kernel", ["rbf", partial(pairwise.rbf_kernel, gamma=0.5)])
    @pytest.mark.parametrize("name", THETA_SQ)
    def test_optimisers_know_what_is_left(self, name, kernel):
        (optimizer, place), (X, y) = THETA_SQ[name], stream()
        model = plain(optimizer=optimizer, budget=60, kernel=kernel, average=False)
        for start in range(0, len(X), 10):
            model.partial_fit(X[start : start + 10], y[start : start + 10], CLASSES)
            B, Z = model._model.expansion.current(), model.support_vectors_
            norm_sq = np.einsum("ki,ij,kj->", B, literal.gram(literal.rbf(0.5), Z, Z), B)
            assert model._state.vector[place] == pytest.approx(norm_sq, rel=1e-7, abs=1e-10)
        assert model._model.expansion.forgotten > 0

    @pytest.mark.parametrize("budget", [2, 5, 64, 100])
    @pytest.mark.parametrize("size", [1, 7, 100])
    def test_holds_always(self, size, budget):
        X, y = stream(n=200 if not INTERPRETED else 80)
        whole = in_chunks(plain(budget=budget), X, y, len(X))
        model = plain(budget=budget)
        for start in range(0, len(X), size):
            model.partial_fit(X[start : start + size], y[start : start + size], CLASSES)
            assert len(model.support_) <= budget
            assert model.dual_coef_.shape[1] == len(model.support_)
        assert_same(model, whole)
        assert len(model.support_) > budget - 1 - max(1, budget // 4) - 64 * (budget > 256)

    @pytest.mark.parametrize("average", [False, "polynomial"])
    @pytest.mark.parametrize("kernel", ["rbf", partial(pairwise.rbf_kernel, gamma=0.5)])
    def test_rows_that_leave_hand_their_coefficients_over(self, kernel, average):
        """Blocks of 20 rows: each that ends with 80 makes room for another, twice."""
        X, y = stream(n=160)
        given = {"optimizer": "ogd", "average": average, "kernel": kernel}
        model = plain(budget=80, **given).partial_fit(X[:79], y[:79], CLASSES)
        for t in (79, 99):
            expansion = model._model.expansion
            whole = pickle.loads(pickle.dumps(model))
            whole._model.expansion.budget = None
            whole.partial_fit(X[t : t + 1], y[t : t + 1])
            B, rows = whole._model.expansion.current().T, whole.support_
            G = literal.gram(literal.rbf(0.5), X[rows], X[rows])
            model.partial_fit(X[t : t + 1], y[t : t + 1])
            leave, stay = literal.worthless(G, B[:, :3], t + 1 - rows, 20)
            wanted = literal.hand_over(G, B, leave, stay)
            np.testing.assert_array_equal(model.support_, rows[stay])
            found = model._model.expansion.current().T
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-9)
            assert expansion is model._model.expansion and expansion.forgotten == t - 59
            model.partial_fit(X[t + 1 : t + 20], y[t + 1 : t + 20])

    @pytest.mark.parametrize("kind", ["turning", "switching", "new"])
    def test_beats_the_larger_class_and_the_last_label_where_concepts_change(self, kind):
        """One of two classes has 68.6% of the rows; learned ten at a time, predicted before."""
        n, rng = 600, np.random.RandomState(0)
        X, t = rng.randn(n, 2), np.arange(n)
        if kind == "turning":
            score = np.einsum("ij,ij->i", X, np.c_[np.cos(t / 60.0), np.sin(t / 60.0)])
        elif kind == "switching":
            score = np.where(t // 150 % 2, -1.0, 1.0) * (np.sin(2.0 * X[:, 0]) + X[:, 1])
        else:
            score = np.einsum("ij,ij->i", X, rng.randn(4, 2)[t // 150])
        y = (score > np.quantile(score, 0.686)).astype(int)
        model = plain(budget=40, average=False, decoder="nearest")
        right = 0
        for start in range(0, n, 10):
            part = slice(start, start + 10)
            right += np.sum(model.predict(X[part]) == y[part]) if start else 0
            model.partial_fit(X[part], y[part], classes=[0, 1])
        assert model._model.expansion.forgotten > 400
        share = right / (n - 10)
        assert share > 0.04 + max(np.mean(y == 0), np.mean(y[1:] == y[:-1]))

    def test_that_is_never_reached_changes_nothing(self):
        X, y = stream()
        assert_same(plain(budget=1000).fit(X, y), plain().fit(X, y))

    def test_has_no_theorem_once_rows_have_left(self):
        X, y = stream()
        model = plain(budget=80, optimizer="ogd").partial_fit(X[:50], y[:50], CLASSES)
        assert model.certificate().bound(1.0, 1.0) > 0.0
        model.partial_fit(X[50:], y[50:])
        with pytest.raises(GuaranteeError, match="No theorem is about rows that leave"):
            model.certificate()

    def test_other_optimisers_need_not_know(self):
        assert OnlineOptimizer.forget(GradientDescent(), np.zeros(9), 1.0) is None

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"budget": 1}, "budget must be an integer at least 2, got 1"),
            ({"budget": 10.0}, "budget must be an integer at least 2, got 10.0"),
            ({"budget": 10, "max_iter": 2}, "budget is for one pass.* set max_iter=1"),
        ],
    )
    def test_bad_parameters_are_named(self, given, message):
        with pytest.raises(ValueError, match=message):
            plain(**given).fit(*stream(n=40))
