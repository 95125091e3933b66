"""Docstrings of all that is public: complete, in numpydoc's order, and in the reference."""

import functools
import importlib
import inspect
import re

import pytest
from conftest import ROOT
from public_names import MISSING, public_modules

import skstructured

validation = pytest.importorskip("numpydoc.validate")
NumpyDocString = pytest.importorskip("numpydoc.docscrape").NumpyDocString

DOCS = ROOT / "docs"

#: What numpydoc checks and is not asked for, and why.
NOT_ASKED = {
    "GL01": "the line in which a docstring begins: ruff has a rule of its own",
    "SA01": "See Also: the text names its relatives",
    "EX01": "examples: classes have them, not every method",
    "ES01": "an extended summary: where there is more to say",
    "SS02": "a capital letter: sentences may begin with y* or η",
    "PR08": "the same, of parameters",
    "SS05": "the infinitive: it takes 'Probabilities' for a verb",
    "RT03": "a text below the returned type, which may say all",
}


def rooms():
    """The package, and its public modules."""
    names = [*public_modules(), "items.metrics"]
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


def function_of(cls, member):
    """The function behind a method or a property, or None."""
    given = inspect.getattr_static(cls, member)
    given = getattr(given, "fget", None) or getattr(given, "__func__", given)
    given = inspect.unwrap(given)
    return given if inspect.isfunction(given) else None


def classes():
    """Full names of public classes."""
    return [name for name in public() if inspect.isclass(thing_of(name))]


def own_members():
    """Methods and properties of public classes: {full name: what it stands for}, each once."""
    found = {}
    for name in classes():
        for member in dir(thing_of(name)):
            function = None if member[0] == "_" else function_of(thing_of(name), member)
            if function and function.__module__.startswith("skstructured"):
                given = inspect.getattr_static(thing_of(name), member)
                found.setdefault(function.__qualname__, (f"{name}.{member}", given))
    return dict(found.values())


def errors(things, is_allowed):
    """What numpydoc says of docstrings, less what is not asked and what is allowed."""
    for name, thing in things.items():
        for code, text in validation.validate(name)["errors"]:
            told = inspect.getdoc(thing)
            if code not in NOT_ASKED and not is_allowed(told, code, re.findall(r"'(\w+)'", text)):
                yield name, code, text


@functools.cache
def explained():
    """Arguments that the page of the architecture explains."""
    text = (DOCS / "architecture.md").read_text("utf-8").split("## Arguments")[1]
    terms = [line for line in text.splitlines() if line.startswith("`")]
    return {word for term in terms for word in re.findall(r"`(\w+)`", term)}


def is_attribute(told, code, names):
    """Whether what is missing is among Attributes, as in named tuples and what `fit` makes."""
    listed = NumpyDocString(told)["Attributes"]
    return code == "PR01" and {*names} <= {w for one in listed for w in one.name.split(", ")}


def is_line(told, code, names):
    """One-line docstrings of methods say what they return, and use the glossary's words."""
    if code == "RT01":
        return "Parameters\n" not in told
    return code == "PR04" or (code == "PR01" and {*names} <= explained())


def test_classes_and_functions():
    made = {name: thing_of(name) for name in public()}  # scorers are objects of scikit-learn's
    things = {n: t for n, t in made.items() if not type(t).__module__.startswith("sklearn")}
    of_classes = {name: things.pop(name) for name in classes()}
    assert list(errors(of_classes, is_attribute)) == []
    # functions take groups of arguments over from others, without a type for each
    assert [e for e in errors(things, is_attribute) if e[1] != "PR04"] == []


def test_methods_and_properties():
    assert list(errors(own_members(), is_line)) == []


def test_every_public_name_is_in_the_reference():
    text = (DOCS / "api.rst").read_text("utf-8")
    listed = [f"skstructured.{name}" for name in re.findall(r"^   ([A-Za-z][\w.]*)$", text, re.M)]
    listed = [name for name in listed if name.rpartition(".")[2] not in MISSING]
    assert sorted(listed) == sorted(public())
