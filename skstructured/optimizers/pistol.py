"""PiSTOL: a learner whose weights are an exponential of the sum of its gradients, or one each."""

import math
from typing import Any

from skstructured._base.component import parameters
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_bool, check_positive, check_size
from skstructured._engine.compiled import kernel_over
from skstructured._engine.state import flush_if_grown, new_state
from skstructured.extend import OWN, CoordinateOptimizer, kernel
from skstructured.extend._types import Floats, Kernel, Loss
from skstructured.extend.optimizer import OnlineOptimizer
from skstructured.guarantees.certificates import Certificate, PiSTOLCertificate, gap_constants

# The state vector, after the loop's own entries.
PARAMETER_A, PARAMETER_B, NORM, CAPPED, PATH, LIPSCHITZ = range(OWN, OWN + 6)
THETA_SQ, LARGEST_SQ, ROUNDS, FLUSHED_SQ = range(OWN + 6, OWN + 10)

#: Exponents are cut off here, so scores stay finite.
LARGEST_EXPONENT = 300.0


def certificate_of(
    optimizer: Any, loss: Loss, state: Floats, delta: Any, theorem: str, norm: float, shape: Any
) -> PiSTOLCertificate:
    """The certificate by a theorem of PiSTOL, of rounds whose features have norms up to `norm`.

    A GuaranteeError unless a ≥ 2.25, no exponent was clipped and ``norm <= feature_norm``.
    """
    a, bound = optimizer.a, optimizer.feature_norm
    if a < 2.25:
        raise GuaranteeError(
            f"{theorem} of PiSTOL needs a ≥ 2.25, got a={a!r}: use a=2.5 to get a bound."
        )
    if state[CAPPED] > 0.0:
        raise GuaranteeError(
            f"No regret bound: PiSTOL's exponent was clipped {state[CAPPED]:.0f} times, which "
            f"{theorem} does not allow. Use a larger a."
        )
    if bound is None or norm > bound * (1.0 + 1e-9):
        raise GuaranteeError(
            f"{theorem} of PiSTOL needs a bound on the features: set feature_norm to at least "
            f"{norm:.6g}, the largest norm so far."
        )
    numbers = gap_constants(loss, math.sqrt(state[LARGEST_SQ]), delta) | shape
    numbers |= {"L": float(loss.lipschitz), "N": float(max(norm, bound))}
    numbers |= {"alpha": float(a), "beta": float(optimizer.b)}
    numbers |= {"path": float(state[PATH]), "rounds": float(state[ROUNDS])}
    return PiSTOLCertificate(numbers)


#: In the places of what `PiSTOL` alone has: the largest |g|, and the shape of W.
LARGEST, OUTPUTS, FEATURES = OWN + 5, OWN + 6, OWN + 9

#: How often |g| fits into R at least: 1 if R was given, 2 if it is learned.
ROOM = OWN + 10

#: An α below it counts as 0.
SMALLEST = 1e-280


@kernel
def bet(state, W, a, b, g):
    """θ = a ← a − g, P = b ← b + |g|, W = (B/p) θ/α exp(θ²/(2α)), α = A R (R + P)."""
    if g == 0.0:
        return W, a, b
    size = abs(g)
    state[PATH] += size
    state[LARGEST] = max(state[LARGEST], size)
    a, b, reach = a - g, b + size, max(state[NORM], state[ROOM] * size)
    alpha = state[PARAMETER_A] * reach * (reach + b)
    ratio = a / alpha if alpha >= SMALLEST else 0.0
    exponent = 0.5 * a * ratio
    state[CAPPED] += exponent > LARGEST_EXPONENT
    grown = math.exp(min(exponent, LARGEST_EXPONENT))
    return state[PARAMETER_B] / state[FEATURES] * grown * ratio, a, b


@kernel
def next_reach(state, inner, square, bound, weight):
    """u = w; R has `ROOM` for the largest |g| of the rounds before."""
    state[NORM] = max(state[NORM], state[ROOM] * state[LARGEST])
    state[LARGEST_SQ] = max(state[LARGEST_SQ], weight * bound)
    state[ROUNDS] += weight > 0.0
    return weight


#: What copies of `_move_with_shape` have.
MOVE: Any = None
AXIS = 0


