"""Methods that only some parameters have, with an error that gives the reason."""

import functools
from collections.abc import Callable
from types import MethodType
from typing import Any


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
