"""Bases of the classifiers with a loss of margins, and of the regressors."""

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from skstructured._base.rows_in_range import takes_gaps
from skstructured._base.validation import check_choice
from skstructured._learners.linear import LinearModel
from skstructured._learners.online import OnlineEstimator
from skstructured._learners.predictions import DecodedPredictions
from skstructured.decoders import MAP
from skstructured.estimators.kernel._learner import KernelLearner
from skstructured.extend._types import Array, Bound, Features, Floats, Given, Outputs
from skstructured.extend.learner import Losses
from skstructured.extend.optimizer import OnlineOptimizer
from skstructured.losses.margins import MarginLoss
from skstructured.losses.residuals import ResidualLoss
from skstructured.spaces._real_line import RealLine
from skstructured.spaces._signs import Signs


class KernelOrLinear(KernelLearner):
    """Weights of features with ``kernel="linear"``, else coefficients of rows."""

    _model: Any
    optimizer_: OnlineOptimizer

    def _in_primal(self):
        primal = isinstance(self.kernel, str) and self.kernel == "linear"
        if primal and self.budget is not None:
            raise ValueError(
                f"budget must be None with kernel='linear', which keeps no rows, got "
                f"{self.budget!r}."
            )
        return primal

    def _make_passes(self, rounds):
        rows = rounds.rows
        if isinstance(self.standardize, str) and self._in_primal() and rows.is_sparse:
            rows = rows.taken(np.flatnonzero(rounds.weights > 0.0))
            lengths = np.asarray(rows.matrix.multiply(rows.matrix).sum(axis=1))
            if np.ptp(lengths) <= 1e-6 * lengths.max():  # as text is, once it was normalised
                self._model.scale.used = False
        super()._make_passes(rounds)

    def _wants_intercept(self):
        if isinstance(self.fit_intercept, str) and self.fit_intercept == "auto":
            return self._in_primal()
        if not isinstance(self.fit_intercept, (bool, np.bool_)):
            raise ValueError(f'fit_intercept must be a bool or "auto", got {self.fit_intercept!r}.')
        return bool(self.fit_intercept)

    def certificate(self, delta: float | None = None) -> Bound:
        """The theorem that bounds the sum of the losses of the rounds; see `OnlineLearner`.

        ``bound(Σℓ(f), ‖f‖)`` of the result bounds the surrogate losses played, by those of any f.
        """
        check_is_fitted(self)
        model = self._model
        return self.optimizer_.certificate(model.certified_loss(), model.state.vector, delta)


class MarginClassifier(KernelOrLinear, DecodedPredictions, OnlineEstimator):
    """A classifier with a `MarginLoss`; needs `_margin_kind()` and `_optimizer()`."""

    def _unfitted_space(self):
        return Signs()

    def _unfitted_loss(self):
        return MarginLoss(kind=self._margin_kind())

    def _task(self):
        return "multiclass"

    def _decoder(self):
        return MAP()

    #: Values of the parameter `loss`.
    _kinds: tuple[str, ...] = ("logistic", "smooth_hinge", "hinge")

    def _parts(self, space):
        if hasattr(self, "loss"):
            check_choice("loss", self.loss, self._kinds)
        return MarginLoss(space, self._margin_kind()), self._optimizer()

    def decision_function(self, X: Features) -> Floats:
        """Scores: (n,) for two classes, above 0 for ``classes_[1]``; else one per class, (n, K)."""
        theta = self._scores(X)
        return theta[:, 0] if theta.shape[1] == 1 else theta


class Errors:
    """Scores of a regressor, and by how much they miss, in units of y."""

    def __init__(self, theta, loss, space):
        self.theta, self.loss, self.space = theta, loss, space

    def losses(self, V, random_state=None):
        """`Losses` where V was true: |f(x) − y|."""
        surrogate, error = self.sure_losses(V)
        return Losses(error, error, surrogate)

    def sure_losses(self, V):
        """Surrogate losses, and |f(x) − y|."""
        error = np.abs(self.space.decode(self.theta) - self.space.decode(V))
        return self.loss.value(self.theta, V), error


class ResidualRegressor(RegressorMixin, KernelOrLinear, OnlineEstimator):
    """A regressor with a `ResidualLoss`; needs `loss`, `epsilon`, `quantile` and `_optimizer()`."""

    def _unfitted_space(self):
        return RealLine()

    def _space_of(self, batch, y, sample_weight):
        return self._unfitted_space().fit(y, sample_weight)

    def _parts(self, space):
        return ResidualLoss(space, self.loss, self.epsilon, self.quantile), self._optimizer()

    def partial_fit(self, X: Features, y: Outputs, sample_weight: Given = None) -> Self:  # type: ignore[override]  # no classes
        """Learn the rows in order, one round each; chunks of any size give the same weights.

        y is learned as it is, where `fit` takes its median and spread off: it must be of the order
        of 1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features.
        y : array-like of shape (n,)
            Real outputs.
        sample_weight : array-like of shape (n,) or None, default=None
            Non-negative weights of the rounds.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a bad parameter, NaN or inf in X or y, or lengths that differ; the fitted state is
            then unchanged.
        """
        self._partial_fit(X, y, None, sample_weight)
        return self

    def _space_of_stream(self, y, classes):
        return self._unfitted_space().fit_stream(y, classes)

    _scores, _losses = DecodedPredictions._scores, DecodedPredictions._losses
    _read, _check_rows = DecodedPredictions._read, DecodedPredictions._check_rows

    def predict(self, X: Features) -> Array:
        """Predictions f(x), (n,)."""
        theta = self._scores(X)
        return self.space_.decode(theta)

    def _weigh_classes(self, rounds, stream=False):
        """There are no classes."""
        return rounds

    def _decode(self, theta, decoder=None):
        return Errors(theta, self.loss_, self.space_)

    def expected_losses(self, x: Floats, V: Floats) -> Floats:
        """Raise a NotImplementedError: adversaries choose among finitely many outputs."""
        raise NotImplementedError("Adversaries choose among finitely many outputs.")

    @property
    def coef_(self) -> Array:
        """Weights of shape (p,), in units of y over those of X; of a linear kernel."""
        return super().coef_[0] * self.space_.scale

    @property
    def missing_coef_(self) -> Array:
        """What a missing feature adds to predictions, (p,), in units of y."""
        return super().missing_coef_[0] * self.space_.scale

    @property
    def intercept_(self) -> Array:
        """Intercept of shape (1,), in units of y: what is added to scores of rows."""
        self._fitted_model("intercept_ is")
        own = super().intercept_ if isinstance(self._model, LinearModel) else 0.0
        return np.zeros(1) + own * self.space_.scale + self.space_.centre

    @property
    def dual_coef_(self) -> Array:
        """Coefficients (1, n_support) of the kernels, in units of y."""
        return super().dual_coef_ * self.space_.scale

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = takes_gaps(self, fresh=True)
        tags.target_tags.required = True
        return tags
