"""Linear scores, and what learners with a matrix of weights have in common."""

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from skstructured.learner import Comparison


def linear_scores(W, X):
    """Wx of every row of X (n, p), (n, dim); a column of W behind the p is an intercept."""
    p = X.shape[1]
    theta = safe_sparse_dot(X, W[:, :p].T, dense_output=True)
    return theta + W[:, p] if W.shape[1] > p else theta


class LinearWeights:
    """Learners with the matrix that `_weights()` returns, the intercept last."""

    def comparison(self, rounds):
        """What a comparator over these rounds is measured by; see `OnlineLearner.comparison`."""
        loss = getattr(self, "loss_", None)
        if loss is None:
            return super().comparison(rounds)
        return Comparison(loss, rounds.X, self.space_.unpack(rounds.packed), self._intercept)

    @property
    def coef_(self):
        """Weights that predictions use, without the intercept, (dim, n_features_in_)."""
        return self._weights()[:, : self.n_features_in_]

    @property
    def intercept_(self):
        """Intercepts of shape (dim,); zeros where it was fitted without."""
        W = self._weights()
        return W[:, -1].copy() if W.shape[1] > self.n_features_in_ else np.zeros(len(W))
