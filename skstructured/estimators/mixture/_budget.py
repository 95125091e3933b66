"""Mixtures that keep to a time: members of few rows are timed first."""

from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from sklearn.utils import _safe_indexing

from skstructured.estimators.mixture._training import FEWEST_GROUPS, FEWEST_ROWS, Member
from skstructured.extend._types import Ints


def select_rows(arrays: list[Any], indices: Ints) -> list[Any]:
    """Some rows of each array; None stays."""
    return [None if array is None else _safe_indexing(array, indices) for array in arrays]


#: Seconds of the members of a mixture of all rows, by name, if they are fitted to other arrays.
TimeMembers: TypeAlias = Callable[[Any, list[Any]], dict[str, float]]


class Pilot(NamedTuple):
    """Seconds of members that were fitted to few rows, and of all else that a mixture does."""

    n_rows: int
    seconds: dict[str, float]
    other_seconds: float

    @classmethod
    def of(cls, time_members: TimeMembers, arrays: list[Any], n_rows: int) -> Self:
        """Members of a mixture of all rows that are fitted to some of them."""
        indices, began = pilot_rows(arrays, n_rows), perf_counter()
        seconds = time_members(arrays[0], select_rows(arrays, indices))
        return cls(len(indices), seconds, perf_counter() - began - sum(seconds.values()))

    @classmethod
    def largest(cls, time_members: TimeMembers, arrays: list[Any], seconds: float) -> Self:
        """The pilot with the most rows, 200 to 3,200, that takes a tenth of so many seconds."""
        n, growth = len(arrays[2]), 4
        n_rows = min(200, n // growth)
        while True:
            pilot = cls.of(time_members, arrays, n_rows)
            n_rows *= growth
            expected = growth**1.5 * (sum(pilot.seconds.values()) + pilot.other_seconds)
            if n_rows > min(3200, n / growth) or expected > 0.1 * seconds:
                return pilot


def pilot_rows(arrays: list[Any], n_rows: int) -> Ints:
    """Rows, or groups of them, spread evenly over all; a row of each class is among them."""
    *_, packed, _, groups = arrays
    if groups is None:
        indices = np.linspace(0, len(packed) - 1, n_rows).astype(int)
        is_class = np.ndim(packed) == 1 and packed.dtype.kind in "iu"
        return np.union1d(indices, np.unique(packed, return_index=True)[1]) if is_class else indices
    names, places = np.unique(groups, return_inverse=True)
    n_groups = max(FEWEST_GROUPS, len(names) * n_rows // len(packed))
    chosen = np.linspace(0, len(names) - 1, min(n_groups, len(names))).astype(int)
    return np.flatnonzero(np.isin(places, chosen))


def members_in_time(
    time_members: TimeMembers, members: list[Any], arrays: list[Any], end: float, report: Any
) -> list[Any]:
    """The members, smaller by one factor, that can be fitted until a time, less the slowest."""
    n, sizes = len(arrays[2]), 0.5 ** (np.arange(13) / 2)
    if n < 4 * FEWEST_ROWS:  # the first pilot has a quarter of the rows
        return members
    pilot = Pilot.largest(time_members, arrays, end - perf_counter())
    setup = Member.setup_rows
    other_seconds = pilot.other_seconds * (n + setup) / (pilot.n_rows + setup)
    left = 0.8 * (end - perf_counter()) - other_seconds  # plans can be wrong
    rates = {name: pilot.seconds[name] / member.work(pilot.n_rows) for name, member in members}
    for size in sizes:
        planned = [(name, member.resized(size)) for name, member in members]
        expected = {name: rates[name] * member.work(n) for name, member in planned}
        if sum(expected.values()) <= left:
            break
    while len(expected) > 1 and sum(expected.values()) > left:
        del expected[max(expected, key=expected.__getitem__)]
    absent = ", ".join(name for name, _ in members if name not in expected) or "none"
    report(
        f"for max_seconds members have {size:.0%} of their size, {absent} left out, "
        f"{sum(expected.values()):.1f} s expected"
    )
    return [pair for pair in planned if pair[0] in expected]
