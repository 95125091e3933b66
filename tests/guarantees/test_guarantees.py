"""Certificates: printed formulas, streams that try to break them, refusals, best comparators."""

import math
import warnings

import naive
import numpy as np
import pytest
from conftest import INTERPRETED
from fitted import FITTED
from naive import kernels
from naive.logistic import OnlineNewton
from pairs import PAIRS, loss_of, space_of
from plain import predictor
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from streams import linear_vertices, noisy_classes

import skstructured as sk
from benchmarks.adversaries import LabelNoise
from skstructured import GuaranteeError
from skstructured.losses import FenchelYoung
from skstructured.optimizers import (
    AdaptiveGradientDescent,
    GradientDescent,
    ParameterFree,
    PiSTOL,
    StepMixture,
)
from skstructured.spaces import Simplex

#: Parameters, those of validation, those of the bound, and why there is none.
REFUSED = [
    ({"decoder": "nearest"}, {}, {}, "No regret bound for the decoder Nearest"),
    ({}, {"batch_size": 5}, {}, "not batches of 5"),
    ({"optimizer": GradientDescent(eta=5.0)}, {}, {}, "eta is too large"),
    ({"optimizer": GradientDescent(feature_norm=0.5)}, {}, {}, "exceeded feature_norm=0.5"),
    ({"loss": FenchelYoung(scale=0.5)}, {}, {}, "until the surrogate gap"),
    (
        {"optimizer": "parameter_free", "loss": FenchelYoung(scale=0.1)},
        {},
        {},
        "until the surrogate gap",
    ),
    ({}, {}, {"delta": 0.05}, 'eta="high_probability"'),
    ({"loss": "hinge", "decoder": "gap"}, {}, {"delta": 0.1}, "only holds in expectation"),
    ({"optimizer": PiSTOL()}, {}, {}, r"needs a ≥ 2.25, got a=0.08"),
    ({"optimizer": PiSTOL(a=3.0)}, {}, {}, r"set feature_norm to at least"),
    ({"optimizer": PiSTOL(a=3.0, feature_norm=0.1)}, {}, {}, r"set feature_norm to at least"),
    ({"optimizer": PiSTOL(per_coordinate=True)}, {}, {}, r"needs a ≥ 2.25, got a=0.08"),
    ({"optimizer": PiSTOL(a=3.0, per_coordinate=True)}, {}, {}, r"set feature_norm to at least"),
    ({"optimizer": PiSTOL(2.5, 1.0, 1e-3, per_coordinate=True)}, {}, {}, "Corollary 3 of PiSTOL"),
]


@pytest.mark.filterwarnings("ignore:.*gap:skstructured.GuaranteeWarning")
@pytest.mark.parametrize(("parameters", "rounds", "given", "message"), REFUSED)
def test_configurations_without_a_theorem_say_so(parameters, rounds, given, message, rng):
    X, y = rng.randn(30, 3), rng.randint(3, size=30)
    result = sk.evaluation.progressive_validate(
        predictor(**parameters), X, y, **rounds, play="randomized"
    )
    with pytest.raises(GuaranteeError, match=message):
        result.regret_bound(**given)


@pytest.mark.parametrize(
    "optimizer",
    [
        PiSTOL(a=2.5, feature_norm=10.0),
        PiSTOL(a=2.5, b=1e-5, feature_norm=1000.0),
        PiSTOL(a=2.25, feature_norm=10.0),
        ParameterFree(wealth=0.01),
        ParameterFree(),
        AdaptiveGradientDescent(5e-4),
        AdaptiveGradientDescent(1.0),
        GradientDescent(),
        GradientDescent(radius=0.01),
    ],
)
def test_the_comparator_of_any_certificate_makes_the_bound_small(optimizer, rng):
    for n, p, signal in ((20, 3, False), (44, 10, False), (400, 3, True)):
        X, y = rng.randn(n, p), rng.randint(3, size=n)
        y = np.where(signal & (X[:, 0] > 0.3), 2, y)
        y[:3] = range(3)
        result = sk.evaluation.progressive_validate(
            predictor(optimizer=optimizer), X, y, play="randomized"
        )
        U, certificate = result.best_comparator(), result.estimator.certificate()
        best = result.regret_bound(U)
        assert result.regret_bound() == pytest.approx(best)
        assert np.linalg.norm(U) <= certificate.radius * (1 + 1e-9)
        assert result.expected_target_loss.sum() <= best
        assert best <= result.regret_bound(np.zeros_like(U))
        for part in (0.8, 0.9, 1.1, 1.25):
            if part * np.linalg.norm(U) <= certificate.radius:
                assert result.regret_bound(part * U) >= best * (1 - 1e-2)


