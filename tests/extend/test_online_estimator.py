"""The driver of streams with models from outside of the package: that of the page, and others."""

import sys
import types

import numpy as np
import pytest
from conftest import ROOT
from house.test_docs import PRINTED
from learner_checks import assert_keeps_protocol
from numpy.testing import assert_array_equal
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

import skstructured as sk
from skstructured.extend import Model, OnlineEstimator


@pytest.fixture(scope="module")
def page():
    """A module with the estimator of the page *Custom components*."""
    text = (ROOT / "docs" / "extending.md").read_text("utf-8")
    (block,) = (block for block, _ in PRINTED.findall(text) if ", OnlineEstimator)" in block)
    sys.modules["page"] = module = types.ModuleType("page")
    exec(compile(block, "extending.md", "exec"), vars(module))
    yield module
    del sys.modules["page"]


class Means(Model):
    """Scores by the distance of means; a row of 13s cannot be learned."""

    block = 8

    def __init__(self, n_classes, n_features):
        self.sums, self.counts = np.zeros((n_classes, n_features)), np.zeros(n_classes)

    def scores(self, batch, averaged):
        X = batch.dense(slice(None))
        means = self.sums / np.maximum(self.counts, 1.0)[:, None]
        return -((X[:, None] - means) ** 2).sum(axis=2)

    def learn(self, batch, indices, weight, record):
        for x, label, w in zip(batch.dense(indices), batch.packed[indices], weight, strict=True):
            self.sums[label] += w * x
            self.counts[label] += w
            if (x == 13.0).all():
                raise RuntimeError("unlucky")

    def weights(self, averaged):
        return self.sums.copy()


class NearestMean(ClassifierMixin, OnlineEstimator):
    def __init__(self, shuffle=True, class_weight=None, random_state=None):
        self.shuffle, self.class_weight, self.random_state = shuffle, class_weight, random_state

    def new_model(self):
        return Means(self.space_.dim_, self.n_features_in_)


@pytest.fixture
def rows(rng):
    X = rng.randn(60, 3)
    return X, np.array(["a", "b", "c"])[np.argmax(X, axis=1)]


def test_the_estimator_of_the_page_passes_the_checks_of_learners(page):
    assert_keeps_protocol(page.Perceptron())


def test_the_estimator_of_the_page_passes_the_checks_of_scikit_learn(page):
    kinds = ("dense", "sparse")
    expected = {f"check_sample_weight_equivalence_on_{k}_data": "one step per row" for k in kinds}
    given = {"expected_failed_checks": expected, "on_skip": None}
    statuses = {row["status"] for row in check_estimator(page.Perceptron(), **given)}
    assert "failed" not in statuses and {"passed", "xfail"} <= statuses


@pytest.mark.parametrize("model", [NearestMean(), NearestMean(random_state=0)])
def test_an_estimator_of_few_lines_passes_the_checks_of_learners(model):
    assert_keeps_protocol(model)


def test_the_estimator_of_the_page_is_a_perceptron_with_its_certificate(page, rows):
    X, y = rows
    plain = {"average": False, "standardize": False, "fit_intercept": False}
    wanted = sk.MulticlassPerceptron(**plain).partial_fit(X, y, classes=["a", "b", "c"])
    model = page.Perceptron().partial_fit(X, y, classes=["a", "b", "c"])
    np.testing.assert_allclose(model.decision_function(X), wanted.decision_function(X), atol=1e-12)
    bounds = [one.certificate().bound(5.0, 2.0) for one in (model, wanted)]
    assert bounds[0] == pytest.approx(bounds[1])


def test_a_block_that_raises_is_not_learned(rows):
    X, y = rows
    X[20] = 13.0
    model = NearestMean().partial_fit(X[:10], y[:10], classes=["a", "b", "c"])
    with pytest.raises(RuntimeError, match="unlucky"):
        model.partial_fit(X[10:], y[10:])
    whole = clone(model).partial_fit(X[:18], y[:18], classes=["a", "b", "c"])
    assert model.t_ == whole.t_ == 18  # blocks of 8 rows
    assert_array_equal(model.coef_, whole.coef_)


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_a_first_call_that_raises_leaves_the_estimator_unfitted(rows, learn):
    X, y = rows
    X[50] = 13.0
    model = NearestMean()
    classes = {"classes": ["a", "b", "c"]} if learn == "partial_fit" else {}
    with pytest.raises(RuntimeError, match="unlucky"):
        getattr(model, learn)(X, y, **classes)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_parameters_have_their_usual_meaning(rows):
    X, y = rows
    weights = {"a": 2.0, "b": 1.0, "c": 0.0}
    model = NearestMean(class_weight=weights).fit(X, y)
    assert_array_equal(model.model_.counts, [2.0 * (y == "a").sum(), (y == "b").sum(), 0.0])
    in_order = NearestMean(shuffle=False).fit(X, y)
    assert_array_equal(in_order.coef_, NearestMean().partial_fit(X, y, classes=y).coef_)
    assert_array_equal(in_order.coef_, in_order.model_.sums)


def test_without_a_theorem_there_is_no_certificate_and_no_comparator(rows):
    model = NearestMean().fit(*rows)
    with pytest.raises(sk.GuaranteeError, match="No regret bound is stated for NearestMean"):
        model.certificate()
    with pytest.raises(sk.GuaranteeError, match="no surrogate loss"):
        model.comparison(model.resume(*rows))


def test_outputs_may_be_of_any_space(rng):
    class Nearest(OnlineEstimator):
        def __init__(self, space="multilabel"):
            self.space = space

        def new_model(self):
            return Scores(self.space_.dim_, self.n_features_in_)

    class Scores(Means):
        def scores(self, batch, averaged):
            return batch.X @ self.sums.T

        def learn(self, batch, indices, weight, record):
            self.sums += (2.0 * batch.packed[indices] - 1.0).T @ batch.X[indices]

    X = rng.randn(300, 4)
    y = (X[:, :2] > 0.0).astype(int)
    model = Nearest().partial_fit(X, y)
    assert (model.predict(X) == y).mean() > 0.9
    assert model.answer(model.resume(X, y), np.arange(300)).target.mean() < 0.1


def test_it_is_imported_at_its_first_use():
    assert sk.extend.OnlineEstimator is OnlineEstimator
    with pytest.raises(AttributeError, match="no attribute 'NoEstimator'"):
        _ = sk.extend.NoEstimator


def test_saved_learners_whose_models_were_others_are_refused():
    """They counted their rounds by themselves."""
    state = sk.FolkloreClassifier().fit(np.eye(4), [0, 1, 0, 1]).__getstate__()
    assert sk.FolkloreClassifier().__setstate__(dict(state)) is None
    with pytest.raises(ValueError, match="FolkloreClassifier was saved by an earlier version"):
        sk.FolkloreClassifier().__setstate__(state | {"t_": 4})
