"""LinUCB: the action whose reward may be the largest, by confidence bounds of linear regression."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skstructured._base.exceptions import GuaranteeError
from skstructured._base.parameters import parameters
from skstructured._base.validation import check_positive, check_real
from skstructured.bandits._item_bandit import ItemBandit
from skstructured.extend._types import Floats


@parameters
class LinUCB(ItemBandit):
    r"""Linear bandit with upper confidence bounds, for actions that have features.

    Every round has its own actions, each with a row x of features, and the reward of the one that
    is played is ``<w, x>`` plus noise. With ``A = λI + Σ x_t x_tᵀ`` and ``ŵ = A⁻¹ Σ r_t x_t`` over
    the rows played, the action of the largest ``<ŵ, x> + β √(xᵀA⁻¹x)`` is played, the first of
    several. Nothing is drawn: propensities are 1.

    Parameters
    ----------
    alpha : float or "theory", default=1.0
        Exploration: β = alpha R, confidence bounds of so many standard errors. "theory" is

        .. math:: β = R \sqrt{\ln\det A - \ln\det λI + 2\ln(1/δ)} + \sqrt{λ}\, S,

        with which the regret is bounded where R and S are known; it explores several times as much.
    noise_scale : float or None, default=None
        R: the noise is R-sub-Gaussian; (b − a)/2 for rewards in [a, b]. None learns
        ``R² = min_w (λ‖w‖² + Σ (r_t − <w, x_t>)²)/t``, and takes 1 as long as that is 0.
    norm_bound : float or None, default=None
        S ≥ ‖w‖, the intercept included, for "theory". None takes ‖ŵ‖.
    delta : float, default=0.05
        δ in (0, 1): the probability that a confidence bound of "theory" fails in any round.
    lam : float, default=1.0
        λ > 0, of features as they are learned. The intercept is not regularized where they are
        standardised: rewards then may have any origin.
    standardize : bool or "auto", default="auto"
        Whether features are standardised by the mean and deviation of all actions of the rounds
        learned so far, after which ŵ is that of all rounds in those units: units and origins of
        features do not matter. "auto" is True. Theorems are about False.
    fit_intercept : bool, default=True
        Whether x has a constant 1 besides.

    Attributes
    ----------
    coef_ : ndarray of shape (p,)
        ŵ, of features in their own units.
    intercept_ : float
        The estimated reward where all features are 0.
    noise_scale_ : float
        R, as given or learned.
    radius_ : float
        β, of the next round.
    t_ : int
        Rounds learned, those of weight 0 not counted.
    n_features_in_ : int
        Features p of an action.
    feature_names_in_ : ndarray of shape (p,)
        Their names, where the first rounds were a frame.

    Raises
    ------
    ValueError
        At the first round, for parameters out of range.

    Notes
    -----
    *What holds.* Let the reward of x in round t be ``<w, x>`` plus noise that is conditionally
    R-sub-Gaussian, with ``noise_scale=R``, ``norm_bound=S ≥ ‖w‖``, ``alpha="theory"`` and
    ``standardize=False``, and no weights. With probability at least 1 − δ, w lies in
    ``{v : ‖v − ŵ‖_A ≤ β}`` after all rounds at once, and so all of `confidence_bounds` hold; then
    the regret, ``Σ_t (max_x <w, x> − <w, x_t>)``, is at most `regret_bound`. In n rounds of own
    choices, with ‖x‖ ≤ L, rewards <w, x> in [−1, 1] and λ ≥ max(1, L²) it is at most

    .. math:: 4\sqrt{n d \ln(λ + nL/d)} \left(\sqrt{λ} S
        + R\sqrt{2\ln(1/δ) + d\ln(1 + nL/(λd))}\right).

    *What is heuristic.* R and S learned from the same data, ``alpha`` as a number, and standardised
    features, whose units depend on the rounds: no bound is claimed.

    A round is learned in O(p²), and p²/2 for each action to choose among. Where means and
    deviations change, which thins out, p³ besides.

    References
    ----------
    Li, Chu, Langford, Schapire (2010), "A contextual-bandit approach to personalized news article
    recommendation", with one w for all actions. Abbasi-Yadkori, Pál, Szepesvári (2011), "Improved
    algorithms for linear stochastic bandits", Theorems 2 and 3.

    Examples
    --------
    >>> import numpy as np
    >>> from skstructured.bandits import LinUCB
    >>> rng, w = np.random.RandomState(0), np.array([1.0, -2.0, 0.5])
    >>> model, earned = LinUCB(), 0.0
    >>> for t in range(200):
    ...     offers = [rng.normal(size=(rng.randint(2, 6), 3))]
    ...     actions, propensities = model.choose(offers)
    ...     reward = offers[0][actions] @ w + rng.normal()
    ...     earned += reward[0]
    ...     _ = model.update(offers, actions, reward, propensities)
    >>> bool(earned > 300), model.coef_.round(0)
    (True, array([ 1., -2.,  0.]))
    """

    randomized = False

    alpha: float | Literal["theory"] = 1.0
    noise_scale: float | None = None
    norm_bound: float | None = None
    delta: float = 0.05
    lam: float = 1.0
    standardize: bool | Literal["auto"] = "auto"
    fit_intercept: bool = True

    @property
    def radius_(self) -> float:
        """β of the next round."""
        check_is_fitted(self, "t_")
        return self._radius()

    def confidence_bounds(
        self, X_actions: Any, qid: ArrayLike | None = None, *, available: Any = None
    ) -> tuple[Any, Any]:
        """Lower and upper confidence bounds on the expected rewards of all actions.

        Parameters
        ----------
        X_actions, qid, available
            As in `choose`.

        Returns
        -------
        low : list of n arrays (m,), or with `qid` ndarray of shape (N,)
            ``<ŵ, x> − β √(xᵀA⁻¹x)`` in the form of X_actions; NaN for hidden actions.
        high : list of n arrays (m,), or with `qid` ndarray of shape (N,)
            ``<ŵ, x> + β √(xᵀA⁻¹x)``, likewise.
        """
        with self.lock:
            actions, Z = self._fitted(X_actions, qid, available)
            means, margins = self._ridge.means(Z), self._radius() * self._ridge.widths(Z)
        back = actions.items.unstacked
        return back(means - margins), back(means + margins)

    def regret_bound(self) -> float:
        """Bound on the regret of the rounds learned, whoever chose in them.

        ``Σ_t (max_x high_t(x) − low_t(x_t))``, by the bounds before the reward of round t was
        learned. With probability 1 − δ it is at least the regret
        ``Σ_t (max_x <w, x> − <w, x_t>)``, after all rounds at once.

        Returns
        -------
        float

        Raises
        ------
        GuaranteeError
            Unless all rounds were learned with ``alpha="theory"``, the `noise_scale`, `norm_bound`
            and `delta` that are set now, ``standardize=False`` and weights of 1.
        """
        check_is_fitted(self, "t_")
        if not self._covered():
            raise GuaranteeError(
                'The theorem needs alpha="theory", standardize=False, and the same noise_scale=R, '
                "norm_bound=S and delta from the first round on."
            )
        if self._uncovered:
            raise GuaranteeError(self._uncovered)
        return float(self._regret)

    def _covered(self):
        known = None not in self._promised and self._promised == self._theorem()
        return known and self.alpha == "theory" and not self._ridge.scale.used

    def _theorem(self):
        """R, S and δ of the theorem."""
        return self.noise_scale, self.norm_bound, self.delta

    def _check_parameters(self):
        super()._check_parameters()
        if self.alpha != "theory":
            allowed = 'be a number of at least 0, or "theory"'
            check_real("alpha", self.alpha, lambda v: 0.0 <= v < math.inf, allowed)
        if self.norm_bound is not None:
            check_positive("norm_bound", self.norm_bound)
        check_real("delta", self.delta, lambda v: 0.0 < v < 1.0, "lie in (0, 1)")

    def _start_with(self, X):
        fresh = not hasattr(self, "t_")
        super()._start_with(X)
        if fresh:
            self._regret, self._uncovered, self._promised = 0.0, None, self._theorem()

    def _radius(self):
        if self.alpha != "theory":
            return float(self.alpha) * self._noise()
        ridge = self._ridge
        norm = ridge.norm if self.norm_bound is None else self.norm_bound
        root = math.sqrt(ridge.log_determinant + 2.0 * math.log(1.0 / self.delta))
        return float(self._noise() * root + math.sqrt(ridge.lam) * norm)

    def _upper(self, Z):
        """Upper confidence bounds (m,) of rows z."""
        return self._ridge.means(Z) + self._radius() * self._ridge.widths(Z)

    def _probabilities(self, Z: Floats) -> Floats:
        P = np.zeros(len(Z))
        P[np.argmax(self._upper(Z))] = 1.0
        return P

    def _draw(self, Z, rng):
        return int(np.argmax(self._upper(Z))), 1.0

    def _learn(self, X, code, reward, weight):
        if not self._covered():
            self._uncovered = self._uncovered or "Some rounds were learned with other parameters."
        elif weight != 1.0:
            self._uncovered = self._uncovered or "The theorem is about rounds of weight 1."
        else:
            Z, z = self._ridge.ready(X), self._ridge.ready(X[code : code + 1])
            low = self._ridge.means(z) - self._radius() * self._ridge.widths(z)
            self._regret += np.max(self._upper(Z)) - low[0]
        super()._learn(X, code, reward, weight)
