"""Features on one scale, for learners that see all rows beforehand."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import issparse
from sklearn.preprocessing import MaxAbsScaler

from skstructured._base.validation import check_missing, check_standardize
from skstructured._engine.robust_columns import FeatureRanges, RobustColumns
from skstructured._engine.rows import Rows
from skstructured._engine.standardize import RunningScale
from skstructured.extend._types import Floats, Matrix


@dataclass(eq=False)
class FeatureScale:
    """Features z = (x − center)/scale of cells x in range, and weights of x for those of z."""

    center: Floats | None = None
    scale: Floats | None = None
    columns: RobustColumns | None = None

    @classmethod
    def of(
        cls,
        X: Matrix,
        weight: Floats,
        centered: bool,
        indicators: bool = False,
        columns: RobustColumns | None = None,
    ) -> Self:
        """Mean and deviation of dense columns, the largest entry of those of CSR rows.

        Cells are put in range before, by `columns`. Constant columns keep their scale, and with
        `indicators` so do dense columns of only 0 and 1. Rows of weight 0 do not count.
        """
        X = X if columns is None else columns.transform(X)
        if issparse(X):
            return cls(None, MaxAbsScaler().fit(X[weight > 0.0]).scale_, columns)
        share = weight / weight.sum()
        mean = share @ X
        deviation = np.sqrt(np.maximum(share @ (X - mean) ** 2, 0.0))
        tiny = deviation <= 1e-12 * np.abs(mean)
        is_binary = ((X == 0.0) | (X == 1.0))[weight > 0.0].all(axis=0) & indicators
        scale = np.where(is_binary | tiny, 1.0, deviation)
        return cls(np.where(is_binary, 0.0, mean) if centered else None, scale, columns)

    @property
    def used(self) -> bool:
        """Whether rows are standardized."""
        return self.scale is not None

    @property
    def ranges(self) -> FeatureRanges:
        """How rows are standardized."""
        assert self.scale is not None
        p, far = len(self.scale), np.full(len(self.scale), np.inf)
        center = np.zeros(p) if self.center is None else self.center
        ranges = FeatureRanges(center, self.scale, -far, far, np.zeros(p, dtype=bool))
        return ranges if self.columns is None else self.columns.ranges(ranges)

    def in_range(self, X: Matrix) -> Matrix:
        """Rows whose cells are in range."""
        return X if self.columns is None else self.columns.transform(X)

    def transform(self, X: Matrix) -> Matrix:
        """The features z of rows X; X itself if nothing changes."""
        if self.scale is None:
            return X
        X = self.in_range(X)
        if issparse(X):
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


def ranges_of(self: Any) -> FeatureRanges:
    """`FeatureRanges` of a learner that standardizes: center, scale, edges, heavy features."""
    scale = self._scaling if hasattr(self, "_scaling") else self._scale
    if not scale.used:
        raise AttributeError("feature_ranges_ is only set by rows that are standardized.")
    return getattr(scale, "inner", scale).ranges


def scale_of(
    learner: object,
    width: int,
    intercept: bool,
    dtype: DTypeLike = np.float64,
    forgets: bool = True,
) -> RunningScale:
    """A new `RunningScale` for ``learner.standardize``; a ValueError if that is invalid.

    Rows are centered if there is an intercept. Robust statistics forget, if `forgets`; learners
    that keep rows in old units must not.
    """
    missing, standardize = check_missing(learner), check_standardize(learner)
    is_robust = bool(standardize) and standardize != "moments"
    settings = bool(intercept), bool(standardize), dtype, missing == "indicator", is_robust
    return RunningScale(width, *settings, is_robust and forgets)


def training_means(rows: Rows, weight: Floats) -> Floats:
    """Means (p,) of every feature over the rows that have it; 0 for one that no row has."""
    X = rows.matrix
    if issparse(X):
        return np.asarray(X.T @ weight).ravel() / weight.sum()
    gaps = np.isnan(X)
    total = weight @ ~gaps
    return weight @ np.where(gaps, 0.0, X) / np.where(total > 0.0, total, 1.0)


def with_means(rows: Rows, means: Floats) -> Rows:
    """Rows with missing values imputed by means; the rows themselves if nothing is missing."""
    if rows.is_sparse or not np.isnan(np.add.reduce(rows.data)):
        return rows
    return Rows.from_array(np.where(np.isnan(rows.X), means, rows.X))
