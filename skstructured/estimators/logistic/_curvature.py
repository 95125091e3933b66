"""κ, the largest curvature of quadratics that lie below the logistic loss."""

import math

import numpy as np

from skstructured._engine.compiled import kernel
from skstructured._engine.state import inner

#: Steps of `CURVATURE_TABLE` per unit of ln(1 + a).
CURVATURE_STEPS = 128


def _ratio(t, a):
    """``Var/KL`` of two laws of two values, with logits t and −a; p, t + a and KL."""
    p, apart = 1.0 / (1.0 + np.exp(-t)), t + a
    distance = np.log1p(p * np.expm1(-apart)) + p * apart
    with np.errstate(invalid="ignore"):  # 0/0 for a = 0
        return p * (1.0 - p) * apart**2 / distance, p, apart, distance


def _best_ratio(a):
    """The logits t of the largest `_ratio`, by golden section."""
    low, high = -np.minimum(a, 3.0 + np.log1p(a)), np.zeros(len(a))
    share = (math.sqrt(5.0) - 1.0) / 2.0
    for _ in range(60):
        left, right = high - share * (high - low), low + share * (high - low)
        falls = _ratio(left, a)[0] > _ratio(right, a)[0]
        low, high = np.where(falls, low, left), np.where(falls, right, high)
    return 0.5 * (low + high)


def _table(last):
    """``2 + a − f(a)`` and its derivative in ln(1 + a), times the step, at nodes (last + 1, 2)."""
    a = np.expm1(np.arange(1, last + 1, dtype=np.longdouble) / CURVATURE_STEPS)
    value, p, apart, distance = _ratio(_best_ratio(a.astype(np.float64)), a)
    q = np.exp(-a) / (1.0 + np.exp(-a))
    slope = value * (2.0 / apart - (p - q) / distance)  # the best t moves no value
    table = np.zeros((last + 1, 2))
    table[0, 1] = 1.0 / CURVATURE_STEPS
    table[1:, 0], table[1:, 1] = 2.0 + a - value, (1.0 - slope) * (1.0 + a) / CURVATURE_STEPS
    return table


CURVATURE_TABLE = _table(16 * CURVATURE_STEPS)


@kernel(inline=True)
def largest_curvature(a):
    r"""κ = 1/f(a), the largest with ``KL(s‖s') ≥ κ Var_s(ln s/s')`` for ``a = 2c + ln(K − 1)``.

    Here s is any law of K values, and s' the softmax of logits in [−c, c]. With q of logit −a,

    .. math:: f = \max_p p(1-p) (\mathrm{logit}\,p - \mathrm{logit}\,q)^2 / KL(p‖q),

    which grows with a from 2, and is at most 2 + a. It is interpolated by cubics in ln(1 + a);
    beyond the table it is taken to be 2 + a.
    """
    place, table = CURVATURE_STEPS * math.log1p(a), CURVATURE_TABLE
    if not place < table.shape[0] - 1:
        return 1.0 / (2.0 + a)
    node = int(place)
    u = place - node
    v = 1.0 - u
    below = (1.0 + 2.0 * u) * v * v * table[node, 0] + u * v * v * table[node, 1]
    above = (3.0 - 2.0 * u) * u * u * table[node + 1, 0] - u * u * v * table[node + 1, 1]
    return (1.0 - 5e-11) / (2.0 + a - below - above)  # interpolation is off by 2e-11


def reach_of(K, B, R=0.0):
    """(2B, ln(K − 1), R), from which `curvature` computes κ."""
    return np.array([2.0 * B, math.log(K - 1), R])


@kernel(inline=True)
def curvature(x, reach):
    """κ of a row, for the `reach_of` K, B and R; R, if it is not 0, replaces ‖x‖."""
    norm = reach[2] if reach[2] > 0.0 else math.sqrt(inner(x, x))
    return largest_curvature(reach[0] * norm + reach[1])
