"""Spanning trees of a graph: a matroid, with its greedy oracle in plain Python."""

import numpy as np

from skstructured.extend import OutputSpace


class SpanningTrees(OutputSpace):
    r"""Spanning trees of a connected graph, as 0/1 vectors over its edges.

    Row i of y marks the edges of a tree. The target loss is the share of wrongly marked edges.
    The regularizer is `SquaredNorm`, by the active-set method over Kruskal's greedy algorithm.

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

    def __init__(self, edges, n_nodes):
        self.edges = edges
        self.n_nodes = n_nodes

    def fit(self, y):
        """Check the graph and the trees y (n, d); return self."""
        everything = self.argmax(np.zeros((1, len(self.edges))))
        if everything.sum() != self.n_nodes - 1:
            raise ValueError(f"edges must connect all {self.n_nodes} nodes, got {self.edges!r}.")
        return super().fit(y)

    def argmax(self, theta):
        """Return the maximum spanning tree of each row of edge scores (n, d)."""
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
