"""Signatures of the public constructors as kept in a listing, and docstrings that take entries over
from other classes, with defaults of their own."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import textwrap
from dataclasses import KW_ONLY, is_dataclass
from pathlib import Path

import pytest
from public_names import MISSING, public_modules
from sklearn.base import BaseEstimator, clone

import skstructured
from skstructured._base.component import inherit_parameters, parameters

KEPT = Path(__file__).with_name("signatures.txt")


def public_classes():
    """Every public class but exceptions, once, by its name."""
    inner = (importlib.import_module(f"skstructured.{name}") for name in public_modules())
    rooms = [skstructured, *inner]
    things = (getattr(room, name) for room in rooms for name in room.__all__)
    classes = (thing for thing in things if inspect.isclass(thing))
    return {cls.__name__: cls for cls in classes if not issubclass(cls, Exception | Warning)}


def shown(name, cls):
    """A line such as ``Tsallis(alpha=1.5)``, without annotations."""
    signature = inspect.signature(cls)
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    listed = signature.replace(parameters=bare, return_annotation=inspect.Signature.empty)
    return f"{name}{listed}"


def test_signatures_are_as_kept():
    now = [shown(*item) for item in sorted(public_classes().items())]
    kept = KEPT.read_text(encoding="utf-8").splitlines()
    assert now == [line for line in kept if line.partition("(")[0] not in MISSING]


def test_classes_have_one_name_in_the_defaults_of_estimators():
    """ "multiclass"; "simplex" is one item of several, where items are rows."""
    found = {
        name: inspect.signature(cls).parameters["space"].default
        for name, cls in public_classes().items()
        if "space" in inspect.signature(cls).parameters and hasattr(cls, "fit")
    }
    others = {"ItemStructuredPredictor": "simplex", "ConditionalRandomField": "sequence"}
    assert len(found) == 9 and found == dict.fromkeys(found, "multiclass") | others


def test_required_and_keyword_only_parameters_and_nothing_else_of_a_dataclass():
    @parameters
    class Scaled(BaseEstimator):
        factor: float
        center: bool = True
        _: KW_ONLY
        copy: bool = False

    assert str(inspect.signature(Scaled)) == ("(factor, center=True, *, copy=False)")
    model = clone(Scaled(2.0, copy=True).set_params(center=False))
    assert vars(model) == {"factor": 2.0, "center": False, "copy": True}
    assert not hasattr(Scaled, "center") and not is_dataclass(model)
    assert model != clone(model)
    assert repr(model) == "Scaled(center=False, copy=True, factor=2.0)"
    with pytest.raises(TypeError, match=r"Scaled.__init__\(\) missing 1 required .*'factor'"):
        Scaled()


def test_a_second_constructor_is_refused():
    with pytest.raises(TypeError, match="Twice must not define a constructor"):

        @parameters
        class Twice:
            a: int = 1

            def __init__(self):
                pass


docscrape = pytest.importorskip("numpydoc.docscrape")

CLASSES = public_classes()


@parameters
class Source:
    """Where it is described.

    Parameters
    ----------
    tol : float or None, default=1e-4
        When to stop.
    a, b : int, default=1, 2
        Two numbers
        in two lines.
    kind : {"x", "y"}, default="x"
        Which.
    needed : int
        No default.

    Attributes
    ----------
    coef_ : ndarray
        Weights.
    """

    needed: int
    tol: float | None = 1e-4
    a: int = 1
    b: int = 2
    kind: str = "x"


def taken_over():
    @inherit_parameters(Source)
    @parameters
    class Taker:
        """Where it is taken over.

        Parameters
        ----------
        {Source: needed, tol, a,
        b, kind}
            Another line.

        Attributes
        ----------
        {Source: coef_}

        Notes
        -----
        A set {Source: a} in a line stays.
        """

        needed: int
        tol: float | None = None
        a: int = 3
        b: int = 4
        kind: str = "y"

    return Taker


def test_entries_come_with_the_defaults_of_the_class():
    assert inspect.getdoc(taken_over()) == textwrap.dedent(
        """\
        Where it is taken over.

        Parameters
        ----------
        needed : int
            No default.
        tol : float or None, default=None
            When to stop.
        a, b : int, default=3, 4
            Two numbers
            in two lines.
        kind : {"x", "y"}, default="y"
            Which.
            Another line.

        Attributes
        ----------
        coef_ : ndarray
            Weights.

        Notes
        -----
        A set {Source: a} in a line stays."""
    )


@pytest.mark.parametrize("marker", ["Source: tol, nothing", "Elsewhere: nothing"])
def test_what_no_source_describes_is_refused(marker):
    class Taker:
        pass

    Taker.__doc__ = f"Taker.\n\n    {{{marker}}}\n"
    with pytest.raises(ValueError, match=r"^Taker: .* does not describe nothing\."):
        inherit_parameters(Source)(Taker)


def test_pages_are_whole():
    left = re.compile(r"\bAs (in )?`[A-Z]|^\s*\{\w+: ", re.MULTILINE)
    assert [name for name, cls in CLASSES.items() if left.search(inspect.getdoc(cls))] == []


def stated_defaults(cls):
    """Pairs of a parameter and the default that stands in the docstring, as Python reads it."""
    for entry in docscrape.NumpyDocString(inspect.getdoc(cls))["Parameters"]:
        names, stated = entry.name.split(", "), re.search(r"default=(.*)$", entry.type)
        if stated:
            values = re.split(r", | and ", stated[1]) if len(names) > 1 else [stated[1]]
            values = values * len(names) if len(values) == 1 else values
            yield from zip(names, map(read, values), strict=True)


def read(value):
    """The value of a literal, or infinity."""
    return float(value) if value == "inf" else ast.literal_eval(value)


def test_defaults_are_those_of_the_signature():
    wrong = [
        (name, parameter, stated)
        for name, cls in CLASSES.items()
        for parameter, stated in stated_defaults(cls)
        if stated != inspect.signature(cls).parameters[parameter].default
    ]
    assert wrong == []


@pytest.mark.exhaustive
def test_without_docstrings_the_package_is_imported_all_the_same():
    code = "import skstructured as s; assert s.StructuralSVM(alpha=2.0).get_params()['alpha'] == 2"
    subprocess.run([sys.executable, "-OO", "-c", code + "; print(s.StructuralSVM)"], check=True)
