"""Thompson sampling: the best action of weights drawn from what is known of them."""

from math import erfc, sqrt
from typing import Literal

import numpy as np

from skstructured._base.parameters import Seed, parameters
from skstructured._base.shared_docs import documented
from skstructured._base.validation import check_integer, check_positive
from skstructured._engine.compiled import kernel
from skstructured._learners.second_order import solve_upper
from skstructured.bandits._item_bandit import ItemBandit
from skstructured.bandits.lin_ucb import LinUCB
from skstructured.extend._types import Floats

#: Seed of the draws that estimate probabilities where nothing is chosen.
FIXED = 0


@kernel
def solve_rows(R: Floats, U: Floats, V: Floats) -> None:
    """V_i = R⁻¹U_i for every row."""
    for i in range(U.shape[0]):
        solve_upper(R, U[i], V[i])


@documented(LinUCB)
@parameters
class LinearThompsonSampling(ItemBandit):
    r"""Linear bandit that plays each action as often as it is likely to be the best.

    The model is that of `LinUCB`: ``A = λI + Σ x_t x_tᵀ`` and ``ŵ = A⁻¹ Σ r_t x_t`` over the rows
    played. In every round weights are drawn from the normal distribution of mean ŵ and covariance
    ``(scale R)² A⁻¹``, and the action of the largest ``<w, x>`` is played, the first of several.

    Parameters
    ----------
    scale : float, default=1.0
        Deviations drawn, in units of the posterior's. 1 is the posterior of normal noise with the
        prior ``N(0, R²/λ I)``.
    n_draws : int, default=255
        Further draws of w by which propensities are estimated where there are more than two
        actions.
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
    *Propensities.* Between two actions x and x' they are exact,
    ``Φ(<ŵ, x − x'>/(scale R ‖x − x'‖_{A⁻¹}))``. Between more there is no closed form: n_draws more
    weights are drawn, and the propensity of an action is the share among all n_draws + 1 of those
    for which it is the best, the one that was played included, so that it is never 0. The draw that
    is played is as good as any other of them: inverse propensity weights have the expectation
    ``1 − (1 − p)^(n_draws + 1)``, p the true probability, instead of 1, whatever p is. They are
    unbiased but for what hardly ever happens. `decoding_proba` estimates by n_draws + 1 draws of a
    seed of its own, the same whenever it is called.

    *What holds.* Where w is drawn from the prior and the noise is normal with deviation
    ``noise_scale=R``, with ``standardize=False``, probabilities are those of the posterior, and the
    expected regret over that prior grows like d√n, with logarithms. For a fixed w, ‖w‖ ≤ 1, the
    known bounds need ``scale`` of the order of √(d ln(n/δ)), which explores more than pays in
    practice. A learned R and standardised features are heuristic.

    References
    ----------
    Agrawal, Goyal (2013), "Thompson sampling for contextual bandits with linear payoffs", Theorem
    1. Russo, Van Roy (2014), "Learning to optimize via posterior sampling". Chapelle, Li (2011),
    "An empirical evaluation of Thompson sampling".

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
    noise_scale: float | None = None
    lam: float = 1.0
    standardize: bool | Literal["auto"] = "auto"
    fit_intercept: bool = True
    random_state: Seed = None

    def _check_parameters(self):
        super()._check_parameters()
        check_positive("scale", self.scale)
        check_integer("n_draws", self.n_draws)

    def _best(self, Z, rng):
        """The best actions (n_draws + 1,) of weights drawn."""
        ridge, deviation = self._ridge, float(self.scale) * self._noise()
        U = rng.standard_normal((self.n_draws + 1, len(ridge.w)))
        V = np.empty(U.shape)
        solve_rows(ridge.R, U, V)
        return np.argmax((ridge.w + deviation * V) @ Z.T, axis=1)

    def _first_of_two(self, Z):
        """The probability that the first of two actions is played; 1 where they are the same."""
        z = Z[:1] - Z[1:]
        margin = float(self.scale) * self._noise() * self._ridge.widths(z)[0]
        mean = self._ridge.means(z)[0]
        if margin == 0.0:
            return 1.0 if mean >= 0.0 else 0.0
        return 0.5 * erfc(-mean / (margin * sqrt(2.0)))

    def _probabilities(self, Z: Floats, rng=None) -> Floats:
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
