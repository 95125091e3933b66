"""The result of a progressive validation over chunks: sums, whatever the number of rounds."""

import math
from typing import Any

import numpy as np

from skstructured._base.exceptions import GuaranteeError
from skstructured._base.shared_docs import documented
from skstructured.evaluation._result import ROUNDING, ProgressiveResult
from skstructured.extend._types import Floats
from skstructured.guarantees._running_risk import (
    OrderTest,
    RecentBound,
    RiseTest,
    read_delta,
    warn_of_order,
    warn_of_rise,
)

#: What a mean is kept of, in the order of `Losses`.
KINDS = ("target_loss", "expected_target_loss", "surrogate_loss")


@documented(ProgressiveResult)
class StreamResult:
    """Result of a progressive validation over chunks; its size does not grow with the rounds.

    Attributes
    ----------
    n_rounds : int
        Rounds played and learned.
    target_loss, expected_target_loss, surrogate_loss : float
        Means over all rounds, as `ProgressiveResult` has them round by round; NaN without any.
    chunks : ndarray of shape (m, 4)
        For every chunk its number of rounds, and the three means within it.
    estimator : estimator
        The learner after the last round.
    {ProgressiveResult: batch_size, play, dependence}
    delta : float
        Probability that `risk_bound` fails; and, apart from it, that `changed_` is wrong.
    changed_ : bool
        Whether a test at level delta found that the risk rose at some time: rows that changed, or
        a learner that got worse.
    """

    def __init__(
        self, estimator: Any, play: str, batch_size: int, dependence: str | None, delta: float
    ) -> None:
        read_delta(delta)
        self.estimator, self.play, self.batch_size = estimator, play, batch_size
        self.dependence, self.delta = dependence, delta
        self._risk, self._in_range = RecentBound(delta), True
        self._rows: list[tuple[float, ...]] = []
        self._rise, self._order = RiseTest(delta), OrderTest(delta)
        self.n_rounds, self._sums = 0, np.zeros(len(KINDS))

    def add_chunk(self, losses: Floats, packed: Any = None) -> None:
        """Add the losses (3, m) of a chunk, and its packed outputs."""
        if isinstance(packed, np.ndarray):
            self._order.update(packed)
        m, sums = losses.shape[1], losses.sum(axis=1)
        self._rows.append((m, *(sums / m if m else np.full(len(KINDS), math.nan))))
        self.n_rounds, self._sums = self.n_rounds + m, self._sums + sums
        expected = np.clip(losses[1], 0.0, 1.0)
        self._in_range &= bool(np.all(np.abs(expected - losses[1]) <= ROUNDING))
        self._risk.update(expected)
        self._rise.update(expected)

    @property
    def chunks(self) -> Floats:
        """One row per chunk: rounds, mean target, expected target and surrogate loss."""
        return np.array(self._rows, dtype=np.float64).reshape(-1, 1 + len(KINDS))

    def _mean(self, kind):
        total = self._sums[KINDS.index(kind)]
        return float(total / self.n_rounds) if self.n_rounds else math.nan

    @property
    def target_loss(self) -> float:
        """Mean target loss of the outputs drawn."""
        return self._mean("target_loss")

    @property
    def expected_target_loss(self) -> float:
        """Mean exact expectation of the target loss."""
        return self._mean("expected_target_loss")

    @property
    def surrogate_loss(self) -> float:
        """Mean surrogate loss of the weights played."""
        return self._mean("surrogate_loss")

    @property
    def changed_(self) -> bool:
        """Whether the test of `RiskMonitor`, at level delta, found that the risk ever rose."""
        return self._rise.found_at is not None

    def risk_bound(self) -> float:
        r"""Bound on what the rules that played the last rounds expect to lose on a new row.

        Unlike `ProgressiveResult.risk_bound` it holds at any time: with probability 1 − delta
        after every number of rounds at once, so that a stream may be stopped by what it says; delta
        was given to `progressive_validate`. It is that of a `RiskMonitor` over rounds that begin
        after a power of two, at least the last half.

        Returns
        -------
        float
            At most 1.

        Raises
        ------
        GuaranteeError
            For rows seen beforehand by a step of a pipeline, ``class_weight`` where what is played
            depends on it, and losses outside [0, 1].

        Warns
        -----
        GuaranteeWarning
            If the test of `RiskMonitor` found a rise of the risk within these rounds, if the bound
            is below their mean loss, or if outputs of neighboring rows are alike beyond chance.
            Each test finds at any time with probability delta at most what is not there.

        References
        ----------
        Howard, Ramdas, McAuliffe, Sekhon (2021), "Time-uniform, nonparametric, nonasymptotic
        confidence sequences", Theorem 4.
        """
        if self.dependence is not None:
            raise GuaranteeError(f"The risk on new rows needs independent rows: {self.dependence}")
        if not self._in_range:
            raise GuaranteeError("The risk is bounded for target losses in [0, 1] only.")
        warn_of_order(self._order)
        now, found_at = self._risk.current, self._rise.found_at
        within = found_at is not None and found_at > now.start
        warn_of_rise(found_at if within else None, now.bound, now.mean)
        return now.bound

    def __repr__(self):
        return (
            f"StreamResult({self.n_rounds} rounds of {type(self.estimator).__name__} in "
            f"{len(self._rows)} chunks, mean expected target loss {self.expected_target_loss:.4g}, "
            f"play={self.play!r})"
        )
