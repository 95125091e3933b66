"""A shallow classification tree that grows as rows arrive."""

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skstructured._base.parameters import Seed, parameters
from skstructured._base.validation import check_integer
from skstructured._engine.rows import Rows
from skstructured._engine.state import at_once
from skstructured.estimators.boosting._base import VotingLearner
from skstructured.estimators.boosting._tree_kernels import Trees, learn_rows
from skstructured.extend._types import Features, Floats

__all__ = ["OnlineTreeClassifier"]

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
