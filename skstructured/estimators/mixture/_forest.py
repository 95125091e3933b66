"""Fitted trees as flat arrays of 32 bits, which have what predictions need and nothing else."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse

from skstructured._engine.compiled import kernel
from skstructured.extend._types import Array, Floats, Ints


class Forest(NamedTuple):
    """Nodes of all trees; those of a tree stand together, and a left child behind its parent.

    Attributes
    ----------
    roots : ndarray of shape (n_trees,)
        Places of the first nodes of trees.
    column : ndarray of shape (n_nodes,)
        The feature that is compared; negative for leaves.
    threshold : ndarray of shape (n_nodes,)
        Rows whose feature is not above it go left.
    right : ndarray of shape (n_nodes,)
        Place of the right child; for leaves that of the mean.
    missing_left : ndarray of shape (n_nodes,)
        Whether rows whose feature is missing go left.
    means : ndarray of shape (n_leaves, dim)
        Mean vertices of leaves.
    feature_importances_ : ndarray of shape (p,)
        Those of scikit-learn.
    """

    roots: Ints
    column: Ints
    threshold: Array
    right: Ints
    missing_left: Array
    means: Array
    feature_importances_: Floats

    @classmethod
    def of(cls, ensemble: Any) -> Self:
        """The trees of a fitted forest of scikit-learn."""
        trees = [tree.tree_ for tree in ensemble.estimators_]
        counts = [tree.node_count for tree in trees]
        roots = np.cumsum([0, *counts[:-1]])
        names = "feature", "threshold", "children_right", "missing_go_to_left", "value"
        column, threshold, right, missing_left, means = (
            np.concatenate([getattr(tree, name) for tree in trees]) for name in names
        )
        is_leaf = right < 0
        right = np.where(is_leaf, np.cumsum(is_leaf) - 1, right + np.repeat(roots, counts))
        return cls(
            roots,
            column.astype(np.int32),
            rounded_down(threshold),
            right.astype(np.int32),
            missing_left.astype(bool),
            means[is_leaf, :, 0].astype(np.float32),
            ensemble.feature_importances_,
        )

    def predictions(self, X: Any) -> Iterator[Array]:
        """Means (n, dim) of each tree for rows of 32 bits."""
        X = X.toarray() if issparse(X) else X
        return (self.means[leaves] for leaves in leaves_of(X, *self[:5]))


def rounded_down(thresholds: Floats) -> Array:
    """Numbers of 32 bits, not above which are the same numbers of 32 bits."""
    nearest = thresholds.astype(np.float32)
    return np.where(nearest > thresholds, np.nextafter(nearest, np.float32(-np.inf)), nearest)


@kernel
def leaves_of(X, roots, column, threshold, right, missing_left):
    """The place (n_trees, n) of the mean of each row in each tree."""
    leaves = np.empty((len(roots), len(X)), np.int32)
    for tree, root in enumerate(roots):
        for i in range(len(X)):
            node = root
            while column[node] >= 0:
                value = X[i, column[node]]
                is_left = missing_left[node] if np.isnan(value) else value <= threshold[node]
                node = node + 1 if is_left else np.int64(right[node])
            leaves[tree, i] = right[node]
    return leaves
