"""What `verbose` prints, and that every learner of the package has what users look for."""

import inspect
import re

import numpy as np
import pytest
from learners import BINARY_LEARNERS, SHIPPED
from sklearn.base import clone

import skstructured
from skstructured._learners import passes as progress

ESTIMATORS = {
    name: thing
    for name in skstructured.__all__
    if inspect.isclass(thing := getattr(skstructured, name)) and hasattr(thing, "predict")
}
#: It solves its equations at once, or leaves learning to others.
AT_ONCE = {"QuadraticSurrogate", "BanditClassifier", "PredictionSets"}


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_every_estimator_has_an_example(name):
    doc = inspect.getdoc(ESTIMATORS[name])
    assert ">>> " in doc or name == "BanditClassifier"


@pytest.mark.parametrize("name", sorted(set(ESTIMATORS) - AT_ONCE))
def test_every_estimator_has_verbose(name):
    assert inspect.signature(ESTIMATORS[name]).parameters["verbose"].default == 0


def stream():
    rng = np.random.RandomState(0)
    X = rng.randn(60, 3)
    return X, (X[:, 0] > 0).astype(int)


KINDS = sorted(
    {
        type(model).__name__: model
        for model in [*SHIPPED.values(), *BINARY_LEARNERS.values()]
        if "verbose" in model.get_params()
    }.items()
)


@pytest.mark.parametrize(("name", "model"), KINDS, ids=[name for name, _ in KINDS])
def test_verbose_tells_how_far_it_is(monkeypatch, capsys, name, model):
    monkeypatch.setattr(progress, "EVERY", 0.0)
    X, y = stream()
    quiet = clone(model).fit(X, y)
    assert capsys.readouterr().out == ""
    loud = clone(model).set_params(verbose=1).fit(X, y)
    printed = capsys.readouterr().out
    assert re.match(r"\d+% of (60 rows|2 experts) learned in \d+ s\n|pass 1: ", printed), printed
    np.testing.assert_array_equal(loud.predict(X), quiet.predict(X))


@pytest.mark.parametrize(("name", "model"), KINDS, ids=[name for name, _ in KINDS])
@pytest.mark.parametrize("given", [-1, 0.5, "yes"])
def test_verbose_must_be_a_number_of_lines(name, model, given):
    X, y = stream()
    with pytest.raises((ValueError, TypeError), match="verbose"):
        clone(model).set_params(verbose=given).fit(X, y)


def test_lines_come_once_in_a_while(monkeypatch, capsys):
    now = iter([0.0, 0.4, 1.1, 1.5, 2.2, 2.3])
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(now))
    model = skstructured.FolkloreClassifier(verbose=True)
    assert list(progress.with_progress(model, range(0, 50, 10), 50)) == [0, 10, 20, 30, 40]
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["20% of 50 rows learned in 1 s", "60% of 50 rows learned in 2 s"]
