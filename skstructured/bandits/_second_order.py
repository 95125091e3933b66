"""The base of second-order bandits: dense rows, exploration, the longest row, simulation."""

import math
from abc import abstractmethod

import numpy as np

from skstructured._base.validation import check_share
from skstructured._engine.rows import LONGEST, Rows
from skstructured._learners.classifier import with_intercept
from skstructured._learners.lock import learned_aside
from skstructured._learners.progress import with_progress
from skstructured._learners.second_order import LONGEST_OF_UNIT
from skstructured._learners.weights import LinearWeights
from skstructured.bandits._base import BanditClassifier
from skstructured.bandits._rounds import invert

#: Rounds simulated at a time.
BLOCK = 64


class SecondOrderBandit(LinearWeights, BanditClassifier):
    """Bandit learners with dense weights W (K, p [+ 1]) and matrices over them.

    Rows z are learned as `standardize` says, the row of a round counted before it is played.
    """

    @abstractmethod
    def _learn_at(self, Z, codes, rewards, propensities):
        """Learn rounds whose rows are ready; as `_learn_rows`."""

    @property
    def longest_row(self) -> float:
        """The longest row whose square leaves digits of the regularization; `check_finite`."""
        return min(LONGEST, self._regularization_root() * LONGEST_OF_UNIT)

    def _regularization_root(self):
        """The norm of rows that weigh as much as the regularization."""
        return math.inf

    def _counted(self, X):
        """Rows z, which count from now on."""
        return with_intercept(self._scale.apply(Rows.from_array(X))[0].matrix, self._intercept)

    def _next(self, X):
        """Rows z of the next rounds; nothing is changed."""
        scale = self._scale.copy()
        return with_intercept(scale.apply(Rows.from_array(X))[0].matrix, self._intercept)

    def _scores_at(self, Z):
        """Scores (n, K) of rows z."""
        return Z @ self._W.T

    def _thetas(self, X):
        return self._scores_at(self._next(X))

    def _scores(self, X):
        """Scores of new rows, which do not count."""
        rows = Rows.from_array(self._fitted_rows(X))
        with self.lock:
            ready = self._scale.transformed(rows).matrix
            return self._scores_at(with_intercept(ready, self._intercept))

    def _learn_rows(self, X, codes, rewards, propensities):
        self._learn_at(self._counted(X), codes, rewards, propensities)

    def _simulate(self, rows, codes):
        n, X = len(codes), rows.X
        actions, propensities = np.empty(n, dtype=np.intp), np.empty(n)
        for start in with_progress(self, range(0, n, BLOCK), n):
            block = range(start, min(start + BLOCK, n))
            with self.lock, learned_aside(self, draws=True) as twin:
                Z = twin._counted(X[block.start : block.stop])
                uniforms = twin.random_state_.random_sample((len(block), self.draws))
                for i, z, u in zip(block, Z, uniforms, strict=True):
                    actions[i], propensities[i] = twin._round(z, codes[i], u)
                    twin._count(actions[i : i + 1], codes[i : i + 1])
        return actions, propensities

    def _round(self, z, truth, uniforms):
        """Play and learn one row; the position of the action, and its propensity."""
        Z = z[None]
        P = self._distribution(self._scores_at(Z), Z)
        code = invert(P, uniforms[:1])
        propensity = P[0, code]
        self._learn_at(Z, code, (code == truth).astype(np.float64), propensity)
        return code[0], propensity[0]

    def _rho(self):
        """ρ as given, or ``min(½, √(K/T))``."""
        if self.exploration is not None:
            return float(self.exploration)
        rounds = self.horizon or self.t_ + 1
        return min(0.5, np.sqrt(len(self.classes_) / rounds))

    def _check_parameters(self):
        super()._check_parameters()
        given = getattr(self, "exploration", None)
        if given is not None:
            check_share("exploration", given)

    def _weights(self):
        if not hasattr(self, "classes_"):
            raise AttributeError("coef_ and intercept_ are set by the first round.")
        with self.lock:
            return self._scale.fold(self._W.copy())
