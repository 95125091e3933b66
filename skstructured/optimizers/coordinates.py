"""Optimizers with one step size per weight: AdaGrad and FTRL."""

import math

from skstructured._base.component import parameters
from skstructured._base.validation import check_nonnegative, check_positive
from skstructured.extend import OWN, CoordinateOptimizer, kernel


@kernel
def adagrad(state, W, a, b, g):
    """The sum of squares a ← a + g², and W ← W − η g/√a."""
    a += g * g
    return (W - state[OWN] * g / math.sqrt(a) if a > 0.0 else W), a, b


@parameters
class AdaGrad(CoordinateOptimizer):
    r"""AdaGrad: one step size per weight, ``W ← W − η g/√(Σ g²)``, by its gradients so far.

    Rare features get long steps, and features in large units short ones, so it works well on text
    and counts. The first step of a weight is η for any gradient: a loss scale, and the unit of a
    feature, change scores only through W x. It is the diagonal form of [1]_; see also [2]_.

    Parameters
    ----------
    eta : float, default=1.0
        Step size η, the first step of a weight.

    Raises
    ------
    ValueError
        At the first ``fit`` or ``partial_fit``, if `eta` is not a positive number.

    See Also
    --------
    FTRLProximal : The same steps with an L1 penalty.
    CoordinatePiSTOL : One step per weight without a step size to tune.
    StepMixture : An ensemble of step sizes of the whole matrix.

    References
    ----------
    .. [1] Duchi, Hazan, Singer (2011), "Adaptive subgradient methods for online learning and
       stochastic optimization", Figure 1.
    .. [2] McMahan, Streeter (2010), "Adaptive bound optimization for online convex optimization".
    """

    coordinate_kernel = staticmethod(adagrad)

    eta: float = 1.0

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

    With ``l1 = l2 = 0`` it is gradient descent with the step ``α/(β + √Σg²)`` for each weight. With
    l1 a weight is exactly 0 until the size of its (corrected) sum of gradients exceeds l1, so
    `last_weights_` are sparse; averages are less often. It is Algorithm 1 of [1]_; see also [2]_.

    Parameters
    ----------
    alpha : float, default=1.0
        Step size α, a factor of all steps.
    beta : float, default=1.0
        Offset β, which keeps the first steps short.
    l1, l2 : float, default=0.0
        Strengths λ₁ and λ₂ of the penalty ``λ₁‖W‖₁ + λ₂‖W‖²/2``, in units of a sum over rounds.

    Raises
    ------
    ValueError
        At the first ``fit`` or ``partial_fit``, if `alpha` or `beta` is not positive, or if `l1`
        or `l2` is negative.

    See Also
    --------
    AdaGrad : The same steps without a penalty.
    CoordinatePiSTOL : One step per weight without a step size to tune.

    References
    ----------
    .. [1] McMahan, Holt, Sculley et al. (2013), "Ad click prediction: a view from the trenches".
    .. [2] McMahan (2011), "Follow-the-regularized-leader and mirror descent".
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
        return (*steps, check_nonnegative("l1", self.l1), check_nonnegative("l2", self.l2))
