"""Helpers for mixtures of few outputs, be they vertices or label sequences."""

import numpy as np

from skstructured._engine.compiled import kernel

#: What a mixture leaves of a mean is left out where it is lighter than this.
LIGHT = 1e-9


@kernel
def keep_heavy(places, weights, first, count, most):
    """Keep outputs of positive weight, the `most` heaviest; where they end."""
    least, kept = 0.0, first
    if count - first > most:
        least = max(least, np.sort(weights[first:count])[count - first - most - 1])
    for c in range(first, count):
        if weights[c] > least and kept - first < most:
            places[kept, :] = places[c]
            weights[kept] = weights[c]
            kept += 1
    return kept


@kernel
def is_known(places, first, count, output):
    """Whether an output is among those from `first` on."""
    for c in range(first, count):
        same = True
        for k in range(output.shape[0]):
            same = same and places[c, k] == output[k]
        if same:
            return True
    return False


@kernel
def is_better(value, gap, level, least, rounding):
    """Whether a point is the best so far: by its value, or as good and of a smaller gap."""
    return value > level + rounding or (gap < least and value >= level - rounding)


@kernel
def mean_of(places, first, count, weights, out):
    """Out = Σ weights · vertices."""
    out[:] = 0.0
    for c in range(first, count):
        if weights[c] != 0.0:
            for k in range(out.shape[0]):
                out[k] += weights[c] * places[c, k]
