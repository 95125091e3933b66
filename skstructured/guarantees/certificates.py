"""Regret bounds of the theorems as numbers: finite surrogate regrets, and their constants."""

import contextlib
import math
from dataclasses import dataclass
from typing import Any

from skstructured._base.exceptions import GuaranteeError
from skstructured._engine.mixing import PROBABILITY_FLOOR
from skstructured._engine.state import THINNING, MixtureKind, MixtureTotal
from skstructured.extend._types import Floats, Loss
from skstructured.guarantees._coin_betting import Game, linear_regret, target_regret
from skstructured.guarantees.risk import read_delta


@dataclass(eq=False, repr=False)
class Certificate:
    """A regret bound ``Σ_t S_t(U) + quadratic · ‖U‖_F² + offset``, with its constants.

    Rows are those that the learner sees: with `standardize` the transformed ones. U and ‖U‖_F are
    in their units.

    Parameters
    ----------
    theorem : str
        The theorem it is from.
    quadratic, offset : float
        Coefficients of the bound.
    radius : float, default=inf
        Largest ‖U‖_F the theorem allows; inf without a ball.
    constants : dict or None, default=None
        The numbers ``a, b, c, C, kappa, lam, nu, gamma, D, …`` of the theorem. Two of them are
        added to every bound. ``left_out`` is the weight that unusually long rounds of sequences and
        items were not learned with, because target losses are at most 1; or what tied ranks cost,
        see `Permutahedron`. ``deviation`` is the price of probability 1 − δ, see `gap_constants`.
    unit : str or None, default=None
        Unit of losses and regrets, "bits" or "nats", if there is a choice of unit.

    See Also
    --------
    best_comparator : The comparator with the smallest bound.
    risk_bound, RiskMonitor : Bounds on the error rate of new rows.
    skstructured.evaluation.ProgressiveResult : Regret bounds of a run.
    """

    theorem: str
    quadratic: float
    offset: float
    radius: float = math.inf
    constants: dict[str, Any] = None  # type: ignore[assignment]  # {} after __post_init__
    unit: str | None = None

    def __post_init__(self) -> None:
        self.constants = {} if self.constants is None else self.constants

    def regret(self, norm: float) -> float:
        """The regret against a comparator with ‖U‖_F = norm: quadratic · norm² + offset.

        Raises
        ------
        GuaranteeError
            If U is outside the ball of the theorem.
        """
        return self._regret(norm) + self._added()

    def _added(self) -> float:
        """What is added to every bound."""
        return sum(self.constants.get(name, 0.0) for name in ("left_out", "deviation"))

    def _regret(self, norm: float) -> float:
        """The regret of the rounds as they were weighted."""
        self.check_inside(norm)
        return self.quadratic * norm**2 + self.offset

    def check_inside(self, norm: float) -> None:
        """Raise a GuaranteeError if no U with ‖U‖_F = norm is in the ball of the theorem."""
        if not norm <= self.radius * (1 + 1e-9):
            raise GuaranteeError(
                f"{self.theorem} only holds for comparators with ‖U‖_F ≤ radius = "
                f"{self.radius:g}, got {norm:g}."
            )

    def bound(self, comparator_loss: float, norm: float) -> float:
        """The bound for a comparator.

        Parameters
        ----------
        comparator_loss : float
            Σ_t S_t(U).
        norm : float
            ‖U‖_F, the intercept included.

        Returns
        -------
        float

        Raises
        ------
        GuaranteeError
            If U is outside the ball of the theorem.
        """
        return comparator_loss + self.regret(norm)

    def __repr__(self):
        numbers = ", ".join(f"{name}={value:.6g}" for name, value in self.constants.items())
        unit = "" if self.unit is None else f", unit={self.unit!r}"
        return f"{type(self).__name__}({self.theorem!r}, {numbers}{unit})"


