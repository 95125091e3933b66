"""What the second-order bandits share: dense weights, exploration, the longest row."""

import math

import numpy as np

from skstructured._engine.rows import LONGEST
from skstructured._learners.classifier import with_intercept
from skstructured._learners.gates import settled
from skstructured._learners.second_order import LONGEST_OF_UNIT
from skstructured._learners.weights import LinearWeights
from skstructured._validation import check_share
from skstructured.bandits._base import BanditClassifier


class SecondOrderBandit(LinearWeights, BanditClassifier):
    """Bandit learners with dense weights W (K, p [+ 1]) and matrices over them."""

    @property
    def longest_row(self):
        """The longest row whose square leaves digits of the regularization; `check_finite`."""
        return min(LONGEST, self._regularization_root() * LONGEST_OF_UNIT)

    def _regularization_root(self):
        """The norm of rows that weigh as much as the regularization."""
        return math.inf

    def _setup(self, dim, width):
        self._W = np.zeros((dim, width))

    def _dense(self, X):
        return with_intercept(X, self._intercept)

    @settled
    def _thetas(self, X):
        return self._dense(X) @ self._W.T

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

    @settled
    def _weights(self):
        if not hasattr(self, "classes_"):
            raise AttributeError("weights are set by the first round.")
        return self._W.copy()
