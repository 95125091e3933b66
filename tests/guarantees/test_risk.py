"""Certificates for new rows: as the definition, kept as often as they say, and no wider."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from conftest import INTERPRETED
from naive import risk_bounds
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstructured import (
    BanditGaptronClassifier,
    GuaranteeError,
    OnlineStructuredPredictor,
    RiskMonitor,
    SecondOrderPerceptron,
)
from skstructured.evaluation import progressive_validate
from skstructured.evaluation.adversaries import GreedyAdversary, LabelNoise, play
from skstructured.guarantees.risk import fewest_losses, path, risk_bound, risk_curve
from skstructured.spaces import Simplex

risks_may_rise = pytest.mark.filterwarnings("ignore:The :skstructured.GuaranteeWarning")
slow_if_interpreted = pytest.mark.skipif(INTERPRETED, reason="many rounds")

_RNG = np.random.RandomState(7)
LOSSES = {
    "uniform": _RNG.random_sample(120),
    "mistakes": (_RNG.random_sample(150) < 0.2).astype(float),
    "one": np.array([0.3]),
    "never": np.zeros(80),
    "always": np.ones(80),
    "half": np.full(80, 0.5),
    "from none to all": np.repeat([0.0, 1.0], 60),
    "there and back": np.arange(100) % 2.0,
    "tiny": np.full(60, 1e-300),
    "wild": np.clip(np.exp(3.0 * _RNG.randn(100) - 4.0), 0.0, 1.0),
}
DELTAS = (0.05, 0.2, 0.999, 1e-12, 5e-324, 1.0 - 2.0**-53)


def learner(**parameters):
    given = {"optimizer": "parameter_free", "average": False, "max_iter": 1, "shuffle": False}
    return OnlineStructuredPredictor(**given | parameters)


def stream(rng, n=150):
    X = rng.randn(n, 3)
    y = np.argmax(X + 0.5 * rng.randn(n, 3), axis=1)
    y[:3] = 0, 1, 2
    return X, y


class TestTheFormula:
    @risks_may_rise
    @pytest.mark.parametrize("name", LOSSES)
    @pytest.mark.parametrize("delta", DELTAS)
    def test_is_the_literal_one(self, name, delta):
        losses = LOSSES[name]
        for horizon in (None, len(losses)):
            weights, bounds = path(losses, delta, horizon or 0)
            wanted_weights, wanted = risk_bounds(losses.tolist(), delta, horizon)
            np.testing.assert_allclose(weights, wanted_weights, rtol=1e-11)
            np.testing.assert_allclose(bounds, wanted, rtol=1e-11)
        assert risk_bound(losses, delta) == bounds[-1]
        assert np.all((weights > 0.0) & (weights <= 0.75))

    def test_weights_are_known_before_their_round(self, rng):
        losses = rng.random_sample(60)
        for t in (0, 1, 30, 59):
            changed = losses.copy()
            changed[t:] = rng.random_sample(60 - t)
            for horizon in (0, 60):
                before, after = path(losses, 0.05, horizon), path(changed, 0.05, horizon)
                np.testing.assert_array_equal(before[0][: t + 1], after[0][: t + 1])
                assert before[1][t] != after[1][t] or before[1][t] == 1.0

    def test_fewest_losses_is_where_a_bound_may_begin(self):
        for delta in (0.2, 0.05, 1e-6):
            n = fewest_losses(delta)
            assert risk_bound(np.zeros(n - 1), delta) == 1.0
            assert risk_bound(np.zeros(n + 2), delta) < 1.0


class TestRiskMonitor:
    @risks_may_rise
    @pytest.mark.parametrize("name", LOSSES)
    def test_chunks_of_any_size_give_the_same_bits(self, name, rng):
        losses = LOSSES[name]
        whole, single, chunks = (RiskMonitor(0.1) for _ in range(3))
        whole.update(losses)
        for loss in losses:
            single.update(float(loss))
        cuts = np.sort(rng.randint(len(losses) + 1, size=9))
        for chunk in np.split(losses, cuts):  # some are empty
            chunks.update(list(chunk))
        for monitor in (single, chunks):
            np.testing.assert_array_equal(monitor._runs[0].sums, whole._runs[0].sums)
            assert monitor.bound_ == whole.bound_ == risk_curve(losses, 0.1)[-1]
        assert whole.n_ == len(losses)
        assert whole.mean_ == pytest.approx(losses.mean(), abs=1e-12)
        weights = path(losses, 0.1)[0]
        assert whole.weighted_mean_ == pytest.approx(np.average(losses, weights=weights))
        assert whole.weighted_mean_ <= whole.bound_ <= 1.0

    def test_before_and_without_losses(self):
        monitor = RiskMonitor()
        for name in ("bound_", "mean_", "weighted_mean_", "n_"):
            assert not hasattr(monitor, name)
        with pytest.raises(NotFittedError, match="has seen no losses"):
            _ = monitor.bound_
        assert (monitor.update([]).bound_, monitor.n_) == (1.0, 0)
        assert np.isnan(monitor.mean_) and np.isnan(monitor.weighted_mean_)

    def test_is_an_estimator(self, rng):
        losses = rng.random_sample(50)
        monitor = RiskMonitor(delta=0.1).update(losses[:20])
        assert repr(monitor) == "RiskMonitor(delta=0.1)"
        assert monitor.get_params() == {"delta": 0.1, "window": None}
        assert not hasattr(clone(monitor), "n_")
        again = pickle.loads(pickle.dumps(monitor)).update(losses[20:])
        assert monitor.n_ == 20
        assert again.bound_ == RiskMonitor(0.1).update(losses).bound_

    def test_whole_numbers_and_truths_are_losses(self):
        truths = np.array([True, False, True])
        for losses in (truths, truths.astype(np.int8), [1, 0, 1], truths.astype(np.float16)):
            assert RiskMonitor().update(losses).mean_ == pytest.approx(2 / 3)

    def test_bad_losses_are_named_and_change_nothing(self):
        monitor = RiskMonitor().update([0.5, 0.1])
        before = monitor._runs[0].sums.copy()
        for bad, where in (
            ([0.1, 0.2, 1.5, -1.0], r"losses\[2\] must lie in \[0, 1\], got 1\.5"),
            ([0.1, np.nan], r"losses\[1\] must lie in \[0, 1\], got nan"),
            (-1e-9, r"losses must lie in \[0, 1\], got -1e-09"),
            ([np.inf], r"losses\[0\] must lie in \[0, 1\], got inf"),
            ([[0.1]], r"vector of numbers, got an array of float64 of shape \(1, 1\)"),
            (["0.1"], "losses must be a number or a vector of numbers"),
            (None, "losses must be a number or a vector of numbers"),
            ([0.1, 1j], "losses must be a number or a vector of numbers"),
        ):
            with pytest.raises(ValueError, match=where):
                monitor.update(bad)
        np.testing.assert_array_equal(monitor._runs[0].sums, before)
        with pytest.raises(ValueError, match="losses must hold one loss or more"):
            risk_bound([])

    @pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, np.nan, "0.1", None, True])
    def test_bad_deltas_are_named(self, delta):
        with pytest.raises(ValueError, match=r"delta must lie in \(0, 1\), got"):
            RiskMonitor(delta).update(0.5)
        with pytest.raises(ValueError, match=r"delta must lie in \(0, 1\), got"):
            risk_bound([0.5], delta)

    def test_delta_is_chosen_before_the_losses(self):
        monitor = RiskMonitor().update(0.5).set_params(delta=0.2)
        with pytest.raises(ValueError, match=r"delta must stay as it was .* 0\.05, got 0\.2"):
            monitor.update(0.5)
        assert monitor.n_ == 1


def _mistakes(rng, risks):
    return (rng.random_sample(risks.shape) < risks).astype(float), risks


def falling(rng, n, T):
    return _mistakes(rng, np.broadcast_to(0.1 + 0.6 / np.sqrt(1.0 + np.arange(T)), (n, T)))


def rare(rng, n, T):
    return _mistakes(rng, np.full((n, T), 20.0 / T))


def constant(rng, n, T):
    return np.full((n, T), 0.4), np.full((n, T), 0.4)


def uniform(rng, n, T):
    return rng.random_sample((n, T)), np.full((n, T), 0.5)


def reacting(rng, n, T):
    """A learner whose risk rises where it was lucky: rows are i.i.d., risks are random."""
    losses, risks, total = np.empty((n, T)), np.empty((n, T)), np.zeros(n)
    for t in range(T):
        risks[:, t] = np.where(total < 0.3 * t, 0.5, 0.1)
        losses[:, t] = rng.random_sample(n) < risks[:, t]
        total += losses[:, t]
    return losses, risks


def violations(losses, risks, delta, horizon, share=1.0):
    """How often the mean risk was ever above the bound, its width multiplied by `share`."""
    failed = 0
    for L, R in zip(losses, risks, strict=True):
        weights, bounds = path(L, delta, horizon)
        total = np.cumsum(weights)
        mean, risk = np.cumsum(weights * L) / total, np.cumsum(weights * R) / total
        failed += np.any(risk > mean + share * (bounds - mean) + 1e-12)
    return failed / len(losses)


def most(delta, n):
    """What a probability of delta shows in n repeats, up to three standard deviations."""
    return delta + 3.0 * np.sqrt(delta * (1.0 - delta) / n)


@slow_if_interpreted
class TestCoverage:
    @pytest.mark.parametrize("draw", [falling, rare, constant, uniform, reacting])
    def test_bounds_fail_no_more_often_than_they_say(self, draw):
        n, T = 2000, 600
        losses, risks = draw(np.random.RandomState(1), n, T)
        for delta in (0.05, 0.2):
            for horizon in (0, T):
                assert violations(losses, risks, delta, horizon) <= most(delta, n)

    @pytest.mark.parametrize(
        ("seed", "delta", "horizon", "share"), [(2, 0.05, 1000, 0.9), (3, 0.01, 0, 0.8)]
    )
    def test_a_tenth_or_at_any_time_a_fifth_narrower_they_fail_too_often(
        self, seed, delta, horizon, share
    ):
        n = 8000
        losses, risks = rare(np.random.RandomState(seed), n, 1000)
        assert violations(losses, risks, delta, horizon) <= most(delta, n)
        assert violations(losses, risks, delta, horizon, share=share) > most(delta, n)

    def test_they_are_about_as_wide_as_measured(self):
        losses = np.random.RandomState(4).random_sample(2000) < 0.3
        assert 0.015 < risk_bound(losses) - losses.mean() < 0.03
        assert 0.015 < RiskMonitor().update(losses).bound_ - losses.mean() < 0.06


class TestWhatIsPlayed:
    def test_other_averages_are_taken_anew_now_and_then(self, rng):
        X, y = stream(rng, 300)
        given = learner(average="polynomial", optimizer="adagrad")
        expected = progressive_validate(given, X, y, play="average").expected_target_loss
        model, start = clone(given).partial_fit(X[:1], y[:1], classes=[0, 1, 2]), 1
        while start < 300:
            rows = slice(start, min(start + max(1, start // 64), 300))
            wanted = model.expected_target_loss(X[rows], y[rows])
            np.testing.assert_allclose(expected[rows], wanted, atol=1e-12)
            model.partial_fit(X[rows], y[rows])
            start = rows.stop

    def test_other_learners_play_their_last_weights(self, rng):
        X, y = stream(rng, 60)
        runs = [
            progressive_validate(SecondOrderPerceptron(), X, y, play=play)
            for play in ("iterates", "last")
        ]
        np.testing.assert_array_equal(*(run.target_loss for run in runs))

    def test_bad_plays_are_named(self, rng):
        X, y = stream(rng, 30)
        with pytest.raises(ValueError, match="play must be one of 'iterates', 'last', 'average'"):
            progressive_validate(learner(), X, y, play="best")
        bandit = BanditGaptronClassifier(radius=1.0, random_state=0)
        for model in (learner(), SecondOrderPerceptron(), bandit):
            with pytest.raises(ValueError, match="play='average' needs a learner with a"):
                progressive_validate(model, X, y, play="average")

    @pytest.mark.parametrize("play", ["last", "average"])
    def test_regret_bounds_are_about_iterates_only(self, play, rng):
        X, y = stream(rng, 30)
        model = learner(optimizer="ogd", average="polynomial")
        result = progressive_validate(model, X, y, play=play)
        with pytest.raises(GuaranteeError, match=f"not play='{play}'"):
            result.regret_bound()
        assert progressive_validate(model, X, y).regret_bound() > 0.0


class TestCertificates:
    @pytest.mark.parametrize("play", ["iterates", "last", "average"])
    @pytest.mark.parametrize("average", ["polynomial", "uniform"])
    def test_are_about_the_last_losses(self, play, average, rng):
        X, y = stream(rng)
        result = progressive_validate(learner(average=average), X, y, play=play)
        losses = result.expected_target_loss.tolist()
        for last, kept in ((0.5, 75), (1.0, 150), (1, 150), (0.1, 15)):
            wanted = risk_bounds(losses[-kept:], 0.1, kept)[1][-1]
            assert result.risk_bound(0.1, last) == pytest.approx(wanted, rel=1e-12)
        assert type(result.risk_bound()) is float
        wanted = risk_bounds(losses, 0.05)[1]
        np.testing.assert_allclose(result.risk_curve(), wanted, rtol=1e-12)

    def test_batches_bandits_and_fitted_steps_are_certified(self, rng):
        X, y = stream(rng, 400)
        bandit = BanditGaptronClassifier(radius=1.0, random_state=0)
        scaled = make_pipeline(StandardScaler().fit(X[:200]), "passthrough", learner())
        for model, given in ((learner(), {"batch_size": 50}), (bandit, {}), (scaled, {})):
            result = progressive_validate(model, X[200:], y[200:], random_state=0, **given)
            wanted = risk_bound(result.expected_target_loss[100:])
            assert result.risk_bound() == wanted < 1.0

    def test_dependent_rows_are_refused(self, rng):
        X, y = stream(rng)
        result = progressive_validate(make_pipeline(StandardScaler(), learner()), X, y)
        with pytest.raises(GuaranteeError, match="step 'standardscaler' .* saw 256 rows"):
            result.risk_bound()
        space = Simplex().fit([0, 1, 2])
        for adversary in (LabelNoise(40, random_state=0), GreedyAdversary(40, random_state=0)):
            result = play(learner(), adversary, space)
            for certify in (result.risk_bound, result.risk_curve):
                with pytest.raises(GuaranteeError, match=f"{type(adversary).__name__} made these"):
                    certify()

    def test_weights_and_losses_that_are_no_shares_are_refused(self, rng):
        X, y = stream(rng)
        result = progressive_validate(learner(), X, y)
        weighted = result.rounds._replace(weight=1.0 + np.arange(150))
        with pytest.raises(GuaranteeError, match="rounds with sample weights"):
            replace(result, rounds=weighted).risk_bound()
        for bad in (1.5, -0.1, np.nan):
            losses = np.where(np.arange(150) == 3, bad, result.expected_target_loss)
            with pytest.raises(GuaranteeError, match=r"target losses in \[0, 1\] only"):
                replace(result, expected_target_loss=losses).risk_bound()
        rounded = np.where(result.expected_target_loss > 0.5, 1.0 + 1e-15, -1e-17)
        assert replace(result, expected_target_loss=rounded).risk_bound() <= 1.0

    def test_too_few_rounds_and_bad_shares_are_named(self, rng):
        X, y = stream(rng, 7)
        result = progressive_validate(learner(), X, y)
        with pytest.raises(GuaranteeError, match=r"needs at least 4 rounds, got 2: the last 0\.3"):
            result.risk_bound(last=0.3)
        for last in (0.0, 1.1, -1, np.nan, None, "all", True):
            with pytest.raises(GuaranteeError, match=r"last must be a share in \(0, 1\], got"):
                result.risk_bound(last=last)
        with pytest.raises(ValueError, match=r"delta must lie in \(0, 1\), got 0"):
            result.risk_bound(delta=0)
