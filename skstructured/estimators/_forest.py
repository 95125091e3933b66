"""Fitted trees as flat arrays, which have what predictions need and nothing else."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse

from skstructured.extend._types import Array, Floats, Ints


class Forest(NamedTuple):
    """Trees of vertices: `roots` are places of nodes, and ~k is the leaf of the k-th of `means`.

    Nodes (n_nodes, 3) have a feature j, or ~j if missing values go left, and the places of their
    left and right child. Rows go right if the feature is above the threshold. Means differ.
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
        roots, nodes, thresholds, means, importances = map(list, zip(*forests, strict=True))
        n_nodes, n_means = np.cumsum([*map(len, nodes)]), np.cumsum([*map(len, means)])
        starts = [(0, 0), *zip(n_nodes[:-1], n_means[:-1], strict=True)]
        joined_nodes = np.concatenate(nodes)
        joined_nodes[:, 1:] = np.concatenate([*map(moved, [a[:, 1:] for a in nodes], starts)])
        joined_roots = np.concatenate([*map(moved, roots, starts)])
        arrays = joined_nodes, np.concatenate(thresholds), np.concatenate(means)
        return cls(joined_roots, *arrays, np.sum(importances, axis=0))

    @property
    def columns(self) -> Ints:
        """The feature (n_nodes,) of each node."""
        return np.where(self.nodes[:, 0] < 0, ~self.nodes[:, 0], self.nodes[:, 0])

    def predictions(self, X: Any) -> Iterator[Array]:
        """Means (n, dim) of each tree for rows."""
        return (self.means[places] for places in leaves_of(X, *self[:3]))

    def total(self, X: Any) -> Floats:
        """Sums (n, dim) of the means of all trees; of many trees at a time for few rows."""
        leaves, sums = leaves_of(X, *self[:3]), np.zeros((X.shape[0], self.means.shape[1]))
        size = max(1, 4096 // max(sums.size, 1))
        for first in range(0, len(leaves), size):
            sums += self.means[leaves[first : first + size]].sum(axis=0, dtype=np.float64)
        return sums


def moved(places: Array, starts: tuple[int, int]) -> Array:
    """Places of nodes and means behind those of earlier trees."""
    n_nodes, n_means = starts
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


def leaves_of(X: Any, roots: Array, nodes: Array, thresholds: Array) -> Ints:
    """The place (n_trees, n) of the mean of each row in each tree; all walk a level at a time."""
    (n, p), cells = X.shape, np.ravel(X.toarray() if issparse(X) else X)
    lacks = np.isnan(cells).any()
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
