"""Kernel learners against literal forms, and what kernels are."""

import naive.kernels as literal
import numpy as np
import pytest
from conftest import INTERPRETED
from learners import OVER_SPACES
from plain import predictor
from scipy import sparse

from skstructured import GuaranteeError, KernelStructuredPredictor
from skstructured._learners.models import SCORES
from skstructured.estimators.kernel._values import (
    BLOCK,
    KINDS,
    KernelFunction,
    kernel_function,
    width_of,
)
from skstructured.evaluation import progressive_validate
from skstructured.optimizers import OPTIMIZERS, GradientDescent, PiSTOL

N = 40 if INTERPRETED else 200
KERNELS = {
    "rbf": (("rbf", (0.3, False)), literal.rbf(0.3)),
    "multiscale": (("rbf", (0.3, True)), literal.multiscale(0.3)),
    "laplacian": (("laplacian", (0.3, False)), literal.laplacian(0.3)),
    "poly": (("poly", (0.3, False)), literal.poly(0.3, 0.7, 3)),
    "sigmoid": (("sigmoid", (0.3, False)), literal.sigmoid(0.3, 0.7)),
    "arc-cosine": (("arc-cosine", (0.3, False)), literal.arc_cosine(0.7)),
    "linear": (("linear", (1.0, False)), literal.linear),
}

#: Optimisers of whole matrices: kernels have no single weights.
WHOLE = [name for name, kind in OPTIMIZERS.items() if kind().blocks == (1, 0)]


def plain(**given):
    """A kernel learner of one pass over rows as they are."""
    one = {"standardize": False, "shuffle": False, "max_iter": 1, "tol": None}
    return KernelStructuredPredictor(**one | given)


def stream(seed=0, n=N, p=3):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, p)
    return X, np.argmax(np.sin(2.0 * X), axis=1)


def test_polynomials_of_the_longest_rows_are_far_from_overflow():
    function = KernelFunction(KINDS.index("poly"), np.array([0.5, 1.0, 3.0, 0.0]))
    longest = function.longest()
    assert (0.5 * longest**2 + 1.0) ** 3 == pytest.approx(1e150, rel=1e-9)
    assert function._replace(kind=KINDS.index("rbf")).longest() == np.inf


class TestValues:
    @pytest.mark.parametrize("p", [1, 2, 4, 7, 9])
    @pytest.mark.parametrize("name", KERNELS)
    def test_are_those_of_the_formula(self, name, p):
        (kernel, width), formula = KERNELS[name]
        rng = np.random.RandomState(p)
        block, Z = rng.randn(p, BLOCK), rng.randn(5, p)
        function = kernel_function(kernel, width, 0.7, 3, False)
        wanted = literal.gram(formula, block.T, Z)
        np.testing.assert_allclose(function.gram(block, Z), wanted, rtol=1e-12, atol=1e-14)
        more = kernel_function(kernel, width, 0.7, 3, True)
        np.testing.assert_allclose(more.gram(block, Z), wanted + 1.0, rtol=1e-12, atol=1e-14)

    def test_lose_no_digits_far_from_zero_and_are_0_far_from_each_other(self):
        rng = np.random.RandomState(0)
        block = np.round(rng.randn(3, BLOCK), 6)
        function = kernel_function("rbf", (0.3, False), 0.0, 3, False)
        near, far = function.gram(block, block.T), function.gram(block + 2.0**30, block.T + 2.0**30)
        np.testing.assert_allclose(near, far, atol=1e-5)
        assert np.array_equal(np.diag(far), np.ones(BLOCK))
        assert np.abs(function.gram(block, 1e120 + block.T)).max() < 1e-300

    def test_a_row_has_the_same_bits_in_any_company(self):
        rng = np.random.RandomState(0)
        block, Z = rng.randn(6, BLOCK), rng.randn(9, 6)
        for (kernel, width), _ in KERNELS.values():
            function = kernel_function(kernel, width, 0.7, 3, False)
            alone = np.vstack([function.gram(block, z[None]) for z in Z])
            assert np.array_equal(function.gram(block, Z), alone)

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
            variance = np.average(Z**2, weights=np.outer(weight, np.ones(3)))
            variance -= np.average(Z, weights=np.outer(weight, np.ones(3))) ** 2
            assert width[0] == pytest.approx(1.0 / (3.0 * variance))
        else:
            first, second = np.triu_indices(400, 1)
            apart = ((Z[first] - Z[second]) ** 2).sum(axis=1)
            pairs = weight[first] * weight[second]
            assert pairs[apart < 1.0 / width[0]].sum() == pytest.approx(pairs.sum() / 2, rel=1e-2)

    def test_widths(self):
        Z = np.random.RandomState(0).randn(50, 2) * 3.0
        squares = [float(np.sum((x - z) ** 2)) for i, x in enumerate(Z) for z in Z[:i]]
        assert width_of("multiscale", "rbf", 2, Z, np.ones(len(Z))) == (
            1 / np.median(squares),
            True,
        )
        assert width_of("multiscale", "rbf", 2) == (0.25, True)
        assert width_of("multiscale", "poly", 2) == (0.5, False)
        assert width_of("scale", "rbf", 2, Z, np.ones(len(Z))) == (
            pytest.approx(1 / (2 * Z.var())),
            False,
        )
        assert width_of("scale", "rbf", 2, 0.0 * Z, np.ones(len(Z))) == (0.5, False)
        assert width_of("multiscale", "rbf", 2, 0.0 * Z, np.ones(len(Z))) == (1.0, True)


