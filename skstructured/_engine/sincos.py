"""Cosines and sines of many turns."""

import math

import numpy as np

from skstructured._engine.compiled import kernel

#: Terms of the sine's series, in turns: of a quarter of one they leave 3e-16.
TERMS = tuple((-1.0) ** n * math.tau ** (2 * n + 1) / math.factorial(2 * n + 1) for n in range(10))

#: Turns beyond which there is no phase any more.
LARGEST = 0.25 / np.finfo(np.float64).eps


@kernel(fastmath={"contract"})
def waves_of(t, amplitudes, cosines, sines):
    """a cos(2πt) and a sin(2πt), by the series of the sine within a quarter of a turn."""
    c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 = TERMS
    for j in range(amplitudes.shape[0]):
        r = t[j] - np.rint(t[j])
        r = r if abs(t[j]) < LARGEST else 0.0
        up = 0.25 - abs(r)
        s = 0.25 - abs(abs(r) - 0.25)
        s = s if r >= 0.0 else -s
        u, v = up * up, s * s
        p, q = c8 + u * c9, c8 + v * c9
        p, q = c7 + u * p, c7 + v * q
        p, q = c6 + u * p, c6 + v * q
        p, q = c5 + u * p, c5 + v * q
        p, q = c4 + u * p, c4 + v * q
        p, q = c3 + u * p, c3 + v * q
        p, q = c2 + u * p, c2 + v * q
        p, q = c1 + u * p, c1 + v * q
        cosines[j] = amplitudes[j] * (up * (c0 + u * p))
        sines[j] = amplitudes[j] * (s * (c0 + v * q))


@kernel
def write_waves(turns, amplitudes, out):
    """Write a cos(2πt), and behind all of them a sin(2πt), into the last 2m columns of `out`.

    Turns t are (n, m), amplitudes a (m,).
    """
    n, m = turns.shape
    start = out.shape[1] - 2 * m
    middle = start + m
    for i in range(n):
        waves_of(turns[i], amplitudes, out[i, start:middle], out[i, middle:])
