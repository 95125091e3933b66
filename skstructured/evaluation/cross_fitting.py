"""Rewards of all actions, estimated from the rewards of logged ones, out of fold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array

from skstructured._base.validation import check_integer
from skstructured.bandits._item_base import read_actions, rows_of
from skstructured.evaluation.off_policy import places_of, read_numbers


def cross_fitted_rewards(
    X: Any,
    actions: ArrayLike,
    rewards: ArrayLike,
    *,
    reward_model: BaseEstimator | None = None,
    n_splits: int = 5,
    qid: ArrayLike | None = None,
    available: Any = None,
    classes: ArrayLike | None = None,
) -> Any:
    """Estimate the rewards of all actions of logged rounds, each by models of the other rounds.

    The rounds are split into n_splits parts, in their order. For each part a regressor learns the
    rewards of the other parts, and predicts for all actions of the part: no estimate depends on the
    reward of its own round, as doubly robust estimates need it.

    Parameters
    ----------
    X : list of n matrices (m, p), array of shape (n, m, p), or of (N, p) with `qid`, or (n, p)
        Features of the actions of every round; with `classes` features of the rounds, (n, p), for
        which every class has a regressor of its own.
    actions : array-like of shape (n,)
        Places of the logged actions in their rounds, hidden ones counted; labels with `classes`.
    rewards : array-like of shape (n,)
        What they earned.
    reward_model : estimator or None, default=None
        A regressor of scikit-learn; None is ridge regression on standardised features.
    n_splits : int, default=5
        Parts, 2 or more.
    qid, available : array-like or None, default=None
        As in ``choose`` of `skstructured.bandits.LinUCB`.
    classes : array-like of shape (K,) or None, default=None
        Labels of the actions, where they have no features.

    Returns
    -------
    list of n arrays (m,), with `qid` ndarray of shape (N,), with `classes` of shape (n, K)
        Estimated rewards, NaN for hidden actions. A class that was never played in the other parts
        gets the mean of their rewards.

    Raises
    ------
    ValueError
        For rounds that are none, actions that are none, rewards that are not finite, and fewer
        rounds than parts.

    Examples
    --------
    >>> import numpy as np
    >>> from skstructured.evaluation import cross_fitted_rewards
    >>> rng = np.random.RandomState(0)
    >>> offers, actions = rng.normal(size=(100, 3, 2)), rng.randint(3, size=100)
    >>> rewards = offers[np.arange(100), actions] @ [1.0, -1.0] + rng.normal(size=100)
    >>> estimates = cross_fitted_rewards(offers, actions, rewards)
    >>> len(estimates), estimates[0].shape
    (100, (3,))
    """
    check_integer("n_splits", n_splits, lowest=2)
    model = reward_model or make_pipeline(StandardScaler(), Ridge())
    if classes is not None:
        return _of_classes(X, actions, rewards, np.asarray(classes), model, n_splits)
    return _of_items(X, (qid, available), actions, rewards, model, n_splits)


def _of_items(X, given, actions, rewards, model, n_splits):
    items = read_actions(X, *given)
    n, Z, at = len(items), check_array(items.values, dtype=np.float64), rows_of(items, actions)
    y = read_numbers("rewards", rewards, n)
    found, of_round = np.empty(len(Z)), np.repeat(np.arange(n), items.lengths)
    for learned, held in _parts(n, n_splits):
        rows = np.isin(of_round, held)
        found[rows] = _predicted(model, Z[at[learned]], y[learned], Z[rows])
    return items.unstacked(found)


def _of_classes(X, actions, rewards, classes, model, n_splits):
    X = check_array(X, dtype=np.float64)
    n, K = len(X), len(classes)
    codes = places_of(actions, np.full(n, K), classes)
    y, found = read_numbers("rewards", rewards, n), np.empty((n, K))
    for learned, held in _parts(n, n_splits):
        for k in range(K):
            rows = learned[codes[learned] == k]
            none = np.full(len(held), y[learned].mean())
            found[held, k] = _predicted(model, X[rows], y[rows], X[held]) if len(rows) else none
    return found


def _parts(n, n_splits):
    """Rounds that are learned and rounds that are held out, for each part."""
    if n < n_splits:
        raise ValueError(f"n_splits={n_splits} must be at most the number of rounds, {n}.")
    return KFold(n_splits).split(np.empty(n))


def _predicted(model, X, y, Z):
    return np.asarray(clone(model).fit(X, y).predict(Z), dtype=np.float64)
