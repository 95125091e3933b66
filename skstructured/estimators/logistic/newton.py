"""Online Newton steps for logistic regression: ``A ← A + ggᵀ``, and projections of W."""

import math
from operator import attrgetter
from typing import Literal

import numpy as np

from skstructured._base.component import inherit_parameters, parameters_with
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_size
from skstructured._engine.compiled import kernel
from skstructured._engine.state import clear, copy_into, inner
from skstructured._learners.online import OnlineEstimator
from skstructured._learners.predictions import DecodedPredictions
from skstructured.estimators._auto import given_decoder
from skstructured.estimators.logistic import _base
from skstructured.estimators.logistic._base import (
    SecondOrderNumbers,
    add_outer_products,
    downdate,
    limit_of_matrix,
    multiply_panels,
    wait,
)
from skstructured.estimators.logistic._rounds import new_scratch
from skstructured.estimators.logistic.folklore import FolkloreClassifier, FolkloreMatrix
from skstructured.guarantees.certificates import Certificate
from skstructured.spaces.simplex import softmax_into


@kernel
def in_the_box(S, u, bound, multipliers, z):
    """z = argmin (z − u)ᵀS⁻¹(z − u) over |z_k| ≤ bound, as z = u − S m.

    Coordinate descent on the dual, ``½ mᵀSm − mᵀu + bound ‖m‖₁``.
    """
    K = u.shape[0]
    for k in range(K):
        multipliers[k], z[k] = 0.0, u[k]
    for _ in range(10_000):
        moved = 0.0
        for k in range(K):
            if S[k, k] <= 0.0:
                continue
            free = z[k] + S[k, k] * multipliers[k]
            new = math.copysign(max(abs(free) - bound, 0.0), free) / S[k, k]
            step = new - multipliers[k]
            if step != 0.0:
                multipliers[k] = new
                for j in range(K):
                    z[j] -= S[j, k] * step
            moved = max(moved, abs(step) * S[k, k])
        if moved <= 1e-15 * bound:
            break


@kernel
def _newton_step(W, V, d, q, gamma, L):
    """L = A⁻¹g/√(1 + q) for g = d ⊗ x and q = gᵀA⁻¹g, and W ← W − (A + ggᵀ)⁻¹g/γ."""
    root = 1.0 / math.sqrt(1.0 + q)
    clear(L[0])
    add_outer_products(L[:1], root, d.reshape((d.shape[0], 1)), V, np.int64(0), d.shape[0])
    for b in range(L.shape[1]):
        W[0, b] -= root * L[0, b] / gamma


@kernel
def _newton_rounds(X, truth, weight, learns, B, gamma, learned, Q, logits):
    """Play the rows, and learn them if it `learns`; `logits` receives every projected Wx."""
    A, P, W, waiting, factors, numbers = learned
    K, flat = Q.shape[0], W.reshape((1, W.size))
    space = new_scratch(K, K, X.shape[1])
    V, L, S, outer = space.V, space.L, space.S, space.A
    z, s, d, u, m = space.logit, space.share, space.target, space.mass, space.center
    for t in range(X.shape[0]):
        x, w, q, inside = X[t], weight[t], 0.0, True
        live, reach = learns and w > 0.0, B * math.sqrt(inner(x, x))
        for k in range(K):
            u[k] = z[k] = inner(W[k], x)
            inside &= abs(u[k]) <= reach
        if live or not inside:
            multiply_panels(P, x, V, S)
        if not inside:
            in_the_box(S, u, reach, m, z)
        copy_into(logits[t], z)
        if not live:
            continue
        if not inside:
            add_outer_products(
                flat, -1.0, m.reshape((K, 1)), V, np.int64(0), K
            )  # W ← W − A⁻¹ (m ⊗ x)
        softmax_into(z, s)
        for k in range(K):
            d[k] = w * (s[k] - truth[t, k])
        for i in range(K):
            for j in range(K):
                outer[i, j] = d[i] * d[j]
                q += outer[i, j] * S[i, j]
        least = max(4.0 * reach, (K - 1.0) * math.exp(min(2.0 * reach, 700.0)))
        sharpest = numbers[SecondOrderNumbers.SHARPEST]
        numbers[SecondOrderNumbers.SHARPEST] = max(sharpest, 2.0 * w * least)
        numbers[SecondOrderNumbers.POTENTIAL] += q / (1.0 + q)
        _newton_step(flat, V, d, q, gamma, L)
        downdate(P, L, K, 1)
        wait(x, outer, 1.0, A, waiting, factors, numbers, space.scaled)


class NewtonMatrix(FolkloreMatrix):
    """A = A₀ + Σ ggᵀ over the weights of all K classes, A₀ = I/(γ²KB²), and W, as `G`."""

    rounds, directions = staticmethod(_newton_rounds), staticmethod(np.eye)
    constants = property(attrgetter("B", "gamma"))

    def __init__(self, K, width, B, gamma):
        super().__init__(K, width, (gamma * B) ** -2.0 / K, B)
        self.B, self.gamma = B, gamma

    def __setstate__(self, state):
        """Read a saved object; older ones have `constants`."""
        if "constants" in state:
            state["B"], state["gamma"] = state.pop("constants")
        vars(self).update(state)

    @property
    def limits(self):
        """How large rounds may be, a list of `RoundLimit`."""
        return [limit_of_matrix(self.lam, 2, f"1/(K exp_concavity² radius²)={self.lam:g}")]


