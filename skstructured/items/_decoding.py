"""How scores of items become outputs, with exact expectations; rounds of each size at once."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skstructured._base.ragged import Ragged, check_same_lengths
from skstructured._base.validation import weighted_mean
from skstructured._learners.decoding import Decoding
from skstructured.extend._types import Floats, Given, Seed
from skstructured.extend.decoder import Decoder
from skstructured.extend.learner import Losses
from skstructured.extend.output_space import OutputSpace
from skstructured.items._loss import ItemLoss, OverItems, by_size
from skstructured.items._reading import Items, check_numbers, chosen_of, ranks_of
from skstructured.spaces import Birkhoff, Hypercube, OrdinalChain, Permutahedron, Simplex


class ItemDecoding:
    """Scores of rounds, `Ragged`, what a decoder plays at them, and what that loses.

    Parameters
    ----------
    theta : Ragged
        Scores, one per item.
    loss : ItemLoss
        The loss.
    decoder : Decoder
        How scores become outputs.
    """

    def __init__(self, theta: Ragged, loss: ItemLoss, decoder: Decoder) -> None:
        self.theta, self.loss, self.decoder = theta, loss, decoder
        self._parts = [
            (which, Decoding(rows, loss.of(rows.shape[1]), decoder))
            for which, rows in by_size(theta)
        ]

    def _of_items(self, read: Any) -> Ragged:
        """Numbers of all items, by what is read of the rounds of each size, (n_m, m)."""
        values = np.empty(len(self.theta.values))
        for which, part in self._parts:
            values[self.theta.places(which)] = np.ravel(read(part))
        return Ragged(values, self.theta.offsets)

    def _of_rounds(self, V: Ragged, read: Any) -> Any:
        """Numbers (k, n) of rounds, by what is read of those of each size and of their truths."""
        found: Any = None
        for which, part in self._parts:
            rows = V.values[V.places(which)].reshape(len(which), -1)
            numbers = np.atleast_2d(read(part, rows))
            found = np.empty((len(numbers), len(self.theta))) if found is None else found
            found[:, which] = numbers
        return found

    def scores(self) -> Ragged:
        """The scores."""
        return self.theta

    def means(self) -> Ragged:
        """Regularized predictions."""
        return self._of_items(lambda part: part.mu)

    def most_likely(self) -> Ragged:
        """The decoder's most likely outputs, as vertices."""
        return self._of_items(lambda part: part._anchor())

    def draw(self, rng: Seed) -> Ragged:
        """Outputs that the decoder draws, as vertices."""
        rng = check_random_state(rng)
        return self._of_items(lambda part: part._drawn(rng))

    def expected_loss(self, V: Ragged) -> Floats:
        """Exact expected target losses (n,) where V is true."""
        return self._of_rounds(V, lambda part, rows: part.expected_loss(rows))[0]

    def expected_losses(self, V: Any) -> Floats:
        """Those (m,) of the only round against each of the truths V (m, dim)."""
        return self._parts[0][1].expected_losses(np.asarray(V, dtype=np.float64))

    def truths(self, V: Ragged) -> Ragged:
        """Truths as they are; a ValueError where there is not one number per item."""
        check_same_lengths(self.theta, V)
        return V

    def losses(self, V: Ragged, random_state: Seed = None) -> Losses:
        """The `Losses` of what is played where V was true."""
        rng = check_random_state(random_state)
        return Losses(*self._of_rounds(V, lambda part, rows: np.array(part.losses(rows, rng))))

    def sure_losses(self, V: Ragged) -> Any:
        """Surrogate losses, and target losses of the most likely outputs, (n,) each."""
        return tuple(self._of_rounds(V, lambda part, rows: np.array(part.sure_losses(rows))))

    def score(self, V: Ragged, sample_weight: Given) -> float:
        """1 − mean target loss of the most likely outputs."""
        return 1.0 - weighted_mean(self.sure_losses(V)[1], sample_weight)


def has_probabilities(space: OutputSpace) -> bool:
    """Whether means of items are probabilities."""
    return isinstance(space, (Simplex, Hypercube, Birkhoff))


def truths_of(over: OverItems, items: Items, y: Any) -> Ragged:
    """Truths of rounds from y as users give it."""
    space = over.space
    if isinstance(space, OrdinalChain):
        raise ValueError(
            "space='ordinal' has one label per round, and no items: see docs/choose.md."
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
        raise ValueError(f"round {name!r} must have m² pairs of m ≥ 2 items, got {pairs}.")


def _checked(over: OverItems, items: Items, V: Ragged) -> Ragged:
    """0/1 vectors; a ValueError names a round whose output the space does not have."""
    for which, rows in by_size(V):
        space = over.over(rows.shape[1])
        outside = (space.argmax(2.0 * rows - 1.0) != rows).any(axis=1)
        if outside.any():
            i, row = which[outside][0], rows[outside][0]
            name = items.qid[i : i + 1].tolist()[0]
            raise ValueError(f"y of round {name!r}, {row.tolist()[:20]}, {space.refusal(row)}.")
    return V


def _of_places(over: OverItems, items: Items, y: Any) -> Ragged:
    """Assignments from the places of their items; y has one array (m,) per round of m² pairs."""
    values = np.empty(len(items.places))
    V = Ragged(values, items.offsets)
    sizes = np.sqrt(items.lengths).astype(np.int64)
    for i, (m, places) in enumerate(zip(sizes, y, strict=True)):
        if np.shape(places) != (m,):
            raise ValueError(
                f"round {i} has {m} items, and y must have their places; got an array of shape "
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
