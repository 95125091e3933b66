"""Sample weights: rows of weight 0 are as if they were not there, and metadata routing brings
weights and groups through pipelines and searches."""

import numpy as np
import pytest
from fitted import FITTED
from learner_checks import has_argument
from learners import EVERY_LEARNER
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import skstructured as sk


def _far(X):
    """Rows, or rounds of rows, that are far away."""
    return 1e4 + 1e3 * X if isinstance(X, np.ndarray) else [1e4 + 1e3 * x for x in X]


def _joined(far, near):
    """Two lists in turns, the far ones first."""
    if isinstance(near, np.ndarray):
        return np.stack([far, near], axis=1).reshape(-1, *near.shape[1:])
    return [each for both in zip(far, near, strict=True) for each in both]


def _others(y):
    """Other outputs of the same forms: those of the rows backwards."""
    lengths = {np.shape(each) for each in y}
    if len(lengths) > 1:  # sequences keep their lengths
        return [np.roll(each, 1) for each in y]
    if isinstance(y, np.ndarray) and y.dtype.kind == "f" and y.ndim == 1:
        return 1e6 * y
    return y[::-1]


def _answer(model, X):
    names = ("decision_function", "predict_proba", "predict_mean", "predict")
    call = next(getattr(model, name) for name in names if hasattr(model, name))
    return np.concatenate([np.ravel(each) for each in call(X)])


#: Learners that go to an optimum, which takes longer and ends within tol of it.
LONG = ("MaxMinMarginNetwork", "StructuralSVM")


def cases():
    """(name, method) of all that take weights."""
    for name, case in FITTED.items():
        for method in ("fit", "partial_fit"):
            learn = getattr(case.estimator, method, None)
            if isinstance(case.estimator, Pipeline) or name.startswith(LONG) or learn is None:
                continue
            if has_argument(learn, "sample_weight"):
                yield name, method


