"""What `verbose` prints, and that every learner of the package has what users look for."""

import inspect
import re

import numpy as np
import pytest
from learners import BINARY_LEARNERS, SHIPPED
from sklearn.base import clone
from streams import two_classes

import skstructured
from skstructured._learners import passes as progress
from skstructured.utils._learner_checks import has_argument

ESTIMATORS = {
    name: thing
    for name in skstructured.__all__
    if inspect.isclass(thing := getattr(skstructured, name)) and hasattr(thing, "predict")
}
#: It solves its equations at once, or leaves learning to others.
AT_ONCE = {"QuadraticSurrogate", "BanditClassifier", "PredictionSets"}


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_every_estimator_has_an_example_and_verbose(name):
    kind = ESTIMATORS[name]
    assert ">>> " in inspect.getdoc(kind) or name == "BanditClassifier"
    assert name in AT_ONCE or inspect.signature(kind).parameters["verbose"].default == 0


KINDS = {type(model).__name__: model for model in [*SHIPPED.values(), *BINARY_LEARNERS.values()]}
every_kind = pytest.mark.parametrize("model", KINDS.values(), ids=list(KINDS))


@every_kind
def test_verbose_tells_how_far_it_is(monkeypatch, capsys, model, rng):
    monkeypatch.setattr(progress, "EVERY", 0.0)
    X, y = two_classes(rng)
    quiet = clone(model).fit(X, y)
    assert capsys.readouterr().out == ""
    loud = clone(model).set_params(verbose=1).fit(X, y)
    printed = capsys.readouterr().out
    assert re.match(r"\d+% of (60 rows|2 experts) learned in \d+ s\n|pass 1: ", printed), printed
    np.testing.assert_array_equal(loud.predict(X), quiet.predict(X))


@every_kind
@pytest.mark.parametrize("given", [-1, 0.5, "yes"])
def test_verbose_must_be_a_number_of_lines_before_anything_is_learned(model, given, rng):
    X, y = two_classes(rng)
    model = clone(model).set_params(verbose=given)
    learns = [model.fit]
    if "max_iter" not in model.get_params():  # passes are of fit alone
        learns.append(getattr(model, "simulate", model.partial_fit))
    for learn in learns:
        told = {"classes": [0, 1]} if has_argument(learn, "classes") else {}
        with pytest.raises((ValueError, TypeError), match="verbose must be an integer at least 0"):
            learn(X, y, **told)
        assert not hasattr(model, "classes_") and not hasattr(model, "t_")


def test_lines_come_once_in_a_while(monkeypatch, capsys):
    now = iter([0.0, 0.4, 1.1, 1.5, 2.2, 2.3])
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(now))
    model = skstructured.FolkloreClassifier(verbose=True)
    assert list(progress.with_progress(model, range(0, 50, 10), 50)) == [0, 10, 20, 30, 40]
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["20% of 50 rows learned in 1 s", "60% of 50 rows learned in 2 s"]
