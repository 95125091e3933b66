"""Learners that play every class with some probability, and a tree that grows as rows arrive."""

from abc import abstractmethod

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state

from skstructured._base.component import Seed, parameters
from skstructured._base.validation import check_integer, writable
from skstructured._engine.rows import Rows
from skstructured._engine.state import State, at_once
from skstructured._learners import classifier
from skstructured._learners.classifier import ClassScores
from skstructured._learners.lock import locked
from skstructured._learners.passes import with_progress
from skstructured.estimators.boosting._rounds import learn_rows
from skstructured.extend._types import Features, Floats, Ints
from skstructured.extend.learner import Batch, Losses, OnlineLearner


@locked
class VotingLearner(ClassScores, OnlineLearner, ClassifierMixin, BaseEstimator):
    """A learner that plays every class with some probability, and learns rows in blocks.

    A subclass makes its state in `_setup(K)`, plays and learns a block in `_learn_block`, and plays
    without learning in `_played`. Parameters `shuffle`, `verbose`, `random_state`.
    """

    @abstractmethod
    def _setup(self, K):
        """Check the parameters and make the state, for K classes."""

    @abstractmethod
    def _learn_block(self, rows, codes, weight, order, votes, logs):
        """Play and learn rows in `order`; writes votes (m, K), and log probabilities if any."""

    @abstractmethod
    def _played(self, X):
        """Votes (n, K) and log probabilities (n, K), or NaN, with which rows would be played."""

    fit, partial_fit, learn = classifier.fit, classifier.partial_fit, classifier.learn

    #: How many rows are learned at a time.
    _block = 1024

    def play(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """The `Losses` of rounds with the current state; nothing is learned."""
        votes, logs = self._played(rounds.X[which])
        return losses_of(votes, logs, rounds.packed[which], random_state)

    def play_and_learn(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """Play each round, then learn it; the `Losses`."""
        votes, logs = self._learn(rounds, np.asarray(which))
        return losses_of(votes, logs, rounds.packed[which], random_state)

    def _start(self, space):
        self.space_, self.classes_, self.t_ = space, space.classes_, 0
        self._setup(space.dim_)

    def _learn(self, rounds, order):
        """Learn rows in `order`; votes and log probabilities of the plays."""
        rest, size = (rounds.rows, rounds.packed, rounds.weights), self._block
        votes, logs = np.full((2, len(order), self.space_.dim_), np.nan)
        for start in with_progress(self, range(0, len(order), size), len(order)):
            part = slice(start, start + size)
            with self.lock:
                self._learn_block(*rest, order[part], votes[part], logs[part])
        return votes, logs


def losses_of(votes, logs, codes, random_state):
    """`Losses` of classes drawn from votes (n, K); surrogates are −logs of the true classes."""
    every = np.arange(len(codes))
    expected = np.clip(1.0 - votes[every, codes], 0.0, 1.0)
    u = check_random_state(random_state).random_sample(len(codes))
    return Losses((u < expected).astype(np.float64), expected, -logs[every, codes])


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
        found, nothing = np.zeros((2, rows.n_rows), dtype=np.int64), np.zeros(rows.n_rows)
        given = np.arange(rows.n_rows), found[0], nothing, 1, writable(self.arrays), i
        learn_rows(*rows.arrays, *given, *found)
        return found

    def one(self, i):
        """Tree i alone, a copy."""
        copy = object.__new__(type(self))
        vars(copy).update({name: part[i : i + 1].copy() for name, part in vars(self).items()})
        return copy


#: A tree has at most 2^DEEPEST leaves, all of which are there from the start.
DEEPEST = 12


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

    def predict_proba(self, X: Features) -> Floats:
        """Predict the shares of the classes, by weight, in the leaf of every row: (n, K).

        They are 1/K in an empty leaf.
        """
        return self._thetas(self._fitted_rows(X))

    def _setup(self, K):
        rng = check_random_state(self.random_state)
        self._trees = self._new_trees([rng], K, self.n_features_in_)

    def _new_trees(self, generators, K, width):
        """`Trees`, one for every generator."""
        check_integer("max_depth", self.max_depth, 1, DEEPEST)
        check_integer("n_tests", self.n_tests)
        check_integer("patience", self.patience)
        size = (2**self.max_depth - 1, self.n_tests)
        tried = [rng.randint(width, size=size, dtype=np.int32) for rng in generators]
        return Trees(np.array(tried), K)

    def _learn_block(self, rows, codes, weight, order, votes, logs):
        leaves, answers = np.zeros((2, len(order)), dtype=np.int64)
        given = (order, codes, weight, self.patience, self._trees.arrays, 0, leaves, answers)
        count = (vars(self).update, {"t_": self.t_ + len(order)})
        at_once((learn_rows, *rows.arrays, *given), count)
        votes[:] = self.space_.unpack(answers)

    def _played(self, X):
        votes = self.space_.unpack(self._trees.read(Rows.from_array(X), 0)[1])
        return votes, np.full(votes.shape, np.nan)

    def _thetas(self, X):
        with self.lock:
            counts = self._trees.counts[0][self._trees.read(Rows.from_array(X), 0)[0]]
        total = counts.sum(axis=1, keepdims=True)
        return np.divide(
            counts, total, np.full(counts.shape, 1.0 / counts.shape[1]), where=total > 0
        )
