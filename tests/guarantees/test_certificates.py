"""Certificates of single learners: literal formulas, streams that try to break them, refusals."""

import math
import warnings

import naive
import numpy as np
import pytest
from conftest import INTERPRETED
from fitted import FITTED
from plain import predictor
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from streams import noisy_classes

import skstructured as sk
from skstructured import GuaranteeError
from skstructured.evaluation import progressive_validate
from skstructured.evaluation.adversaries import GreedyAdversary, LabelNoise, Separable, play
from skstructured.guarantees.certificates import Certificate
from skstructured.optimizers import AdaptiveGradientDescent, GradientDescent, PiSTOL, StepMixture
from skstructured.spaces import Simplex

WEIGHTS = 0.3 + 2.0 * np.random.RandomState(5).rand(60)


def phi(x):
    top = math.exp(x / 2) * (x + 1) + 2
    return x / 2 * top / (1 - x * math.exp(x / 2) - x) * top


def hinges(theta, y):
    """Multiclass hinge losses max(1 − m, 0)."""
    rows, others = np.arange(len(y)), theta.copy()
    others[rows, y] = -np.inf
    return np.maximum(1.0 - theta[rows, y] + others.max(axis=1), 0.0)


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


@pytest.mark.parametrize("adversary", [LabelNoise, Separable, GreedyAdversary])
def test_bound_of_pistol_per_coordinate_holds(adversary):
    n = 20 if INTERPRETED else 80
    stream = adversary(n_rounds=n, n_features=3, random_state=0)
    model = predictor(optimizer=PiSTOL(2.5, 0.01, feature_norm=100.0, per_coordinate=True))
    result = play(model, stream, Simplex().fit([0, 1, 2]), random_state=0)
    assert result.expected_target_loss.sum() <= result.regret_bound()
    sharp = model.set_params(optimizer__feature_norm=1e-3).fit(result.rounds.X, [0, 1] * (n // 2))
    with pytest.raises(GuaranteeError, match="Corollary 3 of PiSTOL needs a bound on the features"):
        sharp.certificate()


def test_pistol_classifiers_learn_every_weight_separately(rng):
    X, y = noisy_classes(rng, n=60, K=2)
    given = {"a": 2.5, "feature_norm": 40.0, "per_coordinate": True, "max_iter": 1}
    model = sk.PiSTOLClassifier(random_state=0, standardize=False, **given).fit(X, y)
    constants = model.certificate().constants
    assert (constants["outputs"], constants["features"]) == (1, X.shape[1] + 1)
    other = clone(model).set_params(per_coordinate=False).fit(X, y)
    assert np.abs(model.coef_ - other.coef_).max() > 0.01 * np.abs(other.coef_).max()
    with pytest.raises(ValueError, match="moves every feature by itself"):
        clone(model).set_params(kernel="rbf").fit(X, y)
    losses = progressive_validate(model, X, y).surrogate_loss
    assert losses.sum() <= model.fit(X, y).certificate().bound(60.0, 0.0)


class TestSquareLoss:
    @pytest.mark.parametrize("K", [2, 4])
    def test_bound_3_is_the_printed_formula(self, K, rng):
        X, y = noisy_classes(rng, n=60, K=K)
        model = sk.AveragedKernelSGDClassifier(
            loss="square", eta=0.2, average="uniform", max_iter=1, fit_intercept=False
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
            fit_intercept=False, standardize=False,
        ).fit(X, y)  # fmt: skip
        k = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
        beta, total = np.zeros(30), np.zeros(30)
        for t, v in enumerate(2.0 * y - 1.0):
            total += beta
            beta[t] = 0.2 * 2.0 * v * (1.0 - v * (k[t] @ beta))
        np.testing.assert_allclose(model.decision_function(X), k @ total / 30, rtol=1e-9)

    def test_bound_holds_for_labels_that_contradict_the_scores(self, rng):
        """And eta above 1/(4C²), other losses and those of PiSTOL are refused."""
        X = rng.randn(100, 3)
        model = sk.AveragedKernelSGDClassifier(
            "linear", loss="square", average=False, fit_intercept=False, standardize=False
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
        with pytest.raises(GuaranteeError, match=r"needs eta ≤ .*, got eta=5"):
            clone(model).set_params(eta=5.0, max_iter=1).fit(X[:5], y[:5]).certificate()
        with pytest.raises(GuaranteeError, match="No bound is known for loss='hinge'"):
            clone(model).set_params(loss="hinge").fit(X, y).certificate()


class TestPerceptrons:
    def test_bounds_are_those_of_the_papers(self, rng):
        X, y = noisy_classes(rng, n=60, K=3)
        kernel = sk.KernelPerceptronClassifier(max_iter=1, fit_intercept=False).fit(X, y)
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
            progressive_validate(sk.MulticlassPerceptron(), X, y).regret_bound()

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
            (2, sk.KernelPerceptronClassifier("linear", standardize=False, average=False)),
        ):
            model.set_params(fit_intercept=False)
            y = []
            for x in X:
                best = model.predict(x[None])[0] if y else 0
                y.append((best + 1) % K)
                model.partial_fit(x[None], y[-1:], classes=np.arange(K))
            certificate, y = model.certificate(), np.array(y)
            for size in (0.0, 0.1, 1.0, 5.0):
                means = np.array([X[y == k].mean(axis=0) for k in range(K)])
                U = size * (means - means.mean(axis=0))
                theta = X @ U.T
                if K == 2:
                    losses = np.maximum(1.0 - (2.0 * y - 1.0) * (theta[:, 1] - theta[:, 0]), 0.0)
                    norm = np.linalg.norm(U[1] - U[0])
                else:
                    losses, norm = hinges(theta, y), np.linalg.norm(U)
                assert len(y) <= certificate.bound(losses.sum(), norm)


class TestOnlineNewton:
    @pytest.mark.parametrize("K", [2, 3])
    def test_regret_is_that_of_the_proof(self, K, rng):
        """‖U‖²/(2γKB²) + Σ gᵀA⁻¹g/(2γ), from matrices that are inverted in every round."""
        X, y = noisy_classes(rng, n=60, K=K)
        X, B = X / 10.0, 0.7
        Z = np.c_[X, np.ones(60)]
        R, heaviest = np.linalg.norm(Z, axis=1).max(), WEIGHTS.max()
        gamma = 0.5 * min(1 / (4 * B * R), math.exp(-2 * B * R) / (K - 1)) / heaviest
        model = sk.OnlineNewtonClassifier(B=B, gamma=gamma, standardize=False, decoder="sampled")
        model.partial_fit(X, y, np.arange(K), sample_weight=WEIGHTS)
        p, W, potential = Z.shape[1], np.zeros((K, Z.shape[1])), 0.0
        A = np.eye(K * p) / (gamma**2 * K * B**2)
        for z, label, w in zip(Z, y, WEIGHTS, strict=True):
            assert np.abs(W @ z).max() <= B * np.linalg.norm(z)  # no projection is made here
            s = np.exp(W @ z - (W @ z).max())
            g = w * np.outer(s / s.sum() - np.eye(K)[label], z).ravel()
            A += np.outer(g, g)
            step = np.linalg.solve(A, g)
            potential += g @ step
            W -= step.reshape(K, p) / gamma
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
            B=B, R=1.0, gamma="theory", standardize=False, fit_intercept=False, decoder="sampled"
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
        with pytest.raises(GuaranteeError, match=r"need gamma ≤ .*, got gamma=0.1"):
            sk.OnlineNewtonClassifier().fit(X, y).certificate()
        model = sk.OnlineNewtonClassifier(gamma=1e-9, decoder="min_risk").fit(X, y)
        with pytest.raises(GuaranteeError, match="No theorem is stated for the decoder 'min_risk'"):
            model.certificate()


OUTSIDE = {
    "a ball": (predictor(optimizer=GradientDescent(radius=1.0)), 1.0),
    "adaptive": (predictor(optimizer=AdaptiveGradientDescent(2.0)), 1.0),
    "balls": (
        predictor(
            optimizer=StepMixture(
                others=(AdaptiveGradientDescent(2.0), AdaptiveGradientDescent(4.0))
            ),
            loss_scale=5.0,
        ),
        2.0,
    ),
    "folklore": (sk.FolkloreClassifier(B=0.5), 0.5),
    "folklore mixture": (sk.FolkloreClassifier(B=[0.5, 2.0]), 2.0),
    "newton": (sk.OnlineNewtonClassifier(B=0.25, gamma=1e-9), 0.25),
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
    balls = (AdaptiveGradientDescent(2.0), AdaptiveGradientDescent(4.0))
    model = predictor(optimizer=StepMixture(others=balls), loss_scale=5.0).fit(X, y)
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
        assert isinstance(certificate, Certificate)


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
