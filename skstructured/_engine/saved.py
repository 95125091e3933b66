"""Attributes of objects that older versions have saved."""

from typing import Any

#: Names of attributes today, by their older ones.
NAMES = {"centre": "center", "centred": "centered", "_kind": "kind"}
NAMES |= {"_intercept": "fit_intercept_", "_model": "model_"}


def renamed(state: dict[str, Any]) -> dict[str, Any]:
    """The state of a saved object, under the names that its attributes have today."""
    return {NAMES.get(name, name): value for name, value in state.items()}
