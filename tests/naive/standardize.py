"""Standardised rows by their definition: sums over all rows so far, in exact fractions."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

PATIENCE, UNLIKE = 32, 25


def root(square):
    """√ of a fraction, as the nearest float64."""
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 60, 10**6, -(10**6)
        return float((Decimal(square.numerator) / Decimal(square.denominator)).sqrt())


def moments(rows, weights, centred):
    """Mean and variance (about 0 unless centred) of every feature, as fractions."""
    total, columns = sum(weights), list(zip(*rows, strict=True))
    found = []
    for x in columns:
        mean = sum(w * v for w, v in zip(weights, x, strict=True)) / total if centred else 0
        found.append(
            (mean, sum(w * (v - mean) ** 2 for w, v in zip(weights, x, strict=True)) / total)
        )
    return found


def scaled(x, known):
    """The row x with these moments, and whether it changes a feature that was constant."""
    z = [0.0 if v == 0 else ratio(a - mean, v) for a, (mean, v) in zip(x, known, strict=True)]
    return z, any(v == 0 and a != mean for a, (mean, v) in zip(x, known, strict=True))


def ratio(d, variance):
    """d/√variance, as a float64."""
    return math.copysign(root(Fraction(d) ** 2 / variance), d) if d else 0.0


def standardized(X, weight, centred):
    """Every row of X as it is learned (0 without weight), and the moments in use at the end."""
    rows, weights, out = [], [], []
    known, counted = [(Fraction(0), Fraction(0))] * len(X[0]), Fraction(0)
    for x, w in zip(X, weight, strict=True):
        x, w = [Fraction(float(a)) for a in x], Fraction(float(w))
        z, changed = scaled(x, known)
        if w > 0:
            rows.append(x)
            weights.append(w)
            recent = sum(weights) - counted
            unlike = math.fsum(a * a for a in z) > UNLIKE * len(x)
            if PATIENCE * recent >= counted or unlike or changed:
                known, counted = moments(rows, weights, centred), sum(weights)
                z = scaled(x, known)[0]
        out.append(z if w > 0 else [0.0] * len(x))
    return out, known
