"""Arrays of other libraries: taken as numpy's, or refused by name where scikit-learn dispatches."""

import os

import numpy as np
import pytest
from learners import EVERY_LEARNER
from sklearn import config_context
from sklearn.base import clone

import skstructured as sk

strict = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")

#: Learners that read rows in ways of their own.
NAMES = (
    "default",
    "default tree",
    "default boosting",
    "default perceptron",
    "second order",
    "folklore",
    "default pistol",
    "kernel",
    "banditron",
)
LEARNERS = {name: EVERY_LEARNER[name] for name in NAMES} | {
    "field": sk.ConditionalRandomField("simplex", alpha=0.1),
    "max-min": sk.MaxMinMarginNetwork(alpha=0.1, random_state=0),
}


@pytest.fixture
def data(rng):
    X = rng.randn(40, 3)
    return X, np.argmax(X, axis=1)


@pytest.fixture
def dispatched(monkeypatch):
    """scikit-learn hands arrays on as they are."""
    monkeypatch.setitem(os.environ, "SCIPY_ARRAY_API", "1")
    scipy = pytest.importorskip("scipy._lib._array_api")
    monkeypatch.setattr(scipy, "SCIPY_ARRAY_API", True, raising=False)
    try:
        with config_context(array_api_dispatch=True):
            yield
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"scikit-learn does not dispatch here: {error}")


@pytest.mark.parametrize("name", LEARNERS)
def test_without_dispatch_they_are_numpys(name, data):
    X, y = data
    model = clone(LEARNERS[name]).fit(strict.asarray(X), strict.asarray(y))
    alone = clone(LEARNERS[name]).fit(X, y)
    found = model.predict(strict.asarray(X))
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, alone.predict(X))


@pytest.mark.parametrize("name", LEARNERS)
def test_with_dispatch_they_are_refused_by_name(name, data, dispatched):
    X, y = data
    said = r"is an array of array_api_strict, and array_api_dispatch=True is not supported"
    for rows, labels, which in (
        (strict.asarray(X), y, "X"),
        (strict.asarray(X), strict.asarray(y), "X"),
        (X, strict.asarray(y), "y"),
    ):
        with pytest.raises(TypeError, match=f"{which} {said}"):
            clone(LEARNERS[name]).fit(rows, labels)
    model = clone(LEARNERS[name]).fit(X, y)
    wanted = model.predict(X)
    with pytest.raises(TypeError, match=f"X {said}"):
        model.predict(strict.asarray(X))
    np.testing.assert_array_equal(model.predict(X), wanted)
    np.testing.assert_array_equal(model.predict(X.tolist()), wanted)
