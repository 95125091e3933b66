"""Kernel learners against literal forms, which rows they keep, and kernels that users give."""

import pickle
from functools import partial

import naive.kernels as literal
import numpy as np
import pytest
from conftest import INTERPRETED
from learners import OVER_SPACES
from plain import predictor, with_kernel
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import pairwise
from sklearn.model_selection import GridSearchCV, cross_val_score

from skstructured import (
    GuaranteeError,
    KernelStructuredPredictor,
    MaxMinMarginNetwork,
    StructuralSVM,
)
from skstructured._learners import passes
from skstructured._learners.models import Record
from skstructured.estimators.kernel._values import (
    SUPPORT_BLOCK,
    KernelFunction,
    KernelKind,
    kernel_function,
    width_of,
)
from skstructured.evaluation import progressive_validate
from skstructured.optimizers import (
    OPTIMIZERS,
    AdaptiveGradientDescent,
    GradientDescent,
    PiSTOL,
    adaptive,
    coin_betting,
    gradient_descent,
    pistol,
)

N = 90 if INTERPRETED else 200
CLASSES = [0, 1, 2]
KERNELS = {
    "rbf": (("rbf", (0.3, False)), literal.rbf(0.3)),
    "multiscale": (("rbf", (0.3, True)), literal.multiscale(0.3)),
    "laplacian": (("laplacian", (0.3, False)), literal.laplacian(0.3)),
    "poly": (("poly", (0.3, False)), literal.poly(0.3, 0.7, 3)),
    "sigmoid": (("sigmoid", (0.3, False)), literal.sigmoid(0.3, 0.7)),
    "arc-cosine": (("arc-cosine", (0.3, False)), literal.arc_cosine(0.7)),
    "linear": (("linear", (1.0, False)), literal.linear),
}
FUNCTIONS = {
    "partial": partial(pairwise.rbf_kernel, gamma=0.5),
    "gaussian process": RBF(1.0),
    "own": lambda X, Z: np.exp(-0.5 * ((X[:, None] - Z) ** 2).sum(axis=2)),
}

#: Optimisers of whole matrices: kernels have no single weights.
WHOLE = [name for name, kind in OPTIMIZERS.items() if kind().blocks == (1, 0) and not kind.mixes]


def plain(**given):
    """A kernel learner of one pass over rows as they are."""
    one = {"standardize": False, "shuffle": False, "max_iter": 1, "gamma": 0.5}
    return with_kernel(KernelStructuredPredictor, **one | given)


def stream(n=N, p=3, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, p)
    return X, np.argmax(np.sin(2.0 * X[:, :3]), axis=1)


def in_chunks(model, X, y, size):
    for start in range(0, len(X), size):
        model.partial_fit(X[start : start + size], y[start : start + size], classes=CLASSES)
    return model


