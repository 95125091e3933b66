"""Weak learners of N experts: built-in trees kept in arrays, or any other classifiers."""

import inspect
import math

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from skstructured._engine.rows import Rows
from skstructured._engine.state import Learned
from skstructured.estimators.boosting._rounds import boost_rows, play_round
from skstructured.estimators.boosting.tree import OnlineTreeClassifier
from skstructured.experts._binary import part_of


def weak_learners(estimator, n, K, model):
    """Weak learners of n experts for a model that is being set up."""
    generators = _generators(model.random_state, n)
    base = OnlineTreeClassifier() if estimator is None else estimator
    if type(base) is OnlineTreeClassifier:
        return TreeLearners(base, generators, K, model)
    check_weak(base)
    return OtherLearners(base, generators, K)


def _generators(random_state, n):
    """A generator for every weak learner."""
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n)
    return [np.random.RandomState(seed) for seed in seeds]


def check_weak(estimator):
    """A ValueError unless `estimator` is a classifier that learns weighted rows in parts."""
    wanted = "estimator must be a classifier with partial_fit(X, y, classes, sample_weight)"
    if isinstance(estimator, type) or not hasattr(estimator, "partial_fit"):
        raise ValueError(f"{wanted}, got {estimator!r}, which has no partial_fit.")
    if not (hasattr(estimator, "predict") and hasattr(estimator, "get_params")):
        raise ValueError(f"{wanted}, got {estimator!r}, which is no scikit-learn classifier.")
    names = inspect.signature(estimator.partial_fit).parameters
    missing = [name for name in ("classes", "sample_weight") if name not in names]
    if missing:
        raise ValueError(f"{wanted}, got {estimator!r}, whose partial_fit has no {missing[0]}.")


def reads_sparse(estimator):
    """Whether a weak learner takes CSR rows, by its tags; None is our tree."""
    if not (hasattr(estimator, "__sklearn_tags__") and not isinstance(estimator, type)):
        return True
    return bool(estimator.__sklearn_tags__().input_tags.sparse)


class TreeLearners(Learned):
    """Trees that play and learn in a compiled loop."""

    compiled = True

    def __init__(self, base, generators, K, model):
        self.base, self.trees = base, base._new_trees(generators, K, model.n_features_in_)
        self.patience = base.patience

    def estimators(self, model):
        """The trees as estimators, copies."""
        trees = [clone(self.base) for _ in range(len(self.trees.feature))]
        return [tree._adopt(self.trees, i, model) for i, tree in enumerate(trees)]

    def answers(self, rows, i):
        """Positions (n,) of the classes that weak learner i answers to rows."""
        return self.trees.answer[i][self.trees.leaves(rows, i)].astype(np.int64)

    def playing(self, rows, order, codes, weight, live, numbers, votes, logs):
        """The `Call` that plays and learns rows in `order`, `live` rounds after the first."""
        given = (order, codes, weight, live, self.patience, self.trees.arrays)
        return boost_rows, *rows.arrays, *given, numbers, votes, logs

    def teach(self, rows, order, codes):
        """They have learned as they played."""


class OtherLearners(Learned):
    """Copies of any classifier, which see a row at a time; classes are their positions."""

    compiled = False

    def __init__(self, base, generators, K):
        self.learners = [clone(base) for _ in generators]
        self.classes, self.fitted = np.arange(K), False
        for learner, rng in zip(self.learners, generators, strict=True):
            names = [n for n in learner.get_params() if n.split("__")[-1] == "random_state"]
            learner.set_params(**{name: int(rng.randint(2**31 - 1)) for name in names})

    def estimators(self, model):
        """The weak learners themselves."""
        return list(self.learners)

    def answers(self, rows, i):
        """Positions (n,) of the classes that weak learner i answers; 0 before the first round."""
        if not self.fitted:
            return np.zeros(rows.n_rows, dtype=np.int64)
        given = np.asarray(self.learners[i].predict(rows.matrix))
        found = given.astype(np.int64)
        if found.shape != (rows.n_rows,) or np.any(found != given) or not self._known(found):
            raise ValueError(
                f"estimator must predict one of the classes it was given, 0 to "
                f"{len(self.classes) - 1}, for every row; {self.learners[i]!r} did not."
            )
        return found

    def _known(self, found):
        return len(found) == 0 or (found.min() >= 0 and found.max() < len(self.classes))

    def playing(self, rows, order, codes, weight, live, numbers, votes, logs):
        """The `Call` that counts the row of `order` as played, `live` rounds after the first."""
        (row,), aside = order, numbers.copy()
        x, cap = Rows.from_array(rows.matrix[row : row + 1]), math.log(max(live + 1.0, 2.0))
        each = np.array([self.answers(x, i)[0] for i in range(len(numbers))])
        shares, self._due = np.empty(len(numbers)), np.zeros((len(numbers), len(self.classes)))
        s, p = np.empty(len(self.classes)), np.empty(len(self.classes))
        given = (each, codes[row], weight[row], cap, aside, shares)
        play_round(*given, votes[0], logs[0], self._due, s, p)
        if weight[row] == 0.0:
            self._due[:] = 0.0
        return np.copyto, numbers, aside

    def teach(self, rows, order, codes, **metadata):
        """Teach the row that was played to those that are to learn it."""
        if self._due.any():
            self._learn_row(rows, order[0], self._due, metadata)

    def _learn_row(self, rows, row, saved, metadata):
        """One example of the row per class that saves something, with that as its weight."""
        for learner, weights in zip(self.learners, saved, strict=True):
            labels = np.flatnonzero(weights > 0.0)
            if len(labels):
                again = np.full(len(labels), row)
                own = {"classes": self.classes, "sample_weight": weights[labels]}
                given = part_of(metadata, again, rows.n_rows)
                learner.partial_fit(rows.matrix[again], labels, **own, **given)
        self.fitted = True
