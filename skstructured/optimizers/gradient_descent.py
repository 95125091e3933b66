"""Online gradient descent with the constant step of theory."""

import math
from enum import IntEnum

from skstructured._base.component import parameters
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_positive, check_size
from skstructured._engine.compiled import kernel, plain_integers
from skstructured._engine.state import OWN, flush_if_grown, new_state
from skstructured.extend._types import Floats, Loss
from skstructured.extend.optimizer import OnlineOptimizer, no_high_probability
from skstructured.extend.surrogate import Surrogate
from skstructured.guarantees.certificates import Certificate, gap_constants
from skstructured.guarantees.risk import read_delta
from skstructured.losses.gap import GapSurrogate


@plain_integers
class DescentState(IntEnum):
    """The state vector, after the loop's own entries."""

    GAIN, LARGEST_SQ, LEARN_NORM, RADIUS, THETA_SQ, FLUSHED_SQ, HEAVIEST = range(OWN, OWN + 7)


@kernel
def descent_scale(state, bound, weight):
    """s = gain/C² (or the gain), at most radius/‖Θ‖; C² is the largest w‖x‖² so far."""
    largest_sq, s = max(state[DescentState.LARGEST_SQ], weight * bound), state[DescentState.GAIN]
    state[DescentState.LARGEST_SQ] = largest_sq
    if state[DescentState.LEARN_NORM] > 0.0:
        s = s / largest_sq if largest_sq > 0.0 else 0.0
        flush_if_grown(state, largest_sq, DescentState.FLUSHED_SQ)
    norm = math.sqrt(state[DescentState.THETA_SQ])
    return state[DescentState.RADIUS] / norm if s * norm > state[DescentState.RADIUS] else s


@kernel
def descent_step(state, inner, square, bound, weight):
    """u = −w; keeps ‖Θ‖² ← ‖Θ‖² + 2u<G, Θ> + u²‖G‖² if there is a ball."""
    state[DescentState.HEAVIEST] = max(state[DescentState.HEAVIEST], weight)
    if state[DescentState.RADIUS] < math.inf:
        moved = state[DescentState.THETA_SQ] - 2.0 * weight * inner + weight * weight * square
        state[DescentState.THETA_SQ] = max(moved, 0.0)
    return -weight


