"""The base of boosting and its trees: one pass over weighted rows, dense or CSR."""

from abc import abstractmethod
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skstructured._base.validation import check_weights, own_arrays, unchanged_on_error
from skstructured._learners.classifier import ClassScores
from skstructured._learners.lock import Locked
from skstructured._learners.passes import is_verbose, with_progress
from skstructured.extend._types import Features, Floats, Given, Ints, Outputs, Seed
from skstructured.extend.learner import Batch, Losses, OnlineLearner
from skstructured.spaces import Simplex

#: Rows learned at a time.
BLOCK = 1024


class VotingLearner(Locked, ClassScores, OnlineLearner, ClassifierMixin, BaseEstimator):
    """A learner that plays every class with some probability, and learns rows in blocks.

    A subclass makes what it learns in `_setup(K)`, plays and learns a block in `_learn_block`,
    and plays without learning in `_played`. Parameters `shuffle`, `verbose`, `random_state`.
    """

    @abstractmethod
    def _setup(self, K):
        """Check the parameters and make what is learned, for K classes."""

    @abstractmethod
    def _learn_block(self, rows, order, codes, weight, **given):
        """Play and learn rows in `order`; votes (m, K) and log probabilities (m, K) or None.

        `given` are metadata for who is wrapped, if any is.
        """

    @abstractmethod
    def _played(self, X):
        """Votes (n, K) and log probabilities (n, K) or None with which rows would be played."""

    def fit(self, X: Features, y: Outputs, sample_weight: Given = None) -> Self:
        """Learn one pass from scratch.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features, as they are.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,) or None, default=None
            Non-negative weights of the rounds; 0 leaves a row out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a bad parameter, NaN or inf in X, or lengths that differ; nothing is then changed.
        """
        self._fit(X, y, sample_weight)
        return self

    def _fit(self, X, y, sample_weight, **given):
        with unchanged_on_error(self, aside=True) as new:
            rows = new._rows(X, reset=True)
            new._start(Simplex().fit(y))
            codes = new._check_labels(rows, y)
            weight, order = check_weights(sample_weight, rows.X, rows.n_rows), np.arange(len(codes))
            if self.shuffle:
                order = check_random_state(self.random_state).permutation(len(codes))
            new._learn(rows, order, codes, weight, **given)

    def partial_fit(
        self, X: Features, y: Outputs, classes: Given = None, sample_weight: Given = None
    ) -> Self:
        """Learn rows in order, one round each.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features, as they are.
        y : array-like of shape (n,)
            Labels.
        classes : array-like or None, default=None
            All labels; needed on the first call.
        sample_weight : array-like of shape (n,) or None, default=None
            Non-negative weights of the rounds; 0 leaves a row out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a bad parameter, NaN or inf in X, lengths that differ, or labels that are not among
            the classes; nothing is then changed.
        """
        self._partial_fit(X, y, classes, sample_weight)
        return self

    def _partial_fit(self, X, y, classes, sample_weight, **given):
        first = not hasattr(self, "classes_")
        with unchanged_on_error(self, first) as new:
            is_verbose(self)
            rows = new._rows(X)
            if first:
                new._start(Simplex().fit_stream(y, classes))
            elif classes is not None:
                new.space_.check_classes(classes)
            codes = new._check_labels(rows, y)
            weight = check_weights(sample_weight, rows.X, rows.n_rows, stream=True)
        own_arrays(self)
        self._learn(rows, np.arange(rows.n_rows), codes, weight, **given)

    def play(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """The `Losses` of rounds played with what has been learned; nothing is learned."""
        votes, logs = self._played(rounds.X[which])
        return losses_of(votes, logs, rounds.packed[which], random_state)

    def learn(self, rounds: Batch, which: Ints) -> None:
        """Learn rounds in the order of `which`."""
        self._learn_rounds(rounds, which)

    def play_and_learn(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """Play each round, learn it, and go on; `Losses`."""
        votes, logs = self._learn_rounds(rounds, which)
        return losses_of(votes, logs, rounds.packed[which], random_state)

    def expected_losses(self, x: Floats, V: Floats) -> Floats:
        """Expected mistakes (m,) of the next play at x (1, p) against each vertex (m, K)."""
        check_is_fitted(self)
        return 1.0 - V @ self._played(x)[0][0]

    def _start(self, space):
        self.space_, self.classes_, self.t_ = space, space.classes_, 0
        self._setup(space.dim_)

    def _learn_rounds(self, rounds, which):
        which = np.asarray(which, dtype=np.intp)
        return self._learn(rounds.rows, which, rounds.packed, rounds.weights)

    def _learn(self, rows, order, codes, weight, **given):
        """Learn rows in `order`; votes and log probabilities of what was played."""
        played, codes = [], np.asarray(codes, dtype=np.int64)
        for start in with_progress(self, range(0, len(order), self._block), len(order)):
            block = order[start : start + self._block]
            with self.lock:
                played.append(self._learn_block(rows, block, codes, weight, **given))
        votes, logs = zip(*played, strict=True) if played else ([self._none()], [None])
        return np.concatenate(votes), None if logs[0] is None else np.concatenate(logs)

    @property
    def _block(self):
        """How many rows are learned at a time."""
        return BLOCK

    def _none(self):
        return np.empty((0, self.space_.dim_))


def losses_of(votes, logs, codes, random_state):
    """`Losses` of classes drawn from votes (n, K); surrogates are −logs of the true classes."""
    every = np.arange(len(codes))
    expected = np.clip(1.0 - votes[every, codes], 0.0, 1.0)
    u = check_random_state(random_state).random_sample(len(codes))
    surrogate = np.full(len(codes), np.nan) if logs is None else -logs[every, codes]
    return Losses((u < expected).astype(np.float64), expected, surrogate)
