"""Optimizers with a step for every weight: AdaGrad and FTRL."""

import math

from skstructured._base.component import parameters
from skstructured._base.validation import check_positive, check_real
from skstructured.extend import OWN, CoordinateOptimizer, kernel


@kernel
def adagrad(state, W, a, b, g):
    """The sum of squares a ← a + g², and W ← W − η g/√a."""
    a += g * g
    return (W - state[OWN] * g / math.sqrt(a) if a > 0.0 else W), a, b


class AdaGrad(CoordinateOptimizer):
    r"""A step for every weight: ``W ← W − η g/√(Σ g²)``, over its gradients so far.

    Features that are seldom there take long steps, and those of large units short ones: what
    learns text and counts well. The first step of a weight is η, whatever the gradient, so that a
    loss scale, and the unit of a feature, change scores only through W x.

    Parameters
    ----------
    eta : float, default=1.0
        η, the first step of a weight.

    Raises
    ------
    ValueError
        At the first ``fit`` or ``partial_fit``, for an `eta` that is not a positive number.

    References
    ----------
    Duchi, Hazan, Singer (2011), "Adaptive subgradient methods for online learning and stochastic
    optimization", Figure 1, diagonal; McMahan, Streeter (2010).
    """

    coordinate_kernel = staticmethod(adagrad)

    def __init__(self, eta: float = 1.0) -> None:
        self.eta = eta

    def parameters(self) -> tuple[float, ...]:
        """η."""
        return (check_positive("eta", self.eta),)


ALPHA, BETA, L1, L2 = range(OWN, OWN + 4)


@kernel
def ftrl(state, W, a, b, g):
    """a ← a + g − (√(b + g²) − √b)/α W, b ← b + g², W = −(a − λ₁ sgn a)₊/((β + √b)/α + λ₂)."""
    root = math.sqrt(b + g * g)
    a += g - (root - math.sqrt(b)) / state[ALPHA] * W
    b += g * g
    excess = abs(a) - state[L1]
    if excess <= 0.0:
        return 0.0, a, b
    return -math.copysign(excess, a) / ((state[BETA] + root) / state[ALPHA] + state[L2]), a, b


@parameters
class FTRLProximal(CoordinateOptimizer):
    r"""Follow the regularized leader, proximal: AdaGrad's steps, with a lasso that leaves zeros.

    With ``l1 = l2 = 0`` it is gradient descent with the step ``α/(β + √Σg²)`` for each weight; with
    l1 a weight is exactly 0 until what speaks for it exceeds l1, so that `last_weights_` are
    sparse (averages are so less often).

    Parameters
    ----------
    alpha : float, default=1.0
        α, by which steps are multiplied.
    beta : float, default=1.0
        β, which keeps the first steps short.
    l1, l2 : float, default=0.0
        λ₁ and λ₂, of ``λ₁‖W‖₁ + λ₂‖W‖²/2``, in units of a sum over rounds.

    Raises
    ------
    ValueError
        At the first ``fit`` or ``partial_fit``: for `alpha` and `beta` that are not positive, `l1`
        and `l2` that are negative.

    References
    ----------
    McMahan, Holt, Sculley et al. (2013), "Ad click prediction: a view from the trenches",
    Algorithm 1; McMahan (2011), "Follow-the-regularized-leader and mirror descent".
    """

    coordinate_kernel = staticmethod(ftrl)
    numbers = 2

    alpha: float = 1.0
    beta: float = 1.0
    l1: float = 0.0
    l2: float = 0.0

    def parameters(self) -> tuple[float, ...]:
        """α, β, λ₁ and λ₂."""
        steps = check_positive("alpha", self.alpha), check_positive("beta", self.beta)
        return (*steps, self._penalty("l1"), self._penalty("l2"))

    def _penalty(self, name):
        given = getattr(self, name)
        return check_real(name, given, lambda v: 0.0 <= v < math.inf, "be a number of at least 0")
