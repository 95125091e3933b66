"""Risk certificates: what the losses of independent rounds say of new rows."""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from skstructured._base.validation import check_integer
from skstructured.extend._types import Floats
from skstructured.guarantees._running_risk import (
    HEAVIEST,
    STATE,
    RecentBound,
    RiseTest,
    RunningBound,
    certify,
    read_delta,
    rise_found,
    warn_of_rise,
)

__all__ = ["RiskMonitor", "risk_bound", "risk_curve"]


class RiskMonitor(BaseEstimator):
    r"""A bound on the risk of any learner from its losses in independent rounds, at any time.

    ``L_t`` in [0, 1] is the loss that the rule of round t had on a row that it had not learned,
    ``R_t = E[L_t | past]`` its risk: what it expects to lose on a new row. With probability at
    least 1 − delta, after every number T of rounds at once,

    .. math:: \frac{\sum_t λ_t R_t}{\sum_t λ_t} \le \frac{\sum_t λ_t L_t + \ln(1/δ)
        + \sum_t ψ(λ_t) (L_t - m_t)^2}{\sum_t λ_t}, \quad ψ(λ) = -\ln(1-λ) - λ,

    with ``m_t = (½ + Σ_{s<t} L_s)/t``, ``V_t = (¼ + Σ_{s<t} (L_s − m_s)²)/t`` and
    ``λ_t = min(¾, √(2 ln(1/δ)/(V_t t ln(1+t))))``, all known before round t. So one may look after
    every row, and stop by what one sees. It keeps some forty numbers, however many losses there
    are.

    Parameters
    ----------
    delta : float, default=0.05
        Probability in (0, 1) that the bound fails at any time; and, apart from it, that a rise is
        told of where there is none.
    window : int or None, default=None
        None bounds the mean risk of all rounds. A number m bounds that of the last m to 2m − 1,
        which is what holds now where rows change: a sum begins anew every m rounds, the k-th with
        ``delta/((k+1)(k+2))`` and λ_t for n = 3m/2 rounds, so that all of them hold together.

    Attributes
    ----------
    bound_ : float
        The right side, at most 1.
    weighted_mean_ : float
        ``Σ λ_t L_t/Σ λ_t``, the mean of the losses that the bound is above; NaN without losses.
    mean_ : float
        Mean of the losses that the bound is about, counted alike; NaN without losses.
    n_ : int
        Losses seen.
    changed_ : bool
        Whether a test at level delta has found that the risk rose, or the bound lies below `mean_`.
        Learning that goes on raises a `GuaranteeWarning` when it is first so.

    Notes
    -----
    The rows must be independent draws from one distribution, and none may be learned before its
    loss is taken: repeated passes, drift, rows chosen by the past and rows used to choose the
    learner void what the bound says of new rows. The risk may change from round to round, as the
    learner does: the bound is about the mean of the risks there were.

    *The test.* A second certificate, of level δ/4, bounds a weighted mean of all risks so far from
    above by ``u_t``. Block k begins at ``s_k``, ``s_0 = 0``, ``s_{k+1} = s_k + max(8, ⌊s_k/4⌋)``; a
    certificate of the losses ``1 − L_t`` within it, of level ``δ/(2(k+1)(k+2))``, bounds such a
    mean of its risks so far from below by ``l_t``. The risk rose where ``l_t > min_{j≤k} u_{s_j}``.
    If it never rises (a fixed rule, or a learner that gets no worse, on independent rows), no mean
    of risks from s_k on is above one before s_k, so that one certificate must fail: a rise is told
    of with probability δ at most, at all times together. A fall is no alarm. After a rise both
    begin anew, the i-th bound from above with level ``δ/(2(i+1)(i+2))``, i = 0 the first.

    References
    ----------
    Howard, Ramdas, McAuliffe, Sekhon (2021), "Time-uniform, nonparametric, nonasymptotic confidence
    sequences", Theorem 4; with predictable weights Waudby-Smith, Ramdas (2024), "Estimating means
    of bounded random variables by betting", Theorem 2. On progressive validation Blum, Kalai,
    Langford (1999), "Beating the hold-out".

    Examples
    --------
    >>> import numpy as np
    >>> from skstructured import RiskMonitor
    >>> mistakes = np.random.RandomState(0).random_sample(2000) < 0.1
    >>> monitor = RiskMonitor().update(mistakes[:500]).update(mistakes[500:])
    >>> print(f"{monitor.weighted_mean_:.3f}, risk at most {monitor.bound_:.3f}")
    0.099, risk at most 0.128
    """

    _runs: tuple[RunningBound | RecentBound, RiseTest]

    def __init__(self, delta: float = 0.05, window: int | None = None) -> None:
        self.delta = delta
        self.window = window

    def update(self, losses: ArrayLike) -> Self:
        """Add losses, in the order of their rounds; chunks of any size give the same bits.

        Parameters
        ----------
        losses : float or array-like of shape (n,)
            Losses in [0, 1].

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For losses that are NaN or outside [0, 1], naming the first; for a delta outside (0, 1),
            a window that is no positive integer, and either changed since the first losses. What
            was known is then unchanged.
        """
        losses, surprise = read_losses(losses), read_delta(self.delta)
        if self.window is not None:
            check_integer("window", self.window)
        begun = getattr(self, "_begun_with", (self.delta, self.window))
        self._check_same("delta", self.delta, begun[0])
        self._check_same("window", self.window, begun[1])
        told = hasattr(self, "_runs") and self.changed_
        runs = deepcopy(self._runs) if hasattr(self, "_runs") else self._new_runs(surprise)
        for run in runs:
            run.update(losses)
        self._runs, self._begun_with = runs, begun
        if self.changed_ and not told:
            warn_of_rise(self._runs[1].found_at, self.bound_, self.mean_)
        return self

    def _new_runs(self, surprise):
        """What bounds, and what tests."""
        if self.window is None:
            return RunningBound(surprise), RiseTest(self.delta)
        return RecentBound(self.delta, int(self.window)), RiseTest(self.delta)

    @staticmethod
    def _check_same(name, given, before):
        if given != before:
            raise ValueError(
                f"{name} must stay as it was at the first losses, {before!r}, got {given!r}: the "
                "weights depend on it; begin a new monitor."
            )

    @property
    def bound_(self) -> float:
        """The bound on the weighted mean risk of the rounds so far, or of the last ones."""
        return self._current().bound

    @property
    def weighted_mean_(self) -> float:
        """Σ λ_t L_t/Σ λ_t."""
        return self._current().weighted_mean

    @property
    def mean_(self) -> float:
        """The mean of the losses."""
        return self._current().mean

    @property
    def n_(self) -> int:
        """Number of losses seen."""
        return self._seen()[1].n

    @property
    def changed_(self) -> bool:
        """Whether the test found that the risk rose."""
        return self._seen()[1].found_at is not None or self.bound_ < self.mean_

    def _current(self):
        """The certificate in use."""
        run = self._seen()[0]
        return run if self.window is None else run.current

    def _seen(self):
        if not hasattr(self, "_runs"):
            raise NotFittedError("This RiskMonitor has seen no losses: call update first.")
        return self._runs


