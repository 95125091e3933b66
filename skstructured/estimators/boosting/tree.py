"""Learners that play every class with some probability, and a tree that grows as rows arrive."""

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state

from skstructured._base.component import Seed, parameters
from skstructured._base.validation import check_integer, writable
from skstructured._engine.state import State, at_once
from skstructured._learners.lock import snapshot
from skstructured._learners.models import BlockResult
from skstructured._learners.online import OnlineEstimator
from skstructured.estimators.boosting._rounds import learn_tree_rows
from skstructured.extend._types import Features, Floats, Ints
from skstructured.extend.learner import Batch, Losses, Model


class Votes:
    """Classes drawn from votes (n, K), and logarithms of probabilities (n, K) or NaN.

    Parameters
    ----------
    votes_and_logs : ndarray of shape (n, 2, K)
    """

    def __init__(self, votes_and_logs):
        self.votes, self.logs = votes_and_logs[:, 0], votes_and_logs[:, 1]

    def losses(self, V, random_state):
        """The `Losses` if V is true; surrogates are −logs of the true classes."""
        codes, every = V.argmax(axis=1), np.arange(len(V))
        expected = np.clip(1.0 - self.votes[every, codes], 0.0, 1.0)
        u = check_random_state(random_state).random_sample(len(codes))
        return Losses((u < expected).astype(np.float64), expected, -self.logs[every, codes])


class VotingLearner(ClassifierMixin, OnlineEstimator):
    """A learner that plays every class with some probability.

    Its model records votes and logarithms (n, 2, K); `played` returns those of rows (n, p), without
    learning them.
    """

    def play(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """The `Losses` of rounds with the current state; nothing is learned."""
        rounds = rounds.take(which)
        with self.lock:
            votes_and_logs = self.model_.played(rounds.rows)
        return Votes(votes_and_logs).losses(self._truths(rounds.packed), random_state)

    def decode(self, theta):
        """How scores, or `Votes` that were recorded, become outputs."""
        return Votes(theta) if theta.ndim == 3 else super().decode(theta)


class Trees(State):
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
    """A tree, whose votes are sure."""

    in_place = records = True
    block = 1024

    def __init__(self, trees, space, patience):
        self.trees, self.space, self.patience = trees, space, patience

    @staticmethod
    def new_trees(params, generators, K, width):
        """`Trees`, one for every generator, all of whose leaves are there from the start."""
        check_integer("max_depth", params.max_depth, 1, 12)
        check_integer("n_tests", params.n_tests)
        check_integer("patience", params.patience)
        size = (2**params.max_depth - 1, params.n_tests)
        tried = [rng.randint(width, size=size, dtype=np.int32) for rng in generators]
        return Trees(np.array(tried), K)

    def learn(self, batch, indices, weight, record):
        """Play and learn rounds; see `Model`."""
        leaves, answers = np.zeros((2, len(indices)), dtype=np.int64)
        learned = batch.packed, batch.weights, self.patience, self.trees.arrays, 0
        count = vars(self).update, {"n_rounds": self.n_rounds + len(indices)}
        at_once((learn_tree_rows, *batch.rows.arrays, indices, *learned, leaves, answers), count)
        return BlockResult(-1, self._votes(answers), None) if record else None

    def owns_arrays(self):
        """See `Model`."""
        return self.trees.owns_arrays()

    def _votes(self, answers):
        votes = self.space.unpack(answers)
        return np.stack([votes, np.full(votes.shape, np.nan)], axis=1)

    def played(self, rows):
        """Votes (n, 2, K), with NaN for logarithms, with which rows would be played."""
        return self._votes(self.trees.read(rows, 0)[1])

    def scores(self, batch, averaged):
        """Shares of the classes (n, K) in the leaf of every row."""
        counts = self.trees.counts[0][self.trees.read(batch.rows, 0)[0]]
        total, K = counts.sum(axis=1, keepdims=True), counts.shape[1]
        return np.divide(counts, total, np.full(counts.shape, 1.0 / K), where=total > 0)


@parameters
class OnlineTreeClassifier(VotingLearner):
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
        trees = TreeModel.new_trees(self, [rng], self.space_.dim_, self.n_features_in_)
        return TreeModel(trees, self.space_, self.patience)
