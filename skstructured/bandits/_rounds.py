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
        raise ValueError(f"{name} must be {allowed}; row {row} has {given[row]!r}.")


def invert(P, uniforms):
    """Positions (n,) drawn from the rows of P (n, K) by inversion."""
    return np.minimum((np.cumsum(P, axis=1) <= uniforms[:, None]).sum(axis=1), P.shape[1] - 1)


def spread(theta, share):
    """``(1 − share) e_{y*} + share/K`` for every row; share (n,) or a number."""
    P = np.empty(theta.shape)
    P[:] = (np.asarray(share) / theta.shape[1]).reshape(-1, 1)
    P[np.arange(len(P)), np.argmax(theta, axis=1)] += 1.0 - np.asarray(share)
    return P
