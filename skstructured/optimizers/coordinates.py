"""Optimizers with a step for every weight: AdaGrad, FTRL and PiSTOL."""

import functools
import math

from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_positive, check_real, check_size
from skstructured.extend import OWN, CoordinateOptimizer, kernel
from skstructured.extend._types import Floats, Kernel, Loss
from skstructured.extend.optimizer import no_high_probability
from skstructured.guarantees.certificates import PiSTOLCertificate, gap_constants


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


A, B, REACH, CAPPED, PATH, LARGEST, LARGEST_SQ, ROUNDS, OUTPUTS, FEATURES = range(OWN, OWN + 10)

#: Exponents are cut off here, so scores stay finite; an α below SMALLEST counts as 0.
LARGEST_EXPONENT, SMALLEST = 300.0, 1e-280


@kernel
def coordinate_pistol(
    state: Floats, W: float, a: float, b: float, g: float
) -> tuple[float, float, float]:
    """θ = a ← a − g, P = b ← b + |g|, W = (B/p) θ/α exp(θ²/(2α)), α = A R (R + P)."""
    if g == 0.0:
        return W, a, b
    size = abs(g)
    state[PATH] += size
    state[LARGEST] = max(state[LARGEST], size)
    a, b, reach = a - g, b + size, max(state[REACH], 2.0 * size)
    alpha = state[A] * reach * (reach + b)
    ratio = a / alpha if alpha >= SMALLEST else 0.0
    exponent = 0.5 * a * ratio
    state[CAPPED] += exponent > LARGEST_EXPONENT
    scale = state[B] / state[FEATURES] * math.exp(min(exponent, LARGEST_EXPONENT))
    return scale * ratio, a, b


@kernel
def next_reach(state: Floats, x_sq: float, weight: float) -> float:
    """s = 1; R is at least twice the largest |g| of the rounds before."""
    state[REACH] = max(state[REACH], 2.0 * state[LARGEST])
    state[LARGEST_SQ] = max(state[LARGEST_SQ], weight * x_sq)
    return 1.0


@kernel
def count_step(state: Floats, raw: Floats, g: Floats, x_sq: float, weight: float) -> float:
    """u = w; counts the rounds of positive weight."""
    state[ROUNDS] += weight > 0.0
    return weight


@functools.cache
def with_shape(move: Kernel, features_axis: int) -> Kernel:
    """A row primitive that notes how many weights Θ has before it moves them."""

    @kernel
    def move_and_score(
        data, indices, indptr, width, row, ahead, Theta, state, g, u, weight, raw
    ):  # fmt: skip
        state[OUTPUTS], state[FEATURES] = raw.shape[0], Theta.shape[features_axis]
        return move(data, indices, indptr, width, row, ahead, Theta, state, g, u, weight, raw)

    return move_and_score


def check_theorem(name: str, a: float, state: Floats, bounded: bool, needed: str) -> None:
    """Raise a GuaranteeError unless a theorem of PiSTOL covers the rounds that made `state`."""
    if a < 2.25:
        raise GuaranteeError(f"{name} of PiSTOL needs a ≥ 2.25, got a={a!r} (which learns faster).")
    if state[CAPPED] > 0.0:
        raise GuaranteeError(
            f"PiSTOL's exponent was cut off {state[CAPPED]:.0f} times, which its {name} "
            "does not allow for."
        )
    if not bounded:
        raise GuaranteeError(
            f"{name} of PiSTOL needs a bound on the features: give feature_norm, at least {needed}."
        )


def message_of_caps(a: float, state: Floats) -> str | None:
    """A sentence on exponents of PiSTOL that were cut off, or None."""
    if state[CAPPED] == 0.0:
        return None
    return (
        f"PiSTOL's exponent exceeded {LARGEST_EXPONENT:g} {state[CAPPED]:.0f} times "
        f"and was cut off there: a={a!r} is too small for these data."
    )


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

    coordinate_kernel = staticmethod(coordinate_pistol)
    numbers = 2
    scale_kernel = staticmethod(next_reach)
    step_kernel = staticmethod(count_step)

    def __init__(self, a: float = 0.08, b: float = 1.0, feature_norm: float | None = None) -> None:
        self.a = a
        self.b = b
        self.feature_norm = feature_norm

    def parameters(self) -> tuple[float, ...]:
        """a, b and `feature_norm`, before the numbers that rounds change."""
        given = self.feature_norm
        norm = 0.0 if given is None else check_size("feature_norm", given)
        return (check_positive("a", self.a), check_positive("b", self.b), norm, *[0.0] * 7)

    def init(self, loss: Loss) -> Floats:
        """The initial state, with R = L times `feature_norm`."""
        state = super().init(loss)
        state[REACH] *= loss.lipschitz
        return state

    def move_and_score_kernel(self, dim: int, sparse: bool, average: bool = False) -> Kernel:
        """The row primitive; see `OnlineOptimizer`."""
        return with_shape(super().move_and_score_kernel(dim, sparse, average), 1 - sparse)

    def certificate(
        self, loss: Loss, state: Floats, delta: float | None = None
    ) -> PiSTOLCertificate:
        """Corollary 3, for a ≥ 2.25 and a given `feature_norm`."""
        no_high_probability(self, delta)
        needed = state[LARGEST] / loss.lipschitz
        known = self.feature_norm is not None and needed <= self.feature_norm * (1.0 + 1e-9)
        check_theorem("Corollary 3", self.a, state, known, f"{needed:.6g}, for the rows so far")
        numbers = gap_constants(loss, math.sqrt(state[LARGEST_SQ]))
        numbers |= {"L": float(loss.lipschitz), "N": float(self.feature_norm)}  # type: ignore[arg-type]
        numbers |= {"alpha": float(self.a), "beta": float(self.b), "path": float(state[PATH])}
        shape = {"outputs": float(state[OUTPUTS]), "features": float(state[FEATURES])}
        return PiSTOLCertificate(numbers | {"rounds": float(state[ROUNDS])} | shape)

    def check(self, state: Floats) -> str | None:
        """A sentence on what went wrong in the rounds that made `state`, or None."""
        return message_of_caps(self.a, state)
