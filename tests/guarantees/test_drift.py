"""Risks that rise: found by a test of level delta, told by a warning and an attribute."""

import warnings

import numpy as np
import pytest
from conftest import INTERPRETED
from naive import rises, risk_bounds
from sklearn.base import clone

from skstructured import GuaranteeError, GuaranteeWarning, OnlineStructuredPredictor, RiskMonitor
from skstructured.evaluation import progressive_validate
from skstructured.guarantees.risk import (
    OrderTest,
    RiseTest,
    path,
    rise_found,
    risk_bound,
    risk_curve,
)
from skstructured.streaming import array_chunks

slow_if_interpreted = pytest.mark.skipif(INTERPRETED, reason="many rounds")


def drifting(before=1500, after=1500, low=0.1, high=0.6, seed=0):
    rng = np.random.RandomState(seed)
    return np.r_[rng.rand(before) < low, rng.rand(after) < high].astype(float)


STREAMS = {
    "still": drifting(100, 0),
    "one rise": drifting(80, 60, 0.05, 0.9),
    "two rises": np.r_[drifting(100, 500, 0.0, 0.5), np.ones(200)],
    "a fall": drifting(80, 80, 0.9, 0.1),
    "shares": np.clip(np.r_[np.full(70, 0.1), np.full(50, 0.9)] + 0.05, 0.0, 1.0),
    "none to all": np.repeat([0.0, 1.0], 50),
    "slowly": (np.random.RandomState(0).rand(300) < np.linspace(0.0, 0.6, 300)).astype(float),
}


class TestTheTest:
    @pytest.mark.parametrize("name", STREAMS)
    @pytest.mark.parametrize("delta", [0.05, 0.5])
    def test_is_the_literal_one_in_chunks_of_any_size(self, name, delta):
        losses, found = STREAMS[name], []
        wanted = rises(losses.tolist(), delta)
        single, chunks = RiseTest(delta), RiseTest(delta)
        for t, loss in enumerate(losses):
            before = single.found_at
            single.update(np.array([loss]))
            if single.found_at != before:
                assert single.found_at == t + 1
                found.append(t + 1)
        assert found == wanted
        for chunk in np.split(losses, [3, 4, 50, 90, 91]):
            chunks.update(chunk)
        whole = rise_found(losses, delta)
        assert whole == chunks.found_at == single.found_at == (found[-1] if found else None)
        np.testing.assert_array_equal(chunks._below.sums, single._below.sums)
        np.testing.assert_array_equal(chunks._above.sums, single._above.sums)

    def test_the_shares_of_delta_make_delta(self):
        """Σ of the levels of all certificates, read from what each begins with."""
        test, levels = RiseTest(0.3), {}
        for _ in range(400):
            levels["below", test._k] = np.exp(-test._below.surprise)
            levels["above", test._rises] = np.exp(-test._above.surprise)
            test.update(np.zeros(1))
        for (_, k), level in levels.items():
            assert level == pytest.approx(0.15 / ((k + 1) * (k + 2)), rel=1e-12)
        assert sum(levels.values()) < 0.3

    @slow_if_interpreted
    @pytest.mark.parametrize("kind", ["constant", "rare", "falling", "shares"])
    def test_false_alarms_are_no_more_frequent_than_delta(self, kind):
        n, T, delta, failed = 1000, 1000, 0.2, 0
        rng = np.random.RandomState(5)
        risk = {"constant": 0.3, "rare": 0.02, "falling": 0.1 + 0.5 / np.sqrt(1 + np.arange(T))}
        for _ in range(n):
            u = rng.random_sample(T)
            losses = u if kind == "shares" else (u < risk[kind]).astype(float)
            failed += rise_found(losses, delta) is not None
        assert failed <= n * delta + 3.0 * np.sqrt(n * delta * (1.0 - delta))

    def test_exactly_over_all_streams_of_two_risks(self):
        """Probability of an alarm in 14 rounds, summed over all 2^14 streams of mistakes."""
        T, delta = 14, 0.9
        for p in (0.02, 0.1, 0.5):
            alarm = 0.0
            for losses, chance in likely_streams(T, p, 1e-5):
                alarm += chance * (rise_found(losses, delta) is not None)
            assert alarm <= delta
        assert rise_found(np.repeat([0.0, 1.0], [8, 6]), delta) is not None


def likely_streams(T, p, least):
    """Streams of T mistakes of probability p, and their chances, the very unlikely left out."""
    for code in range(2**T):
        losses = (code >> np.arange(T) & 1).astype(float)
        chance = p ** losses.sum() * (1.0 - p) ** (T - losses.sum())
        if chance > least:
            yield losses, chance


