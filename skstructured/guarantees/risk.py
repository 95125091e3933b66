"""Bounds on the risk of new rows, from the losses of independent rounds."""

from __future__ import annotations

import math
import warnings
from copy import deepcopy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from skstructured._base.component import parameters
from skstructured._base.exceptions import GuaranteeWarning
from skstructured._base.validation import check_integer, check_real
from skstructured._engine.compiled import kernel
from skstructured._learners.lock import locked
from skstructured.extend._types import Floats
from skstructured.guarantees.rises import LARGEST_LOSS_WEIGHT, LossSums, RiseTest, rise_found


@kernel
def excess(weight):
    """ψ(λ) = −ln(1 − λ) − λ; its series if most digits would cancel."""
    if weight > 1e-2:
        return -math.log1p(-weight) - weight
    total = 0.0
    for k in range(9, 1, -1):
        total = total * weight + 1.0 / k
    return total * weight * weight


@kernel
def certify(losses, sums, surprise, horizon, weights, bounds):
    """Add losses to `sums`; write λ_t and the bound after every round. A horizon of 0: any time.

    `surprise` is ln(1/δ). λ_t and m_t only depend on the sums before the loss is added.
    """
    for i in range(len(losses)):
        t = sums[LossSums.COUNT] + 1.0
        guess, variance = (0.5 + sums[LossSums.LOSS]) / t, (0.25 + sums[LossSums.SQUARES]) / t
        n = horizon if horizon > 0.0 else t * math.log1p(t)
        weight = min(LARGEST_LOSS_WEIGHT, math.sqrt(2.0 * surprise / (variance * n)))
        square = (losses[i] - guess) ** 2
        sums[LossSums.COUNT] = t
        sums[LossSums.LOSS] += losses[i]
        sums[LossSums.SQUARES] += square
        sums[LossSums.WEIGHT] += weight
        sums[LossSums.RAISED] += weight * losses[i]
        sums[LossSums.PAID] += excess(weight) * square
        numerator = sums[LossSums.RAISED] + surprise + sums[LossSums.PAID]
        weights[i], bounds[i] = weight, min(1.0, numerator / sums[LossSums.WEIGHT])


def read_delta(delta):
    """ln(1/δ) of a delta in (0, 1)."""
    return -math.log(check_real("delta", delta, lambda v: 0.0 < v < 1.0, "lie in (0, 1)"))


class RunningBound:
    """The numbers of one bound, losses in order; a horizon of 0 is any time.

    `bound` is that on the weighted mean risk so far.
    """

    def __init__(self, surprise, horizon=0.0, start=0):
        self.surprise, self.horizon, self.start = surprise, float(horizon), start
        self.sums, self.bound = np.zeros(len(LossSums)), 1.0

    def update(self, losses):
        """Add losses (n,); their weights λ_t (n,), and the bounds after each (n,)."""
        weights, bounds = np.empty((2, len(losses)))
        certify(losses, self.sums, self.surprise, self.horizon, weights, bounds)
        self.bound = float(bounds[-1]) if len(bounds) else self.bound
        return weights, bounds

    @property
    def weighted_mean(self):
        """Σ λ_t L_t/Σ λ_t."""
        count, _, _, weight, raised, _ = self.sums
        return float(raised / weight) if count else math.nan

    @property
    def mean(self):
        """The mean of the losses."""
        count, loss = self.sums[:2]
        return float(loss / count) if count else math.nan


def surprise_of(delta, k, n_parts=1.0):
    """ln(1/δ_k) of the k-th of infinitely many bounds: ``δ_k = δ/(n_parts (k + 1)(k + 2))``.

    They sum to δ/n_parts. No overflow, even if δ_k underflows.
    """
    share = n_parts * (k + 1.0) * (k + 2.0)
    quotient = delta / share
    return -math.log(quotient) if quotient > 1e-300 else math.log(share) + read_delta(delta)


