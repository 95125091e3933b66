"""Old names work, warn, and say until when; what they warn of is kept by the policy."""

import ast
import re
import sys
import types
import warnings

import pytest
from conftest import ROOT
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV

import skstructured
from skstructured._base.deprecation import (
    DEPRECATED,
    KEPT_FOR,
    last_day,
    moved,
    renamed_parameter,
    value_of_renamed,
)

#: Functions whose last argument, or `since`, is the version since which a name is old.
HELPERS = {"renamed_parameter", "value_of_renamed", "moved", "warn_of_old_name"}


class Scaled(BaseEstimator):
    """`factor` was called `scale` up to 0.1."""

    def __init__(self, factor=1.0, scale=DEPRECATED):
        self.factor = factor
        self.scale = scale

    def fit(self, X, y=None):
        self.factor_ = value_of_renamed(self, "scale", "factor", "0.2")
        return self

    def score(self, X, y=None):
        return self.factor_


def test_a_renamed_parameter_of_a_function():
    @renamed_parameter("scale", "factor", "0.2")
    def times(x, factor=2.0):
        return x * factor

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert times(3.0) == 6.0 and times(3.0, 5.0) == 15.0 and times(3.0, factor=4.0) == 12.0
    said = r"times\(scale=\) is factor= since version 0.2 .* the old name goes in 0.5\."
    with pytest.warns(FutureWarning, match=said) as caught:
        assert times(3.0, scale=7.0) == 21.0
    assert caught[0].filename == __file__
    with pytest.warns(FutureWarning), pytest.raises(TypeError, match="both scale and factor"):
        times(3.0, 1.0, scale=2.0)
    with pytest.raises(ValueError, match="times has no parameter 'rate'"):
        renamed_parameter("scale", "rate", "0.2")(times)


def test_a_renamed_parameter_of_an_estimator():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Scaled(3.0).fit([[0.0]]).factor_ == 3.0
        old = clone(Scaled(scale=5.0))  # nothing is said before it is used
        assert old.get_params() == {"factor": 1.0, "scale": 5.0}
    with pytest.warns(FutureWarning, match=r"Scaled\(scale=\) is factor= since") as caught:
        assert old.fit([[0.0]]).factor_ == 5.0
    assert caught[0].filename == __file__ and old.get_params() == {"factor": 1.0, "scale": 5.0}
    with pytest.raises(ValueError, match=r"both scale=5.0 and factor=2.0: give factor alone"):
        Scaled(2.0, 5.0).fit([[0.0]])


@pytest.mark.filterwarnings("ignore:Scaled.scale=:FutureWarning")
def test_searches_go_on_with_an_old_name():
    X, y = [[0.0]] * 6, [0, 1] * 3
    search = GridSearchCV(Scaled(), {"scale": [1.0, 3.0, 2.0]}, cv=2, error_score="raise")
    assert search.fit(X, y).best_params_ == {"scale": 3.0}


def test_a_moved_thing():
    module = types.ModuleType("old_place")
    module.__getattr__ = moved("old_place", {"Scaled": (Scaled, "new_place.Scaled")}, "1.3")
    sys.modules["old_place"] = module
    try:
        with pytest.warns(
            FutureWarning,
            match=r"old_place.Scaled is new_place.Scaled since version 1.3 .* goes in 1.6\.",
        ):
            from old_place import Scaled as FromThere
        assert FromThere is Scaled
        with pytest.raises(AttributeError, match="module 'old_place' has no attribute 'scaled'"):
            _ = module.scaled
    finally:
        del sys.modules["old_place"]


@pytest.mark.parametrize(("since", "goes"), [("0.2", "0.5"), ("1.9", "1.12"), ("0.0", "0.3")])
def test_a_name_goes_after_two_minor_versions(since, goes):
    assert last_day(since) == goes


@pytest.mark.parametrize("wrong", ["0.2.1", "v0.2", "2", ""])
def test_versions_that_are_none(wrong):
    for build in (last_day, lambda since: moved("m", {}, since)):
        with pytest.raises(ValueError, match=r'since must be "major.minor"'):
            build(wrong)
    with pytest.raises(ValueError, match="since must be"):
        renamed_parameter("a", "b", wrong)


def uses(source):
    """Versions since which names are old, by what calls the helpers."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in HELPERS:
            given = [*node.args, *(word.value for word in node.keywords if word.arg == "since")]
            yield from (
                arg.value
                for arg in given
                if isinstance(arg, ast.Constant) and re.fullmatch(r"\d+\.\d+", str(arg.value))
            )


def overdue(source, version):
    """Those that had to be gone by a version."""
    now = tuple(map(int, version.split(".")[:2]))
    return [s for s in uses(source) if tuple(map(int, last_day(s).split("."))) <= now]


def test_old_names_go_when_they_were_said_to():
    line = '__getattr__ = moved(__name__, {}, "0.2")\n'
    assert overdue(line, "0.4.3") == [] and overdue(line, "0.5.0") == ["0.2"]
    late = {
        path.name: overdue(path.read_text(encoding="utf-8"), skstructured.__version__)
        for path in (ROOT / "skstructured").rglob("*.py")
        if path.name != "deprecation.py"
    }
    assert {name: found for name, found in late.items() if found} == {}


def test_the_policy_says_the_same():
    page = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    section = page.split("## Old names")[1].split("\n## ")[0]
    assert KEPT_FOR == 2 and "two minor versions" in section and "FutureWarning" in section
    assert f"0.2 has the new name, {last_day('0.2')} no longer the old one" in section
