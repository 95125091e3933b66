"""Risk certificates: what the losses of independent rounds say of new rows."""

import math

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from skstructured._documented import Documented
from skstructured._engine.compiled import kernel
from skstructured._validation import check_real

__all__ = ["RiskMonitor", "risk_bound", "risk_curve"]

#: Largest λ_t.
HEAVIEST = 0.75

#: What a certificate keeps of the losses so far: numbers of a vector.
COUNT, LOSS, SQUARES, WEIGHT, RAISED, PAID = range(6)
STATE = 6


@kernel
def excess(weight):
    """ψ(λ) = −ln(1 − λ) − λ; its series where most digits would cancel."""
    if weight > 1e-2:
        return -math.log1p(-weight) - weight
    total = 0.0
    for k in range(9, 1, -1):
        total = total * weight + 1.0 / k
    return total * weight * weight


@kernel
def certify(losses, sums, surprise, horizon, weights, bounds):
    """Add losses to `sums`; write λ_t and the bound after every round. A horizon of 0: any time.

    `surprise` is ln(1/δ). λ_t and m_t are made of the sums before the loss is added.
    """
    for i in range(len(losses)):
        t = sums[COUNT] + 1.0
        guess, variance = (0.5 + sums[LOSS]) / t, (0.25 + sums[SQUARES]) / t
        n = horizon if horizon > 0.0 else t * math.log1p(t)
        weight = min(HEAVIEST, math.sqrt(2.0 * surprise / (variance * n)))
        square = (losses[i] - guess) ** 2
        sums[COUNT] = t
        sums[LOSS] += losses[i]
        sums[SQUARES] += square
        sums[WEIGHT] += weight
        sums[RAISED] += weight * losses[i]
        sums[PAID] += excess(weight) * square
        weights[i] = weight
        bounds[i] = min(1.0, (sums[RAISED] + surprise + sums[PAID]) / sums[WEIGHT])


class RiskMonitor(Documented, BaseEstimator):
    r"""A bound on the risk of any learner from its losses in independent rounds, at any time.

    ``L_t`` in [0, 1] is the loss that the rule of round t had on a row that it had not learned,
    ``R_t = E[L_t | past]`` its risk: what it expects to lose on a new row. With probability at
    least 1 − delta, after every number T of rounds at once,

    .. math:: \frac{\sum_t λ_t R_t}{\sum_t λ_t} \le \frac{\sum_t λ_t L_t + \ln(1/δ)
        + \sum_t ψ(λ_t) (L_t - m_t)^2}{\sum_t λ_t}, \quad ψ(λ) = -\ln(1-λ) - λ,

    with ``m_t = (½ + Σ_{s<t} L_s)/t``, ``V_t = (¼ + Σ_{s<t} (L_s − m_s)²)/t`` and
    ``λ_t = min(¾, √(2 ln(1/δ)/(V_t t ln(1+t))))``, all known before round t. So one may look after
    every row, and stop by what one sees. It keeps six numbers, however many losses there are.

    Parameters
    ----------
    delta : float, default=0.05
        Probability in (0, 1) that the bound fails at any time.

    Attributes
    ----------
    bound_ : float
        The right side, at most 1.
    weighted_mean_ : float
        ``Σ λ_t L_t/Σ λ_t``, the mean of the losses that the bound is above; NaN without losses.
    mean_ : float
        Mean of the losses, all rounds counted alike; NaN without losses.
    n_ : int
        Losses seen.

    Notes
    -----
    The rows must be independent draws from one distribution, and none may be learned before its
    loss is taken: repeated passes, drift, rows chosen by the past and rows used to choose the
    learner void the bound. The risk may change from round to round, as the learner does.

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

    def __init__(self, delta=0.05):
        self.delta = delta

    def update(self, losses):
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
            For losses that are NaN or outside [0, 1], naming the first; for a delta outside (0, 1)
            or changed since the first losses. What was known is then unchanged.
        """
        losses, surprise = read_losses(losses), read_delta(self.delta)
        sums, begun_with = getattr(self, "_state", (np.zeros(STATE), self.delta))
        if self.delta != begun_with:
            raise ValueError(
                f"delta must stay as it was at the first losses, {begun_with!r}, got "
                f"{self.delta!r}: the weights depend on it; begin a new monitor."
            )
        sums = np.array(sums)
        certify(losses, sums, surprise, 0.0, *np.empty((2, len(losses))))
        self._state = sums, begun_with
        return self

    @property
    def bound_(self):
        """The bound on the weighted mean risk of the rounds so far."""
        sums, surprise = self._sums(), read_delta(self._state[1])
        total = sums[RAISED] + surprise + sums[PAID]
        return float(min(1.0, total / sums[WEIGHT])) if sums[COUNT] else 1.0

    @property
    def weighted_mean_(self):
        """Σ λ_t L_t/Σ λ_t."""
        sums = self._sums()
        return float(sums[RAISED] / sums[WEIGHT]) if sums[COUNT] else math.nan

    @property
    def mean_(self):
        """The mean of the losses."""
        sums = self._sums()
        return float(sums[LOSS] / sums[COUNT]) if sums[COUNT] else math.nan

    @property
    def n_(self):
        """How many losses were seen."""
        return int(self._sums()[COUNT])

    def _sums(self):
        if not hasattr(self, "_state"):
            raise NotFittedError("This RiskMonitor has seen no losses: call update first.")
        return self._state[0]


def risk_bound(losses, delta=0.05):
    r"""Bound on the mean risk of rounds whose number was known before the first.

    As `RiskMonitor`, but for the weights: with n losses ``λ_t = min(¾, √(2 ln(1/δ)/(V_t n)))``,
    which makes it smaller. It holds with probability 1 − delta for these n losses, and not for a
    number chosen by what the losses were.

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

    References
    ----------
    As for `RiskMonitor`.

    Examples
    --------
    >>> import numpy as np
    >>> from skstructured.risk import risk_bound
    >>> mistakes = np.random.RandomState(0).random_sample(2000) < 0.1
    >>> print(f"{mistakes.mean():.3f}, risk at most {risk_bound(mistakes):.3f}")
    0.097, risk at most 0.114
    """
    losses = read_losses(losses)
    if len(losses) == 0:
        raise ValueError("losses must hold one loss or more, got none.")
    return float(path(losses, delta, horizon=len(losses))[1][-1])


def risk_curve(losses, delta=0.05):
    """``RiskMonitor(delta).update(losses[:t]).bound_`` for every t = 1, …, n, of shape (n,).

    Parameters
    ----------
    losses : float or array-like of shape (n,)
        As for `RiskMonitor.update`.
    delta : float, default=0.05
        Probability in (0, 1) that a point of the curve lies below the mean risk so far.

    Returns
    -------
    ndarray of shape (n,)

    Raises
    ------
    ValueError
        As `RiskMonitor.update`.
    """
    return path(read_losses(losses), delta)[1]


def path(losses, delta, horizon=0):
    """Weights λ_t (n,) and bounds (n,) of every round; a horizon of 0 is any time."""
    weights, bounds = np.empty((2, len(losses)))
    certify(losses, np.zeros(STATE), read_delta(delta), float(horizon), weights, bounds)
    return weights, bounds


def fewest_losses(delta):
    """The least number of losses for which the bound may be below 1: n λ > ln(1/δ)."""
    return math.floor(read_delta(delta) / HEAVIEST) + 1


def read_delta(delta):
    """ln(1/δ) of a delta in (0, 1)."""
    return -math.log(check_real("delta", delta, lambda v: 0.0 < v < 1.0, "lie in (0, 1)"))


def read_losses(losses):
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
