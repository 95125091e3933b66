"""Estimators that learn all rows, or all sequences, at once: reading, kernels, weights, scores."""

import warnings
from typing import NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_is_fitted

from skstructured._base import validation
from skstructured._base.ragged import Ragged
from skstructured._base.validation import check_dimension
from skstructured._engine.robust_columns import RobustColumns
from skstructured._learners.batch_scaling import FeatureScale, ranges_of, training_means, with_means
from skstructured._learners.lock import learning_aside
from skstructured._learners.passes import is_verbose
from skstructured._learners.predictions import read_batch, reader_of
from skstructured._learners.weights import linear_scores
from skstructured.estimators.kernel import _values
from skstructured.extend._types import Features, Given, Outputs
from skstructured.spaces import resolve_space
from skstructured.spaces.sequence import Chains

#: MiB that matrices may take of estimators without the parameter `cache_size`.
DEFAULT_CACHE_SIZE = 4096


def check_memory(what, numbers, cache_size=None):
    """A ValueError if so many numbers take more than `cache_size` MiB."""
    advice = "use fewer rows" if cache_size is None else "raise it, use fewer rows"
    cache_size = DEFAULT_CACHE_SIZE if cache_size is None else cache_size
    size = 8.0 * numbers / 2**30
    if size > cache_size / 1024.0:
        raise ValueError(
            f"The {what} needs {size:.3g} GiB, but cache_size={cache_size} MiB allows "
            f"{cache_size / 1024.0:.3g}: {advice}, or kernel='linear'."
        )


class BatchPredictor(BaseEstimator):
    """Base of estimators that learn in batch: what `fit` reads, and the scores of new rows.

    Needs the parameter `cost_matrix`, and `_learn(batch, share, initial_state)`, which learns
    checked rows without missing values, of shares that sum to 1, and sets the attributes of a fit.
    """

    #: Attributes that not every fit sets.
    _optional = (
        "coef_", "intercept_", "start_", "end_", "transitions_", "transition_coef_", "dual_coef_",
        "support_", "classes_", "alpha_losses_", "alpha_path_", "oracle_gaps_", "_kept", "_kernel",
    )  # fmt: skip

    #: Names that `alpha` may be.
    _rules: tuple[str, ...] = ()

    #: Parameters of the estimators that have them.
    degree: float = 3
    coef0: float = 1.0
    cache_size: float = DEFAULT_CACHE_SIZE
    tol: float = np.inf

    _missing_choices = ("mean", "error")
    feature_ranges_ = property(ranges_of)

    def fit(self, X: Features, y: Outputs, sample_weight: Given = None) -> Self:
        """Learn from all rows, or all sequences.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n, p), or list of n matrices (length, p)
            Features; the square matrix of kernels for kernel="precomputed". CSR stays CSR. For
            "sequence" a list of sequences, dense or CSR, or `sequences.Stacked`.
        y : array-like, or list of n label arrays
            Outputs of the space.
        sample_weight : array-like of shape (n,) or None, default=None
            Non-negative weights of rows, or of sequences: a weight of two is the same as two rows,
            in the mean and so for alpha.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a bad parameter, outputs outside the space, lengths that differ, inf in X, NaN with
            ``missing="error"``, and a kernel matrix that is too large. Errors name the row, or the
            sequence and position. The fitted state is then unchanged.
        """
        self._check_parameters()
        with learning_aside(self) as new:
            new._fit(X, y, sample_weight)
        return self

    def _check_parameters(self):
        validation.check_missing(self)
        validation.check_standardize(self)
        if not (isinstance(self.alpha, str) and self.alpha in self._rules):
            validation.check_size("alpha", self.alpha)
        _values.check_pairwise_kernel(self.kernel, self.gamma, self.degree, self.coef0)
        _values.check_cache_size(self.cache_size)
        validation.check_bool("fit_intercept", self.fit_intercept)

    def _check_run(self):
        """A ValueError for a bad parameter of an iterative fit."""
        validation.check_integer("max_iter", self.max_iter)
        validation.check_bool("warm_start", self.warm_start)
        is_verbose(self)

    def _check_weights(self, *weights):
        """A ValueError unless all weights, or losses, are finite."""
        if not all(np.isfinite(numbers).all() for numbers in weights):
            raise ValueError(
                "The weights or losses are not finite numbers. Set standardize=True or increase "
                "alpha."
            )

    def _warn_of_gap(self):
        """Warn if the duality gap is above `tol`."""
        if self.duality_gap_ <= self.tol:
            return
        message = (
            f"{type(self).__name__} stopped at n_iter_={self.n_iter_} with a duality gap of "
            f"{self.duality_gap_:.3g}, above tol={self.tol:g}. Increase max_iter, alpha or tol, or "
            "scale the features."
        )
        warnings.warn(message, ConvergenceWarning, stacklevel=4)

    def _fit(self, X, y, sample_weight):
        batch = self._read(X, reset=True)
        space = self._fitted_space(y)
        packed = space.pack(y)
        batch.check_lengths(packed)
        weight = validation.check_weights(sample_weight, packed, len(packed))
        share = weight / weight.sum()
        initial_state = self._initial_state(space)
        for name in self._optional:
            vars(self).pop(name, None)
        self.space_ = space
        if hasattr(space, "classes_"):
            self.classes_ = space.classes_
        self._means = training_means(batch.rows, spread(share, batch.offsets))
        rows = with_means(batch.rows, self._means)
        self._learn(batch._replace(rows=rows, packed=packed), share, initial_state)
        self._warn_of_gap()

    def _fitted_space(self, y):
        return check_dimension(clone(resolve_space(self.space)).fit(y))

    def _check_costs(self, space):
        """A ValueError for a `cost_matrix` if the space does not have one, or its own."""
        if self.cost_matrix is None:
            return
        if "cost_matrix" not in space.get_params():
            raise ValueError(
                "cost_matrix is only supported for classes and label sequences; got the space "
                f"{type(space).__name__}."
            )
        if space.cost_matrix is not None:
            raise ValueError(
                f"cost_matrix was given twice: as a parameter, and in space={space!r}."
            )

    def _initial_state(self, space):
        """What a warm start begins with; None without one."""
        return None

    def _read(self, X, reset=False):
        if not validation.is_precomputed(self.kernel):
            return read_batch(self, X, reset)
        reader_of(self, reset).require_rows(
            "kernel='precomputed' is only supported for rows. For sequences give the name of a "
            "kernel, or a callable."
        )
        batch = read_batch(self, X, reset)
        assert_all_finite(batch.rows.data, input_name="X")
        return batch

    def _is_linear(self):
        return isinstance(self.kernel, str) and self.kernel == "linear"

    def _scale_for(self, X, weight, centered):
        if not self.standardize or validation.is_precomputed(self.kernel):
            return FeatureScale()
        columns = None
        if self.standardize != "moments":
            columns = RobustColumns.of(X, weight, quantiles=not self._is_linear())
        return FeatureScale.of(X, weight, centered, self.standardize == "auto", columns)

    def _kernel_for(self, Z, weight):
        """The kernel of rows on one scale."""
        is_scale = self.gamma in (None, "scale")
        gamma = _values.inverse_variance(Z, weight) if is_scale else float(self.gamma)
        settings = gamma, self.degree, self.coef0, float(self.fit_intercept)
        return _values.PairwiseKernel(self.kernel, *settings)

    def _scores(self, X):
        """Scores (n, dim) of new rows, or `Chains` of sequences."""
        check_is_fitted(self)
        return self._thetas(self._read(X))

    def _thetas(self, batch):
        """Scores of checked rows, or sequences."""
        X = with_means(batch.rows, self._means).matrix
        if hasattr(self, "coef_"):
            X = self._scaling.in_range(X)
            V = linear_scores(np.column_stack([self.coef_, self.intercept_]), X)
        else:
            dual_coef = self.dual_coef_[self.support_]
            V = self._kernel.scores(self._scaling.transform(X), self._kept, dual_coef)
        if batch.offsets is None:
            return V
        return Chains.of_rows(V, batch.offsets, (self.start_, self.end_), self.transitions_[None])


