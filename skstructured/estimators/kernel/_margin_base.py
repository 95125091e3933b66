"""What classifiers with a loss of margins, and regressors, have in common."""

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from skstructured._base.validation import check_choice
from skstructured._learners.gates import settled
from skstructured._learners.linear import OnlineLinearModel
from skstructured._learners.predictions import DecodedPredictions
from skstructured.decoders import MAP
from skstructured.estimators.kernel._model import KernelModel
from skstructured.extend.learner import Losses
from skstructured.losses.margins import KINDS, MarginLoss
from skstructured.losses.residuals import ResidualLoss
from skstructured.spaces._real_line import RealLine
from skstructured.spaces._signs import Signs


class KernelOrLinear(KernelModel):
    """In the primal with ``kernel="linear"``, with kernels otherwise."""

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
            lengths = np.asarray(rows.matrix.multiply(rows.matrix).sum(axis=1))
            if np.ptp(lengths) <= 1e-6 * lengths.max():  # as text is, once it was normalised
                self._scale.used = False
        super()._make_passes(rounds)

    def _wants_intercept(self):
        if isinstance(self.fit_intercept, str) and self.fit_intercept == "auto":
            return self._in_primal()
        if not isinstance(self.fit_intercept, (bool, np.bool_)):
            raise ValueError(f'fit_intercept must be a bool or "auto", got {self.fit_intercept!r}.')
        return bool(self.fit_intercept)

    def certificate(self, delta=None):
        """The theorem that bounds the sum of the losses of the rounds; see `OnlineLearner`.

        ``bound(Σℓ(f), ‖f‖)`` of the result bounds the surrogate losses played, by those of any f.
        """
        check_is_fitted(self)
        self._check_none_left()
        return self.optimizer_.certificate(self.loss_, self._state.vector, delta)


class MarginClassifier(KernelOrLinear, DecodedPredictions, OnlineLinearModel):
    """A classifier with a `MarginLoss`; needs `_margin_kind()` and `_optimizer()`."""

    def _unfitted_space(self):
        return Signs()

    def _unfitted_loss(self):
        return MarginLoss(kind=self._margin_kind())

    def _task(self):
        return "multiclass"

    def _decoder(self):
        return MAP()

    def _parts(self, space):
        if hasattr(self, "loss"):  # that of the Perceptron bounds no mistakes
            check_choice("loss", self.loss, tuple(kind for kind in KINDS if kind != "perceptron"))
        return MarginLoss(space, self._margin_kind()), self._optimizer()

    def decision_function(self, X):
        """Scores: (n,) for two classes, above 0 for ``classes_[1]``; else one a class, (n, K)."""
        theta = self._scores(X)
        return theta[:, 0] if theta.shape[1] == 1 else theta


class ResidualRegressor(RegressorMixin, KernelOrLinear, OnlineLinearModel):
    """A regressor with a `ResidualLoss`; needs `loss`, `epsilon`, `quantile` and `_optimizer()`."""

    def _unfitted_space(self):
        return RealLine()

    def _parts(self, space):
        return ResidualLoss(space, self.loss, self.epsilon, self.quantile), self._optimizer()

    def partial_fit(self, X, y, sample_weight=None):
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
            As `fit`.
        """
        self._partial_fit(X, y, None, sample_weight)
        return self

    def _space_of_stream(self, y, classes):
        return self._unfitted_space().fit_stream(y, classes)

    @settled
    def predict(self, X):
        """Predictions f(x), (n,)."""
        check_is_fitted(self)
        rows = self._rows_of(X)
        self._check_rows(rows)
        return self.space_.decode(self._thetas(rows.X))

    def _weigh_classes(self, rounds, y, stream=False):
        """There are no classes."""
        return rounds

    def _losses(self, theta, V, random_state=None):
        """`Losses` of scores that were played where V was true: |f(x) − y|, in units of y."""
        error = np.abs(self.space_.decode(theta) - self.space_.decode(V))
        return Losses(error, error, self.loss_.value(theta, V))

    def _losses_of_predictions(self, theta, V):
        return self._losses(theta, V)[::-2]

    def expected_losses(self, x, V):
        """No adversary answers a regressor: a NotImplementedError."""
        raise NotImplementedError("Adversaries choose among finitely many outputs.")

    @property
    def coef_(self):
        """Weights of shape (p,), in units of y over those of X; of a linear kernel."""
        return super().coef_[0] * self.space_.scale

    @property
    def intercept_(self):
        """Intercept of shape (1,), in units of y: what is added to scores of rows."""
        self._fitted_state("intercept_ is")
        own = 0.0 if self._expansion is not None else super().intercept_
        return np.zeros(1) + own * self.space_.scale + self.space_.centre

    @property
    def dual_coef_(self):
        """Coefficients (1, n_support) of the kernels, in units of y."""
        return super().dual_coef_ * self.space_.scale

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
