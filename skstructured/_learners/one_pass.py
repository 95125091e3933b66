"""Learners of one pass over rows in which every row is a round: `fit` and `partial_fit`."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from skstructured._base.validation import check_bool, own_arrays, unchanged_on_error
from skstructured.extend._types import Features, Given, Ints, Outputs
from skstructured.extend.learner import Batch


class OnePass:
    """`fit` of one pass, and `partial_fit` of further rows; an error leaves a learner as it was.

    A learner has ``_first(X, y, classes, sample_weight, stream)``, which restarts it, and `resume`,
    both of which return a `Batch`; and ``_learn(rounds, order)``, which may take metadata.
    """

    _learn: Callable[..., Any]

    def fit(self, X: Features, y: Outputs, sample_weight: Given = None) -> Self:
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
        return self._fit(X, y, sample_weight)

    def partial_fit(
        self, X: Features, y: Outputs, classes: Given = None, sample_weight: Given = None
    ) -> Self:
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
        return self._partial_fit(X, y, classes, sample_weight)

    def learn(self, rounds: Batch, which: Ints) -> None:
        """Learn rounds in the order of `which`."""
        self._learn(rounds, np.asarray(which))

    def _fit(self: Any, X: Features, y: Outputs, sample_weight: Given, **given: Any) -> Any:
        shuffle = getattr(self, "shuffle", True)
        check_bool("shuffle", shuffle)
        with unchanged_on_error(self, aside=True) as new:
            rounds = new._first(X, y, None, sample_weight, stream=False)
            rng = getattr(new, "random_state_", None) or check_random_state(self.random_state)
            new._learn(rounds, rounds.order(rng if shuffle else None), **given)
        self._warn_diagnostics()
        return self

    def _partial_fit(
        self: Any, X: Features, y: Outputs, classes: Given, sample_weight: Given, **given: Any
    ) -> Any:
        first = not hasattr(self, "classes_")
        with unchanged_on_error(self, first) as new:
            if first:
                rounds = new._first(X, y, classes, sample_weight, stream=True)
                new._learn(rounds, np.arange(len(rounds.packed)), **given)
            else:
                if classes is not None:
                    self.space_.check_classes(classes)
                told = {} if sample_weight is None else {"sample_weight": sample_weight}
                rounds = self.resume(X, y, **told)
        if not first:
            own_arrays(self)
            self._learn(rounds, np.arange(len(rounds.packed)), **given)
        self._warn_diagnostics()
        return self
