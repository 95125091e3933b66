"""Boosted trees as a member of mixtures, and ranks of columns for trees."""

import pickle

import numpy as np
import pytest
from conftest import INTERPRETED
from joblib import parallel_config
from scipy import sparse
from sklearn.ensemble import ExtraTreesRegressor
from test_members import SPACES, X, training_of, weighted

import skstructured as sk
from skstructured.estimators._ranks import ColumnRanks
from skstructured.estimators.boosting._additive import AdditiveModel
from skstructured.estimators.boosting._trees import TreeGrower
from skstructured.estimators.mixture import _boosting, _training
from skstructured.estimators.mixture._boosting import BoostedTrees
from skstructured.estimators.mixture._training import StandardRows
from skstructured.estimators.mixture._trees import VertexTrees
from skstructured.spaces import Simplex
from skstructured.spaces._real_line import RealLine

slow_as_python = pytest.mark.skipif(INTERPRETED, reason="takes minutes as Python")

OPTIONS = BoostedTrees.few_rows_options._replace(max_iter=5, min_samples_leaf=2, max_features=1.0)


def task_of(training):
    return training._replace(truths=training.V)


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch):
    monkeypatch.setattr(BoostedTrees, "few_rows_options", OPTIONS)


class TestBoostedTrees:
    @pytest.mark.parametrize("space", SPACES)
    @pytest.mark.parametrize("most", [14, 15])
    def test_honest_scores_are_those_of_models_without_the_part(self, space, most, monkeypatch):
        kind, y = SPACES[space]
        training, loss = training_of(X, y, kind, weighted(np.random.RandomState(0)))
        monkeypatch.setattr(_training, "MOST_HELD_OUT", most)
        member = BoostedTrees(loss, 7, None)
        honest = member.fit(task_of(training))
        n_models = 2 if most == 14 else 5
        folds = training.parts % 2 if most == 14 else training.parts
        assert (member.model.n_models, member.model.n_rounds) == (n_models, member.model.n_rounds)
        grower = TreeGrower(ColumnRanks.of(X).transform(X), *OPTIONS[3:])
        task = _boosting.BoostingTask(training.V, training.weight, loss, training.dim)
        for fold in range(n_models):
            model = AdditiveModel(task, grower, OPTIONS.learning_rate, folds != fold, 7 + 5 * fold)
            model.grow(member.model.n_rounds)
            np.testing.assert_allclose(honest[folds == fold], model.honest, atol=1e-9)

    def test_unjudged_rows_are_learned_by_all_models(self):
        training, loss = training_of(X, SPACES["multiclass"][1], Simplex)
        parts = np.where(np.arange(30) < 10, -1, training.parts)
        training = task_of(training._replace(parts=parts))
        honest = BoostedTrees(loss, 0, None).fit(training)
        assert honest.shape == (20, 3) and np.isfinite(honest).all()

    def test_of_very_few_rows_is_one_model(self):
        training, loss = training_of(X, SPACES["multiclass"][1], Simplex)
        member = BoostedTrees(loss, 0, None)
        honest = member.fit(task_of(training._replace(parts=np.full(30, -1))))
        assert member.model.n_models == 1 and member.model.n_rounds == 5 and len(honest) == 0

    def test_is_smaller_and_takes_less_time(self):
        member = BoostedTrees(None, 0, None)
        half = member.resized(0.5).resized(0.5)
        assert half.size == 0.25 and half.work(900) == pytest.approx(0.25 * member.work(900))
        assert member._options(OPTIONS, 3).max_iter == 5 and half._options(OPTIONS, 3).max_iter == 1
        wide = 64 * 10
        assert member._options(OPTIONS, wide).max_features == pytest.approx(0.1)
        few = OPTIONS._replace(max_features=0.4)
        shares = [member._options(few, p).max_features for p in (3, 6, 10, 20)]
        assert shares == pytest.approx([1.0, 1.0, 0.6, 0.4])  # of six columns at least
        most = 2 * _training.MOST_HELD_OUT
        n = np.array([100, 1000, most])
        assert np.all(np.diff([member.work(each) for each in n]) > 0.0)
        assert member.work(most + 1) < member.work(most)

    def test_learns_truths_that_kernels_do_not_see(self, rng):
        training, loss = training_of(X, rng.randn(30), RealLine)
        first, second = (BoostedTrees(loss, 0, None) for _ in range(2))
        one = first.fit(task_of(training))
        other = second.fit(task_of(training)._replace(V=0.0 * training.V))
        np.testing.assert_array_equal(one, other)

    def test_of_dense_rows_scores_sparse_ones(self):
        training, loss = training_of(X, SPACES["multiclass"][1], Simplex)
        member = BoostedTrees(loss, 0, None)
        member.fit(task_of(training))
        rows = training.rows.of(sparse.csr_matrix(X))
        np.testing.assert_array_equal(member.scores(rows), member.scores(training.rows))


