"""Parameters and attributes described once, and copied into the docstrings of other classes."""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import groupby
from typing import TypeVar

#: ``{FolkloreClassifier: R, lam}`` on lines of its own.
MARKER = re.compile(r"^( *)\{(\w+): ([\w,\s]+)\}$", re.MULTILINE)

#: Names, perhaps a type, and lines of text below, as numpydoc has them.
ENTRY = re.compile(r"^([\w, ]+?)(?: : (.+))?\n((?: {4}.+\n?)+)", re.MULTILINE)

DEFAULT = re.compile(r",? ?default=.*")

C = TypeVar("C", bound=type)


def inherit_parameters(*sources: type) -> Callable[[C], C]:
    """Class decorator: fill in the entries that the docstring takes from other classes.

    In the docstring ``{Source: tol, shuffle}`` stands for the entries of `tol` and `shuffle` in
    that of ``Source``, be they parameters, attributes or exceptions, with the defaults of the class
    itself. Indented lines below are appended to the last of them. With ``python -OO`` there are no
    docstrings, and nothing is filled in.

    Parameters
    ----------
    *sources : type
        The classes named in the markers.

    Returns
    -------
    callable
        The decorator; it stands above `parameters`, whose defaults it reads.

    Raises
    ------
    ValueError
        By the decorator, for names that none of the sources describes.
    """

    def fill(cls: C) -> C:
        if cls.__doc__ is not None:
            cls.__doc__ = MARKER.sub(partial(_filled, cls, sources), cls.__doc__)
        return cls

    return fill


def _filled(cls: type, sources: tuple[type, ...], marker: re.Match[str]) -> str:
    """The entries that stand for a marker, with its indentation."""
    indent, source, listed = marker.groups()
    described = {
        name: entry for one in sources if one.__name__ == source for name, entry in _read(one)
    }
    names = re.split(r"[,\s]+", listed.strip())
    missing = [name for name in names if name not in described]
    if missing:
        raise ValueError(f"{cls.__name__}: {source} does not describe {', '.join(missing)}.")
    defaults = inspect.signature(cls).parameters
    texts = [described[name] for name in names]
    entries = [
        _entry([name for name, _ in group], kind, text, defaults)
        for (kind, text), group in groupby(zip(names, texts, strict=True), lambda pair: pair[1])
    ]
    return textwrap.indent("".join(entries).rstrip("\n"), indent)


def _read(source: type) -> Iterator[tuple[str, tuple[str, str]]]:
    """Pairs of a name, and the type and the text that stand at it in a docstring."""
    for entry in ENTRY.finditer(inspect.cleandoc(source.__doc__ or "") + "\n"):
        for name in entry[1].split(", "):
            yield name, (entry[2] or "", entry[3])


def _entry(
    names: list[str], kind: str, text: str, defaults: Mapping[str, inspect.Parameter]
) -> str:
    """An entry of names that share a type and a text, with their defaults."""
    values = [defaults[name].default for name in names if name in defaults]
    values = [value for value in values if value is not inspect.Parameter.empty]
    kind = DEFAULT.sub("", kind)
    if None in values and kind and "None" not in kind:
        kind += " or None"
    if values:
        kind += ", " * bool(kind) + "default=" + ", ".join(map(_shown, values))
    return f"{', '.join(names)}{' : ' * bool(kind)}{kind}\n{text}"


def _shown(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)
