"""Slopes and intervals."""

import math

import numpy as np
from scipy.stats import t as student


def slope(x, y, least=1e-300):
    """Slope of a line through (ln x, ln y), where y is at least `least`."""
    return np.polyfit(np.log(x), np.log(np.maximum(y, least)), 1)[0]


def mean_and_width(values):
    """Mean and half-width of the 95% interval over the first axis."""
    n = len(values)
    width = student.ppf(0.975, n - 1) * np.std(values, axis=0, ddof=1) / math.sqrt(n)
    return np.mean(values, axis=0), width
