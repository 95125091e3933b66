"""Random features, and rows as a learner over them sees them, literally."""

import math

import numpy as np

from naive.standardize import standardized


def waves(z, frequencies, amplitudes):
    """(a cos <ω, z>, …, a sin <ω, z>, …) of one row, a frequency at a time."""
    angles = [math.fsum(a * b for a, b in zip(w, z, strict=True)) for w in frequencies.T]
    cosines = [a * math.cos(angle) for a, angle in zip(amplitudes, angles, strict=True)]
    return cosines + [a * math.sin(angle) for a, angle in zip(amplitudes, angles, strict=True)]


def mapped_rows(X, weight, phi, standardize=True):
    """Rows [z, φ(z), 1] in their order, z standardised by the rows up to each."""
    Z = standardized(X, weight, True)[0] if standardize else X
    return np.array([[*z, *phi(z), 1.0] for z in Z])