def test_bounds_are_the_printed_formulas(rng):
    X, y = rng.randn(50, 3), rng.randint(3, size=50)
    result = sk.evaluation.progressive_validate(predictor(), X, y, play="randomized")
    U = rng.randn(3, 4)
    C_sq = (np.linalg.norm(X, axis=1) ** 2 + 1).max()
    theorem_5_1 = C_sq * np.linalg.norm(U) ** 2 / (2 * (1 - math.log(2)) * math.log(2))
    comparator, lost = result.comparator_loss(U).sum(), result.expected_target_loss.sum()
    assert result.regret_bound(U) == pytest.approx(comparator + theorem_5_1)
    assert result.surrogate_regret(U) == pytest.approx(lost - comparator)
    certificate = result.estimator.certificate()
    assert certificate.constants["C"] == pytest.approx(math.sqrt(C_sq))
    assert certificate.constants["b"] == pytest.approx(2 * C_sq / math.log(2))
    assert certificate.theorem == "Theorem 4.2"
    optimizer = GradientDescent(eta="high_probability", feature_norm=10.0)
    result = sk.evaluation.progressive_validate(
        predictor(optimizer=optimizer), X, y, play="randomized"
    )
    a, b = 1 - math.log(2), 2 * 100 / math.log(2)
    wanted = ((1 - a) * b * np.linalg.norm(U) ** 2 + 0.5 * 2 * math.log(20)) / a
    comparator = result.comparator_loss(U).sum()
    assert result.regret_bound(U, delta=0.05) == pytest.approx(comparator + wanted)
    with pytest.raises(ValueError, match=r"delta must lie in \(0, 1\), got 2"):
        result.regret_bound(U, delta=2)
    with pytest.raises(ValueError, match=r"U must have shape \(3, 4\) \(outputs, features and"):
        result.regret_bound(U[:, :3])


@pytest.mark.parametrize("c", [1.1, 1.0 / math.log(2), 1.9, 2.0, 2.1, 8.0])
def test_regret_of_the_adaptive_step_is_what_its_proof_gives(c, rng):
    """bB²/(2a) for a ≤ ½ and 2(1 − a) b B² above; 2(1 − a) b B²/a is printed."""
    X, y = rng.randn(50, 3), rng.randint(3, size=50)
    model = predictor(optimizer=AdaptiveGradientDescent(2.5), loss=FenchelYoung(scale=c))
    certificate, C_sq = model.fit(X, y).certificate(), (X**2).sum(axis=1).max() + 1.0
    a, b = 1 - 1 / c, 2 * c * C_sq
    assert certificate.theorem == "Theorem E.1"
    wanted = b * 25.0 / (2 * a) if c <= 2.0 else 2 * (1 - a) * b * 25.0
    assert certificate.regret(1.0) == pytest.approx(wanted)


@pytest.mark.parametrize(("average", "factor"), [("uniform", 1.0), (True, 4.0)])
def test_averages_inherit_the_bound(average, factor):
    """Theorem 4.6 bounds the mean risk of the weights played; no round counts more than factor/T.

    Also where the last weights, which are played too, are the worst, and for the excess of risk.
    """
    space, n = space_of("simplex-shannon", 3), 60 if INTERPRETED else 300
    X, y = LabelNoise(n, random_state=0).draw(space)
    X[-4:], y[-4:] = 20.0 * X[-4:], (y[-4:] + 1) % 3
    model = predictor(optimizer=GradientDescent(eta=0.2), average=average)
    rounds = model.begin(X, y)
    world, risks = (X[:-4], space.encode(y[:-4])), []

    def risk(W):
        return sk.guarantees.comparator_losses(model.loss_, W, *world).mean()

    for t in range(n):
        risks.append(risk(model.last_weights_))
        model.learn(rounds, [t])
    least = risk(sk.guarantees.best_comparator(model.loss_, *world, 1e-3))
    for of in (0.0, least):
        assert risk(model.average_weights_) - of <= factor * (np.mean(risks) - of)
        assert risk(model.last_weights_) - of > 4.0 * (np.mean(risks) - of)


def test_regret_of_pistol_is_the_printed_formula(rng):
    X, y = rng.randn(50, 3), rng.randint(3, size=50)
    optimizer = PiSTOL(a=2.25, b=2.0, feature_norm=10.0)
    model = predictor(optimizer=optimizer)
    result = sk.evaluation.progressive_validate(model, X, y, play="randomized")
    certificate = result.estimator.certificate()
    k, L = certificate.constants, math.sqrt(2) * 10.0
    a, phi = 2.25 * L, 6284.9495570
    assert (k["rounds"], k["L"] * k["N"]) == (50, pytest.approx(L))
    wanted = 3.0 * math.sqrt(2 * a * (L + k["path"]) * math.log(3 * math.sqrt(a * L * 51) / 2 + 1))
    wanted = math.log(2) / math.log(2) * (wanted + 2.0 * phi * math.log(51))
    assert certificate.regret(3.0) == pytest.approx(wanted)