class TestMonitor:
    def test_a_rise_is_warned_of_once_and_told(self):
        losses, monitor = drifting(), RiskMonitor()
        with warnings.catch_warnings(action="error"):
            monitor.update(losses[:1500])
            assert monitor.changed_ is False
        with pytest.warns(GuaranteeWarning, match="The risk rose: found after 1[5-7]"):
            monitor.update(losses[1500:])
        assert monitor.changed_ is True
        with warnings.catch_warnings(action="error"):
            monitor.update(losses[1500:1600])
        assert monitor.changed_ is True and not clone(monitor).__dict__.keys() - {"delta", "window"}

    def test_a_warning_made_an_error_leaves_it_whole(self):
        losses, monitor = drifting(), RiskMonitor()
        with warnings.catch_warnings(action="error"), pytest.raises(GuaranteeWarning):
            monitor.update(losses)
        assert (monitor.n_, monitor.changed_) == (3000, True)

    def test_a_bound_below_the_mean_is_told(self):
        losses, monitor = np.r_[np.zeros(300), drifting(0, 120, high=0.25)], RiskMonitor(1e-9)
        with warnings.catch_warnings(action="ignore"):
            for loss in losses:
                monitor.update(loss)
                below = risk_curve(losses[: monitor.n_], 1e-9)[-1] < monitor.mean_
                assert monitor.changed_ == (below or monitor._runs[1].found_at is not None)

    @pytest.mark.parametrize("window", [1, 7, 40])
    def test_a_window_is_the_literal_bound_of_the_last_losses(self, window):
        losses, monitor = drifting(70, 70), RiskMonitor(0.1, window=window)
        with warnings.catch_warnings(action="ignore"):
            for n, loss in enumerate(losses, 1):
                monitor.update(loss)
                k = max(n // window - 1, 0)
                last = losses[k * window : n]
                assert window <= len(last) < 2 * window or n < window
                share = 0.1 / ((k + 1) * (k + 2))
                wanted = risk_bounds(last.tolist(), share, 1.5 * window)[1][-1]
                assert monitor.bound_ == pytest.approx(wanted, rel=1e-10)
                assert monitor.mean_ == pytest.approx(last.mean())
            other = RiskMonitor(0.1, window=window)
            for chunk in np.split(losses, [1, 9, 77, 78]):
                other.update(chunk)
        assert (other.bound_, other.n_) == (monitor.bound_, 140)

    def test_a_window_says_what_holds_now(self):
        losses, monitor = drifting(), RiskMonitor(window=500)
        with pytest.warns(GuaranteeWarning, match="window"):
            monitor.update(losses)
        assert 0.6 < monitor.bound_ < 0.75

    @slow_if_interpreted
    @pytest.mark.exhaustive
    def test_windows_hold_as_often_as_they_say(self):
        rng, failed, n = np.random.RandomState(3), 0, 200
        for _ in range(n):
            risk = np.repeat(rng.rand(6), 60)
            monitor, fell = RiskMonitor(0.2, window=30), False
            losses = (rng.rand(360) < risk).astype(float)
            with warnings.catch_warnings(action="ignore"):
                for t, loss in enumerate(losses, 1):
                    monitor.update(loss)
                    fell |= monitor.bound_ < risk[max(t // 30 - 1, 0) * 30 : t].min()
            failed += fell
        assert failed <= n * 0.2

    @pytest.mark.parametrize("window", [0, -1, 2.5, "all", True])
    def test_bad_windows_are_named(self, window):
        with pytest.raises(ValueError, match="window must be"):
            RiskMonitor(window=window).update(0.5)
        monitor = RiskMonitor(window=5).update(0.5).set_params(window=6)
        with pytest.raises(ValueError, match="window must stay as it was .* 5, got 6"):
            monitor.update(0.5)
        assert monitor.n_ == 1

    def test_a_known_number_of_losses(self):
        losses = drifting()
        with pytest.warns(GuaranteeWarning, match="The risk rose"):
            assert risk_bound(losses) == path(losses, 0.05, 3000)[1][-1]
        with warnings.catch_warnings(action="error"):
            risk_bound(losses[:1500])


def flipping(n=400, flipped=250):
    """Labels that turn round after some rows."""
    rng = np.random.RandomState(0)
    X = rng.randn(n, 2)
    y = (X[:, 0] > 0.0).astype(int)
    y[flipped:] = 1 - y[flipped:]
    return X, y


class TestResults:
    given = {"play": "last", "classes": [0, 1]}

    def model(self):
        return OnlineStructuredPredictor(optimizer="ogd", decoder="nearest", average=False)

    @pytest.mark.parametrize("size", [None, 37, 400])
    def test_a_rise_is_told_and_warned_of(self, size):
        X, y = flipping()

        def run(n, size=size):
            rows = (X[:n], y[:n]) if size is None else (array_chunks(X[:n], y[:n], size),)
            return progressive_validate(self.model(), *rows, **self.given)

        result, still = run(400), run(250)
        with pytest.warns(GuaranteeWarning, match="The risk rose"):
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
        result = progressive_validate(model, X, y)
        assert result.changed_ is False
        with pytest.raises(GuaranteeError):
            result.risk_bound()


@slow_if_interpreted
def test_the_numbers_of_the_page():
    """docs/risk.md: what a monitor says of 15,000 losses at 10 %, then 15,000 at 60 %."""
    losses = drifting(15000, 15000)
    with warnings.catch_warnings(action="ignore"):
        monitor = RiskMonitor().update(losses)
        window = RiskMonitor(window=1000).update(losses)
    assert (round(monitor.mean_, 3), round(monitor.bound_, 3)) == (0.353, 0.217)
    assert monitor.changed_ and rise_found(losses, 0.05) == 15710
    assert 0.6 < window.bound_ < 0.7
    assert rise_found(drifting(15000, 15000, 0.3, 0.35), 0.05) is None


class TestOrder:
    """Rows next to each other whose outputs are alike beyond chance."""

    @staticmethod
    def found(y, parts=2):
        test = OrderTest(0.05)
        return [test.update(part).found for part in np.array_split(y, parts)][-1]

    @pytest.mark.parametrize("parts", [2, 20])
    @pytest.mark.parametrize("n_classes", [2, 3, 10])
    def test_sorted_labels_are_found_and_independent_ones_are_not(self, n_classes, parts, rng):
        streams = [rng.randint(n_classes, size=900) for _ in range(200)]
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
            run = progressive_validate(OnlineStructuredPredictor(), *given, classes=[0, 1, 2])
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                run.risk_bound()
            said = [str(w.message) for w in caught if "not in random order" in str(w.message)]
            assert bool(said) == warned