@pytest.mark.parametrize(("name", "method"), list(cases()))
@pytest.mark.short("default-*", "kernel plain-*", "folklore-*", "sequences-*")
def test_rows_of_weight_0(name, method):
    case = FITTED[name]
    weight = np.random.RandomState(0).choice([0.5, 1.0, 2.0], len(case.y))
    X, y = _joined(_far(case.X), case.X), _joined(_others(case.y), case.y)
    one, other = clone(case.estimator), clone(case.estimator)
    told = {"classes": case.classes()} if has_argument(getattr(one, method), "classes") else {}
    getattr(one, method)(case.X, case.y, sample_weight=weight, **told)
    weight = _joined(np.zeros(len(weight)), weight)
    getattr(other, method)(X, y, sample_weight=weight, **told)
    np.testing.assert_allclose(_answer(other, case.X), _answer(one, case.X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["default", "online", "kernel", "kernel features"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_rows_of_weight_0_are_not_among_those_that_classes_are_balanced_by(name, shuffle, rng):
    X = rng.randn(100, 2)
    y = np.where(X[:, 0] + rng.randn(100) > 1.0, "rare", "usual")
    given = {"class_weight": "balanced", "shuffle": shuffle, "random_state": 0}
    model = clone(EVERY_LEARNER[name]).set_params(**given)
    found = []
    for more in (["never"], ["never"] * 50 + ["usual"] * 250):
        labels, weight = np.r_[more, y], np.r_[np.zeros(len(more)), np.ones(100)]
        model.fit(np.r_[rng.randn(len(more), 2), X], labels, sample_weight=weight)
        assert list(model.classes_) == ["never", "rare", "usual"]  # they are known
        found.append(model.predict_proba(X))
    np.testing.assert_allclose(*found, rtol=1e-6, atol=1e-9)
    with pytest.raises(ValueError, match="inf"):  # and checked
        model.fit(np.r_[[[np.inf, 0.0]], X], np.r_[["never"], y], sample_weight=np.arange(101.0))


def test_classes_that_all_have_weight_0_are_an_error(rng):
    X, y = rng.randn(20, 2), np.arange(20) % 2
    model = sk.OnlineStructuredPredictor(class_weight={0: 0.0, 1: 1.0})
    with pytest.raises(ValueError, match="class_weight must have a positive sum, got zeros only"):
        model.fit(X, y, sample_weight=1.0 - y)
    model.partial_fit(X[::2], y[::2], classes=[0, 1])
    np.testing.assert_array_equal(model.coef_, 0.0)


KINDS = ("gaptron", "perceptron", "boosting", "tree", "pistol")
NAMES = ("default", *(f"default {kind}" for kind in KINDS), "folklore", "online newton", "kernel")
LEARNERS = {name: EVERY_LEARNER[name] for name in NAMES} | {
    "field": sk.ConditionalRandomField("simplex", alpha=0.1),
    "max-min": sk.MaxMinMarginNetwork(alpha=0.1, random_state=0),
    "support vectors": sk.StructuralSVM(alpha=0.1, random_state=0),
    "least squares": sk.QuadraticSurrogate(alpha=0.1),
    "boosted trees": sk.FenchelYoungBoosting(max_iter=5, random_state=0),
}


@pytest.fixture
def data(rng):
    """Rows, labels, half of them wrong where weights are small, weights, groups."""
    X = rng.randn(90, 3) * [1.0, 3.0, 0.2]
    y = (X @ [1.0, -0.5, 1.0] > 0).astype(int)
    weight = np.where(rng.rand(90) < 0.5, 0.05, 1.0) * (0.5 + rng.rand(90))
    return X, np.where(weight < 0.1, 1 - y, y), weight, np.arange(90) // 10


def said_of(model, X):
    """Scores where there are some, else predictions."""
    return (model.decision_function if hasattr(model, "decision_function") else model.predict)(X)


def search_over(learner, request):
    """A search over a pipeline whose last step asks for weights."""
    last = clone(learner).set_fit_request(sample_weight=request)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), last)
    return GridSearchCV(pipeline, {}, cv=KFold(2), error_score="raise")


@pytest.mark.parametrize("name", LEARNERS)
@config_context(enable_metadata_routing=True)
def test_weights_reach_the_last_step_of_a_search(name, data):
    X, y, weight, _ = data
    learner = LEARNERS[name]
    learner = clone(learner).set_score_request(sample_weight=True)
    search = search_over(learner, True).fit(X, y, sample_weight=weight)
    Z = StandardScaler().fit_transform(X)
    wanted = said_of(clone(learner).fit(Z, y, sample_weight=weight), Z)
    np.testing.assert_array_equal(said_of(search, X), wanted)
    assert np.any(said_of(clone(learner).fit(Z, y), Z) != wanted)


@config_context(enable_metadata_routing=True)
def test_weights_that_nobody_asked_for_are_an_error(data):
    X, y, weight, _ = data
    learner = sk.OnlineStructuredPredictor(max_iter=2, random_state=0)
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        GridSearchCV(learner, {}, cv=2).fit(X, y, sample_weight=weight)
    alone = search_over(clone(learner), False)
    alone.estimator[-1].set_score_request(sample_weight=True)
    alone.fit(X, y, sample_weight=weight)  # for the score alone
    Z = StandardScaler().fit_transform(X)
    learner.fit(Z, y)
    np.testing.assert_array_equal(said_of(alone, X), said_of(learner, Z))
    assert alone.score(X, y, sample_weight=weight) == learner.score(Z, y, weight)
    assert learner.score(Z, y, weight) != learner.score(Z, y)


@config_context(enable_metadata_routing=True)
def test_groups_go_to_the_splitter_and_weights_to_learner_and_score(data):
    X, y, weight, groups = data
    learner = sk.OnlineStructuredPredictor(random_state=0)
    learner.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    params = {"sample_weight": weight, "groups": groups}
    found = cross_validate(learner, X, y, cv=GroupKFold(3), params=params, error_score="raise")
    for score, (train, test) in zip(
        found["test_score"], GroupKFold(3).split(X, y, groups), strict=True
    ):
        assert not set(groups[train]) & set(groups[test])
        model = clone(learner).fit(X[train], y[train], sample_weight=weight[train])
        assert score == model.score(X[test], y[test], weight[test])


@config_context(enable_metadata_routing=True)
def test_queries_reach_a_ranker_in_a_pipeline(rng):
    X, qid = rng.randn(60, 3) + 1.0, np.repeat(np.arange(10), 6)
    grades = (X[:, 0] > 1.0).astype(int) + (X[:, 0] > 2.0)
    ranker = sk.ListwiseRanker(random_state=0).set_fit_request(qid=True).set_score_request(qid=True)
    pipeline = make_pipeline(StandardScaler(), ranker).fit(X, grades, qid=qid)
    Z = StandardScaler().fit_transform(X)
    alone = sk.ListwiseRanker(random_state=0).fit(Z, grades, qid=qid)
    np.testing.assert_array_equal(pipeline.predict(X), alone.predict(Z))
    assert pipeline.score(X, grades, qid=qid) == alone.score(Z, grades, qid=qid)
