"""The base of bandits whose actions have features: choices, updates, estimates by ridge regression.

Rows come one by one, and features are standardized by all of them so far.
``A = λI + Σ w_t z_t z_tᵀ`` is kept as a triangle, ``A = RᵀR``, and ``Rᵀr = Σ w_t y_t z_t``. Rows z
are (1, standardized features). When means and standard deviations change, the earlier rows change
by an upper triangular matrix, z ← z N: the triangle of the data alone, times N, is again a
triangle. The regularization is rotated into a copy of it. Estimates are then those of all rows in
the current units, for any units and origins of the features. The 1 is not regularized, so the
origin of the rewards does not matter either.
"""

import math
from abc import abstractmethod
from dataclasses import KW_ONLY
from operator import attrgetter
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from skstructured._base.component import parameters
from skstructured._base.validation import (
    check_bool,
    check_finite,
    check_positive,
    check_weights,
    is_ready,
)
from skstructured._engine.compiled import kernel
from skstructured._engine.moments import DEVIATION, INVERSE, MEAN
from skstructured._engine.rows import Rows
from skstructured._engine.standardize import RunningScale
from skstructured._engine.state import State
from skstructured._learners.batch_scaling import scale_of
from skstructured._learners.lock import first_call, learning_aside, locked
from skstructured._learners.second_order import rotate_in, solve_transposed, solve_upper
from skstructured.bandits._base import check_entries, check_propensities, invert, refuse
from skstructured.extend._types import Floats, Given, Ints, Seed
from skstructured.items._reading import Items, read_items

#: Rewards are at most this in size: their squares are summed.
LARGEST_REWARD = 1e100


def read_rewards(rewards: Any, n: int) -> Floats:
    """n real numbers whose squares can be summed, as float64."""
    values = np.asarray(rewards)
    check_entries("rewards", values, n, what="number")
    if values.dtype.kind not in "biuf":
        raise ValueError(f"rewards must be real numbers, got an array of {values.dtype}.")
    numbers, largest = values.astype(np.float64), f"of size at most {LARGEST_REWARD:g}"
    refuse(~(np.abs(numbers) <= LARGEST_REWARD), numbers, "rewards", f"finite numbers {largest}")
    return numbers


def rows_of(items: Items, actions: Any) -> Ints:
    """Rows, among those available, of actions (n,): positions in their rounds, hidden ones counted.

    A ValueError names an action that is not a position in its round, or hidden.
    """
    places, lengths = np.asarray(actions), items.given_lengths
    check_entries("actions", places, len(items))
    if places.dtype.kind not in "iu":
        raise ValueError(
            "actions must be positions of actions in their rounds, integers from 0, got an array "
            f"of {places.dtype}."
        )
    outside = np.flatnonzero((places < 0) | (places >= lengths))
    if len(outside):
        i = int(outside[0])
        raise ValueError(
            f"actions must be positions from 0 to {lengths[i] - 1} in round {i}, which has "
            f"{lengths[i]} actions; round {i} has {places[i]}."
        )
    chosen = items.places_in_rounds == np.repeat(places, items.lengths)
    hidden = np.flatnonzero(items.sums(chosen) == 0)
    if len(hidden):
        i = int(hidden[0])
        raise ValueError(f"actions must be available: in round {i} action {places[i]} is hidden.")
    return np.flatnonzero(chosen)


@kernel
def learn_rows(R, r, rest, Z, targets, weight, scratch):
    """Add ``weight (target − <w, z>)²`` of rows z to least squares (R, r), of least rest[0].

    (R, r) is the triangle of ``A = RᵀR`` and its right side; see `rotate_in`.
    """
    root = math.sqrt(weight)
    for i in range(Z.shape[0]):
        for j in range(Z.shape[1]):
            scratch[j] = root * Z[i, j]
        left = rotate_in(R, r, scratch, root * targets[i])
        rest[0] += left * left


@kernel
def widths_of(R, Z, widths, scratch):
    """√(zᵀA⁻¹z) of every row of Z, A = RᵀR."""
    for i in range(Z.shape[0]):
        widths[i] = math.sqrt(solve_transposed(R, Z[i], scratch))


