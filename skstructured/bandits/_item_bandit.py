"""The base of bandits whose actions have features: choices, updates, estimates."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from skstructured._base.validation import unchanged_on_error
from skstructured._learners.lock import learned_aside
from skstructured.bandits._item_rounds import (
    check_propensities,
    check_rewards,
    check_round_weights,
    rows_of,
)
from skstructured.bandits._item_state import ItemState
from skstructured.bandits._rounds import invert
from skstructured.extend._types import Floats, Ints, Seed


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
            drawn = [self._draw(Z[rows], rng) for rows in actions.rounds()]
        chosen = actions.items.offsets[:-1] + np.array([code for code, _ in drawn], dtype=np.intp)
        return actions.places[chosen], np.array([p for _, p in drawn])

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
            chosen, n = rows_of(given, actions), len(given.items)
            rewards = check_rewards(rewards, n)
            check_propensities(propensities, n)
            weight = check_round_weights(sample_weight, n)
            new._start_with(X)
        for i, rows in enumerate(given.rounds()):
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
            return actions.items.unstacked(self._ridge.means(Z))

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
        best = [rows.start + np.argmax(means[rows]) for rows in actions.rounds()]
        return actions.places[best]

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
            P = [self._probabilities(Z[rows]) for rows in actions.rounds()]
        return actions.items.unstacked(np.concatenate(P), hidden=0.0)

    def _draw(self, Z, rng):
        """The position of an action drawn from a round, and its propensity."""
        P = self._probabilities(Z)
        code = int(invert(P[None], rng.random_sample(1))[0])
        return code, float(P[code])

    def _learn(self, X, code, reward, weight):
        """Learn a round: the features of its actions, and the reward of the one at `code`."""
        self._ridge.count(X, weight)
        self._ridge.learn(self._ridge.ready(X[code : code + 1])[0], reward, weight)
