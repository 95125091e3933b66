"""Random features, and rows as a learner over them sees them, literally."""

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
    return mapped_rows(X, weight, lambda z: waves(z, frequencies, amplitudes), standardize)


def mapped_rows(X, weight, phi, standardize=True):
    """The same for any φ."""
    Z = standardized(X, weight, True)[0] if standardize else X
    return np.array([[*z, *phi(z), 1.0] for z in Z])


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


def rectified(z, weights, gain):
    """(gain max(0, <ω, z>), …) of one row, with weights (p, m)."""
    products = [math.fsum(a * b for a, b in zip(w, z, strict=True)) for w in weights.T]
    return [gain * max(0.0, product) for product in products]


def count_sketch(z, places, signs, m):
    """Every number of z, with its sign, added where its place is."""
    out = [0.0] * m
    for number, place, sign in zip(z, places, signs, strict=True):
        out[place] += sign * number
    return out


def convolved(one, other):
    """Σ_i one_i other_(k − i) for every k, on a circle."""
    m = len(one)
    return [math.fsum(one[i] * other[(k - i) % m] for i in range(m)) for k in range(m)]


def tensor_sketch(z, places, signs, m, gain):
    """Count sketches of one row, one for each of (degree, p) places and signs, convolved."""
    out = count_sketch(z, places[0], signs[0], m)
    for where, sign in zip(places[1:], signs[1:], strict=True):
        out = convolved(out, count_sketch(z, where, sign, m))
    return [gain * number for number in out]
