"""Sample weights and groups on their way through pipelines and searches, by metadata routing."""

import numpy as np
import pytest
from learners import EVERY_LEARNER
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skstructured as sk

KINDS = ("gaptron", "perceptron", "boosting", "tree", "pistol")
NAMES = ("default", *(f"default {kind}" for kind in KINDS), "folklore", "online newton", "kernel")
LEARNERS = {name: EVERY_LEARNER[name] for name in NAMES} | {
    "field": sk.ConditionalRandomField("simplex", alpha=0.1),
    "max-min": sk.MaxMinMarginNetwork(alpha=0.1, random_state=0),
    "support vectors": sk.StructuralSVM(alpha=0.1, random_state=0),
    "least squares": sk.QuadraticSurrogate(alpha=0.1),
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
