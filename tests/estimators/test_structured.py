"""`StructuredPredictor` after `fit`: members, weights and predictions."""

import copy
import pickle
import re
from functools import cache

import numpy as np
import pytest
from conftest import INTERPRETED
from naive import mixing
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import f1_score, log_loss, make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skstructured as sk
from skstructured.decoders import resolve_decoder
from skstructured.estimators.mixture import _mixture, _training
from skstructured.estimators.mixture._minimizer import LossMinimizer
from skstructured.estimators.mixture._ridge import KernelRidge
from skstructured.estimators.mixture._training import FEWEST_GROUPS, FEWEST_ROWS, draw_folds
from skstructured.estimators.mixture._weights import mixing_weights
from skstructured.losses import FenchelYoung
from skstructured.spaces import Simplex

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
CLASSES = OUTPUTS["multiclass"]
SIX = ["linear", "arc-cosine", "laplacian", "rbf", "boosting", "trees"]
OF_SPARSE = [name for name in SIX if name != "boosting"]


def without_boosting(model):
    """Names of members; boosting is among them only if it is worth it."""
    return [name for name in model.named_estimators_ if name != "boosting"]


def every_space(test):
    """A test of each space; only some are compiled shortly."""
    test = pytest.mark.short("multiclass", "ordinal", "ranking")(test)
    return pytest.mark.parametrize("space", OUTPUTS)(test)


@cache
def fitted(space="multiclass"):
    """A predictor that has learned `_X`; tests must not change it."""
    return sk.StructuredPredictor(space, random_state=0).fit(_X, OUTPUTS[space])


def quick():
    """Members that are not compiled."""
    return [("line", LogisticRegression()), ("bayes", GaussianNB())]


def given(**more):
    return sk.StructuredPredictor(estimators=quick(), **({"random_state": 0} | more))