class CoinBettingCertificate(Certificate):
    r"""The regret of `ParameterFree`, with the constants of its proof.

    For V = Σ‖G_t‖²/(cD_2)², the linear regret against U is at most [2]_

    .. math:: R(V) = c D_2 \Big(\tfrac52\sqrt{2V}\|U\|_F + ε
        + \sup_{y ≥ 0} \{\|U\|_F (2\sqrt{Vy} + 2Ny) - ε e^{y - r(V)}\}\Big),

    with ``r(V) = β/8 + β ln(N/N_1) + ln(1 + 4V/N_1²)/(2β)``, β = (2 − ln 3)/2: the adaptive descent
    of the direction, and the bettor's wealth, at least ``ε exp(vS − v²V − r)`` for every
    v ≤ 1/(2N) after coins that sum to S. Since ``‖G_t‖² ≤ b S_t(W_t)`` the target loss is at most
    ``Σ S_t(U)`` plus [1]_

    .. math:: \sup_V \min\{(1-a) z, R(V) - a z\}, \quad z = (cD_2)^2 V/b,

    which does not grow with the rounds: the target loss is at most 1 − a times the learner's
    surrogate losses, and the comparator's are at least those less R(V), and not negative.

    Parameters
    ----------
    constants : dict
        The numbers above, by their names.

    See Also
    --------
    skstructured.optimizers.ParameterFree : The optimizer of this bound.
    Certificate : The interface of bounds.

    References
    ----------
    .. [1] Sakaue, Bao, Tsuchiya, Oki (2024), appendix E.2; see `FenchelYoung`.
    .. [2] Cutkosky, Orabona (2018), "Black-box reductions for parameter-free online learning in
       Banach spaces", Theorems 1 to 3.
    """

    def __init__(self, constants: dict[str, Any]) -> None:
        super().__init__("Appendix E.2", None, None, math.inf, constants)  # type: ignore[arg-type]  # no quadratic

    def _regret(self, norm: float) -> float:
        """See `Certificate`, from above; inf if it overflows."""
        k = self.constants
        unit = k["c"] * k["D_2"]
        if k["b"] == 0.0:
            return unit * k["wealth"]
        game = self._game(norm)
        # z for V = N², in units of c D_2.
        per_v = unit * (k["N"] / math.sqrt(k["b"])) ** 2
        if not (game.length < math.inf and 0.0 < per_v < math.inf):
            return math.inf
        regret = unit * target_regret(game, k["a"], per_v)
        return regret if regret < math.inf else math.inf

    def linear_regret(self, norm: float, squares: float) -> float:
        """c D_2 R(V) from above, the bound on Σ<G_t, W_t − U> given squares = Σ‖G_t‖².

        Parameters
        ----------
        norm : float
            ‖U‖_F.
        squares : float
            Σ‖G_t‖².

        Returns
        -------
        float
        """
        k = self.constants
        unit = k["c"] * k["D_2"]
        return unit * linear_regret(self._game(norm), squares / (unit * k["N"]) ** 2)

    def _game(self, norm):
        k = self.constants
        return Game(float(norm) * k["N"], k["wealth"], math.log(k["N"]) - math.log(k["N_1"]))


