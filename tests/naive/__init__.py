"""Literal, slow references, a module a family: what the kernels must equal."""

from naive import bandits
from naive.gaps import gap_surrogate, gaptron, gaptron_step, margins
from naive.label_sets import expected_f1, f1
from naive.means import isotonic_staircase, log_proba, mean_and_conjugate, simplex_projection
from naive.optimizers import (
    AdaGrad,
    AdaptiveGradientDescent,
    CoordinatePiSTOL,
    Descent,
    FTRLProximal,
    ParameterFree,
    PiSTOL,
    gradient_descent,
    play,
)
from naive.risk import rises, risk_bounds
from naive.rounds import round_shares