def assert_same(one, other):
    for name in ("dual_coef_", "support_vectors_", "support_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.model_.state.vector, other.model_.state.vector)


def test_polynomials_of_the_longest_rows_are_far_from_overflow():
    function = KernelFunction(KernelKind.POLY, np.array([0.5, 1.0, 3.0, 0.0]))
    longest = function.longest()
    assert (0.5 * longest**2 + 1.0) ** 3 == pytest.approx(1e150, rel=1e-9)
    assert function._replace(kind=KernelKind.RBF).longest() == np.inf


class TestValues:
    @pytest.mark.parametrize("p", [1, 2, 4, 7, 9])
    @pytest.mark.parametrize("name", KERNELS)
    def test_are_those_of_the_formula_with_the_same_bits_in_any_company(self, name, p):
        (kernel, width), formula = KERNELS[name]
        rng = np.random.RandomState(p)
        block, Z = rng.randn(p, SUPPORT_BLOCK), rng.randn(5, p)
        wanted = literal.gram(formula, block.T, Z)
        for constant in (False, True):
            function = kernel_function(kernel, width, 0.7, 3, constant)
            found = function.gram(block, Z)
            np.testing.assert_allclose(found, wanted + constant, rtol=1e-12, atol=1e-14)
            assert np.array_equal(found, np.vstack([function.gram(block, z[None]) for z in Z]))

    def test_lose_no_digits_far_from_zero_and_are_0_far_from_each_other(self):
        rng = np.random.RandomState(0)
        block = np.round(rng.randn(3, SUPPORT_BLOCK), 6)
        function = kernel_function("rbf", (0.3, False), 0.0, 3, False)
        near, far = function.gram(block, block.T), function.gram(block + 2.0**30, block.T + 2.0**30)
        np.testing.assert_allclose(near, far, atol=1e-5)
        assert np.array_equal(np.diag(far), np.ones(SUPPORT_BLOCK))
        assert np.abs(function.gram(block, 1e120 + block.T)).max() < 1e-300

    @pytest.mark.parametrize(
        ("gamma", "kernel", "as_given"),
        [
            ("multiscale", "rbf", np.asarray),
            ("scale", "poly", np.asarray),
            ("scale", "poly", sparse.csr_matrix),
        ],
    )
    def test_widths_go_by_the_weights_of_rows(self, gamma, kernel, as_given):
        rng = np.random.RandomState(0)
        Z = rng.standard_normal((400, 3))
        weight = np.where(np.abs(Z[:, 0]) > 1.0, 3.0, 0.1)
        width = width_of(gamma, kernel, 3, as_given(Z), weight)
        far = as_given(np.concatenate([1e3 * Z, Z]))
        nothing = np.concatenate([np.zeros(400), weight])
        assert width_of(gamma, kernel, 3, far, nothing) == width
        assert width_of(gamma, kernel, 3, far, 0.1 * nothing)[0] == pytest.approx(width[0])
        if gamma == "scale":
            weights = np.outer(weight, np.ones(3))
            variance = np.average(Z**2, weights=weights) - np.average(Z, weights=weights) ** 2
            assert width[0] == pytest.approx(1.0 / (3.0 * variance))
        else:
            apart = pdist(Z, "sqeuclidean")
            pairs = np.outer(weight, weight)[np.triu_indices(400, 1)]
            assert pairs[apart < 1.0 / width[0]].sum() == pytest.approx(pairs.sum() / 2, rel=1e-2)

    def test_widths(self):
        Z, ones = np.random.RandomState(0).randn(50, 2) * 3.0, np.ones(50)
        for gamma, kernel, rows, wanted in (
            ("multiscale", "rbf", (Z, ones), (1 / np.median(pdist(Z, "sqeuclidean")), True)),
            ("multiscale", "rbf", (), (0.25, True)),
            ("multiscale", "poly", (), (0.5, False)),
            ("scale", "rbf", (Z, ones), (1 / (2 * Z.var()), False)),
            ("scale", "rbf", (0.0 * Z, ones), (0.5, False)),
            ("multiscale", "rbf", (0.0 * Z, ones), (1.0, True)),
        ):
            width, multiscale = width_of(gamma, kernel, 2, *rows)
            assert width == pytest.approx(wanted[0], rel=1e-12) and multiscale == wanted[1]


class TestAgainstLiteral:
    @pytest.mark.parametrize("name", OVER_SPACES)
    def test_pistol_in_every_space(self, name):
        other, X, y = OVER_SPACES[name]
        space = {"space": other.space, "regularizer": other.regularizer}
        model = plain(gamma=0.4, optimizer=PiSTOL(a=0.5, b=2.0), **space)
        rounds = model.begin(X, y)
        every, played = np.arange(len(X)), []
        model.learn_blocks(
            rounds, every, lambda block, w: played.append(block.theta), Record.SCORES
        )
        V, loss = model.space_.unpack(rounds.packed), model.loss_
        wanted, average = literal.pistol(
            literal.gram(literal.rbf(0.4), X, X),
            lambda theta, t: loss.mean(theta[None])[0] - V[t],
            model.space_.dim_,
            0.5,
            2.0,
            model.space_.geometry("l2").diameter,
        )
        np.testing.assert_allclose(np.concatenate(played), wanted, rtol=1e-7, atol=1e-9)
        found = np.zeros(average.T.shape)
        found[:, model.support_] = model.dual_coef_
        np.testing.assert_allclose(found, average.T, rtol=1e-7, atol=1e-9)
        np.testing.assert_array_equal(model.support_vectors_, X[model.support_])

    @pytest.mark.parametrize("name", KERNELS)
    def test_gradient_descent_with_every_kernel(self, name):
        (kernel, (width, three)), formula = KERNELS[name]
        X, y = stream(n=100)
        given = {"kernel": kernel, "coef0": 0.7, "optimizer": GradientDescent(eta=0.3)}
        model = plain(gamma="multiscale" if three else width, **given)
        G = literal.gram(literal.multiscale(1 / 6) if three else formula, X, X)
        model.partial_fit(X, y, classes=CLASSES)
        V, loss = np.eye(3)[y], model.loss_

        def gradient(theta, t):
            return V[t] * 0.0 if theta is None else loss.mean(theta[None])[0] - V[t]

        _, last, average = literal.gradient_descent(G, gradient, 0.3 * loss.scale_)
        np.testing.assert_allclose(model.dual_coef_, average.T, rtol=1e-8, atol=1e-9)
        model.set_params(average=False)
        np.testing.assert_allclose(model.dual_coef_, last.T, rtol=1e-8, atol=1e-9)

    @pytest.mark.parametrize("average", [False, "polynomial", "uniform"])
    @pytest.mark.parametrize("passes", [1, 3])
    @pytest.mark.parametrize("optimizer", WHOLE)
    def test_with_a_linear_kernel_they_are_linear_learners(self, optimizer, passes, average):
        X, y = stream()
        given = {"optimizer": optimizer, "average": average, "max_iter": passes}
        linear = predictor(**given).fit(X, y)
        for cache in (0, 200):
            model = plain(kernel="linear", fit_intercept=True, cache_size=cache, **given).fit(X, y)
            thetas = model.embedding_scores(X), linear.embedding_scores(X)
            single = cache > 0 and passes > 1  # kernels that are kept are in single precision
            np.testing.assert_allclose(*thetas, rtol=1e-8, atol=2e-3 if single else 1e-9)
            curves = model.loss_curve_, linear.loss_curve_
            np.testing.assert_allclose(*curves, rtol=1e-3 if single else 1e-9)


class TestUse:
    def test_streams_go_on_after_fit_with_the_next_number(self):
        X, y = stream()
        model = KernelStructuredPredictor(max_iter=3, shuffle=False).fit(X[:30], y[:30])
        in_chunks(model, X[30:], y[30:], 7)
        np.testing.assert_array_equal(model.support_, np.arange(len(X)))
        assert model.score(X, y) > 0.55  # guessing: 0.37

    def test_certify_what_is_proved_and_the_risk(self):
        result = progressive_validate(
            KernelStructuredPredictor(optimizer="ogd"), *stream(), play="randomized"
        )
        certificate = result.estimator.certificate()
        assert certificate.bound(0.0, 1.0) > certificate.bound(0.0, 0.0)
        assert 0.0 < result.risk_bound() <= 1.0
        with pytest.raises(GuaranteeError, match=r"certificate\(\).bound"):
            result.regret_bound()

    @pytest.mark.parametrize("optimizer", WHOLE)
    def test_have_regret_below_their_bound(self, optimizer):
        """Comparators Σ β_i k(x_i, ·), along a path from 0 to what was learned and beyond."""
        optimizer = PiSTOL(a=2.5, feature_norm=1.0) if optimizer == "pistol" else optimizer
        X, y = stream()
        result = progressive_validate(
            plain(optimizer=optimizer, average=False), X, y, play="randomized"
        )
        learned, G = result.estimator, literal.gram(literal.rbf(0.5), X, X)
        B, V = learned.dual_coef_, np.eye(3)[y]
        for factor in (0.0, 0.3, 1.0, 3.0):
            norm = np.sqrt(max(np.einsum("ki,ij,kj->", B, G, B), 0.0)) * factor
            losses = learned.loss_.value(factor * (G @ B.T), V)
            if norm <= learned.certificate().radius:
                bound = learned.certificate().bound(losses.sum(), norm)
                assert result.expected_target_loss.sum() <= bound

    def test_have_no_weights(self):
        model = plain().fit(*stream(n=30))
        assert not hasattr(model, "coef_") and not hasattr(model, "average_weights_")
        assert not hasattr(KernelStructuredPredictor(), "dual_coef_")


FOURIER = {"approximation": "fourier"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kernel": "wavelet"}, "kernel must be one of 'linear', 'rbf'"),
        ({"kernel": None}, "kernel must be one of"),
        ({"gamma": 0.0}, "gamma must be a positive number, got 0.0"),
        ({"gamma": "auto"}, 'gamma must be a positive number, "scale" or "multiscale"'),
        ({"degree": 0}, "degree must be an integer at least 1, got 0"),
        ({"coef0": np.nan}, "coef0 must be a number, got nan"),
        ({"cache_size": -1}, "cache_size must be at least 0, got -1"),
        ({"optimizer": PiSTOL(per_coordinate=True)}, "has per-feature step sizes"),
        ({"approximation": "nystroem"}, "approximation must be one of 'none', 'fourier'"),
        ({"kernel": "arc-cosine", "coef0": -0.1}, "coef0 must be at least 0 with kernel='arc-cos"),
        ({"kernel": "arc-cosine", "coef0": "1"}, "coef0 must be"),
        (
            FOURIER | {"kernel": "laplacian"},
            "'fourier' is only supported for kernel='rbf'; got kernel='laplacian'.*'none'",
        ),
        (
            FOURIER | {"kernel": literal.linear},
            "'fourier' is only supported for kernel='rbf'; got kernel=<func",
        ),
        (
            FOURIER | {"kernel": "precomputed"},
            "'fourier' is only supported for|'precomputed' is only supported by fit",
        ),
        (FOURIER | {"gamma": -1.0}, "gamma must be"),
        (FOURIER | {"n_components": 0}, "n_components must be"),
    ],
)
def test_parameters_out_of_range(given, message):
    for method, more in (("fit", ()), ("partial_fit", (CLASSES,))):
        model = with_kernel(KernelStructuredPredictor, **{"max_iter": 1} | given)
        with pytest.raises(ValueError, match=message):
            getattr(model, method)(*stream(n=30), *more)


