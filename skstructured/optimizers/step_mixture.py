"""An ensemble of step sizes and of their averages: no tuning, even with concept drift."""

import contextlib
import math
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from skstructured._base.component import parameters, resolve
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_bool, check_positive, check_real
from skstructured._engine.compiled import is_kernel, kernel, plain_integers
from skstructured._engine.mixing import PROBABILITY_FLOOR
from skstructured._engine.state import OWN, THINNING, MixtureKind, MixtureTotal, new_state
from skstructured.extend._types import Floats, Loss
from skstructured.extend.optimizer import OnlineOptimizer, unit_scale
from skstructured.guarantees.certificates import MixtureCertificate, gap_constants
from skstructured.optimizers.adaptive import AdaptiveGradientDescent
from skstructured.optimizers.coin_betting import ParameterFree
from skstructured.optimizers.gradient_descent import FixedStep, GradientDescent
from skstructured.optimizers.pistol import PiSTOL


@plain_integers
class RelativeState(IntEnum):
    """The state vector of `RelativeStep`, after the loop's own entries."""

    ETA, MEAN_SQ, SEEN = range(OWN, OWN + 3)


@plain_integers
class RootState(IntEnum):
    """The state vector of `RootStep`, after the loop's own entries."""

    LENGTH, SUM_SQ = range(OWN, OWN + 2)


@kernel
def mean_square(state, bound, weight):
    """s = 1; keeps the mean of ‖x‖² over the rows so far, this one included."""
    if weight > 0.0:
        state[RelativeState.SEEN] += weight
        share = weight / state[RelativeState.SEEN]
        state[RelativeState.MEAN_SQ] += (bound - state[RelativeState.MEAN_SQ]) * share
    return 1.0


@kernel
def relative_step(state, inner, square, bound, weight):
    """u = −η w/mean‖x‖²."""
    mean_sq = state[RelativeState.MEAN_SQ]
    return -state[RelativeState.ETA] * weight / mean_sq if mean_sq > 0.0 else 0.0


@kernel
def root_step(state, inner, square, bound, weight):
    """u = −D w/√(Σ w²‖G‖²)."""
    length = weight * math.sqrt(square)
    state[RootState.SUM_SQ] += length * length
    if length == 0.0 or state[RootState.SUM_SQ] == 0.0:
        return 0.0
    return -state[RootState.LENGTH] * weight / math.sqrt(state[RootState.SUM_SQ])


class RelativeStep(FixedStep):
    """``W ← W − (η/mean‖x‖²) w g xᵀ``, the mean over the rows so far."""

    scale_kernel = staticmethod(mean_square)
    step_kernel = staticmethod(relative_step)
    entries, source = len(RelativeState), "steps"


@parameters
class RootStep(OnlineOptimizer):
    """``W ← W − (D/√Σ‖w g xᵀ‖²) w g xᵀ``, the sum over the rounds so far."""

    scale_kernel = staticmethod(unit_scale)
    step_kernel = staticmethod(root_step)
    entries = len(RootState)

    length: float = 1.0

    def init(self, loss):
        """The initial state, with D behind the loop's own entries."""
        state = new_state(self.entries)
        state[RootState.LENGTH] = check_positive("adaptive", self.length)
        return state


