"""Gradient descent with a fixed step, for Perceptrons and baselines."""

from skstructured._base.validation import check_positive
from skstructured._engine.compiled import kernel
from skstructured._engine.state import OWN, new_state
from skstructured.extend.optimizer import OnlineOptimizer

LARGEST_SQ = OWN + 1


@kernel
def measured_scale(state, x_sq, weight):
    """s = 1; notes the largest w‖x‖²."""
    state[LARGEST_SQ] = max(state[LARGEST_SQ], weight * x_sq)
    return 1.0


@kernel
def fixed_step(state, raw, g, x_sq, weight):
    """u = −η w."""
    return -state[OWN] * weight


class FixedStep(OnlineOptimizer):
    """W ← W − η w G."""

    scale_kernel = staticmethod(measured_scale)
    step_kernel = staticmethod(fixed_step)
    entries = 2

    def __init__(self, eta=1.0):
        self.eta = eta

    def init(self, loss):
        """The initial state, with η behind the epoch's own entries."""
        state = new_state(self.entries)
        state[OWN] = check_positive("eta", self.eta)
        return state
