"""PiSTOL: a learner whose weights are an exponential of the sum of its gradients, or one each."""

import math
from enum import IntEnum
from typing import Any

from skstructured._base.component import parameters
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_bool, check_positive, check_size
from skstructured._engine.compiled import kernel_over, plain_integers
from skstructured._engine.move_and_score import dense_move_and_score
from skstructured._engine.state import flush_if_grown, new_state
from skstructured.extend import OWN, CoordinateOptimizer, kernel
from skstructured.extend._types import Floats, Kernel, Loss
from skstructured.extend.optimizer import OnlineOptimizer
from skstructured.guarantees.certificates import Certificate, PiSTOLCertificate, gap_constants


@plain_integers
class PistolState(IntEnum):
    """The state vectors, after the loop's own entries."""

    PARAMETER_A, PARAMETER_B, NORM, CAPPED, PATH, LIPSCHITZ = range(OWN, OWN + 6)
    THETA_SQ, LARGEST_SQ, ROUNDS, FLUSHED_SQ = range(OWN + 6, OWN + 10)
    # `CoordinatePiSTOL` alone, in the places of entries that it lacks: the largest |g|, and the
    # shape of W; how often |g| fits into R at least: 1 if R was given, 2 if it is learned.
    LARGEST, OUTPUTS, FEATURES, ROOM = LIPSCHITZ, THETA_SQ, FLUSHED_SQ, OWN + 10


#: Exponents are cut off here, so scores stay finite.
LARGEST_EXPONENT = 300.0


def pistol_certificate(
    optimizer: Any, loss: Loss, state: Floats, delta: Any, theorem: str, norm: float, shape: Any
) -> PiSTOLCertificate:
    """The certificate by a theorem of PiSTOL, of rounds whose features have norms up to `norm`."""
    a, bound = optimizer.a, optimizer.feature_norm
    if a < 2.25:
        raise GuaranteeError(
            f"{theorem} of PiSTOL needs a ≥ 2.25, got a={a!r}: use a=2.5 to get a bound."
        )
    if state[PistolState.CAPPED] > 0.0:
        raise GuaranteeError(
            f"No regret bound: PiSTOL's exponent was clipped {state[PistolState.CAPPED]:.0f} "
            f"times, which {theorem} does not allow. Use a larger a."
        )
    if bound is None or norm > bound * (1.0 + 1e-9):
        raise GuaranteeError(
            f"{theorem} of PiSTOL needs a bound on the features: set feature_norm to at least "
            f"{norm:.6g}, the largest norm so far."
        )
    numbers = gap_constants(loss, math.sqrt(state[PistolState.LARGEST_SQ]), delta) | shape
    numbers |= {"L": float(loss.lipschitz), "N": float(max(norm, bound))}
    numbers |= {"alpha": float(a), "beta": float(optimizer.b)}
    numbers |= {"path": float(state[PistolState.PATH]), "rounds": float(state[PistolState.ROUNDS])}
    return PiSTOLCertificate(numbers)


@kernel
def bet(state, W, a, b, g):
    """θ = a ← a − g, P = b ← b + |g|, W = (B/p) θ/α exp(θ²/(2α)), α = A R (R + P)."""
    if g == 0.0:
        return W, a, b
    size = abs(g)
    state[PistolState.PATH] += size
    state[PistolState.LARGEST] = max(state[PistolState.LARGEST], size)
    a, b, reach = a - g, b + size, max(state[PistolState.NORM], state[PistolState.ROOM] * size)
    alpha = state[PistolState.PARAMETER_A] * reach * (reach + b)
    ratio = a / alpha if alpha >= 1e-280 else 0.0  # below it, α counts as 0
    exponent = 0.5 * a * ratio
    state[PistolState.CAPPED] += exponent > LARGEST_EXPONENT
    grown = math.exp(min(exponent, LARGEST_EXPONENT))
    return state[PistolState.PARAMETER_B] / state[PistolState.FEATURES] * grown * ratio, a, b


@kernel
def next_reach(state, inner, square, bound, weight):
    """u = w; R has `ROOM` for the largest |g| of the rounds before."""
    reach = state[PistolState.ROOM] * state[PistolState.LARGEST]
    state[PistolState.NORM] = max(state[PistolState.NORM], reach)
    state[PistolState.LARGEST_SQ] = max(state[PistolState.LARGEST_SQ], weight * bound)
    state[PistolState.ROUNDS] += weight > 0.0
    return weight


def _move_with_shape(data, indices, indptr, width, row, ahead, Theta, state, g, u, weight, raw):
    """Note how many weights Θ has before they are moved, by the function of a copy of this one."""
    state[PistolState.OUTPUTS] = raw.shape[0]
    state[PistolState.FEATURES] = Theta.shape[0 if indptr.shape[0] > 0 else 1]
    return dense_move_and_score(
        data, indices, indptr, width, row, ahead, Theta, state, g, u, weight, raw
    )


