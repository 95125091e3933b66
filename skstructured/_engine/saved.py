"""Attributes of objects that older versions have saved."""

from typing import Any


def renamed(state: dict[str, Any]) -> dict[str, Any]:
    """The state of a saved object, under the names that its attributes have today."""
    names = {"centre": "center", "centred": "centered"}
    return {names.get(name, name): value for name, value in state.items()}
