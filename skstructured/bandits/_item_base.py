"""The base of bandits whose actions have features: choices, updates, estimates."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from skstructured._base.validation import (
    check_bool,
    check_finite,
    check_positive,
    check_weights,
    is_ready,
    unchanged_on_error,
)
from skstructured._engine.rows import Rows
from skstructured._engine.standardize import RunningScale
from skstructured._learners.batch_scaling import scale_of
from skstructured._learners.lock import Locked, learned_aside
from skstructured.bandits._base import check_entries, check_propensities, invert, refuse
from skstructured.bandits._ridge import RunningRidge
from skstructured.extend._types import Floats, Ints, Seed
from skstructured.items._reading import Items, read_items

#: Rewards are at most this in size: their squares are summed.
LARGEST_REWARD = 1e100


def read_actions(X_actions: Any, qid: Any, available: Any) -> Items:
    """`Items` of one round or more."""
    actions = read_items(X_actions, qid, available)
    if len(actions) == 0:
        raise ValueError("X_actions must have one round or more, got none.")
    return actions


def rows_of(actions: Items, codes: Any) -> Ints:
    """Rows, among those available, of the actions at `codes` (n,), places in their rounds.

    A ValueError names the round whose place is none, or that of a hidden action.
    """
    given, n = np.asarray(codes), len(actions)
    check_entries("actions", given, n)
    if given.dtype.kind not in "iu":
        raise ValueError(
            f"actions must be places of actions in their rounds, integers from 0, got an array of "
            f"{given.dtype}."
        )
    outside = (given < 0) | (given >= actions.given_lengths)
    if outside.any():
        i = int(np.flatnonzero(outside)[0])
        length = actions.given_lengths[i]
        raise ValueError(
            f"actions must be places from 0 to {length - 1} in round {i}, which has {length} "
            f"actions; got {given[i]}."
        )
    chosen = actions.places_in_rounds == np.repeat(given, actions.lengths)
    found = actions.sums(chosen)
    if not found.all():
        i = int(np.flatnonzero(found == 0)[0])
        raise ValueError(f"actions must be available: in round {i} action {given[i]} is hidden.")
    return np.flatnonzero(chosen)


def check_rewards(rewards: Any, n: int) -> Floats:
    """Rewards (n,) as float64: finite numbers, whose squares are."""
    given = np.asarray(rewards)
    if given.dtype.kind not in "biuf":
        raise ValueError(f"rewards must be real numbers, got an array of {given.dtype}.")
    given = given.astype(np.float64)
    check_entries("rewards", given, n)
    wrong = ~(np.abs(given) <= LARGEST_REWARD)
    refuse(wrong, given, "rewards", f"finite numbers of size at most {LARGEST_REWARD:g}")
    return given


class ItemState(Locked, BaseEstimator):
    """Ridge regression on the features of actions; what `ItemBandit` chooses by."""

    lam: float
    noise_scale: float | None
    standardize: bool | Literal["auto"]
    fit_intercept: bool

    #: Whether choices are drawn.
    randomized: ClassVar[bool] = True

    @property
    def coef_(self) -> Floats:
        """Weights (p,) of features in their own units."""
        return self._weights()[: self.n_features_in_]

    @property
    def intercept_(self) -> float:
        """The estimated reward where all features are 0; 0 without an intercept."""
        weights = self._weights()
        return float(weights[-1]) if self._intercept else 0.0

    @property
    def noise_scale_(self) -> float:
        """R: as given, or learned."""
        check_is_fitted(self, "t_")
        return self._noise()

    @property
    def _scale(self) -> RunningScale:
        return self._ridge.scale

    def _weights(self):
        if not hasattr(self, "t_"):
            raise AttributeError("coef_ and intercept_ are set by the first round.")
        with self.lock:
            return self._ridge.weights

    def _noise(self):
        """R as given; or √(the least of the regularized squares/Σ w), and 1 where that is 0."""
        if self.noise_scale is not None:
            return float(self.noise_scale)
        ridge = self._ridge
        return np.sqrt(ridge.loss / ridge.weight) if ridge.loss > 0.0 else 1.0

    def _fitted(self, X_actions, qid, available) -> tuple[Items, Floats]:
        check_is_fitted(self, "t_")
        actions, X = self._read(X_actions, qid, available)
        return actions, self._ridge.ready(X)

    def _read(self, X_actions, qid, available) -> tuple[Items, Floats]:
        """The rounds, and the rows (N', p) of available actions, checked."""
        actions = read_actions(X_actions, qid, available)
        fresh, X = not hasattr(self, "t_"), actions.values
        if fresh or not is_ready(self, X):
            wanted = {"dtype": np.float64, "order": "C", "ensure_all_finite": False}
            X = validate_data(self, X, reset=fresh, **wanted)
        check_finite(self, Rows.from_array(X), fresh)
        return actions, X

    def _start_with(self, X):
        self._check_parameters()
        if hasattr(self, "t_"):
            return
        self._intercept = bool(self.fit_intercept)
        scale = scale_of(self, X.shape[1], self._intercept)
        self._ridge = RunningRidge(scale, X.shape[1], self._intercept, float(self.lam))
        if self.randomized:
            self.random_state_ = check_random_state(self.random_state)
        self.t_ = 0

    def _check_parameters(self):
        check_positive("lam", self.lam)
        check_bool("fit_intercept", self.fit_intercept)
        if self.noise_scale is not None:
            check_positive("noise_scale", self.noise_scale)


class ItemBandit(ItemState):
    """Base of bandits whose actions have features; a subclass plays `_probabilities`.

    Rewards are estimated by ridge regression on the features of the actions that were played;
    parameters `lam`, `noise_scale`, `standardize` and `fit_intercept`.
    """

    @abstractmethod
    def _probabilities(self, Z: Floats) -> Floats:
        """Probabilities (m,) of the actions of a round, given their rows z."""

    def choose(
        self,
        X_actions: Any,
        qid: ArrayLike | None = None,
        *,
        available: Any = None,
        random_state: Seed = None,
    ) -> tuple[Ints, Floats]:
        """Choose an action in every round, before any reward is known.

        Parameters
        ----------
        X_actions : list of n matrices (m, p), array of shape (n, m, p), or with `qid` of (N, p)
            Features of the actions of every round; rounds may have different numbers of actions.
            Those of one call are chosen with the same estimates.
        qid : array-like of shape (N,) or None, default=None
            Round of each row, in any order; rounds count from the first row of each. None for one
            matrix per round.
        available : array-like of bool or None, default=None
            Which actions may be chosen, in the form of X_actions: one array (m,) per round, or (N,)
            with `qid`. Hidden ones are as if their rows were left out. None is all.
        random_state : int, RandomState instance or None, default=None
            None goes on with the learner's own generator.

        Returns
        -------
        actions : ndarray of shape (n,)
            Places of the actions in their rounds, from 0, hidden ones counted.
        propensities : ndarray of shape (n,)
            The probabilities with which they were chosen.

        Raises
        ------
        ValueError
            For rounds without an available action, rows that are not finite or of another width
            than before, and parameters out of range; the state is then unchanged.
        """
        with unchanged_on_error(self, not hasattr(self, "t_")) as new:
            actions, X = new._read(X_actions, qid, available)
            new._start_with(X)
            own = random_state is None and self.randomized
            rng = new.random_state_ if own else check_random_state(random_state)
        with self.lock:
            Z = self._ridge.ready(X)
            drawn = [self._draw(Z[rows], rng) for rows in actions.rounds]
        chosen = actions.offsets[:-1] + np.array([code for code, _ in drawn], dtype=np.intp)
        return actions.places_in_rounds[chosen], np.array([p for _, p in drawn])

    def fit(
        self,
        X_actions: Any,
        actions: ArrayLike,
        rewards: ArrayLike,
        propensities: ArrayLike | None = None,
        **given: Any,
    ) -> Self:
        """Start anew, and learn from logged rounds: `update` with nothing learned before.

        Parameters
        ----------
        X_actions, actions, rewards, propensities
            As in `update`.
        **given
            `qid`, `available` and `sample_weight`, as in `update`.

        Returns
        -------
        self
        """
        with unchanged_on_error(self, aside=True) as new:
            if hasattr(new, "t_"):
                del new.t_
            new.update(X_actions, actions, rewards, propensities, **given)
        return self

    def update(
        self,
        X_actions: Any,
        actions: ArrayLike,
        rewards: ArrayLike,
        propensities: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        available: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from the rewards of actions, round by round.

        Parameters
        ----------
        X_actions : list of n matrices (m, p), array of shape (n, m, p), or with `qid` of (N, p)
            Features of the actions of every round, as `choose` had them. All of them count in the
            means and deviations that features are standardised by; the reward is learned at the
            row of the action alone.
        actions : array-like of shape (n,)
            Places of the actions that were played, by `choose` or by whoever logged the data.
        rewards : array-like of shape (n,)
            Any real numbers.
        propensities : array-like of shape (n,) or None, default=None
            Probabilities of the actions. They are checked and not used: least squares need none
            where the reward is linear in the features.
        qid, available : array-like or None, default=None
            As in `choose`.
        sample_weight : array-like of shape (n,) or None, default=None
            Weights of rounds: 2 is the round twice, 0 leaves it out. None is 1.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As `choose`, and for actions that are no places of available ones, rewards that are not
            finite and propensities outside (0, 1]; the fitted state is then unchanged.
        """
        with unchanged_on_error(self, not hasattr(self, "t_")) as new:
            given, X = new._read(X_actions, qid, available)
            chosen, n = rows_of(given, actions), len(given)
            rewards = check_rewards(rewards, n)
            if propensities is not None:
                check_propensities(propensities, n)
            weight = check_weights(sample_weight, np.empty((n, 1)), n, stream=True)
            new._start_with(X)
        for i, rows in enumerate(given.rounds):
            if weight[i] > 0.0:
                with self.lock, learned_aside(self) as twin:
                    twin._learn(X[rows], chosen[i] - rows.start, rewards[i], weight[i])
                    twin.t_ += 1
        return self

    def decision_function(
        self, X_actions: Any, qid: ArrayLike | None = None, *, available: Any = None
    ) -> Any:
        """Estimated rewards of all actions.

        Parameters
        ----------
        X_actions, qid, available
            As in `choose`.

        Returns
        -------
        list of n arrays (m,), or with `qid` ndarray of shape (N,)
            Estimates in the form of X_actions; NaN for hidden actions.
        """
        with self.lock:
            actions, Z = self._fitted(X_actions, qid, available)
            return actions.unstacked(self._ridge.means(Z))

    def predict(
        self, X_actions: Any, qid: ArrayLike | None = None, *, available: Any = None
    ) -> Ints:
        """The action of the largest estimate in every round, the first of several; no exploration.

        Parameters
        ----------
        X_actions, qid, available
            As in `choose`.

        Returns
        -------
        ndarray of shape (n,)
            Places of the actions in their rounds.
        """
        with self.lock:
            actions, Z = self._fitted(X_actions, qid, available)
            means = self._ridge.means(Z)
        best = [rows.start + np.argmax(means[rows]) for rows in actions.rounds]
        return actions.places_in_rounds[best]

    def decoding_proba(
        self, X_actions: Any, qid: ArrayLike | None = None, *, available: Any = None
    ) -> Any:
        """Probabilities with which `choose` plays each action.

        Parameters
        ----------
        X_actions, qid, available
            As in `choose`.

        Returns
        -------
        list of n arrays (m,), or with `qid` ndarray of shape (N,)
            Probabilities in the form of X_actions, of sum 1 in each round; 0 for hidden actions.
        """
        with self.lock:
            actions, Z = self._fitted(X_actions, qid, available)
            P = [self._probabilities(Z[rows]) for rows in actions.rounds]
        return actions.unstacked(np.concatenate(P), hidden=0.0)

    def _draw(self, Z, rng):
        """The position of an action drawn from a round, and its propensity."""
        P = self._probabilities(Z)
        code = int(invert(P[None], rng.random_sample(1))[0])
        return code, float(P[code])

    def _learn(self, X, code, reward, weight):
        """Learn a round: the features of its actions, and the reward of the one at `code`."""
        self._ridge.count(X, weight)
        self._ridge.learn(self._ridge.ready(X[code : code + 1])[0], reward, weight)
