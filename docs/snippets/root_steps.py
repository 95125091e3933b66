"""An optimizer: gradient descent with step η/√(Σ w²‖G‖²), the norms of all gradients so far."""

import math

import numpy as np

from skstructured import OnlineStructuredPredictor
from skstructured.extend import OWN, OnlineOptimizer, kernel, new_state

#: Entries of the state vector: η and the sum of squares.
STEP, SQUARES = range(OWN, OWN + 2)


@kernel
def root_scale(state, bound, weight):
    """Return s of the weights W = s Θ, before the output is known: 1."""
    return 1.0


@kernel
def root_step(state, inner, square, bound, weight):
    """Return u of the step Θ ← Θ + u G; `square` is ‖G‖²."""
    state[SQUARES] += weight * weight * square
    return -state[STEP] * weight / math.sqrt(state[SQUARES]) if state[SQUARES] > 0.0 else 0.0


class RootSteps(OnlineOptimizer):
    """The two compiled functions, their number of entries, and the first state."""

    scale_kernel = staticmethod(root_scale)
    step_kernel = staticmethod(root_step)
    entries = 2

    def __init__(self, eta=1.0):
        self.eta = eta

    def init(self, loss):
        state = new_state(self.entries)
        state[STEP] = self.eta
        return state


# The literal form: two classes, W_{t+1} = W_t − η G_t/√(Σ ‖G_s‖²), G = (softmax(W x) − y) xᵀ.
rng = np.random.RandomState(0)
X = rng.randn(100, 4)
y = (X @ rng.randn(4) > 0).astype(int)
W, squares = np.zeros((2, 4)), 0.0
for x, label in zip(X, y, strict=True):
    p = np.exp(W @ x) / np.exp(W @ x).sum()
    G = np.outer(p - np.eye(2)[label], x)
    squares += (G**2).sum()
    W -= 0.5 * G / math.sqrt(squares)

# The compiled form, on the same unscaled rows: no centering, no intercept, no averages.
model = OnlineStructuredPredictor(
    optimizer=RootSteps(eta=0.5), average=False, standardize=False, fit_intercept=False
)
model.partial_fit(X, y, classes=[0, 1])
error = np.abs(model.coef_[0] - (W[1] - W[0] if model.coef_.shape[0] == 1 else W[0])).max()