class TestVertexTreesOnRanks:
    def test_of_raw_columns_do_not_depend_on_increasing_functions(self, monkeypatch):
        kind, y = SPACES["multiclass"]
        monkeypatch.setattr(VertexTrees, "share_of_range", 0.0)
        honest = []
        for rows in (X, np.exp(4.0 * X)):
            training, loss = training_of(X, y, kind)
            rows = training.rows._replace(unchanged=rows)
            honest.append(VertexTrees(loss, None, 0, None).fit(training._replace(rows=rows)))
        np.testing.assert_array_equal(*honest)

    @pytest.mark.parametrize("sparse_first", [False, True])
    def test_of_dense_or_sparse_rows_score_the_other_form(self, sparse_first):
        training, loss = training_of(X, SPACES["multiclass"][1], Simplex)
        forms = [training.rows.of(rows) for rows in (X, sparse.csr_matrix(X))]
        trees = VertexTrees(loss, None, 0, None)
        trees.fit(training._replace(rows=forms[sparse_first]))
        first, second = (trees.scores(rows) for rows in forms)
        np.testing.assert_array_equal(first, second)
        again = pickle.loads(pickle.dumps(trees))
        np.testing.assert_array_equal(again.scores(forms[0]), first)

    @pytest.mark.parametrize("is_sparse", [False, True])
    def test_of_older_pickles_have_units(self, is_sparse):
        training, loss = training_of(X, SPACES["multiclass"][1], Simplex)
        low = np.zeros(3) if is_sparse else X.min(axis=0)
        span = np.abs(X).max(axis=0) if is_sparse else X.max(axis=0) - low
        units = ((X - low) / span).astype(np.float32)
        forest = ExtraTreesRegressor(5, random_state=0).fit(units, training.V)
        older = VertexTrees(loss, None, 0, None)
        older.__setstate__(vars(older) | {"forests": [forest], "_low": low, "_span": span})
        rows = StandardRows(None, unchanged=sparse.csr_matrix(X) if is_sparse else X)
        means = forest.predict(units)
        np.testing.assert_allclose(older._means(older.forest, rows.unchanged), means, atol=1e-6)
        np.testing.assert_allclose(older.scores(rows), loss.link(means), atol=1e-5)

    @pytest.mark.parametrize(("few", "most", "n_fitted"), [(30, 15, 5), (29, 15, 10), (29, 14, 5)])
    def test_of_all_rows_are_of_some_numbers_of_rows(self, few, most, n_fitted, monkeypatch):
        monkeypatch.setattr(VertexTrees, "few_rows", few)
        training, loss = training_of(X, SPACES["multiclass"][1], Simplex)
        monkeypatch.setattr(_training, "MOST_HELD_OUT", most)
        trees, fitted = VertexTrees(loss, None, 0, None), []
        fit = trees._fitted
        trees._fitted = lambda *given: fitted.append(given) or fit(*given)
        trees.fit(training)
        assert len(fitted) == n_fitted
        alone = trees.n_trees * (30 * np.log(30) + VertexTrees.setup_work)
        assert trees.work(30) == pytest.approx(n_fitted * alone)


