"""The arc-cosine kernel of order 1 (Cho, Saul 2009), by products and norms."""

import math

from skstructured._engine.compiled import kernel


@kernel
def arc_cosine(product, x_sq, z_sq):
    """``√(x_sq z_sq) (sin θ + (π − θ) cos θ)/π``, θ the angle whose cosine a product of rows says.

    Double precision, and sin² θ as (1 − cos θ)(1 + cos θ): rows that are near lose no digits.
    """
    size = math.sqrt(x_sq) * math.sqrt(z_sq)
    if size == 0.0:
        return 0.0
    cosine = min(max(product / size, -1.0), 1.0)
    sine = math.sqrt((1.0 - cosine) * (1.0 + cosine))
    return size * (sine + (math.pi - math.acos(cosine)) * cosine) / math.pi
