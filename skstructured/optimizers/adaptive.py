"""Projected gradient descent with steps that adapt to the gradients seen."""

import math
from enum import IntEnum

from skstructured._base.component import parameters
from skstructured._base.validation import check_size
from skstructured._engine.compiled import kernel, plain_integers
from skstructured._engine.state import OWN, SMALLEST_SCALE, LoopState, new_state
from skstructured.extend._types import Floats, Loss
from skstructured.extend.optimizer import OnlineOptimizer
from skstructured.guarantees.certificates import Certificate, gap_constants


@plain_integers
class BallState(IntEnum):
    """The state vector, after the loop's own entries."""

    RADIUS, SHRINK, THETA_SQ, SUM_SQ, LARGEST_SQ = range(OWN, OWN + 5)


@kernel
def ball_scale(state, bound, weight):
    """s, after the last projection; keeps the largest w‖x‖²."""
    state[BallState.LARGEST_SQ] = max(state[BallState.LARGEST_SQ], weight * bound)
    return state[BallState.SHRINK]


@kernel
def ball_step(state, inner, square, bound, weight):
    """u = −η_t w/s with η_t = √2 R/√(Σ w²‖G‖²); then s ← s min(1, R/‖sΘ‖).

    ‖Θ‖² ← ‖Θ‖² + 2u<G, Θ> + u²‖G‖². The loss scale c, a factor of η⁻¹ and of G, cancels.
    """
    length = weight * math.sqrt(square)
    state[BallState.SUM_SQ] += length * length
    if length == 0.0 or state[BallState.SUM_SQ] == 0.0:
        return 0.0
    s, radius = state[BallState.SHRINK], state[BallState.RADIUS]
    step = math.sqrt(2.0 / state[BallState.SUM_SQ]) * radius / s
    u, reach = -step * weight, step * length
    moved = max(state[BallState.THETA_SQ] + 2.0 * u * inner + reach * reach, 0.0)
    norm = s * math.sqrt(moved)
    if norm > radius:
        s *= radius / norm
    if s < SMALLEST_SCALE:
        state[LoopState.RESCALE] = s
        u, moved, s = u * s, moved * s * s, 1.0
    state[BallState.SHRINK], state[BallState.THETA_SQ] = s, moved
    return u


@parameters
class AdaptiveGradientDescent(OnlineOptimizer):
    r"""Projected online gradient descent with a step that adapts to the gradients.

    On the Frobenius ball of diameter B, twice the radius, it updates ``W ← Π(W − η_t G_t)`` with
    ``η_t = B/√(2 Σ_{s ≤ t} ‖G_s‖_F²)`` and ``G_t = c (ŷ_t − y_t) x_tᵀ`` ([1]_, Theorem E.1; [2]_).
    Neither C nor the horizon needs to be known, but the comparator must be in the ball.

    Parameters
    ----------
    radius : float, default=20.0
        Radius B/2 of the ball, in the units of W, which are those of 1/X: the default is for
        standardized features.

    Raises
    ------
    ValueError
        At the first ``fit`` or ``partial_fit``, if `radius` is not a positive number.

    See Also
    --------
    GradientDescent : A constant step.
    ParameterFree : No step size and no ball.
    StepMixture : An ensemble of step sizes, for drifting streams.

    References
    ----------
    .. [1] Sakaue, Bao, Tsuchiya, Oki (2024), "Online structured prediction with Fenchel–Young
       losses and improved surrogate regret for online multiclass classification with logistic
       loss".
    .. [2] Streeter, McMahan (2010), "Less regret via online conditioning".
    """

    scale_kernel = staticmethod(ball_scale)
    step_kernel = staticmethod(ball_step)
    entries = len(BallState)

    radius: float = 20.0

    def init(self, loss: Loss) -> Floats:
        """Check the parameters and return the initial state vector for a loss."""
        state = new_state(self.entries, BallState.THETA_SQ)
        state[BallState.SHRINK] = 1.0
        state[BallState.RADIUS] = check_size("radius", self.radius)
        return state

    def certificate(self, loss: Loss, state: Floats, delta: float | None = None) -> Certificate:
        """Return the bound of Theorem E.1 of Sakaue et al. (2024).

        The regret is ``(1−a) b B²/(2(1−m)m)``, m = min(½, a), if ‖U‖_F ≤ B/2. With Z = Σ S_t(W_t)
        the linear regret ``B √(2Σ‖G_t‖²)`` is at most ``B √(2bZ)``, so
        ``Σ S_t(U) ≥ max(0, Z − B √(2bZ))``, while the target loss is at most (1 − a) Z. The
        theorem's own number, ``2(1−a) b B²/a``, is larger, because its proof uses Σ S_t(U).
        """
        numbers = gap_constants(loss, math.sqrt(state[BallState.LARGEST_SQ]), delta)
        a, b, B = numbers["a"], numbers["b"], 2.0 * float(self.radius)
        m = min(0.5, a)
        offset = (1.0 - a) * b * B**2 / (2.0 * (1.0 - m) * m)
        return Certificate("Theorem E.1", 0.0, offset, B / 2.0, numbers | {"B": B})
