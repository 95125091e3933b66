"""Linear scores, and what learners with a matrix of weights have in common."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from skstructured._engine.rounds import BLOCK
from skstructured._engine.rows import Rows
from skstructured._learners.lock import lock_of
from skstructured.extend._types import Array, Floats, Matrix
from skstructured.extend.learner import Batch, Comparison
from skstructured.extend.optimizer import OnlineOptimizer
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
        return self._weights()[:, : self.n_features_in_]

    @property
    def intercept_(self) -> Array:
        """Intercepts of shape (dim,); zeros where it was fitted without."""
        W = self._weights()
        place = self._scale.columns
        return W[:, place].copy() if self._intercept else np.zeros(len(W))

    @property
    def missing_coef_(self) -> Array:
        """What a missing feature adds to scores, (dim, n_features_in_); `missing="indicator"`."""
        W, width = self._weights(), self.n_features_in_
        if not self._scale.indicators:
            raise AttributeError('missing_coef_ is set by fits with missing="indicator".')
        return W[:, width : 2 * width]


class ExpertWeights:
    """Readings of a model whose state has `vectors`, `shares` and `sums`, and an `optimizer`."""

    state: Any
    optimizer: Any
    averaged: bool

    def shares(self, averaged: bool) -> Floats:
        """Weights (groups, R, N) of the experts: of all, or of those that are no averages.

        Not to be written to: of all they are those of the state.
        """
        if averaged or not self.averaged:
            return self.state.shares
        kept = np.array(self.state.shares)
        kept[:, :, len(self.state.vectors) :] = 0.0
        total = kept.sum(axis=(1, 2), keepdims=True)
        return kept / np.where(total > 0.0, total, 1.0)

    def expert_weights(self) -> Floats:
        """How much each expert counts: (N,), or (dim, N) where labels are mixed by themselves."""
        weights = self.state.shares.sum(axis=1)
        return weights if len(weights) > 1 else weights[0]

    def expert_losses(self) -> Floats:
        """Sums of the experts' surrogate losses, without the loss scale, (N,)."""
        return self.state.sums.copy()

    def expert_names(self) -> list[str]:
        """What the experts are called."""
        return self.optimizer.names(self.averaged)

    def _troubles(self) -> list[str]:
        """Sentences about what went wrong with each expert."""
        vectors = self.state.vectors
        found = [expert.check(vectors[i]) for i, expert in self._watched()]
        return [said for said in found if said is not None]

    def _watched(self) -> list[tuple[int, Any]]:
        """Experts in which something may go wrong, and their places."""
        usual = OnlineOptimizer.check
        experts = enumerate(self._experts())
        return [(i, expert) for i, expert in experts if type(expert).check is not usual]

    def _experts(self) -> list[Any]:
        """The optimisers that are mixed."""
        return self.optimizer.experts()


def of_experts(what: str, method: str) -> property:
    """Make the property that asks a learner's model of experts."""

    def get(self: Any) -> Any:
        model = getattr(self, "_model", None)
        if not isinstance(model, ExpertWeights):
            raise AttributeError('experts are set by partial_fit or fit with optimizer="mixture".')
        with lock_of(self):
            return getattr(model, method)()

    return property(get, doc=what)
