"""Old names that still work, and warn: parameters that were renamed, things that were moved.

The policy is in docs/contributing.md: an old name works for two minor versions after the one that
has the new name, with a FutureWarning that names both and the version in which it goes.
"""

import functools
import inspect
import re
import warnings
from collections.abc import Callable
from typing import Any

#: What stands for a parameter that was not given.
DEPRECATED = "deprecated"

#: Minor versions for which an old name works after the one that has the new name.
KEPT_FOR = 2


def last_day(since: str) -> str:
    """The version in which a name goes that is old since a version ``"major.minor"``."""
    found = re.fullmatch(r"(\d+)\.(\d+)", since)
    if found is None:
        raise ValueError(f'since must be "major.minor", got {since!r}.')
    major, minor = map(int, found.groups())
    return f"{major}.{minor + KEPT_FOR + 1}"


def warn_of_old_name(old: str, new: str, since: str, stacklevel: int = 3) -> None:
    """Warn (FutureWarning) that `old` is `new` since a version, and until when it works."""
    warnings.warn(
        f"{old} is {new} since version {since} of skstructured; the old name goes in "
        f"{last_day(since)}.",
        FutureWarning,
        stacklevel=stacklevel,
    )


def renamed_parameter(old: str, new: str, since: str) -> Callable[[Callable], Callable]:
    """Have a function take a parameter by its old name too, as a keyword, with a warning.

    Parameters
    ----------
    old, new : str
        The names.
    since : str
        The version, "major.minor", that has the new name.

    Returns
    -------
    callable
        A decorator of functions and methods. Both names at once are a TypeError.
    """
    last_day(since)  # a version that is none is told where it stands

    def decorate(function: Callable) -> Callable:
        if new not in inspect.signature(function).parameters:
            raise ValueError(f"{function.__qualname__} has no parameter {new!r}.")

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if old in kwargs:
                warn_of_old_name(f"{function.__qualname__}({old}=)", f"{new}=", since)
                given = inspect.signature(function).bind_partial(
                    *args, **{name: value for name, value in kwargs.items() if name != old}
                )
                if new in given.arguments:
                    raise TypeError(f"{function.__qualname__} got both {old} and {new}.")
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate


def value_of_renamed(estimator: Any, old: str, new: str, since: str) -> Any:
    """The value of an estimator's renamed parameter, for `fit`, which warns of the old name.

    ``__init__`` has both, the old one with the default `DEPRECATED`, because parameters of
    estimators are checked when they are used and never changed: `clone` and searches go on.

    Raises
    ------
    ValueError
        Where the old one is given, and the new one too, other than by its default.
    """
    given, value = getattr(estimator, old), getattr(estimator, new)
    if isinstance(given, str) and given == DEPRECATED:
        return value
    name = type(estimator).__name__
    default = inspect.signature(type(estimator)).parameters[new].default
    if value is not default and value != default:
        raise ValueError(f"{name} got both {old}={given!r} and {new}={value!r}: give {new} alone.")
    warn_of_old_name(f"{name}({old}=)", f"{new}=", since, stacklevel=4)
    return given


def moved(module: str, places: dict[str, tuple[Any, str]], since: str) -> Callable[[str], Any]:
    """A ``__getattr__`` for a module from which things were moved.

    Parameters
    ----------
    module : str
        ``__name__`` of the module.
    places : dict of str to (thing, str)
        Old name -> the thing, and the full name that it has now.
    since : str
        The version, "major.minor", that has the new places.

    Returns
    -------
    callable
        ``__getattr__ = moved(__name__, {…}, "0.2")``.
    """
    last_day(since)

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        thing, now = places[name]
        warn_of_old_name(f"{module}.{name}", now, since)
        return thing

    return get