@slow_as_python
class TestMixtures:
    @pytest.mark.parametrize("first", [np.asarray, sparse.csr_matrix])
    def test_of_dense_or_sparse_rows_score_the_other_form(self, first):
        y = SPACES["multiclass"][1]
        model = sk.StructuredPredictor(random_state=0).fit(first(X), y)
        np.testing.assert_allclose(
            model.predict_proba(sparse.csr_matrix(X)), model.predict_proba(X), atol=1e-6
        )

    def test_a_column_with_one_value_and_missing_ones_is_learned(self, rng):
        y = rng.randint(2, size=200)
        rows = np.column_stack([rng.randn(200), np.where(y == 1, np.nan, 7.0)])
        trees = sk.StructuredPredictor(random_state=0).fit(rows, y)
        assert trees.validation_scores_[-1] > 0.95
        boosting = sk.FenchelYoungBoosting(random_state=0).fit(rows, y)
        assert boosting.validation_score_ > 0.95

    def test_members_do_not_hold_the_mixture(self):
        model = sk.StructuredPredictor(random_state=0).fit(X, SPACES["multiclass"][1])
        text = pickle.dumps(model._mixed.members)
        assert b"StructuredPredictor" not in text

    @pytest.mark.parametrize(("n", "p"), [(100, 1000), (300, 10)])
    def test_honest_scores_of_noise_are_those_of_chance(self, n, p):
        scores = []
        for seed in range(3):
            rng = np.random.RandomState(seed)
            model = sk.StructuredPredictor(random_state=seed)
            model.fit(rng.randn(n, p), np.arange(n) % 2)
            place = list(model.named_estimators_).index("boosting")
            scores.append(model.validation_scores_[place])
        assert 0.38 < np.mean(scores) < 0.62

    def test_are_in_threads_if_joblib_is_configured_to_use_processes(self):
        y = SPACES["multiclass"][1]
        with parallel_config("loky", n_jobs=2):
            model = sk.StructuredPredictor(random_state=0).fit(X, y)
        wanted = sk.StructuredPredictor(random_state=0).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X), wanted.predict_proba(X), atol=1e-9)

    def test_copies_are_left_out_together(self, rng):
        rows, y = rng.randn(60, 5), rng.randint(2, size=60)
        model = sk.StructuredPredictor(random_state=0).fit(np.tile(rows, (4, 1)), np.tile(y, 4))
        place = list(model.named_estimators_).index("boosting")
        assert model.validation_scores_[place] < 0.7

    def test_queries_are_left_out_as_a_whole(self, rng):
        """Grades of a query that its features do not tell: one item of each has grade 1."""
        qid = np.repeat(np.arange(60), 5)
        rows = np.column_stack([np.repeat(rng.randn(60, 3), 5, axis=0), rng.randn(300, 2)])
        grades = (np.arange(300) % 5 == np.repeat(rng.randint(5, size=60), 5)).astype(float)
        model = sk.StructuredRanker(random_state=0).fit(rows, grades, qid)
        place = list(model.named_estimators_).index("boosting")
        chance = np.mean(1.0 / np.log2(np.arange(2, 7)))
        assert abs(model.validation_scores_[place] - chance) < 0.1
        parts = model.named_estimators_["boosting"].model.n_models
        assert parts == 5

    def test_max_seconds_makes_it_smaller(self, monkeypatch):
        sizes, resized = [], BoostedTrees.resized
        monkeypatch.setattr(
            BoostedTrees, "resized", lambda self, s: sizes.append(s) or resized(self, s)
        )
        rng = np.random.RandomState(0)
        model = sk.StructuredPredictor(random_state=0, max_seconds=0.5)
        model.fit(rng.randn(400, 3), rng.randint(3, size=400))
        assert min(sizes) < 1.0
        boosted = model.named_estimators_.get("boosting")
        assert boosted is None or boosted.size == min(sizes)

    @pytest.mark.exhaustive
    def test_many_rows_have_two_models(self, monkeypatch):
        monkeypatch.setattr(BoostedTrees, "many_rows_options", OPTIONS._replace(max_iter=2))
        monkeypatch.setattr(_training, "MOST_HELD_OUT", 100)
        monkeypatch.setattr(TreeGrower, "few_rows", 100)
        rng = np.random.RandomState(0)
        rows, y = rng.randn(300, 3), rng.randint(3, size=300)
        model = sk.StructuredPredictor(n_landmarks=60, random_state=0).fit(rows, y)
        assert model.named_estimators_["boosting"].model.n_models == 2


