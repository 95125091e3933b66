"""Intervals for means of numbers in a known range, and the logs that they are about."""

import math
from typing import Any, NamedTuple

import numpy as np

from skstructured._base.validation import check_real
from skstructured.evaluation._policies import Table
from skstructured.extend._types import Floats, Ints


class Log(NamedTuple):
    """A log beside a policy: where the actions stand, what they earned, and what is asked.

    Attributes
    ----------
    policy : Table
        Probabilities π.
    at : ndarray of shape (n,)
        Places of the logged actions among the values of the policy.
    rewards, propensities, weight : ndarray of shape (n,)
        Of the rounds.
    rewards_of : ndarray of shape (N,) or None
        Estimated rewards q of all actions.
    """

    policy: Table
    at: Ints
    rewards: Floats
    propensities: Floats
    weight: Floats
    rewards_of: Floats | None

    @property
    def ratios(self) -> Floats:
        """π(a_t)/p_t of the rounds."""
        return self.policy.values[self.at] / self.propensities


def width_of(
    log: Log, method: str, unweighted: bool, reward_range: Any, min_propensity: Any
) -> float:
    """The width of the range that the numbers of the estimate must lie in."""
    if method == "snips" or not unweighted:
        raise ValueError(
            'interval="bernstein" is for method="ips" and "dr", without sample_weight: a mean of '
            "numbers in a known range."
        )
    low, high = _read_range(reward_range, log)
    least = check_real("min_propensity", min_propensity, lambda v: 0.0 < v <= 1.0, "lie in (0, 1]")
    if (log.propensities < least).any():
        raise ValueError(f"propensities must be at least min_propensity={least:g} in all rounds.")
    if method == "ips":
        return (max(high, 0.0) - min(low, 0.0)) / least
    q = log.rewards_of[log.policy.values > 0.0]  # type: ignore[index]  # "dr" has them
    if q.min() < low or q.max() > high:
        raise ValueError(f"reward_estimates must lie in reward_range=({low:g}, {high:g}).")
    return (high - low) * (2.0 / least - 1.0)


def _read_range(given, log):
    """Bounds on rewards, which the log keeps to."""
    wanted = "must be two finite numbers (low, high), low < high"
    bounds = np.asarray(given, dtype=object)
    if bounds.shape != (2,):
        raise ValueError(f"reward_range {wanted}, got {given!r}.")
    low, high = (check_real("reward_range", v, math.isfinite, wanted[5:]) for v in bounds)
    if low >= high:
        raise ValueError(f"reward_range {wanted}, got {given!r}.")
    if log.rewards.min() < low or log.rewards.max() > high:
        raise ValueError(f"rewards must lie in reward_range=({low:g}, {high:g}).")
    return low, high


def bernstein(phi: Floats, delta: float, width: float) -> float:
    """Margin of the empirical Bernstein bound on either side."""
    n, surprise = len(phi), math.log(4.0 / delta)
    spread = math.sqrt(2.0 * float(np.var(phi, ddof=1)) * surprise / n)
    return spread + 7.0 * width * surprise / (3.0 * (n - 1))
