"""Means, deviations and largest entries of the rows of several shards, as of all rows together."""

import math
from collections.abc import Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from skstructured._engine.arrays import Array, Floats
from skstructured._engine.moments import (
    COUNTED,
    DEVIATION,
    MEAN,
    MISSED,
    MISSED_SINCE,
    SQUARES,
    SUM,
)
from skstructured._engine.rows import Rows
from skstructured._engine.standardize import RunningScale
from skstructured._engine.state import refuse_to_move

#: Σ w of the rows that have each feature, means and deviations.
Moments: TypeAlias = tuple[Floats, Floats, Floats]


class MergedScale(RunningScale):
    """A `RunningScale` of the rows of all shards, for weights that are in the units of the rows."""

    def apply(
        self, rows: Rows, order: Array | None = None, weight: Floats | None = None
    ) -> NoReturn:
        """No further rows are counted: a RuntimeError."""
        refuse_to_move()

    def anew(self) -> RunningScale:
        """A `RunningScale` for the same kind of rows that has seen none."""
        width = self.statistics.shape[1]
        fresh = RunningScale(width, self.centred, self.used, self.dtype, self.indicators)
        fresh.divided, fresh.indicators = self.divided, self.indicators
        return fresh

    def fold(self, W: Floats, columns: Any = None) -> Floats:
        """W itself."""
        return W


def merged(scales: list[RunningScale]) -> RunningScale:
    """The `MergedScale` of scales that transform the same kind of rows, one or more.

    Mean ``Σ n_i m_i / n`` and variance ``Σ n_i (v_i + (m_i − m)²) / n``, n_i the sums of the sample
    weights; the largest of the largest entries for CSR rows.
    """
    first = scales[0]
    result = MergedScale(first.statistics.shape[1], first.centred, first.used, first.dtype)
    result.divided, result._kind = first.divided, first._kind
    result.indicators = first.indicators
    if not first.used:
        return result
    if first._kind == "sparse":
        largest = np.max([scale.statistics[DEVIATION] for scale in scales], axis=0)
        result.set_moments(np.zeros_like(largest), largest)
        return result
    result.counts[COUNTED] = math.fsum(scale.counts.sum() for scale in scales)
    if result.counts[COUNTED] > 0.0:
        total, mean, deviation = _together([_moments(scale) for scale in scales])
        result.statistics[MISSED] = result.counts[COUNTED] - total
        result.set_moments(mean, deviation if first.divided else np.ones_like(deviation))
    return result


def _moments(scale: RunningScale) -> Moments:
    """Σ w, means and deviations of all rows, those too that the statistics do not have yet."""
    statistics, (counted, recent) = scale.statistics, scale.counts
    before, since = counted - statistics[MISSED], recent - statistics[MISSED_SINCE]
    mean, deviation, total = statistics[MEAN], statistics[DEVIATION], before + since
    if recent > 0.0:
        there = np.where(total > 0.0, total, 1.0)
        shift = statistics[SUM] / there if scale.centred else np.zeros_like(mean)
        spread = (before + statistics[SQUARES]) / there - shift * shift
        mean = mean + deviation * shift
        deviation = np.where(since > 0.0, deviation * np.sqrt(np.maximum(spread, 0.0)), deviation)
    return total, mean, deviation


def _together(parts: Sequence[Moments]) -> Moments:
    """Σ w, means and deviations of several (Σ w, means, deviations).

    Means are those of the heaviest part and what the others shift them by, so that light parts that
    are far away cost no digits.
    """
    weights, means = (np.array([part[i] for part in parts]) for i in range(2))
    total = np.array([math.fsum(of_feature) for of_feature in weights.T])
    shares = weights / np.where(total > 0.0, total, 1.0)
    heaviest = means[weights.argmax(axis=0), np.arange(len(total))]
    mean = heaviest + np.einsum("sp,sp->p", shares, means - heaviest)
    deviation = np.zeros_like(mean)
    for share, (_, m, d) in zip(shares, parts, strict=True):
        deviation = np.hypot(deviation, np.sqrt(share) * np.hypot(d, m - mean))
    return total, mean, deviation