class PiSTOLCertificate(Certificate):
    r"""The regret of `PiSTOL` after T rounds in which ``Σ‖g_t‖‖x_t‖`` was P.

    With L the Lipschitz constant D_2 times the bound N on features, and the parameters α ≥ 2.25
    (in units of L) and β,

    .. math:: (1-a)\,c\,\Big(\|U\|_F \sqrt{2 α L (L + P) \ln(1 + \|U\|_F L\sqrt{α(T+1)}/β)}
        + β φ(1/α) \ln(1+T)\Big),

    ``φ(x) = (x/2) (e^{x/2}(x+1) + 2)²/(1 − x e^{x/2} − x)``. It grows like √T.

    With one learner for each of k × p weights (Corollary 3, ``per_coordinate=True``), β/p replaces
    β. With P the sum of all |g|, the sum of their bounds is at most

    .. math:: (1-a)\,c\,\Big(\|U\|_F \sqrt{2 α L (k p L + P)
        \ln(1 + p \|U\|_F L\sqrt{α(T+1)}/β)} + β k φ(1/α) \ln(1+T)\Big)

    by the inequality of Cauchy and Schwarz. The constants then have k as ``outputs``, p as
    ``features``.

    Parameters
    ----------
    constants : dict
        The numbers above, by their names.

    See Also
    --------
    skstructured.optimizers.PiSTOL, skstructured.optimizers.CoordinatePiSTOL : The optimizers.
    Certificate : The interface of bounds.

    References
    ----------
    Orabona (2014), "Simultaneous model selection and optimization through parameter-free stochastic
    learning", Theorem 1 and Corollary 3, with the sum and the factor T + 1 of the proof.
    """

    def __init__(self, constants: dict[str, Any]) -> None:
        name = "Corollary 3" if "features" in constants else "Theorem 1"
        super().__init__(f"PiSTOL, {name}", None, None, math.inf, constants)  # type: ignore[arg-type]  # no quadratic

    def _regret(self, norm: float) -> float:
        """See `Certificate`."""
        k = self.constants
        n_coordinates = k.get("outputs", 1.0) * k.get("features", 1.0)
        slope, offset = self._parts(norm)
        linear = slope * math.sqrt(n_coordinates * k["L"] * k["N"] + k["path"]) + offset
        return (1.0 - k["a"]) * k["c"] * linear

    def _parts(self, norm):
        """The factor of √(L + P) and the last term in the regret, without (1 − a) c."""
        k = self.constants
        L, T, x = k["L"] * k["N"], k["rounds"], 1.0 / k["alpha"]
        outputs, p = k.get("outputs", 1.0), k.get("features", 1.0)
        reach = norm * L * math.sqrt(k["alpha"] * (T + 1.0)) * p / k["beta"]
        slope = norm * math.sqrt(2.0 * k["alpha"] * L * math.log1p(reach))
        top = math.exp(x / 2.0) * (x + 1.0) + 2.0
        phi = 0.5 * x * top**2 / (1.0 - x * math.exp(x / 2.0) - x)
        return slope, outputs * k["beta"] * phi * math.log1p(T)

    def excess_risk(self, norm: float, risk: float = 0.0, smoothness: float = math.inf) -> float:
        r"""Bound the excess risk of the mean of the functions, for independent rows (Corollary 2).

        The expected surrogate loss on a new row, minus the one of a function h, is at most

        .. math:: \frac1T \Big(B + A \max\{(2A)^{1/3}, (2(T \mathcal{E}(h) + B + q))^{1/4}\}\Big),
            \quad q = \frac{(cL)^2}{4HN^2},

        with ``B = cβφ ln(1 + T)``, ``A = ‖h‖ √(2αcL ln(1 + ‖h‖L√(α(T+1))/β)) (4HN²(T+1))^{1/4}``,
        and L, α, β in the units above; or B + ‖h‖cL√(2α(T+1) ln(…)) over T, if that is less. It
        needs weights 1, ``standardize=False`` and ``average="uniform"``; four times it holds for
        "polynomial".

        Parameters
        ----------
        norm : float
            ‖h‖.
        risk : float, default=0.0
            Expected surrogate loss of h.
        smoothness : float, default=inf
            H, the Lipschitz constant of the slopes of the loss: 2 for the smooth hinge.

        Returns
        -------
        float
        """
        if "features" in self.constants:
            raise GuaranteeError("Corollary 2 of PiSTOL is about per_coordinate=False.")
        k, (slope, offset) = self.constants, self._parts(norm)
        c, L, T = k["c"], k["L"] * k["N"], k["rounds"]
        most = c * slope * math.sqrt(L * (T + 1.0))
        if smoothness < math.inf:
            steep = 4.0 * smoothness * k["N"] ** 2
            A = slope * math.sqrt(c) * (steep * (T + 1.0)) ** 0.25
            total = T * risk + c * offset + (c * L) ** 2 / steep
            most = min(most, A * max((2.0 * A) ** (1.0 / 3.0), (2.0 * total) ** 0.25))
        return (c * offset + most) / T


class PerceptronCertificate(Certificate):
    r"""The mistakes of a Perceptron, against the hinge losses L of a comparator.

    If its updates have a norm of at most X,

    .. math:: M \le L + X^2 \|U\|_F^2 + X \|U\|_F \sqrt{L}.

    Parameters
    ----------
    theorem : str
        The theorem it is from.
    X : float
        The largest norm of an update, over √w of its round.

    References
    ----------
    Orabona (2014), (5); van der Hoeven (2020), section 4.2, with the constants that hold.
    """

    def __init__(self, theorem: str, X: float) -> None:
        super().__init__(theorem, X**2, 0.0, math.inf, {"X": X})

    def bound(self, comparator_loss: float, norm: float) -> float:
        """The bound on the number of mistakes, given the sum L of hinge losses and ‖U‖_F."""
        reach = self.constants["X"] * norm
        return comparator_loss + reach**2 + reach * math.sqrt(comparator_loss)

    def regret(self, norm: float) -> float:
        """Raise a GuaranteeError: the regret depends on the comparator's loss."""
        raise GuaranteeError(
            f"{self.theorem} has no regret for a norm alone: use bound(comparator_loss, norm), "
            "with the sum of hinge losses of the comparator."
        )


def no_search(learner: str) -> GuaranteeError:
    """The error of learners whose comparators have another loss than the learner."""
    return GuaranteeError(
        f"The bound of {learner} is about hinge losses: use certificate().bound(loss, norm), with "
        "the sum of the hinge losses and the norm of a comparator."
    )


