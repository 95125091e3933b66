"""Certificates for new rows and risks that rise: as defined, kept as often as they say."""

import pickle
import threading
import warnings
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from conftest import INTERPRETED
from naive import rises, risk_bounds
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skstructured as sk
from benchmarks.adversaries import GreedyAdversary, LabelNoise, play
from skstructured.evaluation import progressive_validate
from skstructured.guarantees import risk as risk_module
from skstructured.guarantees.rises import (
    N_RISE_LEVELS,
    RISE_EVIDENCE,
    RiseTest,
    fitting_weights,
    rise_found,
)
from skstructured.guarantees.risk import OrderTest, fewest_losses, path
from skstructured.streaming import array_chunks

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
    return sk.OnlineStructuredPredictor(**given | parameters)


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
        assert sk.guarantees.risk_bound(losses, delta) == bounds[-1]
        assert np.all((weights > 0.0) & (weights <= 0.75))

    def test_fewest_losses_is_where_a_bound_may_begin(self):
        for delta in (0.2, 0.05, 1e-6):
            n = fewest_losses(delta)
            assert sk.guarantees.risk_bound(np.zeros(n - 1), delta) == 1.0
            assert sk.guarantees.risk_bound(np.zeros(n + 2), delta) < 1.0


class TestRiskMonitor:
    @risks_may_rise
    @pytest.mark.parametrize("name", LOSSES)
    def test_chunks_of_any_size_give_the_same_bits(self, name, rng):
        losses = LOSSES[name]
        whole, single, chunks = (sk.RiskMonitor(0.1, latch=True) for _ in range(3))
        whole.update(losses)
        for loss in losses:
            single.update(float(loss))
        cuts = np.sort(rng.randint(len(losses) + 1, size=9))
        for chunk in np.split(losses, cuts):  # some are empty
            chunks.update(list(chunk))
        for monitor in (single, chunks):
            np.testing.assert_array_equal(monitor._runs[0].sums, whole._runs[0].sums)
            assert monitor.bound_ == whole.bound_
        bound = sk.guarantees.risk_curve(losses, 0.1)[-1]
        assert whole.bound_ == max(bound, whole.mean_)
        assert whole.n_ == len(losses)
        assert whole.mean_ == pytest.approx(losses.mean(), abs=1e-12)
        weights = path(losses, 0.1)[0]
        assert whole.weighted_mean_ == pytest.approx(np.average(losses, weights=weights))
        assert whole.weighted_mean_ <= whole.bound_ <= 1.0 + 1e-12

    def test_before_and_without_losses(self):
        monitor = sk.RiskMonitor()
        for name in ("bound_", "mean_", "weighted_mean_", "n_"):
            assert not hasattr(monitor, name)
        with pytest.raises(NotFittedError, match="has seen no losses"):
            _ = monitor.bound_
        assert (monitor.update([]).bound_, monitor.n_) == (1.0, 0)
        assert np.isnan(monitor.mean_) and np.isnan(monitor.weighted_mean_)

    def test_is_an_estimator(self, rng):
        losses = rng.random_sample(50)
        monitor = sk.RiskMonitor(delta=0.1).update(losses[:20])
        assert repr(monitor) == "RiskMonitor(delta=0.1)"
        assert monitor.get_params() == {
            "delta": 0.1,
            "latch": False,
            "run_length": 30_000,
            "window": None,
        }
        assert not hasattr(clone(monitor), "n_")
        again = pickle.loads(pickle.dumps(monitor)).update(losses[20:])
        assert monitor.n_ == 20
        assert again.bound_ == sk.RiskMonitor(0.1).update(losses).bound_

    @pytest.mark.parametrize(
        ("name", "bad", "message"),
        [
            *(
                ("delta", bad, r"lie in \(0, 1\), got")
                for bad in (0.0, 1.0, -0.1, np.nan, "0.1", None, True)
            ),
            *(
                (name, bad, "be")
                for name in ("window", "run_length")
                for bad in (0, -1, 2.5, "all", True)
            ),
        ],
    )
    def test_bad_parameters_are_named(self, name, bad, message):
        with pytest.raises(ValueError, match=f"{name} must {message}"):
            sk.RiskMonitor(**{name: bad}).update(0.5)
        if name == "delta":
            with pytest.raises(ValueError, match=f"{name} must {message}"):
                sk.guarantees.risk_bound([0.5], bad)

    @pytest.mark.parametrize(
        ("name", "other", "message"),
        [("delta", 0.2, r"0\.05, got 0\.2"), ("window", 6, "5, got 6")],
    )
    def test_parameters_are_chosen_before_the_losses(self, name, other, message):
        monitor = sk.RiskMonitor(window=5).update(0.5).set_params(**{name: other})
        with pytest.raises(
            ValueError, match=f"{name} must not change after the first losses: .* {message}"
        ):
            monitor.update(0.5)
        assert monitor.n_ == 1

    def test_whole_numbers_and_truths_are_losses(self):
        truths = np.array([True, False, True])
        for losses in (truths, truths.astype(np.int8), [1, 0, 1], truths.astype(np.float16)):
            assert sk.RiskMonitor().update(losses).mean_ == pytest.approx(2 / 3)

    def test_bad_losses_are_named_and_change_nothing(self):
        monitor = sk.RiskMonitor().update([0.5, 0.1])
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
        with pytest.raises(ValueError, match="losses must have one loss or more"):
            sk.guarantees.risk_bound([])


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


