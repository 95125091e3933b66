"""PiSTOL: a learner whose weights are an exponential of the sum of its gradients."""

import math

import numpy as np

from skstructured._base.validation import check_positive, check_size
from skstructured._engine.compiled import kernel
from skstructured._engine.gradients import products
from skstructured._engine.state import flush_if_grown, new_state
from skstructured.extend._types import Floats, Loss
from skstructured.extend.optimizer import OnlineOptimizer
from skstructured.guarantees.certificates import Certificate
from skstructured.optimizers.coordinate_pistol import CoordinatePiSTOL
from skstructured.optimizers.pistol_state import (
    CAPPED,
    FLUSHED_SQ,
    LARGEST_EXPONENT,
    LARGEST_SQ,
    LIPSCHITZ,
    NORM,
    PARAMETER_A,
    PARAMETER_B,
    PATH,
    ROUNDS,
    THETA_SQ,
    certificate_of,
    message_of_caps,
)  # fmt: skip


@kernel
def exponential_scale(state: Floats, x_sq: float, weight: float) -> float:
    """s = (b/α) exp(‖Θ‖²/(2α)), α = a L N (L N + Σ w‖g‖‖x‖); first N ← max(N, w‖x‖)."""
    state[NORM] = max(state[NORM], weight * math.sqrt(x_sq))
    state[LARGEST_SQ] = max(state[LARGEST_SQ], weight * x_sq)
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
def exponential_step(state: Floats, raw: Floats, g: Floats, x_sq: float, weight: float) -> float:
    """u = −w; ‖Θ‖² ← ‖Θ‖² − 2w<g, raw> + w²‖g‖²‖x‖², and Σ w‖g‖‖x‖ grows."""
    inner, g_sq = products(g, raw)
    length = weight * math.sqrt(g_sq) * math.sqrt(x_sq)
    state[PATH] += length
    state[ROUNDS] += 1.0 if weight > 0.0 else 0.0
    state[THETA_SQ] = max(state[THETA_SQ] - 2.0 * weight * inner + length * length, 0.0)
    return -weight


class PiSTOL(OnlineOptimizer):
    r"""Parameter-free stochastic online learning (Orabona 2014, Algorithm 3), linear and vector.

    With ``Θ_t = −Σ_{s<t} (ŷ_s − y_s) x_sᵀ`` the weights are

    .. math:: W_t = Θ_t \frac{b}{α_t} \exp\Big(\frac{\|Θ_t\|_F^2}{2 α_t}\Big), \quad
        α_t = a L N_t \Big(L N_t + \sum_{s<t} \|ŷ_s − y_s\| \|x_s\|\Big),

    L = D_2 the Lipschitz constant of the Fenchel–Young loss and N_t the largest w_s‖x_s‖, s ≤ t, so
    that predictions do not change when all features are multiplied by a number (an intercept's
    constant feature included).

    Parameters
    ----------
    a : float, default=0.08
        Caution, in units of L·N. The theorem needs a ≥ 2.25, with which weights hardly leave zero
        in 10⁴ rounds; the paper's experiments have 0.125, the default is a little bolder. Below
        0.04 exponents may explode on rows of equal length. Small values come without the theorem;
        where its bound is wanted, 2.5 makes the factor φ(1/a) of its constant term 25, which at
        2.25 is 6285.
    b : float, default=1.0
        Scale of the weights; the regret against U = 0 grows with it.
    feature_norm : float or None, default=None
        C, a bound on ``w ‖x‖_2``; None learns it. The theorem is about a C known beforehand.
    per_coordinate : bool, default=False
        Learn every weight separately, see `CoordinatePiSTOL` (appendix A), if features differ much
        in frequency. `feature_norm` is then a bound on ``w |x_j|``. Rows only: label sequences,
        items and kernels refuse it.

    Raises
    ------
    ValueError
        At the first ``fit`` or ``partial_fit``, for a parameter that is not a positive number.

    Warns
    -----
    GuaranteeWarning
        Where an exponent exceeded 300 and was cut off, which only an unlucky `a` brings about.

    References
    ----------
    Orabona (2014), "Simultaneous model selection and optimization through parameter-free
    stochastic learning", Algorithm 3, Theorem 1, appendix A.
    """

    scale_kernel = staticmethod(exponential_scale)
    step_kernel = staticmethod(exponential_step)
    entries = 10

    def __init__(
        self,
        a: float = 0.08,
        b: float = 1.0,
        feature_norm: float | None = None,
        per_coordinate: bool = False,
    ) -> None:
        self.a = a
        self.b = b
        self.feature_norm = feature_norm
        self.per_coordinate = per_coordinate

    def specialised(self) -> OnlineOptimizer:
        """`CoordinatePiSTOL` with `per_coordinate`."""
        if not isinstance(self.per_coordinate, (bool, np.bool_)):
            raise ValueError(f"per_coordinate must be a bool, got {self.per_coordinate!r}.")
        given = (self.a, self.b, self.feature_norm)
        return CoordinatePiSTOL(*given) if self.per_coordinate else self

    def init(self, loss: Loss) -> Floats:
        """Check the parameters and return the initial state vector for a loss."""
        state = new_state(self.entries, THETA_SQ)
        state[PARAMETER_A] = check_positive("a", self.a)
        state[PARAMETER_B] = check_positive("b", self.b)
        state[LIPSCHITZ] = loss.lipschitz
        if self.feature_norm is not None:
            state[NORM] = check_size("feature_norm", self.feature_norm)
        return state

    def forget(self, state: Floats, lost: float) -> None:
        """Lower ‖Θ‖² by `lost`, because rows left Θ."""
        state[THETA_SQ] = max(state[THETA_SQ] - lost, 0.0)

    def certificate(self, loss: Loss, state: Floats, delta: float | None = None) -> Certificate:
        """Theorem 1 (for a ≥ 2.25 and C given), in its vector-valued form."""
        return certificate_of(self, loss, state, delta, "Theorem 1", state[NORM], {})

    def check(self, state: Floats) -> str | None:
        """A sentence on what went wrong in the rounds that made `state`, or None."""
        return message_of_caps(self, state)
