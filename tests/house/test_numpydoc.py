"""Docstrings of all that is public: complete, in numpydoc's order, and in the reference."""

import importlib
import inspect
import pkgutil
import re

import pytest
from conftest import ROOT

import skstructured

validation = pytest.importorskip("numpydoc.validate")
NumpyDocString = pytest.importorskip("numpydoc.docscrape").NumpyDocString

DOCS = ROOT / "docs"

#: What numpydoc checks and we do not ask for, and why.
NOT_ASKED = {
    "GL01": "the line in which a docstring begins: ruff has a rule of its own",
    "SA01": "See Also: the text names its relatives",
    "EX01": "examples: classes have them, not every method",
    "ES01": "an extended summary: where there is more to say",
    "SS02": "a capital letter: sentences may begin with y* or η",
    "PR08": "the same, of parameters",
    "SS05": "the infinitive: it takes 'Probabilities' for a verb",
    "PR04": "a type for each, but of classes: functions take groups of arguments over from others",
    "RT03": "a text below the returned type, which may say all",
}


def rooms():
    """The package, and its public modules."""
    names = [m.name for m in pkgutil.iter_modules(skstructured.__path__) if m.name[0] != "_"]
    names.append("items.metrics")
    return [skstructured, *(importlib.import_module(f"skstructured.{name}") for name in names)]


def public():
    """Full name of each public thing, once, under the shortest of its names."""
    found = {}
    for room in rooms():
        for name in room.__all__:
            found.setdefault(id(getattr(room, name)), f"{room.__name__}.{name}")
    return [name for name in found.values() if not name.endswith("__version__")]


def thing_of(name):
    """What a full name stands for."""
    room, _, last = name.rpartition(".")
    return getattr(importlib.import_module(room), last)


def is_scorer(name):
    """Objects made by scikit-learn; the functions behind them have docstrings."""
    return type(thing_of(name)).__module__.startswith("sklearn")


def function_of(cls, member):
    """The function behind a method or a property, or None."""
    given = inspect.getattr_static(cls, member)
    given = getattr(given, "fget", None) or getattr(given, "__func__", given)
    given = inspect.unwrap(given)
    return given if inspect.isfunction(given) else None


def own_members():
    """Methods and properties of public classes: (name, function), each function once."""
    found = {}
    for name in filter(lambda name: inspect.isclass(thing_of(name)), public()):
        for member in dir(thing_of(name)):
            function = None if member[0] == "_" else function_of(thing_of(name), member)
            if function and function.__module__.startswith("skstructured"):
                found.setdefault(function.__qualname__, f"{name}.{member}")
    return sorted(found.values())


def errors(name):
    """What numpydoc says of a docstring, less what is not asked."""
    given = validation.validate(name)["errors"]
    return [(code, text) for code, text in given if code not in NOT_ASKED]


def explained():
    """Arguments that the glossary explains."""
    text = (DOCS / "glossary.md").read_text(encoding="utf-8").split("## Words")[0]
    terms = [line for line in text.splitlines() if line.startswith("`")]
    return {word for term in terms for word in re.findall(r"`(\w+)`", term)}


def is_attribute(name, code, text):
    """Whether what is missing is among Attributes, as in named tuples and what `fit` makes."""
    listed = NumpyDocString(inspect.getdoc(thing_of(name)))["Attributes"]
    shown = {word for entry in listed for word in entry.name.split(", ")}
    return code == "PR01" and set(re.findall(r"'(\w+)'", text)) <= shown


def forgiven(name, code, text, words):
    """One-line docstrings of methods say what they return, and use the glossary's words."""
    if code == "RT01":
        return "Parameters\n" not in inspect.getdoc(member_of(name))
    return code == "PR01" and set(re.findall(r"'(\w+)'", text)) <= words


def member_of(name):
    """A method or property of a public class."""
    cls, _, member = name.rpartition(".")
    return inspect.getattr_static(thing_of(cls), member)


def test_classes_and_functions():
    wrong = {}
    for name in filter(lambda name: not is_scorer(name), public()):
        found = [given for given in errors(name) if not is_attribute(name, *given)]
        wrong.update({name: found} if found else {})
    assert not wrong


def test_parameters_of_classes_have_types():
    for name in filter(lambda name: inspect.isclass(thing_of(name)), public()):
        codes = [code for code, _ in validation.validate(name)["errors"]]
        assert "PR04" not in codes, name


def test_methods_and_properties():
    words, wrong = explained(), {}
    for name in own_members():
        found = [given for given in errors(name) if not forgiven(name, *given, words)]
        wrong.update({name: found} if found else {})
    assert not wrong


def test_every_public_name_is_in_the_reference():
    text = (DOCS / "api.rst").read_text(encoding="utf-8")
    listed = [f"skstructured.{name}" for name in re.findall(r"^   ([A-Za-z][\w.]*)$", text, re.M)]
    assert len(listed) == len(set(listed))
    assert sorted(listed) == sorted(public())
