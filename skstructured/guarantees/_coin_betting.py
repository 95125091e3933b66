"""The regret of coin betting as a number: suprema over how the bets went."""

import math
from typing import NamedTuple

from scipy.optimize import brentq

#: ln v lies between ± this, so v itself neither over- nor underflows.
LARGEST_LOG_V = 690.0


class Game(NamedTuple):
    """ℓ, ε and g of the regret, and β."""

    length: float
    wealth: float
    growth: float
    beta: float = (2.0 - math.log(3.0)) / 2.0

    def log_loss(self, v):
        """r(v), even if 1/d overflows."""
        x = math.log(4.0 * v) + 2.0 * self.growth
        soft = max(x, 0.0) + math.log1p(math.exp(-abs(x)))
        return self.beta * (0.125 + self.growth) + soft / (2.0 * self.beta)

    def best_y(self, v, r):
        """The y of the supremum, ``y = r + ln(ℓ/ε) + ln(2 + √(v/y))``."""
        constant, root = r + math.log(self.length) - math.log(self.wealth), math.sqrt(v)
        return _root(lambda y: constant + math.log(2.0 + root / math.sqrt(y)) - y)

    def line(self, v):
        """(height, slope) with ``R(v') ≤ height + slope · v'`` for every v', equal for v' = v."""
        r, root = self.log_loss(v), math.sqrt(v)
        direction = 1.25 * math.sqrt(2.0)  # half of the direction's regret 5/2 · √(2v), by √v
        s = math.sqrt(self.best_y(v, r)) / root
        A = self.length * (1.0 / s + 2.0)
        slope_r = 0.5 / (self.beta * (v + 0.25 * math.exp(-2.0 * self.growth)))
        slope = self.length * (s + direction / root) + A * slope_r
        won = A * (r - slope_r * v + math.log(A) - math.log(self.wealth) - 1.0)
        return self.wealth + direction * self.length * root + won, slope


def linear_regret(game, v):
    """R(v), from above."""
    if game.length == 0.0:
        return game.wealth
    v = max(v, math.exp(-LARGEST_LOG_V))
    height, slope = game.line(v)
    return height + slope * v


def target_regret(game, a, unit):
    """The supremum over z ≥ 0 of ``min{(1 − a) z, R(z/unit) − a z}``, from above.

    With a line of height h and slope m ≤ a (in z) above R it is at most ``(1 − a) h/(1 − m)``. The
    line with m = a is best if it touches R beyond R(z) = z, otherwise the one that touches there.
    """
    if game.length == 0.0:
        return (1.0 - a) * game.wealth
    touch_point = _root(lambda v: log_or_least(game.line(v)[1]) - math.log(a * unit))
    if linear_regret(game, touch_point) > unit * touch_point:
        touch_point = _root(lambda v: log_or_least(linear_regret(game, v)) - log_or_least(unit * v))
    height, slope = game.line(touch_point)
    m = slope / unit
    return (1.0 - a) / (1.0 - m) * height if m <= a else math.inf


def log_or_least(x):
    """Ln x, or that of 1e-300 if x is less."""
    return math.log(max(x, 1e-300))


def _root(falling):
    """A v just above the zero of a function that falls with v, or the limit nearest to it."""
    least, largest = math.exp(-LARGEST_LOG_V), math.exp(LARGEST_LOG_V)
    if falling(least) <= 0.0:
        return least
    if falling(largest) >= 0.0:
        return largest
    x = brentq(lambda x: falling(math.exp(x)), -LARGEST_LOG_V, LARGEST_LOG_V, xtol=1e-9)
    return math.exp(x + 1e-7)
