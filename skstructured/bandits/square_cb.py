"""SquareCB: regression, and exploration in inverse proportion to the gap of the estimates."""

import math
from typing import Literal

import numpy as np

from skstructured._base.parameters import Seed, parameters
from skstructured._base.shared_docs import documented
from skstructured._base.validation import check_real
from skstructured.bandits._item_bandit import ItemBandit
from skstructured.bandits.lin_ucb import LinUCB
from skstructured.extend._types import Floats

#: γ of the default, in units of that of the theorem.
LESS_THAN_WORST = 10.0


@documented(LinUCB)
@parameters
class SquareCB(ItemBandit):
    r"""Linear bandit whose propensities are exact: inverse gap weighting.

    Estimates θ = <ŵ, x> are those of `LinUCB`. Of the m actions of a round, y* the first of the
    largest estimate, any other y is played with probability

    .. math:: p_y = \frac{1}{m + γ (θ_{y*} - θ_y)},

    and y* with what is left, at least 1/m. Every action has a positive and known probability, so
    that the log can be used to estimate what any other policy would have earned
    (`skstructured.evaluation.off_policy_value`).

    Parameters
    ----------
    gamma : float or None, default=None
        γ ≥ 0, in units of 1/reward; 0 is uniform. None is ``10 √(m t/Reg)`` after t rounds, with
        the estimate ``Reg = R² (1 + ln det A − ln det λI)`` of the regret of the regression.
    {LinUCB: noise_scale}
    {LinUCB: lam, standardize, fit_intercept}
    random_state : int, RandomState instance or None, default=None
        Seeds the draws.

    Attributes
    ----------
    {LinUCB: coef_, intercept_, noise_scale_, t_, n_features_in_, feature_names_in_}

    Raises
    ------
    {LinUCB: ValueError}

    Notes
    -----
    *What holds.* With rewards in [0, 1] whose expectation is linear in the features, K actions and
    a regression of square-loss regret at most Reg in T rounds, ``γ = √(K T/Reg)`` gives an expected
    regret of the order of √(K T Reg), with constants in the reference. The default follows the
    round, estimates Reg, and explores a tenth as much, as the estimates of a round err less than
    their sum allows: no bound is claimed.

    References
    ----------
    Foster, Rakhlin (2020), "Beyond UCB: optimal and efficient contextual bandits with regression
    oracles", Algorithm 1 and Theorem 1; the weighting is that of Abe, Long (1999).

    Examples
    --------
    >>> import numpy as np
    >>> from skstructured.bandits import SquareCB
    >>> model = SquareCB(gamma=2.0, standardize=False, fit_intercept=False)
    >>> offers = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    >>> model.update(offers, [0], [2.0]).decoding_proba(offers)
    [array([0.75, 0.25])]
    """

    gamma: float | None = None
    noise_scale: float | None = None
    lam: float = 1.0
    standardize: bool | Literal["auto"] = "auto"
    fit_intercept: bool = True
    random_state: Seed = None

    def _check_parameters(self):
        super()._check_parameters()
        if self.gamma is not None:
            allowed = "be a number of at least 0, or None"
            check_real("gamma", self.gamma, lambda v: 0.0 <= v < math.inf, allowed)

    def _gamma(self, m):
        if self.gamma is not None:
            return float(self.gamma)
        regret = 1.0 + self._ridge.log_determinant
        return LESS_THAN_WORST * math.sqrt(m * max(self.t_, 1) / regret) / self._noise()

    def _probabilities(self, Z: Floats) -> Floats:
        means, m = self._ridge.means(Z), len(Z)
        best = int(np.argmax(means))
        P = 1.0 / (m + self._gamma(m) * (means[best] - means))
        P[best] = 0.0
        P[best] = 1.0 - P.sum()
        return P
