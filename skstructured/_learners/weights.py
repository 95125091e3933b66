"""Linear scores, and what learners with a matrix of weights have in common."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight
from sklearn.utils.extmath import safe_sparse_dot

from skstructured._base.validation import (
    check_positive_sum,
    check_range_of_weights,
    floats_of,
    is_builtin,
)
from skstructured._engine.rounds import LOOP_BLOCK
from skstructured._engine.rows import Rows
from skstructured.extend._types import Array, Floats, Matrix
from skstructured.extend.learner import Batch


def linear_scores(W: Floats, X: Matrix) -> Floats:
    """Wx of every row of X (n, p), (n, dim); a column of W behind the p is an intercept.

    W is float64, and so are the scores: float32 rows are converted some at a time.
    """
    p = X.shape[1]
    theta = dense_product(X, W[:, :p].T)
    return theta + W[:, p] if W.shape[1] > p else theta


def with_intercept(X: Matrix, intercept: bool) -> Array:
    """Rows as a C-contiguous dense array, a constant 1 appended if there is an intercept."""
    X = np.asarray(X.todense()) if hasattr(X, "todense") else X
    return np.hstack([X, np.ones((len(X), 1))]) if intercept else np.ascontiguousarray(X)


def dense_product(X: Matrix, V: Floats) -> Floats:
    """XV as a dense array, without a copy of X in another dtype as a whole."""
    if X.dtype == V.dtype:
        return X @ V if type(X) is np.ndarray else safe_sparse_dot(X, V, dense_output=True)
    products, size = np.empty((X.shape[0], V.shape[1])), Rows.from_array(X).block_size(LOOP_BLOCK)
    for start in range(0, X.shape[0], size):
        chunk = X[start : start + size].astype(V.dtype)
        products[start : start + size] = safe_sparse_dot(chunk, V, dense_output=True)
    return products


def coefficients(self: Any) -> Array:
    """Weights that predictions use, without the intercept, (dim, n_features_in_)."""
    return self._weights()[:, : self.n_features_in_]


def intercepts(self: Any) -> Array:
    """Intercepts of shape (dim,); zeros if it was fitted without."""
    W = self._weights()
    return W[:, self._scale.columns].copy() if self.fit_intercept_ else np.zeros(len(W))


def missing_coefficients(self: Any) -> Array:
    """What a missing feature adds to scores, (dim, n_features_in_); `missing="indicator"`."""
    W, width = self._weights(), self.n_features_in_
    if not self._scale.indicators:
        raise AttributeError('missing_coef_ is only set with missing="indicator".')
    return W[:, width : 2 * width]


def of_experts(what: str, method: str) -> property:
    """Make the property that asks a learner's model of experts."""

    def get(self: Any) -> Any:
        model = getattr(self, "model_", None)
        if not getattr(model, "mixes", False):
            raise AttributeError('Experts are set by partial_fit or fit with optimizer="mixture".')
        with self.lock:
            return getattr(model, method)()

    return property(get, doc=what)


def of_kernels(name: str, what: str, read: Callable[[Any, bool], Any]) -> property:
    """Make the property that reads a learner's model of kernels, given whether it averages."""

    def get(self: Any) -> Any:
        model = self._fitted_model(f"{name} is")
        if model.without_kernels:
            raise AttributeError(f"{name} is not available with {model.without_kernels}.")
        with self.lock:
            return read(model, bool(self.average))

    return property(get, doc=what)


dual_coef_ = of_kernels(
    "dual_coef_",
    "Coefficients (dim, n_support) that predictions use; set by `fit` or `partial_fit`.",
    lambda model, averaged: model.coefficients(averaged),
)
support_vectors_ = of_kernels(
    "support_vectors_",
    "Rows (n_support, p) as they were transformed; set by `fit` or `partial_fit`.",
    lambda model, _: model.support_vectors(),
)
support_ = of_kernels(
    "support_",
    "Indices (n_support,) of the support rows; set by `fit` or `partial_fit`.",
    lambda model, _: model.expansion.index,
)

expert_weights_ = of_experts(
    "Weights of the experts of a mixture in the next prediction.", "expert_weights"
)
expert_losses_ = of_experts("Sums of the experts' losses.", "expert_losses")
expert_names_ = of_experts("Names of the experts.", "expert_names")


def with_class_weights(learner: Any, rounds: Batch, stream: bool) -> Batch:
    """Rounds whose weights are multiplied by those of their classes."""
    check_class_weight(learner, stream)
    weight = rounds.weights * class_weights(learner, rounds)
    name = "sample_weight times class_weight"
    if not stream:
        check_positive_sum(name, weight)
    return rounds._replace(weight=check_range_of_weights(name, weight))


def class_weights(learner: Any, rounds: Batch) -> Floats:
    """The `class_weight` of rounds (n,), whichever classes are among them."""
    space, class_weight, packed = learner.space_, learner.class_weight, rounds.packed
    labels = space.classes_[packed] if is_builtin(space) else space.decode(space.unpack(packed))
    if isinstance(class_weight, str):
        return compute_sample_weight(class_weight, labels, indices=rounds.learned)
    each = zip(space.classes_, weight_of_each_class(learner), strict=True)
    return compute_sample_weight(dict(each), labels)


def weighs_classes(learner: Any) -> bool:
    """Whether the weight of a round depends on its class."""
    has_class_weight = getattr(learner, "class_weight", None) is not None
    return has_class_weight and bool(np.ptp(weight_of_each_class(learner)) > 0.0)


def weight_of_each_class(learner: Any) -> Floats:
    """Weights in the order of ``classes_``; a ValueError for labels that are not in it."""
    classes = learner.space_.classes_
    return compute_class_weight(learner.class_weight, classes=classes, y=classes)


def check_class_weight(learner: Any, stream: bool) -> None:
    """A ValueError for a `class_weight` that is invalid, or not supported by the learner."""
    class_weight = learner.class_weight
    is_balanced = isinstance(class_weight, str) and class_weight == "balanced"
    if not (isinstance(class_weight, dict) or is_balanced):
        raise ValueError(f'class_weight must be a dict, "balanced" or None, got {class_weight!r}.')
    if isinstance(class_weight, dict):
        floats_of("class_weight", [*class_weight.values()])
    if learner.space_.task != "multiclass":
        name = type(learner.space_).__name__
        raise ValueError(f"class_weight is only supported for classes; got the space {name}.")
    if stream and isinstance(class_weight, str):
        raise ValueError(
            f"class_weight={class_weight!r} is only supported by fit, which sees all rows. For "
            "partial_fit and progressive_validate give a dict of weights."
        )
