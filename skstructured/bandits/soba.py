"""SOBA: a second-order Perceptron with bandit feedback."""

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from skstructured._base.parameters import Seed, parameters
from skstructured._base.shared_docs import documented
from skstructured._base.validation import check_positive
from skstructured._learners.second_order import SecondOrderWeights
from skstructured.bandits._rounds import mix_uniform
from skstructured.bandits._second_order import SecondOrderBandit
from skstructured.bandits.gaptron import BanditGaptronClassifier
from skstructured.estimators.online import OnlineStructuredPredictor


@documented(BanditGaptronClassifier, OnlineStructuredPredictor)
@parameters
class SOBAClassifier(SecondOrderBandit):
    r"""SOBA: a second-order Perceptron with bandit feedback.

    Plays ``(1 − ρ) e_{y*} + ρ/K``. Only where the choice ỹ was right, with
    ``g = (e_ȳ − e_ỹ) ⊗ x/p'`` (ȳ the best other class), ``z = √p' g`` and
    ``m = (<W,z>² + 2<W,g>)/(1 + zᵀA⁻¹z)``: if m plus the m of earlier updates is not negative,
    ``A ← A + zzᵀ``, ``b ← b − g``, ``W = A⁻¹b``; A starts at a·I.

    Parameters
    ----------
    a : float, default=1.0
        Regularization.
    exploration : float or None, default=None
        ρ; None is ``min(½, √(K/T))``: the order T^{−1/2} of the theorem, with a constant of ours.
    horizon : int or None, default=None
        T of the default ρ; None takes the round.
    {BanditGaptronClassifier: classes}
    {OnlineStructuredPredictor: standardize}
    {BanditGaptronClassifier: fit_intercept, verbose, random_state, missing}

    Attributes
    ----------
    {BanditGaptronClassifier: classes_, coef_, intercept_, missing_coef_, t_, n_mistakes_,
    n_features_in_, feature_names_in_}

    Notes
    -----
    ``Σ m = min_U [a‖U‖² + Σ(2<U,g> + <U,z>²)] + Σ q/(p'(1+q))``, q = zᵀA⁻¹z, over updates: an
    identity, which fixes the √p'.

    No bound is stated. Its paper's bound has no explicit constants.

    References
    ----------
    Beygelzimer, Orabona, Zhang (2017), "Efficient online bandit multiclass learning with Õ(√T)
    regret".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import SOBAClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SOBAClassifier(exploration=0.1, classes=[0, 1, 2], random_state=0)
    >>> actions, propensities = model.choose(X[:5])
    >>> model.update(X[:5], actions, actions == y[:5], propensities).t_
    5
    """

    _no_theorem = "Its paper's bound has no explicit constants."

    a: float = 1.0
    exploration: float | None = None
    horizon: int | None = None
    classes: ArrayLike | None = None
    standardize: bool | Literal["auto"] = "auto"
    fit_intercept: bool = True
    verbose: bool | int = 0
    random_state: Seed = None
    missing: Literal["mean", "indicator", "error"] = "mean"

    def _check_parameters(self):
        super()._check_parameters()
        self._regularization_root()

    def _regularization_root(self):
        return math.sqrt(check_positive("a", self.a))

    def _setup(self, dim, width):
        self._learned = SecondOrderWeights(dim, width, self.a)

    @property
    def _W(self):
        return self._learned.W

    def _distribution(self, theta, X):
        return mix_uniform(theta, self._rho())

    def _learn_at(self, Z, codes, rewards, propensities):
        theta = self._scores_at(Z)
        for i in np.flatnonzero(rewards):
            self._learned.learn(theta[i], Z[i], codes[i], propensities[i])