def literal_coin_betting(k, norm):
    """The supremum of `CoinBettingCertificate`, from below: the largest value on fine grids."""
    beta, y = (2 - math.log(3)) / 2, np.r_[0.0, np.logspace(-6, 2.5, 1500)]
    V = k["N"] ** 2 * np.logspace(-5, 9, 1500)[:, None]
    r = beta / 8 + beta * math.log(k["N"] / k["N_1"]) + np.log1p(4 * V / k["N_1"] ** 2) / (2 * beta)
    with np.errstate(over="ignore"):
        lost = k["wealth"] * np.exp(y - r)
    bet = (norm * (2 * np.sqrt(V * y) + 2 * k["N"] * y) - lost).max(axis=1)
    unit, V = k["c"] * k["D_2"], V[:, 0]
    R, z = unit * (2.5 * np.sqrt(2 * V) * norm + k["wealth"] + bet), unit**2 * V / k["b"]
    return np.minimum((1 - k["a"]) * z, R - k["a"] * z).max()


@pytest.mark.parametrize("first", [1.0, 0.3, 1e-3])
@pytest.mark.parametrize("a", [0.1, 0.3, 0.6, 0.9])
def test_the_regret_of_coin_betting_is_what_its_proof_says(a, first):
    constants = {"a": a, "b": 3.0, "c": 1.0, "D_2": 1.0, "N": 2.0, "N_1": 2.0 * first}
    certificate = sk.guarantees.CoinBettingCertificate(constants | {"wealth": 2.0})
    norms = (0.0, 0.05, 0.5, 5.0, 50.0)
    regrets = [certificate.regret(norm) for norm in norms]
    # The learner starts with ε, loses no more, and a share a of that is never a target loss.
    assert regrets[0] == pytest.approx((1 - a) * 2.0)
    assert np.all(np.diff(regrets) > 0)
    for norm, regret in zip(norms[1:], regrets[1:], strict=True):
        literal = literal_coin_betting(certificate.constants, norm)
        assert literal <= regret <= 1.025 * literal


@pytest.mark.parametrize("c", [1.1, 1.0 / math.log(2), 2.0, 2.1, 3.0, 20.0])
def test_the_bound_with_high_probability_allows_for_large_gaps(c, rng):
    """((1 − a) b ‖U‖² + γ D ln(1/δ))/a; the first term over 1 − a/2 besides, where a > ½."""
    X, y = rng.randn(40, 3), rng.randint(3, size=40)
    optimizer = GradientDescent(eta="high_probability")
    model = predictor(optimizer=optimizer, loss=FenchelYoung(scale=c)).fit(X, y)
    certificate, a = model.certificate(0.05), 1 - 1 / c
    k = certificate.constants
    factor = 1.0 if c <= 2.0 else 1.0 / (1 - a / 2)
    wanted = factor * (1 - a) * k["b"] * 9.0 / a + k["gamma"] * k["D"] * math.log(20) / a
    assert certificate.regret(3.0) == pytest.approx(wanted)


WEIGHTS = 0.3 + 2.0 * np.random.RandomState(5).rand(60)


def phi(x):
    top = math.exp(x / 2) * (x + 1) + 2
    return x / 2 * top / (1 - x * math.exp(x / 2) - x) * top


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_regret_of_pistol_per_coordinate_is_that_of_corollary_3(storage, rng):
    """Of every weight by itself, with W, β/p and |U_kj| ≤ ‖U‖; summed by Cauchy and Schwarz."""
    X, y = noisy_classes(rng, n=60, K=3)
    optimizer = PiSTOL(2.5, 3.0, feature_norm=15.0, per_coordinate=True)
    model = predictor(optimizer=optimizer).fit(storage(X), y, sample_weight=WEIGHTS)
    certificate, p, L = model.certificate(), X.shape[1] + 1, math.sqrt(2.0) * 15.0
    literal = naive.CoordinatePiSTOL((3, p), math.sqrt(2.0), 2.5, 3.0, 15.0)
    _, played = naive.play(literal, model.loss_, X, np.eye(3)[y], WEIGHTS)
    np.testing.assert_allclose(model.last_weights_, played[-1], rtol=1e-9, atol=1e-12)
    a, c, path = certificate.constants["a"], certificate.constants["c"], literal.path
    for norm in (0.0, 0.3, 40.0):
        log = math.log(norm * L * math.sqrt(2.5 * 61) * p / 3.0 + 1.0)
        spread = 2 * 2.5 * L * (3 * p * L + path.sum()) * log
        wanted = norm * math.sqrt(spread) + 3 * 3.0 * phi(1 / 2.5) * math.log(61)
        assert certificate.regret(norm) == pytest.approx((1 - a) * c * wanted, rel=1e-12)
        U = np.abs(rng.randn(3, p))
        U *= norm / np.linalg.norm(U)
        logs = np.log(U * L * math.sqrt(2.5 * 61) * p / 3.0 + 1.0)
        of_weights = U * np.sqrt(2 * 2.5 * L * (L + path) * logs)
        each = of_weights + 3.0 / p * phi(1 / 2.5) * math.log(61)
        assert (1 - a) * c * each.sum() <= certificate.regret(norm)