class TestRowsThatAreKept:
    @pytest.mark.parametrize("passes", [1, 4])
    @pytest.mark.parametrize("average", [False, "polynomial"])
    def test_have_coefficients_and_there_are_no_others(self, average, passes):
        X, y = stream()
        model = plain(regularizer="squared", average=average, max_iter=passes).fit(X, y)
        assert 0 < len(model.support_) < len(X)
        assert np.any(model.model_.expansion.current() != 0.0, axis=0).all()
        assert model.dual_coef_.shape == (3, len(model.support_))
        np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
        scores = literal.gram(literal.rbf(0.5), X[model.support_], X) @ model.dual_coef_.T
        np.testing.assert_allclose(model.embedding_scores(X), scores, rtol=1e-8, atol=1e-10)
        support = model.model_.expansion.support
        assert len(support.blocks) <= 2 * (support.count // 64 + 1)

    @pytest.mark.parametrize("size", [1, 7, 64, 100])
    def test_are_the_same_in_chunks(self, size):
        X, y = stream()
        whole, chunks = (
            in_chunks(plain(regularizer="squared", standardize=True), X, y, each)
            for each in (len(X), size)
        )
        assert_same(whole, chunks)
        np.testing.assert_array_equal(whole.embedding_scores(X), chunks.embedding_scores(X))

    def test_one_pass_of_fit_is_a_stream(self):
        X, y = stream()
        one, other = plain(regularizer="squared").fit(X, y), plain(regularizer="squared")
        coefs = in_chunks(other, X, y, 50).dual_coef_
        np.testing.assert_allclose(one.dual_coef_, coefs, rtol=1e-12, atol=1e-15)
        np.testing.assert_array_equal(one.support_, other.support_)

    def test_rows_of_weight_0_take_no_place(self):
        X, y = stream()
        weight = (np.arange(len(X)) % 3 > 0).astype(float)
        given, heavy = {"average": False}, weight > 0.0
        all_ = plain(**given).partial_fit(X, y, CLASSES, sample_weight=weight)
        some = plain(**given).partial_fit(X[heavy], y[heavy], CLASSES)
        np.testing.assert_array_equal(all_.embedding_scores(X), some.embedding_scores(X))
        assert all_.t_ == len(X)
        assert plain(max_iter=3).fit(X, y, weight).loss_curve_.shape == (3, 2)


def stops_far_out(X, Z):
    """A kernel that is −1 for rows far out with each other."""
    K = FUNCTIONS["own"](X, Z)
    K[np.ix_(X[:, 3] > 3.0, Z[:, 3] > 3.0)] = -1.0
    return K


@pytest.mark.parametrize("standardize", ["moments", False])
@pytest.mark.parametrize("n", [1, 5, 20])
def test_rows_before_one_that_stops_are_learned_counted_and_scaled_by(n, standardize):
    """The kernel is −1 for rows whose last feature is large, as that of one in the middle."""
    X, y = stream(60)
    X = np.column_stack([X, np.zeros(60)])
    X[20 + n, 3] = 5.0
    given = {"kernel": stops_far_out, "standardize": standardize, "random_state": 0}
    model, other = (KernelStructuredPredictor(**given) for _ in range(2))
    for learner in (model, other):
        learner.partial_fit(X[:20], y[:20], classes=CLASSES)
    with pytest.raises(ValueError, match=r"k\(x, x\) = -1 for row"):
        model.partial_fit(X[20:45], y[20:45])
    other.partial_fit(X[20 : 20 + n], y[20 : 20 + n])
    assert model.t_ == other.t_ == 20 + n
    for learner in (model, other):
        learner.partial_fit(X[45:], y[45:])
    assert model.t_ == other.t_
    good = np.delete(X, 20 + n, axis=0)
    np.testing.assert_array_equal(model.decision_function(good), other.decision_function(good))


@pytest.mark.parametrize("kernel", ["rbf", "precomputed", FUNCTIONS["own"]])
@pytest.mark.parametrize("network", [MaxMinMarginNetwork, StructuralSVM])
def test_costs_that_ask_for_nothing_leave_no_row_and_equal_scores(network, kernel):
    """Rows whose class costs nothing to miss: the zero function is the solution."""
    X, _ = stream(30)
    given = FUNCTIONS["own"](X, X) if kernel == "precomputed" else X
    y = np.arange(len(X)) % 2
    model = network(kernel=kernel, cost_matrix=[[0.0, 0.0], [1.0, 0.0]], alpha=0.1)
    model.fit(given, y, sample_weight=1.0 - y)
    assert len(model.support_) == 0
    np.testing.assert_array_equal(model.decision_function(given[:7]), np.zeros(7))
    assert np.isin(model.predict(given[:7]), [0, 1]).all()


def test_cosines_are_those_of_scikit_learn_at_any_size_and_0_for_rows_of_zeros():
    X, y = stream(p=5)
    X[3], X[7] = 0.0, 1e-90 * X[7]
    X[9] *= 1e90
    own = plain(kernel="cosine").fit(X, y)
    norm = np.linalg.norm(X, axis=1, keepdims=True)
    Z = X / np.where(norm > 0.0, norm, 1.0)
    theirs = plain(kernel="precomputed").fit(Z @ Z.T, y)
    np.testing.assert_allclose(own.dual_coef_, theirs.dual_coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(own.embedding_scores(np.zeros((1, 5))), np.zeros((1, 3)))


def vandal(X, Z):
    Z[:] = 0.0
    return X @ Z.T


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

    @pytest.mark.parametrize(
        ("kernel", "message"),
        [
            (lambda X, Z: X @ Z.T * np.nan, r"kernel=.* must return finite numbers, got nan"),
            (lambda X, Z: (X @ Z.T)[:, :-1], r"kernel=.* must return an array of shape \(1, 1\)"),
            (lambda X, Z: (X @ Z.T).astype(str), r"kernel=.* must return real numbers"),
            (lambda X, Z: None, r"kernel=.* must return an array of shape"),
            (lambda X, Z: -X @ Z.T, r"kernel=.* k\(x, x\) = -.* for row 0 of X"),
            (vandal, "read-only"),
        ],
    )
    def test_what_they_do_is_checked(self, kernel, message):
        with pytest.raises(ValueError, match=message):
            plain(kernel=kernel).partial_fit(*stream(n=40), CLASSES)

    def test_bad_values_in_a_stream_leave_whole_rounds(self):
        def until(X, Z):
            return pairwise.rbf_kernel(X, Z) * (np.nan if X[0, 0] == 5.0 else 1.0)

        X, y = stream()
        model, other = (plain(kernel=until).partial_fit(X[:70], y[:70], CLASSES) for _ in range(2))
        with pytest.raises(ValueError, match="kernel="):
            model.partial_fit(np.full((1, 3), 5.0), [0])
        assert model.t_ == 70
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
        sums = (G[:9, theirs.support_] + intercept) @ theirs.dual_coef_.T
        np.testing.assert_allclose(scores[1], sums, atol=1e-9)
        assert not hasattr(theirs, "support_vectors_")

    def test_is_not_copied(self, monkeypatch):
        X, y = stream(n=40)
        G, kept = pairwise.rbf_kernel(X), []
        model = plain(kernel="precomputed")
        monkeypatch.setattr(
            passes,
            "learn_pass",
            lambda learner, _: kept.append(learner.model_.given) or (0.0, 0.0),
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
        given = {"random_state": 0, "play": "randomized"}
        losses = progressive_validate(plain(kernel="precomputed"), G, y, **given).target_loss
        wanted = progressive_validate(plain(), X, y, **given).target_loss
        np.testing.assert_array_equal(losses, wanted)
        model = pickle.loads(pickle.dumps(plain(kernel="precomputed").fit(G, y)))
        again = plain(kernel="precomputed").fit(sparse.csr_matrix(G), y)
        np.testing.assert_allclose(model.embedding_scores(G), again.embedding_scores(G))

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_rows_far_from_all_others_are_predicted(self, dtype):
        X, y = stream(n=60)
        G = pairwise.rbf_kernel(X, gamma=0.5)
        far = np.vstack([G[:3], np.full(60, 1e-106), np.full(60, 1e-30)]).astype(dtype)
        theta = plain(kernel="precomputed").fit(G.astype(dtype), y).embedding_scores(far)
        np.testing.assert_allclose(theta[3:], 0.0, atol=1e-20)
        assert np.abs(theta[:3]).max() > 0.1

    def test_bad_input_is_refused(self):
        X, y = stream(n=40)
        G, model = pairwise.rbf_kernel(X), plain(kernel="precomputed")
        for call, message in (
            (
                lambda: model.partial_fit(G, y, CLASSES),
                "'precomputed' is only supported by fit. For p",
            ),
            (lambda: model.fit(G[:, :39], y), r"square matrix .* got X of shape \(40, 39\)"),
            (lambda: model.fit(G, y).predict(G[:5, :39]), "39 features"),
        ):
            with pytest.raises(ValueError, match=message):
                call()


class TestFloat32:
    @pytest.mark.parametrize("passes", [1, 5])
    @pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "cosine", "linear", "callable"])
    @pytest.mark.parametrize("gamma", ["multiscale", "scale"])
    @pytest.mark.short(every=20)
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
        assert_same(single, in_chunks(plain(), X.astype(np.float32), y, 7))
        double = plain().partial_fit(X[:50], y[:50], CLASSES)
        double.partial_fit(X[50:].astype(np.float32), y[50:])
        assert double.support_vectors_.dtype == np.float64

    def test_rows_far_from_each_other(self):
        X = np.float32([[0.0], [1e4], [2.0], [1e4 + 1]] * 20)
        model = plain(gamma="multiscale").fit(X, [0, 1, 0, 1] * 20)
        assert np.isfinite(model.embedding_scores(X)).all()


THETA_SQ = {
    "pistol": ("pistol", pistol.PistolState.THETA_SQ),
    "parameter free": ("parameter_free", coin_betting.BettingState.THETA_SQ),
    "adaptive": (AdaptiveGradientDescent(0.25), adaptive.BallState.THETA_SQ),
    "a ball": (GradientDescent(radius=0.3), gradient_descent.DescentState.THETA_SQ),
}


class TestStreams:
    @pytest.mark.parametrize("kernel", ["rbf", FUNCTIONS["partial"]])
    @pytest.mark.parametrize("name", THETA_SQ)
    def test_optimizers_know_the_norm(self, name, kernel):
        (optimizer, place), (X, y) = THETA_SQ[name], stream()
        model = plain(optimizer=optimizer, kernel=kernel, average=False)
        for start in range(0, len(X), 10):
            model.partial_fit(X[start : start + 10], y[start : start + 10], CLASSES)
            B, Z = model.model_.expansion.current(), model.support_vectors_
            norm_sq = np.einsum("ki,ij,kj->", B, FUNCTIONS["partial"](Z, Z), B)
            assert model.model_.state.vector[place] == pytest.approx(norm_sq, rel=1e-7, abs=1e-10)

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
        model = plain(average=False, decoder="nearest")
        result = progressive_validate(model, X, y, batch_size=10, classes=[0, 1], play="randomized")
        share = 1.0 - result.target_loss[10:].mean()
        assert share > 0.04 + max(np.mean(y == 0), np.mean(y[1:] == y[:-1]))


@pytest.mark.parametrize("standardize", ["auto", "moments"])
def test_rows_of_weight_zero_that_are_far_take_no_digits(standardize, rng):
    X, far = rng.randn(60, 4), 1e9 * rng.randn(60, 4)
    y, weight = np.arange(60) % 3, np.r_[np.ones(60), np.zeros(60)]
    options = {"max_iter": 5, "shuffle": False, "standardize": standardize}
    model = KernelStructuredPredictor(kernel="arc-cosine", **options)
    alone = clone(model).fit(X, y)
    both = clone(model).fit(np.vstack([X, far]), np.r_[y, y], weight)
    np.testing.assert_allclose(both.predict_mean(X), alone.predict_mean(X), atol=1e-5)