@slow_as_python
class TestPredictions:
    @every_space
    def test_are_of_scores_of_members_mixed(self, space):
        model = fitted(space)
        assert without_boosting(model) == OF_SPARSE
        X = _X[:20] + 0.1
        theta = mixing.mixed_scores(model, _X, X)
        np.testing.assert_allclose(model.embedding_scores(X), theta, rtol=1e-6, atol=1e-6)
        mean = FenchelYoung(model.space_).mean(model.embedding_scores(X))
        np.testing.assert_allclose(model.predict_mean(X), mean, atol=1e-9)
        nearest = model.space_.decode(model.space_.nearest(mean))
        np.testing.assert_array_equal(model.predict(X), nearest)

    @every_space
    def test_are_better_than_chance_and_the_same_in_chunks(self, space, monkeypatch):
        model, y = fitted(space), OUTPUTS[space]
        assert model.score(_X, y) > 0.8
        whole = model.predict_mean(_X)
        parts = [model.predict_mean(_X[i : i + 7]) for i in range(0, 60, 7)]
        np.testing.assert_allclose(np.concatenate(parts), whole, atol=1e-9)
        monkeypatch.setattr(_training, "ROWS_AT_ONCE", 13)
        np.testing.assert_allclose(model.predict_mean(_X), whole, atol=1e-9)

    @every_space
    def test_survive_pickles_and_copies(self, space):
        model = fitted(space)
        for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            np.testing.assert_array_equal(other.predict_mean(_X), model.predict_mean(_X))
            np.testing.assert_array_equal(other.weights_, model.weights_)

    @every_space
    def test_are_the_same_of_the_same_seed_and_of_more_threads(self, space):
        again = clone(fitted(space)).set_params(n_jobs=2).fit(_X, OUTPUTS[space])
        np.testing.assert_allclose(again.weights_, fitted(space).weights_, rtol=1e-9)
        wanted = fitted(space).predict_mean(_X)
        np.testing.assert_allclose(again.predict_mean(_X), wanted, atol=1e-9)

    @every_space
    def test_rows_of_weight_zero_change_nothing(self, space):
        y = OUTPUTS[space]
        more, weight = np.vstack([_X, 3.0 - _X[:12]]), np.r_[np.ones(60), np.zeros(12)]
        model = sk.StructuredPredictor(space, n_landmarks=40, random_state=0)
        model.fit(more, np.concatenate([y, y[:12]]), weight)
        np.testing.assert_allclose(model.weights_, fitted(space).weights_, rtol=1e-9)
        wanted = fitted(space).embedding_scores(_X)
        np.testing.assert_allclose(model.embedding_scores(_X), wanted, atol=1e-9)

    @every_space
    def test_are_close_to_exact_ones_in_the_span_of_landmarks(self, space):
        y = OUTPUTS[space]
        model = sk.StructuredPredictor(space, n_landmarks=30, random_state=0).fit(_X, y)
        assert sorted(without_boosting(model)) == sorted(OF_SPARSE)
        assert isinstance(model.named_estimators_["arc-cosine"], LossMinimizer)
        assert isinstance(model.named_estimators_["laplacian"], KernelRidge)
        assert len(model.named_estimators_["rbf"].kernel.Z) == 30
        assert model.score(_X, y) > 0.8
        exact, close = (one.predict_mean(_X).ravel() for one in (fitted(space), model))
        assert np.corrcoef(exact, close)[0, 1] > 0.95

    def test_probabilities_and_functions_are_of_scores(self):
        model = fitted()
        theta = model.embedding_scores(_X)
        p = np.exp(theta) / np.exp(theta).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.predict_proba(_X), p, atol=1e-12)
        np.testing.assert_allclose(model.predict_log_proba(_X), np.log(p), atol=1e-9)
        np.testing.assert_array_equal(model.decision_function(_X), theta)

    def test_functions_of_two_classes_are_logits(self):
        model = given().fit(_X, CLASSES > 0)
        p = model.predict_proba(_X)
        logits = np.log(p[:, 1] / p[:, 0])
        np.testing.assert_allclose(model.decision_function(_X), logits, atol=1e-9)

    def test_functions_of_ordered_classes_are_logarithms_of_probabilities(self):
        model = fitted("ordinal")
        logs = model.predict_log_proba(_X)
        np.testing.assert_allclose(np.exp(logs), model.predict_proba(_X), atol=1e-12)
        is_large = model.predict_proba(_X) > 1e-6  # others are rounded differences
        expected = np.log(model.predict_proba(_X)[is_large])
        np.testing.assert_allclose(logs[is_large], expected, atol=1e-9)
        np.testing.assert_allclose(model.decision_function(_X), logs, atol=1e-6)

    def test_go_by_costs(self):
        y = np.array(["ill", "well"])[(_X[:, 0] + RNG.randn(60) > -1.0).astype(int)]
        costs = [[0, 50], [1, 0]]  # "well" of the ill costs 50
        model = given(space=Simplex(costs)).fit(_X, y)
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
        noise = (np.random.RandomState(1).random_sample((60, 3)) < 0.35).astype(int)
        plain.fit(_X, noise)
        model = copy.copy(plain).set_params(decoder="f1")
        best = sk.decoders.ExpectedF1().most_likely(None, model.predict_mean(_X), model.loss_)
        np.testing.assert_array_equal(model.predict(_X), best)
        assert np.any(best != plain.predict(_X))

    @pytest.mark.parametrize("space", ["multiclass", "ranking"])
    def test_the_decoder_of_the_best_score_takes_it(self, space):
        model = copy.copy(fitted(space)).set_params(decoder="map")
        theta = model.embedding_scores(_X)
        best = theta.argmax(axis=1) if space == "multiclass" else theta.argsort(1).argsort(1) + 1
        np.testing.assert_array_equal(model.predict(_X), best)

    def test_the_decoder_of_gaps_has_scores(self):
        model = given(decoder="gap").fit(_X, CLASSES)
        loss, theta = model.loss_, model.embedding_scores(_X)
        wanted = resolve_decoder("gap").expected_vertex(theta, loss.mean(theta), loss)
        np.testing.assert_allclose(model.decoding_proba(_X), wanted, atol=1e-12)
        assert model.score(_X, CLASSES) > 0.8

    def test_missing_values_are_learned_and_predicted(self):
        X = _X.copy()
        X[::5, 1] = np.nan
        for missing in ("mean", "indicator"):
            model = sk.StructuredPredictor(missing=missing, random_state=0).fit(X, CLASSES)
            assert model.score(X, CLASSES) > 0.9 and np.isfinite(model.predict_proba(X)).all()
        with pytest.raises(ValueError, match="NaN"):
            model.set_params(missing="error").fit(X, CLASSES)

    def test_sets_of_rankings_cover(self, rng):
        X = rng.randn(300, 4)
        y = np.argsort(np.argsort(X[:, :3] + 0.5 * rng.randn(300, 3), axis=1), axis=1) + 1
        sets = sk.PredictionSets(
            sk.StructuredPredictor("ranking", random_state=0), alpha=0.2, random_state=0
        )
        sets.fit(X[:120], y[:120])
        assert 0.7 < np.mean(sets.covered(X[120:], y[120:])) < 0.97