@pytest.mark.parametrize(("a", "b", "n"), [(2.5, 1e-2, 100), (2.5, 1e-8, 200), (5.0, 1e-2, 200)])
def test_bounds_of_pistol_hold_for_a_weight_that_grows_slowly(a, b, n):
    """One feature and one label, both always 1: U = 1 has no loss, and W needs many rounds."""
    X, y = np.ones((n, 1)), np.ones((n, 1), dtype=int)
    for per_coordinate in (True, False):
        model = predictor("hypercube", loss="hinge", fit_intercept=False)
        model.set_params(optimizer=PiSTOL(a, b, feature_norm=1.0, per_coordinate=per_coordinate))
        run = sk.evaluation.progressive_validate(model, X, y, play="randomized")
        assert run.surrogate_loss.sum() <= run.estimator.certificate().bound(0.0, 1.0)


def test_pistol_classifiers_learn_every_weight_separately(rng):
    X, y = noisy_classes(rng, n=60, K=2)
    given = {"optimizer": PiSTOL(2.5, feature_norm=40.0, per_coordinate=True), "max_iter": 1}
    model = sk.PiSTOLClassifier(random_state=0, standardize=False, **given).fit(X, y)
    constants = model.certificate().constants
    assert (constants["outputs"], constants["features"]) == (1, X.shape[1] + 1)
    other = clone(model).set_params(optimizer__per_coordinate=False).fit(X, y)
    assert np.abs(model.coef_ - other.coef_).max() > 0.01 * np.abs(other.coef_).max()
    with pytest.raises(ValueError, match="has per-feature step sizes"):
        clone(model).set_params(kernel="rbf").fit(X, y)
    losses = sk.evaluation.progressive_validate(model, X, y, play="randomized").surrogate_loss
    assert losses.sum() <= model.fit(X, y).certificate().bound(60.0, 0.0)


class TestSquareLoss:
    @pytest.mark.parametrize("K", [2, 4])
    def test_bound_3_is_the_printed_formula(self, K, rng):
        X, y = noisy_classes(rng, n=60, K=K)
        model = sk.AveragedKernelSGDClassifier(
            loss="square", eta=0.2, average="uniform", max_iter=1
        ).fit(X, y)
        certificate, problems = model.certificate(), 1 if K == 2 else K
        for norm in (0.0, 2.0):  # k(x, x) = 1
            printed = norm**2 / (0.2 * 60) + problems * 4 * 0.2
            assert certificate.regret(norm) / 60 == pytest.approx(printed, rel=1e-13)
        weighted = model.set_params(eta=0.05).fit(X, y, sample_weight=WEIGHTS).certificate()
        offset = 4 * 0.05 * WEIGHTS.max() * WEIGHTS.sum() * problems
        assert weighted.regret(3.0) == pytest.approx(9.0 / 0.05 + offset, rel=1e-12)

    def test_rounds_are_those_of_algorithm_1(self, rng):
        X, y = noisy_classes(rng, n=30, K=2)
        model = sk.AveragedKernelSGDClassifier(
            "rbf", 0.3, loss="square", eta=0.2, average="uniform", max_iter=1, shuffle=False,
            standardize=False,
        ).fit(X, y)  # fmt: skip
        k, v = kernels.gram(kernels.rbf(0.3), X, X), 2.0 * y[:, None] - 1.0
        slope = lambda theta, t: -2 * v[t] if theta is None else -2 * v[t] * (1 - v[t] * theta)  # noqa: E731
        *_, mean = kernels.gradient_descent(k, slope, 0.2, "uniform")
        np.testing.assert_allclose(model.decision_function(X), (k @ mean)[:, 0], rtol=1e-9)

    def test_bound_holds_for_labels_that_contradict_the_scores(self, rng):
        """And eta above 1/(4C²), other losses and those of PiSTOL are refused."""
        X = rng.randn(100, 3)
        model = sk.AveragedKernelSGDClassifier(
            sk.Kernel("linear", fit_intercept=False),
            **{"loss": "square", "average": False, "standardize": False},
        )
        C_sq = (X**2).sum(axis=1).max()
        for factor in (0.25, 0.05):
            one, losses, y = clone(model).set_params(eta=factor / C_sq), 0.0, []
            for x in X:
                score = one.decision_function(x[None])[0] if y else 0.0
                y.append(int(score <= 0.0))
                losses += (1.0 + abs(score)) ** 2
                one.partial_fit(x[None], y[-1:], classes=[0, 1])
            v, certificate = 2.0 * np.array(y) - 1.0, one.certificate()
            for penalty in (1e-2, 1.0, certificate.quadratic):
                u = np.linalg.solve(X.T @ X + penalty * np.eye(3), X.T @ v)
                own = ((1 - v * (X @ u)) ** 2).sum()
                assert losses <= certificate.bound(own, np.linalg.norm(u))
        with pytest.raises(GuaranteeError, match=r"set eta ≤ .*; got eta=5"):
            clone(model).set_params(eta=5.0, max_iter=1).fit(X[:5], y[:5]).certificate()
        with pytest.raises(GuaranteeError, match="No bound is known for loss='hinge'"):
            clone(model).set_params(loss="hinge").fit(X, y).certificate()


