"""The Banditron."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from skstructured._base.parameters import Seed, parameters
from skstructured._base.shared_docs import documented
from skstructured._engine.compiled import kernel
from skstructured.bandits._first_order import (
    EXPLORATION,
    HORIZON,
    N_CLASSES,
    RHO,
    ROUND,
    FirstOrderBandit,
    draw,
)
from skstructured.bandits._rounds import mix_uniform
from skstructured.bandits.gaptron import BanditGaptronClassifier
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.extend._types import Floats
from skstructured.losses.gap import best_class


@kernel
def banditron_scale(state: Floats, x_sq: float, weight: float) -> float:
    """s = 1; ρ = min(½, (K/T)^{1/3}) unless it was given."""
    state[ROUND] += 1.0
    rounds = state[HORIZON] if state[HORIZON] > 0.0 else state[ROUND]
    state[RHO] = min(0.5, (state[N_CLASSES] / rounds) ** (1.0 / 3.0))
    if state[EXPLORATION] >= 0.0:
        state[RHO] = state[EXPLORATION]
    return 1.0


@kernel
def banditron(theta: Floats, truth: Floats, g: Floats, params: Floats, work: Floats) -> float:
    """Play (1−ρ) e_{y*} + ρ/K; g = e_{y*} − 1[y' = y]/p'(y') e_{y'}; returns the reward."""
    action, propensity = draw(theta, params[RHO], work)
    for k in range(theta.shape[0]):
        g[k] = 0.0
    g[best_class(theta)] = 1.0
    if truth[action] == 1.0:
        g[action] -= 1.0 / propensity
    return truth[action]


@documented(BanditGaptronClassifier, OnlineStructuredPredictor)
@parameters
class BanditronClassifier(FirstOrderBandit):
    """The Banditron: a Perceptron that explores.

    Plays ``p' = (1 − ρ) e_{y*} + ρ/K``; ``W ← W + (1[y' = y]/p'(y') e_{y'} − e_{y*}) xᵀ``.

    Parameters
    ----------
    exploration : float or None, default=None
        ρ; None is ``min(½, (K/T)^{1/3})``, with which the regret grows like T^{2/3}.
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
    No bound is stated. Its theorem is for one exploration rate in all rounds, chosen with ‖U‖
    known.

    References
    ----------
    Kakade, Shalev-Shwartz, Tewari (2008), "Efficient bandit algorithms for online multiclass
    prediction".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import BanditronClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BanditronClassifier(classes=[0, 1, 2], random_state=0)
    >>> actions, propensities = model.choose(X[:5])
    >>> model.update(X[:5], actions, actions == y[:5], propensities).t_
    5
    """

    _no_theorem = "Its theorem is for one exploration rate in all rounds, chosen with ‖U‖ known."
    scale_kernel = staticmethod(banditron_scale)
    gradient_kernel = staticmethod(banditron)

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
        self._exploration()

    def _distribution(self, theta, X):
        return mix_uniform(theta, self._rho(X))

    def _gradients(self, theta, codes, shares):
        rows = np.arange(len(codes))
        G = np.zeros_like(theta)
        G[rows, np.argmax(theta, axis=1)] = 1.0
        G[rows, codes] -= shares
        return G
