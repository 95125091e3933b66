"""Truths of rounds of items from what users give as y, and outputs in that form."""

from typing import Any

import numpy as np

from skstructured._base.ragged import Ragged, by_length
from skstructured.extend._types import Floats
from skstructured.extend.output_space import OutputSpace
from skstructured.items._loss import OverItems
from skstructured.items._reading import Items, check_numbers, chosen_of, ranks_of
from skstructured.spaces import Birkhoff, Hypercube, OrdinalChain, Permutahedron, Simplex


def has_probabilities(space: OutputSpace) -> bool:
    """Whether means of items are probabilities."""
    return isinstance(space, (Simplex, Hypercube, Birkhoff))


def truths_of(over: OverItems, items: Items, y: Any) -> Ragged:
    """Truths of rounds from y as users give it."""
    space = over.space
    if isinstance(space, OrdinalChain):
        raise ValueError(
            "space='ordinal' is not supported for items: it has one label per round. Use "
            "OnlineStructuredPredictor('ordinal')."
        )
    if isinstance(space, Simplex):
        return chosen_of(items, y)
    if isinstance(space, Permutahedron):
        return ranks_of(items, y)
    if isinstance(space, Birkhoff):
        _check_pairs(items)
        if not items.flat:
            return _of_places(over, items, y)
    return _checked(over, items, Ragged(check_numbers("y", items.stacked(y)), items.offsets))


def _check_pairs(items: Items) -> None:
    """A ValueError names a round that does not have m² pairs of m items, two at least."""
    sides = np.sqrt(items.lengths).astype(np.int64)
    wrong = np.flatnonzero((sides < 2) | (sides**2 != items.lengths))
    if len(wrong):
        name, pairs = items.qid[wrong].tolist()[0], items.lengths[wrong[0]]
        raise ValueError(f"Round {name!r} must have m² pairs of m ≥ 2 items, got {pairs}.")


def _checked(over: OverItems, items: Items, V: Ragged) -> Ragged:
    """0/1 vectors; a ValueError names a round whose output the space does not have."""
    nearest = by_length(lambda m, rows: over.over(m).argmax(2.0 * rows - 1.0), V)
    wrong = np.flatnonzero(np.add.reduceat(nearest.values != V.values, V.offsets[:-1]))
    for i in wrong[np.argsort(V.lengths[wrong], kind="stable")][:1]:
        name, row = items.qid[i : i + 1].tolist()[0], V[i]
        refusal = over.over(len(row)).refusal(row)
        raise ValueError(f"y of round {name!r}, {row.tolist()[:20]}, {refusal}.")
    return V


def _of_places(over: OverItems, items: Items, y: Any) -> Ragged:
    """Assignments from the places of their items; y has one array (m,) per round of m² pairs."""
    values = np.empty(len(items.places))
    V = Ragged(values, items.offsets)
    sizes = np.sqrt(items.lengths).astype(np.int64)
    for i, (m, places) in enumerate(zip(sizes, y, strict=True)):
        if np.shape(places) != (m,):
            raise ValueError(
                f"Round {i} has {m} items, and y must contain their places; got an array of shape "
                f"{np.shape(places)}."
            )
        values[V.places(slice(i, i + 1))] = over.over(m * m).encode(np.asarray(places)[None])[0]
    return V


def outputs_of(over: OverItems, items: Items, V: Ragged) -> Any:
    """Vertices of rounds as users see them."""
    space = over.space
    marks = items.unstacked(np.rint(V.values).astype(np.int64), 0)
    if items.flat:
        return marks
    if isinstance(space, Simplex):
        return np.array([int(np.argmax(part)) for part in marks])
    if isinstance(space, Birkhoff):
        return [_places(over, part) for part in marks]
    return marks


def _places(over: OverItems, part: Floats) -> Any:
    return over.over(len(part)).decode(part[None].astype(np.float64))[0]