WITHOUT = sk.Kernel("linear", fit_intercept=False)


class TestPerceptrons:
    def test_bounds_are_those_of_the_papers(self, rng):
        X, y = noisy_classes(rng, n=60, K=3)
        kernel = sk.KernelPerceptronClassifier(max_iter=1).fit(X, y)
        found = kernel.certificate().bound(7.0, 3.0)
        assert found == pytest.approx(7.0 + 9.0 + 3.0 * math.sqrt(7.0), rel=1e-13)
        model = sk.MulticlassPerceptron(standardize=False, max_iter=1)
        model.fit(X, y, sample_weight=WEIGHTS)
        C = np.sqrt(WEIGHTS * ((X**2).sum(axis=1) + 1.0)).max()
        wanted = 7.0 + 2 * C**2 * 9.0 + C * 3.0 * math.sqrt(2 * 7.0)
        assert model.certificate().bound(7.0, 3.0) == pytest.approx(wanted, rel=1e-12)
        for one in (kernel, model):
            with pytest.raises(GuaranteeError, match=r"use bound\(comparator_loss, norm\)"):
                one.certificate().regret(3.0)
        with pytest.raises(GuaranteeError, match="is about hinge losses"):
            sk.evaluation.progressive_validate(
                sk.MulticlassPerceptron(), X, y, play="randomized"
            ).regret_bound()

    @pytest.mark.parametrize("K", [2, 3])
    def test_as_many_mistakes_as_the_bound_allows(self, K):
        """Orthogonal rows are all mistaken, and U = ΣG/2 has no loss: 2X²‖U‖² is attained."""
        X = np.eye(12)
        y = np.r_[1, np.zeros(11, dtype=int)] if K == 2 else np.arange(12) % 2 + 1
        model = sk.MulticlassPerceptron(
            standardize=False, fit_intercept=False, average=False, max_iter=1, shuffle=False
        )
        mistakes, U = 0, np.zeros((K, 12))
        for x, label in zip(X, y, strict=True):
            best = model.predict(x[None])[0] if mistakes else 0
            if best != label:
                mistakes += 1
                U += 0.5 * np.outer(np.eye(K)[label] - np.eye(K)[best], x)
                model.partial_fit(x[None], [label], classes=np.arange(K))
        bound = model.certificate().bound(0.0, np.linalg.norm(U))
        assert mistakes == pytest.approx(bound, rel=1e-12)

    def test_bounds_hold_for_rows_that_are_always_mistaken(self, rng):
        X = rng.randn(60, 4)
        for K, model in (
            (3, sk.MulticlassPerceptron(standardize=False, fit_intercept=False, average=False)),
            (2, sk.KernelPerceptronClassifier(WITHOUT, standardize=False, average=False)),
        ):
            y = []
            for x in X:
                best = model.predict(x[None])[0] if y else 0
                y.append((best + 1) % K)
                model.partial_fit(x[None], y[-1:], classes=np.arange(K))
            certificate, y = model.certificate(), np.array(y)
            for size in (0.0, 0.1, 1.0, 5.0):
                means = np.array([X[y == k].mean(axis=0) for k in range(K)])
                U = size * (means - means.mean(axis=0))
                margins = [naive.margins(U @ x)[label] for x, label in zip(X, y, strict=True)]
                norm = np.linalg.norm(U if K > 2 else U[1] - U[0])
                assert len(y) <= certificate.bound(
                    np.maximum(1.0 - np.array(margins), 0.0).sum(), norm
                )