class TestAgainstLiteral:
    @pytest.mark.parametrize("name", OVER_SPACES)
    def test_pistol_in_every_space(self, name):
        other, X, y = OVER_SPACES[name]
        optimizer = PiSTOL(a=0.5, b=2.0)
        space = {"space": other.space, "regularizer": other.regularizer}
        model = plain(gamma=0.4, optimizer=optimizer, **space)
        rounds = model.begin(X, y)
        every, played = np.arange(len(X)), []
        model._learn(rounds, every, lambda block, w: played.append(block.theta), SCORES)
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
        X, y = stream()
        optimizer = GradientDescent(eta=0.3)
        given = {"kernel": kernel, "coef0": 0.7, "optimizer": optimizer}
        gamma = "multiscale" if three else width
        model = plain(gamma=gamma, **given)
        G = literal.gram(literal.multiscale(1 / 6) if three else formula, X, X)
        model.partial_fit(X, y, classes=[0, 1, 2])
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
        given = {"optimizer": optimizer, "average": average, "max_iter": passes, "tol": None}
        linear = predictor(**given).fit(X, y)
        for cache in (0, 200):
            model = plain(kernel="linear", fit_intercept=True, cache_size=cache, **given).fit(X, y)
            thetas = model.embedding_scores(X), linear.embedding_scores(X)
            single = cache > 0 and passes > 1  # kernels that are kept are in single precision
            np.testing.assert_allclose(*thetas, rtol=1e-8, atol=2e-3 if single else 1e-9)
            curves = model.loss_curve_, linear.loss_curve_
            np.testing.assert_allclose(*curves, rtol=1e-3 if single else 1e-9)

    def test_passes_in_any_order_keep_kernels_or_compute_them(self):
        X, y = stream()
        given = {"max_iter": 3, "random_state": 0}
        kept, computed = (
            KernelStructuredPredictor(cache_size=size, **given).fit(X, y) for size in (200, 0)
        )
        np.testing.assert_allclose(
            kept.embedding_scores(X), computed.embedding_scores(X), rtol=1e-4, atol=1e-4
        )


class TestUse:
    def test_streams_go_on_after_fit(self):
        X, y = stream()
        model = KernelStructuredPredictor(max_iter=3, random_state=0).fit(X[:30], y[:30])
        before = len(model.support_vectors_)
        for start in range(30, len(X), 7):
            model.partial_fit(X[start : start + 7], y[start : start + 7])
        assert model.dual_coef_.shape == (3, before + len(X) - 30)
        assert model.score(X, y) > 0.55  # guessing: 0.37

    def test_learn_what_is_not_linear(self):
        rng = np.random.RandomState(0)
        X = rng.randn(N, 2) * [1e6, 1e-6] + [1e7, 0.0]
        z = (X - X.mean(axis=0)) / X.std(axis=0)
        y = (z[:, 0] * z[:, 1] > 0).astype(int)
        model = KernelStructuredPredictor(random_state=0).fit(X, y)
        assert model.score(X, y) > 0.9

    def test_certify_what_is_proved_and_the_risk(self):
        X, y = stream(n=N)
        result = progressive_validate(KernelStructuredPredictor(optimizer="ogd"), X, y)
        certificate = result.estimator.certificate()
        assert certificate.bound(0.0, 1.0) > certificate.bound(0.0, 0.0)
        assert 0.0 < result.risk_bound() <= 1.0
        with pytest.raises(GuaranteeError, match=r"certificate\(\).bound"):
            result.regret_bound()

    @pytest.mark.parametrize("optimizer", WHOLE)
    def test_have_regret_below_their_bound(self, optimizer):
        """Comparators Σ β_i k(x_i, ·), along a path from 0 to what was learned and beyond."""
        optimizer = PiSTOL(a=2.5, feature_norm=1.0) if optimizer == "pistol" else optimizer
        X, y = stream(n=N)
        model = plain(gamma=0.5, optimizer=optimizer, average=False)
        result = progressive_validate(model, X, y)
        learned, G = result.estimator, literal.gram(literal.rbf(0.5), X, X)
        B, V = learned.dual_coef_, np.eye(3)[y]
        for factor in (0.0, 0.3, 1.0, 3.0):
            norm = np.sqrt(max(np.einsum("ki,ij,kj->", B, G, B), 0.0)) * factor
            losses = learned.loss_.value(factor * (G @ B.T), V)
            if norm > learned.certificate().radius:
                continue
            bound = learned.certificate().bound(losses.sum(), norm)
            assert result.expected_target_loss.sum() <= bound

    def test_have_no_weights(self):
        X, y = stream(n=30)
        model = plain().fit(X, y)
        assert not hasattr(model, "coef_")
        assert not hasattr(model, "average_weights_")
        assert not hasattr(KernelStructuredPredictor(), "dual_coef_")

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
            ({"optimizer": PiSTOL(per_coordinate=True)}, "moves every feature by itself"),
        ],
    )
    def test_bad_parameters_are_named(self, given, message):
        X, y = stream(n=30)
        with pytest.raises(ValueError, match=message):
            KernelStructuredPredictor(**given).fit(X, y)


def test_polynomial_averages_of_functions():
    """Round t counts t³ in the average of the functions played; the first one is zero."""
    X, y = stream(n=30)
    given = {"kernel": "rbf", "gamma": 0.5, "random_state": 0}
    model, last = plain(average="polynomial", **given), plain(average=False, **given)
    total = 0.0
    for t in range(30):
        if t > 0:
            total = total + (t + 1) ** 3 * last.decision_function(X)
        for learner in (model, last):
            learner.partial_fit(X[t : t + 1], y[t : t + 1], classes=range(3))
    wanted = total / (np.arange(1, 31) ** 3).sum()
    np.testing.assert_allclose(model.decision_function(X), wanted, atol=1e-12)