class TestWeights:
    def test_and_held_out_scores_are_those_of_honest_scores(self, rng):
        members, weight = quick(), rng.rand(60) + 0.1
        model = given(random_state=3).fit(_X, CLASSES, weight)
        loss, V = FenchelYoung(Simplex().fit(CLASSES)), np.eye(3)[CLASSES]
        weight = weight / weight.mean()
        parts = draw_folds(np.arange(60), np.random.RandomState(3), CLASSES)
        honest = mixing.honest_scores(
            members, _X, CLASSES, weight, parts, lambda one: loss.link(one.predict_proba(_X))
        )
        weight = weight * mixing.effective(weight, range(60)) / 60
        mean = np.average(V, axis=0, weights=weight)
        a, b = mixing_weights(honest, V, weight, mean, loss, 2.0)
        np.testing.assert_allclose(model.weights_, a, rtol=1e-3)
        np.testing.assert_allclose(model.intercept_, b, atol=1e-3)

        def right(theta):
            return np.average(theta.argmax(axis=1) == CLASSES, weights=weight)

        each = [right(mixing.alone(mixing_weights, one, V, weight, loss, 2.0)) for one in honest]
        np.testing.assert_allclose(model.validation_scores_, each, atol=1e-12)
        both = right(mixing.halves(mixing_weights, honest, V, weight, loss, 2.0))
        assert model.validation_score_ == pytest.approx(both, abs=1e-12)

    def test_know_the_mean_of_all_rows(self, rng, monkeypatch):
        means, solve, weight = [], _mixture.mixing_weights, rng.rand(60) + 0.1

        def spied(scores, V, weight, mean, *more):
            means.append(mean)
            return solve(scores, V, weight, mean, *more)

        monkeypatch.setattr(_mixture, "mixing_weights", spied)
        monkeypatch.setattr(_training, "MOST_HELD_OUT", 40)
        given().fit(_X, CLASSES, weight)
        wanted = np.average(np.eye(3)[CLASSES], axis=0, weights=weight)
        np.testing.assert_allclose(means, np.tile(wanted, (5, 1)))  # two members, halves, and all

    def test_do_not_depend_on_units_of_sample_weight(self, rng):
        weight = rng.rand(60) + 0.1
        first, second = (given().fit(_X, CLASSES, unit * weight) for unit in (1.0, 2.0**-10))
        np.testing.assert_allclose(first.weights_, second.weights_, rtol=1e-6)
        np.testing.assert_allclose(first.intercept_, second.intercept_, atol=1e-6)

    def test_of_classes_count_for_members_and_for_their_weights(self):
        shares = {0: 1.0, 1: 20.0, 2: 0.5}
        weight = np.array([shares[label] for label in CLASSES])
        first = given(class_weight=shares).fit(_X, CLASSES)
        second = given().fit(_X, CLASSES, weight)
        np.testing.assert_allclose(first.weights_, second.weights_, rtol=1e-9)
        np.testing.assert_allclose(first.predict_mean(_X), second.predict_mean(_X), atol=1e-9)
        plain = given().fit(_X, CLASSES)
        assert np.abs(first.weights_ - plain.weights_).max() > 0.01

    @slow_as_python
    def test_of_classes_count_for_members_of_auto(self):
        shares = {0: 1.0, 1: 20.0, 2: 0.5}
        weight = np.array([shares[label] for label in CLASSES])
        first = sk.StructuredPredictor(class_weight=shares, random_state=0).fit(_X, CLASSES)
        second = sk.StructuredPredictor(random_state=0).fit(_X, CLASSES, weight)
        np.testing.assert_allclose(first.weights_, second.weights_, rtol=1e-6)
        np.testing.assert_allclose(first.predict_mean(_X), second.predict_mean(_X), atol=1e-6)
        first, second = (one.predict_proba(_X)[:, 1].mean() for one in (first, fitted()))
        assert first > second

    def test_of_other_members_are_equal_with_very_few_rows(self):
        few = slice(FEWEST_ROWS - 1)
        model = given().fit(_X[few], CLASSES[few])
        np.testing.assert_array_equal(model.weights_, [0.5, 0.5])
        assert np.all(model.intercept_ == 0.0) and np.isnan(model.validation_scores_).all()
        assert np.isnan(model.validation_score_)
        more = given().fit(_X[:FEWEST_ROWS], CLASSES[:FEWEST_ROWS])
        assert np.isfinite(more.validation_scores_).all() and more.weights_[0] != 0.5

    @pytest.mark.parametrize("kind", ["weights", "copies"])
    def test_few_effective_rows_are_few(self, kind):
        rows, weight = np.arange(FEWEST_ROWS), np.ones(FEWEST_ROWS)
        if kind == "weights":
            weight[0] = 3.0
        else:
            rows[-1] = 0
        model = given().fit(_X[rows], CLASSES[rows], weight)
        assert np.isnan(model.validation_score_)

    @pytest.mark.parametrize(
        ("landmarks", "most", "n_judged", "n_reserved"),
        [(40, 99, 60, None), (39, 99, 30, 30), (12, 99, 48, 12), (12, 20, 20, 12)],
    )
    def test_rows_are_reserved_if_there_are_many(
        self, landmarks, most, n_judged, n_reserved, monkeypatch
    ):
        """As many as landmarks, and at most half of all, learn the stretch of features."""
        monkeypatch.setattr(_training, "MOST_HELD_OUT", most)
        model = sk.StructuredPredictor(n_landmarks=landmarks)
        packed, weight = model._start(CLASSES, None)
        model.random_state_ = np.random.RandomState(0)
        training = model._training(_X, CLASSES, packed, weight, None, alone=False)
        assert len(training.judged) == n_judged
        if n_reserved is None:
            assert training.reserved is None
        else:
            assert len(set(training.reserved)) == n_reserved
            assert (training.parts[training.reserved] < 0).all()

    @pytest.mark.parametrize("n_groups", [FEWEST_GROUPS - 1, FEWEST_GROUPS, 20])
    def test_groups_are_left_out_as_a_whole_if_there_are_ten(self, n_groups, rng):
        names, model = np.repeat(np.arange(n_groups), 3), given()
        rows, codes = rng.randn(3 * n_groups, 4), np.repeat(np.arange(n_groups) % 2, 3)
        packed, weight = model._start(codes, None)
        model.random_state_ = np.random.RandomState(0)
        training = model._training(rows, codes, packed, weight, names, alone=False)
        if n_groups < FEWEST_GROUPS:
            assert len(training.judged) == 0
        else:
            parts = draw_folds(names, np.random.RandomState(0), codes)
            np.testing.assert_array_equal(training.parts, parts)

    def test_the_effective_number_of_groups_goes_by_their_weights(self, rng):
        weight, names, model = rng.rand(20) + 0.1, np.repeat(np.arange(20), 3), given()
        packed, each = model._start(CLASSES, np.repeat(weight, 3))
        model.random_state_ = np.random.RandomState(0)
        training = model._training(_X, CLASSES, packed, each, names, alone=False)
        assert training.effective_share == pytest.approx(mixing.effective(weight, range(20)) / 20)

    def test_of_few_rows_are_small_and_of_bounded_scores(self):
        model = sk.StructuredPredictor()
        model.loss_ = FenchelYoung(Simplex().fit(CLASSES))
        model.random_state_ = np.random.RandomState(0)
        names, members = zip(*model._members(_X), strict=True)
        packed, weight = model._start(CLASSES, None)
        for factor in (1.0, 5.0):
            weight = np.where(CLASSES == 0, factor, 1.0)
            training = model._training(_X, CLASSES, packed, weight, None, alone=True)
            weights, b = model._weights_of_few(members, training)
            wanted = dict.fromkeys(names, 0.0) | {"rbf": 0.1, "trees": 0.1}
            assert dict(zip(names, weights, strict=True)) == wanted
            means = [
                np.append(training.V, [np.full(3, 1.0 / 3.0)], axis=0).T @ np.append(w, 1.0) / 61.0
                for w in (training.weight, np.ones(60))
            ]
            literal = np.subtract(*model.loss_.link(np.array(means)))
            np.testing.assert_allclose(b, literal, atol=1e-12)
            assert (b[0] > 0.5) == (factor > 1.0)

    @slow_as_python
    @pytest.mark.parametrize("n", [6, 10, 14, 19])
    def test_few_rows_of_noise_have_modest_probabilities(self, n):
        """Whoever knows nothing has a log-loss of ln 2 = .693."""
        losses = []
        for seed in range(8):
            rng = np.random.RandomState(seed)
            y, y_test = np.r_[0, 1, rng.randint(2, size=n - 2)], rng.randint(2, size=500)
            model = sk.StructuredPredictor(random_state=seed).fit(rng.randn(n, 4), y)
            np.testing.assert_array_equal(model.weights_, [0.0, 0.0, 0.0, 0.1, 0.1])
            losses.append(log_loss(y_test, model.predict_proba(rng.randn(500, 4))))
        assert np.mean(losses) < 0.705

    @slow_as_python
    def test_few_rows_with_a_signal_are_learned(self):
        model = sk.StructuredPredictor(random_state=0).fit(_X[:15], CLASSES[:15])
        assert model.score(_X[:15], CLASSES[:15]) > 0.8

    def test_rows_of_weight_zero_are_neither_learned_nor_judged(self, rng):
        weight = np.r_[rng.rand(60) + 0.1, np.zeros(40)]
        X, y = np.vstack([_X, 5.0 * rng.randn(40, 4)]), np.r_[CLASSES, rng.randint(3, size=40)]
        order = rng.permutation(100)
        kept = order[order < 60]
        first = given().fit(X[order], y[order], weight[order])
        second = given().fit(X[kept], y[kept], weight[kept])
        np.testing.assert_array_equal(first.weights_, second.weights_)
        np.testing.assert_array_equal(first.validation_scores_, second.validation_scores_)
        np.testing.assert_array_equal(first.predict_proba(_X), second.predict_proba(_X))


