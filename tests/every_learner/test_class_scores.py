"""One score per class for scikit-learn, over embeddings that have another number of scores."""

import numpy as np
import pytest
from plain import predictor
from scipy.special import log_softmax
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.datasets import load_iris
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def ordinal(**parameters):
    return predictor(space="ordinal", max_iter=20, shuffle=True, random_state=0, **parameters)


@pytest.mark.parametrize("regularizer", ["squared", "shannon"])
def test_scores_of_ordered_classes_are_minus_the_loss_of_each(iris, regularizer):
    X, y = iris
    model = ordinal(regularizer=regularizer).fit(X, y)
    theta = model.embedding_scores(X)
    np.testing.assert_allclose(theta, X @ model.coef_.T + model.intercept_, atol=1e-12)
    losses = [model.loss_.value(theta, np.tile(v, (150, 1))) for v in model.space_.vertices()]
    wanted = -np.transpose(losses) / model.loss_.scale_
    np.testing.assert_allclose(model.decision_function(X), wanted, atol=1e-10)


def test_the_largest_score_is_the_class_predicted(iris):
    X, y = iris
    squared = ordinal().fit(X, y)
    np.testing.assert_array_equal(squared.decision_function(X).argmax(axis=1), squared.predict(X))
    shannon = ordinal(regularizer="shannon", decoder="map").fit(X, y)
    scores = shannon.decision_function(X)
    np.testing.assert_array_equal(scores.argmax(axis=1), shannon.predict(X))
    np.testing.assert_allclose(np.exp(scores), shannon.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(log_softmax(scores, axis=1), scores, atol=1e-12)


@pytest.mark.parametrize("space", ["simplex", "hypercube", "birkhoff"])
def test_elsewhere_the_scores_are_those_of_the_embedding(space, rng):
    X = rng.randn(40, 4)
    y = {
        "simplex": X[:, :3].argmax(axis=1),
        "hypercube": (X[:, :3] > 0).astype(int),
        "birkhoff": X[:, :3].argsort(axis=1),
    }[space]
    model = predictor(space=space).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), model.embedding_scores(X))


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("regularizer", ["squared", "shannon"])
def test_calibration_of_ordered_classes(iris, regularizer, method):
    X, y = iris
    model = ordinal(regularizer=regularizer)
    calibrated = CalibratedClassifierCV(model, method=method, cv=3).fit(X, y)
    assert model.fit(X, y).decision_function(X).shape == (150, 3)
    assert calibrated.score(X, y) > 0.95
    p = calibrated.predict_proba(X)
    assert all(p[y == k, k].mean() > 0.5 for k in range(3))


def test_cross_validated_scores_of_ordered_classes(iris):
    X, y = iris
    names = np.array(["a", "b", "c"])[y]
    scores = cross_val_predict(ordinal(), X, names, cv=3, method="decision_function")
    assert scores.shape == (150, 3)
    assert (scores.argmax(axis=1) == y).mean() > 0.9
    p = np.exp(log_softmax(scores, axis=1))
    assert roc_auc_score(y, p, multi_class="ovr") > 0.95


def test_displays_of_ordered_classes(iris):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot
    from sklearn.inspection import DecisionBoundaryDisplay

    X, y = iris[0][:, 2:], iris[1]
    model = ordinal().fit(X, y)
    options = {"response_method": "decision_function", "grid_resolution": 10}
    for k in range(3):
        display = DecisionBoundaryDisplay.from_estimator(model, X, class_of_interest=k, **options)
        assert display.response.shape == (10, 10)
    binary = ordinal().fit(X, y > 0)
    assert len(CalibrationDisplay.from_estimator(binary, X, y > 0).prob_true) > 0
    pyplot.close("all")
