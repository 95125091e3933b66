"""PiSTOL's classifiers and regressors, and their baselines, against literal forms."""

import itertools
import math

import naive.kernels as literal
import numpy as np
import pytest
from conftest import INTERPRETED
from plain import with_kernel
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import mean_pinball_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from benchmarks.adversaries import (
    Drifting,
    GreedyAdversary,
    LabelNoise,
    Separable,
    play,
)
from skstructured import (
    AveragedKernelSGDClassifier,
    GuaranteeError,
    Kernel,
    KernelPerceptronClassifier,
    PiSTOLClassifier,
    PiSTOLRegressor,
)
from skstructured.evaluation import progressive_validate
from skstructured.losses import ResidualLoss
from skstructured.optimizers import PiSTOL
from skstructured.spaces._real_line import RealLine
from skstructured.spaces.hypercube import Signs

N = 60 if INTERPRETED else 300
PLAIN = {"standardize": False, "shuffle": False, "max_iter": 1}
RBF = {"kernel": "rbf", "gamma": 0.4}
LOSSES = ("logistic", "smooth_hinge", "hinge")
Q = 0.8
SLOPES = {"logistic": 1.0 / math.log(2.0), "smooth_hinge": 2.0, "hinge": 1.0}
RESIDUALS = ("huber", "absolute", "epsilon_insensitive", "quantile")


def stream(K, n=N, p=3, seed=0):
    """Rows, and K classes that no linear rule tells apart."""
    rng = np.random.RandomState(seed)
    X = rng.randn(n, p) * np.exp(0.3 * rng.randn(n, 1))
    scores = np.sin(2.0 * X) + 0.3 * rng.randn(n, p)
    return X, (scores[:, 0] > 0).astype(int) if K == 2 else np.argmax(scores[:, :K], axis=1)


def derivative(loss, z):
    """φ'(z), as the textbook has it."""
    if loss == "logistic":
        return -1.0 / (1.0 + math.exp(z)) / math.log(2.0)
    if loss == "hinge":
        return -1.0 if z < 1.0 else 0.0
    return -2.0 if z <= 0.0 else -2.0 * (1.0 - z) if z < 1.0 else 0.0


def signs(y, K):
    """Vertices (n, 1) or (n, K) of ±1."""
    V = np.where(y[:, None] == np.arange(K), 1.0, -1.0)
    return V[:, 1:] if K == 2 else V


def slope_of(loss, V):
    return lambda f, t: np.array(
        [v * derivative(loss, v * z) for v, z in zip(V[t], f, strict=True)]
    )


