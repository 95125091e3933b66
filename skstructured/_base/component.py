"""Components: parameters as scikit-learn has them, and strings that stand for them."""

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from sklearn.base import BaseEstimator


class Component(BaseEstimator):
    """A constructor parameter with parameters of its own: a space, a regularizer, a decoder.

    Components follow scikit-learn's rules for parameters, so that ``clone``, ``get_params``,
    ``set_params(space__…=…)`` and grid searches reach inside.
    """

    @classmethod
    @functools.cache
    def _get_param_names(cls) -> list[str]:
        # scikit-learn reads the constructor's signature at each clone, and each fit has several
        return super()._get_param_names()


def resolve(
    kind: str,
    value: Any,
    shortcuts: Mapping[str, Any],
    base: type,
    meanings: Mapping[str, str] = MappingProxyType({}),
) -> Any:
    """Turn a string short-cut into its component with default parameters.

    Parameters
    ----------
    kind : str
        Name of the parameter, for messages.
    value : str or base
        What was given.
    shortcuts : dict
        Strings, and the classes that they stand for.
    base : type
        What an instance must be.
    meanings : mapping, default={}
        What the message on an unknown string says behind each.

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
            valid = ", ".join(repr(name) + meanings.get(name, "") for name in sorted(shortcuts))
            raise ValueError(f"{kind}={value!r} is not known; valid short-cuts are {valid}.")
        return shortcuts[value]()
    if not isinstance(value, base):
        raise TypeError(
            f"{kind} must be a string or an instance of {base.__name__}, got {value!r}"
            + (" (a class: call it)." if isinstance(value, type) else ".")
        )
    return value
