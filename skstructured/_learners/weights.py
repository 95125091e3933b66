"""Linear scores, and what learners with a matrix of weights have in common."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from sklearn.utils.extmath import safe_sparse_dot

from skstructured._base.validation import dtype_of
from skstructured._engine.epoch import BLOCK
from skstructured._engine.rows import Rows
from skstructured._learners.models import Model
from skstructured.extend._types import Array, Floats, Matrix
from skstructured.extend.learner import Batch, Comparison
from skstructured.extend.output_space import OutputSpace


def linear_scores(W: Floats, X: Matrix) -> Floats:
    """Wx of every row of X (n, p), (n, dim); a column of W behind the p is an intercept.

    W is float64, and so are the scores: float32 rows are converted some at a time.
    """
    p = X.shape[1]
    theta = _products(X, W[:, :p].T)
    return theta + W[:, p] if W.shape[1] > p else theta


def _products(X: Matrix, V: Floats) -> Floats:
    """XV as a dense array, without a copy of X in another dtype as a whole."""
    if X.dtype == V.dtype:
        return X @ V if type(X) is np.ndarray else safe_sparse_dot(X, V, dense_output=True)
    products, size = np.empty((X.shape[0], V.shape[1])), Rows.from_array(X).block_size(BLOCK)
    for start in range(0, X.shape[0], size):
        part = X[start : start + size].astype(V.dtype)
        products[start : start + size] = safe_sparse_dot(part, V, dense_output=True)
    return products


def rounded(W: Floats, dtype: DTypeLike) -> Array:
    """Weights in another dtype; beyond the range of float32 its largest numbers."""
    if W.dtype == dtype:
        return W
    largest = np.finfo(dtype).max
    return np.clip(W, -largest, largest).astype(dtype)


class LinearWeights:
    """Learners with the matrix that `_weights()` returns in float64, the intercept last."""

    space_: OutputSpace
    n_features_in_: int
    _intercept: bool
    _weights: Callable[[], Floats]
    _scale: Any

    def comparison(self, rounds: Batch) -> Comparison:
        """What a comparator over these rounds is measured by; see `OnlineLearner.comparison`."""
        loss = getattr(self, "loss_", None)
        if loss is None:
            return super().comparison(rounds)  # type: ignore[misc]  # of the class that it is mixed into
        X, scale = rounds.X, self._scale
        if scale.used:
            X = scale.anew().apply(rounds.rows)[0].matrix
        return Comparison(loss, X, self.space_.unpack(rounds.packed), self._intercept)

    @property
    def coef_(self) -> Array:
        """Weights that predictions use, without the intercept, (dim, n_features_in_)."""
        return rounded(self._weights()[:, : self.n_features_in_], dtype_of(self))

    @property
    def intercept_(self) -> Array:
        """Intercepts of shape (dim,); zeros where it was fitted without."""
        W = self._weights()
        place = self._scale.columns
        intercept = W[:, place].copy() if self._intercept else np.zeros(len(W))
        return rounded(intercept, dtype_of(self))

    @property
    def missing_coef_(self) -> Array:
        """What a missing feature adds to scores, (dim, n_features_in_); `missing="indicator"`."""
        W, width = self._weights(), self.n_features_in_
        if not self._scale.indicators:
            raise AttributeError('missing_coef_ is set by fits with missing="indicator".')
        return rounded(W[:, width : 2 * width], dtype_of(self))


class ModelWeights(LinearWeights):
    """Those of a learner's `_model`: the last ones, and their average."""

    average: Any
    _model: Model
    _dtype: DTypeLike

    def _weights(self, averaged: bool | None = None) -> Floats:
        """The weights that predictions use, the last ones, or their average, in float64."""
        model = self._fitted_model("weights are")
        with model.lock:
            return model.weights(bool(self.average if averaged is None else averaged))

    @property
    def last_weights_(self) -> Array:
        """The last iterate W (dim, p [+ 1]), the intercept as the last column."""
        return rounded(self._weights(averaged=False), self._dtype)

    @property
    def average_weights_(self) -> Array:
        """The average of the weights played (dim, p [+ 1]); set if `average` was, in `fit`."""
        if not self._fitted_model("average_weights_ is").averaged:
            raise AttributeError("average_weights_ is set by fit or partial_fit with average.")
        return rounded(self._weights(averaged=True), self._dtype)

    def _fitted_model(self, what: str) -> Model:
        if not hasattr(self, "_model"):
            raise AttributeError(f"{what} set by fit or partial_fit.")
        return self._model

    _state = property(lambda self: self._fitted_model("weights are").state)
    _scale = property(lambda self: self._fitted_model("weights are").scale)
