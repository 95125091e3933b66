"""Members that few rows show to be hopeless are left out before they learn all."""

import numpy as np
import pytest
from test_members import SPACES, X, training_of, weighted

import skstructured as sk
from skstructured.estimators.boosting._trees import TreeGrower
from skstructured.estimators.mixture import _training
from skstructured.estimators.mixture._ridge import KernelRidge, RowKernel
from skstructured.estimators.mixture._training import Stage
from skstructured.estimators.mixture._trees import VertexTrees
from skstructured.spaces import Simplex


@pytest.fixture
def training(rng):
    """Three rows in each of ten units, of which fold −1 has four."""
    training, _ = training_of(X, SPACES["multiclass"][1], Simplex, weighted(rng))
    units = np.repeat(np.arange(10), 3)
    parts = np.where(units < 6, units % 2, -1)
    weight = training.weight
    return training._replace(units=units, parts=parts, truths=training.V, sample_weight=weight)


@pytest.fixture
def mixture(training):
    """A mixture that knows the loss of the training rows."""
    model = sk.StructuredPredictor()
    model.loss_ = training_of(X, SPACES["multiclass"][1], Simplex)[1]
    return model


class TestSubsets:
    def test_units_are_drawn_as_a_whole(self, training):
        for seed in range(5):
            indices = training.draw_units(0.45, seed)
            assert len(indices) == 12  # 4 units
            assert set(np.bincount(training.units[indices], minlength=10)) == {0, 3}

    def test_a_larger_share_has_the_units_of_a_smaller(self, training):
        smaller, larger = (set(training.draw_units(share, 3)) for share in (0.25, 0.5))
        assert smaller < larger
        assert smaller != set(training.draw_units(0.25, 4))

    def test_all_arrays_are_of_the_same_rows(self, training):
        indices = np.array([1, 4, 17, 28])
        subset = training._replace(least_losses=np.ones(18), reserved=indices).subset(indices)
        for name in ("y", "V", "weight", "sample_weight", "parts", "units", "truths"):
            np.testing.assert_array_equal(getattr(subset, name), getattr(training, name)[indices])
        np.testing.assert_array_equal(subset.rows.X, X[indices])
        np.testing.assert_array_equal(subset.rows.unchanged, X[indices])
        assert subset.least_losses is None and subset.reserved is None
        unweighted = training._replace(sample_weight=None, y=training.y.tolist()).subset(indices)
        assert unweighted.sample_weight is None
        assert unweighted.y == training.y[indices].tolist()


@pytest.fixture
def ten_units_are_enough(monkeypatch):
    """Ten units are enough for trials, and 30 rows are many."""
    monkeypatch.setattr(_training, "FEWEST_ROWS", 2)
    monkeypatch.setattr(_training, "MOST_HELD_OUT", 14)