@parameters
class StepMixture(OnlineOptimizer):
    r"""Run many optimizers at once, as experts, and weight their predictions by their losses.

    Stationary streams need steps that become small, and averages; drifting (non-stationary) streams
    need large ones. There is no need to know which: experts of several step sizes learn each row,
    each with its own weights, and so do the averages of their weights. Experts with lower losses
    get more weight. Those that are behind keep a share, from which they recover when the stream
    changes [1]_, [2]_.

    With the "shannon" regularizer the experts' probabilities are mixed, ``θ = ln Σ_e v_e q_e``, of
    classes, or of each label separately, and v depends on the log-losses (η = 1). For other spaces
    and losses scores are mixed, ``θ = Σ_e v_e θ_e``, and v is that of AdaHedge [3]_. After each
    round the experts share,

    .. math:: v ← (1 - α_t) v + α_t/N, \qquad
        α_t = \min\{½, 1/((t+2) \ln^2(t+2))\},

    for "thinning"; other rates of sharing are constants. Several rates are mixed as experts are.
    For label sequences the name "mixture" means larger steps, (16, 64, 256), and more wealth,
    10,000.

    Parameters
    ----------
    steps : sequence of float, default=(1.0, 4.0, 16.0)
        Step sizes η of experts with the step ``η/mean‖x‖²``, the mean over the rows so far.
    adaptive : sequence of float, default=(0.25, 1.0, 4.0)
        Step sizes D of experts with the step ``D/√Σ‖G‖²``, the sum over the rounds so far.
    averages : bool, default=True
        Whether the average of each expert is an expert too. The kind of average is that of the
        learner's parameter `average`; if that is False, there are no averages.
    share : "thinning", float or sequence of them, default=("thinning", 0.001, 0.01)
        Rates of sharing, between 0 and 1. The regret bound needs "thinning" among them.
    others : sequence of str or OnlineOptimizer, default=("parameter_free",)
        Optimizers that are experts too: "parameter_free", "ogd", "adaptive", "pistol", or
        instances of them, or custom ones that have the compiled functions `scale_kernel` and
        `step_kernel`. The regret bound against every U comes from them.

    Raises
    ------
    ValueError
        At the first ``fit`` or ``partial_fit``, if a parameter is not as described, or if there are
        no experts.

    See Also
    --------
    ParameterFree : A single optimizer without a step size to tune.
    GradientDescent : A single step size.
    skstructured.experts.AdaHedge : The weights for scores.
    skstructured.guarantees.MixtureCertificate : The bounds.

    Notes
    -----
    With N experts, R rates and losses in nats, weights w_t ≤ M (M = 1 at least), against every
    expert e

    .. math:: \sum_t w_t ℓ_t \le \sum_t w_t ℓ_{t,e} + M (\ln N + \ln R + 3.8 + 10^{-9} T)

    for classes, and d times the last term for d labels. If scores are mixed, the last term is
    ``Δ (2 + 3.8/ln(NR))``, Δ the sum of AdaHedge's mixability gaps. A change of experts at round t
    adds ``M (ln N + ln(1/α_t))``, for the rate of the smallest sum. Sharing adds
    ``−Σ ln(1 − α_t) < 1.9``; twice, because the rates share among each other as well.

    Memory and time are those of about N learners.

    References
    ----------
    .. [1] Herbster, Warmuth (1998), "Tracking the best expert".
    .. [2] Bousquet, Warmuth (2002), "Tracking a small set of experts by mixing past posteriors".
    .. [3] de Rooij, van Erven, Grünwald, Koolen (2014), "Follow the leader if you can, hedge if you
       must".

    Examples
    --------
    >>> import numpy as np
    >>> from skstructured import OnlineStructuredPredictor
    >>> X = np.random.RandomState(0).randn(400, 2)
    >>> y = (X[:, 0] > 0) ^ (np.arange(400) >= 200)  # turned round half-way
    >>> model = OnlineStructuredPredictor(optimizer="mixture").partial_fit(X, y, classes=[0, 1])
    >>> model.score(X[200:], y[200:]) > 0.9
    True
    >>> model.expert_weights_.shape  # seven steps, and their averages
    (14,)
    """

    mixes = True
    #: Optimizers that can be experts, by their short names.
    single_optimizers = {
        "ogd": GradientDescent,
        "adaptive": AdaptiveGradientDescent,
        "parameter_free": ParameterFree,
        "pistol": PiSTOL,
    }

    steps: Sequence[float] = (1.0, 4.0, 16.0)
    adaptive: Sequence[float] = (0.25, 1.0, 4.0)
    averages: bool = True
    share: str | float | Sequence[str | float] = ("thinning", 0.001, 0.01)
    others: Sequence[str | OnlineOptimizer] = ("parameter_free",)

    def experts(self) -> list[OnlineOptimizer]:
        """The optimizers that are mixed, in the order of their weights."""
        named = self.single_optimizers
        others = [resolve("others", other, named, OnlineOptimizer) for other in self.others]
        for other in others:
            if other.specialised() is not other or other.blocks != (1, 0):
                raise ValueError(
                    f"others must be optimizers with scale_kernel and step_kernel, got {other!r}."
                )
            kernels = other.scale_kernel, other.step_kernel
            if is_kernel(unit_scale) and not all(map(is_kernel, kernels)):
                raise ValueError(f"others must have compiled functions, got {other!r}.")
        experts = [*map(RelativeStep, self.steps), *map(RootStep, self.adaptive), *others]
        if not experts:
            raise ValueError("steps, adaptive and others must have one expert at least, got none.")
        return experts

    def rates(self) -> Floats:
        """Rates of sharing (R,), `THINNING` for "thinning"."""
        shares = [self.share] if isinstance(self.share, (str, int, float)) else list(self.share)
        if not shares:
            raise ValueError('share must be "thinning", a number or several of them, got none.')
        return np.array([_rate(rate) for rate in shares])

    def init(self, loss: Loss) -> Floats:
        """The initial vectors of the experts (N, length), one per row, filled up with zeros."""
        check_bool("averages", self.averages)
        vectors = [expert.init(loss) for expert in self.experts()]
        states = np.zeros((len(vectors), max(map(len, vectors))))
        for row, vector in zip(states, vectors, strict=True):
            row[: len(vector)] = vector
        return states

    def names(self, averaged: bool) -> list[str]:
        """Return the names of the experts, in the order of their weights.

        Parameters
        ----------
        averaged : bool
            Whether their averages are experts too.

        Returns
        -------
        list of str
        """
        names = [repr(expert) for expert in self.experts()]
        return names + [f"average of {name}" for name in names] if averaged else names

    def certificate(
        self, loss: Loss, state: Any, delta: float | None = None, names: Any = None
    ) -> MixtureCertificate:
        """The bound against every U, by an expert among `others`, and against the experts.

        Parameters
        ----------
        loss : FenchelYoung
            The loss of the learner.
        state : LinearState
            The state of its model.
        delta : float or None, default=None
            Probability that the bound fails; None bounds the expectation.
        names : list of str or None, default=None
            Names of the experts, if the state has more than the optimizer: bounds against every U
            are those of the optimizer's, which come first. None uses `names`.

        Returns
        -------
        MixtureCertificate

        Raises
        ------
        GuaranteeError
            If `share` does not include "thinning".
        """
        if not (state.rates == THINNING).any():
            raise GuaranteeError(
                f'share={self.share!r} has no regret bound: include "thinning" in share.'
            )
        certificates = []
        for expert, vector in zip(self.experts(), state.vectors, strict=names is None):
            with contextlib.suppress(GuaranteeError):
                certificates.append(expert.certificate(loss, vector, delta))
        constants = gap_constants(loss, 0.0, delta) | {"overhead": overhead(state)}
        names = self.names(state.summed) if names is None else names
        losses = dict(zip(names, map(float, state.sums), strict=True))
        return MixtureCertificate(constants, losses, certificates)


def overhead(state: Any) -> float:
    """A in nats, of the `LinearState` of a mixture; see `MixtureCertificate`."""
    groups, rates, experts = state.shares.shape
    price = math.log(rates * experts)
    thinning = 1.9  # −Σ ln(1 − α_t) over all rounds, from above, of the rate that thins out
    if state.kind in (MixtureKind.CLASSES, MixtureKind.LABELS):
        floor = -math.log1p(-PROBABILITY_FLOOR)  # of a round
        price += 2.0 * thinning + state.totals[MixtureTotal.ROUNDS] * floor
        return float(groups * state.totals[MixtureTotal.HEAVIEST] * price)
    if price == 0.0:
        return 0.0
    return float(state.totals[MixtureTotal.GAP] * (2.0 + 2.0 * thinning / price))


def _rate(share):
    """A rate of sharing in the form that compiled functions read."""
    if isinstance(share, str) and share == "thinning":
        return THINNING
    return check_real("share", share, lambda v: 0.0 < v < 1.0, 'be "thinning" or within (0, 1)')
