"""After `warm_up` a process neither compiles nor loads a function for the first rows it learns."""

import pickle
import subprocess
import sys

import pytest
from conftest import INTERPRETED
from sklearn.utils import check_random_state

import skstructured
from skstructured import warm_up
from skstructured.utils import warm_up as module

#: Functions that are compiled or loaded are printed from here on.
LISTEN = """
import numba.core.event as event
from numba.core.caching import Cache

class Listener(event.Listener):
    def on_start(self, e): print("compiles", e.data["dispatcher"])
    def on_end(self, e): pass

def load(cache, *given):
    print("loads", cache._name)
    return loaded(cache, *given)

event.register("numba:compile", Listener())
loaded, Cache.load_overload = Cache.load_overload, load
"""

#: Fits, learns single rows after that and from the start, and predicts many rows and one.
LEARN = """
models = [MODEL.fit(X, y)]
if hasattr(MODEL, "partial_fit"):
    models = [MODEL.partial_fit(X[:1], y[:1]), clone(MODEL).partial_fit(X[:1], y[:1], **CLASSES)]
for model in models:
    for rows in (X, X[3:4]):
        model.predict(rows)
        hasattr(model, "predict_proba") and model.predict_proba(rows)
"""

IRIS = "*load_iris(return_X_y=True), dict(classes=range(3))"

#: name -> an estimator that it is for, its rows, which are not those of `warm_up`, and classes.
USES = {
    "StructuredPredictor": ("sk.StructuredPredictor()", IRIS),
    "OnlineStructuredPredictor": ("sk.OnlineStructuredPredictor()", IRIS),
    "sequence": (
        "sk.OnlineStructuredPredictor('sequence')",
        "words, letters, dict(classes=[*'ab'])",
    ),
    "ConditionalRandomField": ("sk.ConditionalRandomField()", "words, letters, {}"),
    "ListwiseRanker": ("sk.ListwiseRanker()", "lists, grades, {}"),
    "StructuredRegressor": ("sk.StructuredRegressor()", "*load_diabetes(return_X_y=True), {}"),
}

#: What nightly tests are of.
OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in list(USES)[1:]]

DATA = """
import numpy as np
import skstructured as sk
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
rng = np.random.RandomState(3)
words = [rng.randn(1 + i % 5, 3) for i in range(30)]
letters = [np.array(list("ab"))[(word[:, 0] > 0).astype(int)] for word in words]
lists = [rng.randn(2 + i % 5, 3) for i in range(30)]
grades = [np.digitize(items[:, 0], [-0.5, 0.5]) for items in lists]
"""


def printed(name, warms):
    """What a process prints that learns rows, after `warm_up` or not."""
    model, rows = USES[name]
    warming = f"sk.warm_up({name!r})" if warms else ""
    lines = [DATA, warming, LISTEN, f"MODEL = {model}", f"X, y, CLASSES = {rows}", LEARN]
    command = [sys.executable, "-c", "\n".join(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.exhaustive
@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
@pytest.mark.parametrize("name", ["StructuredPredictor", *OTHERS])
def test_nothing_is_compiled_or_loaded_later(name):
    assert printed(name, warms=True) == ""


@pytest.mark.exhaustive
@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_without_it_functions_are_compiled_or_loaded():
    assert "learn_r" in printed("OnlineStructuredPredictor", warms=False)


@pytest.mark.slow
def test_every_name_is_warmed_up():
    for name in module._estimators():
        assert warm_up(name) is None


def test_random_numbers_stay():
    before = pickle.dumps(check_random_state(None))
    warm_up("MulticlassPerceptron")
    assert pickle.dumps(check_random_state(None)) == before


def test_without_names_it_is_both_predictors_of_classes(monkeypatch):
    seen = []
    monkeypatch.setattr(module, "_learn_and_predict", lambda one, X, y: seen.append(one))
    warm_up()
    assert list(map(repr, seen)) == ["StructuredPredictor()", "OnlineStructuredPredictor()"]


def test_all_estimators_with_defaults_have_names():
    public = {n for n in skstructured.__all__ if hasattr(getattr(skstructured, n), "predict")}
    assert public - module._estimators().keys() == set(module.META_ESTIMATORS)


def test_unknown_names_are_refused_before_anything_is_learned(monkeypatch):
    monkeypatch.setattr(module, "_learn_and_predict", None)
    with pytest.raises(ValueError, match=r"among AdaBoost.*ordinal.*; got 'grades'\."):
        warm_up("sequence", "grades")