@pytest.mark.usefixtures("ten_units_are_enough")
class TestTrials:
    @pytest.mark.parametrize(("half", "is_hopeless"), [(0.80, False), (0.81, True)])
    def test_losses_are_extrapolated_over_the_same_rows(
        self, half, is_hopeless, mixture, training, monkeypatch
    ):
        """Rows without a loss by a quarter do not count: half² / quarter is .640 or .656."""
        losses = {0.25: np.full(18, np.nan), 0.5: np.full(18, 100.0)}
        losses[0.25][3:9], losses[0.5][3:9] = 1.0, half
        least = np.where(~np.isnan(losses[0.25]), 0.5, 1e-9)
        monkeypatch.setattr(
            type(mixture), "_trial_losses", lambda self, member, training, share: losses[share]
        )
        training = training._replace(least_losses=least)
        assert mixture._is_hopeless(KernelRidge("rbf", 20, 0), training) == is_hopeless

    def test_losses_are_weighted(self, mixture, training, monkeypatch):
        rng = np.random.RandomState(1)
        quarter, least = rng.exponential(size=(2, 18))
        weight = training.weight[training.judged]
        means = weight @ quarter, weight @ least
        # the half at which the extrapolated mean is 1.3 times the least
        half = np.full(18, np.sqrt(1.3 * means[1] * means[0]) / weight.sum())
        for factor, is_hopeless in ((0.999, False), (1.001, True)):
            trials = {0.25: quarter, 0.5: factor * half}
            monkeypatch.setattr(
                type(mixture), "_trial_losses", lambda self, member, rows, share, t=trials: t[share]
            )
            training = training._replace(least_losses=least)
            assert mixture._is_hopeless(KernelRidge("rbf", 20, 0), training) == is_hopeless

    @pytest.mark.parametrize("share", [0.3, 0.7])
    def test_trial_losses_are_those_of_a_smaller_member(self, share, mixture, training):
        member = KernelRidge("rbf", 20, 5)
        losses = mixture._trial_losses(member, training, share)
        indices = training.draw_units(share, 5)
        drawn = training.subset(indices)
        honest = KernelRidge("rbf", int(20 * share), 5).fit(drawn)
        a, b = mixture._least(honest[None], drawn, slice(None), 10)
        values = mixture.loss_.value(a * honest + b, training.V[indices[drawn.judged]])
        is_drawn = np.isin(training.judged, indices)
        assert np.isnan(losses[~is_drawn]).all() and 0 < is_drawn.sum() < 18
        np.testing.assert_allclose(losses[is_drawn], values, rtol=1e-9)

    def test_only_members_that_are_tried_need_a_rival(self, mixture, training):
        rivaled = training._replace(least_losses=np.full(18, 1e-9))
        ridge = KernelRidge("rbf", 20, 0)
        assert not mixture._is_hopeless(VertexTrees(mixture.loss_, None, 0, None), rivaled)
        assert not mixture._is_hopeless(ridge, training)
        assert mixture._is_hopeless(ridge, rivaled)

    @pytest.mark.parametrize("enough", [2, 3])
    def test_few_units_show_nothing(self, enough, mixture, training, monkeypatch):
        monkeypatch.setattr(_training, "FEWEST_ROWS", enough)  # a trial has a quarter of 10 units
        training = training._replace(least_losses=np.full(18, 1e-9))
        assert mixture._is_hopeless(KernelRidge("rbf", 20, 0), training) == (enough == 2)

    def test_a_perfect_member_is_not_hopeless(self, mixture, training, monkeypatch):
        """Losses with a margin can be 0."""
        monkeypatch.setattr(type(mixture), "_trial_losses", lambda *args: np.zeros(18))
        training = training._replace(least_losses=np.zeros(18))
        assert not mixture._is_hopeless(KernelRidge("rbf", 20, 0), training)


def test_ridges_wait_for_boosting_with_many_rows():
    stages = [KernelRidge("rbf", 20, 0).stage(n) for n in (3_001, 10_000, 10_001)]
    assert stages == [Stage.PLAIN, Stage.PLAIN, Stage.IS_TRIED]


@pytest.fixture
def few_are_many(monkeypatch):
    """With more than 400 rows there are many."""
    monkeypatch.setattr(_training, "MOST_HELD_OUT", 200)
    monkeypatch.setattr(TreeGrower, "few_rows", 200)


