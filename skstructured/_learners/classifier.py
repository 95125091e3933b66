"""Bases of learners of one pass, and of classifiers with one score per class."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skstructured._base.validation import (
    check_bool,
    check_finite,
    check_lengths,
    check_weights,
    own_arrays,
    read_rows,
    takes_gaps,
)
from skstructured._engine.rows import Rows
from skstructured._learners.batch_scaling import ranges_of, scale_of
from skstructured._learners.lock import first_call, learning_aside, lock_of, locked, snapshot
from skstructured._learners.passes import with_progress
from skstructured.extend._types import Array, Features, Floats, Given, Ints, Matrix, Outputs, Seed
from skstructured.extend.learner import Batch, Losses, OnlineLearner
from skstructured.extend.output_space import OutputSpace
from skstructured.spaces import Simplex


# Methods of learners that have ``_first(X, y, classes, sample_weight, stream)``, which restarts
# them, and `resume`, both of which return a `Batch`; and ``_learn(rounds, order)``.
def fit(self: Any, X: Features, y: Outputs, sample_weight: Given = None) -> Any:
    """Learn one pass from scratch, in random order; `partial_fit` learns in the given order.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n, p)
        Features, unscaled.
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
        For a bad parameter, NaN or inf in X, bad labels, or lengths that differ; nothing is
        then changed.
    """
    shuffle = getattr(self, "shuffle", True)
    check_bool("shuffle", shuffle)
    with self.turn, learning_aside(self) as new:
        rounds = new._first(X, y, None, sample_weight, stream=False)
        rng = getattr(new, "random_state_", None) or check_random_state(self.random_state)
        new._learn(rounds, rounds.order(rng if shuffle else None))
    self._warn_diagnostics()
    return self


def partial_fit(
    self: Any, X: Features, y: Outputs, classes: Given = None, sample_weight: Given = None
) -> Any:
    """Learn the rows in order, one round each; chunks of any size give the same result.

    Parameters
    ----------
    X, y, classes, sample_weight : array-like
        Rows, labels and weights as in `fit`; `classes` are all labels, needed at the first
        call.

    Returns
    -------
    self

    Raises
    ------
    ValueError
        For the same errors as `fit`, and for labels that are not among the classes.
    """
    with self.turn, first_call(self, "classes_") as new:
        if new is not self:
            rounds = new._first(X, y, classes, sample_weight, stream=True)
        else:
            if classes is not None:
                self.space_.check_classes(classes)
            rounds = self.resume(X, y, sample_weight)
            own_arrays(self)
        new._learn(rounds, np.arange(len(rounds.packed)))
    self._warn_diagnostics()
    return self


def learn(self: Any, rounds: Batch, which: Ints) -> None:
    """Learn rounds in the order of `which`."""
    self._learn(rounds, np.asarray(which))


def with_intercept(X: Matrix, intercept: bool) -> Array:
    """Rows as a C-contiguous dense array, a constant 1 appended if there is an intercept."""
    X = np.asarray(X.todense()) if hasattr(X, "todense") else X
    return np.hstack([X, np.ones((len(X), 1))]) if intercept else np.ascontiguousarray(X)


#: Rows learned at a time.
BLOCK = 64


class ClassScores:
    """Predictions of learners with one score per class; needs `_thetas(X)` and `classes_`."""

    space_: OutputSpace
    classes_: Array
    _start: Callable[[Any], None]
    feature_ranges_ = property(ranges_of)

    @abstractmethod
    def _thetas(self, X: Matrix) -> Floats:
        """Scores (n, K) of checked rows, with the weights the next round is played with."""

    def decision_function(self, X: Features) -> Floats:
        """Scores of the classes, (n, K); with two classes their difference, (n,)."""
        theta = self._scores(X)
        return theta[:, 1] - theta[:, 0] if theta.shape[1] == 2 else theta

    def predict(self, X: Features) -> Array:
        """The class of the largest score of every row, without randomness."""
        known = snapshot(self)
        best = np.argmax(known._scores(X), axis=1)
        return known.classes_[best]

    def begin(self, X: Features, y: Outputs, classes: Given = None) -> Batch:
        """Start a stream whose classes are `classes` or those of y; its `Batch`.

        Bandits whose constructor names the classes have those.
        """
        with learning_aside(self) as new:
            return new._first(X, y, y if classes is None else classes, None, stream=True)

    def resume(self, X: Features, y: Outputs, sample_weight: Given = None) -> Batch:
        """`Batch` of further rows of the stream that is being learned."""
        return self._with_labels(self._rows(X), y, sample_weight, stream=True)

    def answer(self, rounds: Batch, which: Ints) -> Losses:
        """The `Losses` of predictions; nothing is learned."""
        wrong = np.argmax(self._thetas(rounds.X[which]), axis=1) != rounds.packed[which]
        lost = wrong.astype(np.float64)
        return Losses(lost, lost, np.full(len(lost), np.nan))

    def _scores(self, X: Features) -> Floats:
        known = snapshot(self)
        with lock_of(known):
            return known._thetas(known._fitted_rows(X))

    def _fitted_rows(self, X: Features) -> Matrix:
        check_is_fitted(self, "classes_")
        return self._rows(X).X

    def _rows(self, X: Features, reset: bool = False) -> Rows:
        """`Rows` of a new X, checked."""
        fresh = reset or not hasattr(self, "classes_")
        rows = read_rows(self, X, reset=fresh)
        check_finite(self, rows, fresh)
        return rows

    def _first(self, X: Any, y: Any, classes: Given, sample_weight: Given, stream: bool) -> Batch:
        """Restart, with the classes of a stream or those of y; the `Batch` of its first rows."""
        rows, space = self._rows(X, reset=True), Simplex()
        self._start(space.fit_stream(y, classes) if stream else space.fit(y))
        return self._with_labels(rows, y, sample_weight, stream)

    def _with_labels(self, rows: Rows, y: Any, sample_weight: Given, stream: bool) -> Batch:
        """`Batch` of rows with labels and weights."""
        codes = self._check_labels(rows, y)
        return Batch(rows, codes, check_weights(sample_weight, rows.X, rows.n_rows, stream))

    def _check_labels(self, rows: Rows, y: Outputs) -> Ints:
        """Positions of labels among the classes, one per row."""
        codes = self.space_.pack(y)
        check_lengths(rows.n_rows, len(codes))
        return codes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]  # of the class that it is mixed into
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = takes_gaps(self, fresh=True)
        return tags


@locked
class OnlineClassifier(ClassScores, OnlineLearner, ClassifierMixin, BaseEstimator):
    """Base of full-information learners that see one dense row at a time.

    Has the parameters `fit_intercept`, `shuffle`, `random_state`, maybe `standardize` and
    `verbose`. A subclass sets up its weights in `_setup`, scores in `_thetas`, and learns in
    `_learn_row`.
    """

    @abstractmethod
    def _setup(self, K: int, width: int) -> None:
        """Check the parameters and make the weights, for rows of `width` features."""

    @abstractmethod
    def _learn_row(self, x: Floats, code: int) -> bool:
        """Learn a row (width,), the 1 of the intercept included; whether it was a mistake."""

    learn = learn

    def fit(self, X: Features, y: Outputs) -> Self:
        """Learn one pass from scratch; returns self."""
        return fit(self, X, y)

    def partial_fit(self, X: Features, y: Outputs, classes: Given = None) -> Self:
        """Learn rows in order, one round each; `classes` on the first call. Returns self."""
        return partial_fit(self, X, y, classes)

    def play(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """The `Losses` of the classes of the largest scores: mistakes."""
        return self.answer(rounds, which)

    def _start(self, space: OutputSpace) -> None:
        self._intercept = bool(self.fit_intercept)
        self._scale = scale_of(self, self.n_features_in_, self._intercept, forgets=False)
        self.space_, self.classes_, self.t_, self.n_mistakes_ = space, space.classes_, 0, 0
        self._setup(space.dim_, self._scale.columns + self._intercept)

    def _learn(self, rounds: Batch, order: Ints) -> None:
        X, codes = rounds.X, rounds.packed
        for start in with_progress(self, range(0, len(order), BLOCK), len(order)):
            with self.lock, learning_aside(self, continues=True) as twin:
                for i in order[start : start + BLOCK]:
                    rows, _ = twin._scale.apply(Rows.from_array(X[i : i + 1]))
                    x = with_intercept(rows.matrix, self._intercept)[0]
                    twin.n_mistakes_ += int(twin._learn_row(x, codes[i]))
                    twin.t_ += 1
