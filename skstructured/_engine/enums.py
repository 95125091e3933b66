"""Enums of positions and modes that compiled functions read."""

from collections import namedtuple
from typing import Any


def plain_integers(kind: Any) -> Any:
    """The members of an enum as a named tuple of integers, by which all versions of numba index."""
    integers: Any = namedtuple(kind.__name__, kind.__members__)  # type: ignore[misc]
    return integers(*map(int, kind.__members__.values()))