class RunningRidge(State):
    """Weights w that minimize ``λ‖w‖² + Σ w_t (y_t − <w, z_t>)²``.

    If rows are standardized, the weight of the 1 of the intercept is not part of ‖w‖.

    Parameters
    ----------
    scale : RunningScale
        The map from features to z.
    width : int
        Features p.
    intercept : bool
        Whether z begins with a 1.
    alpha : float
        λ > 0.

    Attributes
    ----------
    R, r, w : ndarray of shape (d, d), (d,) and (d,)
        The triangle, its right side, and the weights, d = p + intercept.
    weight : float
        Σ w_t.
    """

    def __init__(self, scale: RunningScale, width: int, intercept: bool, alpha: float) -> None:
        d = width + intercept
        self.scale, self.alpha, self.intercept = scale, alpha, intercept
        self.R, self.r, self.w = math.sqrt(alpha) * np.eye(d), np.zeros(d), np.zeros(d)
        self.weight, self.rest, self._scratch = 0.0, np.zeros(1), np.empty(d)
        self._data = (np.zeros((d, d)), np.zeros(d), np.zeros(1)) if scale.used else None
        self._free = int(intercept and scale.used)

    def ready(self, X: Floats) -> Floats:
        """Rows z (n, d) of X (n, p), by the current transformation."""
        Z: Any = self.scale.transformed(Rows.from_array(X)).matrix
        return np.hstack([np.ones((len(Z), 1)), Z]) if self.intercept else np.ascontiguousarray(Z)

    def means(self, Z: Floats) -> Floats:
        """Estimates (n,) of rows z, the same bits for a row alone and among others."""
        return (Z * self.w).sum(axis=1)

    def widths(self, Z: Floats) -> Floats:
        """√(zᵀA⁻¹z), (n,), of rows z."""
        found = np.empty(len(Z))
        widths_of(self.R, Z, found, np.empty(Z.shape[1]))
        return found

    @property
    def log_determinant(self) -> float:
        """ln det A − ln det λI, at least 0; of the features alone if they are standardized."""
        roots = np.diagonal(self.R)[self._free :] / math.sqrt(self.alpha)
        return 2.0 * float(np.log(roots).sum())

    @property
    def norm(self) -> float:
        """The norm ‖w‖ of the regularized weights."""
        return float(np.linalg.norm(self.w[self._free :]))

    @property
    def weights(self) -> Floats:
        """Weights (p [+ 1]) of features in their original units, the intercept last."""
        last = np.roll(self.w, -1) if self.intercept else self.w
        return self.scale.fold(last[None])[0]

    def learn(self, X: Floats, code: int, target: float, weight: float) -> None:
        """Learn a round: its rows X count in the scale, and the row at `code` has a target."""
        if self._data is not None:
            self._count(X, weight)
        learned = self.ready(X[code : code + 1]), np.array([target]), weight, self._scratch
        learn_rows(self.R, self.r, self.rest, *learned)
        if self._data is not None:
            learn_rows(*self._data, *learned)
            if self.weight == 0.0:  # before it, the intercept was regularized, to be solved for
                self._regularize()
        solve_upper(self.R, self.r, self.w)
        self.weight += weight

    def _count(self, X: Floats, weight: float) -> None:
        """Count rows X in the scale, and transform the rows learned so far by it."""
        mean, deviation, inverse = self.scale.statistics[[MEAN, DEVIATION, INVERSE]]
        self.scale.apply(Rows.from_array(X), None, np.full(len(X), weight))
        now = self.scale.statistics[[MEAN, DEVIATION, INVERSE]]
        if self.weight == 0.0 or np.array_equal([mean, deviation, inverse], now):
            return
        shift = (mean - now[0]) * now[2]
        D = self._data[0]  # type: ignore[index]  # there is one where rows are standardised
        D[:, self.intercept :] *= np.where(inverse > 0.0, deviation, 0.0) * now[2]
        if self.intercept:
            D[0, 1:] += D[0, 0] * shift
        self._regularize()

    def _regularize(self) -> None:
        """Make the triangle from that of the data."""
        self.R[:], self.r[:], self.rest[:] = self._data  # type: ignore[misc]
        unit = np.eye(len(self.r))[self._free :]
        rows = unit, np.zeros(len(unit)), self.alpha, self._scratch
        learn_rows(self.R, self.r, self.rest, *rows)