@inherit_parameters(FolkloreClassifier)
@parameters_with(_base.LogisticParameters)
class OnlineNewtonClassifier(DecodedPredictions, OnlineEstimator):
    r"""Online Newton steps: the proper second-order learner that `FolkloreClassifier` improves on.

    Use it for comparisons [1]_. In theory its regret has a factor e^B, which no learner that
    predicts with a fixed W can avoid [2]_. In round t, with W projected in the norm of A on
    ``|W x|_∞ ≤ B‖x‖`` when x arrives,

    .. math:: g = (\mathrm{softmax}(Wx) - y) ⊗ x, \quad A ← A + gg^⊤, \quad
        W ← W - \tfrac1γ A^{-1} g.

    A starts at ``I/(γ²KB²)``.

    Parameters
    ----------
    radius : float, default=1.0
        Bound B on ‖W_k‖ of every class, in units of the standardized features.
    feature_norm : float or None, default=None
        Largest norm R of a row, the intercept's 1 included. Only required if `exp_concavity` is
        "theory".
    exp_concavity : float or "theory", default=0.1
        Exp-concavity γ, an inverse step size. "theory" is ``½ min{1/(4BR), e^{−2BR}/(K−1)}``, for
        which the regret is bounded. It is too small to learn with unless BR is small.
    {FolkloreClassifier: decoder, standardize, missing, fit_intercept, verbose, random_state}

    Attributes
    ----------
    {FolkloreClassifier: classes_, space_, loss_, t_, random_state_, n_features_in_,
    feature_names_in_}

    Raises
    ------
    {FolkloreClassifier: ValueError}
        Also if the norm of a row times its weight is above 1e6/(γB√K), or γB is below 1e-100 or
        above 1e100, because then A is lost to rounding.

    See Also
    --------
    FolkloreClassifier : The improper learner, without the factor e^B.
    OnlineStructuredPredictor : The first-order learner, for wide or sparse rows.

    Notes
    -----
    With ``γ ≤ ½ min{1/(4B‖x‖), e^{−2B‖x‖}/(K−1)}/w`` in every round, the regret is at most
    ``‖U‖²/(2γKB²) + Σ gᵀA⁻¹g/(2γ)`` in nats, with A after the round. `certificate` returns this
    bound.

    Memory: K(K+1)p² doubles; a round reads and writes half of them once.

    References
    ----------
    .. [1] Hazan, Agarwal, Kale (2007). Logarithmic regret algorithms for online convex
       optimization. Machine Learning.

    .. [2] Hazan, Koren, Levy (2014). Logistic regression: tight bounds for stochastic and online
       optimization. COLT.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import OnlineNewtonClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> OnlineNewtonClassifier(random_state=0).fit(X, y).score(X, y) > 0.85
    True
    """

    radius: float = 1.0
    feature_norm: float | None = None
    exp_concavity: float | Literal["theory"] = 0.1

    loss, new_model, _given_decoder = "fenchel_young", _base.new_second_order_model, given_decoder
    _parts, _take_decoder = _base.logistic_parts, _base.take_decoder

    def _new_weights(self, K, width):
        B, gamma = check_size("radius", self.radius), self._gamma(K)
        if not 1e-100 <= gamma * B <= 1e100:  # it is squared, and inverted
            raise ValueError(
                "exp_concavity * radius must lie between 1e-100 and 1e+100, got "
                f"exp_concavity={gamma:g} and radius={B:g}."
            )
        return NewtonMatrix(K, width, B, gamma)

    def _gamma(self, K):
        if not (isinstance(self.exp_concavity, str) and self.exp_concavity == "theory"):
            return check_size('exp_concavity, unless it is "theory",', self.exp_concavity)
        if self.feature_norm is None:
            raise ValueError('exp_concavity="theory" requires feature_norm, got feature_norm=None.')
        reach = self.radius * self.feature_norm
        return 0.5 * min(1.0 / (4.0 * reach), math.exp(-2.0 * reach) / (K - 1))

    @property
    def longest_row(self) -> float:
        """The largest norm of an unchanged row."""
        return 1e5 / check_size("radius", self.radius)

    def certificate(self, delta: float | None = None) -> Certificate:
        """The regret of the rounds seen so far, against U with ``‖U‖_F ≤ B``; see Notes.

        Raises
        ------
        GuaranteeError
            If `exp_concavity` is too large for the longest row, for a `delta`, and for another
            decoder than "map", "nearest" or "sampled".
        """
        _base.check_certified(self, "The theorem of online Newton steps", delta)
        learned = self.model_.rounds
        (B, gamma), sharpest = learned.constants, learned.numbers[SecondOrderNumbers.SHARPEST]
        if not gamma * sharpest <= 1.0 + 1e-9:
            raise GuaranteeError(
                "exp_concavity is too large for a regret bound: set exp_concavity ≤ "
                f"{1.0 / sharpest:.4g} for the rows learned; got "
                f"exp_concavity={gamma:g}."
            )
        constants = {"radius": B, "exp_concavity": gamma, "rounds": self.t_}
        offset, quadratic = 0.5 * learned.potential / gamma, 0.5 * gamma * learned.lam
        bound = (quadratic, offset, constants)
        return _base.certificate_in_unit(self, "Online Newton steps", *bound)
