"""Logarithms of probabilities: exact in the tails, and those of `predict_proba` elsewhere."""

import naive
import numpy as np
import pytest
from pairs import LARGEST, PAIRS, loss_of
from streams import weighted_vertices

from skstructured import (
    BanditReduction,
    GaptronClassifier,
    MulticlassPerceptron,
    NewtronClassifier,
    OnlineStructuredPredictor,
)
from skstructured.losses import FenchelYoung
from skstructured.spaces import Simplex

FROM_SCORES = ["simplex-shannon", "hypercube-shannon", "ordinal-shannon"]
#: Large enough for probabilities to underflow.
SIZES = [1e-12, 1.0, 40.0, 1e3, 1e6]


def online(**parameters):
    return OnlineStructuredPredictor(
        optimizer="ogd", average=False, max_iter=1, shuffle=False, **parameters
    )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", FROM_SCORES)
def test_all_digits_in_the_tails(name, size, rng):
    for dim in PAIRS[name][2]:
        loss = loss_of(name, dim)
        theta = size * rng.randn(5, dim)
        theta[0] = size  # ties
        theta[1, 0] = 40.0 * size  # one class nearly certain
        found, wanted = loss.log_proba(theta), [naive.log_proba(loss.space, t) for t in theta]
        np.testing.assert_allclose(found, wanted, rtol=1e-13 * (1 + np.log1p(size)), atol=1e-300)


@pytest.mark.parametrize(("name", "dim"), LARGEST)
def test_they_are_the_logarithms_of_predict_proba(name, dim, rng):
    space, X, V, _ = weighted_vertices(name, dim, rng, 20)
    model = online(space=space, regularizer=PAIRS[name][1]).fit(X, space.decode(V))
    if not hasattr(space, "mean_proba"):
        assert not hasattr(model, "predict_log_proba")
        return
    p, log_p = model.predict_proba(X), model.predict_log_proba(X)
    assert log_p.shape == p.shape and (log_p <= 0).all()
    np.testing.assert_allclose(np.exp(log_p), p, atol=1e-14)
    if name not in FROM_SCORES:
        np.testing.assert_array_equal(log_p == -np.inf, p <= 0.0)


def test_underflow_is_no_minus_infinity(rng):
    X, y = rng.randn(60, 3), rng.randint(3, size=60)
    model, far = online().fit(X, y), 1e5 * X
    assert (model.predict_proba(far) == 0.0).any()
    log_p, theta = model.predict_log_proba(far), model.embedding_scores(far)
    assert np.isfinite(log_p).all()
    np.testing.assert_allclose(
        log_p[:, 1:] - log_p[:, :1], theta[:, 1:] - theta[:, :1], rtol=1e-12, atol=1e-9
    )
    sparse = online(regularizer="squared").fit(X, y)
    assert (sparse.predict_log_proba(far) == -np.inf).any()


def test_a_space_that_says_otherwise_is_asked():
    class Halved(Simplex):
        def mean_proba(self, mu):
            return mu / 2

    loss, theta = FenchelYoung(Halved().fit([0, 1])), np.zeros((1, 2))
    np.testing.assert_allclose(loss.log_proba(theta), np.log([[0.25, 0.25]]))


def test_gaptron_and_newtron_are_exact_too(rng):
    X, y = rng.randn(80, 3), rng.randint(3, size=80)
    for model in (GaptronClassifier("logistic"), NewtronClassifier(random_state=0)):
        model.fit(X, y)
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
        far = model.predict_log_proba(1e5 * X)
        assert np.isfinite(far).all() and far.min() < -800
    assert not hasattr(GaptronClassifier("hinge"), "predict_log_proba")
    assert not hasattr(MulticlassPerceptron(), "predict_log_proba")


class NoLogarithms(OnlineStructuredPredictor):
    predict_log_proba = property()


def test_the_reduction_asks_its_learner(rng):
    X = rng.randn(60, 3)
    y = X.argmax(axis=1)
    model = BanditReduction(online(), exploration=0.5, classes=[0, 1, 2], random_state=0)
    model.choose(X[:1])
    np.testing.assert_allclose(model.predict_log_proba(X), -np.log(3) * np.ones((60, 3)))
    model.partial_fit(X, y)
    far = 1e6 * X
    assert (model.predict_proba(far) < 1e-290).any()
    np.testing.assert_array_equal(
        model.predict_log_proba(far), model.estimator_.predict_log_proba(far)
    )
    without = BanditReduction(NoLogarithms(), exploration=0.5, random_state=0).fit(X, y)
    assert not hasattr(without.estimator_, "predict_log_proba")
    for each in (model, without):
        np.testing.assert_allclose(np.exp(each.predict_log_proba(X)), each.predict_proba(X))
