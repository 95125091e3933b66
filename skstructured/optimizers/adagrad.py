"""AdaGrad: a step for every weight, by the gradients that it has seen."""

import math

from skstructured._base.validation import check_positive
from skstructured.extend import OWN, CoordinateOptimizer, kernel
from skstructured.extend._types import Floats


@kernel
def adagrad(state: Floats, W: float, a: float, b: float, g: float) -> tuple[float, float, float]:
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
