"""Standardised rows by their definition: sums over all rows so far, in exact fractions.

What a row lacks, None, is 0 as standardised, and does not count for its feature.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

PATIENCE, UNLIKE = 32, 25


def root(square):
    """√ of a fraction, as the nearest float64."""
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 60, 10**6, -(10**6)
        return float((Decimal(square.numerator) / Decimal(square.denominator)).sqrt())


def moments(rows, weights, centered):
    """Mean and variance (about 0 unless centered) of every feature, as fractions."""
    found = []
    for x in zip(*rows, strict=True):
        there = [(w, v) for w, v in zip(weights, x, strict=True) if v is not None]
        total = sum(w for w, _ in there) or 1
        mean = sum(w * v for w, v in there) / total if centered else 0
        found.append((Fraction(mean), Fraction(sum(w * (v - mean) ** 2 for w, v in there)) / total))
    return found


def scaled(x, known):
    """The row x with these moments, and whether it changes a feature that was constant."""
    there = [(mean if a is None else a, mean, v) for a, (mean, v) in zip(x, known, strict=True)]
    z = [0.0 if v == 0 else ratio(a - mean, v) for a, mean, v in there]
    return z, any(v == 0 and a != mean for a, mean, v in there)


def ratio(d, variance):
    """d/√variance, as a float64."""
    return math.copysign(root(Fraction(d) ** 2 / variance), d) if d else 0.0


def standardized(X, weight, centered):
    """Every row of X as it is learned (0 without weight), and the moments in use at the end."""
    rows, weights, out = [], [], []
    known, counted = [(Fraction(0), Fraction(0))] * len(X[0]), Fraction(0)
    for x, w in zip(X, weight, strict=True):
        x = [None if math.isnan(a) else Fraction(float(a)) for a in x]
        w = Fraction(float(w))
        z, changed = scaled(x, known)
        if w > 0:
            rows.append(x)
            weights.append(w)
            recent = sum(weights) - counted
            unlike = math.fsum(a * a for a in z) > UNLIKE * len(x)
            if PATIENCE * recent >= counted or unlike or changed:
                known, counted = moments(rows, weights, centered), sum(weights)
                z = scaled(x, known)[0]
        out.append(z if w > 0 else [0.0] * len(x))
    return out, known
