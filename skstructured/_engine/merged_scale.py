"""Means, deviations and largest entries of the rows of several shards, as of all rows together."""

import math
from collections.abc import Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from skstructured._engine.arrays import Array, Floats
from skstructured._engine.moments import (
    COUNTED,
    DEVIATION,
    INVERSE,
    MEAN,
    SMALLEST,
    SQUARES,
    SUM,
)
from skstructured._engine.rows import Rows
from skstructured._engine.standardize import RunningScale
from skstructured._engine.state import refuse_to_move

#: Σ w, means and deviations.
Moments: TypeAlias = tuple[float, Floats, Floats]


class MergedScale(RunningScale):
    """A `RunningScale` of the rows of all shards, for weights that are in the units of the rows."""

    def apply(
        self, rows: Rows, order: Array | None = None, weight: Floats | None = None
    ) -> NoReturn:
        """No further rows are counted: a RuntimeError."""
        refuse_to_move()

    def anew(self) -> RunningScale:
        """A `RunningScale` for the same kind of rows that has seen none."""
        fresh = RunningScale(self.statistics.shape[1], self.centred, self.used, self.dtype)
        fresh.divided = self.divided
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
    if not first.used:
        return result
    if first._kind == "sparse":
        largest = np.max([scale.statistics[DEVIATION] for scale in scales], axis=0)
        _set(result, largest)
        return result
    parts = [part for part in map(_moments, scales) if part[0] > 0.0]
    if parts:
        result.counts[COUNTED], mean, deviation = _together(parts)
        result.statistics[MEAN] = mean
        _set(result, deviation if first.divided else np.ones_like(deviation))
    return result


def _set(scale: RunningScale, deviation: Array) -> None:
    """Set deviations, or largest entries, and one over them."""
    scale.statistics[DEVIATION] = deviation
    there = deviation > SMALLEST
    np.divide(1.0, deviation, out=scale.statistics[INVERSE], where=there)


def _moments(scale: RunningScale) -> Moments:
    """Σ w, means and deviations of all rows, those too that the statistics do not have yet."""
    (before, since), mean = scale.counts, scale.statistics[MEAN]
    deviation, total = scale.statistics[DEVIATION], before + since
    if since > 0.0:
        shift = scale.statistics[SUM] / total if scale.centred else 0.0
        spread = (before + scale.statistics[SQUARES]) / total - shift * shift
        mean = mean + deviation * shift
        deviation = deviation * np.sqrt(np.maximum(spread, 0.0))
    return total, mean, deviation


def _together(parts: Sequence[Moments]) -> Moments:
    """Σ w, means and deviations of several (Σ w, means, deviations).

    Means are those of the heaviest part and what the others shift them by, so that light parts that
    are far away cost no digits.
    """
    total = math.fsum(weight for weight, _, _ in parts)
    heaviest = max(parts, key=lambda part: part[0])[1]
    mean = heaviest + sum(weight / total * (m - heaviest) for weight, m, _ in parts)
    deviation = np.zeros_like(mean)
    for weight, m, d in parts:
        deviation = np.hypot(deviation, math.sqrt(weight / total) * np.hypot(d, m - mean))
    return total, mean, deviation
