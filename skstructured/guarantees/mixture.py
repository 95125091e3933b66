"""The bound of a mixture of experts, as a number."""

import contextlib
import math
from typing import Any

from skstructured._base.exceptions import GuaranteeError
from skstructured._engine.mixing import CLASSES, FLOOR, GAP, HEAVIEST, LABELS, ROUNDS, THINNING
from skstructured.guarantees.certificates import Certificate, gap_constants

__all__ = ["MixtureCertificate"]

#: −Σ ln(1 − α_t) over all rounds, from above, of the rate that thins out.
THINNING_COSTS = 1.9

#: −ln(1 − FLOOR): what a round of an expert loses more where no probability is below the floor.
FLOOR_COSTS = -math.log1p(-FLOOR)


class MixtureCertificate(Certificate):
    r"""What `StepMixture` loses at most, against its experts and against every U.

    A mixture's surrogate losses are at most those of expert e, plus an overhead A:

    .. math:: \sum_t S_t(θ_t) \le \sum_t S_t(θ_{t,e}) + c A, \qquad
        A = d M (\ln N + \ln R + 3.8 + 10^{-9} T)

    where probabilities of classes (d = 1) or of d labels are mixed, M the largest weight of a round
    or 1, N experts and R rates of sharing; the last term is that of the floor that keeps
    probabilities above 0. Where scores are mixed,
    ``A = Δ (2 + 3.8/ln(NR))``, Δ the sum of AdaHedge's mixability gaps. The target loss is at most
    ``(1 − a) Σ S_t(θ_t)`` (Lemma 3.1), and an expert with a certificate of its own has
    ``(1 − a) Σ S_t(θ_{t,e}) ≤ Σ S_t(U) + R_e(U)``. So the target loss of the mixture is at most

    .. math:: \sum_t S_t(U) + \min_e R_e(U) + (1 - a)\, c A .

    Parameters
    ----------
    constants : dict
        The numbers of the loss, and A as ``overhead``, in nats.
    losses : dict
        ``Σ S_t/c`` of each expert, by its name.
    certificates : list of Certificate
        Those of the experts that have one.

    References
    ----------
    Sakaue, Bao, Tsuchiya, Oki (2024), Lemma 3.1; Herbster, Warmuth (1998); de Rooij, van Erven,
    Grünwald, Koolen (2014).
    """

    def __init__(self, constants, losses, certificates):
        super().__init__("Mixture of experts", None, None, math.inf, constants)
        self.losses, self.certificates = losses, certificates

    def _price(self):
        """(1 − a) c A."""
        k = self.constants
        return (1.0 - k["a"]) * k["c"] * k["overhead"]

    def regret(self, norm: float) -> float:
        """The regret against a comparator with ‖U‖_F = norm; a GuaranteeError without a bound."""
        found = [
            known.regret(norm) for known in self.certificates if norm <= known.radius * (1 + 1e-9)
        ]
        if not found:
            radius = max((known.radius for known in self.certificates), default=0.0)
            raise GuaranteeError(
                "None of the experts has a bound there: the largest radius is "
                f"{radius:g}, got ‖U‖_F = {norm:g}."
            )
        return min(found) + self._price()

    def bound_of_experts(self) -> float:
        """The bound on the target loss against the best expert, ``(1 − a) c (min_e L_e + A)``."""
        k = self.constants
        return (1.0 - k["a"]) * k["c"] * min(self.losses.values()) + self._price()


def overhead(state: Any) -> float:
    """A in nats, of a `MixtureState`; see `MixtureCertificate`."""
    groups, rates, experts = state.shares.shape
    price = math.log(rates * experts)
    if state.kind in (CLASSES, LABELS):
        price += 2.0 * THINNING_COSTS + state.totals[ROUNDS] * FLOOR_COSTS
        return float(groups * state.totals[HEAVIEST] * price)
    if price == 0.0:
        return 0.0
    return float(state.totals[GAP] * (2.0 + 2.0 * THINNING_COSTS / price))


def certificate_of(
    optimizer: Any, loss: Any, state: Any, names: list[str] | None = None
) -> MixtureCertificate:
    """The `MixtureCertificate` of a `StepMixture` over a loss, from the state of its model.

    Where the state has more experts than the optimiser, they have `names`, and bounds against every
    U are those of the optimiser's, which come first.
    """
    if not (state.rates == THINNING).any():
        raise GuaranteeError(f'share={optimizer.share!r} has no "thinning", and so no bound.')
    certificates = []
    for expert, vector in zip(optimizer.experts(), state.vectors, strict=names is None):
        with contextlib.suppress(GuaranteeError):
            certificates.append(expert.certificate(loss, vector))
    constants = gap_constants(loss, 0.0) | {"overhead": overhead(state)}
    names = optimizer.names(state.summed) if names is None else names
    losses = dict(zip(names, map(float, state.sums), strict=True))
    return MixtureCertificate(constants, losses, certificates)
