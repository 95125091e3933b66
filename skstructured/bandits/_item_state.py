"""What bandits whose actions have features have learned, and how they read rounds."""

from typing import ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from skstructured._base.rows_in_range import check_finite
from skstructured._base.validation import check_bool, check_positive, is_ready, own_arrays
from skstructured._engine.rows import LONGEST, Rows
from skstructured._engine.standardize import RunningScale
from skstructured._learners.lock import Locked
from skstructured._learners.scaling import scale_of
from skstructured._learners.second_order import LONGEST_OF_UNIT
from skstructured.bandits._item_rounds import Actions, read_actions
from skstructured.bandits._ridge import RunningRidge
from skstructured.extend._types import Floats


class ItemState(Locked, BaseEstimator):
    """Ridge regression on the features of actions; what `ItemBandit` chooses by."""

    lam: float
    noise_scale: float | None
    standardize: bool | Literal["auto"]
    fit_intercept: bool

    #: Whether choices are drawn.
    randomized: ClassVar[bool] = True

    @property
    def coef_(self) -> Floats:
        """Weights (p,) of features in their own units."""
        return self._weights()[: self.n_features_in_]

    @property
    def intercept_(self) -> float:
        """The estimated reward where all features are 0; 0 without an intercept."""
        weights = self._weights()
        return float(weights[-1]) if self._intercept else 0.0

    @property
    def noise_scale_(self) -> float:
        """R: as given, or learned."""
        check_is_fitted(self, "t_")
        return self._noise()

    @property
    def _scale(self) -> RunningScale:
        return self._ridge.scale

    @property
    def longest_row(self) -> float:
        """The longest row whose square leaves digits of the regularization, as learned raw."""
        return min(LONGEST, np.sqrt(check_positive("lam", self.lam)) * LONGEST_OF_UNIT)

    def _weights(self):
        if not hasattr(self, "t_"):
            raise AttributeError("coef_ and intercept_ are set by the first round.")
        with self.lock:
            return self._ridge.weights

    def _noise(self):
        """R as given; or √(the least of the regularized squares/Σ w), and 1 where that is 0."""
        if self.noise_scale is not None:
            return float(self.noise_scale)
        ridge = self._ridge
        return np.sqrt(ridge.loss / ridge.weight) if ridge.loss > 0.0 else 1.0

    def _fitted(self, X_actions, qid, available) -> tuple[Actions, Floats]:
        check_is_fitted(self, "t_")
        actions, X = self._read(X_actions, qid, available)
        return actions, self._ridge.ready(X)

    def _read(self, X_actions, qid, available) -> tuple[Actions, Floats]:
        """The rounds, and the rows (N', p) of available actions, checked."""
        actions = read_actions(X_actions, qid, available)
        fresh, X = not hasattr(self, "t_"), actions.items.values
        if fresh or not is_ready(self, X):
            wanted = {"dtype": np.float64, "order": "C", "ensure_all_finite": False}
            X = validate_data(self, X, reset=fresh, **wanted)
        check_finite(self, Rows.from_array(X), fresh)
        return actions, X

    def _start_with(self, X):
        self._check_parameters()
        if hasattr(self, "t_"):
            own_arrays(self)
            return
        self._intercept = bool(self.fit_intercept)
        scale = scale_of(self, X.shape[1], self._intercept)
        self._ridge = RunningRidge(scale, X.shape[1], self._intercept, float(self.lam))
        if self.randomized:
            self.random_state_ = check_random_state(self.random_state)
        self.t_ = 0

    def _check_parameters(self):
        check_positive("lam", self.lam)
        check_bool("fit_intercept", self.fit_intercept)
        if self.noise_scale is not None:
            check_positive("noise_scale", self.noise_scale)
