"""Gradient descent with a fixed step, for Perceptrons and baselines."""

from skstructured._base.validation import check_positive
from skstructured._engine.compiled import kernel
from skstructured._engine.state import OWN, new_state
from skstructured.extend.optimizer import OnlineOptimizer, unit_scale


@kernel
def fixed_step(state, raw, g, x_sq, weight):
    """u = −η w."""
    return -state[OWN] * weight


class FixedStep(OnlineOptimizer):
    """W ← W − η w G."""

    scale_kernel = staticmethod(unit_scale)
    step_kernel = staticmethod(fixed_step)
    entries = 1

    def __init__(self, eta=1.0):
        self.eta = eta

    def init(self, loss):
        """The initial state, with η behind the epoch's own entries."""
        state = new_state(self.entries)
        state[OWN] = check_positive("eta", self.eta)
        return state