class TestMixtures:
    def test_kernels_that_cannot_win_are_left_out(self, few_are_many):
        rng = np.random.RandomState(0)
        rows = rng.rand(1200, 20)  # colors of the squares of a board, and 18 columns of noise
        y = (3 * rows[:, 0]).astype(int) + (3 * rows[:, 1]).astype(int) + 1
        model = sk.StructuredPredictor(n_landmarks=100, random_state=0).fit(rows, y % 2)
        names = list(model.named_estimators_)
        assert "laplacian" not in names and "rbf" not in names
        assert {"linear", "boosting", "trees"} <= {*names}
        assert len(model.weights_) == len(names) == len(model.validation_scores_)

    def test_kernels_that_win_stay(self, few_are_many):
        rng = np.random.RandomState(0)
        rows = rng.randn(1200, 6)
        y = (np.sum(rows**2, axis=1) > 5.0).astype(int)
        model = sk.StructuredPredictor(n_landmarks=100, random_state=0).fit(rows, y)
        assert "rbf" in model.named_estimators_

    @pytest.mark.parametrize(("max_seconds", "n_best"), [(None, 300), (600.0, 200)])
    def test_the_best_kernel_has_more_landmarks(self, max_seconds, n_best, few_are_many):
        rng = np.random.RandomState(0)
        rows = rng.randn(1200, 5)
        y = np.cos(rows @ rng.randn(5, 60) + 6.0 * rng.rand(60)) @ rng.randn(60) > 0.0
        parameters = {"n_landmarks": 200, "max_seconds": max_seconds, "random_state": 0}
        model = sk.StructuredPredictor(**parameters).fit(rows, y)
        assert len(model.named_estimators_["rbf"].coefs) == n_best

    def test_the_best_one_learns_again_as_a_member(self, mixture, training, monkeypatch):
        """Its honest scores, score and losses are those of the larger one."""
        monkeypatch.setattr(_training, "MOST_HELD_OUT", 14)
        monkeypatch.setattr(type(mixture), "_judge", lambda *args: 0.5)
        mixture._seconds = {}
        members = [(name, KernelRidge(name, 8, 0)) for name in ("rbf", "laplacian")]
        members.append(("trees", VertexTrees(mixture.loss_, None, 0, None)))
        losses = 9.0 - training.weight[training.judged]  # least by their weighted mean
        even = np.full(18, losses.mean() - 1e-3)
        results = {"rbf": ("", 0.0, losses), "laplacian": ("", 0.0, even), "trees": None}
        training = training._replace(least_losses=np.full(18, 1e-9))
        kept = mixture._grow_best(members, results, training, training.V)
        larger = KernelRidge("rbf", 12, 0)
        np.testing.assert_array_equal(results["rbf"][0], larger.fit(training))
        assert [len(m.coefs) for _, m in kept[:1]] == [12] and kept[1:] == members[1:]
        assert results["laplacian"][0] == "" and results["trees"] is None

    def test_trees_that_are_best_stay(self, mixture, training):
        members = [("trees", VertexTrees(mixture.loss_, None, 0, None))]
        members.append(("rbf", KernelRidge("rbf", 8, 0)))
        results = {"trees": ("", 0.0, np.ones(18)), "rbf": ("", 0.0, np.full(18, 1.1))}
        before = dict(results)
        assert mixture._grow_best(members, results, training, training.V) is members
        assert results == before

    def test_many_copies_of_few_rows_have_no_trials(self, few_are_many):
        """Without honest scores no member is left out."""
        rng = np.random.RandomState(0)
        rows, y = np.repeat(rng.randn(12, 3), 50, axis=0), np.repeat(np.arange(12) % 3, 50)
        model = sk.StructuredPredictor(n_landmarks=100, random_state=0).fit(rows, y)
        assert {"rbf", "laplacian"} < {*model.named_estimators_}
        assert np.isnan(model.validation_score_) and model.score(rows, y) == 1.0

    def test_few_long_groups_have_no_trials(self, few_are_many):
        rng = np.random.RandomState(0)
        X = [rng.randn(100, 3) for _ in range(12)]
        y = [(rows[:, 0] > 0.0).astype(int) for rows in X]
        model = sk.StructuredPredictor("sequence", n_landmarks=100, random_state=0).fit(X, y)
        assert model.score(X, y) > 0.9


class TestUnjudgedRows:
    @pytest.mark.parametrize("most", [1, 2, 3, 20])
    def test_sums_are_over_rows_spread_evenly(self, most, training, monkeypatch, rng):
        monkeypatch.setattr(KernelRidge, "most_unjudged", most)
        kernel = RowKernel.of("rbf", training.rows.chunk(np.arange(4)), np.ones(4))
        A, B, moments = KernelRidge("rbf", 4, 0)._sums(training, kernel, -1)
        rows = training.unjudged  # 12
        rows = rows[np.linspace(0, 11, min(4 * most, 12)).astype(int)]
        K, weight = kernel(training.rows.chunk(rows)), training.weight[rows]
        V = np.column_stack([np.ones(len(rows)), training.V[rows]])
        np.testing.assert_allclose(A, (K.T * weight) @ K, rtol=1e-9)
        np.testing.assert_allclose(B, (K.T * weight) @ V, rtol=1e-9)
        np.testing.assert_allclose(moments, weight @ V, rtol=1e-9)

    def test_all_rows_of_folds_are_summed(self, training, monkeypatch):
        monkeypatch.setattr(KernelRidge, "most_unjudged", 1)
        kernel = RowKernel.of("rbf", training.rows.chunk(np.arange(4)), np.ones(4))
        A, _, _ = KernelRidge("rbf", 4, 0)._sums(training, kernel, 0)
        K = kernel(training.rows.chunk(np.flatnonzero(training.parts == 0)))
        weight = training.weight[training.parts == 0]
        np.testing.assert_allclose(A, (K.T * weight) @ K, rtol=1e-9)

    def test_work_stops_growing(self):
        ridge = KernelRidge("rbf", 100, 0)
        assert ridge.work(7_000) > ridge.work(6_000)
        assert ridge.work(7_000) == ridge.work(10**6)
