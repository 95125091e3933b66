"""Literal, slow references, a module a family: what the kernels must equal."""

from naive import bandits
from naive.gaps import gap_surrogate, gaptron, gaptron_step, margins
from naive.means import isotonic_staircase, mean_and_conjugate, omega, simplex_projection
from naive.optimizers import (
    AdaptiveGradientDescent,
    CoordinatePiSTOL,
    ParameterFree,
    PiSTOL,
    gradient_descent,
    play,
)
from naive.risk import risk_bounds

__all__ = [
    "AdaptiveGradientDescent",
    "CoordinatePiSTOL",
    "ParameterFree",
    "PiSTOL",
    "bandits",
    "gap_surrogate",
    "gaptron",
    "gaptron_step",
    "gradient_descent",
    "isotonic_staircase",
    "margins",
    "mean_and_conjugate",
    "omega",
    "play",
    "risk_bounds",
    "simplex_projection",
]
