"""The regressor to try first: a linear model, three kernels and trees, mixed on held-out rows."""

from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import _num_samples, check_is_fitted

from skstructured._base.component import Seed, parameters
from skstructured._base.docstrings import inherit_parameters
from skstructured._base.validation import check_weights
from skstructured._learners.predictions import with_rows
from skstructured.estimators._trees import QuantileTrees
from skstructured.estimators.kernel._values import Kernel
from skstructured.estimators.kernel.margins import PiSTOLRegressor
from skstructured.estimators.structured import KERNELS, SEEDS, Ensemble, StructuredPredictor
from skstructured.extend._types import Array, Features
from skstructured.losses.surrogates import ResidualLoss
from skstructured.spaces._real_line import RealLine

__all__ = ["StructuredRegressor"]

#: Passes of members, whose steps are bolder by a smaller `a`.
PASSES, CAUTION = 40, 0.1


@inherit_parameters(StructuredPredictor, PiSTOLRegressor)
@parameters
class StructuredRegressor(RegressorMixin, Ensemble):
    r"""Predict numbers without hyperparameters to tune: the regressor to try first.

    A linear model, three kernel models and randomized trees are fitted to all rows, and their
    predictions are mixed [1]_. The weights of the mixture minimize `loss` on a held-out fifth of
    the rows, with models that were fitted without these rows, as in `StructuredPredictor`.

    Parameters
    ----------
    {StructuredPredictor: estimators}
        "auto" is four `PiSTOLRegressor`, a linear one and one for each of "rbf", "laplacian" and
        "arc-cosine" (random features if the kernels need more than `cache_size`), and for dense X
        randomized trees, whose median is predicted, or the `quantile` for ``loss="quantile"``.
        Other members can be any regressors.
    loss : {"huber", "absolute", "epsilon_insensitive", "quantile"}, default="huber"
        Loss of the members and of the weights; see `PiSTOLRegressor`.
    {PiSTOLRegressor: quantile, missing}
    {StructuredPredictor: cache_size, n_jobs, random_state}

    Attributes
    ----------
    {StructuredPredictor: estimators_, named_estimators_, weights_}
    validation_scores_ : ndarray of shape (n_members,)
        R² of each member on held-out rows; NaN with fewer than 20 rows.
    {StructuredPredictor: validation_score_}
    {StructuredPredictor: n_features_in_, feature_names_in_}

    See Also
    --------
    PiSTOLRegressor : One member alone, for streams too.
    StructuredPredictor : The same for classes, label sets, rankings and assignments.

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
    missing: Literal["mean", "indicator", "error"] = "mean"
    cache_size: float = 500
    n_jobs: int | None = None
    random_state: Seed = None

    def _start(self, y, sample_weight):
        self._line = RealLine().fit(y, sample_weight)
        self._loss = ResidualLoss(self._line, self.loss, quantile=self.quantile)
        self._loss.kernel_arguments(1)
        packed = self._line.pack(y)
        return packed, check_weights(sample_weight, packed, len(packed))

    def _default_members(self, X, rng):
        shared = {"loss": self.loss, "quantile": self.quantile, "missing": self.missing}
        shared |= {"a": CAUTION, "max_iter": PASSES}
        exact, kinds = self._fits_in_cache(_num_samples(X)), {"linear": "none", **KERNELS}
        *seeds, last = rng.randint(SEEDS, size=1 + len(kinds))
        members: list[tuple[str, Any]] = [
            (name, PiSTOLRegressor(
                Kernel(name, cache_size=self.cache_size),
                approximation="none" if exact else features, random_state=seed, **shared,
            ))
            for (name, features), seed in zip(kinds.items(), seeds, strict=True)
        ]  # fmt: skip
        if issparse(X):
            return members
        quantile = self.quantile if self.loss == "quantile" else 0.5
        return [*members, ("trees", QuantileTrees(quantile, random_state=last))]

    def _judge(self, predictions, packed, weight):
        y, share = self._line.decode(packed[:, None]), weight / weight.sum()
        thetas, V = self._line.pack(predictions.ravel()).reshape(predictions.shape), packed[:, None]

        def lost(v):
            theta = (v @ thetas)[:, None]
            value, slope = self._loss.value_and_gradient(theta, V)
            return share @ value, thetas @ (share * slope[:, 0])

        return lost, lambda said: r2_score(y, said, sample_weight=weight)

    @staticmethod
    def _predict(member, X):
        return np.asarray(member.predict(X), dtype=np.float64)

    def predict(self, X: Features) -> Array:
        """Predictions (n,)."""
        check_is_fitted(self)
        return self._mixed_predictions(X)

    def __sklearn_tags__(self):
        return with_rows(super().__sklearn_tags__(), self)
