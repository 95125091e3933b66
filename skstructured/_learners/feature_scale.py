"""Features on one scale, for learners that see all rows beforehand."""

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import min_max_axis

from skstructured.extend._types import Floats, Matrix


class FeatureScale:
    """Features z = (x − center)/scale, and weights of x for those of z.

    Parameters
    ----------
    center, scale : ndarray of shape (p,) or None
        None leaves features as they are.
    """

    def __init__(self, center: Floats | None = None, scale: Floats | None = None) -> None:
        self.center = center
        self.scale = scale

    @classmethod
    def of(cls, X: Matrix, weight: Floats, centred: bool, indicators: bool = False) -> Self:
        """Mean and deviation of dense columns, the largest entry of those of CSR rows.

        Columns that are constant keep their scale, and dense ones of 0 and 1 alone do where
        `indicators`; rows of weight 0 do not count.
        """
        if sparse.issparse(X):
            low, high = min_max_axis(X[weight > 0], axis=0)
            return cls(None, _positive(np.maximum(np.abs(low), np.abs(high))))
        share = weight / weight.sum()
        mean = share @ X
        deviation = np.sqrt(np.maximum(share @ (X - mean) ** 2, 0.0))
        tiny = deviation <= 1e-12 * np.abs(mean)
        zero_one = ((X == 0.0) | (X == 1.0))[weight > 0.0].all(axis=0)
        kept = zero_one & indicators
        scale = np.where(kept, 1.0, _positive(np.where(tiny, 0.0, deviation)))
        return cls(np.where(kept, 0.0, mean) if centred else None, scale)

    def transform(self, X: Matrix) -> Matrix:
        """The features z of rows X; X itself where nothing is to be done."""
        if self.scale is None:
            return X
        if sparse.issparse(X):
            Z: Any = X.copy()
            Z.data = Z.data / self.scale[Z.indices]
            return Z
        return np.ascontiguousarray((X if self.center is None else X - self.center) / self.scale)

    def fold(self, coef: Floats, intercept: Floats) -> tuple[Floats, Floats]:
        """Weights (dim, p) and intercepts of x for those of z."""
        if self.scale is None:
            return coef, intercept
        coef = coef / self.scale
        return coef, intercept if self.center is None else intercept - coef @ self.center

    def unfold(self, coef: Floats, intercept: Floats) -> tuple[Floats, Floats]:
        """The inverse of `fold`."""
        if self.scale is None:
            return coef, intercept
        back = intercept if self.center is None else intercept + coef @ self.center
        return coef * self.scale, back


def _positive(scale: Floats) -> Floats:
    return np.where(scale > 0.0, scale, 1.0)