class RecentBound:
    """Bounds on the risk over the last rounds alone, at any time; two are alive at a time.

    With a `window` m bound k begins after k m rounds, and the one in use has seen the last m to
    2m − 1; without one it begins after 2ᵏ − 1, and has seen at least the last half. Bound k may
    fail with probability δ/((k+1)(k+2)) over `n_parts`.
    """

    def __init__(self, delta, window=None, n_parts=1.0):
        self._delta, self._window, self._parts, self._k, self.n = delta, window, n_parts, 0, 0
        self._alive = [self._begun()]

    def _start(self, k):
        return 2**k - 1 if self._window is None else k * self._window

    def _begun(self):
        horizon = 0.0 if self._window is None else 1.5 * self._window
        surprise = surprise_of(self._delta, self._k, self._parts)
        return RunningBound(surprise, horizon, self._start(self._k))

    def update(self, losses):
        """Add losses in [0, 1] in the order of their rounds."""
        while len(losses):
            ahead = self._start(self._k + 1) - self.n
            chunk, losses = losses[:ahead], losses[ahead:]
            for running_bound in self._alive:
                running_bound.update(chunk)
            self.n += len(chunk)
            if len(chunk) == ahead:
                self._k += 1
                self._alive = [*self._alive[-1:], self._begun()]

    @property
    def current(self):
        """The youngest `RunningBound` that has seen enough; the oldest if none has."""
        least = self.n / 2.0 if self._window is None else self._window
        enough = [bound for bound in self._alive[::-1] if self.n - bound.start >= least]
        return enough[0] if enough else self._alive[0]


