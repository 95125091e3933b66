"""Trees of all outputs at once: scikit-learn's for few rows, histograms of bins for many."""

from typing import NamedTuple

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from skstructured._engine.compiled import kernel
from skstructured.estimators._forest import nodes_of
from skstructured.extend._types import Array, Floats, Ints

#: Bins of ranks, of 32 bits, and the ranks between them; bin 0 has missing values.
N_BINS = 256
BIN_EDGES = (np.arange(1, N_BINS - 1) / (N_BINS - 1)).astype(np.float32)


class Tree(NamedTuple):
    """A tree with a root (1,) and nodes as those of `Forest`, and importances (p,) of columns."""

    root: Array
    nodes: Array
    thresholds: Array
    importances: Floats


class TreeGrower:
    """Grows trees of the same rows for new targets.

    Each split is the one of the largest decrease of squared errors of all targets; the leaf whose
    split decreases them most is split first [1]_. With more than 3,000 rows thresholds are between
    255 bins of equally many rows [2]_, and a tree sees 100,000 rows at most. The rows are ranks of
    32 bits, from 0 to 1.

    References
    ----------
    .. [1] Shi (2007), "Best-first decision tree learning".
    .. [2] Ke, Meng, Finley, Wang, Chen, Ma, Ye, Liu (2017), "LightGBM: a highly efficient gradient
       boosting decision tree".
    """

    #: Rows up to which scikit-learn's trees are used; rows that a tree sees at most.
    few_rows, most_rows = 3_000, 100_000

    def __init__(
        self, ranks: Array, max_leaf_nodes: int, min_samples_leaf: int, max_features: float
    ) -> None:
        self.ranks, self.max_leaf_nodes = ranks, max_leaf_nodes
        self.min_samples_leaf, self.max_features = min_samples_leaf, float(max_features)
        self.bins = binned(ranks) if len(ranks) > self.few_rows else None

    def grow(self, targets: Floats, weight: Floats, rows: Ints, seed: int) -> tuple[Tree, Ints]:
        """A tree of some rows, and the leaf of every row."""
        rng = np.random.RandomState(seed)
        if self.bins is None:
            targets = targets if targets.shape[1] > 1 else targets[:, 0]
            return self._grow_exactly(targets[rows], weight[rows], rows, rng)
        if len(rows) > self.most_rows:
            rows = np.sort(rng.choice(rows, self.most_rows, replace=False))
        return self._grow_in_bins(np.column_stack([weight[:, None] * targets, weight]), rows, rng)

    def _grow_exactly(self, targets, weight, rows, rng):
        tree = DecisionTreeRegressor(
            max_leaf_nodes=self.max_leaf_nodes, min_samples_leaf=self.min_samples_leaf,
            max_features=self.max_features, random_state=rng,
        )  # fmt: skip
        # without its check it knows no missing values
        tree = tree.fit(self.ranks[rows], targets, weight).tree_
        leaves = np.cumsum(tree.feature < 0) - 1
        nodes = nodes_of(tree, ~np.arange(tree.n_leaves), 0)
        importances = tree.compute_feature_importances(normalize=False)
        return Tree(*nodes, importances), leaves[tree.apply(self.ranks)]

    def _grow_in_bins(self, sums, rows, rng):
        p, most = len(self.bins), max(1, len(rows) // self.min_samples_leaf)
        n_splits = min(self.max_leaf_nodes, most) - 1
        n_drawn = max(1, int(self.max_features * p))
        draws = rng.random_sample((2 * n_splits + 1, p)).argsort(axis=1)[:, :n_drawn]
        nodes, cuts = np.zeros((n_splits, 3), np.int32), np.zeros(n_splits, np.int64)
        gains, leaves = np.zeros(n_splits), np.zeros(self.bins.shape[1], np.int32)
        rows = rows.astype(np.int32)
        n = grow_tree(self.bins, sums, rows, draws, self.min_samples_leaf, nodes, cuts, gains)
        find_leaves(self.bins, nodes[:n], cuts, leaves)
        importances = np.bincount(~nodes[:n, 0], gains[:n], p)
        thresholds = np.append(np.float32(-np.inf), BIN_EDGES)[cuts[:n]]
        root = np.full(1, 0 if n else -1, np.int32)
        return Tree(root, nodes[:n], thresholds, importances), leaves


def binned(ranks: Array) -> Array:
    """Bins (p, n) of ranks (n, p)."""
    bins = (np.searchsorted(BIN_EDGES, ranks.T) + 1).astype(np.uint8)
    bins[np.isnan(ranks.T)] = 0
    return bins


def steps_of_growth(bins, sums, rows, draws, *arrays):
    """Every entry of the drawn columns, on the levels of a balanced tree."""
    return 2.0 * len(rows) * draws.shape[1] * sums.shape[1] * np.log2(len(draws) + 1.0)


@kernel
def seek_split(bins, sums, rows, columns, min_rows, split, histogram, counts):
    """Write the largest decrease of squared errors, its column, and its last bin on the left.

    Histogram and counts are 0 before and after.
    """
    dim, n_left, split[0] = sums.shape[1] - 1, 0, 0.0
    total, left = np.zeros(dim + 1), np.empty(dim + 1)
    for row in rows:
        for k in range(dim + 1):
            total[k] += sums[row, k]
    base = (total[:dim] ** 2).sum() / total[dim]
    for j in columns:
        left[:], n_left = 0.0, 0
        for row in rows:
            place = bins[j, row]
            counts[place] += 1
            for k in range(dim + 1):
                histogram[place, k] += sums[row, k]
        for place in range(len(counts)):
            if counts[place] == 0:
                continue
            n_left += counts[place]
            counts[place] = 0
            for k in range(dim + 1):
                left[k] += histogram[place, k]
                histogram[place, k] = 0.0
            right = total[dim] - left[dim]
            if min_rows <= n_left <= len(rows) - min_rows and right > 1e-12 * total[dim]:
                gain = -base
                for k in range(dim):
                    gain += left[k] ** 2 / left[dim] + (total[k] - left[k]) ** 2 / right
                if gain > split[0] + 1e-12 * base:
                    split[0], split[1], split[2] = gain, j, place


@kernel
def divide(rows, is_left):
    """Move rows of the left side to the front, in order; how many there are."""
    right = rows[~is_left]
    n = len(rows) - len(right)
    rows[:n] = rows[is_left]
    rows[n:] = right
    return n


@kernel(steps=steps_of_growth)
def grow_tree(bins, sums, rows, draws, min_rows, nodes, cuts, gains):
    """Split leaves, the one of the largest gain first; writes nodes, and returns their number."""
    most = len(nodes) + 1
    histogram, counts = np.zeros((N_BINS, sums.shape[1])), np.zeros(N_BINS, np.int64)
    spans, parents = np.zeros((most, 2), np.int64), np.zeros((most, 2), np.int64)
    splits, spans[0, 1] = np.zeros((most, 3)), len(rows)
    seek_split(bins, sums, rows, draws[0], min_rows, splits[0], histogram, counts)
    for n in range(len(nodes)):
        leaf = np.argmax(splits[: n + 1, 0])
        gains[n], column, cuts[n] = splits[leaf, 0], int(splits[leaf, 1]), int(splits[leaf, 2])
        if gains[n] <= 0.0:
            return n
        if n > 0:
            nodes[parents[leaf, 0], parents[leaf, 1]] = n
        nodes[n, 0], nodes[n, 1], nodes[n, 2] = ~column, ~leaf, ~(n + 1)
        start, end = spans[leaf]
        middle = start + divide(rows[start:end], bins[column][rows[start:end]] <= cuts[n])
        spans[leaf, 1], spans[n + 1, 0], spans[n + 1, 1] = middle, middle, end
        for side, child in enumerate((leaf, n + 1)):
            parents[child, 0], parents[child, 1], splits[child, 0] = n, side + 1, 0.0
            side_rows, drawn = rows[spans[child, 0] : spans[child, 1]], draws[2 * n + side + 1]
            if len(side_rows) >= 2 * min_rows:
                seek_split(bins, sums, side_rows, drawn, min_rows, splits[child], histogram, counts)
    return len(nodes)


@kernel(steps=10.0)
def find_leaves(bins, nodes, cuts, leaves):
    """The leaf of every row."""
    for i in range(len(leaves)):
        place = 0 if len(nodes) > 0 else -1
        while place >= 0:
            is_left = bins[~nodes[place, 0], i] <= cuts[place]
            place = nodes[place, 1] if is_left else nodes[place, 2]
        leaves[i] = ~place
