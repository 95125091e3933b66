"""A tree that grows as rows arrive: its kernels, arrays, model and estimator."""

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state

from skstructured._base.component import Seed, parameters
from skstructured._base.validation import check_integer, writable
from skstructured._engine.compiled import kernel
from skstructured._engine.state import State, at_once
from skstructured._learners.lock import snapshot
from skstructured._learners.models import BlockResult
from skstructured._learners.online import OnlineEstimator
from skstructured.extend._types import Features, Floats
from skstructured.extend.learner import Model


@kernel(inline=True)
def leaf_of(x, feature, threshold):
    """The leaf of a row x (p,)."""
    node = 0
    while feature[node] >= 0:
        node = 2 * node + 1 + (x[feature[node]] > threshold[node])
    return node


@kernel(inline=True)
def load_row(data, indices, indptr, width, row, x):
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
    best, most = -1, 1e-9  # less is rounding
    for j in range(n_tests):
        test_gain = gain(sides[node], j)
        if test_gain > most:
            best, most = j, test_gain
    if best < 0:
        return
    feature[node], threshold[node] = tried[node, best], values[node, best]
    for side in range(2):
        child = 2 * node + 1 + side
        for k in range(counts.shape[1]):
            counts[child, k] = sides[node, k, best, side]
        answer[child] = np.argmax(counts[child])


@kernel
def learn_in_tree(x, weights, patience, trees, i):
    """The weights (K,) of classes at a row x (p,) join its leaf in tree i, and the leaf's tests."""
    feature, threshold, counts, answer = trees[0][i], trees[1][i], trees[2][i], trees[3][i]
    row_counts, tried, values, sides = trees[4][i], trees[5][i], trees[6][i], trees[7][i]
    node = leaf_of(x, feature, threshold)
    for k in range(weights.shape[0]):
        counts[node, k] += weights[k]
    answer[node] = np.argmax(counts[node])
    if node >= tried.shape[0]:
        return
    n_rows, width = row_counts[node], tried.shape[1]
    if n_rows < width:
        values[node, n_rows] = x[tried[node, n_rows]]
    n_tests = min(n_rows + 1, width)
    for j in range(n_tests):
        side = 1 if x[tried[node, j]] > values[node, j] else 0
        for k in range(weights.shape[0]):
            sides[node, k, j, side] += weights[k]
    row_counts[node] = n_rows + 1
    if row_counts[node] % patience == 0:
        split(node, feature, threshold, counts, answer, tried, values, sides, n_tests)


@kernel
def learn_tree_rows(
    data, indices, indptr, width, order, codes, weight, patience, trees, i, leaves, answers
):
    """Tree i learns rows in `order`; leaves and answers (n,) are those before it learns them."""
    x, class_weights = np.zeros(width), np.zeros(trees[2].shape[2])
    for t in range(order.shape[0]):
        row = order[t]
        values = load_row(data, indices, indptr, width, row, x)
        leaves[t] = leaf_of(values, trees[0][i], trees[1][i])
        answers[t] = trees[3][i, leaves[t]]
        if weight[row] > 0.0:
            class_weights[codes[row]] = weight[row]
            learn_in_tree(values, class_weights, patience, trees, i)
            class_weights[codes[row]] = 0.0
        forget_row(indices, indptr, row, x)


class Trees(State):
    """Arrays of trees for K classes and rows (n, p), as kernels read them; all leaves are there.

    Every generator draws the features that the nodes of a tree try. `params` has `max_depth`,
    `n_tests` and `patience`.
    """

    def __init__(self, params, generators, K, p):
        check_integer("max_depth", params.max_depth, 1, 12)
        check_integer("n_tests", params.n_tests)
        check_integer("patience", params.patience)
        size = (2**params.max_depth - 1, params.n_tests)
        tried = np.array([rng.randint(p, size=size, dtype=np.int32) for rng in generators])
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

    def read(self, rows, i):
        """The leaves (n,) of rows in tree i, and its answers (n,)."""
        outputs, nothing = np.zeros((2, rows.n_rows), dtype=np.int64), np.zeros(rows.n_rows)
        arguments = np.arange(rows.n_rows), outputs[0], nothing, 1, writable(self.arrays), i
        learn_tree_rows(*rows.arrays, *arguments, *outputs)
        return outputs

    def owns_arrays(self):
        """Whether the arrays can be written to; all are as the largest is."""
        return writable(self.sides) is self.sides

    def one(self, i):
        """Tree i alone, a copy."""
        copy = object.__new__(type(self))
        vars(copy).update({name: array[i : i + 1].copy() for name, array in vars(self).items()})
        return copy