class TestOnlineNewton:
    @pytest.mark.parametrize("K", [2, 3])
    def test_regret_is_that_of_the_proof(self, K, rng):
        """‖U‖²/(2γKB²) + Σ gᵀA⁻¹g/(2γ), from matrices that are inverted in every round."""
        X, y = noisy_classes(rng, n=60, K=K)
        X, B = X / 10.0, 0.7
        Z = np.c_[X, np.ones(60)]
        R, heaviest = np.linalg.norm(Z, axis=1).max(), WEIGHTS.max()
        gamma = 0.5 * min(1 / (4 * B * R), math.exp(-2 * B * R) / (K - 1)) / heaviest
        model = sk.OnlineNewtonClassifier(
            radius=B, exp_concavity=gamma, standardize=False, decoder="sampled"
        )
        model.partial_fit(X, y, np.arange(K), sample_weight=WEIGHTS)
        literal, potential = OnlineNewton(K, Z.shape[1], B, gamma), 0.0
        for z, label, w in zip(Z, y, WEIGHTS, strict=True):
            logits, before = literal.logits(z), literal.W
            literal.update(z, logits, np.eye(K)[label], w)
            step = gamma * (before - literal.W)  # A⁻¹g
            potential += step @ literal.A @ step
        certificate = model.certificate()
        assert certificate.unit == "nats"
        wanted = 0.5**2 / (2 * gamma * K * B**2) + potential / (2 * gamma)
        assert certificate.regret(0.5) == pytest.approx(wanted, rel=1e-9)
        bits = clone(model).set_params(decoder="map").fit(X, y).certificate()
        assert bits.unit == "bits"

    @pytest.mark.parametrize("B", [0.5, 2.0])
    def test_bound_holds_where_the_likeliest_class_is_always_wrong(self, B, rng):
        n = 30 if INTERPRETED else 200
        X = rng.randn(n, 2)
        X /= np.linalg.norm(X, axis=1)[:, None]
        model = sk.OnlineNewtonClassifier(
            radius=B,
            feature_norm=1.0,
            exp_concavity="theory",
            standardize=False,
            fit_intercept=False,
            decoder="sampled",
        )
        played, y = 0.0, []
        for x in X:
            p = model.predict_proba(x[None])[0] if y else np.full(3, 1 / 3)
            y.append(int(np.argmin(p)) if len(y) % 3 else int(x[0] > 0))
            played -= math.log(p[y[-1]])
            model.partial_fit(x[None], y[-1:], classes=[0, 1, 2])
        certificate, V = model.certificate(), np.eye(3)[y]
        means = V.T @ X / n
        for size in (0.0, 0.2, 1.0):
            U = size * B * means / np.linalg.norm(means)
            logits = X @ U.T
            own = (np.log(np.exp(logits).sum(axis=1)) - (V * logits).sum(axis=1)).sum()
            assert played <= certificate.bound(own, size * B)

    def test_steps_that_are_too_long_are_refused(self, rng):
        X, y = noisy_classes(rng, n=60, K=3)
        with pytest.raises(GuaranteeError, match=r"set exp_concavity ≤ .*; got exp_concavity=0.1"):
            sk.OnlineNewtonClassifier().fit(X, y).certificate()
        model = sk.OnlineNewtonClassifier(exp_concavity=1e-9, decoder="min_risk").fit(X, y)
        with pytest.raises(GuaranteeError, match="No bound is known for the decoder 'min_risk'"):
            model.certificate()


OUTSIDE = {
    "a ball": (predictor(optimizer=GradientDescent(radius=1.0)), 1.0),
    "adaptive": (predictor(optimizer=AdaptiveGradientDescent(1.0)), 1.0),
    "balls": (
        predictor(
            optimizer=StepMixture(
                others=(AdaptiveGradientDescent(1.0), AdaptiveGradientDescent(2.0))
            ),
            loss=FenchelYoung(scale=5.0),
        ),
        2.0,
    ),
    "folklore": (sk.FolkloreClassifier(radius=0.5), 0.5),
    "folklore mixture": (sk.FolkloreClassifier(radius=[0.5, 2.0]), 2.0),
    "newton": (sk.OnlineNewtonClassifier(radius=0.25, exp_concavity=1e-9), 0.25),
    "bandit": (sk.BanditGaptronClassifier(radius=3.0, random_state=0), 3.0),
}


