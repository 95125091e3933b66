"""Linear scores, and `coef_` and `intercept_` of learners with a matrix of weights."""

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot


def linear_scores(W, X):
    """Wx of every row of X (n, p), (n, dim); a column of W behind the p is an intercept."""
    p = X.shape[1]
    theta = safe_sparse_dot(X, W[:, :p].T, dense_output=True)
    return theta + W[:, p] if W.shape[1] > p else theta


class LinearWeights:
    """`coef_` and `intercept_` of the matrix that `_weights()` returns, the intercept last."""

    @property
    def coef_(self):
        """Weights that predictions use, without the intercept, (dim, n_features_in_)."""
        return self._weights()[:, : self.n_features_in_]

    @property
    def intercept_(self):
        """Intercepts of shape (dim,); zeros where it was fitted without."""
        W = self._weights()
        return W[:, -1].copy() if W.shape[1] > self.n_features_in_ else np.zeros(len(W))