class TestWorth:
    def test_ratio_is_of_the_rows_that_the_first_model_leaves_out(self, rng):
        kind, y = SPACES["multiclass"]
        training, loss = training_of(X, y, kind, weighted(rng))
        parts = np.where(np.arange(30) % 3 == 0, -1, training.parts)
        least = rng.exponential(size=30)
        training = task_of(training)._replace(parts=parts, least_losses=least[parts >= 0])
        grower = TreeGrower(ColumnRanks.of(X).transform(X), *OPTIONS[3:])
        task = _boosting.BoostingTask(training.V, training.weight, loss, training.dim)
        model = AdditiveModel(task, grower, OPTIONS.learning_rate, parts != 0, 7).grow(3)
        left_out, weight = parts == 0, training.weight[parts == 0]
        wanted = weight @ model.losses[left_out] / (weight @ least[left_out])
        assert BoostedTrees(loss, 7, None)._ratio(training, model) == pytest.approx(wanted)

    @pytest.mark.parametrize(("least", "is_member"), [(1e-3, False), (1e3, True)])
    def test_far_worse_than_others_is_left_out(self, least, is_member):
        training, loss = training_of(X, SPACES["multiclass"][1], Simplex)
        training = task_of(training)._replace(least_losses=np.full(30, least))
        assert (BoostedTrees(loss, 7, None).fit(training) is not None) == is_member

    @pytest.mark.parametrize(("ratio", "hopeless"), [(2.1, True), (1.9, False)])
    def test_hopeless_models_end_after_a_trial(self, ratio, hopeless):
        training, loss = training_of(X, SPACES["multiclass"][1], Simplex)
        grower = TreeGrower(ColumnRanks.of(X).transform(X), *OPTIONS[3:])
        task = _boosting.BoostingTask(training.V, training.weight, loss, training.dim)
        model = AdditiveModel(task, grower, 0.05, training.parts != 0, 7).grow(0)
        n_tried = len(model.seek_rounds(25, 25, lambda model: ratio)) - 1
        assert n_tried == (15 if hopeless else 25)

    @pytest.mark.parametrize(("fall", "n_rounds"), [(0.99, 15), (0.9, 40)])
    def test_a_loss_that_still_falls_is_not_hopeless(self, fall, n_rounds):
        training, loss = training_of(X, SPACES["multiclass"][1], Simplex)
        grower = TreeGrower(ColumnRanks.of(X).transform(X), *OPTIONS[3:])
        task = _boosting.BoostingTask(training.V, training.weight, loss, training.dim)
        model = AdditiveModel(task, grower, 0.05, training.parts != 0, 7).grow(0)
        losses = model.seek_rounds(40, 40, lambda model: 30.0 * fall ** len(model.trees))
        assert len(losses) - 1 == n_rounds

    def test_learns_a_checkerboard(self):
        rng = np.random.RandomState(0)
        squares = rng.rand(3000, 6)
        y = np.floor(4.0 * squares[:, :2]).sum(axis=1) % 2
        model = sk.StructuredPredictor(random_state=0).fit(squares[:1000], y[:1000])
        assert "boosting" in model.named_estimators_
        assert model.score(squares[1000:], y[1000:]) > 0.95

    @pytest.mark.parametrize(("n", "is_member"), [(19, False), (40, True)])
    def test_needs_rows_that_are_held_out(self, n, is_member, monkeypatch):
        monkeypatch.setattr(BoostedTrees, "few_rows_limit", 1e6)
        monkeypatch.setattr(AdditiveModel, "hopeless", 1e6)
        y = np.arange(n) % 2 + X[0, 0]
        model = sk.StructuredRegressor(random_state=0).fit(np.resize(X, (n, 3)) + y[:, None], y)
        assert ("boosting" in model.named_estimators_) == is_member

    def test_many_rows_have_half_the_trees(self, monkeypatch):
        monkeypatch.setattr(VertexTrees, "many_rows", 23)  # 24 rows are outside of each part
        training, loss = training_of(X, SPACES["multiclass"][1], Simplex)
        trees = VertexTrees(loss, None, 0, None)
        trees.fit(training)
        assert len(trees.forest.roots) == 50