def _move_with_shape(data, indices, indptr, width, row, ahead, Theta, state, g, u, weight, raw):
    """Note how many weights Θ has before they are moved."""
    state[OUTPUTS], state[FEATURES] = raw.shape[0], Theta.shape[AXIS]
    return MOVE(data, indices, indptr, width, row, ahead, Theta, state, g, u, weight, raw)


class CoordinatePiSTOL(CoordinateOptimizer):
    r"""`PiSTOL` with one learner per weight: ``PiSTOL(per_coordinate=True)``.

    For each weight, with ``θ = −Σ w g x`` and ``P = Σ |w g x|``, it plays
    ``W = (b/p) θ/α exp(θ²/(2α))``, ``α = a R (R + P)``, R = L times `feature_norm`, or the largest
    |w g x| of all weights so far if that is larger.

    Parameters
    ----------
    a : float, default=0.08
        Caution, in units of R: larger values give smaller weights. The theorem needs a ≥ 2.25.
    b : float, default=1.0
        Scale of the weights, divided by the number p of features.
    feature_norm : float or None, default=None
        An upper bound on ``w |x_j|``. None learns R: twice the largest |w g x| of all weights so
        far, because the first gradients are about half of the largest possible ones.

    Raises
    ------
    ValueError
        At the first ``fit`` or ``partial_fit``, if a parameter is not a positive number.

    See Also
    --------
    PiSTOL : One learner for the whole weight matrix.

    References
    ----------
    Orabona (2014), "Simultaneous model selection and optimization through parameter-free
    stochastic learning", appendix A, Corollary 3.
    """

    coordinate_kernel = staticmethod(bet)
    step_kernel = staticmethod(next_reach)

    def __init__(self, a: float = 0.08, b: float = 1.0, feature_norm: float | None = None) -> None:
        self.a = a
        self.b = b
        self.feature_norm = feature_norm

    def parameters(self) -> tuple[float, ...]:
        """a, b and `feature_norm`, before the numbers that rounds change."""
        norm = check_size("feature_norm", self.feature_norm, 0.0)
        room = 2.0 if self.feature_norm is None else 1.0
        return (check_positive("a", self.a), check_positive("b", self.b), norm, *[0.0] * 7, room)

    def init(self, loss: Loss) -> Floats:
        """The initial state, with R = L times `feature_norm`."""
        state = super().init(loss)
        state[NORM] *= loss.lipschitz
        return state

    def move_and_score_kernel(self, dim: int, sparse: bool, average: bool = False) -> Kernel:
        """The row primitive; see `OnlineOptimizer`."""
        move = super().move_and_score_kernel(dim, sparse, average)
        return kernel_over(_move_with_shape, MOVE=move, AXIS=1 - sparse)

    def certificate(self, loss: Loss, state: Floats, delta: float | None = None) -> Certificate:
        """The bound of Corollary 3 of Orabona (2014), for a ≥ 2.25 and a given `feature_norm`."""
        largest = state[LARGEST] / loss.lipschitz
        shape = {"outputs": float(state[OUTPUTS]), "features": float(state[FEATURES])}
        return certificate_of(self, loss, state, delta, "Corollary 3", largest, shape)

    def check(self, state: Floats) -> str | None:
        """A sentence on exponents that were clipped in the rounds that made `state`, or None."""
        if state[CAPPED] == 0.0:
            return None
        return (
            f"PiSTOL's exponent exceeded {LARGEST_EXPONENT:g} {state[CAPPED]:.0f} times "
            f"and was cut off there: a={self.a!r} is too small for these data."
        )


@kernel
def exponential_scale(state, bound, weight):
    """s = (b/α) exp(‖Θ‖²/(2α)), α = a L N (L N + Σ w‖G‖); first N ← max(N, w‖x‖)."""
    state[NORM] = max(state[NORM], weight * math.sqrt(bound))
    state[LARGEST_SQ] = max(state[LARGEST_SQ], weight * bound)
    flush_if_grown(state, state[NORM] * state[NORM], FLUSHED_SQ)
    reach = state[LIPSCHITZ] * state[NORM]
    alpha = state[PARAMETER_A] * reach * (reach + state[PATH])
    if alpha == 0.0:
        return 0.0
    exponent = 0.5 * state[THETA_SQ] / alpha
    if exponent > LARGEST_EXPONENT:
        exponent = LARGEST_EXPONENT
        state[CAPPED] += 1.0
    return state[PARAMETER_B] / alpha * math.exp(exponent)


