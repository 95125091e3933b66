"""Effects of features by a fitted conditional logit, and its summary."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from skstructured.extend._types import Floats
from skstructured.items._choice_likelihood import probabilities
from skstructured.items._choice_summary import (
    ChoiceSummary,
    Elasticities,
    WillingnessToPay,
    ratio_of,
)

CLUSTERED = "clustered, by the sandwich of the inverse Hessian"
OBSERVED = "inverse Hessian"


class ChoiceEffects:
    """Elasticities, willingness to pay, and the summary; needs `_utilities`."""

    coef_: Floats
    standard_errors_: Floats
    log_likelihood_: float
    null_log_likelihood_: float
    n_features_in_: int
    rank_: int
    _total: float
    _clustered: bool
    _utilities: Any

    def elasticities(
        self,
        X: Any,
        qid: ArrayLike | None = None,
        available: Any = None,
        feature: Any = None,
    ) -> Elasticities:
        """By how many per cent probabilities change where a feature of an item changes by one.

        ``∂ ln p_i/∂ ln x_jk = w_k x_jk (1[i = j] − p_j)``: an item's own probability, and those of
        the others in its round, which change alike.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (N, p), or list of n matrices (m, p)
            Items, as in `fit`.
        qid : array-like of shape (N,) or None, default=None
            Rounds of the rows.
        available : array-like of bool or None, default=None
            Which items there are, in the form of X.
        feature : str, int or None, default=None
            Name or number of a feature; None is all of them.

        Returns
        -------
        Elasticities
            ``own`` and ``cross``, one number per item for one feature, else one per item and
            feature, in the form of X; NaN for items that are not available.
        """
        items, matrix, theta = self._utilities(X, qid, available)
        which = slice(None) if feature is None else self._number_of(feature, "feature")
        values = matrix[:, which] if feature is None else matrix[:, [which]]
        values = values.toarray() if sparse.issparse(values) else values
        proba = probabilities(theta, items.offsets)[0][:, None]
        effect = values * np.atleast_1d(self.coef_[which])
        pair = (effect * (1.0 - proba), -effect * proba)
        shown = pair if feature is None else tuple(part[:, 0] for part in pair)
        return Elasticities(*(items.unstacked(part) for part in shown))

    def willingness_to_pay(self, feature: Any, cost: Any) -> WillingnessToPay:
        """What a unit more of a feature is worth, in units of the cost, and its standard error.

        ``−coef[feature]/coef[cost]``: where the cost rises by so much with the feature, utility is
        as it was. Costs that are disliked have a negative weight; then it is positive for features
        that are liked. The value of time saved is minus that of time. The standard error is that of
        the delta method, and is good where the weight of the cost is many standard errors from 0.

        Parameters
        ----------
        feature : str or int
            Name or number of a feature.
        cost : str or int
            Name or number of the feature that is paid.

        Returns
        -------
        WillingnessToPay
            ``value`` and ``standard_error``.

        Raises
        ------
        ValueError
            For names that are not there, and a cost whose weight is 0.
        """
        check_is_fitted(self)
        j, c = self._number_of(feature, "feature"), self._number_of(cost, "cost")
        if self.coef_[c] == 0.0:
            raise ValueError(f"cost must have a weight other than 0, got {cost!r}.")
        size = self.n_features_in_
        covariance = getattr(self, "covariance_", np.full((size, size), np.nan))
        return ratio_of(self.coef_, covariance, j, c)

    def summary(self, level: float = 0.95, feature_names: ArrayLike | None = None) -> ChoiceSummary:
        """Weights with standard errors and intervals, log-likelihoods, McFadden's R².

        Parameters
        ----------
        level : float, default=0.95
            Of the intervals, between 0 and 1.
        feature_names : array-like of str of shape (n_features_in_,) or None, default=None
            What features are called, where X had no names.

        Returns
        -------
        ChoiceSummary
            Prints as a table; ``to_frame()`` and ``to_dict()`` have its columns.
        """
        check_is_fitted(self)
        names = self._names() if feature_names is None else np.array(feature_names, dtype=object)
        if names.shape != (self.n_features_in_,):
            raise ValueError(
                f"feature_names must be {self.n_features_in_} names, got {feature_names!r}."
            )
        return ChoiceSummary(
            names,
            self.coef_,
            self.standard_errors_,
            self.log_likelihood_,
            self.null_log_likelihood_,
            self._total,
            self.rank_,
            CLUSTERED if self._clustered else OBSERVED,
            level,
        )

    def _names(self):
        """Names of features, x0, x1, … where they have none."""
        default = [f"x{j}" for j in range(self.n_features_in_)]
        return np.array(getattr(self, "feature_names_in_", default), dtype=object)

    def _number_of(self, given, name):
        """Number of a feature that is given by name or number."""
        if isinstance(given, str):
            found = np.flatnonzero(self._names() == given)
            if len(found) == 0:
                known = ", ".join(map(repr, self._names()[:20]))
                raise ValueError(f"{name} must be a feature, one of {known}, got {given!r}.")
            return int(found[0])
        size = self.n_features_in_
        is_number = isinstance(given, (int, np.integer)) and not isinstance(given, bool)
        if not (is_number and -size <= given < size):
            raise ValueError(f"{name} must be a name or a number below {size}, got {given!r}.")
        return int(given) % size