def residual_slope(loss, y, epsilon):
    def slope(f, t):
        r = f[0] - y[t]
        if loss == "quantile":
            return np.array([(r > 0.0) * (1.0 - Q) - (r < 0.0) * Q])
        if loss == "huber" and abs(r) < epsilon:
            return np.array([r / epsilon])
        return np.array([np.sign(r) * (loss != "epsilon_insensitive" or abs(r) > epsilon)])

    return slope


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("loss", LOSSES)
class TestAgainstLiteral:
    @pytest.fixture
    def problem(self, loss, K):
        """Rows, classes, and what the literal algorithm takes: slopes, their number and size."""
        X, y = stream(K, n=100)
        V = signs(y, K)
        return X, y, slope_of(loss, V), V.shape[1], SLOPES[loss] * math.sqrt(V.shape[1])

    def test_pistol_with_a_kernel(self, loss, problem):
        X, y, slope, dim, L = problem
        model = PiSTOLClassifier(**RBF, **PLAIN, loss=loss, a=0.3, b=2.0).fit(X, y)
        G = literal.gram(literal.rbf(0.4), X, X)
        _, average = literal.pistol(G, slope, dim, 0.3, 2.0, L)
        np.testing.assert_allclose(G @ average, model.embedding_scores(X), rtol=1e-8, atol=1e-9)
        kept = (average != 0.0).any(axis=1)
        assert np.count_nonzero(model.dual_coef_.any(axis=0)) == kept.sum()

    def test_pistol_in_the_primal(self, loss, problem):
        X, y, slope, dim, L = problem
        for kind, rows in itertools.product(("polynomial", "uniform"), (X, sparse.csr_matrix(X))):
            _, average = literal.pistol(X @ X.T + 1.0, slope, dim, 0.3, 2.0, L, kind)
            wanted = np.column_stack([X, np.ones(len(X))]).T @ average
            model = PiSTOLClassifier(**PLAIN, loss=loss, a=0.3, b=2.0, average=kind).fit(rows, y)
            learned = np.column_stack([model.coef_, model.intercept_]).T
            np.testing.assert_allclose(learned, wanted, rtol=1e-8, atol=1e-9)

    def test_descent_and_its_average(self, loss, problem):
        X, y, slope, dim, _ = problem
        G = literal.gram(literal.rbf(0.4), X, X)

        def gradient(theta, t):
            return np.zeros(dim) if theta is None else slope(theta, t)

        for kind in ("polynomial", "uniform"):
            _, last, average = literal.gradient_descent(G, gradient, 0.2, kind)
            model = AveragedKernelSGDClassifier(gamma=0.4, eta=0.2, loss=loss, average=kind)
            found = model.set_params(**PLAIN).fit(X, y).embedding_scores(X)
            np.testing.assert_allclose(found, G @ average, rtol=1e-9, atol=1e-9)
        model.set_params(average=False)
        np.testing.assert_allclose(model.embedding_scores(X), G @ last, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("loss", RESIDUALS)
def test_regressors_equal_the_literal_algorithm(loss):
    X, _ = stream(2, n=100)
    y = np.sin(2.0 * X[:, 0]) + 0.1 * X[:, 1]
    G = literal.gram(literal.rbf(0.4), X, X)
    L = Q if loss == "quantile" else 1.0
    _, average = literal.pistol(G, residual_slope(loss, y, 0.3), 1, 0.3, 2.0, L)
    given = PLAIN | {"optimizer": PiSTOL(0.3, 2.0)}
    given["loss"] = ResidualLoss(kind=loss, epsilon=0.3, quantile=Q)
    model = PiSTOLRegressor(**RBF, **given).partial_fit(X, y)
    np.testing.assert_allclose(model.predict(X), (G @ average)[:, 0], rtol=1e-8, atol=1e-9)
    primal = PiSTOLRegressor(**given).partial_fit(X, y)
    _, average = literal.pistol(X @ X.T + 1.0, residual_slope(loss, y, 0.3), 1, 0.3, 2.0, L)
    np.testing.assert_allclose(primal.coef_, X.T @ average[:, 0], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(primal.intercept_, average.sum(), rtol=1e-8, atol=1e-9)


def test_the_perceptron_moves_on_mistakes_only():
    X, y = stream(2, n=200)
    G, v = literal.gram(literal.rbf(0.4), X, X), 2.0 * y - 1.0
    beta = np.zeros(len(X))
    for t in range(len(X)):
        beta[t] = v[t] * (v[t] * (G[t] @ beta) <= 0.0)
    model = KernelPerceptronClassifier(gamma=0.4, **PLAIN).fit(X, y)
    # What is added in round t is in the n − t functions played after it: the mean is the default.
    mean = beta * np.arange(len(X) - 1, -1, -1) / len(X)
    np.testing.assert_allclose(model.decision_function(X), G @ mean, atol=1e-9)
    model.set_params(average=False)
    np.testing.assert_allclose(model.decision_function(X), G @ beta, atol=1e-9)


class TestTheoremOne:
    """Regret below the bound, for comparators along the path of an SVM's C, and for 0."""

    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("kind", [LabelNoise, Drifting, Separable, GreedyAdversary])
    def test_on_every_adversary(self, kind, loss):
        n = 40 if INTERPRETED else 60 if kind is GreedyAdversary else 400
        given = {"loss": loss, "optimizer": PiSTOL(2.5, 0.1, feature_norm=1.0)}
        model = PiSTOLClassifier("rbf", 0.5, standardize=False, **given)
        result = play(model, kind(n_rounds=n, random_state=0), Signs().fit(["a", "b"]))
        X, V = result.rounds.X, np.array([[-1.0], [1.0]])[result.rounds.packed]
        certificate, learned = result.estimator.certificate(), result.estimator
        played = result.surrogate_loss.sum()
        for C in (0.01, 0.1, 1.0, 10.0, 100.0):
            svm = SVC(kernel="rbf", gamma=0.5, C=C).fit(X, V[:, 0])
            h = svm.decision_function(X) - svm.intercept_
            dual, rows = svm.dual_coef_[0], svm.support_vectors_
            norm = math.sqrt(dual @ rbf_kernel(rows, gamma=0.5) @ dual)
            bound = certificate.bound(learned.loss_.value(h[:, None], V).sum(), norm)
            assert played <= bound
            assert result.target_loss.sum() <= bound
        assert played <= certificate.bound(learned.loss_.value(0.0 * V, V).sum(), 0.0)

    def test_says_something_on_long_easy_streams(self):
        rng = np.random.RandomState(0)
        n = 300 if INTERPRETED else 20_000
        y = rng.randint(2, size=n)
        X = (2.0 * y - 1.0)[:, None] * np.ones((n, 1))
        given = {"loss": "hinge", "optimizer": PiSTOL(2.5, 1e-3, feature_norm=1.0)}
        model = PiSTOLClassifier(Kernel("linear", fit_intercept=False), standardize=False, **given)
        result = progressive_validate(model, X, y, play="randomized")
        bound = result.estimator.certificate().bound(0.0, 1.0)
        assert result.target_loss.sum() <= bound < n * (0.5 if INTERPRETED else 0.1)

    def test_needs_what_it_needs(self):
        X, y = stream(2, n=50)
        with pytest.raises(GuaranteeError, match="needs a ≥ 2.25"):
            PiSTOLClassifier().fit(X, y).certificate()
        with pytest.raises(GuaranteeError, match="feature_norm"):
            PiSTOLClassifier(a=2.5).fit(X, y).certificate()


class TestClassifiers:
    @pytest.mark.parametrize("K", [2, 3])
    def test_have_probabilities_with_the_logistic_loss(self, K):
        X, y = stream(K, n=100)
        model = PiSTOLClassifier(**RBF, max_iter=2).fit(X, y)
        theta, proba = model.embedding_scores(X), model.predict_proba(X)
        share = 1.0 / (1.0 + np.exp(-theta))
        wanted = np.hstack([1.0 - share, share]) if K == 2 else share / share.sum(1)[:, None]
        np.testing.assert_allclose(proba, wanted, atol=1e-12)
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), proba, atol=1e-12)
        assert np.array_equal(model.predict(X), model.classes_[np.argmax(proba, axis=1)])
        assert not hasattr(PiSTOLClassifier(loss="hinge"), "predict_proba")

    def test_log_probabilities_have_their_digits_far_out(self):
        loss = PiSTOLClassifier().partial_fit([[1.0]], [0], classes=[0, 1]).loss_
        found = loss.log_proba(np.array([[-800.0], [800.0]]))
        np.testing.assert_allclose(found, [[0.0, -800.0], [-800.0, 0.0]], atol=1e-12)

    def test_two_classes_have_one_function(self):
        X, y = stream(2, n=100)
        model = PiSTOLClassifier().fit(X, np.where(y, "yes", "no"))
        assert model.coef_.shape == (1, 3) and model.intercept_.shape == (1,)
        wanted = np.clip(X, *model.feature_ranges_[2:4]) @ model.coef_[0] + model.intercept_
        np.testing.assert_allclose(model.decision_function(X), wanted)
        assert np.array_equal(model.predict(X), np.where(wanted > 0, "yes", "no"))

    def test_kernels_have_dual_coefficients_and_linear_ones_weights(self):
        X, y = stream(2, n=50)
        linear, kernel = PiSTOLClassifier().fit(X, y), PiSTOLClassifier("rbf").fit(X, y)
        assert not hasattr(linear, "dual_coef_") and not hasattr(linear, "support_vectors_")
        assert not hasattr(kernel, "coef_") and not hasattr(kernel, "intercept_")
        for model in (PiSTOLClassifier(), PiSTOLClassifier("rbf")):
            assert not hasattr(model, "coef_") and not hasattr(model, "dual_coef_")

    def test_go_one_vs_rest_through_scikit_learn(self):
        X, y = stream(3, n=90)
        ours = PiSTOLClassifier("rbf", random_state=0)
        model = OneVsRestClassifier(ours).fit(X, y)
        alone = clone(ours).fit(X, y == 1)
        np.testing.assert_allclose(
            model.estimators_[1].decision_function(X), alone.decision_function(X)
        )
        parts = OneVsRestClassifier(PiSTOLClassifier("rbf"))
        parts.partial_fit(X[:45], y[:45], classes=[0, 1, 2]).partial_fit(X[45:], y[45:])
        assert parts.score(X, y) > 0.6

    def test_csr_rows_of_one_norm_are_left_as_they_are_by_a_linear_kernel(self):
        X, y = stream(2, n=50)
        X = np.abs(X) * [1.0, 10.0, 100.0]
        given = {"shuffle": False}
        for rows, plain in ((X, False), (X / np.linalg.norm(X, axis=1)[:, None], True)):
            rows = sparse.csr_matrix(rows)
            auto = PiSTOLClassifier(**given).fit(rows, y)
            other = PiSTOLClassifier(standardize=not plain, **given).fit(rows, y)
            assert np.array_equal(auto.coef_, other.coef_)
            kernel, scaled = (
                PiSTOLClassifier("rbf", standardize=s, **given) for s in ("auto", True)
            )
            found = kernel.fit(rows, y).decision_function(rows)
            assert np.array_equal(found, scaled.fit(rows, y).decision_function(rows))


