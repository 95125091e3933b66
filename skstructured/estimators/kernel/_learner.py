"""Learners whose model has kernels, or weights where the kernel is linear."""

from collections.abc import Callable
from typing import Any

from skstructured._learners.lock import lock_of
from skstructured.estimators.kernel._features_model import FeatureModel
from skstructured.estimators.kernel._model import KernelModel
from skstructured.estimators.kernel._values import is_precomputed
from skstructured.extend._types import Array, Floats, Ints


class KernelLearner:
    """Mixin before `OnlineEstimator`, which then learns over φ(x).

    Needs the parameters `kernel`, `gamma`, `degree`, `coef0` and `cache_size`, and may have
    `budget`.
    """

    average: Any  # as each learner has it
    _model: Any
    _fitted_model: Callable[[str], Any]
    #: Whether the model is linear over random features of rows.
    _approximates = False

    def _in_primal(self):
        """Whether the kernel is linear, so that the weights are a matrix."""
        return False

    def _new_model(self):
        if self._approximates:
            return FeatureModel(self)
        return super()._new_model() if self._in_primal() else KernelModel(self)

    def _partial_fit(self, X, y, classes, sample_weight):
        if is_precomputed(self.kernel):
            raise ValueError(
                "kernel='precomputed' is for fit: rows of a stream have no columns in a matrix of "
                "kernels; give partial_fit the features, and a kernel or a callable."
            )
        super()._partial_fit(X, y, classes, sample_weight)

    @property
    def dual_coef_(self) -> Floats:
        """Coefficients (dim, n_support) that predictions use; set by `fit` or `partial_fit`."""
        with lock_of(self):
            return self._kernel_model("dual_coef_ is").coefficients(bool(self.average))

    @property
    def score_factor_(self) -> float:
        """What scores, and `dual_coef_`, are multiplied by; 1 unless ``max_iter="auto"`` tried."""
        return float(self._fitted_model("score_factor_ is").factor)

    @property
    def support_vectors_(self) -> Array:
        """Rows (n_support, p) as they were transformed; set by `fit` or `partial_fit`."""
        model = self._kernel_model("support_vectors_ is")
        if model.is_precomputed:
            raise AttributeError(
                "support_vectors_ is not available with kernel='precomputed': use support_."
            )
        with model.lock:
            return model.expansion.support_rows

    @property
    def support_(self) -> Ints:
        """Indices (n_support,) of the support rows; set by `fit` or `partial_fit`."""
        with lock_of(self):
            return self._kernel_model("support_ is").expansion.index

    @property
    def coef_(self) -> Array:
        """Weights that predictions use, without the intercept, where the kernel is linear."""
        self._refuse_features("coef_ is")
        return super().coef_  # type: ignore[misc]  # of the class that it is mixed into

    @property
    def intercept_(self) -> Array:
        """Intercepts (dim,), where the kernel is linear."""
        self._refuse_features("intercept_ is")
        return super().intercept_  # type: ignore[misc]  # of the class that it is mixed into

    def _refuse_features(self, what):
        """An AttributeError with random features."""
        if isinstance(self._fitted_model(what), FeatureModel):
            raise AttributeError(
                f"{what} not available with random features: last_weights_ are those of "
                "[z, phi(z)], z the rows as standardised."
            )

    def _kernel_model(self, what):
        model = self._fitted_model(what)
        self._refuse_features(what)
        if not isinstance(model, KernelModel):
            raise AttributeError(
                f"{what} not available with a linear kernel: use coef_ and intercept_."
            )
        return model

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags
