"""Online multiclass boosting: AdaBoost.OLM++."""

import math

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skstructured._engine.rows import Rows
from skstructured._validation import check_integer, check_positive
from skstructured.boosting._base import VotingLearner
from skstructured.boosting._correction import COST, EDGE, MISTAKES, POTENTIAL, new_numbers
from skstructured.boosting._rounds import advance, expert_shares
from skstructured.boosting._weak import weak_learners
from skstructured.exceptions import GuaranteeError

__all__ = ["AdaBoostOLMClassifier"]


class AdaBoostOLMClassifier(VotingLearner):
    def __init__(
        self, estimator=None, n_estimators=50, lam=1.0, shuffle=True, random_state=None
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.lam = lam
        self.shuffle = shuffle
        self.random_state = random_state

    def sample(self, X, random_state=None):
        """Labels (n,), each of an expert drawn with its `expert_weights_`: what rounds play."""
        votes = self._votes(self._fitted_rows(X))
        return self.space_.decode(self.space_.sample(votes, random_state))

    def predict_proba(self, X):
        """Softmax of the leading expert's logits: (n, K)."""
        return np.exp(self._scores(X))

    def predict_log_proba(self, X):
        """Log softmax of the leading expert's logits: (n, K)."""
        return self._scores(X)

    def staged_predict(self, X):
        """Labels (n,) by expert 1, then by expert 2, … and N."""
        for logits in self._chain(self._fitted_rows(X)):
            yield self.classes_[np.argmax(logits, axis=1)]

    def staged_predict_proba(self, X):
        """Probabilities (n, K) by expert 1, then by expert 2, … and N: softmax(s^i)."""
        for logits in self._chain(self._fitted_rows(X)):
            yield np.exp(logits)

    @property
    def estimators_(self):
        """Weak learners, in the order of the experts."""
        return self._weak_learners().estimators(self)

    @property
    def expert_weights_(self):
        """Probabilities (N,) with which the hedge draws an expert."""
        return self._shares()[0]

    @property
    def expert_mistakes_(self):
        """Mistakes (N,) of the experts in the rounds learned, by sample weight."""
        return self._column(MISTAKES)

    @property
    def leader_(self):
        """Place of the expert that `predict` follows."""
        return int(self._shares()[1])

    @property
    def edges_(self):
        """Edges γ_i (N,) of the weak learners in the rounds learned; 0 before the first."""
        cost = self._column(COST)
        return np.divide(self._column(EDGE), cost, np.zeros(len(cost)), where=cost > 0.0)

    @property
    def correction_regrets_(self):
        """Bounds (N,) of Σ ℓ(s^i) − min_α Σ ℓ(s^{i−1} + α e_l), |α| ≤ 2, over the rounds."""
        clipped = np.log1p(math.e**2 / np.maximum(np.arange(1, self._live + 1), 2.0) ** 2).sum()
        return 2.0 * self.lam + self._column(POTENTIAL) + clipped

    def certificate(self, delta=None):
        raise GuaranteeError(
            "AdaBoostOLMClassifier has no bound against linear comparators: its mistakes are at "
            "most O(1) times those of its best expert, whose own depend on the edges."
        )

    def _weak_learners(self):
        check_is_fitted(self, "classes_")
        return self._weak

    def _column(self, place):
        check_is_fitted(self, "classes_")
        return self._numbers[:, place].copy()

    def _shares(self):
        check_is_fitted(self, "classes_")
        shares = np.empty(len(self._numbers))
        return shares, expert_shares(self._numbers, shares)

    def _setup(self, K):
        check_integer("n_estimators", self.n_estimators)
        self._live, lam = 0, check_positive("lam", self.lam)
        self._weak = weak_learners(self.estimator, self.n_estimators, K, self)
        self._numbers = new_numbers(self.n_estimators, lam)

    def _learn_block(self, rows, order, codes, weight):
        votes, logs = np.empty((2, len(order), self.space_.dim_))
        given = (rows, order, codes, weight, self._live, self._numbers, votes, logs)
        self._live = self._weak.learn(*given)
        return votes, logs

    def _chain(self, X):
        rows, K = Rows.from_array(X), self.space_.dim_
        s, p = np.full((rows.n_rows, K), -math.log(K)), np.full((rows.n_rows, K), 1.0 / K)
        cap = math.log(max(self._live + 1.0, 2.0))
        for i, state in enumerate(self._numbers):
            advance(self._weak.answers(rows, i), cap, state, s, p)
            yield s.copy()

    def _played(self, X):
        shares, leader = self._shares()
        votes = np.zeros((X.shape[0], self.space_.dim_))
        for i, logits in enumerate(self._chain(X)):
            votes[np.arange(len(votes)), np.argmax(logits, axis=1)] += shares[i]
            logs = logits if i == leader else (None if i < leader else logs)
        return votes, logs

    def _votes(self, X):
        return self._played(X)[0]

    def _thetas(self, X):
        leader = self._shares()[1]
        return next(logits for i, logits in enumerate(self._chain(X)) if i == leader)
