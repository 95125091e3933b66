"""What a fitted conditional logit says of rounds of items."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skstructured._base.validation import check_weights
from skstructured.extend._types import Array, Floats
from skstructured.items._choice_likelihood import probabilities
from skstructured.items._choice_rounds import chosen_rows, first_largest, places_of, read_rounds


class ChoicePredictions:
    """Utilities, probabilities and predictions, by `coef_`."""

    coef_: Floats

    def _utilities(self, X, qid, available):
        check_is_fitted(self)
        items, matrix = read_rounds(self, X, qid, available)
        return items, matrix, matrix @ self.coef_

    def decision_function(self, X: Any, qid: ArrayLike | None = None, available: Any = None) -> Any:
        """Utilities ``<coef_, x_i>`` of items.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (N, p), or list of n matrices (m, p)
            Items, as in `fit`.
        qid : array-like of shape (N,) or None, default=None
            Rounds of the rows.
        available : array-like of bool or None, default=None
            Which items there are, in the form of X.

        Returns
        -------
        ndarray of shape (N,) or list of n arrays (m,)
            In the form of X; NaN for items that are not available.
        """
        items, _, theta = self._utilities(X, qid, available)
        return items.unstacked(theta)

    def predict_proba(self, X: Any, qid: ArrayLike | None = None, available: Any = None) -> Any:
        """Probabilities of the items, which sum to 1 in each round; as in `decision_function`.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (N, p), or list of n matrices (m, p)
            Items, as in `fit`.
        qid : array-like of shape (N,) or None, default=None
            Rounds of the rows.
        available : array-like of bool or None, default=None
            Which items there are, in the form of X.

        Returns
        -------
        ndarray of shape (N,) or list of n arrays (m,)
            In the form of X; 0 for items that are not available.
        """
        items, _, theta = self._utilities(X, qid, available)
        return items.unstacked(probabilities(theta, items.offsets)[0], 0.0)

    def predict_log_proba(self, X: Any, qid: ArrayLike | None = None, available: Any = None) -> Any:
        """Logarithms of the probabilities, -inf for items that are not available.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (N, p), or list of n matrices (m, p)
            Items, as in `fit`.
        qid : array-like of shape (N,) or None, default=None
            Rounds of the rows.
        available : array-like of bool or None, default=None
            Which items there are, in the form of X.

        Returns
        -------
        ndarray of shape (N,) or list of n arrays (m,)
            In the form of X.
        """
        items, _, theta = self._utilities(X, qid, available)
        return items.unstacked(probabilities(theta, items.offsets)[1], -np.inf)

    def predict(self, X: Any, qid: ArrayLike | None = None, available: Any = None) -> Array:
        """The likeliest item of each round, the first of those alike, in the form of y.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (N, p), or list of n matrices (m, p)
            Items, as in `fit`.
        qid : array-like of shape (N,) or None, default=None
            Rounds of the rows.
        available : array-like of bool or None, default=None
            Which items there are, in the form of X.

        Returns
        -------
        ndarray of shape (N,) or (n,)
            With qid 1 for the likeliest item of a round and 0 for others; else its place.
        """
        items, _, theta = self._utilities(X, qid, available)
        return places_of(items, first_largest(theta, items.offsets))

    def score(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        available: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Share of rounds whose chosen item is the likeliest.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (N, p), or list of n matrices (m, p)
            Items, as in `fit`.
        y : array-like of shape (N,) or (n,)
            Choices, as in `fit`.
        qid : array-like of shape (N,) or None, default=None
            Rounds of the rows.
        available : array-like of bool or None, default=None
            Which items there are, in the form of X.
        sample_weight : array-like of shape (n,) or (N,), or None, default=None
            Weights of rounds, or of rows, the same for all of a round.

        Returns
        -------
        float
            Between 0 and 1.
        """
        items, _, theta = self._utilities(X, qid, available)
        right = first_largest(theta, items.offsets) == chosen_rows(items, y)
        return float(np.average(right, weights=weights_of(items, sample_weight)))

    def log_likelihood(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        available: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """``Σ_t w_t ln p(chosen item of round t)`` of any rounds.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (N, p), or list of n matrices (m, p)
            Items, as in `fit`.
        y : array-like of shape (N,) or (n,)
            Choices, as in `fit`.
        qid : array-like of shape (N,) or None, default=None
            Rounds of the rows.
        available : array-like of bool or None, default=None
            Which items there are, in the form of X.
        sample_weight : array-like of shape (n,) or (N,), or None, default=None
            Weights of rounds, or of rows, the same for all of a round.

        Returns
        -------
        float
            At most 0.
        """
        items, _, theta = self._utilities(X, qid, available)
        logs = probabilities(theta, items.offsets)[1][chosen_rows(items, y)]
        return float(weights_of(items, sample_weight) @ logs)


def weights_of(items: Any, sample_weight: Any) -> Floats:
    """Weights (n,) of rounds."""
    return check_weights(items.of_rounds(sample_weight, "sample_weight"), items.qid, len(items))