@pytest.mark.parametrize("name", list(OUTSIDE))
def test_no_certificate_speaks_outside_of_its_radius(name, rng):
    X, y = noisy_classes(rng, n=30, K=3)
    model, radius = OUTSIDE[name]
    certificate = clone(model).fit(X, y).certificate()
    within = certificate.regret(radius)
    assert 0.0 < within < math.inf
    assert certificate.bound(5.0, radius) == 5.0 + within
    for ask in (certificate.regret, lambda norm: certificate.bound(5.0, norm)):
        for norm in (1.01 * radius, math.nan):
            with pytest.raises(ValueError, match=rf"radius.*{radius:g}, got .*{norm:g}"):
                ask(norm)


def test_an_expert_counts_within_its_own_ball_alone(rng):
    """The smaller ball has the smaller regret, which must not be taken beyond it."""
    X, y = noisy_classes(rng, n=30, K=3)
    balls = (AdaptiveGradientDescent(1.0), AdaptiveGradientDescent(2.0))
    model = predictor(optimizer=StepMixture(others=balls), loss=FenchelYoung(scale=5.0)).fit(X, y)
    certificate = model.certificate()
    regrets = [one.offset for one in certificate.certificates]
    assert [one.radius for one in certificate.certificates] == [1.0, 2.0]
    assert regrets[0] < regrets[1]
    k = certificate.constants
    price = (1 - k["a"]) * k["c"] * k["overhead"]
    assert certificate.regret(2.0) == pytest.approx(regrets[1] + price)


