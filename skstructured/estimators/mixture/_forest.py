"""Fitted trees as flat arrays of 32 bits, which have what predictions need and nothing else."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse

from skstructured._engine.compiled import kernel
from skstructured.extend._types import Array, Floats, Ints

#: A node that splits rows: those whose feature is above the threshold go right. Where missing
#: values go left, the column is ~j. A child k < 0 is a leaf, with the mean ~k.
NODE = np.dtype([("column", "i4"), ("threshold", "f4"), ("left", "i4"), ("right", "i4")])


class Forest(NamedTuple):
    """Trees of vertices; leaves that have the same mean share it.

    Attributes
    ----------
    roots : ndarray of shape (n_trees,)
        Places of the first nodes of trees, or leaves.
    nodes : ndarray of shape (n_nodes,)
        Nodes of all trees, of the type `NODE`.
    means : ndarray of shape (n_means, dim)
        Mean vertices of leaves, float32.
    feature_importances_ : ndarray of shape (p,)
        Those of scikit-learn.
    """

    roots: Ints
    nodes: Array
    means: Array
    feature_importances_: Floats

    @classmethod
    def of(cls, ensemble: Any) -> Self:
        """The trees of a fitted forest of scikit-learn."""
        trees = [tree.tree_ for tree in ensemble.estimators_]
        means = [tree.value[tree.feature < 0, :, 0].astype(np.float32) for tree in trees]
        bounds = np.cumsum([len(leaves) for leaves in means])
        means, places = distinct_rows(np.concatenate(means))
        starts = [0, *bounds - np.arange(1, len(trees) + 1)]  # a tree has a leaf more than splits
        parts = map(nodes_of, trees, np.split(~places, bounds), starts)
        roots, nodes = zip(*parts, strict=True)
        return cls(np.array(roots), np.concatenate(nodes), means, ensemble.feature_importances_)

    def predictions(self, X: Any) -> Iterator[Array]:
        """Means (n, dim) of each tree for rows of 32 bits."""
        X = X.toarray() if issparse(X) else X
        return (self.means[leaves] for leaves in leaves_of(X, self.roots, self.nodes))


def distinct_rows(rows: Array) -> tuple[Array, Ints]:
    """Rows that differ, and the place among them of each row."""
    keys = rows[:, 0] if rows.shape[1] == 1 else rows.view(f"V{rows[0].nbytes}")[:, 0]
    _, first, places = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first], places


def nodes_of(tree: Any, leaves: Ints, start: int) -> tuple[Any, Array]:
    """The root of a tree of scikit-learn, and its nodes from a place on, with leaves < 0."""
    splits = tree.feature >= 0
    places = start + np.cumsum(splits) - 1
    places[~splits] = leaves
    nodes = np.empty(np.count_nonzero(splits), NODE)
    nodes["column"] = np.where(tree.missing_go_to_left, ~tree.feature, tree.feature)[splits]
    nodes["threshold"] = rounded_down(tree.threshold[splits])
    nodes["left"] = places[tree.children_left[splits]]
    nodes["right"] = places[tree.children_right[splits]]
    return places[0], nodes


def rounded_down(thresholds: Floats) -> Array:
    """The largest numbers of 32 bits that are not above; the same numbers of 32 bits are above."""
    nearest = thresholds.astype(np.float32)
    return np.where(nearest > thresholds, np.nextafter(nearest, np.float32(-np.inf)), nearest)


@kernel
def leaves_of(X, roots, nodes):
    """The mean (n_trees, n) of each row in each tree."""
    leaves = np.empty((len(roots), len(X)), np.int32)
    for tree in range(len(roots)):
        for i in range(len(X)):
            place = roots[tree]
            while place >= 0:
                node = nodes[place]
                column = node["column"]
                value = X[i, column if column >= 0 else ~column]
                is_right = value > node["threshold"] or (np.isnan(value) and column >= 0)
                place = np.int64(node["right"] if is_right else node["left"])
            leaves[tree, i] = ~place
    return leaves
