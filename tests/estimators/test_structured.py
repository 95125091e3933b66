"""`StructuredPredictor` and `StructuredRegressor`: weights as the formula has them, and members."""

import copy
import pickle

import numpy as np
import pytest
from conftest import INTERPRETED
from naive import mixing
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skstructured as sk
from skstructured.estimators._mixing import (
    FEWEST,
    IN_TURNS,
    PARTS,
    mixing_weights,
    splits_of,
    squared_distance,
)
from skstructured.estimators._trees import QuantileTrees

#: Interpreted kernels are a thousand times slower: few rows, and only the shortest tests.
slow_as_python = pytest.mark.skipif(INTERPRETED, reason="takes minutes as Python")

RNG = np.random.RandomState(0)
_X = RNG.randn(60, 4)
_THREE = _X[:, :3]

#: name of a space -> outputs of `_X`.
OUTPUTS = {
    "multiclass": np.argmax(_THREE, axis=1),
    "multilabel": (_THREE > 0).astype(int),
    "ordinal": (_THREE > 0).sum(axis=1),
    "ranking": np.argsort(_THREE, axis=1) + 1,
    "assignment": np.argsort(_THREE, axis=1),
}
every_space = pytest.mark.parametrize("space", OUTPUTS)


@pytest.fixture(scope="module")
def fitted():
    """name of a space -> a predictor that has learned."""
    return {
        space: sk.StructuredPredictor(space, random_state=0).fit(_X, y)
        for space, y in OUTPUTS.items()
    }


def said(rng, few=3, n=25, dim=4):
    """Means of members that know something, truths, and weights of rows, some of them 0."""
    truth = np.eye(dim)[rng.randint(dim, size=n)]
    means = rng.dirichlet(np.ones(dim), (few, n))
    share = rng.rand(few, 1, 1)
    weight = rng.exponential(size=n) * (rng.rand(n) < 0.8)
    return share * truth + (1.0 - share) * means, truth, weight


class TestWeights:
    @pytest.mark.parametrize("seed", range(6))
    def test_are_those_of_the_literal_formula(self, seed):
        rng = np.random.RandomState(seed)
        means, truth, weight = said(rng, few=2 + seed % 3)
        rows = [3.0, 25.0, 400.0][seed % 3]
        v = mixing_weights(squared_distance(means, truth, weight), len(means), rows)

        def lost(u):
            return mixing.squared_distance(u, means, truth, weight)

        literal = mixing.mixing_weights(lost, len(means), rows)
        np.testing.assert_allclose(v, literal, atol=2e-4)
        found, best = (mixing.objective(list(u), lost, rows) for u in (v, literal))
        assert found <= best + 1e-6

    def test_distance_and_slope_are_those_of_the_formula(self, rng):
        means, truth, weight = said(rng)
        v, lost = rng.dirichlet(np.ones(3)), squared_distance(means, truth, weight)
        value, slope = lost(v)
        assert value == pytest.approx(mixing.squared_distance(v, means, truth, weight), rel=1e-12)
        for e in range(3):
            u = v.copy()
            u[e] += 1e-6
            assert (lost(u)[0] - value) / 1e-6 == pytest.approx(slope[e], abs=1e-4)

    def test_are_positive_and_sum_to_one_also_of_members_that_are_surely_wrong(self, rng):
        _, truth, weight = said(rng, n=2000)
        wrong = np.roll(truth, 1, axis=1)
        v = mixing_weights(squared_distance(np.array([truth, wrong]), truth, weight), 2, 2000.0)
        assert v.sum() == pytest.approx(1.0) and 0.0 < v[1] < 0.02

    def test_are_equal_if_all_are_right(self, rng):
        _, truth, weight = said(rng)
        v = mixing_weights(squared_distance(np.array([truth] * 3), truth, weight), 3, 25.0)
        np.testing.assert_allclose(v, 1.0 / 3.0)

    def test_of_rows_of_weight_zero_count_for_nothing(self, rng):
        means, truth, weight = said(rng)
        kept = weight > 0.0
        some = squared_distance(means[:, kept], truth[kept], weight[kept])
        v = rng.dirichlet(np.ones(3))
        assert squared_distance(means, truth, weight)(v)[0] == pytest.approx(some(v)[0], rel=1e-12)

    def test_do_not_depend_on_units_of_sample_weight(self):
        y, weight = OUTPUTS["multiclass"], RNG.rand(60) + 0.1
        fits = [
            sk.StructuredPredictor(estimators=[("a", GaussianNB()), ("b", DummyClassifier())])
            .set_params(random_state=0)
            .fit(_X, y, unit * weight)
            for unit in (1.0, 2.0**-10)
        ]
        assert fits[0].weights_[0] == pytest.approx(fits[1].weights_[0], abs=0.02)
        assert fits[0].weights_[0] > 0.75


