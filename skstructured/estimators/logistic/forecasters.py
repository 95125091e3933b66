"""Forecasters that average over weights: Gaussian, and Vovk's over a ball."""

import math
from typing import Literal

import numpy as np

from skstructured._base.component import Seed, parameters
from skstructured._base.docstrings import documented
from skstructured._base.validation import check_integer, check_size
from skstructured.estimators.logistic._base import LogisticLearner
from skstructured.estimators.logistic._gaussian import GaussianMatrix
from skstructured.estimators.logistic._particles import Particles
from skstructured.estimators.logistic.folklore import FolkloreClassifier
from skstructured.extend.decoder import Decoder

__all__ = ["AggregatingForecaster", "GaussianAggregatingForecaster"]


@documented(FolkloreClassifier)
@parameters
class GaussianAggregatingForecaster(LogisticLearner):
    r"""Predicts the mean of softmax over a Gaussian of weights, as a Bayesian would.

    With A and G as in `FolkloreClassifier`, the weights are ``N(−½A⁻¹G, ½A⁻¹)``. A row x then has
    logits ``z ∼ N(m, S)``, and the prediction is ``E softmax(z)``:

    .. math:: m_k = -\tfrac12 ⟨x, (A^{-1}G)_k⟩, \quad S_{ij} = \tfrac12 x^⊤[A^{-1}]_{ij}x.

    After y, the loss is expanded at the z with ``z = m − S(softmax(z) − y)``. The mean is one
    integral for two classes, taken to 1e-10, and goes over 2048 points of Sobol's sequence, always
    the same, for more, or 256 of them where it is narrow: probabilities are then off by at most
    0.01 up to 26 classes, whatever B (by about 0.002 for three classes, and 0.005 for five).

    Parameters
    ----------
    B : float, default=1.0
        Bound on ‖U_k‖ of every class for which κ is made, in units of the standardised features.
        Smaller settles sooner, larger goes on following what changes.
    {FolkloreClassifier: R, lam, long_rows, iterate, decoder, standardize, fit_intercept, shuffle,
    verbose, random_state, missing}

    Attributes
    ----------
    {FolkloreClassifier: classes_, space_, loss_, t_, random_state_, n_features_in_,
    feature_names_in_}

    Raises
    ------
    {FolkloreClassifier: ValueError}

    Notes
    -----
    Memory: K(K−1)p² doubles. No bound is stated. Its paper's bound has no explicit constants,
    and κ is that of `FolkloreClassifier`.

    References
    ----------
    Jézéquel, Gaillard, Rudi (2021), "Mixability made efficient: fast online multiclass logistic
    regression".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import GaussianAggregatingForecaster
    >>> X, y = load_iris(return_X_y=True)
    >>> GaussianAggregatingForecaster(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    B: float = 1.0
    R: float | None = None
    lam: float | None = None
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
        B, reach = check_size("B", self.B), 0.0 if self.R is None else self.R
        numbers = np.array([2.0 * B, math.log(K - 1), reach])
        return GaussianMatrix(K, width, self._lam(), numbers)

    def _lam(self):
        B = check_size("B", self.B)
        theory = 1.5 / B if self.R is None else 2.0 * check_size("R", self.R) / B
        return check_size("lam", self.lam, theory)

    @property
    def longest_row(self) -> float:
        """The largest norm of a row that is taken as it is."""
        return 1e5 * math.sqrt(self._lam())

    _no_theorem = "Its paper's bound has no explicit constants."


@documented(FolkloreClassifier)
@parameters
class AggregatingForecaster(LogisticLearner):
    r"""Predicts the mean of softmax over a ball of weights, each counting by how well it predicted.

    Statistically the best there is, and for toy sizes only: the reference for the others. With
    the density ``∝ exp(−Σ ℓ_t(W))`` on ``{‖W_k‖ ≤ B}``, the prediction is its mean of
    ``softmax(Wx)``, by `n_particles` particles that are drawn anew and moved when few of them
    count, against all rows so far.

    Parameters
    ----------
    B : float, default=3.0
        Radius, in units of the standardised features.
    R : float or None, default=None
        Largest norm of a row as standardised, the intercept's 1 included. None needs none.
    {FolkloreClassifier: long_rows}
    n_particles : int, default=500
        Particles.
    n_moves : int, default=5
        Steps of a random walk when they are moved.
    max_weights : int, default=60
        The most weights Kp, the intercept's included, that are taken.
    {FolkloreClassifier: iterate, decoder, standardize, fit_intercept, shuffle, verbose,
    random_state, missing}
        It draws the particles too.

    Attributes
    ----------
    {FolkloreClassifier: classes_, space_, loss_, t_, random_state_, n_features_in_,
    feature_names_in_}

    Raises
    ------
    {FolkloreClassifier: ValueError}
        At the first call to learn, for more than `max_weights` weights; it says how much work
        they would be.

    Notes
    -----
    The rows are kept. With exact integrals the regret is at most
    ``5(K−1)p ln(BRT/((K−1)p) + e)``. No bound is stated: the theorem needs exact integrals, and
    particles approximate them.

    References
    ----------
    Foster, Kale, Luo, Mohri, Sridharan (2018), "Logistic regression: the importance of being
    improper", Theorem 3; Vovk (1998), "A game of prediction with expert advice".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import AggregatingForecaster
    >>> X, y = load_iris(return_X_y=True)
    >>> X = X[:, 2:]  # up to 60 weights in all: two features, three classes
    >>> AggregatingForecaster(n_particles=100, random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    B: float = 3.0
    R: float | None = None
    long_rows: Literal["refuse", "rescale"] = "refuse"
    n_particles: int = 500
    n_moves: int = 5
    max_weights: int = 60
    iterate: Literal["last", "random"] = "last"
    decoder: str | Decoder = "map"
    standardize: bool | Literal["auto"] = "auto"
    fit_intercept: bool = True
    shuffle: bool = True
    verbose: bool | int = 0
    random_state: Seed = None
    missing: Literal["mean", "indicator", "error"] = "mean"

    def _new_weights(self, K, width):
        for name in ("n_particles", "n_moves", "max_weights"):
            check_integer(name, getattr(self, name))
        if K * width > self.max_weights:
            cost = self.n_particles * self.n_moves * K * width
            raise ValueError(
                f"{K} classes and {width} features, the intercept included, are {K * width} "
                f"weights, more than max_weights={self.max_weights}: a renewal of the particles "
                f"would take {cost:,} products for every row so far. Use FolkloreClassifier."
            )
        seed = self.random_state_.randint(2**31 - 1)
        given = (check_size("B", self.B), self.n_particles, self.n_moves)
        return Particles(K, width, *given, np.random.RandomState(seed))

    _no_theorem = "The theorem needs exact integrals, and particles approximate them."