class AbstentionCertificate(Certificate):
    r"""The regret of expert advice with abstention, against every expert.

    With d experts of losses ``ℓ_t(y^i)``, costs below ``c < ½`` and the variances v_t of the
    experts' losses under the weights,

    .. math:: \sum_t \big((1-b_t) ℓ_t(y^*_t) + b_t c_t\big) \le \min_i \sum_t ℓ_t(y_t^i)
        + \min\Big\{\frac{\ln d}{1 - 2c}, 2\sqrt{\ln d \, \textstyle\sum_t v_t}\Big\}
        + \tfrac43 \ln d + 2.

    Parameters
    ----------
    expert_losses : ndarray of shape (d,)
        Total losses of the experts.
    constants : dict
        ``experts`` d, ``abstention_cost`` c, ``variance`` Σv and ``rounds``.

    See Also
    --------
    AbstainingHedgeClassifier : The learner of this bound.
    Certificate : The interface of bounds.

    References
    ----------
    Van der Hoeven (2020), "Exploiting the surrogate gap in online multiclass classification",
    Theorem 7.
    """

    def __init__(self, expert_losses: Floats, constants: dict[str, Any]) -> None:
        price = math.log(constants["experts"])
        fast = price / (1.0 - 2.0 * constants["abstention_cost"])
        slow = 2.0 * math.sqrt(price * constants["variance"])
        regret = min(fast, slow) + 4.0 / 3.0 * price + 2.0
        super().__init__("Theorem 7", 0.0, regret, math.inf, constants)
        self.expert_losses = expert_losses

    def bound(self, comparator_loss: float | None = None, norm: float = 0.0) -> float:
        """The bound against an expert.

        Parameters
        ----------
        comparator_loss : float or None, default=None
            The total loss of the expert; None uses that of the best one.
        norm : float, default=0.0
            Has no effect: experts have no norm.

        Returns
        -------
        float
        """
        least = float(min(self.expert_losses)) if comparator_loss is None else comparator_loss
        return super().bound(least, norm)

    def regret(self, norm: float = 0.0) -> float:
        """The regret against every expert, and every fixed mixture of them."""
        return super().regret(0.0)


def gap_constants(loss: Loss, norm: float, delta: float | None = None) -> dict[str, float]:
    r"""Return the numbers of a loss that enter bounds, for features of norm at most C = `norm`.

    With a `delta`, the bounds that are made of them hold with probability 1 − δ. The gap a is then
    ``a' = 1 − (1 − a)(e^a − 1)/a``, which is at least a/2, and ``γ D ln(1/δ)/a`` is added. With
    ``ζ = γD``, the largest target loss, Markov's inequality gives for every learner

    .. math:: \sum_t L_t \le \frac{e^a - 1}{a} \sum_t \mathbb{E}_t[L_t] + \frac{ζ}{a} \ln\frac1δ
        \le (1 - a') \sum_t S_t(W_t) + \frac{ζ}{a} \ln\frac1δ .

    Bounds on the expectation use the gap in ``Σ E_t[L_t] ≤ (1 − a) Σ S_t(W_t)`` only, so they hold
    with a' instead of a.

    Parameters
    ----------
    loss : FenchelYoung or GapSurrogate
        The loss, over a fitted space.
    norm : float
        The bound C on the norm of features.
    delta : float or None, default=None
        Probability that the bound fails, in (0, 1); None bounds the expectation.

    Returns
    -------
    dict of float
        Among them a, c, C, b, D and γ, by the names of `LossConstants` if it has them; with a
        `delta` also ``deviation``, for rounds of weight 1.

    Raises
    ------
    GuaranteeError
        If the loss has no surrogate gap, and for a `delta` if it is bounded itself.

    See Also
    --------
    skstructured.losses.LossConstants : Constants of a Fenchel–Young loss.
    Certificate : Bounds made of these numbers.
    """
    if getattr(loss, "bounds_surrogate", False):  # what is bounded is the sum of the loss itself
        if delta is not None:
            raise GuaranteeError("The losses of this bound are not drawn: call it without delta.")
        return {"a": 0.0, "c": 1.0, "C": float(norm)}
    k = loss.constants_of()
    if k.a <= 0:
        raise GuaranteeError(
            "No regret bound with this scale of the loss: increase it until the surrogate gap "
            f"(now {k.a:.4g}) is positive."
        )
    numbers = {name: getattr(k, name) for name in ("a", "c", "kappa", "lam", "nu", "gamma")}
    numbers |= {"D": k.diameter, "C": float(norm), "b": k.smoothness * float(norm) ** 2}
    if delta is None:
        return numbers
    numbers["deviation"] = k.gamma * k.diameter * read_delta(delta) / k.a
    return numbers | {"a": 1.0 - (1.0 - k.a) * math.expm1(k.a) / k.a}


