"""FTRL-proximal: follow the regularized leader, weight by weight, with weights that are 0."""

import math

from skstructured._base.validation import check_positive, check_real
from skstructured.extend import OWN, CoordinateOptimizer, kernel
from skstructured.extend._types import Floats

ALPHA, BETA, L1, L2 = range(OWN, OWN + 4)


@kernel
def ftrl(state: Floats, W: float, a: float, b: float, g: float) -> tuple[float, float, float]:
    """a ← a + g − (√(b + g²) − √b)/α W, b ← b + g², W = −(a − λ₁ sgn a)₊/((β + √b)/α + λ₂)."""
    root = math.sqrt(b + g * g)
    a += g - (root - math.sqrt(b)) / state[ALPHA] * W
    b += g * g
    excess = abs(a) - state[L1]
    if excess <= 0.0:
        return 0.0, a, b
    return -math.copysign(excess, a) / ((state[BETA] + root) / state[ALPHA] + state[L2]), a, b


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

    def __init__(
        self, alpha: float = 1.0, beta: float = 1.0, l1: float = 0.0, l2: float = 0.0
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.l1 = l1
        self.l2 = l2

    def parameters(self) -> tuple[float, ...]:
        """α, β, λ₁ and λ₂."""
        steps = check_positive("alpha", self.alpha), check_positive("beta", self.beta)
        return (*steps, self._penalty("l1"), self._penalty("l2"))

    def _penalty(self, name):
        given = getattr(self, name)
        return check_real(name, given, lambda v: 0.0 <= v < math.inf, "be a number of at least 0")