@parameters
class GradientDescent(OnlineOptimizer):
    r"""Online gradient descent with a constant step, in its dual-averaging form.

    ``W_t = η Θ_t`` with ``Θ_t = −Σ_{s<t} w_s G_s`` and ``G_s = c (ŷ_s − y_s) x_sᵀ``; with a radius,
    W_t is the projection of ηΘ_t on the Frobenius ball. The step of theory is ``η = 2m/b`` with
    ``m = min(½, a)`` (½ if a ≤ 0) and ``b = 2cκ²C²/λ``.

    Parameters
    ----------
    feature_norm : float or None, default=None
        An upper bound C on ``√w ‖x‖_2`` (the intercept's 1 included). None learns it: on receiving
        x_t, before predicting, ``C_t = max_{s ≤ t} √w_s ‖x_s‖`` and ``η = η(C_t)``, and the theorem
        holds with ``C = max_t``. If a row exceeds a given bound, it is learned, but the regret
        bound no longer holds.
    radius : float or None, default=None
        Radius of the Frobenius ball of W; None for no ball.
    eta : "theory", "high_probability" or float, default="theory"
        The step size η. "theory" is ``2m/b`` ([1]_, Prop. 4.1, for the expected regret);
        "high_probability" is ``a/b`` ([1]_, Theorem 4.3, for the regret with high probability;
        needs a > 0). A number does not depend on C.

    Raises
    ------
    ValueError
        At the first ``fit`` or ``partial_fit``, if a parameter is not a positive number.

    See Also
    --------
    AdaptiveGradientDescent : A step that adapts to the gradients.
    ParameterFree : No step size to tune.
    StepMixture : An ensemble of step sizes, for drifting streams.

    Notes
    -----
    The bounds are Proposition 4.1 and Theorems 4.2 and 4.3 of [1]_. If C is unknown, a shrinking
    step without dual averaging does not keep the bound. Steps and bounds for `GapSurrogate` are
    those of [2]_, Table 2.

    References
    ----------
    .. [1] Sakaue, Bao, Tsuchiya, Oki (2024), "Online structured prediction with Fenchel–Young
       losses and improved surrogate regret for online multiclass classification with logistic
       loss".
    .. [2] van der Hoeven (2020), "Exploiting the surrogate gap in online multiclass
       classification".
    """

    scale_kernel = staticmethod(descent_scale)
    step_kernel = staticmethod(descent_step)
    entries = len(DescentState)

    feature_norm: float | None = None
    radius: float | None = None
    eta: float | str = "theory"

    def init(self, loss: Loss) -> Floats:
        """Check the parameters and return the initial state vector for a loss."""
        norm = check_size("feature_norm", self.feature_norm, 1.0)
        state = new_state(self.entries, DescentState.THETA_SQ)
        state[DescentState.RADIUS] = check_size("radius", self.radius, math.inf)
        if isinstance(self.eta, str):
            state[DescentState.GAIN] = self._gain(loss) / norm**2
            state[DescentState.LEARN_NORM] = float(self.feature_norm is None)
        else:
            c = 1.0 if isinstance(loss, Surrogate) else loss.constants_of().c
            state[DescentState.GAIN] = c * check_positive("eta", self.eta)
        return state

    def _gain(self, loss):
        """c η C² of a named step."""
        if not isinstance(loss, Surrogate):
            constants = loss.constants_of()  # c η = 2 c m/b, and b = smoothness · C²
            return 2.0 * constants.c * self._fraction(constants.a) / constants.smoothness
        if self.eta != "theory":
            raise ValueError(f'eta must be "theory" or a number with {loss!r}, got {self.eta!r}.')
        return loss.descent_gain

    def _fraction(self, a):
        """m of η = 2m/b for a named step."""
        if self.eta == "theory":
            return min(0.5, a) if a > 0 else 0.5
        if self.eta == "high_probability":
            if a <= 0:
                raise ValueError(
                    'eta="high_probability" needs a positive surrogate gap, got '
                    f"a = {a:.4g}: increase the scale of the loss."
                )
            return a / 2.0
        raise ValueError(
            f'eta must be "theory", "high_probability" or a positive number, got {self.eta!r}.'
        )

    def certificate(self, loss: Loss, state: Floats, delta: float | None = None) -> Certificate:
        """Return the bound of the theorem that covers the rounds behind `state`.

        Theorems are those of Sakaue et al. (2024). Expected regret (Theorems 4.2, 5.1):
        ``(1−a) b ‖U‖²/(4(1−m)m)`` with m = ηb/2 ≤ min(a, ½), η the step in use. With probability
        ≥ 1−δ (Theorem 4.3, η = a/b): ``((1−a) b ‖U‖² + γ D w ln(1/δ))/a``, w the largest sample
        weight; if a > ½, the first term is divided by 1 − a/2. Other steps have the bound on the
        expectation with the gap of `gap_constants`. Sums over rounds have sample weights.

        Raises
        ------
        GuaranteeError
            If no theorem covers the configuration; the message gives the reason.
        """
        if isinstance(loss, GapSurrogate):
            return self._gaptron(loss, self._norm_sq(state), delta)
        C_sq = self._norm_sq(state)
        numbers = gap_constants(loss, math.sqrt(C_sq))
        # The step in use: its unit is that of the loss at the first round.
        gain = state[DescentState.GAIN] * (1.0 if state[DescentState.LEARN_NORM] > 0.0 else C_sq)
        m = gain * loss.constants_of().smoothness / (2.0 * numbers["c"])
        is_printed = delta is not None and math.isclose(m, numbers["a"] / 2.0, rel_tol=1e-9)
        if not is_printed:
            numbers = gap_constants(loss, math.sqrt(C_sq), delta)
        a, b = numbers["a"], numbers["b"]
        if not m <= a * (1.0 + 1e-9):
            raise GuaranteeError(
                f"eta is too large for a regret bound: ηb/2 = {m:.4g} exceeds the surrogate gap "
                f'a = {a:.4g}. Use a smaller eta, eta="theory" (eta="high_probability" with delta) '
                "or a larger scale of the loss."
            )
        radius = check_size("radius", self.radius, math.inf)
        numbers |= {"m": m}
        if delta is None or not is_printed:
            per_step = b / m if isinstance(self.eta, str) else 2.0 / self.eta
            quadratic = (1.0 - a) * per_step / (4.0 * (1.0 - m))
            theorem = "Theorem 4.2" if delta is None else "Theorem 4.3"
            return Certificate(theorem, quadratic, 0.0, radius, numbers)
        numbers |= {"weight": float(state[DescentState.HEAVIEST])}
        quadratic = (1.0 - a) * b / (a if a <= 0.5 else a * (1.0 - a / 2.0))
        offset = numbers["gamma"] * numbers["D"] * numbers["weight"] * read_delta(delta) / a
        return Certificate("Theorem 4.3", quadratic, offset, radius, numbers)

    def _gaptron(self, loss, C_sq, delta):
        """Expected mistakes ≤ Σ ℓ_t(U) + quadratic ‖U‖², van der Hoeven (2020), Theorems 1 to 3.

        quadratic = KC²/ln 2 (logistic), K²C²/(2(K−1)) (hinge), 2KC² (smooth hinge).
        """
        no_high_probability(self, delta)
        if not isinstance(self.eta, str):
            raise GuaranteeError(f'The regret bound needs eta="theory", got {self.eta!r}.')
        K = loss.space.dim_
        factors = {"logistic": K / math.log(2.0), "hinge": K**2 / (2.0 * (K - 1.0))}
        factor = factors.get(loss.kind, 2.0 * K)
        numbers = {"K": float(K), "C": math.sqrt(C_sq), "b": C_sq}
        radius = check_size("radius", self.radius, math.inf)
        return Certificate(f"Gaptron, {loss.kind}", factor * C_sq, 0.0, radius, numbers)

    def _norm_sq(self, state):
        """C² of the theorem: the given bound if every row kept it, or the largest seen."""
        if self.feature_norm is None:
            return float(state[DescentState.LARGEST_SQ])
        largest_sq = state[DescentState.LARGEST_SQ]
        if largest_sq > self.feature_norm**2 * (1.0 + 1e-9):
            raise GuaranteeError(
                f"No regret bound: a row with √w‖x‖ = {math.sqrt(largest_sq):.6g} exceeded "
                f"feature_norm={self.feature_norm:g}. Increase it, or use feature_norm=None."
            )
        return float(self.feature_norm) ** 2


@plain_integers
class FixedStepState(IntEnum):
    """The state vector of a fixed step, after the loop's own entries."""

    ETA, LARGEST_SQ = range(OWN, OWN + 2)


@kernel
def measured_scale(state, bound, weight):
    """s = 1; notes the largest w‖x‖²."""
    state[FixedStepState.LARGEST_SQ] = max(state[FixedStepState.LARGEST_SQ], weight * bound)
    return 1.0


@kernel
def fixed_step(state, inner, square, bound, weight):
    """u = −η w."""
    return -state[FixedStepState.ETA] * weight


@parameters
class FixedStep(OnlineOptimizer):
    """W ← W − η w G."""

    scale_kernel = staticmethod(measured_scale)
    step_kernel = staticmethod(fixed_step)
    entries = len(FixedStepState)
    #: The parameter that η comes from, for errors.
    source = "eta"

    eta: float = 1.0

    def init(self, loss):
        """The initial state, with η behind the loop's own entries."""
        state = new_state(self.entries)
        state[FixedStepState.ETA] = check_positive(self.source, self.eta)
        return state
