"""A shallow classification tree that grows as rows arrive."""

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skstructured._base.component import Seed, parameters
from skstructured._base.validation import check_integer
from skstructured._engine.compiled import kernel
from skstructured._engine.rows import Rows
from skstructured._engine.state import Learned, at_once
from skstructured.estimators.boosting._base import VotingLearner
from skstructured.extend._types import Features, Floats

__all__ = ["OnlineTreeClassifier"]


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


#: A tree has at most 2^DEEPEST leaves, all of which are there from the start.
DEEPEST = 12


@parameters
class OnlineTreeClassifier(VotingLearner):
    r"""A shallow tree of random tests: the default weak learner of `AdaBoostOLMClassifier`.

    A leaf draws `n_tests` features, and tries each at its value in one of the leaf's first rows:
    x_f > v. It keeps the weights of the classes on both sides, and every `patience` rows it splits
    by the test that makes Gini's impurity smallest, if any makes it smaller. A row takes
    `max_depth` comparisons and `n_tests` additions; nothing depends on the units of the features.

    Parameters
    ----------
    max_depth : int, default=5
        Tests between the root and the deepest leaves, 1 to 12; 1 is a stump.
    n_tests : int, default=8
        Features that a leaf tries, drawn with replacement.
    patience : int, default=32
        Rows of a leaf between two looks at its tests.
    shuffle : bool, default=True
        Whether `fit`, which is one pass, visits the rows in random order.
    verbose : bool or int, default=0
        Print, once a second, how many rows are learned.
    random_state : int, RandomState instance or None, default=None
        Seeds the features tried, and the shuffling.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels.
    t_ : int
        Rounds learned.
    n_leaves_ : int
        Number of leaves so far.
    space_, n_features_in_, feature_names_in_
        As everywhere in the package.

    See Also
    --------
    AdaBoostOLMClassifier : Many of them, each for what those before it get wrong.

    Notes
    -----
    Before the first row it answers ``classes_[0]``, and so it does where classes are equally
    heavy. It answers with certainty, so that `play` draws nothing. No theorem bounds its mistakes.
    Memory: ``2^max_depth (2 K n_tests + K + n_tests)`` doubles, at most 12 tests deep.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import OnlineTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> OnlineTreeClassifier(random_state=0).fit(X, y).score(X, y) > 0.85
    True
    """

    max_depth: int = 5
    n_tests: int = 8
    patience: int = 32
    shuffle: bool = True
    verbose: bool | int = 0
    random_state: Seed = None

    def predict_proba(self, X: Features) -> Floats:
        """Shares of the classes, by weight, in the leaf of every row: (n, K).

        An empty leaf says 1/K.
        """
        return self._thetas(self._fitted_rows(X))

    @property
    def n_leaves_(self) -> int:
        """Number of leaves so far."""
        check_is_fitted(self, "classes_")
        with self.lock:
            return 1 + int(np.count_nonzero(self._trees.feature[0] >= 0))

    def _setup(self, K):
        self._trees = self._new_trees([check_random_state(self.random_state)], K)

    def _new_trees(self, generators, K, n_features=None):
        """`Trees`, one for every generator."""
        check_integer("max_depth", self.max_depth, 1, DEEPEST)
        check_integer("n_tests", self.n_tests)
        check_integer("patience", self.patience)
        width = self.n_features_in_ if n_features is None else n_features
        size = (2**self.max_depth - 1, self.n_tests)
        tried = [rng.randint(width, size=size, dtype=np.int32) for rng in generators]
        return Trees(np.array(tried), K)

    def _adopt(self, trees, i, model):
        """Become tree i of another fitted model; self."""
        self.space_, self.classes_, self.t_ = model.space_, model.classes_, model.t_
        self.n_features_in_, self._trees = model.n_features_in_, trees.one(i)
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        return self

    def _learn_block(self, rows, order, codes, weight):
        played = np.zeros(len(order), dtype=np.int64)
        given = (order, codes, weight, self.patience, self._trees.arrays, played)
        count = (vars(self).update, {"t_": self.t_ + len(order)})
        at_once((learn_rows, *rows.arrays, *given), count)
        return self.space_.unpack(played), None

    def _played(self, X):
        answers = self._trees.answer[0][self._trees.leaves(Rows.from_array(X), 0)]
        return self.space_.unpack(answers.astype(np.int64)), None

    def _thetas(self, X):
        with self.lock:
            counts = self._trees.counts[0][self._trees.leaves(Rows.from_array(X), 0)]
        total = counts.sum(axis=1, keepdims=True)
        return np.divide(
            counts, total, np.full(counts.shape, 1.0 / counts.shape[1]), where=total > 0
        )
