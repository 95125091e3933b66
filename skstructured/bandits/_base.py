"""The base of all bandit learners: choices, updates, simulation, replay."""

import warnings
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY
from numbers import Integral
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skstructured._base.component import parameters
from skstructured._base.exceptions import GuaranteeWarning
from skstructured._base.validation import check_integer, check_share, own_arrays, raise_bad_row
from skstructured._engine.rows import Rows
from skstructured._engine.standardize import RunningScale
from skstructured._engine.state import State
from skstructured._learners.batch_scaling import scale_of
from skstructured._learners.lock import first_call, learning_aside
from skstructured._learners.online import OnlineEstimator
from skstructured._learners.passes import is_verbose, with_progress
from skstructured._learners.weights import with_intercept
from skstructured.extend._types import Array, Features, Floats, Given, Ints, Matrix, Outputs, Seed
from skstructured.extend.learner import Batch, Losses
from skstructured.spaces import Simplex


class BanditRounds(NamedTuple):
    """The rounds of a simulated bandit.

    Attributes
    ----------
    actions : ndarray of shape (n,)
        Labels chosen.
    propensities : ndarray of shape (n,)
        Probabilities with which they were chosen.
    rewards : ndarray of shape (n,)
        1 if the choice was the true label, else 0.

    See Also
    --------
    BanditClassifier : Makes them by `simulate`.
    """

    actions: np.ndarray
    propensities: np.ndarray
    rewards: np.ndarray


def invert(P, uniforms):
    """Positions (n,) drawn from the rows of P (n, K) by inversion."""
    return np.minimum((np.cumsum(P, axis=1) <= uniforms[:, None]).sum(axis=1), P.shape[1] - 1)


def mix_uniform(theta, share):
    """``(1 − share) e_{y*} + share/K`` for every row; share (n,) or a number."""
    P = np.empty(theta.shape)
    P[:] = (np.asarray(share) / theta.shape[1]).reshape(-1, 1)
    P[np.arange(len(P)), np.argmax(theta, axis=1)] += 1.0 - np.asarray(share)
    return P


def mix_softmax(theta, share, alpha=1.0):
    """``(1 − share) softmax(αθ) + share/K`` for every row."""
    p = np.exp(alpha * (theta - theta.max(axis=1, keepdims=True)))
    return (1.0 - share) * (p / p.sum(axis=1, keepdims=True)) + share / theta.shape[1]


def fingerprint(X, codes, propensities):
    """Identifies a round: the row's non-zeros, the action and its propensity."""
    sparse = hasattr(X, "indptr")
    columns, values = (X.indices, X.data) if sparse else (np.arange(X.shape[1]), X[0])
    is_nonzero = values != 0.0
    row = columns[is_nonzero].astype(np.int64).tobytes(), values[is_nonzero].tobytes()
    return *row, int(codes[0]), float(propensities[0])


class BanditModel(State, ABC):
    """The state of a bandit: weights W (K, width), or `scores`, a `distribution`, and updates.

    Batches are scored, and learned, with the weights before them.
    """

    W: Floats
    scale: RunningScale
    n_rounds, scores_ahead = 0, False

    #: Whether rows are dense, with the 1 of the intercept.
    dense = True
    #: Rounds simulated at a time.
    block = 64
    #: Whether ``simulate`` plays and learns blocks in a compiled loop.
    compiled = False

    def scores(self, Z: Matrix) -> Floats:
        """Scores (n, K) of rows that are played next."""
        return Z @ self.W.T

    def predicted(self, Z: Matrix) -> Floats:
        """Scores (n, K) of rows that are not played."""
        return self.scores(Z)

    @abstractmethod
    def distribution(self, theta: Floats, Z: Matrix, rho: float) -> Floats:
        """Probabilities (n, K) of playing each class, given scores and the exploration ρ."""

    @abstractmethod
    def learn(
        self, Z: Any, codes: Ints, rewards: Floats, propensities: Floats, coins: Floats, rho: float
    ) -> None:
        """Learn rounds of rows z; `codes` are the positions of the actions."""

    def weights(self, averaged: bool) -> Floats:
        """W for rows that are not standardized."""
        return self.scale.fold(self.W.copy())

    def check(self, learner: Any, batch: Batch, stream: bool) -> None:
        """No rounds are refused."""

    def block_size(self, learner: "BanditClassifier", rows: Rows) -> int:
        """How many rounds are simulated at a time."""
        return self.block

    def round(self, z: Matrix, truth: int, uniforms: Floats, rho: float) -> Any:
        """Play and learn a transformed row; the position of the action, and its propensity."""
        P = self.distribution(self.scores(z), z, rho)
        code = invert(P, uniforms[:1])
        right, propensity = (code == truth).astype(np.float64), P[0, code]
        self.learn(z, code, right, propensity, uniforms[None, 1:], rho)
        return code[0], propensity[0]