@pytest.mark.parametrize("name", list(FITTED))
def test_certificates_before_and_after_fit(name):
    """A `Certificate`, or an error that says why there is none: no KeyError, nothing internal."""
    case = FITTED[name]
    if not hasattr(case.estimator, "certificate"):
        with pytest.raises(AttributeError, match="has no attribute 'certificate'"):
            _ = case.estimator.certificate
        return
    with pytest.raises((NotFittedError, GuaranteeError)):
        clone(case.estimator).certificate()
    with warnings.catch_warnings(action="ignore"):
        model = case.started()
    try:
        certificate = model.certificate()
    except GuaranteeError as error:
        assert str(error).endswith((".", ")"))
    else:
        assert isinstance(certificate, sk.guarantees.Certificate)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (sk.BanditronClassifier(), "one exploration rate"),
        (sk.NewtronClassifier(), "one exploration rate"),
        (sk.SOBAClassifier(), "no explicit constants"),
        (sk.ConfiditClassifier(), "drawn from a linear model"),
        (sk.SecondOrderPerceptron(), "no explicit constants"),
        (sk.GaussianAggregatingForecaster(), "no explicit constants"),
        (sk.AggregatingForecaster(), "needs exact integrals"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_learners_without_a_bound_say_why(model, reason):
    with pytest.raises(GuaranteeError, match=rf"No regret bound is stated for .*\. .*{reason}"):
        model.certificate()
    assert reason in " ".join(type(model).__doc__.split())


LOSSES = {
    "simplex-shannon": lambda: loss_of("simplex-shannon", 3),
    "simplex-squared": lambda: loss_of("simplex-squared", 3),
    "hypercube-shannon": lambda: loss_of("hypercube-shannon", 3),
    "ordinal-squared": lambda: loss_of("ordinal-squared", 2),
    "smooth hinge": lambda: sk.losses.GapSurrogate(Simplex().fit(np.arange(3)), "smooth_hinge"),
}


def objective(loss, X, V, quadratic, U):
    return sk.guarantees.comparator_losses(loss, U, X, V).sum() + quadratic * np.sum(U**2)


def constrained(loss, X, V, quadratic, radius):
    """The smallest objective in the ball, by sequential quadratic programming."""
    shape, ones = (V.shape[1], X.shape[1] + 1), np.c_[X, np.ones(len(X))]

    def value(u):
        values, g = loss.value_and_gradient(ones @ u.reshape(shape).T, V)
        gradient = (g.T @ ones).ravel() + 2 * quadratic * u
        return (values.sum() + quadratic * u @ u) / len(X), gradient / len(X)

    ball = {"type": "ineq", "fun": lambda u: radius**2 - u @ u, "jac": lambda u: -2 * u}
    start = np.full(math.prod(shape), 1e-2 * radius)
    options = {"maxiter": 2000, "ftol": 1e-10}
    found = minimize(value, start, jac=True, constraints=ball, method="SLSQP", options=options)
    assert found.success and found.x @ found.x <= radius**2 * (1 + 1e-6)
    return len(X) * found.fun


#: Radii with quadratic terms; every other one with noisy scores.
BALLS = [
    pytest.param(radius, quadratic, float((i + j) % 2), marks=[pytest.mark.slow] * (radius == 1.0))
    for i, radius in enumerate((0.3, 4.0) if INTERPRETED else (1e-2, 0.3, 1.0, 4.0))
    for j, quadratic in enumerate((0.0, 1e-3, 1.0))
]


@pytest.mark.parametrize(("radius", "quadratic", "noise"), BALLS)
@pytest.mark.parametrize("which", list(LOSSES))
@pytest.mark.short(every=11)
def test_no_solver_finds_a_better_one_in_the_ball(which, radius, quadratic, noise, rng):
    loss = LOSSES[which]()
    X, V = linear_vertices(loss.space, rng, noise)
    U = sk.guarantees.best_comparator(loss, X, V, quadratic, radius=radius)
    assert np.linalg.norm(U) <= radius * (1 + 1e-12)
    wanted = constrained(loss, X, V, quadratic, radius)
    assert objective(loss, X, V, quadratic, U) <= wanted * (1 + 1e-3)


@pytest.mark.parametrize("which", list(LOSSES))
def test_a_large_ball_changes_nothing(which, rng):
    loss = LOSSES[which]()
    X, V = linear_vertices(loss.space, rng, 1.0)
    for quadratic in (0.1, 10.0):
        free = sk.guarantees.best_comparator(loss, X, V, quadratic)
        norm = np.linalg.norm(free)
        for radius in (1.01 * norm, 1e6):
            found = sk.guarantees.best_comparator(loss, X, V, quadratic, radius=radius)
            np.testing.assert_array_equal(found, free)
        touching = sk.guarantees.best_comparator(loss, X, V, quadratic, radius=0.9999 * norm)
        value = objective(loss, X, V, quadratic, touching)
        assert value == pytest.approx(objective(loss, X, V, quadratic, free), rel=1e-6)


@pytest.mark.parametrize("kind", ["logistic", "hinge", "smooth_hinge"])
def test_hinges_in_a_ball_are_better_than_scaled_ones(kind, rng):
    """Kinks leave L-BFGS no gradient to stop at; any point of the ball bounds the smallest."""
    loss = sk.losses.GapSurrogate(Simplex().fit(np.arange(3)), kind)
    X, V = linear_vertices(loss.space, rng, 1.0)
    free = sk.guarantees.best_comparator(loss, X, V, 0.1)
    radius = 0.3 * np.linalg.norm(free)
    U = sk.guarantees.best_comparator(loss, X, V, 0.1, radius=radius)
    best = objective(loss, X, V, 0.1, U)
    assert best <= objective(loss, X, V, 0.1, 0.3 * free)
    for _ in range(30):
        other = U + 0.1 * radius * rng.randn(*U.shape)
        other *= min(1.0, radius / np.linalg.norm(other))
        assert objective(loss, X, V, 0.1, other) >= best * (1 - 1e-2)


def test_rows_without_features_have_the_comparator_zero():
    loss = LOSSES["simplex-shannon"]()
    X, V = np.zeros((6, 2)), loss.space.vertices()[[0, 1, 2] * 2]
    for quadratic in (0.0, 1.0):
        U = sk.guarantees.best_comparator(loss, X, V, quadratic, fit_intercept=False, radius=0.5)
        assert not U.any()


def test_storage_and_intercept_do_not_matter(rng):
    loss = LOSSES["simplex-shannon"]()
    X, V = linear_vertices(loss.space, rng, 0.5)
    dense = sk.guarantees.best_comparator(loss, X, V, 0.01, radius=0.7)
    found = sk.guarantees.best_comparator(loss, sparse.csr_array(X), V, 0.01, radius=0.7)
    np.testing.assert_allclose(found, dense, atol=1e-6)
    ones = np.c_[X, np.ones(len(X))]
    appended = sk.guarantees.best_comparator(loss, ones, V, 0.01, fit_intercept=False, radius=0.7)
    np.testing.assert_allclose(appended, dense, atol=1e-6)


def test_an_offset_does_not_move_the_comparator(rng):
    """The adaptive step's regret is a constant in its ball: the least loss is the least bound."""
    name = "simplex-shannon"
    model = predictor(space_of(name, 3), PAIRS[name][1], optimizer=AdaptiveGradientDescent(0.8))
    loss = LOSSES[name]()
    X, V = linear_vertices(loss.space, rng, 1.0)
    certificate = model.fit(X, loss.space.decode(V)).certificate()
    assert (certificate.quadratic, certificate.radius) == (0.0, 0.8)
    U = sk.guarantees.comparator_for(certificate, loss, X, V)
    least = constrained(loss, X, V, 0.0, 0.8)
    assert sk.guarantees.comparator_losses(loss, U, X, V).sum() <= least * (1 + 1e-3)
    free = sk.guarantees.comparator_for(sk.guarantees.Certificate("none", 0.1, 7.0), loss, X, V)
    np.testing.assert_array_equal(free, sk.guarantees.best_comparator(loss, X, V, 0.1))
