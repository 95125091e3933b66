"""Rounds whose actions come with features: how they are read, and what is told of them."""

from typing import Any, NamedTuple

import numpy as np

from skstructured._base.validation import check_weights
from skstructured.bandits._rounds import refuse
from skstructured.extend._types import Array, Floats, Ints
from skstructured.items._reading import Items, read_items

#: Rewards are at most this in size: their squares are summed.
LARGEST_REWARD = 1e100


class Actions(NamedTuple):
    """Actions of n rounds, those that are hidden left out.

    Attributes
    ----------
    items : Items
        The rounds.
    places : ndarray of shape (N',)
        Where each of the available actions stands among those given in its round.
    lengths : ndarray of shape (n,)
        How many actions were given in each round.
    """

    items: Items
    places: Ints
    lengths: Ints

    def rounds(self) -> list[slice]:
        """The rows of each round."""
        offsets = self.items.offsets
        return [slice(offsets[i], offsets[i + 1]) for i in range(len(self.items))]


def read_actions(X_actions: Any, qid: Any, available: Any) -> Actions:
    """`Actions` of what a user gives; the one place that knows how rounds are written."""
    whole = read_items(X_actions, qid)
    if len(whole) == 0:
        raise ValueError("X_actions must have one round or more, got none.")
    within = np.empty(whole.n_given, dtype=np.intp)
    starts = np.repeat(whole.offsets[:-1], whole.lengths)
    within[whole.places] = np.arange(whole.n_given) - starts
    kept = whole if available is None else read_items(X_actions, qid, available)
    return Actions(kept, within[kept.places], whole.lengths)


def rows_of(actions: Actions, codes: Any) -> Ints:
    """Rows, among those available, of the actions at `codes` (n,), places in their rounds.

    A ValueError names the round whose place is none, or that of a hidden action.
    """
    given, n = np.asarray(codes), len(actions.items)
    _check_shape("actions", given, n)
    if given.dtype.kind not in "iu":
        raise ValueError(
            f"actions must be places of actions in their rounds, integers from 0, got an array of "
            f"{given.dtype}."
        )
    outside = (given < 0) | (given >= actions.lengths)
    if outside.any():
        i = int(np.flatnonzero(outside)[0])
        raise ValueError(
            f"actions must be places from 0 to {actions.lengths[i] - 1} in round {i}, which has "
            f"{actions.lengths[i]} actions; got {given[i]}."
        )
    chosen = actions.places == np.repeat(given, actions.items.lengths)
    found = np.add.reduceat(chosen, actions.items.offsets[:-1])
    if not found.all():
        i = int(np.flatnonzero(found == 0)[0])
        raise ValueError(f"actions must be available: in round {i} action {given[i]} is hidden.")
    return np.flatnonzero(chosen)


def check_rewards(rewards: Any, n: int) -> Floats:
    """Rewards (n,) as float64: finite numbers, whose squares are."""
    given = np.asarray(rewards)
    if given.dtype.kind not in "biuf":
        raise ValueError(f"rewards must be real numbers, got an array of {given.dtype}.")
    given = given.astype(np.float64)
    _check_shape("rewards", given, n)
    wrong = ~(np.abs(given) <= LARGEST_REWARD)
    refuse(wrong, given, "rewards", f"finite numbers of size at most {LARGEST_REWARD:g}")
    return given


def check_propensities(propensities: Any, n: int) -> None:
    """A ValueError unless there are none, or n numbers in (0, 1]."""
    if propensities is None:
        return
    given = np.asarray(propensities, dtype=np.float64)
    _check_shape("propensities", given, n)
    refuse(~((given > 0.0) & (given <= 1.0)), given, "propensities", "in (0, 1]")


def check_round_weights(sample_weight: Any, n: int) -> Floats:
    """Weights of n rounds."""
    return check_weights(sample_weight, np.empty((n, 1)), n, stream=True)


def _check_shape(name: str, given: Array, n: int) -> None:
    if given.shape != (n,):
        raise ValueError(
            f"{name} must have one entry for each of the {n} rounds, got shape {given.shape}."
        )
