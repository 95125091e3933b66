"""Metadata that boosting and the reduction of bandits hand on to the estimator they wrap."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.utils.metadata_routing import MetadataRouter

from skstructured import AdaBoostOLMClassifier, BanditReduction, OnlineTreeClassifier

N = 24


class Recording(SGDClassifier):
    """Keeps, call by call, the first feature of the rows it learns and the metadata it gets."""

    def __init__(self, loss="log_loss", random_state=0):
        super().__init__(loss=loss, random_state=random_state)

    def partial_fit(self, X, y, classes=None, sample_weight=None, groups=None):
        self.kept_ = getattr(self, "kept_", [])
        self.kept_.append((np.array(X)[:, 0], sample_weight, groups))
        return super().partial_fit(X, y, classes, sample_weight)


def data():
    rng = np.random.RandomState(0)
    X = np.c_[np.arange(N), rng.randn(N, 2)]
    return X, np.arange(N) % 2, 10.0 + np.arange(N), 1.0 + np.arange(N) % 5


def asking(**requests):
    with config_context(enable_metadata_routing=True):
        return Recording().set_partial_fit_request(**requests)


def boosting(estimator):
    return AdaBoostOLMClassifier(estimator, n_estimators=2, random_state=0)


def reduction(estimator, exploration=0.7):
    return BanditReduction(estimator, exploration=exploration, classes=[0, 1], random_state=0)


def learners_of(model):
    return [model.estimator_] if isinstance(model, BanditReduction) else model.estimators_


def kept(model, place):
    """First features and what was handed on with these rows, of every wrapped estimator."""
    for learner in learners_of(model):
        rows = np.concatenate([x for x, *_ in learner.kept_])
        yield rows, np.concatenate([call[place] for call in learner.kept_])


MODELS = pytest.mark.parametrize("make", [boosting, reduction])
METHODS = pytest.mark.parametrize("method", ["fit", "partial_fit"])


@pytest.mark.parametrize("request_", [True, "patients"])
@MODELS
@METHODS
@config_context(enable_metadata_routing=True)
def test_every_row_comes_with_its_own_metadata(make, method, request_):
    """By the names of the caller, which become those of the estimator."""
    X, y, groups, _ = data()
    model = make(asking(groups=request_, sample_weight=False))
    name = "groups" if request_ is True else request_
    own = {"classes": [0, 1]} if method == "partial_fit" else {}
    getattr(model, method)(X, y, **{name: groups}, **own)
    for rows, given in kept(model, 2):
        assert len(rows) > 3
        np.testing.assert_array_equal(given, 10.0 + rows)
    names = ["groups", "patients", "other"]
    assert model.get_metadata_routing().consumes(method, names) == {name}


@config_context(enable_metadata_routing=True)
def test_the_estimator_of_a_reduction_gets_the_weights_it_requests():
    X, y, _, w = data()
    model = reduction(asking(sample_weight=True))
    for method in ("fit", "partial_fit"):
        assert model.get_metadata_routing().consumes(method, ["sample_weight"]) == {"sample_weight"}
    model.fit(X, y, sample_weight=w)
    for rows, given in kept(model, 1):
        np.testing.assert_array_equal(given, w[rows.astype(int)])
    plain = reduction(asking(sample_weight=True)).fit(X, y)
    assert all(weight is None for _, weight, _ in plain.estimator_.kept_)
    before = model.t_, len(model.estimator_.kept_)
    for wrong in (w[:-1], -w, np.full(N, np.nan)):
        with pytest.raises(ValueError, match="sample_weight"):
            model.partial_fit(X, y, sample_weight=wrong)
    assert before == (model.t_, len(model.estimator_.kept_))


@config_context(enable_metadata_routing=True)
def test_weights_do_not_go_with_an_exploration_that_counts_rounds():
    X, y, _, w = data()
    model = BanditReduction(OnlineTreeClassifier().set_partial_fit_request(sample_weight=True))
    with pytest.raises(ValueError, match="sample_weight requires an explicit exploration"):
        model.fit(X, y, sample_weight=w)
    assert not hasattr(model, "t_")


@pytest.mark.parametrize("request_", [True, False, None, "w"])
def test_weak_learners_get_the_weights_of_boosting_whatever_they_request(request_):
    X, y, _, w = data()
    without = boosting(Recording()).fit(X, y, sample_weight=w)
    with config_context(enable_metadata_routing=True):
        model = boosting(asking(sample_weight=request_)).fit(X, y, sample_weight=w)
        router = model.get_metadata_routing()
        assert router.consumes("fit", ["sample_weight", "w", "classes"]) == set()
        model.set_fit_request(sample_weight=True)
        router = model.get_metadata_routing()
        assert router.consumes("fit", ["sample_weight", "w"]) == {"sample_weight"}
        with pytest.raises(TypeError, match="'w'"):
            model.partial_fit(X, y, w=w)
    for one, other in zip(without.estimators_, model.estimators_, strict=True):
        for (_, first, _), (_, second, _) in zip(one.kept_, other.kept_, strict=True):
            np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(without.predict_proba(X), model.predict_proba(X))


@MODELS
def test_what_cannot_be_handed_on_is_refused_by_name(make):
    X, y, groups, _ = data()
    model = make(asking(groups=True, sample_weight=False)).fit(X, y)
    before = model.t_, [len(one.kept_) for one in learners_of(model)]
    for method in ("fit", "partial_fit"):
        with pytest.raises(TypeError, match=f"{method}.* 'groups'.*enable_metadata_routing"):
            getattr(model, method)(X, y, groups=groups)
        with config_context(enable_metadata_routing=True):
            with pytest.raises(TypeError, match="'other'"):
                getattr(model, method)(X, y, other=groups)
            model.estimator.set_partial_fit_request(groups=None)
            with pytest.raises(UnsetMetadataPassedError, match="groups"):
                getattr(model, method)(X, y, groups=groups)
            model.estimator.set_partial_fit_request(groups=True)
    assert before == (model.t_, [len(one.kept_) for one in learners_of(model)])


@MODELS
@pytest.mark.parametrize("estimator", [None, OnlineTreeClassifier(), Recording, "tree"])
@config_context(enable_metadata_routing=True)
def test_routers_of_any_estimator_list_only_what_is_handed_on(make, estimator):
    router = make(estimator).get_metadata_routing()
    assert isinstance(router, MetadataRouter)
    for method in ("fit", "partial_fit", "predict", "score"):
        assert router.consumes(method, ["groups", "sample_weight", "classes", "X"]) == set()


@MODELS
@config_context(enable_metadata_routing=True)
def test_a_search_hands_metadata_through(make):
    X, y, groups, _ = data()
    model = make(asking(groups=True, sample_weight=False))
    name = "alpha" if make is boosting else "exploration"
    search = GridSearchCV(model, {name: [0.5]}, cv=2, error_score="raise").fit(X, y, groups=groups)
    for rows, given in kept(search.best_estimator_, 2):
        np.testing.assert_array_equal(given, 10.0 + rows)