def violations(losses, risks, delta, horizon, shares=(1.0,)):
    """How often the mean risk was ever above the bound, its width multiplied by each share."""
    failed = np.zeros(len(shares))
    for L, R in zip(losses, risks, strict=True):
        weights, bounds = path(L, delta, horizon)
        total = np.cumsum(weights)
        mean, risk = np.cumsum(weights * L) / total, np.cumsum(weights * R) / total
        failed += [np.any(risk > mean + share * (bounds - mean) + 1e-12) for share in shares]
    return failed / len(losses)


def most(delta, n):
    """What a probability of delta shows in n repeats, up to three standard deviations."""
    return delta + 3.0 * np.sqrt(delta * (1.0 - delta) / n)


@slow_if_interpreted
class TestCoverage:
    @pytest.mark.parametrize("draw", [falling, rare, constant, uniform, reacting])
    def test_bounds_fail_no_more_often_than_they_say(self, draw):
        n, T = 1000, 600
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
        whole, narrower = violations(losses, risks, delta, horizon, (1.0, share))
        assert whole <= most(delta, n) < narrower

    def test_they_are_about_as_wide_as_measured(self):
        losses = np.random.RandomState(4).random_sample(2000) < 0.3
        assert 0.015 < sk.guarantees.risk_bound(losses) - losses.mean() < 0.03
        assert 0.015 < sk.RiskMonitor().update(losses).bound_ - losses.mean() < 0.06


class TestWhatIsPlayed:
    def test_other_learners_play_their_last_weights(self, rng):
        X, y = stream(rng, 60)
        runs = [
            progressive_validate(sk.SecondOrderPerceptron(), X, y, play=play)
            for play in ("predict", "randomized")
        ]
        np.testing.assert_array_equal(*(run.target_loss for run in runs))

    def test_bad_plays_are_named(self, rng):
        X, y = stream(rng, 30)
        with pytest.raises(ValueError, match="play must be one of 'predict', 'randomized'"):
            progressive_validate(learner(), X, y, play="best")

    def test_regret_bounds_are_about_what_is_drawn(self, rng):
        X, y = stream(rng, 30)
        model = learner(optimizer="ogd", average="polynomial")
        result = progressive_validate(model, X, y)
        with pytest.raises(sk.GuaranteeError, match="require play='randomized'; .* play='predict'"):
            result.regret_bound()
        assert progressive_validate(model, X, y, play="randomized").regret_bound() > 0.0


