"""The regressor to try first: linear, kernel and tree members, mixed by the loss."""

from typing import Literal

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from skstructured._base.component import Seed, inherit_parameters, parameters
from skstructured._base.validation import check_bool, check_weights
from skstructured._learners.lock import snapshot
from skstructured.estimators._auto import draw_seeds
from skstructured.estimators.kernel.margins import PiSTOLRegressor
from skstructured.estimators.mixture._learner import CrossFittedRegressor
from skstructured.estimators.mixture._minimizer import LossMinimizer
from skstructured.estimators.mixture._mixture import Mixture
from skstructured.estimators.mixture._trees import VertexTrees
from skstructured.estimators.structured import StructuredPredictor
from skstructured.extend._types import Array, Features
from skstructured.losses.surrogates import ResidualLoss
from skstructured.spaces._real_line import RealLine

__all__ = ["StructuredRegressor"]


@inherit_parameters(StructuredPredictor, PiSTOLRegressor)
@parameters
class StructuredRegressor(RegressorMixin, Mixture):
    r"""Predict numbers without hyperparameters to tune: the regressor to try first.

    Linear, kernel and tree models are fitted to all rows, and their predictions are mixed [1]_. The
    weights of the mixture minimize `loss` over predictions of models that have not learned the row,
    as in `StructuredPredictor`.

    Parameters
    ----------
    {StructuredPredictor: estimators}
        "auto" is a linear model that minimizes the penalized loss, kernel ridge regressions with
        "rbf", "laplacian" and "arc-cosine", boosted trees (not for CSR rows, and only if their loss
        is near that of the best other member or less), and randomized trees. The linear model of
        CSR rows, and of many rows with many features, is a `PiSTOLRegressor`. Other members can be
        any regressors.
    loss : {"huber", "absolute", "epsilon_insensitive", "quantile"}, default="huber"
        Loss of the linear model, of boosted trees and of the weights; see `PiSTOLRegressor`. The
        prediction of randomized trees is the mean of their leaves; the median for "absolute", and
        the quantile for "quantile".
    {PiSTOLRegressor: quantile}
    extrapolate : bool, default=False
        Whether predictions may be far outside the range of y. If not, they are at most a tenth of
        that range below its least or above its largest number. True suits trends that continue;
        cells beyond the range of their column still count as its edge.
    {PiSTOLRegressor: missing}
    {StructuredPredictor: n_landmarks, n_jobs, verbose, random_state, max_seconds}

    Attributes
    ----------
    {StructuredPredictor: estimators_}
    named_estimators_ : dict
        The same by name: "linear", "rbf", "laplacian", "arc-cosine", "boosting" and "trees".
    weights_ : ndarray of shape (n_members,)
        Weights of the members, positive. All equal with fewer than 20 effective rows.
    intercept_ : ndarray of shape (1,)
        What is added, in the units of `space_`; 0 with fewer than 20 effective rows.
    validation_scores_ : ndarray of shape (n_members,)
        R² of each member alone on rows it has not learned; NaN with fewer than 20
        effective rows.
    {StructuredPredictor: validation_score_}
    {StructuredPredictor: n_features_in_, feature_names_in_}

    See Also
    --------
    PiSTOLRegressor : One member alone, for streams too.
    StructuredPredictor : The same for classes, label sets, rankings and assignments.

    Notes
    -----
    Members learn ``(y − center)/scale``, with the median of y and a robust scale. For kernels and
    trees, outputs are at most 20 scales from the median; weights and scores use them unchanged. The
    weights are those of `StructuredPredictor`, with `loss`, the usual weight 1/n_members instead of
    2, and ε = 0.

    References
    ----------
    .. [1] Breiman (1996). Stacked regressions. Machine Learning.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skstructured import StructuredRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = StructuredRegressor(random_state=0).fit(X[:300], y[:300])
    >>> model.score(X[300:], y[300:]) > 0.4
    True
    """

    estimators: Literal["auto"] | list = "auto"
    loss: str = "huber"
    quantile: float = 0.5
    extrapolate: bool = False
    missing: Literal["mean", "indicator", "error"] = "mean"
    n_landmarks: int = 2000
    n_jobs: int | None = None
    verbose: bool | int = 0
    random_state: Seed = None
    max_seconds: float | None = None

    member_of = CrossFittedRegressor

    def _start(self, y, sample_weight):
        check_bool("extrapolate", self.extrapolate)
        self.space_ = RealLine().fit(y, sample_weight)
        self.loss_ = ResidualLoss(self.space_, self.loss, quantile=self.quantile)
        self.loss_.kernel_arguments(1)
        packed = self.space_.pack(y)
        weight = check_weights(sample_weight, packed, len(packed))
        low, high = (end(packed[weight > 0.0]) for end in (np.min, np.max))
        margin = 0.1 * (high - low)
        self._range = low - margin, high + margin
        return packed, weight

    def _vertices(self, packed):
        return np.clip(super()._vertices(packed), -20.0, 20.0)

    def _truths(self, training):
        return super()._vertices(self.space_.pack(training.y))

    def _learners(self, X):
        options = {"loss": self.loss, "quantile": self.quantile, "missing": self.missing}
        options |= {"a": 0.1, "max_iter": 40, "standardize": "moments"}
        seed = draw_seeds(self.random_state_)
        passes = PiSTOLRegressor("linear", random_state=seed, **options)
        return [("linear", LossMinimizer.linear(self.loss_, X, seed) or passes)]

    def _trees(self, seed):
        quantile = {"quantile": self.quantile, "absolute": 0.5}.get(self.loss)
        return VertexTrees(self.loss_, quantile, seed, self.n_jobs)

    def _usual_weight(self, n_members):
        return 1.0 / n_members

    def _judge(self, theta, packed, weight):
        y = self.space_.decode(packed[:, None])
        return r2_score(y, self._decoded(theta), sample_weight=weight)

    def _decoded(self, theta):
        """Predictions of scores (n, 1)."""
        if not getattr(self, "extrapolate", True):  # older saved models have no such range
            theta = np.clip(theta, *self._range)
        return self.space_.decode(theta)

    def predict(self, X: Features) -> Array:
        """Predictions (n,)."""
        twin = snapshot(self)
        check_is_fitted(twin, "space_")
        return twin._decoded(twin._mixed_scores(X))
