"""The cumulative target loss stays below the bounds, on every kind of stream."""

import math

import numpy as np
import pytest
from conftest import INTERPRETED
from pairs import space_of
from plain import predictor

from skstructured import GuaranteeError
from skstructured.evaluation import progressive_validate
from skstructured.evaluation.adversaries import LabelNoise
from skstructured.guarantees.certificates import CoinBettingCertificate
from skstructured.metrics import best_comparator, comparator_losses
from skstructured.optimizers import AdaptiveGradientDescent, GradientDescent, ParameterFree, PiSTOL

#: Parameters, those of validation, those of the bound, and why there is none.
REFUSED = [
    ({"decoder": "nearest"}, {}, {}, "randomized decoder, not Nearest"),
    ({}, {"batch_size": 5}, {}, "not batches of 5"),
    ({"optimizer": GradientDescent(eta=5.0)}, {}, {}, "step is too large"),
    ({"optimizer": GradientDescent(feature_norm=0.5)}, {}, {}, "exceeded feature_norm=0.5"),
    ({"loss_scale": 0.5}, {}, {}, "no surrogate gap"),
    ({"optimizer": "parameter_free", "loss_scale": 0.1}, {}, {}, "no surrogate gap"),
    ({}, {}, {"delta": 0.05}, 'eta="high_probability"'),
    ({"optimizer": "adaptive"}, {}, {"delta": 0.1}, "is about the expectation"),
    ({"optimizer": "parameter_free"}, {}, {"delta": 0.1}, "is about the expectation"),
    ({"optimizer": PiSTOL()}, {}, {}, r"needs a ≥ 2.25, got a=0.08"),
    ({"optimizer": PiSTOL(a=3.0)}, {}, {}, r"give feature_norm, at least"),
    ({"optimizer": PiSTOL(a=3.0, feature_norm=0.1)}, {}, {}, r"give feature_norm, at least"),
    ({"optimizer": PiSTOL(per_coordinate=True)}, {}, {}, r"needs a ≥ 2.25, got a=0.08"),
    ({"optimizer": PiSTOL(a=3.0, per_coordinate=True)}, {}, {}, r"give feature_norm, at least"),
]


@pytest.mark.filterwarnings("ignore:.*gap:skstructured.GuaranteeWarning")
@pytest.mark.parametrize(("parameters", "rounds", "given", "message"), REFUSED)
def test_configurations_without_a_theorem_say_so(parameters, rounds, given, message, rng):
    X, y = rng.randn(30, 3), rng.randint(3, size=30)
    result = progressive_validate(predictor(**parameters), X, y, **rounds)
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
        AdaptiveGradientDescent(1e-3),
        AdaptiveGradientDescent(2.0),
        GradientDescent(),
        GradientDescent(radius=0.01),
    ],
)
def test_the_comparator_of_any_certificate_makes_the_bound_small(optimizer, rng):
    for n, p, signal in ((20, 3, False), (44, 10, False), (400, 3, True)):
        X, y = rng.randn(n, p), rng.randint(3, size=n)
        y = np.where(signal & (X[:, 0] > 0.3), 2, y)
        y[:3] = range(3)
        result = progressive_validate(predictor(optimizer=optimizer), X, y)
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
    result = progressive_validate(predictor(), X, y)
    U = rng.randn(3, 4)
    C_sq = (np.linalg.norm(X, axis=1) ** 2 + 1).max()
    theorem_5_1 = C_sq * np.linalg.norm(U) ** 2 / (2 * (1 - math.log(2)) * math.log(2))
    comparator = result.comparator_loss(U).sum()
    assert result.regret_bound(U) == pytest.approx(comparator + theorem_5_1)
    assert result.surrogate_regret(U) == pytest.approx(
        result.expected_target_loss.sum() - comparator
    )
    certificate = result.estimator.certificate()
    assert certificate.constants["C"] == pytest.approx(math.sqrt(C_sq))
    assert certificate.constants["b"] == pytest.approx(2 * C_sq / math.log(2))
    assert certificate.theorem == "Theorem 4.2"
    optimizer = GradientDescent(eta="high_probability", feature_norm=10.0)
    result = progressive_validate(predictor(optimizer=optimizer), X, y)
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
    """bB²/(2a) for a ≤ ½ and 2(1 − a) b B² above, at most the printed 2(1 − a) b B²/a."""
    X, y = rng.randn(50, 3), rng.randint(3, size=50)
    model = predictor(optimizer=AdaptiveGradientDescent(5.0), loss_scale=c)
    certificate, C_sq = model.fit(X, y).certificate(), (X**2).sum(axis=1).max() + 1.0
    a, b = 1 - 1 / c, 2 * c * C_sq
    assert certificate.theorem == "Theorem E.1"
    wanted = b * 25.0 / (2 * a) if c <= 2.0 else 2 * (1 - a) * b * 25.0
    assert certificate.regret(1.0) == pytest.approx(wanted)
    assert certificate.regret(1.0) <= 2 * (1 - a) * b * 25.0 / a


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
        return comparator_losses(model.loss_, W, *world).mean()

    for t in range(n):
        risks.append(risk(model.last_weights_))
        model.learn(rounds, [t])
    least = risk(best_comparator(model.loss_, *world, 1e-3))
    for of in (0.0, least):
        assert risk(model.average_weights_) - of <= factor * (np.mean(risks) - of)
        assert risk(model.last_weights_) - of > 4.0 * (np.mean(risks) - of)


def test_regret_of_pistol_is_the_printed_formula(rng):
    X, y = rng.randn(50, 3), rng.randint(3, size=50)
    optimizer = PiSTOL(a=2.25, b=2.0, feature_norm=10.0)
    model = predictor(optimizer=optimizer)
    result = progressive_validate(model, X, y)
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
    certificate = CoinBettingCertificate(constants | {"wealth": 2.0})
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
    model = predictor(optimizer=optimizer, loss_scale=c).fit(X, y)
    certificate, a = model.certificate(0.05), 1 - 1 / c
    k = certificate.constants
    factor = 1.0 if c <= 2.0 else 1.0 / (1 - a / 2)
    wanted = factor * (1 - a) * k["b"] * 9.0 / a + k["gamma"] * k["D"] * math.log(20) / a
    assert certificate.regret(3.0) == pytest.approx(wanted)
    # Never less than twice the expected regret with this step, which the proof's last step adds up.
    expected = (1 - a) / (1 - a / 2) * k["b"] * 9.0 / (2 * a)
    if c > 2.0:
        assert certificate.regret(3.0) >= 2 * expected