class TestCertificates:
    @pytest.mark.parametrize("play", ["predict", "randomized"])
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
        bandit = sk.BanditGaptronClassifier(radius=1.0, random_state=0)
        scaled = make_pipeline(StandardScaler().fit(X[:200]), "passthrough", learner())
        for model, given in ((learner(), {"batch_size": 50}), (bandit, {}), (scaled, {})):
            result = progressive_validate(
                model, X[200:], y[200:], random_state=0, **given, play="randomized"
            )
            wanted = sk.guarantees.risk_bound(result.expected_target_loss[100:])
            assert result.risk_bound() == wanted < 1.0

    def test_dependent_rows_are_refused(self, rng):
        X, y = stream(rng)
        result = progressive_validate(
            make_pipeline(StandardScaler(), learner()), X, y, play="randomized"
        )
        with pytest.raises(
            sk.GuaranteeError, match="step 'standardscaler' .* updated with 256 rows"
        ):
            result.risk_bound()
        space = sk.spaces.Simplex().fit([0, 1, 2])
        for adversary in (LabelNoise(40, random_state=0), GreedyAdversary(40, random_state=0)):
            result = play(learner(), adversary, space)
            for certify in (result.risk_bound, result.risk_curve):
                with pytest.raises(
                    sk.GuaranteeError, match=f"{type(adversary).__name__} made these"
                ):
                    certify()

    def test_weights_and_losses_that_are_no_shares_are_refused(self, rng):
        X, y = stream(rng)
        result = progressive_validate(learner(), X, y, play="randomized")
        weighted = result.rounds._replace(weight=1.0 + np.arange(150))
        with pytest.raises(sk.GuaranteeError, match="rounds with sample weights"):
            replace(result, rounds=weighted).risk_bound()
        for bad in (1.5, -0.1, np.nan):
            losses = np.where(np.arange(150) == 3, bad, result.expected_target_loss)
            with pytest.raises(sk.GuaranteeError, match=r"target losses in \[0, 1\] only"):
                replace(result, expected_target_loss=losses).risk_bound()
        rounded = np.where(result.expected_target_loss > 0.5, 1.0 + 1e-15, -1e-17)
        assert replace(result, expected_target_loss=rounded).risk_bound() <= 1.0

    def test_too_few_rounds_and_bad_shares_are_named(self, rng):
        X, y = stream(rng, 7)
        result = progressive_validate(learner(), X, y, play="randomized")
        with pytest.raises(
            sk.GuaranteeError, match=r"needs at least 4 rounds, got 2: the last 0\.3"
        ):
            result.risk_bound(last=0.3)
        for last in (0.0, 1.1, -1, np.nan, None, "all", True):
            with pytest.raises(sk.GuaranteeError, match=r"last must be a share in \(0, 1\], got"):
                result.risk_bound(last=last)
        with pytest.raises(ValueError, match=r"delta must lie in \(0, 1\), got 0"):
            result.risk_bound(delta=0)


def drifting(before=1500, after=1500, low=0.1, high=0.6, seed=0):
    rng = np.random.RandomState(seed)
    return np.r_[rng.rand(before) < low, rng.rand(after) < high].astype(float)


STREAMS = {
    "still": drifting(100, 0),
    "one rise": drifting(80, 60, 0.05, 0.9),
    "two rises": np.r_[drifting(100, 300, 0.0, 0.5), np.ones(120)],
    "a fall": drifting(80, 80, 0.9, 0.1),
    "shares": np.clip(np.r_[np.full(70, 0.1), np.full(50, 0.9)] + 0.05, 0.0, 1.0),
    "none to all": np.repeat([0.0, 1.0], 50),
    "a fall and a rise": np.r_[drifting(120, 200, 0.9, 0.02), drifting(0, 30, high=0.9)],
    "slowly": (np.random.RandomState(0).rand(300) < np.linspace(0.0, 0.6, 300)).astype(float),
}


