"""Randomized trees that predict a quantile, the trees of `StructuredRegressor`."""

from typing import Self

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.utils import check_array

from skstructured._base.component import Seed
from skstructured.extend._types import Features, Floats, Given, Outputs

#: Rows that each tree learns, at most.
MOST = 10_000

#: Values farther from the training rows, in units of their range, are as far as this.
FAR = 1e6


class QuantileTrees(ExtraTreesRegressor):
    """Predict a quantile of what 100 randomized trees predict, each with one row per leaf.

    The median is robust, unlike the mean: outliers change it only if they are in half of the
    leaves. Above 10,000 rows each tree is trained on as many, drawn with replacement. Features
    are divided by their range, because trees have 32 bits. NaN is allowed.

    Parameters
    ----------
    quantile : float, default=0.5
        Which quantile of the trees' predictions, in [0, 1].
    random_state : int, RandomState instance or None, default=None
        Seeds the trees.

    References
    ----------
    Geurts, Ernst, Wehenkel (2006), "Extremely randomized trees"; Meinshausen (2006), "Quantile
    regression forests".
    """

    def __init__(self, quantile: float = 0.5, random_state: Seed = None) -> None:
        super().__init__(random_state=random_state)
        self.quantile = quantile

    def fit(self, X: Features, y: Outputs, sample_weight: Given = None) -> Self:
        """Train the trees; returns self."""
        X = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan")
        self._low = np.nan_to_num(np.fmin.reduce(X, axis=0))
        span = np.nan_to_num(np.fmax.reduce(X, axis=0)) - self._low
        self._span = np.where(span > 0.0, span, 1.0)
        self.bootstrap = len(X) > MOST
        self.max_samples = MOST if self.bootstrap else None
        return super().fit(self._units(X), y, sample_weight)

    def _units(self, X):
        """Columns in units of their range: trees are of 32 bits."""
        return np.clip((X - self._low) / self._span, -FAR, FAR)

    def predict(self, X: Features) -> Floats:
        """The quantile over all trees, (n,)."""
        X = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan")
        leaves = self.apply(self._units(X)).T
        values = [t.tree_.value[of, 0, 0] for t, of in zip(self.estimators_, leaves, strict=True)]
        return np.quantile(values, self.quantile, axis=0)
