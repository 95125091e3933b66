"""Means over shards by their definition, in exact fractions."""

from fractions import Fraction

import numpy as np


def mean_of(arrays, weights):
    """Σ w_i A_i / Σ w_i, entry by entry, rounded once at the end."""
    weights = [Fraction(float(weight)) for weight in weights]
    means = []
    for entry in zip(*(np.ravel(array).tolist() for array in arrays), strict=True):
        total = sum(w * Fraction(value) for w, value in zip(weights, entry, strict=True))
        means.append(float(total / sum(weights)))
    return np.array(means).reshape(np.shape(arrays[0]))