def forest():
    return RandomForestClassifier(10, random_state=0)


class TestSplits:
    @pytest.mark.parametrize("n", [FEWEST, IN_TURNS - 1, IN_TURNS, 1000])
    def test_hold_out_each_of_few_rows_once_and_a_fifth_of_many(self, n):
        splits = splits_of(np.arange(n) % 4, np.ones(n), np.random.RandomState(0))
        held_out = np.concatenate([part for _, part in splits])
        assert len(set(held_out)) == len(held_out) == (n if n < IN_TURNS else -(-n // PARTS))
        for rest, part in splits:
            np.testing.assert_array_equal(np.sort(np.concatenate([rest, part])), np.arange(n))
            assert set(rest % 4) == set(part % 4) == set(range(4))

    def test_leave_rows_of_weight_zero_to_be_learned(self):
        weight = np.arange(100) % 3.0
        for _, part in splits_of(np.arange(100) % 2, weight, np.random.RandomState(0)):
            assert weight[part].min() > 0.0

    @pytest.mark.parametrize("n", [30, 300])
    def test_every_class_is_learned_in_each(self, n):
        codes = np.concatenate([np.zeros(n, int), [1, 2, 2, 3, 3, 3]])
        for seed in range(20):
            for rest, _ in splits_of(codes, np.ones(len(codes)), np.random.RandomState(seed)):
                assert set(codes[rest]) == {0, 1, 2, 3}

    def test_of_very_few_rows_there_are_none(self):
        assert splits_of(np.zeros(FEWEST - 1, int), np.ones(FEWEST - 1), RNG) == []

    def test_numbers_are_no_classes(self):
        splits = splits_of(np.linspace(0.0, 1.0, 50), np.ones(50), np.random.RandomState(0))
        assert sum(len(part) for _, part in splits) == 50


@slow_as_python
class TestPredictions:
    @every_space
    def test_are_means_of_members_mixed(self, fitted, space):
        model = fitted[space]
        mean = sum(
            v * member.predict_mean(_X)
            for v, member in zip(model.weights_, model.estimators_, strict=True)
        )
        np.testing.assert_allclose(model.predict_mean(_X), mean, atol=1e-12)
        nearest = model.space_.decode(model.space_.nearest(mean))
        np.testing.assert_array_equal(model.predict(_X), nearest)

    @every_space
    def test_are_better_than_chance_and_the_same_in_chunks(self, fitted, space):
        model, y = fitted[space], OUTPUTS[space]
        assert model.score(_X, y) > 0.8
        parts = [model.predict_mean(_X[i : i + 7]) for i in range(0, 60, 7)]
        np.testing.assert_allclose(np.concatenate(parts), model.predict_mean(_X), atol=1e-12)

    @every_space
    def test_survive_pickles_and_copies(self, fitted, space):
        model = fitted[space]
        for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            np.testing.assert_array_equal(other.predict_mean(_X), model.predict_mean(_X))
            np.testing.assert_array_equal(other.weights_, model.weights_)

    @every_space
    def test_are_the_same_of_the_same_seed(self, fitted, space):
        again = clone(fitted[space]).fit(_X, OUTPUTS[space])
        np.testing.assert_array_equal(again.weights_, fitted[space].weights_)
        np.testing.assert_array_equal(again.predict_mean(_X), fitted[space].predict_mean(_X))

    def test_probabilities_are_mixed(self, fitted):
        model = fitted["multiclass"]
        mixture = sum(
            v * member.predict_proba(_X)
            for v, member in zip(model.weights_, model.estimators_, strict=True)
        )
        np.testing.assert_allclose(model.predict_proba(_X), mixture, atol=1e-12)
        np.testing.assert_allclose(model.predict_log_proba(_X), np.log(mixture), atol=1e-9)

    def test_have_no_scores(self, fitted):
        for name in ("embedding_scores", "decision_function"):
            assert not hasattr(fitted["multiclass"], name)

    def test_go_by_costs(self):
        y = np.array(["ill", "well"])[(_X[:, 0] + RNG.randn(60) > -1.0).astype(int)]
        costs = [[0, 50], [1, 0]]  # "well" of the ill costs 50
        model = sk.StructuredPredictor(sk.spaces.Simplex(costs), random_state=0).fit(_X, y)
        p = model.predict_proba(_X)
        expected = np.where(50.0 * p[:, 0] > p[:, 1], "ill", "well")
        np.testing.assert_array_equal(model.predict(_X), expected)
        assert np.mean(expected == "ill") > np.mean(y == "ill")

    def test_label_sets_for_f1(self):
        y = OUTPUTS["multilabel"]
        plain = sk.StructuredPredictor("multilabel", random_state=0)
        scorer = make_scorer(f1_score, average="samples", zero_division=1.0)
        scores = cross_val_score(plain, _X, y, scoring=scorer, cv=2)
        assert np.all(scores > 0.3)
        model = sk.StructuredPredictor("multilabel", decoder="f1", random_state=0).fit(_X, y)
        best = sk.decoders.ExpectedF1().most_likely(None, model.predict_mean(_X), model.loss_)
        np.testing.assert_array_equal(model.predict(_X), best)

    @pytest.mark.parametrize("decoder", ["map", "gap"])
    def test_decoders_of_scores_are_refused(self, decoder):
        with pytest.raises(ValueError, match="needs scores"):
            sk.StructuredPredictor(decoder=decoder).fit(_X, OUTPUTS["multiclass"])


@slow_as_python
class TestMembers:
    def test_have_learned_all_rows_by_themselves(self, fitted):
        model = fitted["multiclass"]
        for member in model.estimators_:
            alone = clone(member).fit(_X, OUTPUTS["multiclass"])
            np.testing.assert_array_equal(alone.predict_mean(_X), member.predict_mean(_X))
        assert list(model.named_estimators_) == ["linear", "rbf", "laplacian", "arc-cosine"]

    def test_weights_and_scores_are_of_rows_that_others_held_out(self):
        y = OUTPUTS["multiclass"]
        members = [("line", LogisticRegression()), ("forest", forest())]
        weight = RNG.rand(60)
        model = sk.StructuredPredictor(estimators=members, random_state=3).fit(_X, y, weight)
        splits = splits_of(y, weight, np.random.RandomState(3))
        held_out = np.concatenate([part for _, part in splits])
        means = [
            np.concatenate([
                clone(member).fit(_X[rest], y[rest], weight[rest]).predict_proba(_X[part])
                for rest, part in splits
            ])
            for _, member in members
        ]  # fmt: skip
        at, truth = weight[held_out], np.eye(3)[y[held_out]]

        def lost(v):
            return mixing.squared_distance(v, means, truth, at)

        literal = mixing.mixing_weights(lost, 2, at.sum() ** 2 / (at**2).sum())
        np.testing.assert_allclose(model.weights_, literal, atol=2e-4)
        right = [np.average(mean.argmax(axis=1) == y[held_out], weights=at) for mean in means]
        np.testing.assert_allclose(model.validation_scores_, right, atol=1e-12)

    def test_class_weights_count_of_members_and_of_rows_held_out(self):
        y = OUTPUTS["multiclass"]
        given = {0: 1.0, 1: 20.0, 2: 0.5}
        weight = np.array([given[label] for label in y])
        first = sk.StructuredPredictor(class_weight=given, random_state=0).fit(_X, y)
        second = sk.StructuredPredictor(random_state=0).fit(_X, y, weight)
        np.testing.assert_allclose(first.weights_, second.weights_, atol=1e-6)
        np.testing.assert_allclose(first.predict_mean(_X), second.predict_mean(_X), atol=1e-6)

    def test_that_are_given_may_be_pipelines_and_strings_classes(self):
        X, y = load_wine(return_X_y=True)
        y = np.array(["barolo", "grignolino", "barbera"])[y]
        members = [("line", make_pipeline(StandardScaler(), LogisticRegression()))]
        members += [("kernel", sk.KernelStructuredPredictor(random_state=0)), ("trees", forest())]
        model = sk.StructuredPredictor(estimators=members, random_state=0).fit(X[::2], y[::2])
        assert model.score(X[1::2], y[1::2]) > 0.95

    def test_of_few_rows_are_weighed_alike(self):
        model = sk.StructuredPredictor(random_state=0).fit(_X[:15], OUTPUTS["multiclass"][:15])
        np.testing.assert_array_equal(model.weights_, np.full(4, 0.25))
        assert np.isnan(model.validation_scores_).all()

    def test_beyond_the_cache_are_random_features(self):
        y = OUTPUTS["multiclass"]
        model = sk.StructuredPredictor(cache_size=0.01, random_state=0).fit(_X, y)
        kinds = [member.approximation for member in model.estimators_[1:]]
        assert kinds == ["fourier", "fourier", "relu"] and model.score(_X, y) > 0.8
        exact = sk.StructuredPredictor(cache_size=4 * 60**2 / 2**20, random_state=0).fit(_X, y)
        assert [member.approximation for member in exact.estimators_[1:]] == ["none"] * 3

    def test_of_wide_sparse_rows_are_the_line_alone(self):
        X = sparse.random(30, 5000, 0.01, "csr", random_state=0)
        model = sk.StructuredPredictor(random_state=0).fit(X, np.arange(30) % 2)
        assert list(model.named_estimators_) == ["linear"] and model.weights_ == [1.0]

    def test_of_sequences_are_the_line_alone(self, rng):
        X = [rng.randn(length, 3) for length in [0] + [4] * 30]
        y = [(x[:, 0] > 0).astype(int) for x in X]
        model = sk.StructuredPredictor("sequence", random_state=0).fit(X[1:], y[1:])
        assert list(model.named_estimators_) == ["linear"] and model.score(X[1:], y[1:]) > 0.9
        np.testing.assert_array_equal(np.concatenate(model.predict(X)), np.concatenate(
            model.estimators_[0].predict(X)
        ))  # fmt: skip

    @pytest.mark.parametrize(
        ("given", "what"),
        [
            ("best", "list of .name, estimator. pairs"),
            ([], "list of .name, estimator. pairs"),
            ([sk.OnlineStructuredPredictor()], "list of .name, estimator. pairs"),
            ([("a", forest()), ("a", forest())], "Names of estimators must differ"),
        ],
    )
    def test_that_are_none_are_refused(self, given, what):
        with pytest.raises(ValueError, match=what):
            sk.StructuredPredictor(estimators=given).fit(_X, OUTPUTS["multiclass"])

    def test_without_means_are_refused(self):
        members = [("a", Ridge()), ("b", Ridge())]
        with pytest.raises(ValueError, match="must have predict_mean"):
            sk.StructuredPredictor("ranking", estimators=members).fit(_X, OUTPUTS["ranking"])

    def test_errors_name_rows_of_x_and_leave_the_model_as_it_was(self, fitted):
        model, y = clone(fitted["multiclass"]).fit(_X, OUTPUTS["multiclass"]), OUTPUTS["multiclass"]
        before = model.predict_mean(_X)
        bad = _X.copy()
        bad[41, 2] = np.inf
        with pytest.raises(ValueError, match="Row 41|infinity"):
            model.fit(bad, y)
        np.testing.assert_array_equal(model.predict_mean(_X), before)

    def test_are_reached_by_searches(self):
        members = [("kernel", sk.KernelStructuredPredictor(random_state=0)), ("trees", forest())]
        model = sk.StructuredPredictor(estimators=members, random_state=0)
        grid = {"space": ["multiclass"], "decoder": ["nearest", "min_risk"]}
        X, y = load_iris(return_X_y=True)
        assert GridSearchCV(model, grid, cv=2).fit(X, y).best_score_ > 0.9


@slow_as_python
class TestRegressor:
    def test_weights_lose_least_by_the_loss(self):
        X, y = load_diabetes(return_X_y=True)
        X, y, weight = X[:120], y[:120], RNG.rand(120)
        members = [("line", Ridge(0.1)), ("other", sk.PiSTOLRegressor("rbf", random_state=0))]
        model = sk.StructuredRegressor(members, loss="quantile", quantile=0.8, random_state=1)
        model.fit(X, y, weight)
        splits = splits_of(y, weight, np.random.RandomState(1))
        held_out = np.concatenate([part for _, part in splits])
        told = np.array([
            np.concatenate([
                clone(member).fit(X[rest], y[rest], weight[rest]).predict(X[part])
                for rest, part in splits
            ])
            for _, member in members
        ])  # fmt: skip
        at, truth = weight[held_out], y[held_out]

        def lost(v):
            residual = truth - v @ told
            return np.average(np.maximum(0.8 * residual, -0.2 * residual), weights=at)

        rows = at.sum() ** 2 / (at**2).sum()
        literal = mixing.mixing_weights(lambda v: lost(np.array(v)), 2, rows)
        found, best = (mixing.objective(list(v), lambda u: lost(np.array(u)), rows)
                       for v in (model.weights_, literal))  # fmt: skip
        assert found <= best + 1e-4
        np.testing.assert_allclose(model.weights_, literal, atol=0.01)

    def test_predictions_are_those_of_members_mixed(self):
        X, y = load_diabetes(return_X_y=True)
        model = sk.StructuredRegressor(random_state=0).fit(X[:300], y[:300])
        mixture = sum(
            v * member.predict(X)
            for v, member in zip(model.weights_, model.estimators_, strict=True)
        )
        np.testing.assert_allclose(model.predict(X), mixture, rtol=1e-12)
        assert model.score(X[300:], y[300:]) > 0.4
        assert model.validation_scores_.max() > 0.3

    def test_quantiles_are_where_so_many_are_below(self):
        X, y = load_diabetes(return_X_y=True)
        model = sk.StructuredRegressor(loss="quantile", quantile=0.9, random_state=0)
        below = model.fit(X[:300], y[:300]).predict(X[300:]) > y[300:]
        assert 0.8 < below.mean() < 0.98

    def test_beyond_the_cache_are_random_features(self, rng):
        X = rng.randn(300, 3)
        y = np.sin(3.0 * X[:, 0])
        model = sk.StructuredRegressor(cache_size=0.01, random_state=0).fit(X, y)
        *models, trees = model.estimators_
        assert [one.approximation for one in models] == ["none", "fourier", "fourier", "relu"]
        assert isinstance(trees, QuantileTrees) and not trees.bootstrap
        assert model.score(X, y) > 0.8

    def test_units_of_y_do_not_matter(self):
        X, y = load_diabetes(return_X_y=True)
        first, second = (
            sk.StructuredRegressor(random_state=0).fit(X[:100], unit * y[:100] + 7.0 * (unit > 1))
            for unit in (1.0, 1024.0)
        )
        np.testing.assert_allclose(first.weights_, second.weights_, atol=1e-3)

    def test_bad_losses_are_refused(self):
        with pytest.raises(ValueError, match="loss must be one of"):
            sk.StructuredRegressor(loss="square").fit(_X, _X[:, 0])


class TestTrees:
    def test_predict_the_quantile_of_trees(self, rng):
        X, y = rng.randn(60, 3), rng.randn(60)
        model = QuantileTrees(0.3, random_state=0).fit(X, y)
        each = np.array([tree.predict(model._units(X)) for tree in model.estimators_])
        np.testing.assert_allclose(model.predict(X), np.quantile(each, 0.3, axis=0))

    def test_of_many_rows_each_learns_some(self, rng, monkeypatch):
        monkeypatch.setattr("skstructured.estimators._trees.MOST", 20)
        X = rng.randn(60, 3)
        model = QuantileTrees(random_state=0).fit(X, X[:, 0])
        assert model.bootstrap and model.max_samples == 20
        assert all(tree.tree_.n_node_samples[0] <= 20 for tree in model.estimators_)
        assert not QuantileTrees().fit(X[:20], X[:20, 0]).bootstrap

    @pytest.mark.parametrize("unit", [1e-60, 1.0, 1e40])
    def test_units_of_features_do_not_matter(self, unit, rng):
        X, y = np.column_stack([rng.randn(80, 2), np.ones(80), np.full(80, np.nan)]), rng.randn(80)
        wanted = QuantileTrees(random_state=0).fit(X, y).predict(X)
        found = QuantileTrees(random_state=0).fit(unit * X, y).predict(unit * X)
        np.testing.assert_allclose(found, wanted, atol=0.05)
        far = QuantileTrees(random_state=0).fit(X, y).predict(1e90 * X)
        assert np.isfinite(far).all()

    def test_outliers_do_not_move_the_median(self, rng):
        X = rng.rand(400, 2)
        y = X[:, 0] + 1000.0 * (rng.rand(400) < 0.1)
        missed = QuantileTrees(random_state=0).fit(X, y).predict(X[:, ::-1]) - X[:, 1]
        assert np.median(np.abs(missed)) < 0.1


class TestShortly:
    """What every room's own tests pass through, also line by line."""

    def test_a_predictor_mixes_means_and_goes_on(self):
        X, y = _X[:24], OUTPUTS["multiclass"][:24]
        members = [
            ("line", sk.OnlineStructuredPredictor(max_iter=1, random_state=0)),
            ("again", sk.OnlineStructuredPredictor(max_iter=2, random_state=0)),
        ]
        model = sk.StructuredPredictor(estimators=members, random_state=0).fit(X, y)
        mean = sum(
            v * member.predict_mean(X)
            for v, member in zip(model.weights_, model.estimators_, strict=True)
        )
        np.testing.assert_allclose(model.predict_proba(X), mean, atol=1e-12)
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), mean, atol=1e-12)
        assert 0.0 <= model.validation_score_ <= 1.0 and not hasattr(model, "decision_function")
        model.partial_fit(X[:2], y[:2])

    def test_a_regressor_mixes_predictions(self):
        X, y = _X[:24], _X[:24] @ np.arange(4.0)
        members = [(str(n), sk.PiSTOLRegressor(max_iter=n, random_state=0)) for n in (1, 2)]
        model = sk.StructuredRegressor(members, random_state=0).fit(X, y)
        pairs = zip(model.weights_, model.estimators_, strict=True)
        mixture = sum(v * member.predict(X) for v, member in pairs)
        np.testing.assert_allclose(model.predict(X), mixture, rtol=1e-12)

    def test_members_of_auto_are_made_for_rows(self):
        kinds = sk.StructuredPredictor(cache_size=0.0)
        kinds.random_state_ = np.random.RandomState(0)
        kinds.space_ = None
        names = [name for name, _ in kinds._default_members(_X, kinds.random_state_)]
        assert names == ["linear", "rbf", "laplacian", "arc-cosine"]
        rng, sparse_rows = np.random.RandomState(0), sparse.csr_matrix(_X)
        for given, X, more in (
            ({}, _X, ["trees"]),
            ({"loss": "quantile"}, _X, ["trees"]),
            ({}, sparse_rows, []),
        ):
            numbers = sk.StructuredRegressor(**given)._default_members(X, rng)
            assert [name for name, _ in numbers] == names + more
        assert numbers[0][0] == "linear"
        high = sk.StructuredRegressor(loss="quantile", quantile=0.9)._default_members(_X, rng)
        assert dict(high)["trees"].quantile == 0.9
