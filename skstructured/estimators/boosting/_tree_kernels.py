"""Shallow trees that grow as rows arrive.

A leaf tries a few features, each at the value of one of its first rows, and splits by the best.
Nodes are in heap order: those below j are 2j + 1 and 2j + 2. All arrays begin with the tree.
"""

import numpy as np

from skstructured._engine.compiled import kernel
from skstructured._engine.state import Learned

#: A split must make Gini's impurity smaller by so much.
LEAST_GAIN = 1e-9


class Trees(Learned):
    """Arrays of N trees for K classes, as kernels read them.

    Parameters
    ----------
    tried : ndarray of int32 of shape (N, nodes above the lowest, features tried in a node)
        The features that a node tries.
    K : int
        Classes.
    """

    def __init__(self, tried, K):
        n_trees, inner, width = tried.shape
        nodes = 2 * inner + 1
        self.feature = np.full((n_trees, nodes), -1, dtype=np.int32)
        self.threshold = np.zeros((n_trees, nodes))
        self.counts = np.zeros((n_trees, nodes, K))
        self.answer = np.zeros((n_trees, nodes), dtype=np.int32)
        self.seen = np.zeros((n_trees, nodes), dtype=np.int64)
        self.tried = tried
        self.values = np.zeros((n_trees, inner, width))
        self.sides = np.zeros((n_trees, inner, K, width, 2))

    @property
    def arrays(self):
        """What kernels are handed."""
        return tuple(vars(self).values())

    def leaves(self, rows, i):
        """The leaves (n,) of rows in tree i."""
        found = np.zeros(rows.n_rows, dtype=np.int64)
        tree_leaves(*rows.arrays, self.arrays, i, found)
        return found

    def one(self, i):
        """Tree i alone, a copy."""
        copy = object.__new__(type(self))
        vars(copy).update({name: part[i : i + 1].copy() for name, part in vars(self).items()})
        return copy


@kernel(inline=True)
def leaf_of(x, feature, threshold):
    """The leaf of a row x (p,)."""
    node = 0
    while feature[node] >= 0:
        node = 2 * node + 1 + (x[feature[node]] > threshold[node])
    return node


@kernel(inline=True)
def read_row(data, indices, indptr, width, row, x):
    """Write a row into x (p,), which is zero but for the row before it, `indptr` not empty."""
    if indptr.shape[0] == 0:
        return data[row * width : (row + 1) * width]
    for t in range(indptr[row], indptr[row + 1]):
        x[indices[t]] = data[t]
    return x


@kernel(inline=True)
def forget_row(indices, indptr, row, x):
    """Make x zero again."""
    if indptr.shape[0] > 0:
        for t in range(indptr[row], indptr[row + 1]):
            x[indices[t]] = 0.0


@kernel
def gain(sides, j):
    """How much smaller Gini's impurity is after test j, of `sides` (K, tests, 2)."""
    left, right, whole = 0.0, 0.0, 0.0
    for k in range(sides.shape[0]):
        left += sides[k, j, 0]
        right += sides[k, j, 1]
    total = left + right
    if left == 0.0 or right == 0.0:
        return 0.0
    after = 0.0
    for k in range(sides.shape[0]):
        a, b = sides[k, j, 0] / total, sides[k, j, 1] / total
        after += a * (a * (total / left)) + b * (b * (total / right))
        whole += (a + b) * (a + b)
    return after - whole


@kernel
def split(node, feature, threshold, counts, answer, tried, values, sides, n_tests):
    """Split a leaf by its best test, if that gains anything; its sides begin as new leaves."""
    best, most = -1, LEAST_GAIN
    for j in range(n_tests):
        found = gain(sides[node], j)
        if found > most:
            best, most = j, found
    if best < 0:
        return
    feature[node], threshold[node] = tried[node, best], values[node, best]
    for side in range(2):
        child = 2 * node + 1 + side
        for k in range(counts.shape[1]):
            counts[child, k] = sides[node, k, best, side]
            if counts[child, k] > counts[child, answer[child]]:
                answer[child] = k


@kernel
def learn_in_tree(x, weights, patience, trees, i):
    """The weights (K,) of classes at a row x (p,) join its leaf in tree i, and the leaf's tests."""
    feature, threshold, counts, answer = trees[0][i], trees[1][i], trees[2][i], trees[3][i]
    seen, tried, values, sides = trees[4][i], trees[5][i], trees[6][i], trees[7][i]
    node = leaf_of(x, feature, threshold)
    best = 0
    for k in range(weights.shape[0]):
        counts[node, k] += weights[k]
        best = k if counts[node, k] > counts[node, best] else best
    answer[node] = best
    if node >= tried.shape[0]:
        return
    at, width = seen[node], tried.shape[1]
    if at < width:
        values[node, at] = x[tried[node, at]]
    n_tests = min(at + 1, width)
    for j in range(n_tests):
        side = 1 if x[tried[node, j]] > values[node, j] else 0
        for k in range(weights.shape[0]):
            sides[node, k, j, side] += weights[k]
    seen[node] = at + 1
    if seen[node] % patience == 0:
        split(node, feature, threshold, counts, answer, tried, values, sides, n_tests)


@kernel
def tree_leaves(data, indices, indptr, width, trees, i, leaves):
    """The leaves of rows in tree i."""
    x = np.zeros(width)
    for row in range(leaves.shape[0]):
        values = read_row(data, indices, indptr, width, row, x)
        leaves[row] = leaf_of(values, trees[0][i], trees[1][i])
        forget_row(indices, indptr, row, x)


@kernel
def learn_rows(data, indices, indptr, width, order, codes, weight, patience, trees, played):
    """Play and learn rows in `order` by the first tree; `played` receives its answers."""
    x, one = np.zeros(width), np.zeros(trees[2].shape[2])
    for t in range(order.shape[0]):
        row = order[t]
        values = read_row(data, indices, indptr, width, row, x)
        played[t] = trees[3][0, leaf_of(values, trees[0][0], trees[1][0])]
        if weight[row] > 0.0:
            one[codes[row]] = weight[row]
            learn_in_tree(values, one, patience, trees, 0)
            one[codes[row]] = 0.0
        forget_row(indices, indptr, row, x)