def risk_bound(losses: ArrayLike, delta: float = 0.05) -> float:
    r"""Bound on the mean risk of rounds whose number was known before the first.

    The bound of `RiskMonitor` with other weights: with n losses they are
    ``λ_t = min(¾, √(2 ln(1/δ)/(V_t n)))``, which makes it smaller. It holds
    with probability 1 − delta for these n losses, and not for a number chosen by what the losses
    were.

    Parameters
    ----------
    losses : float or array-like of shape (n,)
        Losses in [0, 1] of independent rows in order, each taken before its row was learned.
    delta : float, default=0.05
        Probability in (0, 1) that the bound fails.

    Returns
    -------
    float
        Bound on ``Σ λ_t R_t/Σ λ_t``, at most 1: the risk of the rule of one round, drawn with
        probability proportional to λ_t.

    Raises
    ------
    ValueError
        For no losses, losses that are NaN or outside [0, 1], and a delta outside (0, 1).

    Warns
    -----
    GuaranteeWarning
        Where the test of `RiskMonitor` finds that the risk rose within these losses, or the bound
        is below their mean: the rows are then no draws from one distribution, or the learner got
        worse. The test tells of a rise with probability delta at most where there is none.

    References
    ----------
    Howard, Ramdas, McAuliffe, Sekhon (2021), "Time-uniform, nonparametric, nonasymptotic confidence
    sequences", Theorem 4.

    Examples
    --------
    >>> import numpy as np
    >>> from skstructured.guarantees.risk import risk_bound
    >>> mistakes = np.random.RandomState(0).random_sample(2000) < 0.1
    >>> print(f"{mistakes.mean():.3f}, risk at most {risk_bound(mistakes):.3f}")
    0.097, risk at most 0.114
    """
    losses = read_losses(losses)
    if len(losses) == 0:
        raise ValueError("losses must hold one loss or more, got none.")
    bound = float(path(losses, delta, horizon=len(losses))[1][-1])
    warn_of_rise(rise_found(losses, delta), bound, float(np.mean(losses)))
    return bound


def risk_curve(losses: ArrayLike, delta: float = 0.05) -> Floats:
    """``RiskMonitor(delta).update(losses[:t]).bound_`` for every t = 1, …, n, of shape (n,).

    Parameters
    ----------
    losses : float or array-like of shape (n,)
        Losses in [0, 1], in the order of their rounds.
    delta : float, default=0.05
        Probability in (0, 1) that a point of the curve lies below the mean risk so far.

    Returns
    -------
    ndarray of shape (n,)

    Raises
    ------
    ValueError
        For losses that are NaN or outside [0, 1], and a delta outside (0, 1).
    """
    return path(read_losses(losses), delta)[1]


def path(losses: Floats, delta: float, horizon: int = 0) -> tuple[Floats, Floats]:
    """Weights λ_t (n,) and bounds (n,) of every round; a horizon of 0 is any time."""
    weights, bounds = np.empty((2, len(losses)))
    certify(losses, np.zeros(STATE), read_delta(delta), float(horizon), weights, bounds)
    return weights, bounds


def fewest_losses(delta):
    """The least number of losses for which the bound may be below 1: n λ > ln(1/δ)."""
    return math.floor(read_delta(delta) / HEAVIEST) + 1


def read_losses(losses: ArrayLike) -> Floats:
    """Losses as a new float64 vector, a number as a vector of one."""
    given = np.asarray(losses)
    if given.dtype.kind not in "biuf" or given.ndim > 1:
        raise ValueError(
            f"losses must be a number or a vector of numbers, got an array of {given.dtype} of "
            f"shape {given.shape}."
        )
    vector = np.array(given, dtype=np.float64, ndmin=1)
    wrong = np.flatnonzero(~((vector >= 0.0) & (vector <= 1.0)))
    if len(wrong):
        where = f"[{wrong[0]}]" if given.ndim else ""
        raise ValueError(f"losses{where} must lie in [0, 1], got {vector[wrong[0]]:g}.")
    return vector
