"""Steps without a guarantee of their own, for mixtures that find out which of them is right."""

import math

from skstructured._base.validation import check_positive
from skstructured._engine.compiled import kernel
from skstructured._engine.gradients import products
from skstructured._engine.state import OWN, new_state
from skstructured.extend.optimizer import OnlineOptimizer, unit_scale

# The state vectors, after the epoch's own entries.
ETA, MEAN_SQ, SEEN = range(OWN, OWN + 3)
LENGTH, SUM_SQ = range(OWN, OWN + 2)


@kernel
def mean_square(state, x_sq, weight):
    """s = 1; keeps the mean of ‖x‖² over the rows so far, this one included."""
    if weight > 0.0:
        state[SEEN] += weight
        state[MEAN_SQ] += (x_sq - state[MEAN_SQ]) * (weight / state[SEEN])
    return 1.0


@kernel
def relative_step(state, raw, g, x_sq, weight):
    """u = −η w/mean‖x‖²."""
    return -state[ETA] * weight / state[MEAN_SQ] if state[MEAN_SQ] > 0.0 else 0.0


@kernel
def root_step(state, raw, g, x_sq, weight):
    """u = −D w/√(Σ w²‖g‖²‖x‖²)."""
    _, g_sq = products(g, raw)
    # Products of roots, and not of squares: these neither over- nor underflow.
    length = weight * math.sqrt(g_sq) * math.sqrt(x_sq)
    state[SUM_SQ] += length * length
    if length == 0.0 or state[SUM_SQ] == 0.0:
        return 0.0
    return -state[LENGTH] * weight / math.sqrt(state[SUM_SQ])


class RelativeStep(OnlineOptimizer):
    """``W ← W − (η/mean‖x‖²) w g xᵀ``, the mean over the rows so far."""

    scale_kernel = staticmethod(mean_square)
    step_kernel = staticmethod(relative_step)
    entries = 3

    def __init__(self, eta=1.0):
        self.eta = eta

    def init(self, loss):
        """The initial state, with η behind the epoch's own entries."""
        state = new_state(self.entries)
        state[ETA] = check_positive("steps", self.eta)
        return state


class RootStep(OnlineOptimizer):
    """``W ← W − (D/√Σ‖w g xᵀ‖²) w g xᵀ``, the sum over the rounds so far."""

    scale_kernel = staticmethod(unit_scale)
    step_kernel = staticmethod(root_step)
    entries = 2

    def __init__(self, length=1.0):
        self.length = length

    def init(self, loss):
        """The initial state, with D behind the epoch's own entries."""
        state = new_state(self.entries)
        state[LENGTH] = check_positive("adaptive", self.length)
        return state
