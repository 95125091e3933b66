"""Fitted trees as flat arrays, which have what predictions need and nothing else."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse

from skstructured.extend._types import Array, Floats, Ints

#: Numbers of means that are added at once.
BLOCK = 1 << 12


class Forest(NamedTuple):
    """Trees of vertices. Negative places are leaves: ~k has the k-th mean, and many can share it.

    Attributes
    ----------
    roots : ndarray of shape (n_trees,)
        Place of each tree's first node.
    nodes : ndarray of shape (n_nodes, 3)
        Feature j of the node, or ~j if missing values go left; places of its left and right child.
    thresholds : ndarray of shape (n_nodes,)
        Rows go right if the feature is above it.
    means : ndarray of shape (n_means, dim)
        Mean vertices of leaves, all different.
    feature_importances_ : ndarray of shape (p,)
        Those of scikit-learn.
    """

    roots: Array
    nodes: Array
    thresholds: Array
    means: Array
    feature_importances_: Floats

    @classmethod
    def of(cls, ensemble: Any) -> Self:
        """The trees of a fitted forest of scikit-learn."""
        trees = [tree.tree_ for tree in ensemble.estimators_]
        leaves = [tree.value[tree.feature < 0, :, 0].astype(np.float32) for tree in trees]
        bounds = np.cumsum([len(means) for means in leaves])
        means, places = distinct_rows(np.concatenate(leaves))
        starts = [0, *bounds - np.arange(1, len(trees) + 1)]  # a tree has one leaf more than nodes
        tree_arrays = map(nodes_of, trees, np.split(~places, bounds), starts)
        roots, nodes, thresholds = map(np.concatenate, zip(*tree_arrays, strict=True))
        return cls(roots, nodes, thresholds, means, ensemble.feature_importances_)

    @classmethod
    def joined(cls, forests: Sequence[Self]) -> Self:
        """All trees of one forest or more, in order; importances are added."""
        n_nodes = np.cumsum([0, *(len(forest.nodes) for forest in forests)])
        n_means = np.cumsum([0, *(len(forest.means) for forest in forests)])
        nodes = np.concatenate([forest.nodes for forest in forests])
        placements = [*zip(forests, n_nodes, n_means, strict=False)]
        nodes[:, 1:] = np.concatenate([moved(f.nodes[:, 1:], *starts) for f, *starts in placements])
        return cls(
            np.concatenate([moved(f.roots, *starts) for f, *starts in placements]),
            nodes,
            np.concatenate([forest.thresholds for forest in forests]),
            np.concatenate([forest.means for forest in forests]),
            np.sum([forest.feature_importances_ for forest in forests], axis=0),
        )

    @property
    def columns(self) -> Ints:
        """The feature (n_nodes,) of each node."""
        return np.where(self.nodes[:, 0] < 0, ~self.nodes[:, 0], self.nodes[:, 0])

    def predictions(self, X: Any) -> Iterator[Array]:
        """Means (n, dim) of each tree for rows."""
        X = X.toarray() if issparse(X) else X
        return (self.means[places] for places in leaves_of(X, *self[:3]))

    def total(self, X: Any) -> Floats:
        """Sums (n, dim) of the means of all trees; of many trees at a time for few rows."""
        X = X.toarray() if issparse(X) else X
        leaves, sums = leaves_of(X, *self[:3]), np.zeros((len(X), self.means.shape[1]))
        size = max(1, BLOCK // max(sums.size, 1))
        for first in range(0, len(leaves), size):
            sums += self.means[leaves[first : first + size]].sum(axis=0, dtype=np.float64)
        return sums


def moved(places: Array, n_nodes: int, n_means: int) -> Array:
    """Places of nodes and means behind those of earlier trees."""
    return np.where(places < 0, places - n_means, places + n_nodes).astype(np.int32)


def distinct_rows(rows: Array) -> tuple[Array, Ints]:
    """Rows that differ, and the place among them of each row."""
    keys = rows[:, 0] if rows.shape[1] == 1 else rows.view(f"V{rows[0].nbytes}")[:, 0]
    _, first, places = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first], places


def nodes_of(tree: Any, leaves: Ints, start: int) -> tuple[Array, Array, Array]:
    """Root, nodes and thresholds of a tree of scikit-learn, behind `start` nodes of others."""
    splits = tree.feature >= 0
    places = (start + np.cumsum(splits) - 1).astype(np.int32)
    places[~splits] = leaves
    columns = np.where(tree.missing_go_to_left, ~tree.feature, tree.feature).astype(np.int32)
    nodes = np.column_stack([columns, places[tree.children_left], places[tree.children_right]])
    return places[:1], nodes[splits], rounded_down(tree.threshold[splits])


def rounded_down(thresholds: Floats) -> Array:
    """Thresholds of 32 bits that are below the same numbers of 32 bits."""
    nearest = thresholds.astype(np.float32)
    return np.where(nearest > thresholds, np.nextafter(nearest, np.float32(-np.inf)), nearest)


def leaves_of(X: Array, roots: Array, nodes: Array, thresholds: Array) -> Ints:
    """The place (n_trees, n) of the mean of each row in each tree; all walk a level at a time."""
    (n, p), cells, lacks = X.shape, np.ravel(X), np.isnan(X).any()
    leaves, walking = np.repeat(roots, n), np.arange(n * len(roots))
    goes_left, children = nodes[:, 0] < 0, nodes[:, 1:].ravel()
    columns = np.where(goes_left, ~nodes[:, 0], nodes[:, 0])
    places, starts = leaves, p * (walking % n)
    while True:
        is_inside = places >= 0
        leaves[walking[~is_inside]] = places[~is_inside]
        walking, places, starts = walking[is_inside], places[is_inside], starts[is_inside]
        if len(walking) == 0:
            return ~leaves.reshape(len(roots), n)
        values = cells.take(starts + columns.take(places))
        is_right = values > thresholds.take(places)
        if lacks:
            is_right |= np.isnan(values) & ~goes_left.take(places)
        places = children.take(2 * places + is_right)
