"""Mixtures with `max_seconds`: members are as large as a pilot says that there is time for."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_iris

import skstructured as sk
from skstructured.estimators.mixture import _budget, _mixture
from skstructured.estimators.mixture._budget import (
    Pilot,
    members_in_time,
    pilot_rows,
)
from skstructured.estimators.mixture._minimizer import LossMinimizer
from skstructured.estimators.mixture._ridge import KernelRidge
from skstructured.estimators.mixture._training import Member
from skstructured.estimators.mixture._trees import VertexTrees

X, Y = load_iris(return_X_y=True)


class Estimator(Member):
    def fit(self, training):
        raise NotImplementedError

    scores = fit


#: Share of the time for which members are planned, and their sizes in units of the usual ones.
FOR_MEMBERS, SIZES = 0.8, 0.5 ** (np.arange(13) / 2)

MEMBERS = [
    ("linear", Estimator()),
    ("arc-cosine", LossMinimizer("arc-cosine", None, 4000, 0)),
    ("rbf", KernelRidge("rbf", 2000, 0)),
    ("trees", VertexTrees(None, None, 0, None)),
]

#: Seconds of members of 500 rows, and of the rest.
PILOT = Pilot(500, {"linear": 0.01, "arc-cosine": 0.1, "rbf": 0.1, "trees": 0.2}, 0.5)


@pytest.fixture
def planned(monkeypatch):
    """Members of 10,000 rows that are planned at time 100 for some seconds more."""
    monkeypatch.setattr(Pilot, "largest", classmethod(lambda *_: PILOT))
    monkeypatch.setattr(_budget, "perf_counter", lambda: 100.0)
    arrays = [np.zeros((10_000, 3)), None, np.zeros(10_000), np.ones(10_000), None]
    return lambda seconds: members_in_time(None, MEMBERS, arrays, 100.0 + seconds, print)


def seconds_of(members):
    """Literal: seconds of 10,000 rows."""
    usual, setup = dict(MEMBERS), Member.setup_rows
    other = PILOT.other_seconds * (10_000 + setup) / (500 + setup)
    return other + sum(
        PILOT.seconds[name] * member.work(10_000) / usual[name].work(500)
        for name, member in members
    )


class TestMembersInTime:
    @pytest.mark.parametrize("seconds", [6.0, 8.0, 14.0, 26.0, 1e9])
    def test_are_as_large_as_they_can_be(self, planned, seconds, capsys):
        members = planned(seconds)
        sizes = [[(name, member.resized(size)) for name, member in MEMBERS] for size in SIZES]
        largest = next(s for s in sizes if seconds_of(s) <= FOR_MEMBERS * seconds)
        assert [name for name, _ in members] == [name for name, _ in MEMBERS]
        for (_, member), (_, literal) in zip(members, largest, strict=True):
            assert member.work(10_000) == literal.work(10_000)
        assert "none left out" in capsys.readouterr().out

    def test_leave_out_the_slowest(self, planned, capsys):
        smallest = [(name, member.resized(SIZES[-1])) for name, member in MEMBERS]
        slowest = max(smallest, key=lambda pair: seconds_of([pair]))[0]
        seconds = (seconds_of(smallest) - 0.01) / FOR_MEMBERS
        left = [name for name, _ in planned(seconds)]
        assert left == [name for name, _ in MEMBERS if name != slowest]
        assert f"{slowest} left out" in capsys.readouterr().out

    def test_are_never_none(self, planned):
        assert len(planned(1e-3)) == 1

    @pytest.mark.parametrize("member", [member for _, member in MEMBERS])
    def test_take_less_if_they_are_smaller_or_learn_fewer(self, member):
        works = [[member.resized(size).work(n) for n in (200, 800, 2900, 20_000)] for size in SIZES]
        assert np.all(np.diff(works, axis=0) <= 0.0) and np.all(np.diff(works[0][:3]) > 0.0)


class TestPilot:
    def test_has_whole_groups_of_all_rows(self, rng):
        groups = np.sort(rng.randint(50, size=1000))
        rows = pilot_rows([None, None, np.zeros(1000), None, groups], 200)
        chosen = np.unique(groups[rows])
        np.testing.assert_array_equal(rows, np.flatnonzero(np.isin(groups, chosen)))
        assert 8 <= len(chosen) <= 12 and chosen[0] == 0 and chosen[-1] == 49
        np.testing.assert_array_equal(
            pilot_rows([None, None, np.zeros(9), None, None], 3), [0, 4, 8]
        )

    def test_times_every_member_and_leaves_the_mixture_as_it_is(self):
        model = sk.StructuredPredictor(random_state=0, max_seconds=1e6).fit(X, Y)
        arrays, state = [X, Y, Y, np.ones(150), None], model.random_state_.get_state()
        pilot = Pilot.largest(model._time_members, arrays, 1e6)
        assert 37 <= pilot.n_rows <= 40 and set(pilot.seconds) == set(model.named_estimators_)
        assert min(pilot.seconds.values()) > 0.0 and pilot.other_seconds > 0.0
        np.testing.assert_array_equal(model.random_state_.get_state()[1], state[1])


def classes(**given):
    return sk.StructuredPredictor(random_state=0, **given).fit(X, Y).predict_proba(X)


def numbers(**given):
    return sk.StructuredRegressor(random_state=0, **given).fit(X[:, 1:], X[:, 0]).predict(X[:, 1:])


def queries(**given):
    qid = np.arange(150) // 5
    return sk.StructuredRanker(random_state=0, **given).fit(X, Y, qid).predict(X, qid)


class TestMaxSeconds:
    @pytest.mark.parametrize("predictions", [classes, numbers, queries])
    def test_changes_nothing_if_there_is_time(self, predictions):
        np.testing.assert_array_equal(predictions(max_seconds=1e6), predictions())

    def test_leaves_members_out(self):
        model = sk.StructuredPredictor(random_state=0, max_seconds=1e-6).fit(X, Y)
        assert len(model.named_estimators_) == 1 and model.score(X, Y) > 0.5

    def test_does_not_change_fits_of_few_rows(self):
        model = sk.StructuredPredictor(random_state=0, max_seconds=1e-6).fit(X[::2], Y[::2])
        every = {"linear", "arc-cosine", "laplacian", "rbf", "trees"}
        assert {*model.named_estimators_} - {"boosting"} == every

    def test_is_shared_by_views_of_sequences(self, monkeypatch):
        seconds = []
        monkeypatch.setattr(
            _mixture,
            "members_in_time",
            lambda timed, members, *_: seconds.append(timed.__self__.max_seconds) or members,
        )
        lists, labels = np.split(X, 30), np.split(Y, 30)
        sk.StructuredPredictor("sequence", random_state=0, max_seconds=100.0).fit(lists, labels)
        assert seconds == [35.0, 35.0]

    def test_is_refused_for_estimators_that_are_passed(self):
        members = [("linear", sk.OnlineStructuredPredictor())]
        with pytest.raises(ValueError, match="max_seconds is only supported for estimators='auto'"):
            sk.StructuredPredictor(estimators=members, max_seconds=1.0).fit(X, Y)

    @pytest.mark.parametrize("rows", [np.asarray, csr_matrix])
    def test_rare_classes_are_in_the_pilot(self, rows, rng):
        Z, y = rng.randn(1000, 3), np.zeros(1000, dtype=int)
        y[[7, 501, 777]] = 1
        model = sk.StructuredPredictor(random_state=0, max_seconds=1e6).fit(rows(Z), y)
        assert model.predict_proba(rows(Z)).shape == (1000, 2)

    @pytest.mark.parametrize("seconds", [0, -1.0, np.nan, np.inf, "10", True])
    def test_is_a_positive_number(self, seconds):
        with pytest.raises(ValueError, match="max_seconds must be a positive number"):
            sk.StructuredPredictor(max_seconds=seconds).fit(X, Y)
