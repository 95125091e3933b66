"""Outputs of rounds as points of their polytopes."""

from typing import Any

import numpy as np

from skstructured._base.ragged import Ragged
from skstructured._base.validation import check_lengths
from skstructured.extend._types import Array, Floats, Ints
from skstructured.items._reading import Items, check_numbers

#: The largest grade whose gain is ``2^g − 1``.
LARGEST_GRADE = 60


def sums_of(values: Floats, offsets: Ints) -> Floats:
    """Sums (n,) over the items of each round."""
    return np.add.reduceat(values, offsets[:-1])


def gains_of(grades: Floats) -> Floats:
    """``2^g − 1``, which counts in NDCG; a ValueError for grades it cannot be of."""
    check_numbers("y", grades, 0.0)
    if len(grades) and grades.max() > LARGEST_GRADE:
        raise ValueError(
            f"grades y must be at most {LARGEST_GRADE}, because they count 2^y − 1; got "
            f"{grades.max():g}: divide them, or give ranks among few."
        )
    return np.exp2(grades) - 1.0


def shares_of(items: Items, y: Any) -> Ragged:
    """Shares ``g/Σg`` of the gains of grades; equal ones where there is no gain."""
    gains = gains_of(check_numbers("y", items.stacked(y), 0.0))
    lengths = items.lengths
    totals = sums_of(gains, items.offsets)
    even = np.repeat(totals == 0.0, lengths)
    values = np.where(even, 1.0, gains) / np.repeat(
        np.where(totals > 0.0, totals, lengths), lengths
    )
    return Ragged(values, items.offsets)


def ranks_of(items: Items, y: Any) -> Ragged:
    """Ranks of grades in their rounds, m = best; ties have the mean of their ranks."""
    grades = check_numbers("y", items.stacked(y))
    return Ragged(mean_ranks(grades, items.offsets), items.offsets)


def mean_ranks(numbers: Floats, offsets: Ints) -> Floats:
    """Ranks (N,) of numbers in their rounds, 1 the least; ties have the mean of their ranks."""
    lengths = np.diff(offsets)
    rounds = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((numbers, rounds))
    ordered, before = numbers[order], rounds[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]) | (before[1:] != before[:-1])
    starts = np.flatnonzero(new)
    sizes = np.diff(np.append(starts, len(order)))
    middle = starts + (sizes + 1) / 2.0
    ranks = np.empty(len(order))
    ranks[order] = np.repeat(middle, sizes) - offsets[before]
    return ranks


def chosen_of(items: Items, y: Any) -> Ragged:
    """Vertices of chosen items: y marks one per round with 1, or has its place in each round."""
    y = y.values if isinstance(y, Ragged) else y
    if items.flat:
        return _marked(items, items.stacked(y))
    if len(y) and np.ndim(y[0]) > 0:
        return _marked(items, items.stacked(y))
    return places_of(items, np.asarray(y))


def _marked(items: Items, marks: Array) -> Ragged:
    marks = check_numbers("y", marks)
    counts = sums_of(marks, items.offsets)
    if not np.isin(marks, (0.0, 1.0)).all() or (counts != 1.0).any():
        at = items.qid[counts != 1.0].tolist()
        where = f"round {at[0]!r} has {counts[counts != 1.0][0]:g}" if at else "got other numbers"
        raise ValueError(f"y must mark one available item of each round with 1, others 0; {where}.")
    return Ragged(marks, items.offsets)


def places_of(items: Items, places: Array) -> Ragged:
    """Vertices of the items at these places (n,) in their rounds, as they were given."""
    check_lengths(len(items), len(places))
    sizes = items._given
    if places.ndim != 1 or places.dtype.kind not in "iu":
        raise ValueError(
            f"y must have the place of the chosen item of each round, got {places.dtype} of shape "
            f"{places.shape}."
        )
    wrong = (places < 0) | (places >= sizes)
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"y[{i}] = {places[i]} is no place: round {i} has {sizes[i]} items.")
    full = np.zeros(items.n_given)
    full[np.concatenate([[0], np.cumsum(sizes)])[:-1] + places] = 1.0
    return _marked(items, full[items.places])