@parameters
class BanditParameters:
    """Parameters that most of them share, behind those of each."""

    _: KW_ONLY
    classes: Given = None
    standardize: bool | Literal["auto", "moments"] = "auto"
    missing: Literal["mean", "indicator", "error"] = "mean"
    fit_intercept: bool = True
    verbose: bool | int = 0
    random_state: Seed = None


class BanditClassifier(ClassifierMixin, OnlineEstimator):
    """Learn classes from the rewards of choices; the base class of bandit classifiers.

    It has the parameters `classes`, `fit_intercept` and `random_state`. A subclass makes its
    `BanditModel` in `_new_model`.

    See Also
    --------
    ConfiditClassifier, SOBAClassifier, BanditGaptronClassifier : Classifiers of this kind.
    """

    #: Uniform numbers a simulated round draws.
    draws = 1
    #: Whether rewards between 0 and 1 are allowed, or only 0 and 1.
    fractional_rewards = False
    shuffle = False

    exploration: float | None = None
    horizon: int | None = None

    @abstractmethod
    def _new_model(self, K, width):
        """The model for K classes and rows of `width` features, the intercept included."""

    def new_model(self) -> BanditModel:
        """Return a model that has learned nothing; see `OnlineEstimator`."""
        scale = scale_of(self, self.n_features_in_, self.fit_intercept_)
        model = self._new_model(self.space_.dim_, scale.columns + self.fit_intercept_)
        model.scale = scale
        return model

    def _rho(self):
        """ρ as given, or ``min(½, √(K/T))``."""
        if self.exploration is not None:
            return float(self.exploration)
        return min(0.5, np.sqrt(len(self.classes_) / (self.horizon or self.t_ + 1)))

    def _ready(self, X, scale):
        """Checked rows, transformed as for playing and learning; they count in `scale`."""
        return self._formed(scale.apply(Rows.from_array(X))[0])

    def _formed(self, rows):
        """Transformed rows, in the form that the model needs."""
        return (
            with_intercept(rows.matrix, self.fit_intercept_) if self.model_.dense else rows.matrix
        )

    def _thetas(self, batch):
        with self.lock:
            return self.model_.predicted(self._formed(self._scale.transformed(batch.rows)))

    def _played(self, X):
        """Scores of checked rows in the next round, and the probabilities of each class."""
        Z = self._ready(X, self._scale.copy())
        theta = self.model_.scores(Z)
        return theta, self.model_.distribution(theta, Z, self._rho())

    def choose(self, X: Features, random_state: Seed = None) -> tuple[Array, Floats]:
        """Choose a class for every row, before anything about it is known.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features. Rows of one call are chosen with the same weights.
        random_state : int, RandomState instance or None, default=None
            None uses the learner's own generator.

        Returns
        -------
        actions : ndarray of shape (n,)
            Labels.
        propensities : ndarray of shape (n,)
            Probabilities with which they were chosen; pass them to `update`.

        Raises
        ------
        ValueError
            Before the first round, if the classes are not known.
        """
        X, *_ = self._choices(X)
        with self.lock:
            rng = self.random_state_ if random_state is None else check_random_state(random_state)
            _, P = self._played(X)
        codes = invert(P, rng.random_sample(len(P)))
        propensities = P[np.arange(len(P)), codes]
        seeded = isinstance(random_state, Integral)  # it draws the same number again and again
        covered = len(P) == 1 and not seeded
        self._await(fingerprint(X, codes, propensities) if covered else "not a covered choice")
        return self.classes_[codes], propensities

    def update(
        self, X: Features, actions: ArrayLike, rewards: ArrayLike, propensities: ArrayLike
    ) -> Self:
        """Learn from the rewards of actions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features.
        actions : array-like of shape (n,)
            Labels that were chosen, by `choose` or by the policy of the log.
        rewards : array-like of shape (n,)
            1 if the action was right, else 0; learners with `fractional_rewards` accept any number
            in [0, 1].
        propensities : array-like of shape (n,)
            Probabilities in (0, 1] with which the actions were chosen.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an action is not among the classes, a propensity is outside (0, 1], or a reward is
            not allowed; the message names the row, and the fitted state is unchanged.
        """
        with self.turn:
            X, *checked = self._choices(X, actions, rewards, propensities)
            with self.lock, learning_aside(self, True, draws=self.draws > 1) as twin:
                twin._account(X, checked[0], checked[2])
                model, size = twin.model_, (X.shape[0], self.draws - 1)
                coins = twin.random_state_.random_sample(size)
                model.learn(twin._ready(X, model.scale), *checked, coins, twin._rho())
                model.n_rounds += X.shape[0]
        self._warn_diagnostics()
        return self

    def fit(self, X: Features, y: Outputs) -> Self:  # type: ignore[override]  # without weights
        """Restart and simulate one pass (epoch) of bandit feedback over labeled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features.
        y : array-like of shape (n,)
            True labels; the learner only sees whether they equal the class chosen.

        Returns
        -------
        self
        """
        return super().fit(X, y)

    def partial_fit(self, X: Features, y: Outputs, classes: Given = None) -> Self:  # type: ignore[override]
        """Simulate bandit feedback over labeled rows, one round each, in order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features.
        y : array-like of shape (n,)
            True labels; the learner only sees whether they equal the class chosen.
        classes : array-like or None, default=None
            All labels; needed on the first call, unless they are a parameter of the learner.

        Returns
        -------
        self
        """
        self.simulate(X, y, classes)
        return self

    def simulate(self, X: Features, y: Outputs, classes: Given = None) -> BanditRounds:
        """`partial_fit`, returning the choices and their rewards as `BanditRounds`."""
        with self.turn:
            with first_call(self, "classes_") as new:
                is_verbose(self)
                batch = new._started(X, classes)
                if classes is not None:
                    new.space_.check_classes(classes)
                batch = new._with_outputs(batch, y)
            self._await(None)
            actions, propensities = self._simulate(batch, np.arange(batch.n_rounds))
        rewards = (actions == batch.packed).astype(np.float64)
        self._warn_diagnostics()
        return BanditRounds(self.classes_[actions], propensities, rewards)

    def decoding_proba(self, X: Features) -> Floats:
        """Exact probabilities (n, K) with which `choose` plays each class."""
        check_is_fitted(self, "classes_")
        X = self._started(X).X
        with self.lock:
            return self._played(X)[1]

    def play(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """The `Losses` of choices drawn with the current weights; no rows are learned."""
        codes, (theta, P) = rounds.packed[which], self._played(rounds.X[which])
        actions = invert(P, check_random_state(random_state).random_sample(len(P)))
        return self._losses(theta, P, actions, codes)

    def learn_blocks(self, batch, order, note=None, record=0):
        """Simulate rounds one by one, with the learner's own draws.

        Parameters
        ----------
        batch : Batch
            Rounds.
        order : ndarray of int
            Positions of the rounds to simulate.
        note, record
            Ignored: simulated rounds are not recorded.
        """
        self._simulate(batch, order)

    def play_and_learn(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """Simulate rounds; the `Losses` of the choices, drawn by the learner's own generator."""
        losses = []
        for i in np.asarray(which):
            x, code = rounds.X[i : i + 1], rounds.packed[i : i + 1]
            theta, P = self._played(x)
            actions, _ = self._simulate(rounds, np.array([i]))
            losses.append(self._losses(theta, P, actions, code))
        return Losses(*map(np.concatenate, zip(*losses, strict=True)))

    def _losses(self, theta, P, actions, codes):
        """`Losses` of actions drawn from the rows of P, given the scores."""
        target = (actions != codes).astype(np.float64)
        expected = 1.0 - P[np.arange(len(P)), codes]
        return Losses(target, np.clip(expected, 0.0, 1.0), self._surrogate(theta, codes))

    def _surrogate(self, theta, codes):
        """Surrogate losses of scores; NaN for learners that have no bound against one."""
        return np.full(len(theta), np.nan)

    def _simulate(self, batch, order):
        """Play and learn row by row; returns positions of the actions, and propensities."""
        n, size = len(order), self.model_.block_size(self, batch.rows)
        actions, propensities = np.empty(n, dtype=np.intp), np.empty(n)
        for start in with_progress(self, range(0, n, size), n):
            span = slice(start, start + size)
            block = order[span]
            with self.lock, learning_aside(self, True, draws=True) as twin:
                played = twin._play_block(batch.rows, block, batch.packed[block])
                actions[span], propensities[span], stopped = played
            if stopped >= 0:
                raise_bad_row(self, batch.X, block[stopped])
        return actions, propensities

    def _play_block(self, rows, block, codes):
        """Play and learn a block: codes of actions, propensities, the row that stopped it or −1."""
        model, played = self.model_, []
        uniforms = self.random_state_.random_sample((len(block), self.draws))
        if model.compiled:
            V = self.space_.unpack(codes)
            actions, propensities, stopped = model.simulate(rows, block, V, uniforms[:, 0])
            self._count((actions != codes)[: stopped if stopped >= 0 else len(block)])
            return actions, propensities, stopped
        Z = self._ready(rows.X[block], model.scale)
        for i, u in enumerate(uniforms):
            played.append(model.round(Z[i : i + 1], codes[i], u, self._rho()))
            self._count(played[i][0] != codes[i])
        return *zip(*played, strict=True), -1

    def _count(self, wrong):
        """Count rounds that were simulated; `wrong` marks the mistakes."""
        self.model_.n_rounds += np.size(wrong)
        self.n_mistakes_ += int(np.count_nonzero(wrong))

    # The proofs take every action as drawn with the weights it is learned with, whatever happened
    # before: so each must be a single row, chosen and learned before the next is played. None may
    # be left out: dropping good choices would leave only mistakes.

    def _await(self, choice):
        """Wait for the update of `choice`, or of none."""
        self._uncovered = self._uncovered or self._awaited is not None
        self._awaited = choice

    def _account(self, X, codes, propensities):
        """Record, before a round is learned, whether it is the choice waited for."""
        choice, self._awaited = self._awaited, None
        is_awaited = X.shape[0] == 1 and choice == fingerprint(X, codes, propensities)
        self._uncovered = self._uncovered or not is_awaited

    def _choices(self, X, *feedback):
        """Checked rows, of a learner that has started, and the result of `_check_feedback`."""
        with first_call(self, "classes_") as new:
            X = new._started(X).X
            checked = new._check_feedback(X.shape[0], *feedback) if feedback else ()
        return X, *checked

    def _started(self, X, classes=None):
        """The `Batch` of X; the first starts with classes given here or to the constructor."""
        fresh = not hasattr(self, "classes_")
        batch = self._read(X, reset=fresh)
        if not fresh:
            own_arrays(self)
            return batch
        classes = self.classes if classes is None else classes
        if classes is None:
            raise ValueError(
                "The classes must be known before the first round: set classes=[…] of "
                f"{type(self).__name__}, or pass classes to the first partial_fit."
            )
        self._start(Simplex().fit(classes))
        return batch

    def _start(self, space, passes=1):
        self._check_parameters()
        self.n_mistakes_, self._horizon_warned = 0, False
        self._awaited, self._uncovered = None, False
        super()._start(space if self.classes is None else Simplex().fit(self.classes))

    def _check_parameters(self):
        if self.horizon is not None:
            check_integer("horizon", self.horizon, highest=2**53)  # float64 counts up to it
        if self.exploration is not None:
            check_share("exploration", self.exploration)

    def _check_feedback(self, n, actions, rewards, propensities):
        """Codes of n actions, their rewards, 0 or 1 unless fractional, and propensities."""
        actions, rewards = np.asarray(actions), np.asarray(rewards, dtype=np.float64)
        propensities = np.asarray(propensities, dtype=np.float64)
        is_known, classes = np.isin(actions, self.classes_), self.classes_[:10].tolist()
        is_share = (propensities > 0.0) & (propensities <= 1.0)
        is_reward, allowed = np.isin(rewards, (0.0, 1.0)), "0 or 1 for this learner"
        if self.fractional_rewards:
            is_reward, allowed = (rewards >= 0.0) & (rewards <= 1.0), "in [0, 1]"
        for name, values, is_valid, needed in (
            ("actions", actions, is_known, f"one of the classes {classes}"),
            ("propensities", propensities, is_share, "in (0, 1]"),
            ("rewards", rewards, is_reward, allowed),
        ):
            if values.shape != (n,):
                raise ValueError(
                    f"{name} must have one entry for each of the {n} rows of X, got shape "
                    f"{values.shape}."
                )
            if not is_valid.all():
                row = int(np.argmin(is_valid))
                value = values[row : row + 1].tolist()[0]
                raise ValueError(f"{name} must be {needed}; row {row} has {value!r}.")
        return self.space_.pack(actions), rewards, propensities

    def _warn_diagnostics(self) -> None:
        """Warn once if the rounds exceed the horizon."""
        if self.horizon is not None and self.t_ > self.horizon and not self._horizon_warned:
            self._horizon_warned = True
            warnings.warn(
                f"{self.t_} rounds exceed horizon={self.horizon}: exploration and steps remain "
                "those for the horizon, and the regret bound does not cover the rounds beyond it.",
                GuaranteeWarning,
                stacklevel=4,
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.classifier_tags.poor_score = True  # a few rows of right or wrong teach little
        return tags
