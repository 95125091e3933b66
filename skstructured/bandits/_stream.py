"""Bandit learners as online learners: rounds played, and learned from their own choices."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skstructured._engine.rows import Rows
from skstructured._learners.lock import Locked, learned_aside
from skstructured._learners.progress import with_progress
from skstructured.bandits._rounds import invert
from skstructured.experts._binary import part_of
from skstructured.extend._types import Floats, Ints, Seed
from skstructured.extend.learner import Batch, Losses, OnlineLearner


class BanditStream(Locked, OnlineLearner):
    """The protocol for learners that see the reward of their own choice and nothing else.

    Needs what `BanditClassifier` has.
    """

    _thetas: Callable[[Any], Floats]
    _distribution: Callable[[Floats, Any], Floats]
    _check_horizon: Callable[[], None]

    def play(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """The `Losses` of choices drawn with the weights as they are; nothing is learned."""
        X, codes = rounds.X[which], rounds.packed[which]
        theta = self._thetas(X)
        P = self._distribution(theta, X)
        actions = invert(P, check_random_state(random_state).random_sample(len(P)))
        return self._losses(theta, P, actions, codes)

    def learn(self, rounds: Batch, which: Ints) -> None:
        """Simulate rounds one by one, in the order of `which`: the learner's own draws count."""
        self._simulate(Rows.from_array(rounds.X[which]), rounds.packed[which])

    def play_and_learn(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """Simulate rounds; the `Losses` of the choices, which the learner's own generator draws."""
        kept = []
        for i in np.asarray(which):
            x, code = rounds.X[i : i + 1], rounds.packed[i : i + 1]
            theta = self._thetas(x)
            P = self._distribution(theta, x)
            actions, _ = self._simulate(Rows.from_array(x), code)
            kept.append(self._losses(theta, P, actions, code))
        return Losses(*map(np.concatenate, zip(*kept, strict=True)))

    def expected_losses(self, x: Floats, V: Floats) -> Floats:
        """Expected mistakes (m,) of the next choice at x (1, p) against each vertex (m, K)."""
        check_is_fitted(self)
        return 1.0 - V @ self._distribution(self._thetas(x), x)[0]

    def _losses(self, theta, P, actions, codes):
        """`Losses` of actions drawn from the rows of P, given the scores."""
        target = (actions != codes).astype(np.float64)
        expected = 1.0 - P[np.arange(len(P)), codes]
        return Losses(target, np.clip(expected, 0.0, 1.0), self._surrogate(theta, codes))

    def _surrogate(self, theta, codes):
        """Surrogate losses of scores; NaN for learners that state no bound against one."""
        loss = getattr(self, "loss_", None)
        if loss is None:
            return np.full(len(theta), np.nan)
        return loss.mean_and_value(theta, self.space_.unpack(codes))[1]

    def warn_of_trouble(self) -> None:
        """Warn where the rounds exceed the horizon."""
        self._check_horizon()

    def _simulate(self, rows, codes, **given):
        """Play and learn row by row; returns positions of the actions, and propensities.

        `given` are metadata for who is wrapped, if any is.
        """
        X, n = rows.X, len(codes)
        actions, propensities = np.empty(n, dtype=np.intp), np.empty(n)
        for i in with_progress(self, range(n), n):
            x = X[i : i + 1]
            with self.lock, learned_aside(self, draws=True) as twin:
                uniforms = twin.random_state_.random_sample(self.draws)
                p = twin._distribution(twin._thetas(x), x)
                code = invert(p, uniforms[:1])
                actions[i], propensities[i] = code[0], p[0, code[0]]
                own, at = part_of(given, [i], n), propensities[i : i + 1]
                twin._learn_simulated(x, code, code == codes[i], at, uniforms, **own)
                twin._count(actions[i : i + 1], codes[i : i + 1])
        return actions, propensities

    def _count(self, actions, codes):
        """Count rounds that were simulated."""
        self.t_ += len(codes)
        self.n_mistakes_ += int(np.count_nonzero(actions != codes))

    def _learn_simulated(self, x, code, right, propensity, uniforms):
        self._learn_rows(x, code, right.astype(np.float64), propensity)