class TestTheTest:
    @pytest.mark.parametrize("name", STREAMS)
    @pytest.mark.parametrize(("delta", "run_length"), [(0.5, None), (0.05, None), (0.5, 200)])
    def test_is_the_literal_one_in_chunks_of_any_size(self, name, delta, run_length):
        losses = STREAMS[name]
        wanted = rises(losses.tolist(), delta, run_length)
        whole, single, chunks = (RiseTest(delta, run_length) for _ in range(3))
        assert whole.update(losses) == wanted
        assert [t for t, loss in enumerate(losses, 1) if single.update(np.array([loss]))] == wanted
        for chunk in np.split(losses, [3, 4, 50, 90, 91]):
            chunks.update(chunk)
        for test in (single, chunks):
            assert (test.n, test.n_rises) == (len(losses), len(wanted))
            assert test.found_at == (wanted[-1] if wanted else None)
            for array in ("_bets", "_sums", "_levels", "_gates", "_stakes", "_starts"):
                np.testing.assert_array_equal(getattr(test, array), getattr(whole, array))

    def test_they_ring_in_these_streams(self):
        """Otherwise the comparison above compares little."""
        alarms = {name: len(RiseTest(0.5, 200).update(L)) for name, L in STREAMS.items()}
        assert alarms["two rises"] == 2 and alarms["still"] == alarms["a fall"] == 0
        assert min(alarms[name] for name in ("one rise", "none to all", "a fall and a rise")) == 1

    @pytest.mark.parametrize("run_length", [None, 300])
    def test_the_bets_that_start_make_delta(self, run_length, rng):
        """Read from what every round starts: delta in all, or per run length."""
        test, total = RiseTest(0.3, run_length), 0.0
        for loss in rng.random_sample(3000) < np.repeat([0.5, 0.02, 0.9], 1000):
            total += test._starts.sum() / N_RISE_LEVELS
            test.update(np.array([float(loss)]))
        assert test.n_rises == 1
        limit = 0.3 if run_length is None else 0.3 * 3000 / run_length
        assert (0.6 if run_length else 0.35) * limit < total <= limit * (1.0 + 1e-9)

    def test_bets_neither_win_nor_lose_if_the_risk_is_the_level(self):
        """The mean of what they are worth after a loss, over both values, is what was bet."""
        test = RiseTest(0.01)
        for loss in drifting(60, 15, 0.02, 0.3):
            bets = test._bets.sum(axis=0) + test._starts
            after = [deepcopy(test) for _ in range(2)]
            for value, one in enumerate(after):
                assert one.update(np.array([float(value)])) == []
            if np.all([one._slot == test._slot for one in after]) and np.any(test._gates > 0.0):
                risk, worth = test._levels, [one._bets.sum(axis=0) for one in after]
                mean = (1.0 - risk) * worth[0] + risk * worth[1]
                np.testing.assert_allclose(mean, bets, rtol=1e-9)
            test.update(np.array([loss]))
        assert np.min(test._levels) < 0.5

    @pytest.mark.slow
    def test_levels_are_exceeded_as_rarely_as_their_evidence_says(self):
        """Over all λ together, evidence e is against the true risk with probability l exp(−e)."""
        rng, n = np.random.RandomState(6), 3000
        for risk in (0.02, 0.2, 0.7):
            exceeded = np.zeros(len(RISE_EVIDENCE))
            for losses in (rng.random_sample((n, 500)) < risk).astype(float):
                test = RiseTest(0.05)
                test.update(losses)
                base = test._slot * N_RISE_LEVELS
                exceeded += test._levels[base : base + len(RISE_EVIDENCE)] < risk
            values = len(fitting_weights(test._earlier))
            for share, evidence in zip(exceeded / n, RISE_EVIDENCE, strict=True):
                assert share <= most(min(1.0, values * np.exp(-evidence)), n)

    @slow_if_interpreted
    @pytest.mark.exhaustive
    @pytest.mark.parametrize("delta", [0.05, pytest.param(0.5, marks=pytest.mark.slow)])
    def test_risks_that_do_not_rise_raise_no_more_alarms_than_delta(self, delta):
        n, T = 400, 2000
        rng = np.random.RandomState(5)
        risks = {f"risk {p}": np.full(T, p) for p in (0.0, 0.01, 0.1, 0.3, 0.5, 1.0)}
        risks["falls"] = np.repeat([0.6, 0.3, 0.05], [200, 300, T - 500])
        risks["falls slowly"] = 0.05 + 0.6 / np.sqrt(1.0 + np.arange(T))
        for name, risk in risks.items():
            mistakes = (rng.random_sample((n, T)) < risk).astype(float)
            shares = np.clip(risk + 0.1 * np.minimum(risk, 1.0 - risk) * rng.randn(n, T), 0.0, 1.0)
            for kind in (mistakes, shares):
                alarms = np.mean([rise_found(losses, delta) is not None for losses in kind])
                assert alarms <= most(delta, n), name

    @slow_if_interpreted
    def test_a_learner_that_improves_after_mistakes_raises_no_more_alarms_than_delta(self):
        """Its risk depends on its past: each mistake at 0.5 lowers it, as long as it has rows."""
        rng, n = np.random.RandomState(8), 400
        alarms = 0
        for _ in range(n):
            losses, risk = np.empty(1500), 0.5
            for t, u in enumerate(rng.random_sample(1500)):
                losses[t] = u < risk
                risk *= 0.99 if losses[t] else 1.0
            alarms += rise_found(losses, 0.5) is not None
        assert alarms <= n * most(0.5, n)

    @slow_if_interpreted
    def test_constant_losses_raise_no_alarm_however_many(self):
        for loss in (0.0, 1e-300, 0.1, 0.4, 1.0):
            assert rise_found(np.full(200_000, loss), 0.05) is None
        for delta in (5e-324, 1e-12, 1.0 - 2.0**-53):
            assert rise_found(np.full(2000, 0.4), delta) is None

    @slow_if_interpreted
    def test_rises_are_found_soon(self):
        """Rows until most of 100 streams have an alarm, also after the risk fell."""
        rng = np.random.RandomState(7)
        for parts, delay in (
            (((0.07, 3000), (0.13, 1000)), 680),
            (((0.07, 1000), (0.13, 3000)), 1780),
            (((0.1, 5000), (0.2, 2000)), 280),
            (((0.3, 4000), (0.4, 2000)), 620),
            (((0.1, 4000), (0.6, 1000)), 30),
            (((0.0, 1000), (0.2, 1000)), 40),
            (((0.4, 300), (0.05, 3000), (0.1, 3000)), 740),
            (((0.2, 5000), (0.05, 5000), (0.15, 1000)), 220),
        ):
            risk = np.concatenate([np.full(n, p) for p, n in parts])
            start = len(risk) - parts[-1][1]
            delays = []
            for losses in (rng.random_sample((100, len(risk))) < risk).astype(float):
                alarms = RiseTest(0.05, 15_000).update(losses)
                delays.append(min([t - start for t in alarms if t > start], default=np.inf))
            assert np.median(delays) <= delay, parts