class OrderTest:
    """A test, at any time, of whether outputs of neighboring rows are alike beyond chance.

    Each a of triples (a, b, c) of rows is compared with its neighbor b and with a distant c. If
    rows are independent draws from one distribution, b is nearer to a as often as c is: a bound on
    the share of triples with c nearer is then at least ½, with probability 1 − δ at all times.
    """

    def __init__(self, delta):
        self._bound, self._far = RunningBound(read_delta(delta)), None

    def update(self, outputs):
        """Add the outputs (n,) or (n, d) of a part of the rows; returns self."""
        rows = np.asarray(outputs, dtype=np.float64).reshape(len(outputs), -1)
        a, b, c = (rows[place : len(rows) // 3 * 3 : 3] for place in range(3))
        if self._far is not None:
            m = min(len(a), len(self._far))
            apart = [np.abs(a[:m] - other[:m]).sum(axis=1) for other in (b, self._far)]
            differ = apart[0] != apart[1]
            self._bound.update((apart[0] > apart[1])[differ].astype(np.float64))
        self._far = c
        return self

    @classmethod
    def of_rows(cls, outputs, delta):
        """The test of rows that are all there, by their halves."""
        test = cls(delta)
        for half in np.array_split(outputs, 2):
            test.update(half)
        return test

    @property
    def found(self):
        """Whether neighbors are alike beyond chance."""
        return self._bound.bound < 0.5


def warn_of_order(test):
    """Warn if an `OrderTest` found that neighbors are alike."""
    if test.found:
        warnings.warn(
            "Outputs of neighboring rows are more alike than by chance: the rows are not in random "
            "order, and the bound does not hold for new rows. Shuffle them first or, if they are "
            "ordered by time, use the bound only for rows like the last ones.",
            GuaranteeWarning,
            stacklevel=4,
        )


def warn_of_rise(found_at, bound, mean):
    """Warn if a rise was found, or if the bound is below the mean of the losses."""
    if found_at is not None:
        warnings.warn(
            f"The risk increased; this was detected after {found_at} losses. The rows are not "
            "independent draws from one distribution, or the learner became worse: a bound over "
            "all rounds does not hold for new rows. RiskMonitor bounds the risk of the rows since.",
            GuaranteeWarning,
            stacklevel=4,
        )
    elif bound < mean:
        warnings.warn(
            f"The bound {bound:.4g} is below the mean loss {mean:.4g}: it bounds a mean of risks "
            "that gives early rounds more weight, and the later risks are larger.",
            GuaranteeWarning,
            stacklevel=4,
        )


@locked
@parameters
class RiskMonitor(BaseEstimator):
    r"""Bound the risk of any learner from its losses in independent rounds, at any time.

    ``L_t`` in [0, 1] is the loss of the rule of round t on a row that it had not learned, and
    ``R_t = E[L_t | past]`` its risk, the expected loss on a new row. With probability at least
    1 − delta, after every number T of rounds at once [1]_, [2]_,

    .. math:: \frac{\sum_t λ_t R_t}{\sum_t λ_t} \le \frac{\sum_t λ_t L_t + \ln(1/δ)
        + \sum_t ψ(λ_t) (L_t - m_t)^2}{\sum_t λ_t}, \quad ψ(λ) = -\ln(1-λ) - λ,

    with ``m_t = (½ + Σ_{s<t} L_s)/t``, ``V_t = (¼ + Σ_{s<t} (L_s − m_s)²)/t`` and
    ``λ_t = min(¾, √(2 ln(1/δ)/(V_t t ln(1+t))))``, all known before round t. So you may look after
    every row, and stop depending on the results. The monitor keeps about 1,300 numbers,
    for any number of losses.

    Parameters
    ----------
    delta : float, default=0.05
        Probability in (0, 1) that a bound ever fails; and, apart from it, the mean number of false
        alarms per `run_length` losses, at most.
    window : int or None, default=None
        Number m of recent rounds to bound. None bounds the mean risk of all rounds since the last
        alarm. A number m bounds that of the last m to 2m − 1, for rows that change. A sum restarts
        every m rounds, the k-th with ``1/((k+1)(k+2))`` of delta and λ_t for n = 3m/2 rounds, so
        all of them hold together.
    run_length : int or None, default=30000
        Number of losses for which `delta` is the mean number of false alarms. By default there
        are at least 600,000 losses per false alarm, in the mean. None: delta is the probability of
        any false alarm, for streams of any length; alarms are then later.
    latch : bool, default=False
        Whether the monitor stops at its first alarm: `changed_` stays True, the bound stays that of
        all rounds, with all of delta, and later rises are not reported.

    Attributes
    ----------
    bound_ : float
        The right side, at least `mean_` and at most 1. It is about the rounds since the last
        alarm; after i alarms it has ``delta/((i+1)(i+2))``, so all of them hold together.
    weighted_mean_ : float
        ``Σ λ_t L_t/Σ λ_t``, the weighted mean of the losses, below the bound; NaN without losses.
    mean_ : float
        Unweighted mean of the losses that the bound is about; NaN without losses.
    n_ : int
        Losses seen.
    changed_ : bool
        Whether the last call of `update` found that the risk rose. Each such call issues a
        `GuaranteeWarning`.
    n_changes_ : int
        Rises found so far.
    last_change_ : int or None
        Losses seen when the last of them was found.

    See Also
    --------
    skstructured.guarantees.risk_bound : A smaller bound if the number of losses is fixed.
    skstructured.evaluation.progressive_validate : Makes the losses of a stream.
    PredictionSets : Sets that contain the true output with a given probability.

    Notes
    -----
    The rows must be independent draws from one distribution, and none may be learned before its
    loss is computed. The bound is not valid for new rows with repeated passes, drift, rows chosen
    by the past, or rows used to choose the learner. The risk may change from round to round, as the
    learner does: the bound is about the mean of the risks so far. On progressive validation see
    [3]_.

    *The test.* The losses so far become a base of comparison after 8, 12, 17, … losses. A base has
    29 levels: 28 upper bounds on its risk, with more and more evidence, and 1. Every later loss
    is a bet against each level, in units of its standard deviation. A rise is reported if the bets
    against each level are worth enough, at a level with less evidence more. Then, and after a fall,
    the bases restart.

    If the risk does not rise (a fixed rule, or a learner that gets no worse, on independent rows),
    the mean number of alarms in n losses is at most ``delta n/run_length``. So a rise is reported
    within `run_length` losses with probability delta at most. Errors that come in clusters are
    not independent, and raise false alarms. The sum over starts is that of [4]_; [5]_ also tests
    whether later risks are above a bound on earlier ones. The theory page has the proof.

    References
    ----------
    .. [1] Howard, Ramdas, McAuliffe, Sekhon (2021), "Time-uniform, nonparametric, nonasymptotic
       confidence sequences", Theorem 4.
    .. [2] Waudby-Smith, Ramdas (2024), "Estimating means of bounded random variables by betting",
       Theorem 2, for predictable weights.
    .. [3] Blum, Kalai, Langford (1999), "Beating the hold-out".
    .. [4] Shin, Ramdas, Rinaldo (2024), "E-detectors: a nonparametric framework for sequential
       change detection".
    .. [5] Podkopaev, Ramdas (2022), "Tracking the risk of a deployed model and detecting harmful
       distribution shifts".

    Examples
    --------
    >>> import numpy as np
    >>> from skstructured import RiskMonitor
    >>> mistakes = np.random.RandomState(0).random_sample(2000) < 0.1
    >>> monitor = RiskMonitor().update(mistakes[:500]).update(mistakes[500:])
    >>> print(f"{monitor.weighted_mean_:.3f}, risk at most {monitor.bound_:.3f}")
    0.099, risk at most 0.130
    """

    delta: float = 0.05
    window: int | None = None
    run_length: int | None = 30_000
    latch: bool = False

    #: What it has after losses.
    _fitted = ("bound_", "weighted_mean_", "mean_", "n_", "changed_", "n_changes_", "last_change_")

    def update(self, losses: ArrayLike) -> Self:
        """Add losses, in the order of their rounds; the size of chunks does not change a bit.

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
            If a loss is NaN or outside [0, 1] (the message names the first), if delta is outside
            (0, 1), if the window or the run length is not a positive integer, or if a parameter
            changed since the first losses. The state is then unchanged.
        """
        losses = read_losses(losses)
        begun = getattr(self, "_begun_with", self.get_params())
        for name, value in begun.items():
            if hasattr(self, "_runs") and getattr(self, name) != value:
                raise ValueError(
                    f"{name} must not change after the first losses: it was {value!r}, got "
                    f"{getattr(self, name)!r}. Call reset, or make a new monitor."
                )
        with self.lock:
            runs = deepcopy(getattr(self, "_runs", None)) or self._new_runs()
            rang, runs = self._learned(losses, *runs)
            warned = self.latch and getattr(self, "changed_", False)
            self._runs, self._begun_with = runs, begun
            self._set_numbers(rang or warned)
        if rang and not warned:
            warn_of_rise(self.last_change_, self.bound_, self.mean_)
        return self

    def reset(self) -> Self:
        """Forget all losses, as if new; parameters may then be changed.

        Returns
        -------
        self
            The probability `delta` is then that of the new run alone: use delta/k for k runs.
        """
        with self.lock:
            for name in ("_runs", "_begun_with", *self._fitted):
                self.__dict__.pop(name, None)
        return self

    def _new_runs(self):
        """The running bound and the test, of checked parameters."""
        for name in ("window", "run_length"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name))
        read_delta(self.delta)
        return self._new_bound(0), RiseTest(self.delta, self.run_length)

    def _new_bound(self, n_changes):
        """The bound on the rounds since the last of so many rises."""
        n_parts = 1.0 if self.latch else (n_changes + 1.0) * (n_changes + 2.0)
        if self.window is None:
            return RunningBound(read_delta(self.delta) + math.log(n_parts))
        return RecentBound(self.delta, int(self.window), n_parts)

    def _learned(self, losses, bound, test):
        """Whether the risk rose within the losses, and what runs after them."""
        rises = test.update(losses)
        if rises and not self.latch:
            bound, losses = self._new_bound(test.n_rises), losses[rises[-1] :]
        bound.update(losses)
        return bool(rises), (bound, test)

    def _set_numbers(self, changed):
        run, test = self._runs
        running_bound = run.current if isinstance(run, RecentBound) else run
        self.weighted_mean_, self.mean_ = running_bound.weighted_mean, running_bound.mean
        self.bound_ = max(running_bound.bound, running_bound.mean)
        self.n_, self.changed_ = test.n, changed
        self.n_changes_, self.last_change_ = test.n_rises, test.found_at

    def __getattr__(self, name: str) -> Any:
        if name in type(self)._fitted:
            raise NotFittedError("This RiskMonitor has seen no losses: call update first.")
        raise AttributeError(f"'RiskMonitor' object has no attribute {name!r}")


def risk_bound(losses: ArrayLike, delta: float = 0.05) -> float:
    r"""Bound the mean risk of rounds whose number was known before the first.

    The bound is that of `RiskMonitor` with other weights: with n losses they are
    ``λ_t = min(¾, √(2 ln(1/δ)/(V_t n)))``, which makes it smaller. It holds
    with probability 1 − delta for these n losses, and not for a number chosen by looking at the
    losses.

    Parameters
    ----------
    losses : float or array-like of shape (n,)
        Losses in [0, 1] of independent rows in order, each computed before its row was learned.
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
        If there are no losses, if one is NaN or outside [0, 1], or if delta is outside (0, 1).

    Warns
    -----
    GuaranteeWarning
        If the test of `RiskMonitor` finds that the risk rose within these losses, or the bound
        is below their mean: the rows are then not draws from one distribution, or the learner got
        worse. If the risk did not rise, the test reports a rise with probability delta at most.

    See Also
    --------
    RiskMonitor : The same bound at any time.
    risk_curve : The bound after every loss.
    skstructured.evaluation.ProgressiveResult : Has this bound as `risk_bound`.

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
        raise ValueError("losses must have one loss or more, got none.")
    bound = float(path(losses, delta, horizon=len(losses))[1][-1])
    warn_of_rise(rise_found(losses, delta), bound, float(np.mean(losses)))
    return bound


def risk_curve(losses: ArrayLike, delta: float = 0.05) -> Floats:
    """Bound the mean risk of the first t rounds for every t = 1, …, n, at once.

    The bound is that of ``RiskMonitor(delta, latch=True)`` unless the mean loss is above it.

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
        If a loss is NaN or outside [0, 1], or if delta is outside (0, 1).

    See Also
    --------
    RiskMonitor : The same, loss by loss, and of the rows since an alarm.
    risk_bound : A single, smaller bound if the number of losses is fixed.
    """
    return path(read_losses(losses), delta)[1]


def path(losses: Floats, delta: float, horizon: int = 0) -> tuple[Floats, Floats]:
    """Weights λ_t (n,) and bounds (n,) of every round; a horizon of 0 is any time."""
    return RunningBound(read_delta(delta), horizon).update(losses)


def fewest_losses(delta):
    """The least number of losses for which the bound may be below 1: n λ > ln(1/δ)."""
    return math.floor(read_delta(delta) / LARGEST_LOSS_WEIGHT) + 1


def read_losses(losses: ArrayLike) -> Floats:
    """Losses as a new float64 vector, a number as a vector of one."""
    array = np.asarray(losses)
    if array.dtype.kind not in "biuf" or array.ndim > 1:
        raise ValueError(
            f"losses must be a number or a vector of numbers, got an array of {array.dtype} of "
            f"shape {array.shape}."
        )
    vector = np.array(array, dtype=np.float64, ndmin=1)
    wrong = np.flatnonzero(~((vector >= 0.0) & (vector <= 1.0)))
    if len(wrong):
        where = f"[{wrong[0]}]" if array.ndim else ""
        raise ValueError(f"losses{where} must lie in [0, 1], got {vector[wrong[0]]:g}.")
    return vector