class TestRegressors:
    def test_do_not_depend_on_units_of_y(self):
        X, _ = stream(2, n=100)
        y = X[:, 0] + 0.1 * X[:, 1] ** 2
        model = PiSTOLRegressor("rbf", random_state=0).fit(X, y)
        for unit, origin in ((1e6, 0.0), (1e-6, 0.0), (2.0, 1e3)):
            other = PiSTOLRegressor("rbf", random_state=0).fit(X, unit * y + origin)
            np.testing.assert_allclose(
                (other.predict(X) - origin) / unit, model.predict(X), rtol=1e-5, atol=1e-6
            )

    @pytest.mark.parametrize("kernel", ["linear", "rbf"])
    @pytest.mark.parametrize("same", [0.55, 0.9])
    def test_move_continuously_with_outputs_of_which_most_are_the_same(self, same, kernel):
        rng = np.random.RandomState(0)
        X, z = rng.randn(100, 5), rng.randn(100)
        f = X @ [1, 2, 0, 0, -1]
        found, size = {}, 0.0
        for jitter in (0.0, 1e-15, 1e-9, 1e-3):
            y = np.where(np.arange(100) < 100 * same, jitter * z, 100.0 * f)
            model = PiSTOLRegressor(kernel, random_state=0).fit(X, y)
            found[jitter] = model.predict(X)
            size = max(size, model.space_.scale)
        changes = [(1e-15, 1e-7), (1e-9, 1e-4), (1e-3, 0.2)]
        for jitter, most in changes if same < 0.8 else changes[:1]:  # else the few are outliers
            assert np.abs(found[jitter] - found[0.0]).max() < most * size

    def test_scale_is_the_deviation_of_normal_outputs_and_a_formula(self):
        z = np.random.RandomState(0).randn(100_000)
        assert RealLine().fit(3.0 * z + 7.0).scale == pytest.approx(3.0, rel=0.02)
        y = np.array([1.0, 2.0, 4.0, 8.0, 16.0])  # distances 3, 2, 0, 4, 12: the middle 3 and 4
        assert RealLine().fit(y).scale == pytest.approx((9.0 + 16.0) / 7.0 / 0.97996, rel=1e-12)

    @pytest.mark.parametrize("unit", [1e-200, 1.0, 1e290])
    @pytest.mark.parametrize("others", [1, 5, 19, 21, 45])
    def test_outputs_that_are_the_median_do_not_make_the_unit_small(self, others, unit):
        y = np.zeros(100)
        y[:others] = 5.0 * unit
        assert RealLine().fit(y).scale == pytest.approx(5.0 * unit / 0.97996, rel=1e-12)
        weight = np.where(np.arange(100) < others, 0.5, 1.0)
        assert RealLine().fit(y, weight).scale == pytest.approx(5.0 * unit / 0.97996, rel=1e-12)

    def test_outputs_that_are_all_the_same_have_the_unit_1(self):
        assert RealLine().fit(np.full(9, 4.0)).scale == 1.0
        assert RealLine().fit(np.r_[4.0, 5.0], np.r_[1.0, 0.0]).scale == 1.0

    @pytest.mark.parametrize("size", [1e2, 1e9, 1e12])
    @pytest.mark.parametrize("many", [3, 60])
    def test_outliers_of_any_size_do_not_set_the_unit(self, many, size):
        rng = np.random.default_rng(0)
        X, X_new = rng.standard_normal((300, 3)), rng.standard_normal((200, 3))
        w = np.array([1.0, -2.0, 0.5])
        y = X @ w + 0.1 * rng.standard_normal(300)
        clean = RealLine().fit(y).scale
        y[:many] += size
        assert clean / 2.0 < RealLine().fit(y).scale < 2.0 * clean
        for kernel, least in (("linear", 0.98), ("rbf", 0.85)):
            model = PiSTOLRegressor(kernel, random_state=0).fit(X, y)
            assert model.score(X_new, X_new @ w) > least

    def test_the_unit_goes_by_weights(self):
        rng = np.random.RandomState(0)
        y = rng.standard_cauchy(101)
        weight = np.where(np.abs(y) > 1.0, 5, 1 + (rng.rand(101) > 0.5))
        found = RealLine().fit(y, weight)
        for times in (0.25, 4.0):
            again = RealLine().fit(y, times * weight)
            assert again.center == found.center
            assert again.scale == pytest.approx(found.scale, rel=1e-12)
        repeated = RealLine().fit(np.repeat(y, weight))
        assert found.center == pytest.approx(repeated.center, abs=0.1)
        assert found.scale == pytest.approx(repeated.scale, rel=0.05)
        assert RealLine().fit(y).scale != pytest.approx(repeated.scale, rel=0.05)
        joined, nothing = np.r_[1e9 * y, y], np.r_[0 * weight, weight]
        nought = RealLine().fit(joined, nothing)
        assert (nought.center, nought.scale) == (found.center, found.scale)

    @pytest.mark.parametrize("q", [0.1, 0.5, 0.8])
    def test_quantiles_are_those_of_scikit_learn(self, q):
        rng = np.random.RandomState(0)
        X, y, f = rng.randn(N, 2), rng.exponential(size=N), rng.randn(N)
        loss = ResidualLoss(RealLine().fit_stream(y), "quantile", quantile=q)
        mean = loss.value(f[:, None], y[:, None]).mean()
        assert mean == pytest.approx(mean_pinball_loss(y, f, alpha=q), rel=1e-12)
        y += X @ [1.0, 0.5]
        ours = PiSTOLRegressor(loss="quantile", quantile=q, random_state=0).fit(X, y).predict(X)
        theirs = QuantileRegressor(quantile=q, alpha=0.0).fit(X, y).predict(X)
        least = mean_pinball_loss(y, theirs, alpha=q)
        assert mean_pinball_loss(y, ours, alpha=q) < (1.3 if INTERPRETED else 1.1) * least
        assert np.mean(y <= ours) == pytest.approx(q, abs=0.1 if INTERPRETED else 0.06)

    @pytest.mark.parametrize("kernel", ["linear", "rbf"])
    def test_bad_outputs_are_refused_and_large_ones_learned(self, kernel):
        X, _ = stream(2, n=40)
        y = np.where(X[:, 0] > 0.0, 1.7e308, -1.7e308)
        model = PiSTOLRegressor(kernel, random_state=0).fit(X, y / 1.7e10)
        before, far = model.predict(X), r"y must lie between -1e\+300 and 1e\+300, got"
        assert np.isfinite(before).all()
        for factor, message in ((1.0, far), (np.nan, "y contains"), (np.inf, "y contains")):
            for method in (model.fit, model.partial_fit):
                with pytest.raises(ValueError, match=message):
                    method(X, factor * y)
                np.testing.assert_array_equal(model.predict(X), before)

    @pytest.mark.parametrize("kernel", ["linear", "rbf"])
    def test_streams_are_learned_in_any_chunks_and_validated(self, kernel):
        X, _ = stream(2, n=150)
        y = np.sin(2.0 * X[:, 0])
        whole, parts = PiSTOLRegressor(kernel).partial_fit(X, y), PiSTOLRegressor(kernel)
        for start in range(0, 150, 37):
            parts.partial_fit(X[start : start + 37], y[start : start + 37])
        result = progressive_validate(PiSTOLRegressor(kernel), X, y, play="randomized")
        assert result.target_loss.shape == (150,)
        for model in (parts, result.estimator):
            assert np.array_equal(model.predict(X), whole.predict(X))
        with pytest.raises(GuaranteeError, match=r"\[0, 1\]"):
            progressive_validate(
                PiSTOLRegressor(kernel), X, 100.0 * y, play="randomized"
            ).risk_bound()

    def test_constant_outputs(self):
        X, _ = stream(2, n=50)
        np.testing.assert_allclose(PiSTOLRegressor().fit(X, np.full(50, 7.0)).predict(X), 7.0)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (PiSTOLClassifier(loss="square"), "loss must be one of 'logistic', 'smooth_hinge'"),
        (PiSTOLClassifier(loss="perceptron"), "loss must be one of 'logistic', 'smooth_h"),
        (PiSTOLRegressor(loss="square"), "loss must be one of 'absolute'"),
        (
            PiSTOLRegressor(loss=ResidualLoss(epsilon=-1.0)),
            "epsilon must be a number at least 0, or None, got -1.0",
        ),
        (PiSTOLRegressor(quantile=1.0, loss="quantile"), "quantile must be a number between 0 an"),
        (PiSTOLRegressor(quantile="no"), "quantile must be a number between 0 and 1"),
        (PiSTOLClassifier(a=0.0), "a must be a positive number, got 0.0"),
        (PiSTOLClassifier(b=-1.0), "b must be a positive number, got -1.0"),
        (
            with_kernel(PiSTOLClassifier, fit_intercept="yes"),
            'fit_intercept must be a bool or "auto"',
        ),
        (with_kernel(PiSTOLClassifier, fit_intercept=2), 'fit_intercept must be a bool or "auto"'),
        (PiSTOLClassifier(optimizer=PiSTOL(feature_norm=0.0)), "feature_norm must be"),
        (PiSTOLClassifier(kernel="wavelet"), "kernel must be"),
        (PiSTOLClassifier(kernel="rbf", gamma=-1.0), "gamma must be a positive number"),
        (AveragedKernelSGDClassifier(eta=0.0), "eta must be a positive number, got 0.0"),
    ],
)
def test_bad_parameters_are_named(model, message):
    X, y = stream(2, n=30)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "t_")


@pytest.mark.parametrize("a", [1e-3, 0.05, 1e6])
@pytest.mark.parametrize("b", [1e-12, 1e12])
@pytest.mark.parametrize("unit", [1e-90, 1e90])
def test_extreme_parameters_overflow_nowhere(a, b, unit):
    X, y = stream(2, n=60)
    with np.errstate(over="raise", invalid="raise"):
        model = PiSTOLClassifier(Kernel("linear", fit_intercept=False), a=a, b=b, standardize=False)
        try:
            model.fit(unit * X, y)
        except ValueError as error:
            assert "scores" in str(error) or "weights" in str(error)
            return
    assert np.isfinite(model.decision_function(unit * X)).all()