class TestMonitor:
    def test_every_rise_is_warned_of_once(self):
        losses, monitor = np.tile(drifting(3000, 2000, 0.05, 0.3), 2), sk.RiskMonitor()
        places = RiseTest(0.05, 30_000).update(losses)
        assert len(places) == 2 and 3000 < places[0] < 3200 and 8000 < places[1] < 8200
        changed = []
        for start in range(0, 10_000, 100):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                monitor.update(losses[start : start + 100])
            assert bool(caught) == monitor.changed_
            if caught:
                place = places[len(changed)]
                assert f"The risk increased; this was detected after {place} losses" in str(
                    caught[0].message
                )
                assert (monitor.last_change_, monitor.n_changes_) == (place, len(changed) + 1)
                changed.append(monitor.n_)
        assert changed == [100 * -(-place // 100) for place in places]

    @risks_may_rise
    @pytest.mark.parametrize("window", [None, 50])
    def test_the_bound_is_about_the_rows_since_the_last_alarm(self, window):
        losses, monitor = drifting(3000, 2000, 0.05, 0.3), sk.RiskMonitor(window=window)
        for chunk in np.array_split(losses, 7):
            monitor.update(chunk)
        since = losses[monitor.last_change_ :]
        if window is None:
            wanted = path(since, 0.05 / 6.0)[1][-1]
        else:
            k = len(since) // window - 1
            since, share = since[k * window :], 0.05 / 6.0 / ((k + 1) * (k + 2))
            wanted = risk_bounds(since.tolist(), share, 75)[1][-1]
        assert monitor.bound_ == pytest.approx(max(wanted, since.mean()), rel=1e-9)
        assert monitor.bound_ > 0.3
        assert monitor.mean_ == pytest.approx(since.mean())
        assert monitor.n_ == 5000

    @risks_may_rise
    def test_a_latch_stops_at_the_first_rise(self):
        losses = np.tile(drifting(3000, 2000, 0.05, 0.3), 2)
        monitor, caught = sk.RiskMonitor(latch=True), []
        for chunk in np.array_split(losses, 50):
            with warnings.catch_warnings(record=True) as some:
                warnings.simplefilter("always")
                monitor.update(chunk)
            caught += some
        assert len(caught) == 1 and monitor.changed_ is True
        bound = sk.guarantees.risk_curve(losses)[-1]
        assert monitor.bound_ == max(bound, losses.mean()) == pytest.approx(monitor.mean_)

    @risks_may_rise
    def test_reset_makes_it_new(self):
        losses, monitor = drifting(), sk.RiskMonitor().update(drifting())
        assert monitor.reset() is monitor
        assert vars(monitor).keys() - {"_lock"} == vars(sk.RiskMonitor()).keys()
        with pytest.raises(NotFittedError):
            _ = monitor.bound_
        monitor.set_params(delta=0.2).update(losses[:1000])
        assert monitor.bound_ == sk.RiskMonitor(0.2).update(losses[:1000]).bound_

    def test_a_warning_made_an_error_leaves_it_whole(self):
        losses, monitor = drifting(), sk.RiskMonitor()
        with warnings.catch_warnings(action="error"), pytest.raises(sk.GuaranteeWarning):
            monitor.update(losses)
        assert (monitor.n_, monitor.changed_) == (3000, True)
        assert not clone(monitor).__dict__.keys() - monitor.get_params().keys()

    @risks_may_rise
    def test_a_bound_is_never_below_the_mean(self):
        losses = np.r_[np.zeros(300), drifting(0, 400, high=0.6)]
        monitor = sk.RiskMonitor(latch=True)
        low = []
        for n, loss in enumerate(losses, 1):
            bound = sk.guarantees.risk_curve(losses[:n])[-1]
            assert monitor.update(loss).bound_ == max(bound, monitor.mean_)
            low.append(bound < monitor.mean_)
        assert any(low)

    @pytest.mark.parametrize("window", [1, 7, 40])
    def test_a_window_is_the_literal_bound_of_the_last_losses(self, window):
        losses, monitor = drifting(70, 70), sk.RiskMonitor(0.1, window=window, latch=True)
        with warnings.catch_warnings(action="ignore"):
            for n, loss in enumerate(losses, 1):
                monitor.update(loss)
                k = max(n // window - 1, 0)
                last = losses[k * window : n]
                assert window <= len(last) < 2 * window or n < window
                share = 0.1 / ((k + 1) * (k + 2))
                wanted = risk_bounds(last.tolist(), share, 1.5 * window)[1][-1]
                assert monitor.bound_ == pytest.approx(max(wanted, last.mean()), rel=1e-10)
                assert monitor.mean_ == pytest.approx(last.mean())
            other = sk.RiskMonitor(0.1, window=window, latch=True)
            for chunk in np.split(losses, [1, 9, 77, 78]):
                other.update(chunk)
        assert (other.bound_, other.n_) == (monitor.bound_, 140)

    def test_a_known_number_of_losses(self):
        losses = drifting()
        with pytest.warns(sk.GuaranteeWarning, match="The risk increased"):
            assert sk.guarantees.risk_bound(losses) == path(losses, 0.05, 3000)[1][-1]
        with warnings.catch_warnings(action="error"):
            sk.guarantees.risk_bound(losses[:1500])


def flipping(n=400, flipped=250):
    """Labels that turn round after some rows."""
    rng = np.random.RandomState(0)
    X = rng.randn(n, 2)
    y = (X[:, 0] > 0.0).astype(int)
    y[flipped:] = 1 - y[flipped:]
    return X, y


class TestResults:
    given = {"classes": [0, 1]}

    def model(self):
        return sk.OnlineStructuredPredictor(optimizer="ogd", decoder="nearest", average=False)

    @pytest.mark.parametrize("size", [None, 37, 400])
    def test_a_rise_is_told_and_warned_of(self, size):
        X, y = flipping()

        def run(n, size=size):
            rows = (X[:n], y[:n]) if size is None else (array_chunks(X[:n], y[:n], size),)
            return progressive_validate(self.model(), *rows, **self.given)

        result, still = run(400), run(250)
        with pytest.warns(sk.GuaranteeWarning, match="The risk increased"):
            result.risk_bound()
        with warnings.catch_warnings(action="error"):
            still.risk_bound()
        assert (result.changed_, still.changed_) == (True, False)
        if size is not None:
            losses = run(400, None).expected_target_loss
            assert result._rise.found_at == rises(losses.tolist(), 0.05)[-1]

    def test_losses_without_a_certificate_have_no_test(self):
        X, y = flipping()
        model = self.model().set_params(class_weight={0: 1.0, 1: 2.0})
        result = progressive_validate(model, X, y, play="randomized")
        assert result.changed_ is False
        with pytest.raises(sk.GuaranteeError):
            result.risk_bound()


@slow_if_interpreted
def test_the_numbers_of_the_page():
    """docs/risk.md: what a monitor says of 15,000 losses at 10 %, then 15,000 at 60 %."""
    losses = drifting(15000, 15000)
    with warnings.catch_warnings(action="ignore"):
        monitor = sk.RiskMonitor().update(losses)
        window = sk.RiskMonitor(window=1000).update(losses)
        smaller = sk.RiskMonitor().update(drifting(15000, 15000, 0.3, 0.35))
    assert (round(monitor.bound_, 3), round(window.bound_, 3)) == (0.630, 0.661)
    assert monitor.changed_ and window.changed_
    assert (monitor.last_change_, smaller.last_change_) == (15025, 15000 + 2065)


class TestOrder:
    """Rows next to each other whose outputs are alike beyond chance."""

    @staticmethod
    def found(y, parts=2):
        test = OrderTest(0.05)
        return [test.update(part).found for part in np.array_split(y, parts)][-1]

    @pytest.mark.parametrize("parts", [2, 20])
    @pytest.mark.parametrize("n_classes", [2, 3, 10])
    def test_sorted_labels_are_found_and_independent_ones_are_not(self, n_classes, parts, rng):
        streams = [rng.randint(n_classes, size=900) for _ in range(100)]
        assert np.mean([self.found(y, parts) for y in streams]) <= 0.05
        assert all(self.found(np.sort(y), parts) for y in streams[:5])

    def test_neighbors_and_rankings_that_are_alike_are_found_and_unlike_ones_are_not(self, rng):
        Y, often_stays = rng.randint(2, size=(900, 5)), rng.random_sample(6000) < 0.7
        assert self.found(np.cumsum(~often_stays) % 2) and self.found(Y[np.lexsort(Y.T)])
        assert not self.found(Y) and not self.found(np.arange(3000) % 2)

    @pytest.mark.parametrize("chunked", [False, True])
    def test_bounds_of_sorted_rows_warn(self, chunked, rng):
        X, y = rng.randn(3000, 2), np.sort(rng.randint(3, size=3000))
        for order, warned in ((np.arange(3000), True), (rng.permutation(3000), False)):
            chunks = [(X[part], y[part]) for part in np.split(order, 6)]
            given = [chunks] if chunked else [X[order], y[order]]
            run = progressive_validate(
                sk.OnlineStructuredPredictor(), *given, classes=[0, 1, 2], play="randomized"
            )
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                run.risk_bound()
            said = [str(w.message) for w in caught if "not in random order" in str(w.message)]
            assert bool(said) == warned


def test_losses_of_another_thread_wait_and_are_counted(monkeypatch):
    """It has losses as another update has copied the sums, and not yet set the new ones."""
    monitor, threads = sk.RiskMonitor().update(0.3), []

    def copied(runs):
        if not threads:
            threads.append(threading.Thread(target=monitor.update, args=([0.1, 0.2],), daemon=True))
            threads[0].start()
            threads[0].join(0.05)
        return deepcopy(runs)

    monkeypatch.setattr(risk_module, "deepcopy", copied)
    monitor.update([0.5, 0.7])
    threads[0].join(60.0)
    assert monitor.n_ == 5
    assert monitor.bound_ == sk.RiskMonitor().update([0.3, 0.5, 0.7, 0.1, 0.2]).bound_
