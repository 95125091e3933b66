"""The base of all bandit learners: choices, updates, simulation, replay."""

import warnings
from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state

from skstructured._base.exceptions import GuaranteeWarning
from skstructured._base.validation import (
    check_integer,
    dtype_of,
    own_arrays,
    unchanged_on_error,
)
from skstructured._learners.classifier import ClassScores
from skstructured._learners.lock import learned_aside
from skstructured._learners.progress import is_verbose
from skstructured._learners.scaling import scale_of
from skstructured.bandits._own_choices import OwnChoices
from skstructured.bandits._rounds import BanditRounds, check_feedback, invert
from skstructured.bandits._stream import BanditStream
from skstructured.extend._types import Array, Features, Floats, Given, Outputs, Seed
from skstructured.spaces import Simplex

#: A horizon is a number of rounds, which float64 counts up to here.
LONGEST_HORIZON = 2**53


class BanditClassifier(ClassScores, BanditStream, OwnChoices, ClassifierMixin, BaseEstimator):
    """Base of the bandit learners; parameters `classes`, `fit_intercept` and `random_state`.

    A subclass sets up its weights in `_setup`, scores in `_thetas`, plays `_distribution`, and
    learns in `_learn_rows`. Batches are scored, and learned, with the weights before them.
    """

    #: Uniform numbers a simulated round draws.
    draws = 1
    #: Whether rewards between 0 and 1 are allowed, or only 0 and 1.
    fractional_rewards = False

    @abstractmethod
    def _setup(self, K, width):
        """Zero weights for K classes and rows of `width` features, the intercept included."""

    @abstractmethod
    def _distribution(self, theta, X):
        """Probabilities (n, K) of playing each class, given the scores of checked rows."""

    @abstractmethod
    def _learn_rows(self, X, codes, rewards, propensities):
        """Learn checked rounds; `codes` are positions of the actions in `classes_`."""

    def choose(self, X: Features, random_state: Seed = None) -> tuple[Array, Floats]:
        """Choose a class for every row, before anything about it is known.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features. Rows of one call are chosen with the same weights.
        random_state : int, RandomState instance or None, default=None
            None goes on with the learner's own generator.

        Returns
        -------
        actions : ndarray of shape (n,)
            Labels.
        propensities : ndarray of shape (n,)
            The probabilities with which they were chosen; hand them back to `update`.

        Raises
        ------
        ValueError
            Before the first round, if the classes are not known.
        """
        X = self._started(X)
        with self.lock:
            theta = self._thetas(X)
            rng = self.random_state_ if random_state is None else check_random_state(random_state)
            P = self._distribution(theta, X)
        codes = invert(P, rng.random_sample(len(P)))
        return self.classes_[codes], self._propensities_of(X, codes, P, random_state)

    def update(
        self, X: Features, actions: ArrayLike, rewards: ArrayLike, propensities: ArrayLike
    ) -> Self:
        """Learn from the rewards of actions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features.
        actions : array-like of shape (n,)
            Labels that were chosen, by `choose` or by whoever logged the data.
        rewards : array-like of shape (n,)
            1 where the action was right, else 0; learners with `fractional_rewards` take any number
            in [0, 1].
        propensities : array-like of shape (n,)
            Probabilities in (0, 1] with which the actions were chosen.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Naming the row, for actions that are not among the classes, propensities outside (0, 1]
            and rewards that are not allowed; the fitted state is then unchanged.
        """
        first = not hasattr(self, "classes_")
        with unchanged_on_error(self, first) as new:
            X = new._rows(X).X
            new._start_with(None)
            codes, rewards, propensities = new._check_feedback(
                X.shape[0], actions, rewards, propensities
            )
        with self.lock, learned_aside(self, self.draws > 1) as twin:
            twin._account(X, codes, propensities)
            twin._learn_rows(X, codes, rewards, propensities)
            twin.t_ += X.shape[0]
        self._check_horizon()
        return self

    def fit(self, X: Features, y: Outputs) -> Self:
        """Start anew and simulate one pass of bandit feedback over labelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features.
        y : array-like of shape (n,)
            True labels: only whether they equal the class chosen reaches the learner.

        Returns
        -------
        self
        """
        self._fit(X, y)
        self._check_horizon()
        return self

    def _fit(self, X, y, **given):
        with unchanged_on_error(self, aside=True) as new:
            rows = new._rows(X, reset=True)
            new._start(Simplex().fit(y))
            new._simulate(rows, new._check_labels(rows, y), **given)

    def partial_fit(self, X: Features, y: Outputs, classes: Given = None) -> Self:
        """Simulate bandit feedback over labelled rows, one round each, in order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features.
        y : array-like of shape (n,)
            True labels: only whether they equal the class chosen reaches the learner.
        classes : array-like or None, default=None
            All labels; needed on the first call where the constructor was not told.

        Returns
        -------
        self
        """
        self.simulate(X, y, classes)
        return self

    def simulate(self, X: Features, y: Outputs, classes: Given = None) -> BanditRounds:
        """`partial_fit`, returning what was chosen and earned as `BanditRounds`."""
        rounds = self._simulate_labels(X, y, classes)
        self._check_horizon()
        return rounds

    def _simulate_labels(self, X, y, classes, **given):
        first = not hasattr(self, "classes_")
        with unchanged_on_error(self, first) as new:
            is_verbose(self)
            rows = new._rows(X)
            new._start_with(classes)
            if classes is not None:
                new.space_.check_classes(classes)
            codes = new._check_labels(rows, y)
        self._await(None)
        actions, propensities = self._simulate(rows, codes, **given)
        rewards = (actions == codes).astype(np.float64)
        return BanditRounds(self.classes_[actions], propensities, rewards)

    def replay(
        self, X: Features, actions: ArrayLike, rewards: ArrayLike, propensities: ArrayLike
    ) -> Floats:
        """Learn from logged rounds, one by one, and estimate what the learner would have earned.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Rows of the log.
        actions, rewards, propensities : array-like of shape (n,)
            Labels that were chosen, what they earned, and the probabilities with which they were
            chosen: one round of `update` each, which raises its errors.

        Returns
        -------
        ndarray of shape (n,)
            ``reward · π_t(action)/propensity``, π_t the learner's distribution before the round:
            an unbiased estimate of the reward of its own choice there (inverse propensity scores),
            if the logging policy could have chosen every class; where all propensities are 1 it
            could not, and a GuaranteeWarning says so.
        """
        first = not hasattr(self, "classes_")
        with unchanged_on_error(self, first) as new:
            X = new._rows(X).X
            new._start_with(None)
            checked = new._check_feedback(X.shape[0], actions, rewards, propensities)
        if len(checked[2]) and len(self.classes_) > 1 and np.all(checked[2] == 1.0):
            warnings.warn(
                "All propensities are 1: such a log has nothing to say of other choices than its "
                "own, and the mean of these numbers is no estimate.",
                GuaranteeWarning,
                stacklevel=3,
            )
        estimates, labels = np.empty(X.shape[0]), np.asarray(actions)
        for i, (code, reward, propensity) in enumerate(zip(*checked, strict=True)):
            x = X[i : i + 1]
            pi = self._distribution(self._thetas(x), x)[0, code]
            estimates[i] = reward * pi / propensity
            self.update(x, labels[i : i + 1], [reward], [propensity])
        return estimates

    def decoding_proba(self, X: Features) -> Floats:
        """Exact probabilities (n, K) with which `choose` plays each class."""
        with self.lock:
            X = self._fitted_rows(X)
            return self._distribution(self._thetas(X), X)

    def _started(self, X):
        """Checked rows, of a learner that has begun."""
        first = not hasattr(self, "classes_")
        with unchanged_on_error(self, first) as new:
            X = new._rows(X).X
            new._start_with(None)
        return X

    def _start_with(self, classes):
        """Start the first round with the classes given here or to the constructor."""
        if hasattr(self, "classes_"):
            own_arrays(self)
            return
        classes = self.classes if classes is None else classes
        if classes is None:
            raise ValueError(
                "the classes must be known before the first round: give classes=[…] to "
                f"{type(self).__name__}, or to the first partial_fit."
            )
        self._start(Simplex().fit(classes))

    def _start(self, space):
        if self.classes is not None:
            space = Simplex().fit(self.classes)
        self._check_parameters()
        self.space_, self.classes_ = space, space.classes_
        self.random_state_ = check_random_state(self.random_state)
        self.t_, self.n_mistakes_, self._horizon_warned = 0, 0, False
        self._forget_choices()
        self._intercept = bool(self.fit_intercept)
        self._scale = scale_of(self, self.n_features_in_, self._intercept, dtype_of(self))
        self._setup(space.dim_, self._scale.columns + self._intercept)

    def _check_parameters(self):
        horizon = getattr(self, "horizon", None)
        if horizon is not None:
            check_integer("horizon", horizon, highest=LONGEST_HORIZON)

    def _check_feedback(self, n, actions, rewards, propensities):
        allowed = self.classes_, self.fractional_rewards
        actions, *numbers = check_feedback(n, actions, rewards, propensities, *allowed)
        return self.space_.pack(actions), *numbers

    def _check_horizon(self):
        horizon = getattr(self, "horizon", None)
        if horizon is not None and self.t_ > horizon and not self._horizon_warned:
            self._horizon_warned = True
            warnings.warn(
                f"{self.t_} rounds exceed horizon={horizon}: exploration and steps stay those for "
                "the horizon, and the regret bound does not cover the rounds beyond it.",
                GuaranteeWarning,
                stacklevel=4,
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.classifier_tags.poor_score = True  # a few rows of right or wrong teach little
        return tags
