"""Bandit feedback for any online learner with class probabilities."""

from copy import deepcopy
from operator import attrgetter

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from skstructured._base.component import Seed, inherit_parameters, parameters
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_nonnegative
from skstructured.bandits._base import BanditClassifier, BanditModel, mix_softmax
from skstructured.bandits._first_order import BanditGaptronClassifier
from skstructured.estimators.logistic.folklore import FolkloreClassifier
from skstructured.extend._types import Features, Floats
from skstructured.spaces.simplex import log_softmax


class TaughtModel(BanditModel):
    """A learner with class probabilities, and how many rounds it was taught."""

    dense, block = False, 1

    def __init__(self, classes, estimator):
        self.classes, self.estimator, self.count = classes, estimator, 0

    def scores(self, X):
        """Log-probabilities of the learner; uniform before it has learned anything.

        Also uniform if they are NaN, as those of `GaussianNB` are after few rows.
        """
        if self.count == 0:
            return np.zeros((X.shape[0], len(self.classes)))
        return np.log(np.fmax(self.estimator.predict_proba(X), 1e-300))

    def distribution(self, theta, X, rho):
        """See `BanditModel`."""
        return mix_softmax(theta, rho)

    def learn(self, X, codes, rewards, propensities, coins, rho):
        """Teach the rows of rewarded rounds that explored."""
        explored = coins[:, 0] * propensities * len(self.classes) < rho
        taught = np.flatnonzero(explored & (rewards == 1.0))
        if len(taught):
            estimator = deepcopy(self.estimator)  # an interruption leaves the one that was there
            y = self.classes[codes[taught]]
            estimator.partial_fit(X[taught], y, classes=self.classes)
            self.estimator, self.count = estimator, self.count + len(taught)


_Taught = TaughtModel  # the name in older saved objects


@inherit_parameters(BanditGaptronClassifier)
@parameters
class BanditReduction(BanditClassifier):
    r"""Train any classifier that has ``partial_fit`` on bandit feedback, by uniform exploration.

    With probability ρ the choice is uniform and, if rewarded, the wrapped learner learns (x, y);
    otherwise it is drawn from the learner's probabilities. With a learner of regret R(T) for the
    log loss, ``ρ = min(1, √(K R(T)/T))`` and T rounds, the expected mistakes are at most
    ``min_U Σ ℓ_t(U) + 2√(K T R(T))``.

    Parameters
    ----------
    estimator : estimator or None, default=None
        A classifier with ``partial_fit(X, y, classes=…)`` and ``predict_proba``. None is
        ``FolkloreClassifier(radius=max(1, radius), decoder="sampled")``, whose regret for the
        log loss grows like log T.
    exploration : float or None, default=None
        The exploration rate ρ. None computes it from the ``certificate()`` of the wrapped learner,
        for comparators of norm `radius`. A learner that has no bound raises an error before the
        first round (for example `PiSTOL` with its defaults, whose theorem needs a ≥ 2.25 and a
        `feature_norm`).
    radius : float, default=1.0
        Norm ‖U‖_F ≥ 0 of the comparators for which the regret R is computed.
    horizon : int or None, default=None
        Number T of rounds. None uses the number of the round.
    {BanditGaptronClassifier: classes, verbose, random_state}

    Attributes
    ----------
    estimator_ : estimator
        The learner that was taught.
    n_taught_ : int
        Rounds it has learned.
    {BanditGaptronClassifier: classes_, t_, n_mistakes_, n_features_in_, feature_names_in_}

    Raises
    ------
    ValueError
        At the first round, if a parameter is out of its range, or if without `exploration` the
        estimator has no regret bound; also at the round in which its bound ends.

    See Also
    --------
    BanditGaptronClassifier, SOBAClassifier, ConfiditClassifier : Bandits of one model.
    FolkloreClassifier : The default estimator.

    Notes
    -----
    A rewarded round only teaches if it explored. The action of a batch or of logged data counts as
    explored with the posterior probability ρ/(K p'), by a random draw.

    References
    ----------
    Agarwal, Kale, Zimmert (2022), "Efficient methods for online multiclass logistic regression",
    Algorithm 2 and Theorem 4.1 (whose printed bound lacks the 2).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import BanditReduction
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BanditReduction(exploration=0.1, classes=[0, 1, 2], random_state=0)
    >>> actions, propensities = model.choose(X[:5])
    >>> model.update(X[:5], actions, actions == y[:5], propensities).t_
    5
    """

    draws = 2
    fit_intercept = False

    estimator: BaseEstimator | None = None
    exploration: float | None = None
    radius: float = 1.0
    horizon: int | None = None
    classes: ArrayLike | None = None
    verbose: bool | int = 0
    random_state: Seed = None

    estimator_ = property(attrgetter("model_.estimator"), doc="The learner that was taught.")
    n_taught_ = property(attrgetter("model_.count"), doc="Rounds it has learned.")

    def _check_parameters(self):
        super()._check_parameters()
        check_nonnegative("radius", self.radius)

    def _new_model(self, K, width):
        estimator = self.estimator
        if estimator is None:
            estimator = FolkloreClassifier(radius=max(1.0, self.radius), decoder="sampled")
        for method in ("partial_fit", "predict_proba"):
            if not hasattr(estimator, method):
                raise ValueError(f"estimator must have {method}, got {estimator!r}.")
        if self.exploration is None:
            self._check_certified(clone(estimator))
        return TaughtModel(self.classes_, clone(estimator))

    def _check_certified(self, unfitted):
        """Teach the estimator a row of zeros, to see whether it has a regret bound."""
        if hasattr(unfitted, "certificate"):
            zeros = np.zeros((1, self.n_features_in_))
            unfitted.partial_fit(zeros, self.classes_[:1], classes=self.classes_)
        self._regret_of(unfitted)

    def _regret_of(self, estimator):
        try:
            return estimator.certificate().bound(0.0, self.radius)
        except (AttributeError, GuaranteeError) as error:
            raise ValueError(
                "exploration must be given, because the wrapped estimator has no regret bound "
                f"({error})."
            ) from error

    def _rho(self):
        if self.exploration is not None:
            return float(self.exploration)
        if self.n_taught_ == 0:
            return 1.0
        regret = self._regret_of(self.estimator_)
        rounds = self.horizon or self.t_ + 1
        return float(min(1.0, np.sqrt(len(self.classes_) * regret / rounds)))

    def predict_proba(self, X: Features) -> Floats:
        """Probabilities (n, K) of the wrapped learner."""
        return mix_softmax(self._scores(X), 0.0)

    def predict_log_proba(self, X: Features) -> Floats:
        """Logarithms (n, K) of `predict_proba`, by the wrapped learner's method if it has one."""
        check_is_fitted(self, "classes_")
        batch = self._started(X)
        with self.lock:
            if self.n_taught_ > 0 and hasattr(self.estimator_, "predict_log_proba"):
                log_proba = self.estimator_.predict_log_proba(batch.X)
                return np.where(np.isnan(log_proba), -np.log(len(self.classes_)), log_proba)
            return log_softmax(self._thetas(batch))