@kernel
def exponential_step(state, inner, square, bound, weight):
    """u = −w; ‖Θ‖² ← ‖Θ‖² − 2w<G, Θ> + w²‖G‖², and Σ w‖G‖ grows."""
    length = weight * math.sqrt(square)
    state[PATH] += length
    state[ROUNDS] += 1.0 if weight > 0.0 else 0.0
    state[THETA_SQ] = max(state[THETA_SQ] - 2.0 * weight * inner + length * length, 0.0)
    return -weight


@parameters
class PiSTOL(OnlineOptimizer):
    r"""Parameter-free stochastic online learning (PiSTOL, [1]_), linear and vector-valued.

    With ``Θ_t = −Σ_{s<t} (ŷ_s − y_s) x_sᵀ`` the weights are

    .. math:: W_t = Θ_t \frac{b}{α_t} \exp\Big(\frac{\|Θ_t\|_F^2}{2 α_t}\Big), \quad
        α_t = a L N_t \Big(L N_t + \sum_{s<t} \|ŷ_s − y_s\| \|x_s\|\Big),

    L = D_2 the Lipschitz constant of the Fenchel–Young loss and N_t the largest w_s‖x_s‖, s ≤ t. So
    predictions do not change when all features are multiplied by a number (an intercept's constant
    feature included).

    Parameters
    ----------
    a : float, default=0.08
        Caution, in units of L·N: larger values give smaller weights. The theorem needs a ≥ 2.25,
        with which weights stay near zero for 10⁴ rounds; the experiments of [1]_ use 0.125. Below
        0.04 exponents may explode on rows of equal length. Small values have no regret bound. To
        get one, use 2.5: it makes the factor φ(1/a) of the bound's constant term 25, which is 6285
        with 2.25.
    b : float, default=1.0
        Scale of the weights; the regret against U = 0 grows with it.
    feature_norm : float or None, default=None
        An upper bound C on ``w ‖x‖_2``; None learns it. The theorem needs a given C.
    per_coordinate : bool, default=False
        Whether to learn every weight separately, see `CoordinatePiSTOL` (appendix A), for features
        that differ much in frequency. `feature_norm` is then a bound on ``w |x_j|``. Only supported
        for rows: label sequences, items and kernels raise an error.

    Raises
    ------
    ValueError
        At the first ``fit`` or ``partial_fit``, if a parameter is not a positive number.

    Warns
    -----
    GuaranteeWarning
        If an exponent exceeds 300 and is clipped, which only happens if `a` is too small.

    See Also
    --------
    CoordinatePiSTOL : One learner per weight.
    ParameterFree : Another optimizer without a step size to tune.
    PiSTOLClassifier, PiSTOLRegressor : Kernel models that use this optimizer.
    skstructured.guarantees.PiSTOLCertificate : The regret bound.

    References
    ----------
    .. [1] Orabona (2014), "Simultaneous model selection and optimization through parameter-free
       stochastic learning", Algorithm 3, Theorem 1, appendix A.
    """

    scale_kernel = staticmethod(exponential_scale)
    step_kernel = staticmethod(exponential_step)
    entries = 10

    a: float = 0.08
    b: float = 1.0
    feature_norm: float | None = None
    per_coordinate: bool = False

    def specialised(self) -> OnlineOptimizer:
        """`CoordinatePiSTOL` with `per_coordinate`."""
        check_bool("per_coordinate", self.per_coordinate)
        params = (self.a, self.b, self.feature_norm)
        return CoordinatePiSTOL(*params) if self.per_coordinate else self

    def init(self, loss: Loss) -> Floats:
        """Check the parameters and return the initial state vector for a loss."""
        state = new_state(self.entries, THETA_SQ)
        state[PARAMETER_A] = check_positive("a", self.a)
        state[PARAMETER_B] = check_positive("b", self.b)
        state[LIPSCHITZ] = loss.lipschitz
        state[NORM] = check_size("feature_norm", self.feature_norm, 0.0)
        return state

    def certificate(self, loss: Loss, state: Floats, delta: float | None = None) -> Certificate:
        """The bound of Theorem 1 of Orabona (2014), for a ≥ 2.25 and C given, vector-valued."""
        return certificate_of(self, loss, state, delta, "Theorem 1", state[NORM], {})

    check = CoordinatePiSTOL.check  # type: ignore[assignment]
