"""Online Newton steps for logistic regression."""

import math
from typing import Literal

from skstructured._base.component import Seed, parameters
from skstructured._base.docstrings import documented
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_size
from skstructured.estimators.logistic._base import LogisticLearner
from skstructured.estimators.logistic._newton_rounds import SHARPEST, NewtonMatrix
from skstructured.estimators.logistic.folklore import FolkloreClassifier
from skstructured.extend.decoder import Decoder
from skstructured.guarantees.certificates import Certificate

__all__ = ["OnlineNewtonClassifier"]

#: γB is squared, and inverted.
LEAST_PRODUCT = 1e-100


@documented(FolkloreClassifier)
@parameters
class OnlineNewtonClassifier(LogisticLearner):
    r"""Online Newton steps: the proper second-order learner that `FolkloreClassifier` improves on.

    In theory its regret has a factor e^B, which no learner that predicts by a fixed W can do
    without; it is here to compare with. Round t, with W projected in the norm of A on
    ``|W x|_∞ ≤ B‖x‖`` when x arrives:

    .. math:: g = (\mathrm{softmax}(Wx) - y) ⊗ x, \quad A ← A + gg^⊤, \quad
        W ← W - \tfrac1γ A^{-1} g.

    A starts at ``I/(γ²KB²)``.

    Parameters
    ----------
    B : float, default=1.0
        Bound on ‖W_k‖ of every class, in units of the standardised features.
    R : float or None, default=None
        Largest norm of a row, the intercept's 1 included; only "theory" needs it.
    gamma : float or "theory", default=0.1
        γ; "theory" is ``½ min{1/(4BR), e^{−2BR}/(K−1)}``, for which the regret is proved, and
        which is too small to learn with unless BR is.
    {FolkloreClassifier: long_rows, iterate, decoder, standardize, fit_intercept, shuffle, verbose,
    random_state, missing}

    Attributes
    ----------
    {FolkloreClassifier: classes_, space_, loss_, t_, random_state_, n_features_in_,
    feature_names_in_}

    Raises
    ------
    {FolkloreClassifier: ValueError}
        Also where a row's norm times its weight is above 1e6/(γB√K), or γB below 1e-100 or above
        1e100, which leave no digit of A.

    Notes
    -----
    With ``γ ≤ ½ min{1/(4B‖x‖), e^{−2B‖x‖}/(K−1)}/w`` in every round the regret is at most
    ``‖U‖²/(2γKB²) + Σ gᵀA⁻¹g/(2γ)``, A after the round, in nats: what `certificate` has.

    Memory: K(K+1)p² doubles; a round reads and writes half of them once.

    References
    ----------
    Hazan, Agarwal, Kale (2007), "Logarithmic regret algorithms for online convex optimization"; on
    the factor e^B Hazan, Koren, Levy (2014), "Logistic regression: tight bounds for stochastic and
    online optimization".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import OnlineNewtonClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> OnlineNewtonClassifier(random_state=0).fit(X, y).score(X, y) > 0.85
    True
    """

    B: float = 1.0
    R: float | None = None
    gamma: float | Literal["theory"] = 0.1
    long_rows: Literal["refuse", "rescale"] = "refuse"
    iterate: Literal["last", "random"] = "last"
    decoder: str | Decoder = "map"
    standardize: bool | Literal["auto"] = "auto"
    fit_intercept: bool = True
    shuffle: bool = True
    verbose: bool | int = 0
    random_state: Seed = None
    missing: Literal["mean", "indicator", "error"] = "mean"

    def _new_weights(self, K, width):
        B, gamma = check_size("B", self.B), self._gamma(K)
        if not LEAST_PRODUCT <= gamma * B <= 1.0 / LEAST_PRODUCT:
            raise ValueError(
                f"gamma * B must lie between {LEAST_PRODUCT:g} and {1.0 / LEAST_PRODUCT:g}, "
                f"got gamma={gamma:g} and B={B:g}."
            )
        return NewtonMatrix(K, width, B, gamma)

    def _gamma(self, K):
        if not (isinstance(self.gamma, str) and self.gamma == "theory"):
            return check_size('gamma, unless it is "theory",', self.gamma)
        if self.R is None:
            raise ValueError('gamma="theory" needs R, the largest norm of a row, got R=None.')
        reach = self.B * self.R
        return 0.5 * min(1.0 / (4.0 * reach), math.exp(-2.0 * reach) / (K - 1))

    @property
    def longest_row(self) -> float:
        """The largest norm of a row that is taken as it is."""
        return 1e5 / check_size("B", self.B)

    def certificate(self, delta: float | None = None) -> Certificate:
        """The regret of the rounds seen so far, against U with ``‖U‖_F ≤ B``; see Notes.

        Raises
        ------
        GuaranteeError
            If `gamma` is too large for the longest row, for a `delta`, and for another decoder than
            "map", "nearest" or "sampled".
        """
        self._check_certified("The theorem of online Newton steps", delta)
        learned, unit = self._weights, self.loss_.scale_
        if not learned.gamma * learned.numbers[SHARPEST] <= 1.0 + 1e-9:
            raise GuaranteeError(
                f"Online Newton steps need gamma ≤ {1.0 / learned.numbers[SHARPEST]:.4g} for the "
                f"rows learned, got gamma={learned.gamma:g}, which learns faster."
            )
        numbers = {"B": learned.B, "gamma": learned.gamma, "rounds": self.t_}
        offset = 0.5 * unit * learned.potential / learned.gamma
        quadratic = 0.5 * unit * learned.gamma * learned.lam
        named = "nats" if unit == 1.0 else "bits"
        return Certificate("Online Newton steps", quadratic, offset, learned.B, numbers, named)
