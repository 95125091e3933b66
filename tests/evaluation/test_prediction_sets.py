"""Prediction sets: literal scores and sets, exact coverage, streams that move, and bad input."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from conftest import INTERPRETED
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from streams import outputs_by_scores

from skstructured import KernelPerceptronClassifier, OnlineStructuredPredictor, PredictionSets
from skstructured.evaluation.conformal import quantile

TASKS = ("simplex", "ordinal", "hypercube", "birkhoff", "permutahedron")


def problem(task, n=300, seed=0):
    """Rows and outputs with noise."""
    rng = np.random.RandomState(seed)
    X = rng.randn(n, 5)
    noisy = X[:, :4] + rng.randn(n, 4)
    y = outputs_by_scores(task, noisy)
    return X, np.array([*"abcd"])[y] if task == "simplex" else y


def learner(task, **given):
    if task == "numbers":
        return Ridge()
    return OnlineStructuredPredictor(task, random_state=0, max_iter=1, **given)


def literal_score(task, model, x, y):
    """How much an output contradicts the estimator, coordinate by coordinate."""
    if task == "numbers":
        return abs(y - model.predict(x[None])[0])
    if task == "permutahedron":
        theta, d = model.embedding_scores(x[None])[0], len(y)
        pairs = [(i, j) for i in range(d) for j in range(d) if y[i] > y[j]]
        return max(theta[j] - theta[i] for i, j in pairs)
    if task == "hypercube":
        return max(abs(a - b) for a, b in zip(y, model.predict_mean(x[None])[0], strict=True))
    P = model.predict_proba(x[None])[0]
    if task == "birkhoff":
        return max(1.0 - P[i, place] for i, place in enumerate(y))
    k = list(model.classes_).index(y)
    return max(P[:k].sum(), P[k + 1 :].sum()) if task == "ordinal" else 1.0 - P[k]


def is_in(task, allowed, y, classes):
    """Whether an output is in a set as `predict_set` gives it."""
    if task == "numbers":
        return allowed[0] <= y <= allowed[1]
    if task == "permutahedron":
        return all(allowed[i, j] for i in range(len(y)) for j in range(len(y)) if y[i] > y[j])
    if task in ("simplex", "ordinal"):
        return allowed[list(classes).index(y)]
    return all(allowed[i, value] for i, value in enumerate(y))


class TestSplit:
    @pytest.mark.parametrize("task", [*TASKS, "numbers"])
    def test_the_threshold_is_the_literal_one(self, task):
        X, y = problem(task)
        model = PredictionSets(learner(task), alpha=0.2, random_state=0).fit(X, y)
        assert model.n_scores_ == 75
        of = model.estimator_
        scores = np.array([literal_score(task, of, x, one) for x, one in zip(X, y, strict=True)])
        q = model.threshold_
        assert np.abs(scores - q).min() < 1e-9  # it is the score of a row
        held = math.ceil(76 * 0.8)
        # of the rows held out, so many have scores up to it
        twin = PredictionSets(learner(task), alpha=1e-9, random_state=0).fit(X, y)
        assert twin.threshold_ == np.inf
        ordered = np.sort(model._recent)
        assert ordered[held - 1] == q and len(ordered) == 75
        np.testing.assert_array_equal(model.covered(X, y), scores <= q + 1e-12)

    @pytest.mark.parametrize("task", [*TASKS, "numbers"])
    @pytest.mark.parametrize("alpha", [0.05, 0.3, 0.7])
    def test_sets_hold_the_outputs_whose_scores_are_at_most_it(self, task, alpha):
        X, y = problem(task)
        model = PredictionSets(learner(task), alpha=alpha, random_state=0).fit(X, y)
        sets, classes = model.predict_set(X[:40]), getattr(model, "classes_", None)
        outputs = [*y[:40:4], *y[:40:4]]
        for i, allowed in enumerate(sets):
            for output in outputs:
                score = literal_score(task, model.estimator_, X[i], output)
                if abs(score - model.threshold_) > 1e-9:
                    inside = score <= model.threshold_
                    assert is_in(task, allowed, output, classes) == inside
                    one = output[None] if np.ndim(output) else np.array([output])
                    assert model.covered(X[i : i + 1], one)[0] == inside

    @pytest.mark.parametrize("alpha", [0.1, 0.7])
    def test_labels_that_were_not_learned_are_in_sets_of_everything_alone(self, alpha):
        X = np.arange(8.0)[:, None]
        y = np.array([0, 0, 0, 0, 1, 1, 1, 2])  # 2 is held out, or alone in what is learned
        for seed in range(12):
            given = {"calibration_size": 0.5, "random_state": seed}
            model = PredictionSets(LogisticRegression(), alpha, **given).fit(X, y)
            if 2 not in model.classes_:
                assert np.inf in model._recent
                everything = model.threshold_ == np.inf
                assert everything == (alpha == 0.1)
                assert model.covered(X[-1:], y[-1:])[0] == everything
                assert model.predict_set(X).all() == everything
                break
        else:
            raise AssertionError("the label is always learned")

    def test_classes_that_were_not_learned_are_covered_as_often_as_is_asked_for(self):
        rng, covered = np.random.default_rng(0), []
        for seed in range(100):
            X, y = rng.standard_normal((60, 2)), rng.integers(0, 30, 60)
            model = PredictionSets(GaussianNB(), alpha=0.05, random_state=seed)
            covered.append(model.fit(X[:40], y[:40]).covered(X[40:], y[40:]).mean())
        assert np.mean(covered) >= 0.95


class TestByClass:
    @pytest.mark.parametrize("task", ["simplex", "ordinal"])
    def test_thresholds_are_those_of_the_rows_of_each_class(self, task):
        X, y = problem(task)
        model = PredictionSets(learner(task), 0.2, by_class=True, random_state=0).fit(X, y)
        rows = model._split(np.arange(300))[1]
        for k, label in enumerate(model.classes_):
            own = [i for i in rows if y[i] == label]
            scores = [literal_score(task, model.estimator_, X[i], label) for i in own]
            place = math.ceil((len(own) + 1) * 0.8)
            assert model.threshold_[k] == pytest.approx(np.sort(scores)[place - 1])
        scores = [
            literal_score(task, model.estimator_, x, one) for x, one in zip(X, y, strict=True)
        ]
        q = model.threshold_[np.searchsorted(model.classes_, y)]
        np.testing.assert_array_equal(model.covered(X, y), np.array(scores) <= q + 1e-12)
        inside = model.predict_set(X)[np.arange(300), np.searchsorted(model.classes_, y)]
        np.testing.assert_array_equal(inside, model.covered(X, y))

    def test_every_class_is_covered(self):
        rng = np.random.RandomState(0)
        y = np.repeat([0, 1, 2], [4000, 400, 200])[rng.permutation(4600)]
        X = np.eye(3)[y] + 0.8 * rng.randn(4600, 3)
        half, found = np.arange(4600) < 2300, {}
        for by_class in (False, True):
            model = PredictionSets(GaussianNB(), by_class=by_class, random_state=0)
            right = model.fit(X[half], y[half]).covered(X[~half], y[~half])
            found[by_class] = [right[y[~half] == k].mean() for k in range(3)]
        assert min(found[False]) < 0.75 and min(found[True]) > 0.82

    @pytest.mark.parametrize("task", ["simplex", "hypercube", "numbers"])
    def test_outputs_of_other_numbers_of_rows_are_refused(self, task):
        X, y = (
            problem(task, 60) if task != "numbers" else (problem("simplex", 60)[0], np.arange(60.0))
        )
        model = PredictionSets(learner(task), random_state=0).fit(X, y)
        for n in (1, 59):
            with pytest.raises(ValueError, match=rf"numbers of samples: \[60, {n}\]"):
                model.covered(X, y[:n])
        assert model.covered(X, y).shape == (60,)

    def test_estimators_that_are_not_are_named(self):
        with pytest.raises(ValueError, match="estimator must be an estimator, got None"):
            PredictionSets(None).fit(*problem("simplex"))

    def test_classes_with_few_rows_are_in_every_set(self):
        X, y = problem("simplex", 40)
        model = PredictionSets(learner("simplex"), 0.05, by_class=True, random_state=0).fit(X, y)
        assert np.isinf(model.threshold_).all() and model.predict_set(X).all()
        assert not model.covered(X[:1], np.array(["none"])).any()

    def test_of_other_outputs_is_refused(self):
        X, y = problem("numbers")
        with pytest.raises(ValueError, match="by_class=True is only supported for classes"):
            PredictionSets(Ridge(), by_class=True).fit(X, y)
        X, y = problem("simplex")
        with pytest.raises(ValueError, match="only supported for fit"):
            PredictionSets(learner("simplex"), by_class=True).partial_fit(X, y)
        model = PredictionSets(learner("simplex"), by_class=True, random_state=0).fit(X, y)
        covered = model.covered(X, y)
        with pytest.raises(ValueError, match="only supported for fit"):
            model.set_params(by_class=False).partial_fit(X, y)
        np.testing.assert_array_equal(model.covered(X, y), covered)


class TestGroups:
    def grouped(self, task, **given):
        """Rows, outputs and groups, of which "rare" has 8 rows; and sets for them."""
        X, y = problem(task)
        groups = np.where(X[:, 4] > 0.0, "large", "small").astype(object)
        groups[:8] = "rare"
        model = PredictionSets(learner(task), 0.2, random_state=0, **given)
        return X, y, groups, model.fit(X, y, groups=groups)

    def literal_thresholds(self, task, model, X, y, groups):
        """A dict from groups, or pairs of a group and a class, to the threshold of their rows."""
        parts = {}
        for i in model._split(np.arange(len(X)))[1]:
            cell = (groups[i], y[i]) if model.by_class else groups[i]
            parts.setdefault(cell, []).append(literal_score(task, model.estimator_, X[i], y[i]))
        found = {}
        for cell, scores in parts.items():
            place = math.ceil((len(scores) + 1) * 0.8 - 1e-9)
            found[cell] = sorted(scores)[place - 1] if place <= len(scores) else math.inf
        return found

    @pytest.mark.parametrize("task", [*TASKS, "numbers"])
    def test_thresholds_are_those_of_the_rows_of_each_group(self, task):
        X, y, groups, model = self.grouped(task)
        wanted = self.literal_thresholds(task, model, X, y, groups)
        assert list(model.groups_) == ["large", "rare", "small"] and model.threshold_.shape == (3,)
        for group, q in zip(model.groups_, model.threshold_, strict=True):
            assert q == pytest.approx(wanted.get(group, math.inf))
        covered, sets = model.covered(X, y, groups), model.predict_set(X, groups)
        for i in range(60):
            score = literal_score(task, model.estimator_, X[i], y[i])
            q = wanted.get(groups[i], math.inf)
            if abs(score - q) > 1e-9 or q == math.inf:
                assert covered[i] == (score <= q)
                classes = getattr(model, "classes_", None)
                assert is_in(task, sets[i], y[i], classes) == covered[i]

    @pytest.mark.parametrize("task", ["simplex", "ordinal"])
    def test_with_by_class_they_are_those_of_each_class_in_each_group(self, task):
        X, y, groups, model = self.grouped(task, by_class=True)
        wanted = self.literal_thresholds(task, model, X, y, groups)
        assert model.threshold_.shape == (3, len(model.classes_))
        for g, group in enumerate(model.groups_):
            for k, label in enumerate(model.classes_):
                q = wanted.get((group, label), math.inf)
                assert model.threshold_[g, k] == pytest.approx(q)
        places = np.searchsorted(model.classes_, y)
        inside = model.predict_set(X, groups)[np.arange(len(y)), places]
        np.testing.assert_array_equal(model.covered(X, y, groups), inside)

    @pytest.mark.parametrize("task", [*TASKS, "numbers"])
    def test_sets_of_new_groups_are_everything(self, task):
        X, y, _, model = self.grouped(task)
        new, rows = np.array(["new", None, math.nan], dtype=object), slice(8, 11)
        assert model.covered(X[rows], y[rows], new).all()
        sets = model.predict_set(X[rows], new)
        if task == "numbers":
            assert np.isinf(sets).all()
        elif task == "permutahedron":
            assert (sets.sum(axis=(1, 2)) == 12).all()
        else:
            assert sets.all()

    def test_new_groups_do_not_hide_unknown_classes_with_by_class(self):
        X, _, _, model = self.grouped("simplex", by_class=True)
        assert not model.covered(X[:2], ["none", "none"], ["new", "small"]).any()

    def test_one_group_is_no_group(self):
        X, y = problem("simplex")
        plain = PredictionSets(LogisticRegression(), random_state=0).fit(X, y)
        one = clone(plain).fit(X, y, groups=[7] * 300)
        assert one.threshold_.tolist() == [plain.threshold_] and plain.groups_ is None
        np.testing.assert_array_equal(one.predict_set(X, [7.0] * 300), plain.predict_set(X))
        by_class = PredictionSets(LogisticRegression(), by_class=True, random_state=0).fit(X, y)
        labels = np.array([*"abcd"])
        in_groups = clone(plain).fit(X, y, groups=y)
        np.testing.assert_array_equal(in_groups.groups_, labels)
        np.testing.assert_array_equal(in_groups.threshold_, by_class.threshold_)

    def test_coverage_of_each_group_is_exact(self):
        """⌈(m + 1)(1 − α)⌉/(m + 1) for the m rows of a group that are held out; 1 for m < 9."""
        rng, off = np.random.RandomState(0), {"calm": [], "wild": [], "rare": []}
        names = np.array([*off])
        for seed in range(100 if INTERPRETED else 400):
            groups = rng.choice(names, 400, p=[0.6, 0.3, 0.1])
            X = rng.randn(400, 2)
            y = X[:, 0] + np.where(groups == "calm", 1.0, 20.0) * rng.standard_cauchy(400)
            model = PredictionSets(Ridge(), random_state=seed)
            model.fit(X[:200], y[:200], groups=groups[:200])
            held_out = groups[model._split(np.arange(200))[1]]
            covered = model.covered(X[200:], y[200:], groups[200:])
            for name in names:
                m = (held_out == name).sum()
                exact = min(math.ceil((m + 1) * 0.9 - 1e-9) / (m + 1), 1.0)
                off[name].append(covered[groups[200:] == name].mean() - exact)
        for found in off.values():
            assert abs(np.mean(found)) < 4.5 * np.std(found) / math.sqrt(len(found))

    def test_a_rare_group_is_covered(self):
        rng = np.random.RandomState(0)
        groups = np.repeat(["many", "few"], [4000, 400])[rng.permutation(4400)]
        X = rng.randn(4400, 2)
        y = X[:, 0] + np.where(groups == "few", 5.0, 1.0) * rng.randn(4400)
        half, few = np.arange(4400) < 2200, groups == "few"
        model = PredictionSets(Ridge(), random_state=0).fit(X[half], y[half])
        assert model.covered(X[~half & few], y[~half & few]).mean() < 0.5
        model.fit(X[half], y[half], groups=groups[half])
        for part in (~half & few, ~half & ~few):
            assert 0.84 < model.covered(X[part], y[part], groups[part]).mean() < 0.96

    def test_rows_of_weight_0_have_no_group(self):
        X, y, groups, model = self.grouped("numbers")
        weight, odd = np.ones(301), np.append(groups, None)
        weight[-1] = 0.0
        X, y = np.r_[X, [[np.nan] * 5]], np.append(y, 0.0)
        model.fit(X, y, sample_weight=weight, groups=odd)
        assert list(model.groups_) == ["large", "rare", "small"]

    def test_clones_pickles_pipelines_and_frames(self):
        X, y, groups, model = self.grouped("numbers")
        wanted = model.predict_set(X, groups)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict_set(X, groups), wanted)
        fresh = clone(model).set_params(alpha=0.2)
        assert not hasattr(fresh, "groups_")
        frame, column = pd.DataFrame(X), pd.Series(groups, index=np.arange(300)[::-1])
        for given in (column, column.astype("category"), list(groups)):
            fresh.fit(frame, y, groups=given)
            np.testing.assert_allclose(fresh.predict_set(frame, given), wanted)
        pipe = make_pipeline(FunctionTransformer(), clone(model))
        pipe.fit(X, y, predictionsets__groups=groups)
        np.testing.assert_array_equal(pipe[-1].predict_set(X, groups), wanted)
        assert fresh.fit(X, y).groups_ is None and fresh.predict_set(X).shape == (300, 2)

    def test_bad_groups_are_refused_and_change_nothing(self):
        X, y, groups, model = self.grouped("simplex")
        wanted = model.predict_set(X, groups)
        missing, mixed = groups.copy(), groups.copy()
        missing[5], mixed[5] = None, 5
        for bad, message in (
            (groups[:7], r"groups must have shape \(300,\), got \(7,\)"),
            (np.c_[groups, groups], r"groups must have shape \(300,\), got \(300, 2\)"),
            ("small", r"groups must have shape \(300,\), got \(\)"),
            (missing, "groups must be all numbers or all strings, without missing values"),
            (mixed, "groups must be all numbers or all strings"),
            (np.r_[math.nan, np.ones(299)], "groups contains NaN"),
        ):
            with pytest.raises(ValueError, match=message):
                model.fit(X, y, groups=bad)
        for bad, message in ((None, "groups must be passed"), (groups[:7], "groups must have")):
            for call in (model.predict_set, lambda X, groups: model.covered(X, y, groups)):
                with pytest.raises(ValueError, match=message):
                    call(X, groups=bad)
        with pytest.raises(ValueError, match="groups are only supported for fit"):
            model.partial_fit(X, y)
        np.testing.assert_array_equal(model.predict_set(X, groups), wanted)
        with pytest.raises(ValueError, match="by_class=True is only supported for classes"):
            PredictionSets(Ridge(), by_class=True).fit(X, X[:, 0], groups=groups)
        with pytest.raises(ValueError, match="groups must be passed if"):
            clone(model).fit(X, y).predict_set(X, groups)


class TestWeights:
    def weighted(self, n=120):
        X, y = problem("simplex", n)
        return X, y, np.random.RandomState(1).choice([0.5, 2.0], n)

    def test_they_are_those_of_the_estimator(self):
        X, y, weight = self.weighted()
        model = PredictionSets(LogisticRegression(), random_state=0).fit(X, y, weight)
        learned, _ = train_test_split(np.arange(len(y)), test_size=0.25, random_state=0)
        wanted = LogisticRegression().fit(X[learned], y[learned], weight[learned])
        np.testing.assert_allclose(model.estimator_.coef_, wanted.coef_, rtol=1e-9)
        assert not np.allclose(wanted.coef_, LogisticRegression().fit(X[learned], y[learned]).coef_)
        with pytest.raises(ValueError, match="sample_weight"):
            model.fit(X, y, -weight)

    def test_rows_of_weight_0_are_left_out(self):
        X, y, weight = self.weighted()
        weight[::3], X[::3], y[::3] = 0.0, 1e6, "z"
        counted = weight > 0.0
        model = PredictionSets(LogisticRegression(), random_state=0).fit(X, y, sample_weight=weight)
        wanted = clone(model).fit(X[counted], y[counted], weight[counted])
        assert model.threshold_ == wanted.threshold_
        np.testing.assert_array_equal(model.predict_set(X[counted]), wanted.predict_set(X[counted]))

    def test_a_search_passes_weights(self):
        X, y, weight = self.weighted()
        wanted = PredictionSets(LogisticRegression(), random_state=0).fit(X, y, weight)
        with config_context(enable_metadata_routing=True):
            model = PredictionSets(LogisticRegression(), random_state=0)
            model.set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
            outer = GridSearchCV(model, {"alpha": [0.1]}, cv=2)
            found = outer.fit(X, y, sample_weight=weight).best_estimator_
            np.testing.assert_array_equal(found.estimator_.coef_, wanted.estimator_.coef_)


@pytest.mark.parametrize("estimator", [GaussianNB(), Ridge()], ids=["classes", "numbers"])
def test_coverage_is_exact(estimator):
    """``⌈(m + 1)(1 − α)⌉/(m + 1)`` for m rows held out, whatever the estimator."""
    rng, found = np.random.RandomState(0), []
    for seed in range(100 if INTERPRETED else 400):
        P = rng.dirichlet(np.ones(5), size=120)
        if isinstance(estimator, Ridge):
            y = P[:, 0] + rng.standard_cauchy(120)
        else:
            y = (rng.rand(120, 1) > np.cumsum(P, axis=1)).sum(axis=1)
        model = PredictionSets(estimator, random_state=seed).fit(P[:80], y[:80])
        assert model.n_scores_ == 20
        found.append(model.covered(P[80:], y[80:]).mean())
    exact = math.ceil(21 * 0.9) / 21
    assert abs(np.mean(found) - exact) < 4.5 * np.std(found) / math.sqrt(len(found))


class TestStreams:
    @pytest.mark.parametrize("task", TASKS)
    @pytest.mark.parametrize("step_size", [0.0, 0.05])
    def test_it_is_the_literal_rule(self, task, step_size):
        n = 30 if INTERPRETED else 120
        X, y = problem(task, n)
        given = {"classes": np.unique(y)} if task in ("simplex", "ordinal") else {}
        model = PredictionSets(learner(task), alpha=0.25, step_size=step_size, window=20)
        alone, alpha, scores, missed = learner(task), 0.25, [], []
        for t in range(n):
            if t:
                score, known = literal_score(task, alone, X[t], y[t]), sorted(scores[-20:])
                place = math.ceil((len(known) + 1) * (1.0 - alpha) - 1e-9)
                q = math.inf if place > len(known) else known[max(place, 1) - 1]
                q = math.inf if alpha <= 0.0 else -math.inf if alpha >= 1.0 else q
                assert model.threshold_ == pytest.approx(q, abs=1e-9)
                missed.append(score > q + 1e-12)
                scores.append(score)
            else:
                missed.append(False)
            alpha += step_size * (0.25 - missed[-1])
            alone.partial_fit(X[t : t + 1], y[t : t + 1], **given)
            model.partial_fit(X[t : t + 1], y[t : t + 1], **given)
            given = {}
            assert model.alpha_ == pytest.approx(alpha, abs=1e-12)
        assert model.coverage_ == pytest.approx(1.0 - np.mean(missed))
        assert (model.n_sets_, model.n_scores_) == (n, min(n - 1, 20))

    @pytest.mark.parametrize("step_size", [0.01, 0.1, 0.5])
    @pytest.mark.parametrize("alpha", [0.1, 0.4])
    def test_what_is_missed_is_bounded_on_any_stream(self, alpha, step_size):
        """Gibbs, Candès (2021), Proposition 4.1, on labels that are drawn to be missed."""
        rng, n = np.random.RandomState(0), 40 if INTERPRETED else 200
        model = PredictionSets(OnlineStructuredPredictor(), alpha=alpha, step_size=step_size)
        X = rng.randn(n, 2)
        model.partial_fit(X[:1], [0], classes=[0, 1, 2])
        for t in range(1, n):
            P = model.predict_proba(X[t : t + 1])[0]
            y = P.argmin() if (t // 50) % 2 == 0 else P.argmax()
            model.partial_fit(X[t : t + 1], [y])
            assert -step_size - 1e-12 <= model.alpha_ <= 1.0 + step_size + 1e-12
            most = (max(alpha, 1.0 - alpha) + step_size) / (step_size * (t + 1))
            assert abs((1.0 - model.coverage_) - alpha) <= most + 1e-12

    @pytest.mark.parametrize("task", TASKS)
    def test_chunks_and_pickles_are_the_same(self, task):
        X, y = problem(task, 60)
        given = {"classes": np.unique(y)} if task in ("simplex", "ordinal") else {}
        whole = PredictionSets(learner(task)).partial_fit(X, y, **given)
        parts = PredictionSets(learner(task)).partial_fit(X[:1], y[:1], **given)
        for part in (slice(1, 7), slice(7, 8), slice(8, 60)):
            parts = pickle.loads(pickle.dumps(parts)).partial_fit(X[part], y[part])
        for name in ("threshold_", "alpha_", "coverage_", "n_sets_", "n_scores_"):
            assert getattr(whole, name) == getattr(parts, name)
        np.testing.assert_array_equal(whole.predict_set(X), parts.predict_set(X))

    def test_it_goes_on_after_fit_with_the_last_scores(self):
        X, y = problem("simplex")
        model = PredictionSets(learner("simplex"), window=50, step_size=0.0, random_state=0)
        model.fit(X, y)
        held = model._recent
        assert len(held) == 50 and (np.diff(held) < 0).any()  # not those that are largest
        q = model.threshold_
        model.partial_fit(X[:1], y[:1])
        assert model.n_scores_ == 50 and abs(model.threshold_ - q) < 0.2
        assert math.isfinite(model.coverage_)

    def test_frames_are_read_row_by_row(self):
        X, y = problem("simplex", 40)
        frame = pd.DataFrame(X, columns=[*"vwxyz"])
        model = PredictionSets(learner("simplex"))
        model.partial_fit(frame, pd.Series(y, index=np.arange(40)[::-1]), classes=[*"abcd"])
        other = PredictionSets(learner("simplex")).partial_fit(X, y, classes=[*"abcd"])
        np.testing.assert_array_equal(model.predict_set(frame), other.predict_set(X))
        assert list(model.feature_names_in_) == [*"vwxyz"]


def test_quantiles_are_not_moved_by_rounding():
    """For 1 − α = k/(n + 1) the k-th smallest score is exact, whatever that rounds to."""
    for n in range(1, 60):
        for k in range(1, n + 1):
            assert quantile(np.arange(1.0, n + 1), 1.0 - k / (n + 1)) == k
    ordered = [1.0, 2.0, 3.0, 4.0]
    ends = {0.19: math.inf, 0.99: 1.0, 1.0: -math.inf}
    assert {alpha: quantile(ordered, alpha) for alpha in ends} == ends
    assert quantile(np.zeros(0), 0.5) == math.inf


class TestBadInput:
    @pytest.mark.parametrize("fit", ["fit", "partial_fit"])
    def test_parameters(self, fit):
        X, y = problem("simplex", 40)
        bad = {
            "alpha": (0, "few"),
            "calibration_size": (1.5,),
            "step_size": (-1, 1.0),
            "window": (0,),
        }
        for name, values in bad.items():
            for value in values:
                with pytest.raises(ValueError, match=name):
                    getattr(PredictionSets(learner("simplex"), **{name: value}), fit)(X, y)

    def test_bad_rows_change_nothing(self):
        X, y = problem("simplex", 60)
        rows, infinite, strange = X[40:], X[40:].copy(), y[40:].copy()
        infinite[7, 2], strange[7] = np.inf, "z"
        for bad, outputs, message in (
            (infinite, y[40:], "infinity"),
            (rows, strange, "not in"),
            (rows, y[40:47], "inconsistent|lengths|rows"),
            (rows[:, :3], y[40:], "3 features"),
        ):
            new = PredictionSets(learner("simplex"))
            model = clone(new).partial_fit(X[:40], y[:40], classes=[*"abcd"])
            before = model.threshold_, model.alpha_, model.n_sets_, model.estimator_.t_
            with pytest.raises(ValueError, match=message):
                model.partial_fit(bad, outputs)
            assert (model.threshold_, model.alpha_, model.n_sets_, model.estimator_.t_) == before
            if message != "3 features":
                with pytest.raises(ValueError, match=message):
                    new.partial_fit(bad, outputs, classes=[*"abcd"])
                assert not hasattr(new, "estimator_")

    def test_predictions_that_are_nan_are_refused(self):
        X = np.random.default_rng(0).standard_normal((40, 2))
        y = np.arange(40) % 2
        with np.errstate(all="ignore"):  # scikit-learn's, of the class that never came
            with pytest.raises(ValueError, match="estimator must predict numbers, got NaN for row"):
                PredictionSets(GaussianNB()).partial_fit(X, y, classes=[0, 1, 2])
            model = PredictionSets(LogisticRegression(), random_state=0).fit(X, y)
            before, model.estimator_.coef_[0, 1] = model.threshold_, np.nan
            for call in (model.predict_set, lambda X: model.covered(X, y)):
                with pytest.raises(ValueError, match="got NaN for row 0 of X"):
                    call(X)
        assert model.threshold_ == before

    @pytest.mark.exhaustive
    def test_estimators_of_another_kind(self):
        X, y = problem("simplex", 40)
        for one, outputs in (
            (KernelPerceptronClassifier(), (y == "a").astype(int)),
            (StandardScaler(), y),
        ):
            with pytest.raises(TypeError, match="estimator must be a classifier with"):
                PredictionSets(one).fit(X, outputs)
        many = PredictionSets(OneVsRestClassifier(LogisticRegression()))
        with pytest.raises(ValueError, match="1d array"):
            many.fit(X, problem("hypercube", 40)[1])
        rows = [np.zeros((3, 2))] * 4
        with pytest.raises(TypeError, match="estimator must be"):
            PredictionSets(OnlineStructuredPredictor("sequence")).fit(rows, [[0, 1, 0]] * 4)

    def test_one_row_is_too_few(self):
        with pytest.raises(ValueError, match="n_samples=1"):
            PredictionSets(Ridge()).fit([[1.0]], [1.0])


def test_pipelines_and_names_of_the_estimator():
    X, y = problem("simplex")
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    model = PredictionSets(pipe, random_state=0).fit(X, y)
    assert model.predict_set(X).shape == (300, 4) and model.n_features_in_ == 5
    assert model.score(X, y) == model.estimator_.score(X, y)
    np.testing.assert_array_equal(model.predict(X), model.estimator_.predict(X))
    assert not hasattr(PredictionSets(Ridge()), "predict_proba")
    assert math.isnan(model.coverage_)


@pytest.mark.parametrize("task", ["ordinal", "hypercube", "birkhoff", "permutahedron"])
@pytest.mark.short("ordinal", "hypercube", "permutahedron")
def test_a_pipeline_has_the_sets_of_its_learner(task):
    X, y = problem(task)
    alone = PredictionSets(learner(task), random_state=0).fit(X, y)
    piped = make_pipeline(FunctionTransformer(), learner(task))
    search = GridSearchCV(piped, {f"{piped.steps[-1][0]}__average": ["polynomial"]}, cv=2)
    for model in (piped, search):
        found = PredictionSets(model, random_state=0).fit(X, y)
        np.testing.assert_array_equal(found.predict_set(X), alone.predict_set(X))
        np.testing.assert_array_equal(found.covered(X, y), alone.covered(X, y))


@parametrize_with_checks(
    [
        PredictionSets(OnlineStructuredPredictor(max_iter=1, random_state=0), random_state=0),
        PredictionSets(Ridge(), random_state=0),
    ],
    expected_failed_checks=lambda _: {
        f"check_sample_weight_equivalence_on_{kind}_data": "repeated rows are held out one by one"
        for kind in ("dense", "sparse")
    },
)
@pytest.mark.short(every=5)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
