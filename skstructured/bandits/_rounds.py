"""Rounds of a bandit: their record, their checks, their draws."""

from typing import NamedTuple

import numpy as np


class BanditRounds(NamedTuple):
    """Rounds of a simulated bandit.

    Attributes
    ----------
    actions : ndarray of shape (n,)
        Labels chosen.
    propensities : ndarray of shape (n,)
        Probabilities with which they were chosen.
    rewards : ndarray of shape (n,)
        1 where the choice was the true label, else 0.
    """

    actions: np.ndarray
    propensities: np.ndarray
    rewards: np.ndarray


def refuse(bad, given, name, allowed):
    """Raise the ValueError for the first row marked in `bad`."""
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        value = given[row].item() if isinstance(given[row], np.generic) else given[row]
        raise ValueError(f"{name} must be {allowed}; row {row} has {value!r}.")


def check_feedback(n, actions, rewards, propensities, classes, fractional):
    """Arrays of n checked actions, rewards (0 or 1 unless `fractional`) and propensities."""
    actions = np.asarray(actions)
    rewards = np.asarray(rewards, dtype=np.float64)
    propensities = np.asarray(propensities, dtype=np.float64)
    given = {"actions": actions, "rewards": rewards, "propensities": propensities}
    for name, array in given.items():
        if array.shape != (n,):
            raise ValueError(
                f"{name} must have one entry for each of the {n} rows of X, "
                f"got shape {array.shape}."
            )
    known = np.isin(actions, classes)
    refuse(~known, actions, "actions", f"one of the classes {classes[:10].tolist()}")
    proper = (propensities > 0.0) & (propensities <= 1.0)
    refuse(~proper, propensities, "propensities", "in (0, 1]")
    if fractional:
        refuse(~((rewards >= 0.0) & (rewards <= 1.0)), rewards, "rewards", "in [0, 1]")
    else:
        refuse(~np.isin(rewards, (0.0, 1.0)), rewards, "rewards", "0 or 1 for this learner")
    return actions, rewards, propensities


def invert(P, uniforms):
    """Positions (n,) drawn from the rows of P (n, K) by inversion."""
    return np.minimum((np.cumsum(P, axis=1) <= uniforms[:, None]).sum(axis=1), P.shape[1] - 1)


def mix_uniform(theta, share):
    """``(1 − share) e_{y*} + share/K`` for every row; share (n,) or a number."""
    P = np.empty(theta.shape)
    P[:] = (np.asarray(share) / theta.shape[1]).reshape(-1, 1)
    P[np.arange(len(P)), np.argmax(theta, axis=1)] += 1.0 - np.asarray(share)
    return P
