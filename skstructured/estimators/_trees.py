"""Randomized trees that predict a quantile, the trees of `StructuredRegressor`."""

from typing import Self

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.utils.validation import _num_samples

from skstructured._base.component import Seed
from skstructured.extend._types import Features, Floats, Given, Outputs

#: Rows that each tree learns, at most.
MOST = 10_000


class QuantileTrees(ExtraTreesRegressor):
    """Predict a quantile of what 100 randomized trees predict, each with one row per leaf.

    The median, unlike the mean, is not drawn to outliers: it is one of those trees that most trees
    surround. Above 10,000 rows each tree is trained on as many, drawn with replacement.

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
        self.bootstrap = _num_samples(X) > MOST
        self.max_samples = MOST if self.bootstrap else None
        return super().fit(X, y, sample_weight)

    def predict(self, X: Features) -> Floats:
        """The quantile over all trees, (n,)."""
        leaves = self.apply(X).T
        values = [t.tree_.value[of, 0, 0] for t, of in zip(self.estimators_, leaves, strict=True)]
        return np.quantile(values, self.quantile, axis=0)