class MixtureCertificate(Certificate):
    r"""A bound on the losses of `StepMixture`, against its experts and against every U.

    A mixture's surrogate losses are at most those of expert e, plus an overhead A:

    .. math:: \sum_t S_t(θ_t) \le \sum_t S_t(θ_{t,e}) + c A, \qquad
        A = d M (\ln N + \ln R + 3.8 + 10^{-9} T)

    if probabilities of classes (d = 1) or of d labels are mixed [2]_. M is the largest weight of a
    round or 1, N the number of experts and R that of rates of sharing. The last term comes from the
    floor that keeps probabilities above 0. If scores are mixed, ``A = Δ (2 + 3.8/ln(NR))``, Δ the
    sum of AdaHedge's mixability gaps [3]_.

    The target loss is at most ``(1 − a) Σ S_t(θ_t)`` ([1]_, Lemma 3.1), and an expert with its own
    certificate has ``(1 − a) Σ S_t(θ_{t,e}) ≤ Σ S_t(U) + R_e(U)``. So the target loss of the
    mixture is at most

    .. math:: \sum_t S_t(U) + \min_e R_e(U) + (1 - a)\, c A .

    Parameters
    ----------
    constants : dict
        The numbers of the loss, and A as ``overhead``, in nats.
    losses : dict
        ``Σ S_t/c`` of each expert, by its name.
    certificates : list of Certificate
        Those of the experts that have one.

    See Also
    --------
    skstructured.optimizers.StepMixture : The optimizer of this bound.
    Certificate : The interface of bounds.

    References
    ----------
    .. [1] Sakaue, Bao, Tsuchiya, Oki (2024); see `FenchelYoung`.
    .. [2] Herbster, Warmuth (1998), "Tracking the best expert".
    .. [3] de Rooij, van Erven, Grünwald, Koolen (2014), "Follow the leader if you can, hedge if you
       must".
    """

    def __init__(self, constants, losses, certificates):
        super().__init__("Mixture of experts", None, None, math.inf, constants)
        self.losses, self.certificates = losses, certificates

    def _price(self):
        """(1 − a) c A."""
        k = self.constants
        return (1.0 - k["a"]) * k["c"] * k["overhead"]

    def _regret(self, norm: float) -> float:
        """See `Certificate`; a GuaranteeError without a bound."""
        regrets = [
            certificate._regret(norm)
            for certificate in self.certificates
            if norm <= certificate.radius * (1 + 1e-9)
        ]
        if not regrets:
            radius = max((certificate.radius for certificate in self.certificates), default=0.0)
            raise GuaranteeError(
                f"No expert has a bound: the largest radius is {radius:g}, got ‖U‖_F = {norm:g}."
            )
        return min(regrets) + self._price()

    def bound_of_experts(self) -> float:
        """The bound on the target loss against the best expert, ``(1 − a) c (min_e L_e + A)``."""
        k = self.constants
        least = (1.0 - k["a"]) * k["c"] * min(self.losses.values())
        return least + self._price() + self._added()


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


def mixture_certificate(
    optimizer: Any, loss: Any, state: Any, delta: float | None = None, names: Any = None
) -> MixtureCertificate:
    """The `MixtureCertificate` of a `StepMixture` over a loss, from the state of its model.

    If the state has more experts than the optimizer, they have `names`, and bounds against every
    U are those of the optimizer's, which come first.
    """
    if not (state.rates == THINNING).any():
        raise GuaranteeError(
            f'share={optimizer.share!r} has no regret bound: include "thinning" in share.'
        )
    certificates = []
    for expert, vector in zip(optimizer.experts(), state.vectors, strict=names is None):
        with contextlib.suppress(GuaranteeError):
            certificates.append(expert.certificate(loss, vector, delta))
    constants = gap_constants(loss, 0.0, delta) | {"overhead": overhead(state)}
    names = optimizer.names(state.summed) if names is None else names
    losses = dict(zip(names, map(float, state.sums), strict=True))
    return MixtureCertificate(constants, losses, certificates)
