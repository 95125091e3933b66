"""`coef_` and `intercept_` of learners with a matrix of weights."""

import numpy as np


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
