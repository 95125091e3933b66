"""Logs of rounds and policies for them, as users give them: one row of numbers per round."""

from typing import Any, NamedTuple

import numpy as np

from skstructured.extend._types import Array, Floats, Ints
from skstructured.items._reading import read_items

#: Probabilities of a round may sum to 1 up to this.
ROUNDING = 1e-6


class Table(NamedTuple):
    """Numbers of the actions of n rounds, which may be of several lengths, one after the other.

    Attributes
    ----------
    values : ndarray of shape (N,)
        All numbers.
    offsets : ndarray of shape (n + 1,)
        Those of round i are ``offsets[i]:offsets[i + 1]``.
    """

    values: Floats
    offsets: Ints

    @property
    def lengths(self) -> Ints:
        """Actions (n,) of the rounds."""
        return np.diff(self.offsets)

    def sums(self, values: Floats) -> Floats:
        """Sums (n,) over the actions of each round, of numbers (N,)."""
        return np.add.reduceat(values, self.offsets[:-1])


def read_table(given: Any, name: str, qid: Any = None) -> Table:
    """`Table` of (n, K), of n vectors (m,), or with qid of (N,); a ValueError for anything else."""
    if qid is not None:
        flat = np.asarray(given, dtype=np.float64)
        if flat.ndim != 1:
            raise ValueError(f"{name} must have shape (N,) where qid is given, got {flat.shape}.")
        items = read_items(flat[:, None], qid)
        return Table(items.values[:, 0], items.offsets)
    try:
        rows = [np.asarray(row, dtype=np.float64) for row in given]
    except (TypeError, ValueError):
        rows = []
    if not rows or any(row.ndim != 1 or len(row) == 0 for row in rows):
        raise ValueError(
            f"{name} must be a matrix (n, K), or a list of one array (m,) per round, of numbers "
            "for each of its actions."
        )
    return Table(np.concatenate(rows), np.cumsum([0, *map(len, rows)]))


def read_policy(given: Any, qid: Any = None) -> Table:
    """`Table` of probabilities; a ValueError names the round that has none."""
    table = read_table(given, "policy", qid)
    sums = table.sums(np.where(table.values >= 0.0, table.values, np.nan))
    wrong = ~(np.abs(sums - 1.0) <= ROUNDING)
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        row = table.values[table.offsets[i] : table.offsets[i + 1]]
        raise ValueError(
            f"policy must have non-negative probabilities of sum 1 in every round; those of round "
            f"{i} begin with {row[:5].tolist()} and sum to {row.sum():.6g}."
        )
    return table


def read_numbers(name: str, given: Any, n: int) -> Floats:
    """Finite numbers (n,) as float64."""
    numbers = np.asarray(given)
    if numbers.dtype.kind not in "biuf" or numbers.shape != (n,):
        raise ValueError(
            f"{name} must have one number for each of the {n} rounds, got an array of "
            f"{numbers.dtype} of shape {numbers.shape}."
        )
    numbers = numbers.astype(np.float64)
    _refuse(name, numbers, ~np.isfinite(numbers), "finite")
    return numbers


def read_propensities(given: Any, n: int) -> Floats:
    """Probabilities (n,) in (0, 1]."""
    numbers = read_numbers("propensities", given, n)
    allowed = "in (0, 1], the probabilities with which the logged actions were chosen"
    _refuse("propensities", numbers, ~((numbers > 0.0) & (numbers <= 1.0)), allowed)
    return numbers


def places_of(actions: Any, lengths: Ints, classes: Any) -> Ints:
    """Places (n,) of logged actions in their rounds, or among `classes`."""
    given, n = np.asarray(actions), len(lengths)
    if given.shape != (n,):
        raise ValueError(
            f"actions must have one entry for each of the {n} rounds of policy, got shape "
            f"{given.shape}."
        )
    if classes is not None:
        return _among(given, np.asarray(classes), lengths)
    if given.dtype.kind not in "iu":
        raise ValueError(
            f"actions must be places from 0, integers, or labels with classes=…, got an array of "
            f"{given.dtype}."
        )
    _refuse("actions", given, (given < 0) | (given >= lengths), "places of actions of their rounds")
    return given.astype(np.intp)


def _among(given: Array, classes: Array, lengths: Ints) -> Ints:
    place = {label: k for k, label in enumerate(classes.tolist())}
    if classes.ndim != 1 or len(place) != len(classes):
        raise ValueError(f"classes must be distinct labels, (K,), got {classes.tolist()!r}.")
    if (lengths != len(classes)).any():
        raise ValueError(f"policy must have a column for each of the {len(classes)} classes.")
    places = np.array([place.get(label, -1) for label in given.tolist()], dtype=np.intp)
    _refuse("actions", given, places < 0, f"one of the classes {classes[:10].tolist()}")
    return places


def _refuse(name: str, given: Array, wrong: Array, allowed: str) -> None:
    """Raise the ValueError for the first round marked in `wrong`."""
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"{name} must be {allowed}; round {i} has {given[i].item()!r}.")
