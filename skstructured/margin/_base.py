"""What the batch learners of margins share: rows, kernels, attributes and predictions."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from skstructured._learners.feature_scale import FeatureScale
from skstructured._learners.reading import ReadsRows
from skstructured._short_cuts import ShortCuts
from skstructured._validation import (
    check_bool,
    check_lengths,
    check_real,
    unchanged_on_error,
    weighted_mean,
)
from skstructured.kernel._foreign import is_precomputed
from skstructured.margin._features import (
    Kernel,
    check_kernel,
    check_memory,
    scale_of,
)
from skstructured.margin._outputs import check_space, outputs_of
from skstructured.margin._path import best_alpha, check_alpha
from skstructured.spaces import SPACES, resolve_space


class MarginLearner(ShortCuts, ReadsRows, BaseEstimator):
    """Base of batch learners with kernels; needs `_solve`, which learns.

    ``_solve(outputs, packed, Z, K, before, alpha)`` returns the coefficients and, where K is None
    because the kernel is linear, the weights; it sets `duality_gap_` and `n_iter_`.
    """

    def fit(self, X, y):
        """Learn from all rows.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, p)
            Features; the square matrix of kernels for kernel="precomputed". CSR stays CSR.
        y : array-like
            Outputs of the space.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a bad parameter, outputs outside the space, NaN or inf in X, and a matrix of kernels
            that is too large; what was fitted is then unchanged.
        """
        self._check_parameters()
        with unchanged_on_error(self):
            self._fit(X, y)
        return self

    def _check_parameters(self):
        check_alpha(self.alpha)
        check_kernel(self.kernel, self.gamma, self.degree, self.coef0)
        check_real("cache_size", self.cache_size, lambda v: v >= 0.0, "be at least 0")
        for name in ("fit_intercept", "standardize"):
            check_bool(name, getattr(self, name))

    def _fit(self, X, y):
        rows = self._rows_of(X, reset=True)
        self._check_rows(rows, fresh=True)
        space = check_space(clone(resolve_space(self.space))).fit(y)
        packed = space.pack(y)
        check_lengths(rows.n_rows, len(packed))
        before = self._fitted_before(space)
        outputs = outputs_of(space, self.cost_matrix)
        self.space_, self._outputs = space, outputs
        if hasattr(space, "classes_"):
            self.classes_ = space.classes_
        elif hasattr(self, "classes_"):
            del self.classes_
        Z, K = self._prepare(rows.X)
        vars(self).pop("alpha_losses_", None)
        self.alpha_ = self.alpha
        if isinstance(self.alpha, str):
            self.alpha_, self.alpha_losses_ = best_alpha(self, outputs, packed, Z, K)
        self.alpha_ = float(self.alpha_)
        coefficients, W = self._solve(outputs, packed, Z, K, before, self.alpha_)
        if not np.isfinite(coefficients).all():
            raise ValueError(
                "The coefficients are not finite numbers: features of this size need "
                "standardize=True, or a larger alpha."
            )
        self._keep(coefficients, W, Z)
        if self.duality_gap_ > getattr(self, "tol", np.inf):
            self._warn(self.duality_gap_, self.n_iter_)

    def _fitted_before(self, space):
        """What a warm start begins with; None without one."""
        return None

    def _to_go_on(self):
        """What the next fit of the same rows begins with."""
        return None

    def _prepare(self, X):
        """Rows on one scale, and the matrix of kernels unless the kernel is linear."""
        linear, computed = self._is_linear(), is_precomputed(self.kernel)
        used = self.standardize and not computed
        centred = self.fit_intercept or not linear
        self._scaling = FeatureScale()
        if used:
            self._scaling = FeatureScale.of(X, np.ones(X.shape[0]), centred)
        Z = self._scaling.transform(X)
        if linear:
            return Z, None
        if computed and X.shape[0] != X.shape[1]:
            raise ValueError(
                "kernel='precomputed' needs the square matrix of kernels of all pairs of training "
                f"rows, got X of shape {X.shape}."
            )
        check_memory(Z.shape[0], self.cache_size)
        gamma = scale_of(Z) if self.gamma in (None, "scale") else float(self.gamma)
        constant = float(self.fit_intercept)
        self._kernel = Kernel(self.kernel, gamma, self.degree, self.coef0, constant)
        K = self._kernel(Z, np.arange(len(X)) if computed else Z)
        wrong = np.flatnonzero(np.diag(K) < 0.0)
        if len(wrong):
            i = int(wrong[0])
            raise ValueError(
                f"kernel={self.kernel!r} must be positive for a row with itself, got "
                f"{K[i, i] - constant:.4g} for row {i} of X."
            )
        return Z, K

    def _is_linear(self):
        return isinstance(self.kernel, str) and self.kernel == "linear"

    def _keep(self, coefficients, W, Z):
        """Set the attributes of a fit."""
        self.dual_coef_ = coefficients
        self.support_ = np.flatnonzero(np.abs(coefficients).sum(axis=1))
        for name in ("coef_", "intercept_", "_kept"):
            vars(self).pop(name, None)
        if W is not None:
            p = Z.shape[1]
            intercept = W[p] if len(W) > p else np.zeros(W.shape[1])
            self.coef_, self.intercept_ = self._scaling.fold(W[:p].T, intercept)
        elif is_precomputed(self.kernel):
            self._kept = self.support_
        else:
            self._kept = Z[self.support_]

    def _warn(self, gap, n_iter):
        warnings.warn(
            f"{type(self).__name__} stopped after {n_iter} passes with a duality gap of "
            f"{gap:.3g}, above tol={self.tol:g}: raise max_iter, alpha or tol.",
            ConvergenceWarning,
            stacklevel=4,
        )

    def _thetas(self, X):
        """Scores g(x) of checked rows."""
        check_is_fitted(self)
        rows = self._rows_of(X)
        self._check_rows(rows)
        if hasattr(self, "coef_"):
            return np.asarray(rows.X @ self.coef_.T) + self.intercept_
        Z = self._scaling.transform(rows.X)
        return self._kernel.scores(Z, self._kept, self.dual_coef_[self.support_])

    def decision_function(self, X):
        """Scores v = g(x), (n, dim): for classes one each, or for two of them the difference (n,).

        "ordinal" has a score for each class too.
        """
        theta = self._thetas(X)
        if self.space_.task == "multiclass" and theta.shape[1] == 2:
            return theta[:, 1] - theta[:, 0]
        return theta

    def predict(self, X):
        """Outputs ``argmax_y <g(x), φ(y)>``, by the linear oracle of the space."""
        theta = self._thetas(X)
        return self._outputs.decode(theta)

    def score(self, X, y, sample_weight=None):
        """1 − mean target loss of `predict`; costs count as shares of the largest one."""
        return 1.0 - weighted_mean(self._outputs.loss(self.predict(X), y), sample_weight)

    def _resolvers(self):
        return {"space": resolve_space}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.target_tags.required = True
        named = isinstance(self.space, str)
        task = getattr(SPACES.get(self.space) if named else self.space, "task", None)
        multiclass = task == "multiclass"
        if task is not None:
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(
                multi_class=multiclass, multi_label=not multiclass
            )
        tags.target_tags.multi_output = tags.target_tags.two_d_labels = not multiclass
        tags.target_tags.single_output = multiclass
        return tags
