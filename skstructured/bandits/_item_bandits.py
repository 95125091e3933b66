"""Bandits whose actions have features: LinUCB and Thompson sampling."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skstructured._base.component import Seed, inherit_parameters, parameters
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_integer, check_positive, check_real
from skstructured.bandits._item_base import ItemBandit
from skstructured.extend._types import Floats, Given


@parameters
class LinUCB(ItemBandit):
    r"""Choose among actions that have features, by upper confidence bounds (contextual bandit).

    Every round has its own actions, each with a row x of features, and the reward of the one that
    is played is ``<w, x>`` plus noise. Over the rows played, let ``A = λI + Σ x_t x_tᵀ`` and
    ``ŵ = A⁻¹ Σ r_t x_t``. The action with the largest ``<ŵ, x> + β √(xᵀA⁻¹x)`` is played, the first
    if there are several [1]_. The choice is not random: propensities are 1.

    Parameters
    ----------
    scale : float or "theory", default=1.0
        Exploration: confidence bounds are this many standard errors wide, β = scale R (the α of
        [1]_). "theory" is

        .. math:: β = R \sqrt{\ln\det A - \ln\det λI + 2\ln(1/δ)} + \sqrt{λ}\, S,

        with which the regret is bounded if R and S are known; it explores several times as much.
    radius : float or None, default=None
        Upper bound S on ‖w‖, the intercept included, for "theory". None uses ‖ŵ‖.
    delta : float, default=0.05
        Probability δ in (0, 1) that a confidence bound of "theory" fails in any round.
    noise_scale : float or None, default=None
        Scale R of the noise, which is R-sub-Gaussian; (b − a)/2 for rewards in [a, b]. None learns
        ``R² = min_w (λ‖w‖² + Σ (r_t − <w, x_t>)²)/t``, and uses 1 as long as that is 0.
    alpha : float, default=1.0
        Regularization strength λ > 0, for features in the form in which they are learned. If
        features are standardized, the intercept is not regularized: rewards may have any origin.
    standardize : bool or "auto", default="auto"
        Whether to standardize features by the mean and standard deviation of all actions of the
        rounds so far. ŵ is then that of all rounds in those units, so units and origins of features
        do not matter. "auto" is True. The theorems need False.
    fit_intercept : bool, default=True
        Whether to append a constant feature 1.

    Attributes
    ----------
    coef_ : ndarray of shape (p,)
        ŵ, for features in their original units.
    intercept_ : float
        The estimated reward if all features are 0.
    t_ : int
        Rounds learned, those of weight 0 not counted.
    n_features_in_ : int
        Features p of an action.
    feature_names_in_ : ndarray of shape (p,)
        Their names, if the first rounds were a frame.

    Raises
    ------
    ValueError
        At the first round, if a parameter is out of range.

    See Also
    --------
    LinearThompsonSampling : Random choices, by the posterior.
    ConfiditClassifier : A bandit over classes.
    ItemStructuredPredictor : Choices with full information.

    Notes
    -----
    *Guarantee.* Let the reward of x in round t be ``<w, x>`` plus noise that is conditionally
    R-sub-Gaussian, with ``noise_scale=R``, ``radius=S ≥ ‖w‖``, ``scale="theory"``,
    ``standardize=False`` and no weights. With probability at least 1 − δ, w is in
    ``{v : ‖v − ŵ‖_A ≤ β}`` after all rounds at once, so all of `confidence_bounds` hold ([2]_,
    Theorem 2). Then the regret, ``Σ_t (max_x <w, x> − <w, x_t>)``, is at most `regret_bound`. In n
    rounds of the bandit's own choices, with ‖x‖ ≤ L, rewards <w, x> in [−1, 1] and λ ≥ max(1, L²),
    it is at most ([2]_, Theorem 3)

    .. math:: 4\sqrt{n d \ln(λ + nL/d)} \left(\sqrt{λ} S
        + R\sqrt{2\ln(1/δ) + d\ln(1 + nL/(λd))}\right).

    *Heuristics.* R and S learned from the same data, ``scale`` as a number, and standardized
    features, whose units depend on the rounds: these have no bound.

    A round is learned in O(p²), plus p²/2 for each action to choose among. When means and standard
    deviations change, which becomes rare, it takes another p³.

    References
    ----------
    .. [1] Li, Chu, Langford, Schapire (2010), "A contextual-bandit approach to personalized news
       article recommendation", with one w for all actions.
    .. [2] Abbasi-Yadkori, Pál, Szepesvári (2011), "Improved algorithms for linear stochastic
       bandits".

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

    scale: float | Literal["theory"] = 1.0
    radius: float | None = None
    delta: float = 0.05

    def confidence_bounds(
        self, X_actions: Any, qid: Given = None, *, available: Any = None
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
            means, margins = self._intervals(Z)
        back = actions.unstacked
        return back(means - margins), back(means + margins)

    def regret_bound(self) -> float:
        """Bound on the regret of the rounds learned, for any policy that made the choices.

        ``Σ_t (max_x high_t(x) − low_t(x_t))``, by the bounds before the reward of round t was
        learned. With probability 1 − δ it is at least the regret
        ``Σ_t (max_x <w, x> − <w, x_t>)``, after all rounds at once.

        Returns
        -------
        float

        Raises
        ------
        GuaranteeError
            Unless all rounds were learned with ``scale="theory"``, the `noise_scale`, `radius`
            and `delta` that are set now, ``standardize=False`` and weights of 1.
        """
        check_is_fitted(self, "t_")
        if not self._covered():
            raise GuaranteeError(
                'The regret bound needs scale="theory", standardize=False, and the same '
                "noise_scale=R, radius=S and delta from the first round on."
            )
        if self._uncovered:
            raise GuaranteeError(self._uncovered)
        return float(self._regret)

    def _covered(self):
        known = None not in self._promised and self._promised == self._theorem()
        return known and self.scale == "theory" and not self._ridge.scale.used

    def _theorem(self):
        """R, S and δ of the theorem."""
        return self.noise_scale, self.radius, self.delta

    def _check_parameters(self):
        super()._check_parameters()
        if self.scale != "theory":
            allowed = 'be a number of at least 0, or "theory"'
            check_real("scale", self.scale, lambda v: 0.0 <= v < math.inf, allowed)
        check_positive("radius", self.radius, 1.0)
        check_real("delta", self.delta, lambda v: 0.0 < v < 1.0, "lie in (0, 1)")

    def _start(self, width):
        super()._start(width)
        self._regret, self._uncovered, self._promised = 0.0, None, self._theorem()

    def _radius(self):
        if self.scale != "theory":
            return float(self.scale) * self._noise()
        ridge = self._ridge
        norm = ridge.norm if self.radius is None else self.radius
        root = math.sqrt(ridge.log_determinant + 2.0 * math.log(1.0 / self.delta))
        return float(self._noise() * root + math.sqrt(ridge.alpha) * norm)

    def _intervals(self, Z):
        """Estimates (m,) of rows z, and how far their confidence bounds are from them."""
        return self._ridge.means(Z), self._radius() * self._ridge.widths(Z)

    def _draw(self, Z, rng):
        means, margins = self._intervals(Z)
        return int(np.argmax(means + margins)), 1.0

    def _probabilities(self, Z: Floats) -> Floats:
        P = np.zeros(len(Z))
        P[self._draw(Z, None)[0]] = 1.0
        return P

    def _learn(self, X, code, reward, weight):
        if not self._covered():
            self._uncovered = self._uncovered or "Some rounds were learned with other parameters."
        elif weight != 1.0:
            self._uncovered = self._uncovered or "The theorem is about rounds of weight 1."
        else:
            means, margins = self._intervals(self._ridge.ready(X))
            self._regret += np.max(means + margins) - (means[code] - margins[code])
        super()._learn(X, code, reward, weight)


#: Seed of the draws that estimate probabilities where nothing is chosen.
FIXED = 0


@inherit_parameters(LinUCB)
@parameters
class LinearThompsonSampling(ItemBandit):
    r"""Choose among actions that have features, by Thompson sampling (contextual bandit).

    An action is played with the probability that it is the best. The model is that of `LinUCB`:
    ``A = λI + Σ x_t x_tᵀ`` and ``ŵ = A⁻¹ Σ r_t x_t`` over the rows played. In every round weights
    are drawn from the normal distribution with mean ŵ and covariance ``(scale R)² A⁻¹``, and the
    action with the largest ``<w, x>`` is played, the first if there are several.

    Parameters
    ----------
    scale : float, default=1.0
        Standard deviation of the draws, in units of the posterior's. 1 is the posterior of normal
        noise with the prior ``N(0, R²/λ I)``.
    n_draws : int, default=255
        Number of further draws of w that estimate propensities if there are more than two actions.
    random_state : int, RandomState instance or None, default=None
        Seeds the draws.
    {LinUCB: noise_scale, alpha, standardize, fit_intercept}

    Attributes
    ----------
    {LinUCB: coef_, intercept_, t_, n_features_in_, feature_names_in_}

    Raises
    ------
    {LinUCB: ValueError}

    See Also
    --------
    LinUCB : Choices that are not random, with a regret bound.

    Notes
    -----
    *Propensities.* For two actions x and x' they are exact,
    ``Φ(<ŵ, x − x'>/(scale R ‖x − x'‖_{A⁻¹}))``. For more there is no closed form: n_draws more
    weights are drawn. The propensity of an action is the share, among all n_draws + 1 draws, of
    those for which it is the best. The draw that is played counts, so a propensity is never 0. That
    draw has the same distribution as the others: inverse propensity weights have the expectation
    ``1 − (1 − p)^(n_draws + 1)``, p the true probability, instead of 1. They are unbiased except
    for very unlikely actions. `decoding_proba` estimates by n_draws + 1 draws with a separate
    seed, the same in every call.

    *Guarantee.* If w is drawn from the prior and the noise is normal with standard deviation
    ``noise_scale=R``, with ``standardize=False``, probabilities are those of the posterior. The
    expected regret over that prior then grows like d√n, up to logarithms [2]_. For a fixed w,
    ‖w‖ ≤ 1, the known bounds need ``scale`` of the order of √(d ln(n/δ)) ([1]_, Theorem 1), which
    explores too much in practice [3]_. A learned R and standardized features are heuristic.

    References
    ----------
    .. [1] Agrawal, Goyal (2013), "Thompson sampling for contextual bandits with linear payoffs".
    .. [2] Russo, Van Roy (2014), "Learning to optimize via posterior sampling".
    .. [3] Chapelle, Li (2011), "An empirical evaluation of Thompson sampling".

    Examples
    --------
    >>> import numpy as np
    >>> from skstructured.bandits import LinearThompsonSampling
    >>> model = LinearThompsonSampling(random_state=0)
    >>> offers = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 1.0]])]
    >>> model.update(offers, [0, 0], [1.0, 3.0]).decoding_proba(offers)[1]
    array([1.])
    """

    scale: float = 1.0
    n_draws: int = 255
    random_state: Seed = None

    def _check_parameters(self):
        super()._check_parameters()
        check_positive("scale", self.scale)
        check_integer("n_draws", self.n_draws)

    def _start(self, width):
        super()._start(width)
        self.random_state_ = check_random_state(self.random_state)

    def _best(self, Z, rng):
        """The best actions (n_draws + 1,) of weights drawn."""
        ridge, deviation = self._ridge, float(self.scale) * self._noise()
        U = rng.standard_normal((self.n_draws + 1, len(ridge.w)))
        V = solve_triangular(ridge.R, U.T, check_finite=False).T
        return np.argmax((ridge.w + deviation * V) @ Z.T, axis=1)

    def _first_of_two(self, Z):
        """The probability that the first of two actions is played; 1 if they are the same."""
        z = Z[:1] - Z[1:]
        margin = float(self.scale) * self._noise() * self._ridge.widths(z)[0]
        mean = self._ridge.means(z)[0]
        if margin == 0.0:
            return 1.0 if mean >= 0.0 else 0.0
        return 0.5 * math.erfc(-mean / (margin * math.sqrt(2.0)))

    def _probabilities(self, Z: Floats) -> Floats:
        if len(Z) <= 2:
            p = self._first_of_two(Z) if len(Z) == 2 else 1.0
            return np.array([p, 1.0 - p][: len(Z)])
        best = self._best(Z, np.random.RandomState(FIXED))
        return np.bincount(best, minlength=len(Z)) / len(best)

    def _draw(self, Z, rng):
        if len(Z) <= 2:
            return super()._draw(Z, rng)
        best = self._best(Z, rng)
        return int(best[0]), float(np.mean(best == best[0]))
