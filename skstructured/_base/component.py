"""Components: parameters as scikit-learn has them, strings for them, and methods that need some."""

import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, field, make_dataclass
from itertools import groupby
from types import MethodType
from typing import Any, TypeVar, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator

Class = TypeVar("Class", bound=type)


def inherit_parameters(*sources: type) -> Callable[[Class], Class]:
    """Class decorator: fill in the entries that the docstring takes from other classes.

    In the docstring ``{Source: tol, shuffle}`` on separate lines stands for the entries of `tol`
    and `shuffle` in that of ``Source``, with the defaults of the class itself. It stands above
    `parameters`, whose defaults it reads. Unknown names are a ValueError.
    """
    marker = r"(?m)^( *)\{(\w+): ([\w,\s]+)\}$"

    def fill(cls: Class) -> Class:
        if cls.__doc__ is not None:  # with python -OO there are no docstrings
            cls.__doc__ = re.sub(marker, functools.partial(_filled, cls, sources), cls.__doc__)
        return cls

    return fill


def _filled(cls: type, sources: tuple[type, ...], marker: re.Match[str]) -> str:
    """The entries that stand for a marker, with its indentation."""
    indent, source, listed = marker.groups()
    owners = [owner for owner in sources if owner.__name__ == source]
    described = {name: entry for owner in owners for name, entry in _read(owner)}
    names = re.split(r"[,\s]+", listed.strip())
    missing = [name for name in names if name not in described]
    if missing:
        raise ValueError(f"{cls.__name__}: {source} does not describe {', '.join(missing)}.")
    defaults = inspect.signature(cls).parameters
    groups = groupby(names, described.__getitem__)
    entries = [_entry([*group], kind, text, defaults) for (kind, text), group in groups]
    return textwrap.indent("".join(entries).rstrip("\n"), indent)


def _read(source: type) -> Iterator[tuple[str, tuple[str, str]]]:
    """Pairs of a name, and the type and the text that stand at it in a docstring."""
    names_type_and_text = r"(?m)^([\w, ]+?)(?: : (.+))?\n((?: {4}.+\n?)+)"
    for entry in re.finditer(names_type_and_text, inspect.cleandoc(source.__doc__ or "") + "\n"):
        for name in entry[1].split(", "):
            yield name, (entry[2] or "", entry[3])


def _entry(
    names: list[str], kind: str, text: str, defaults: Mapping[str, inspect.Parameter]
) -> str:
    """An entry of names that share a type and a text, with their defaults."""
    values = [defaults[name].default for name in names if name in defaults]
    values = [value for value in values if value is not inspect.Parameter.empty]
    kind = re.sub(",? ?default=.*", "", kind)
    if None in values and kind and "None" not in kind:
        kind += " or None"
    if values:
        kind += ", " * bool(kind) + "default=" + ", ".join(map(_shown, values))
    return f"{', '.join(names)}{' : ' * bool(kind)}{kind}\n{text}"


def _shown(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


class Component(BaseEstimator):
    """A constructor parameter that has parameters: a space, a regularizer, a decoder.

    Components follow scikit-learn's rules for parameters, so ``clone``, ``get_params``,
    ``set_params(space__…=…)`` and grid searches reach inside.

    See Also
    --------
    OutputSpace : Base of output spaces.
    Decoder : Base of decoders.
    OnlineOptimizer : Base of optimizers.
    """

    @classmethod
    @functools.cache
    def _get_param_names(cls) -> list[str]:
        # scikit-learn reads the constructor's signature at each clone, and each fit has several
        return super()._get_param_names()


def resolve(kind: str, value: Any, shortcuts: Mapping[str, Any], base: type) -> Any:
    """Turn a string short-cut into its component with default parameters.

    Parameters
    ----------
    kind : str
        Name of the parameter, for messages.
    value : str or base
        The argument.
    shortcuts : dict
        Strings, and the classes that they stand for.
    base : type
        The class of instances.

    Returns
    -------
    base
        A new component, or `value` itself.

    Raises
    ------
    ValueError
        For an unknown string; the message lists the valid ones.
    TypeError
        For anything that is neither a string nor an instance of `base`.
    """
    if isinstance(value, str):
        if value not in shortcuts:
            valid = ", ".join(map(repr, sorted(shortcuts)))
            raise ValueError(f"{kind}={value!r} is not known; valid short-cuts are {valid}.")
        return shortcuts[value]()
    if not isinstance(value, base):
        raise TypeError(
            f"{kind} must be a string or an instance of {base.__name__}, got {value!r}"
            + (" (a class: call it)." if isinstance(value, type) else ".")
        )
    return value


#: Type of `random_state`.
Seed = int | np.random.RandomState | None


@dataclass_transform(eq_default=False)
def parameters(cls: Class, *shared: type) -> Class:
    """Class decorator: the annotations in the class body are the constructor's parameters.

    The constructor is that of a dataclass, with the same order, defaults and ``KW_ONLY``. Fields of
    mixins, and of `shared` classes, come first; those of estimators are not inherited. Instances
    are not dataclasses, because dask copies and hashes these without the fitted state.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> from skstructured._base.component import parameters
    >>> @parameters
    ... class Scaled(BaseEstimator):
    ...     factor: float
    ...     center: bool = True
    >>> Scaled(2.0).get_params()
    {'center': True, 'factor': 2.0}
    """
    if "__init__" in vars(cls):
        raise TypeError(f"{cls.__name__} must not define a constructor; parameters() makes it.")
    kinds = inspect.get_annotations(cls)
    fields = [(name, kind, vars(cls).get(name, MISSING)) for name, kind in kinds.items()]
    owners = [base for base in (*shared, *cls.__mro__[1:]) if not issubclass(base, BaseEstimator)]
    bases = tuple(vars(owner)["_fields"] for owner in owners if "_fields" in vars(owner))
    specs = [(name, kind, field(default=default)) for name, kind, default in fields]
    names = {"__doc__": cls.__name__}
    bare = make_dataclass(cls.__name__, specs, bases=bases, namespace=names, eq=False, repr=False)
    for name, _, default in fields:
        if default is not MISSING:
            delattr(cls, name)
    cls._fields = bare  # type: ignore[attr-defined]
    cls.__init__ = bare.__init__  # type: ignore[misc]
    cls.__init__.__module__ = cls.__module__  # type: ignore[misc]
    cls.__init__.__annotations__ = {}  # type: ignore[misc]  # help() then fits on a screen
    return cls


def parameters_with(*shared: type) -> Callable[[Class], Class]:
    """Class decorator: `parameters`, behind those of other classes, which are not bases."""
    return lambda cls: parameters(cls, *shared)


class _Available:
    """A method behind a check of its object, as of scikit-learn's `available_if`."""

    def __init__(self, method: Callable[..., Any], check: Callable[[Any], Any]) -> None:
        functools.update_wrapper(self, method)  # type: ignore[arg-type]  # not a function
        self._method, self._check = method, check

    def __get__(self, owner: Any, kind: type) -> Any:
        if owner is None:
            return self._method
        cause = None
        try:
            available = self._check(owner)
        except Exception as error:
            available, cause = False, error
        if not available:
            reason = "." if cause is None else f": {cause}"
            text = f"This {kind.__name__!r} has no attribute {self._method.__name__!r}{reason}"
            raise AttributeError(text) from cause
        return MethodType(self._method, owner)


def available_if(check: Callable[[Any], Any]) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a method that exists if ``check(self)`` is true; its error is in the message."""
    return lambda method: _Available(method, check)
