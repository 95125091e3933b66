"""Random Fourier features, and rows as a learner over them sees them, literally."""

import math

import numpy as np

from naive.standardize import standardized


def waves(z, frequencies, amplitudes):
    """(a cos <ω, z>, …, a sin <ω, z>, …) of one row, a frequency at a time."""
    angles = [math.fsum(a * b for a, b in zip(w, z, strict=True)) for w in frequencies.T]
    cosines = [a * math.cos(angle) for a, angle in zip(amplitudes, angles, strict=True)]
    return cosines + [a * math.sin(angle) for a, angle in zip(amplitudes, angles, strict=True)]


def learned_rows(X, weight, frequencies, amplitudes, standardize=True):
    """Rows [z, φ(z), 1] in their order, z standardised by the rows up to each."""
    Z = standardized(X, weight, True)[0] if standardize else X
    return np.array([[*z, *waves(z, frequencies, amplitudes), 1.0] for z in Z])


def mean_kernel(frequencies, shares, x, z):
    """Σ_j share_j cos <ω_j, x − z>, which <φ(x), φ(z)> is."""
    return float(np.sum(shares * np.cos((x - z) @ frequencies)))


def largest_scaled(X, weight):
    """Rows divided by the largest entry of each column so far; rows without weight become 0."""
    largest, out = np.zeros(X.shape[1]), []
    for x, w in zip(X, weight, strict=True):
        if w > 0.0:
            largest = np.maximum(largest, np.abs(x))
        scale = np.where(largest > 0.0, largest, 1.0)
        out.append(x / scale if w > 0.0 else 0.0 * x)
    return np.array(out)


def hashed(z, places, signs, buckets):
    """Sz: every entry of z, times its sign, added to its bucket."""
    out = [0.0] * buckets
    for value, place, sign in zip(z, places, signs, strict=True):
        out[place] += sign * value
    return np.array(out)


def learned_csr_rows(X, weight, places, signs, frequencies, amplitudes, standardize=True):
    """Rows [z, φ(Sz), 1] in their order, of rows that came as CSR."""
    Z = largest_scaled(X, weight) if standardize else X
    height = len(frequencies)
    short = [hashed(z, places, signs, height) for z in Z]
    waved = [waves(s, frequencies, amplitudes) for s in short]
    return np.array([[*z, *phi, 1.0] for z, phi in zip(Z, waved, strict=True)])