def check_exponents(self: Any, state: Floats) -> str | None:
    """A sentence on exponents that were clipped in the rounds that made `state`, or None."""
    if state[PistolState.CAPPED] == 0.0:
        return None
    return (
        f"PiSTOL's exponent exceeded {LARGEST_EXPONENT:g} {state[PistolState.CAPPED]:.0f} "
        f"times and was cut off there: a={self.a!r} is too small for these data."
    )


@parameters
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

    a: float = 0.08
    b: float = 1.0
    feature_norm: float | None = None

    def parameters(self) -> tuple[float, ...]:
        """a, b and `feature_norm`, before the numbers that rounds change."""
        norm = check_size("feature_norm", self.feature_norm, 0.0)
        room = 2.0 if self.feature_norm is None else 1.0
        return (check_positive("a", self.a), check_positive("b", self.b), norm, *[0.0] * 7, room)

    def init(self, loss: Loss) -> Floats:
        """The initial state, with R = L times `feature_norm`."""
        state = super().init(loss)
        state[PistolState.NORM] *= loss.lipschitz
        return state

    def move_and_score_kernel(self, dim: int, sparse: bool, average: bool = False) -> Kernel:
        """The row primitive; see `OnlineOptimizer`."""
        move = super().move_and_score_kernel(dim, sparse, average)
        return kernel_over(_move_with_shape, dense_move_and_score=move)

    def certificate(self, loss: Loss, state: Floats, delta: float | None = None) -> Certificate:
        """The bound of Corollary 3 of Orabona (2014), for a ≥ 2.25 and a given `feature_norm`."""
        largest = state[PistolState.LARGEST] / loss.lipschitz
        outputs, features = map(float, state[[PistolState.OUTPUTS, PistolState.FEATURES]])
        shape = {"outputs": outputs, "features": features}
        return pistol_certificate(self, loss, state, delta, "Corollary 3", largest, shape)

    check = check_exponents


@kernel
def exponential_scale(state, bound, weight):
    """s = (b/α) exp(‖Θ‖²/(2α)), α = a L N (L N + Σ w‖G‖); first N ← max(N, w‖x‖)."""
    norm = max(state[PistolState.NORM], weight * math.sqrt(bound))
    state[PistolState.NORM] = norm
    state[PistolState.LARGEST_SQ] = max(state[PistolState.LARGEST_SQ], weight * bound)
    flush_if_grown(state, norm * norm, PistolState.FLUSHED_SQ)
    reach = state[PistolState.LIPSCHITZ] * norm
    alpha = state[PistolState.PARAMETER_A] * reach * (reach + state[PistolState.PATH])
    if alpha == 0.0:
        return 0.0
    exponent = 0.5 * state[PistolState.THETA_SQ] / alpha
    if exponent > LARGEST_EXPONENT:
        exponent = LARGEST_EXPONENT
        state[PistolState.CAPPED] += 1.0
    return state[PistolState.PARAMETER_B] / alpha * math.exp(exponent)


@kernel
def exponential_step(state, inner, square, bound, weight):
    """u = −w; ‖Θ‖² ← ‖Θ‖² − 2w<G, Θ> + w²‖G‖², and Σ w‖G‖ grows."""
    length = weight * math.sqrt(square)
    state[PistolState.PATH] += length
    state[PistolState.ROUNDS] += 1.0 if weight > 0.0 else 0.0
    moved = state[PistolState.THETA_SQ] - 2.0 * weight * inner + length * length
    state[PistolState.THETA_SQ] = max(moved, 0.0)
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
        with which weights stay near zero for 10⁴ rounds. To get a regret bound, use 2.5, which
        makes its constant term 250 times smaller. The experiments of [1]_ use 0.125. Below 0.04
        exponents may explode on rows of equal length.
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
        return CoordinatePiSTOL(self.a, self.b, self.feature_norm) if self.per_coordinate else self

    def init(self, loss: Loss) -> Floats:
        """Check the parameters and return the initial state vector for a loss."""
        state = new_state(self.entries, PistolState.THETA_SQ)
        state[PistolState.PARAMETER_A] = check_positive("a", self.a)
        state[PistolState.PARAMETER_B] = check_positive("b", self.b)
        state[PistolState.LIPSCHITZ] = loss.lipschitz
        state[PistolState.NORM] = check_size("feature_norm", self.feature_norm, 0.0)
        return state

    def certificate(self, loss: Loss, state: Floats, delta: float | None = None) -> Certificate:
        """The bound of Theorem 1 of Orabona (2014), for a ≥ 2.25 and C given, vector-valued."""
        norm = state[PistolState.NORM]
        return pistol_certificate(self, loss, state, delta, "Theorem 1", norm, {})

    check = check_exponents