@parameters
class ItemBanditParameters:
    """Parameters that all of them share."""

    _: KW_ONLY
    noise_scale: float | None = None
    alpha: float = 1.0
    standardize: bool | Literal["auto", "moments"] = "auto"
    fit_intercept: bool = True


@locked
class ItemBandit(ItemBanditParameters, BaseEstimator):
    """Base of bandits whose actions have features; a subclass plays `_probabilities`."""

    @abstractmethod
    def _probabilities(self, Z: Floats) -> Floats:
        """Probabilities (m,) of the actions of a round, given their rows z."""

    def choose(
        self, X_actions: Any, qid: Given = None, *, available: Any = None, random_state: Seed = None
    ) -> tuple[Ints, Floats]:
        """Choose an action in every round, before any reward is known.

        Parameters
        ----------
        X_actions : list of n matrices (m, p), array of shape (n, m, p), or with `qid` of (N, p)
            Features of the actions of every round; rounds may have different numbers of actions.
            Those of one call are chosen with the same estimates.
        qid : array-like of shape (N,) or None, default=None
            Round of each row, in any order; rounds are ordered by the first row of each. None for
            one matrix per round.
        available : array-like of bool or None, default=None
            Which actions may be chosen, in the form of X_actions: one array (m,) per round, or (N,)
            with `qid`. Hidden ones are treated as if their rows were left out. None is all.
        random_state : int, RandomState instance or None, default=None
            None uses the learner's own generator.

        Returns
        -------
        actions : ndarray of shape (n,)
            Positions of the actions in their rounds, from 0, hidden ones counted.
        propensities : ndarray of shape (n,)
            The probabilities with which they were chosen.

        Raises
        ------
        ValueError
            If a round has no available action, if rows are not finite or have another width than
            before, or if a parameter is out of range; the state is then unchanged.
        """
        with first_call(self, "t_") as new:
            actions, X = new._read(X_actions, qid, available)
            new._start_with(X)
            own = getattr(new, "random_state_", None)  # if choices are drawn
            rng = check_random_state(own if random_state is None else random_state)
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
        propensities: Given = None,
        **given: Any,
    ) -> Self:
        """Restart, and learn from logged rounds by `update`.

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
        with self.turn, learning_aside(self) as new:
            vars(new).pop("t_", None)
            new.update(X_actions, actions, rewards, propensities, **given)
        return self

    def update(
        self,
        X_actions: Any,
        actions: ArrayLike,
        rewards: ArrayLike,
        propensities: Given = None,
        *,
        qid: Given = None,
        available: Any = None,
        sample_weight: Given = None,
    ) -> Self:
        """Learn from the rewards of actions, round by round.

        Parameters
        ----------
        X_actions : list of n matrices (m, p), array of shape (n, m, p), or with `qid` of (N, p)
            Features of the actions of every round, as passed to `choose`. All of them count in the
            means and standard deviations that standardize features; the reward is learned for the
            row of the action alone.
        actions : array-like of shape (n,)
            Positions of the actions that were played, by `choose` or by the policy of the log.
        rewards : array-like of shape (n,)
            Any real numbers.
        propensities : array-like of shape (n,) or None, default=None
            Probabilities of the actions. They are checked and not used: least squares do not need
            them if the reward is linear in the features.
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
            As `choose`, and if actions are not positions of available ones, rewards are not finite,
            or propensities are outside (0, 1]; the fitted state is then unchanged.
        """
        with self.turn:
            with first_call(self, "t_") as new:
                items, X = new._read(X_actions, qid, available)
                chosen, n = rows_of(items, actions), len(items)
                earned = read_rewards(rewards, n)
                if propensities is not None:
                    check_propensities(propensities, n)
                weight = check_weights(sample_weight, np.empty((n, 1)), n, stream=True)
                new._start_with(X)
            for i, rows in enumerate(items.rounds):
                if weight[i] > 0.0:
                    with self.lock, learning_aside(self, continues=True) as twin:
                        twin._learn(X[rows], chosen[i] - rows.start, earned[i], weight[i])
                        twin.t_ += 1
        return self

    def decision_function(self, X_actions: Any, qid: Given = None, *, available: Any = None) -> Any:
        """Estimate the rewards of all actions.

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

    def predict(self, X_actions: Any, qid: Given = None, *, available: Any = None) -> Ints:
        """Predict the action of the largest estimate in every round, the first of several.

        It does not explore.

        Parameters
        ----------
        X_actions, qid, available
            As in `choose`.

        Returns
        -------
        ndarray of shape (n,)
            Positions of the actions in their rounds.
        """
        with self.lock:
            actions, Z = self._fitted(X_actions, qid, available)
            means = self._ridge.means(Z)
        best = [rows.start + np.argmax(means[rows]) for rows in actions.rounds]
        return actions.places_in_rounds[best]

    def decoding_proba(self, X_actions: Any, qid: Given = None, *, available: Any = None) -> Any:
        """Compute the probabilities with which `choose` plays each action.

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

    @property
    def coef_(self) -> Floats:
        """Weights (p,) of features in their original units."""
        return self._weights()[: self.n_features_in_]

    @property
    def intercept_(self) -> float:
        """The estimated reward if all features are 0; 0 without an intercept."""
        weights = self._weights()
        return float(weights[-1]) if self._intercept else 0.0

    _scale = property(attrgetter("_ridge.scale"))

    def _weights(self):
        if not hasattr(self, "t_"):
            raise AttributeError("coef_ and intercept_ are set by the first round.")
        with self.lock:
            return self._ridge.weights

    def _noise(self):
        """R as given; or √(the least of the regularized squares/Σ w), and 1 if that is 0."""
        if self.noise_scale is not None:
            return float(self.noise_scale)
        least = float(self._ridge.rest[0])
        return np.sqrt(least / self._ridge.weight) if least > 0.0 else 1.0

    def _fitted(self, X_actions, qid, available) -> tuple[Items, Floats]:
        check_is_fitted(self, "t_")
        actions, X = self._read(X_actions, qid, available)
        return actions, self._ridge.ready(X)

    def _read(self, X_actions, qid, available) -> tuple[Items, Floats]:
        """The rounds, and the rows (N', p) of available actions, checked."""
        actions = read_items(X_actions, qid, available)
        fresh, X = not hasattr(self, "t_"), actions.values
        if fresh or not is_ready(self, X):
            wanted = {"dtype": np.float64, "order": "C", "ensure_all_finite": False}
            X = validate_data(self, X, reset=fresh, **wanted)
        check_finite(self, Rows.from_array(X), fresh)
        return actions, X

    def _start_with(self, X):
        self._check_parameters()
        if not hasattr(self, "t_"):
            self._start(X.shape[1])

    def _start(self, width):
        """Begin with no rounds of actions of `width` features."""
        self._intercept, self.t_ = bool(self.fit_intercept), 0
        scale = scale_of(self, width, self._intercept).without_edges()
        self._ridge = RunningRidge(scale, width, self._intercept, float(self.alpha))

    def _check_parameters(self):
        check_positive("alpha", self.alpha)
        check_bool("fit_intercept", self.fit_intercept)
        check_positive("noise_scale", self.noise_scale, 1.0)

    def _draw(self, Z, rng):
        """The position of an action drawn from a round, and its propensity."""
        P = self._probabilities(Z)
        code = int(invert(P[None], rng.random_sample(1))[0])
        return code, float(P[code])

    def _learn(self, X, code, reward, weight):
        """Learn a round: the features of its actions, and the reward of the one at `code`."""
        self._ridge.learn(X, code, reward, weight)