class TestClasses:
    def test_of_one_row_are_learned(self):
        y = np.array(["a", "b", "c"])[CLASSES]
        y[5] = "d"
        model = given().fit(_X, y)
        assert list(model.classes_) == ["a", "b", "c", "d"] and model.predict_proba(_X)[5, 3] > 0.1
        assert 0.5 < model.validation_score_ < 1.0

    @pytest.mark.parametrize("few", [2, 3])
    def test_parts_may_hold_one_class(self, few):
        y = np.zeros(60, int)
        y[:few] = 1
        model = given().fit(_X, y)
        assert np.isfinite(model.predict_proba(_X)).all() and model.score(_X, y) > 0.8

    @slow_as_python
    def test_of_one_row_and_parts_of_one_class_with_members_of_auto(self):
        for y in (np.where(np.arange(60) == 5, 3, CLASSES), np.arange(60) // 58):
            model = sk.StructuredPredictor(random_state=0).fit(_X, y)
            assert model.score(_X, y) > 0.9 and np.isfinite(model.embedding_scores(_X)).all()

    def test_a_single_one_is_refused(self):
        with pytest.raises(ValueError, match="at least two classes"):
            given().fit(_X, np.zeros(60, int))


class TestMembers:
    def test_have_learned_all_rows_by_themselves(self):
        members = fitted().named_estimators_
        for name in ("arc-cosine", "laplacian", "rbf"):
            assert len(members[name].kernel.Z) == 60
        assert members["linear"].coef_.shape == (3, 4)

    @slow_as_python
    def test_may_be_pipelines_and_outputs_strings(self):
        X, y = load_wine(return_X_y=True)
        y = np.array(["barolo", "grignolino", "barbera"])[y]
        members = [("line", make_pipeline(StandardScaler(), LogisticRegression()))]
        members += [("kernel", sk.KernelStructuredPredictor(random_state=0))]
        members += [("trees", RandomForestClassifier(10, random_state=0))]
        model = sk.StructuredPredictor(estimators=members, random_state=0).fit(X[::2], y[::2])
        assert model.score(X[1::2], y[1::2]) > 0.95

    def test_are_made_for_rows(self, monkeypatch):
        monkeypatch.setattr(sk.StructuredPredictor, "_widest", 3)
        rows = sparse.csr_matrix(_X)
        for X, landmarks, names in (
            (_X, 60, SIX),
            (_X, 40, SIX),
            (_X, 39, ["linear", "arc-cosine", "rbf", "laplacian", "boosting", "trees"]),
            (rows, 60, ["linear"]),
            (rows[:, :3], 60, OF_SPARSE),
            (rows[:, :3], 39, ["linear", "arc-cosine", "rbf", "laplacian", "trees"]),
        ):
            model = sk.StructuredPredictor(n_landmarks=landmarks)
            assert names_of(model, FenchelYoung(Simplex().fit(CLASSES)), X) == names

    @slow_as_python
    def test_of_sparse_rows_are_all_of_them(self):
        rows = sparse.csr_matrix(_X)
        model = sk.StructuredPredictor(random_state=0).fit(rows, CLASSES)
        assert list(model.named_estimators_) == OF_SPARSE and model.score(rows, CLASSES) > 0.9
        np.testing.assert_allclose(model.predict_proba(_X), model.predict_proba(rows), atol=1e-6)

    @slow_as_python
    def test_of_wide_sparse_rows_are_the_line_alone(self):
        X, y = sparse.random(30, 5000, 0.01, "csr", random_state=0), np.arange(30) % 2
        model = sk.StructuredPredictor(random_state=0).fit(X, y)
        assert list(model.named_estimators_) == ["linear"] and model.weights_ == [1.0]
        assert np.isnan(model.validation_score_) and np.all(model.intercept_ == 0.0)
        line = model.estimators_[0]
        np.testing.assert_allclose(model.predict_proba(X), line.predict_proba(X), atol=1e-12)

    @pytest.mark.parametrize(
        ("estimators", "what"),
        [
            ("best", "list of .name, estimator. pairs"),
            ([], "list of .name, estimator. pairs"),
            ([sk.OnlineStructuredPredictor()], "list of .name, estimator. pairs"),
            ([("a", GaussianNB()), ("a", GaussianNB())], "Names of estimators must differ"),
        ],
    )
    def test_that_are_not_pairs_are_refused(self, estimators, what):
        with pytest.raises(ValueError, match=what):
            sk.StructuredPredictor(estimators=estimators).fit(_X, CLASSES)

    def test_of_sequences_are_single(self):
        members = [(name, sk.OnlineStructuredPredictor("sequence")) for name in "ab"]
        X, y = [_X[:3], _X[3:7]], [CLASSES[:3], CLASSES[3:7]]
        with pytest.raises(ValueError, match="over sequences must be a single one"):
            sk.StructuredPredictor("sequence", estimators=members).fit(X, y)

    def test_verbose_is_checked_before_any_learns(self, monkeypatch):
        monkeypatch.setattr(sk.StructuredPredictor, "_members", lambda *_: 1 / 0)
        with pytest.raises(ValueError, match="verbose"):
            sk.StructuredPredictor(verbose=-1).fit(_X, CLASSES)

    def test_without_means_are_refused(self):
        members = [("a", Ridge()), ("b", Ridge())]
        with pytest.raises(ValueError, match="must have embedding_scores or predict_mean"):
            sk.StructuredPredictor("ranking", estimators=members).fit(_X, OUTPUTS["ranking"])

    def test_errors_leave_the_model_as_it_was(self):
        model = given().fit(_X, CLASSES)
        before = {name: copy.deepcopy(value) for name, value in vars(model).items()}
        bad = _X.copy()
        bad[41, 2] = np.inf
        for X, y, weight, what in (
            (bad, CLASSES, None, "infinity"),
            (_X, CLASSES[:50], None, "inconsistent"),
            (_X, CLASSES, np.full(60, -1.0), "sample_weight"),
        ):
            with pytest.raises(ValueError, match=what):
                model.fit(X, y, weight)
            assert vars(model).keys() == before.keys()
            np.testing.assert_array_equal(model.weights_, before["weights_"])
        model.set_params(n_landmarks=0)
        with pytest.raises(ValueError, match="n_landmarks must be an integer at least 1, got 0"):
            model.fit(_X, CLASSES)
        np.testing.assert_array_equal(model.intercept_, before["intercept_"])

    @slow_as_python
    def test_errors_name_rows_of_x(self):
        model = copy.deepcopy(fitted())
        bad = _X.copy()
        bad[41, 2] = np.inf
        with pytest.raises(ValueError, match="Row 41|infinity"):
            model.fit(bad, CLASSES)
        np.testing.assert_array_equal(model.predict_mean(_X), fitted().predict_mean(_X))

    @slow_as_python
    def test_are_reached_by_searches(self):
        X, y = load_iris(return_X_y=True)
        grid = {"space": ["multiclass"], "decoder": ["nearest", "min_risk"]}
        search = GridSearchCV(given(), grid, cv=2).fit(StandardScaler().fit_transform(X), y)
        assert search.best_score_ > 0.9

    def test_are_named_with_seconds_and_scores(self, capsys):
        model = given(verbose=1).fit(_X, CLASSES)
        lines = capsys.readouterr().out.splitlines()
        wanted = [
            rf"StructuredPredictor: {name}, \d+\.\d s, held-out score {score:.4f}"
            for name, score in zip(("line", "bayes"), model.validation_scores_, strict=True)
        ]
        assert len(lines) == 2
        assert all(re.fullmatch(one, line) for one, line in zip(wanted, lines, strict=True))
        given().fit(_X, CLASSES)
        assert capsys.readouterr().out == ""


def names_of(model, loss, X):
    """Names of the members of "auto"."""
    model.loss_, model.random_state_ = loss, np.random.RandomState(0)
    return [name for name, _ in model._members(X)]


class TestShortly:
    """What every room's own tests pass through, also line by line."""

    def test_a_predictor_mixes_scores(self):
        X, y = _X[:24], CLASSES[:24]
        members = [
            ("line", sk.OnlineStructuredPredictor(max_iter=1, random_state=0)),
            ("again", sk.OnlineStructuredPredictor(max_iter=2, random_state=0)),
        ]
        model = sk.StructuredPredictor(estimators=members, random_state=0).fit(X, y)
        pairs = zip(model.weights_, model.estimators_, strict=True)
        theta = sum(a * one.embedding_scores(X) for a, one in pairs) + model.intercept_
        np.testing.assert_allclose(model.embedding_scores(X), theta, atol=1e-12)
        np.testing.assert_allclose(model.decision_function(X), theta, atol=1e-12)
        mean = model.loss_.mean(theta)
        np.testing.assert_allclose(model.predict_proba(X), mean, atol=1e-12)
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), mean, atol=1e-12)
        assert 0.0 <= model.validation_score_ <= 1.0 and model.intercept_.shape == (3,)
        model.partial_fit(X[:2], y[:2])
        assert model.t_ == 26
