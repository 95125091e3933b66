"""Optimizers with a step for each weight: AdaGrad, and follow the regularized leader (FTRL)."""

import math

from skstructured.extend import OWN, CoordinateOptimizer, kernel

#: Entries of the state vector: α, β, λ₁ and λ₂ of FTRL.
ALPHA, BETA, L1, L2 = range(OWN, OWN + 4)


@kernel
def adagrad(state, W, a, b, g):
    """Add g² to the sum of squares a, and return W − η g/√a."""
    a += g * g
    return (W - state[OWN] * g / math.sqrt(a) if a > 0.0 else W), a, b


class AdaGrad(CoordinateOptimizer):
    """``W ← W − η g/√(Σ g²)`` (Duchi, Hazan and Singer 2011): rare features get long steps."""

    coordinate_kernel = staticmethod(adagrad)

    def __init__(self, eta=1.0):
        self.eta = eta

    def parameters(self):
        return (self.eta,)


@kernel
def ftrl(state, W, a, b, g):
    """Update a, the corrected sum of gradients, and b = Σ g²; W is 0 while |a| is at most λ₁."""
    root = math.sqrt(b + g * g)
    a += g - (root - math.sqrt(b)) / state[ALPHA] * W
    b += g * g
    excess = abs(a) - state[L1]
    if excess <= 0.0:
        return 0.0, a, b
    return -math.copysign(excess, a) / ((state[BETA] + root) / state[ALPHA] + state[L2]), a, b


class FTRLProximal(CoordinateOptimizer):
    """Algorithm 1 of McMahan et al. (2013): AdaGrad's steps with a lasso, for sparse weights."""

    coordinate_kernel = staticmethod(ftrl)

    def __init__(self, alpha=1.0, beta=1.0, l1=0.0, l2=0.0):
        self.alpha = alpha
        self.beta = beta
        self.l1 = l1
        self.l2 = l2

    def parameters(self):
        return self.alpha, self.beta, self.l1, self.l2
