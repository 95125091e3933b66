"""Spanning trees of a graph: a matroid, with its greedy oracle in plain Python."""

from collections.abc import Sequence
from typing import Self

import numpy as np

from skstructured._base.validation import check_integer
from skstructured.extend._types import Floats, Outputs
from skstructured.extend.output_space import OutputSpace


class SpanningTrees(OutputSpace):
    r"""Spanning trees of a connected graph, as 0/1 vectors over its edges.

    Row i of y marks the edges of a tree. The target loss is the share of wrongly marked edges.
    Regularizer: `SquaredNorm`, by the active-set method over Kruskal's greedy algorithm.

    Parameters
    ----------
    edges : sequence of pairs of int
        The d edges, as pairs of nodes 0 … n_nodes−1.
    n_nodes : int
        Number of nodes.

    Attributes
    ----------
    dim_ : int
        d, the number of edges.
    """

    constant_sum = True

    def __init__(self, edges: Sequence[tuple[int, int]], n_nodes: int) -> None:
        self.edges = edges
        self.n_nodes = n_nodes

    def fit(self, y: Outputs) -> Self:
        """Check the graph and the trees y (n, d); returns self."""
        check_integer("n_nodes", self.n_nodes, lowest=2)
        self._check_edges()
        everything = self.argmax(np.zeros((1, len(self.edges))))
        if everything.sum() != self.n_nodes - 1:
            raise ValueError(f"edges must connect all {self.n_nodes} nodes, got {self.edges!r}.")
        if np.ndim(y) == 2 and np.shape(y)[1] != len(self.edges):  # type: ignore[arg-type,misc]
            raise ValueError(
                f"y must have {len(self.edges)} columns, one per edge, got {np.shape(y)[1]}."  # type: ignore[arg-type,misc]
            )
        return super().fit(y)

    def _check_edges(self):
        nodes = np.asarray(self.edges)
        pairs = nodes.ndim == 2 and nodes.shape[1] == 2 and nodes.dtype.kind in "iu"
        if not pairs or nodes.min() < 0 or nodes.max() >= self.n_nodes:
            raise ValueError(
                f"edges must be pairs of nodes from 0 to {self.n_nodes - 1}, got {self.edges!r}."
            )

    def argmax(self, theta: Floats) -> Floats:
        """Maximum spanning tree of each row of edge scores (n, d), ties to the first edge."""
        return np.array([self._kruskal(row) for row in np.asarray(theta)]).reshape(np.shape(theta))

    def _kruskal(self, scores):
        parent, tree = list(range(self.n_nodes)), np.zeros(len(scores))

        def root(node):
            while parent[node] != node:
                node = parent[node]
            return node

        for e in np.argsort(-scores, kind="stable"):
            a, b = (root(node) for node in self.edges[e])
            if a != b:
                parent[a] = b
                tree[e] = 1.0
        return tree
