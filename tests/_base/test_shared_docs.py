"""Docstrings that take over what other classes say: filled in, with defaults of their own."""

import ast
import inspect
import re
import subprocess
import sys
import textwrap

import pytest
from test_signatures import public_classes

from skstructured._base.component import parameters
from skstructured._base.docstrings import documented

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
    @documented(Source)
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
    with pytest.raises(ValueError, match=r"^Taker: .* says nothing of nothing\."):
        documented(Source)(Taker)


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