class TreeModel(Model):
    """A tree, and how it learns."""

    in_place = records = True
    block = 1024

    def __init__(self, trees, space, patience):
        self.trees, self.space, self.patience = trees, space, patience

    def learn(self, batch, indices, weight, record):
        """Play and learn rounds; see `Model`."""
        leaves, answers = np.zeros((2, len(indices)), dtype=np.int64)
        learned = batch.packed, batch.weights, self.patience, self.trees.arrays, 0
        count = vars(self).update, {"n_rounds": self.n_rounds + len(indices)}
        at_once((learn_tree_rows, *batch.rows.arrays, indices, *learned, leaves, answers), count)
        return BlockResult(-1, self.space.unpack(answers), None) if record else None

    def owns_arrays(self):
        """See `Model`."""
        return self.trees.owns_arrays()

    def scores(self, batch, averaged):
        """Shares of the classes (n, K) in the leaf of every row."""
        counts = self.trees.counts[0][self.trees.read(batch.rows, 0)[0]]
        total, K = counts.sum(axis=1, keepdims=True), counts.shape[1]
        return np.divide(counts, total, np.full(counts.shape, 1.0 / K), where=total > 0)


@parameters
class OnlineTreeClassifier(ClassifierMixin, OnlineEstimator):
    r"""A shallow tree of random tests: the default weak learner of `AdaBoostOLMClassifier`.

    A leaf draws `n_tests` features, and tests x_f > v, with v the value of the feature in one of
    the leaf's first rows. It keeps the weights of the classes on both sides. Every `patience` rows
    it splits by the test with the lowest Gini impurity, if any test reduces it. A row takes
    `max_depth` comparisons and `n_tests` additions. The units of the features do not matter.

    Parameters
    ----------
    max_depth : int, default=5
        Number of tests between the root and the deepest leaves, 1 to 12; 1 is a stump.
    n_tests : int, default=8
        Number of features that a leaf tests, drawn with replacement.
    patience : int, default=32
        Number of rows of a leaf between two evaluations of its tests.
    shuffle : bool, default=True
        Whether `fit`, which makes one pass, visits the rows in random order.
    verbose : bool or int, default=0
        Whether to print, once per second, how many rows are learned.
    random_state : int, RandomState instance or None, default=None
        Seeds the choice of features, and the shuffling.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Class labels.
    t_ : int
        Number of rounds learned.
    space_, n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    AdaBoostOLMClassifier : An ensemble of such trees, each trained on the mistakes of the others.
    FolkloreClassifier : Online logistic regression, for linear problems.

    Notes
    -----
    Before the first row, and if several classes have the same weight, it predicts the first of them
    in `classes_`. It predicts one class with certainty, so `play` does not draw. No theorem bounds
    its mistakes. Memory: ``2^max_depth (2 K n_tests + K + n_tests)`` doubles, at most 12 tests
    deep.

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

    _no_theorem = "Counts in leaves minimize no surrogate loss."

    def predict_proba(self, X: Features) -> Floats:
        """Predict the shares of the classes, by weight, in the leaf of every row: (n, K).

        They are 1/K in an empty leaf.
        """
        return snapshot(self)._scores(X)

    def new_model(self):
        """Return a model that has learned nothing; see `OnlineEstimator`."""
        rng = check_random_state(self.random_state)
        trees = Trees(self, [rng], self.space_.dim_, self.n_features_in_)
        return TreeModel(trees, self.space_, self.patience)