def spread(values, offsets):
    """Values (n,) of outputs, for each of their rows; `offsets` are those of sequences, or None."""
    return values if offsets is None else np.repeat(values, np.diff(offsets))


class DualFit(NamedTuple):
    """Coefficients (N, dim) of rows or positions; weights, for the linear kernel.

    `edges` are the weights of first and last labels (2, k), and of steps (k, k), of sequences.
    """

    dual: np.ndarray
    W: np.ndarray | None
    edges: tuple | None = None


class Inputs(NamedTuple):
    """Rows Z (N, p), their kernels K (N, N) if not linear, and the shares (n,) of outputs.

    `offsets` (n + 1,) are those of sequences, None if each row is an output.
    """

    Z: object
    K: np.ndarray | None
    offsets: np.ndarray | None
    share: np.ndarray
    intercept: bool

    def rows(self, indices):
        """Rows of the outputs `indices`."""
        if self.offsets is None:
            return indices
        return Ragged(np.empty(0), self.offsets).places(indices)

    def squares(self):
        """k(x, x) of rows."""
        if self.K is not None:
            return np.diag(self.K).copy()
        Z = self.Z
        squares = Z.multiply(Z).sum(axis=1) if hasattr(Z, "indptr") else (Z * Z).sum(axis=1)
        return np.asarray(squares, dtype=np.float64).ravel() + float(self.intercept)

    def subset(self, indices):
        """The inputs of some outputs."""
        rows, share = self.rows(indices), self.share[indices]
        K = None if self.K is None else np.ascontiguousarray(self.K[np.ix_(rows, rows)])
        offsets = self.offsets_of(indices)
        return Inputs(self.Z[rows], K, offsets, share / share.sum(), self.intercept)

    def offsets_of(self, indices):
        """Offsets of some outputs among their rows."""
        if self.offsets is None:
            return None
        return np.r_[0, np.cumsum(np.diff(self.offsets)[indices])]

    def scores(self, dual_fit, train, valid):
        """Scores of the outputs `valid` by the model fitted to those in `train`."""
        rows, offsets = self.rows(valid), self.offsets_of(valid)
        if dual_fit.W is None:
            V = self.K[np.ix_(rows, self.rows(train))] @ dual_fit.dual
        else:
            V = self.with_weights(dual_fit.W, rows)
        if offsets is None:
            return V
        return Chains.of_rows(V, offsets, dual_fit.edges[0], dual_fit.edges[1][None])

    def with_weights(self, W, rows=None):
        """Scores of rows, or of some, by weights (p + intercept, dim)."""
        Z = self.Z if rows is None else self.Z[rows]
        V = np.asarray(Z @ W[: Z.shape[1]])
        return V + W[-1] if self.intercept else V

    def weights_of(self, dual):
        """Weights (p + intercept, dim) of coefficients."""
        W = np.asarray(self.Z.T @ dual)
        return np.ascontiguousarray(np.vstack([W, dual.sum(axis=0)]) if self.intercept else W)
