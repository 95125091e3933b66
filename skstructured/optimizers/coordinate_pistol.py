"""PiSTOL with a learner for every weight."""

import functools
import math

import skstructured.optimizers.pistol_state as pistol
from skstructured._base.validation import check_positive, check_size
from skstructured.extend import OWN, CoordinateOptimizer, kernel
from skstructured.extend._types import Floats, Kernel, Loss
from skstructured.guarantees.certificates import Certificate

#: In the places of what `PiSTOL` alone has: the largest |g|, and the shape of W.
LARGEST, OUTPUTS, FEATURES = OWN + 5, OWN + 6, OWN + 9

#: An α below it counts as 0.
SMALLEST = 1e-280


@kernel
def bet(state: Floats, W: float, a: float, b: float, g: float) -> tuple[float, float, float]:
    """θ = a ← a − g, P = b ← b + |g|, W = (B/p) θ/α exp(θ²/(2α)), α = A R (R + P)."""
    if g == 0.0:
        return W, a, b
    size = abs(g)
    state[pistol.PATH] += size
    state[LARGEST] = max(state[LARGEST], size)
    a, b, reach = a - g, b + size, max(state[pistol.NORM], 2.0 * size)
    alpha = state[pistol.PARAMETER_A] * reach * (reach + b)
    ratio = a / alpha if alpha >= SMALLEST else 0.0
    exponent = 0.5 * a * ratio
    state[pistol.CAPPED] += exponent > pistol.LARGEST_EXPONENT
    grown = math.exp(min(exponent, pistol.LARGEST_EXPONENT))
    return state[pistol.PARAMETER_B] / state[FEATURES] * grown * ratio, a, b


@kernel
def next_reach(state: Floats, raw: Floats, g: Floats, x_sq: float, weight: float) -> float:
    """u = w; R is at least twice the largest |g| of the rounds before."""
    state[pistol.NORM] = max(state[pistol.NORM], 2.0 * state[LARGEST])
    state[pistol.LARGEST_SQ] = max(state[pistol.LARGEST_SQ], weight * x_sq)
    state[pistol.ROUNDS] += weight > 0.0
    return weight


@functools.cache
def with_shape(move: Kernel, features_axis: int) -> Kernel:
    """A row primitive that notes how many weights Θ has before it moves them."""

    @kernel
    def move_and_score(data, indices, indptr, width, row, ahead, Theta, state, g, u, weight, raw):
        state[OUTPUTS], state[FEATURES] = raw.shape[0], Theta.shape[features_axis]
        return move(data, indices, indptr, width, row, ahead, Theta, state, g, u, weight, raw)

    return move_and_score


class CoordinatePiSTOL(CoordinateOptimizer):
    r"""`PiSTOL` with a learner for each weight, which ``PiSTOL(per_coordinate=True)`` stands for.

    With ``θ = −Σ w g x`` of a weight and ``P = Σ |w g x|`` it plays ``W = (b/p) θ/α exp(θ²/(2α))``,
    ``α = a R (R + P)``, R = L times `feature_norm`.

    Parameters
    ----------
    a : float, default=0.08
        Caution, in units of R. The theorem needs a ≥ 2.25.
    b : float, default=1.0
        Scale of the weights, divided by the number p of features.
    feature_norm : float or None, default=None
        Bound on ``w |x_j|``. None learns R: twice the largest |w g x| of all weights so far, as
        the first gradients are about half of the largest possible ones.

    Raises
    ------
    ValueError
        At the first ``fit`` or ``partial_fit``, for a parameter that is not a positive number.

    References
    ----------
    Orabona (2014), appendix A, Corollary 3.
    """

    coordinate_kernel = staticmethod(bet)
    numbers = 2
    step_kernel = staticmethod(next_reach)

    def __init__(self, a: float = 0.08, b: float = 1.0, feature_norm: float | None = None) -> None:
        self.a = a
        self.b = b
        self.feature_norm = feature_norm

    def parameters(self) -> tuple[float, ...]:
        """a, b and `feature_norm`, before the numbers that rounds change."""
        norm = check_size("feature_norm", self.feature_norm, 0.0)
        return (check_positive("a", self.a), check_positive("b", self.b), norm, *[0.0] * 7)

    def init(self, loss: Loss) -> Floats:
        """The initial state, with R = L times `feature_norm`."""
        state = super().init(loss)
        state[pistol.NORM] *= loss.lipschitz
        return state

    def move_and_score_kernel(self, dim: int, sparse: bool, average: bool = False) -> Kernel:
        """The row primitive; see `OnlineOptimizer`."""
        return with_shape(super().move_and_score_kernel(dim, sparse, average), 1 - sparse)

    def certificate(self, loss: Loss, state: Floats, delta: float | None = None) -> Certificate:
        """Corollary 3, for a ≥ 2.25 and a given `feature_norm`."""
        largest = state[LARGEST] / loss.lipschitz
        shape = {"outputs": float(state[OUTPUTS]), "features": float(state[FEATURES])}
        return pistol.certificate_of(self, loss, state, delta, "Corollary 3", largest, shape)

    def check(self, state: Floats) -> str | None:
        """A sentence on what went wrong in the rounds that made `state`, or None."""
        return pistol.message_of_caps(self, state)
