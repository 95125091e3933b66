"""Quantiles of weighted numbers."""

import numpy as np

from skstructured._engine.arrays import Floats


def weighted_quantile(values: Floats, weight: Floats, shares: float | Floats) -> Floats:
    """Quantiles of numbers (n,) that count as much as their weights (n,), interpolated linearly.

    Numbers of weight 0 do not count. With equal weights they are those of `numpy.quantile`.
    """
    counted = weight > 0.0
    values, weight = values[counted], weight[counted]
    if len(weight) and weight.min() == weight.max():
        return np.asarray(np.quantile(values, shares))
    order = np.argsort(values)
    values, weight = values[order], weight[order]
    place = np.cumsum(weight) - 0.5 * weight
    place -= place[0]
    return np.interp(np.multiply(shares, place[-1]), place, values)
