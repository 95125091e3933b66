"""What the batch learners of margins share: rows, kernels, attributes and predictions."""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.validation import check_is_fitted

from skstructured._base.plugins import check_dimension
from skstructured._base.ragged import Ragged
from skstructured._base.validation import (
    check_bool,
    check_missing,
    check_size,
    check_weights,
    takes_gaps,
    unchanged_on_error,
    weighted_mean,
)
from skstructured._learners.batch_scaling import FeatureScale, training_means, with_means
from skstructured._learners.predictions import (
    answers_empty,
    check_batch,
    over_sequences,
    read_batch,
    with_task,
)
from skstructured.estimators.kernel._values import (
    Kernel,
    check_cache_size,
    check_kernel,
    inverse_variance,
    is_precomputed,
)
from skstructured.estimators.margin._features import Inputs, chains_of, check_memory
from skstructured.estimators.margin._outputs import outputs_of
from skstructured.extend._types import Features, Given, Outputs
from skstructured.sequences._decoding import Chains
from skstructured.spaces import SPACES, resolve_space

#: Values that are tried, the largest first: the ten of the paper, and on while the loss falls.
ALPHAS = tuple(2.0**-j for j in range(1, 21))

#: At least so many are, and then until so many in turn are no better.
LEAST, PATIENCE = 10, 3

#: α of "auto" for costs of 1.
AUTO = 5e-4

#: Share of rows that are learned on the way.
LEARNED = 0.8


def check_alpha(alpha, rules):
    """A ValueError unless α is a positive number, or one of these names."""
    if not (isinstance(alpha, str) and alpha in rules):
        check_size("alpha", alpha)


def best_alpha(learner, outputs, packed, inputs):
    """The α of the least target loss on a fifth of the rows, and the losses of all.

    ``learner._solve`` begins each fit where the one before ended. Of equals it is the largest α.
    """
    rng = check_random_state(getattr(learner, "random_state", 0))
    order = rng.permutation(np.flatnonzero(inputs.share > 0.0))
    cut = max(int(LEARNED * len(order)), 1)
    train, valid = np.sort(order[:cut]), np.sort(order[cut:])
    truth, share = outputs.labels(packed[valid]), inputs.share[valid]
    inner, losses, before = inputs.part(train), [], None
    for alpha in ALPHAS:
        found = learner._solve(outputs, packed[train], inner, before, alpha)
        before = learner._mu
        scores = inputs.scores(found, train, valid)
        losses.append(np.average(outputs.loss(outputs.decode(scores), truth), weights=share))
        if len(losses) >= max(LEAST, int(np.argmin(losses)) + 1 + PATIENCE):
            break
    return ALPHAS[int(np.argmin(losses))], np.array(losses)


class MarginLearner(BaseEstimator):
    """Base of batch learners with kernels; needs `_solve`, which learns.

    ``_solve(outputs, packed, inputs, before, alpha)`` returns `Found` of `Inputs`; it sets
    `duality_gap_` and `n_iter_`.
    """

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
            For a bad parameter, outputs outside the space, inf in X, NaN where it is an error, and
            a matrix of kernels that is too large; what was fitted is then unchanged.
        """
        self._check_parameters()
        with unchanged_on_error(self):
            self._fit(X, y, sample_weight)
        return self

    #: Names that `alpha` may be.
    _rules: tuple[str, ...] = ("path",)

    _missing_choices = ("mean", "error")

    def _check_parameters(self):
        check_missing(self)
        check_alpha(self.alpha, self._rules)
        check_kernel(self.kernel, self.gamma, self.degree, self.coef0)
        check_cache_size(self.cache_size)
        for name in ("fit_intercept", "standardize"):
            check_bool(name, getattr(self, name))

    def _fit(self, X, y, sample_weight):
        batch = self._read(X, reset=True)
        self._check_rows(batch, fresh=True)
        space = check_dimension(clone(resolve_space(self.space)).fit(y))
        packed = space.pack(y)
        batch.check_lengths(packed)
        weight = check_weights(sample_weight, packed, len(packed))
        share = weight / weight.sum()
        before = self._fitted_before(space)
        outputs = outputs_of(space, self.cost_matrix)
        self.space_, self._outputs = space, outputs
        if hasattr(space, "classes_"):
            self.classes_ = space.classes_
        elif hasattr(self, "classes_"):
            del self.classes_
        spread = np.repeat(share, 1 if batch.offsets is None else np.diff(batch.offsets))
        self._means = training_means(batch.rows, spread)
        rows = with_means(batch.rows, self._means)
        inputs = self._prepare(batch._replace(rows=rows), share, spread)
        vars(self).pop("alpha_losses_", None)
        self.alpha_ = self.alpha
        if isinstance(self.alpha, str) and self.alpha == "auto":
            self.alpha_ = AUTO / outputs.unit(packed, share)
        elif isinstance(self.alpha, str):
            if np.count_nonzero(share) < 2:
                raise ValueError('alpha="path" needs at least 2 samples of positive weight, got 1.')
            self.alpha_, self.alpha_losses_ = self._search(outputs, packed, inputs)
        self.alpha_ = float(self.alpha_)
        found = self._solve(outputs, packed, inputs, before, self.alpha_)
        if not (np.isfinite(found.dual).all() and np.isfinite(self.loss_curve_).all()):
            raise ValueError(
                "The coefficients or losses are not finite numbers: features of this size need "
                "standardize=True, or a larger alpha."
            )
        self._keep(found, inputs.Z)
        if self.duality_gap_ > getattr(self, "tol", np.inf):
            self._warn(self.duality_gap_, self.n_iter_)

    def _search(self, outputs, packed, inputs):
        """α and the losses of all that were tried."""
        return best_alpha(self, outputs, packed, inputs)

    def _read(self, X, reset=False):
        if over_sequences(self, fresh=reset) and is_precomputed(self.kernel):
            raise ValueError(
                'kernel="precomputed" is for rows; sequences take a kernel by name, or a callable.'
            )
        return read_batch(self, X, reset)

    def _fitted_before(self, space):
        """What a warm start begins with; None without one."""
        return None

    def _check_rows(self, batch, fresh=False):
        """Rows that are not finite, gaps aside, or out of range: a ValueError; kernels too."""
        check_batch(self, batch, fresh)
        if is_precomputed(self.kernel):
            assert_all_finite(batch.rows.data, input_name="X")

    def _prepare(self, batch, share, weight):
        """`Inputs`: rows on one scale, and the matrix of kernels unless the kernel is linear."""
        X, offsets = batch.rows.matrix, batch.offsets
        used = self.standardize and not is_precomputed(self.kernel)
        self._scaling = FeatureScale()
        if used:
            centred = self.fit_intercept or not self._is_linear()
            self._scaling = FeatureScale.of(X, weight, centred)
        Z = self._scaling.transform(X)
        K = None if self._is_linear() else self._kernels(Z, weight)
        return Inputs(Z, K, offsets, share, bool(self.fit_intercept))

    def _kernels(self, Z, weight):
        """The matrix of kernels of all rows; a ValueError where it is none, or too large."""
        computed = is_precomputed(self.kernel)
        if computed and Z.shape[0] != Z.shape[1]:
            raise ValueError(
                "kernel='precomputed' needs the square matrix of kernels of all pairs of training "
                f"rows, got X of shape {Z.shape}."
            )
        check_memory(Z.shape[0], self.cache_size)
        gamma = inverse_variance(Z, weight) if self.gamma in (None, "scale") else float(self.gamma)
        constant = float(self.fit_intercept)
        self._kernel = Kernel(self.kernel, gamma, self.degree, self.coef0, constant)
        K = self._kernel(Z, np.arange(Z.shape[0]) if computed else Z)
        wrong = np.flatnonzero(np.diag(K) < 0.0)
        if len(wrong):
            i = int(wrong[0])
            raise ValueError(
                f"kernel={self.kernel!r} must be positive for a row with itself, got "
                f"{K[i, i] - constant:.4g} for row {i} of X."
            )
        return K

    def _is_linear(self):
        return isinstance(self.kernel, str) and self.kernel == "linear"

    def _keep(self, found, Z):
        """Set the attributes of a fit."""
        self.dual_coef_ = found.dual
        self.support_ = np.flatnonzero(np.abs(found.dual).sum(axis=1))
        for name in ("coef_", "intercept_", "_kept", "start_", "end_", "transitions_"):
            vars(self).pop(name, None)
        if found.edges is not None:
            (self.start_, self.end_), self.transitions_ = found.edges
        if found.W is not None:
            W, p = found.W, Z.shape[1]
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
        """Scores g(x) of rows, or `Chains` of sequences."""
        check_is_fitted(self)
        batch = self._read(X)
        self._check_rows(batch)
        V = self._scores_of(with_means(batch.rows, self._means).matrix)
        if batch.offsets is None:
            return V
        ends = np.array([self.start_, self.end_])
        return chains_of(V, batch.offsets, ends, self.transitions_)

    def _scores_of(self, X):
        """Scores of checked rows, or positions."""
        if hasattr(self, "coef_"):
            return np.asarray(X @ self.coef_.T) + self.intercept_
        Z = self._scaling.transform(X)
        return self._kernel.scores(Z, self._kept, self.dual_coef_[self.support_])

    def decision_function(self, X: Features) -> Any:
        """Scores v = g(x), (n, dim): for classes one each, or for two of them the difference (n,).

        "ordinal" has a score for each class too. Of sequences a list of (length, k) arrays, with
        the scores of starts and ends; `transitions_` come on top.
        """
        theta = self._thetas(X)
        if isinstance(theta, Chains):
            return Ragged(theta.unary, theta.offsets).unstack()
        if self.space_.task == "multiclass" and theta.shape[1] == 2:
            return theta[:, 1] - theta[:, 0]
        return theta

    @answers_empty
    def predict(self, X: Features) -> Any:
        """Outputs ``argmax_y <g(x), φ(y)>``, by the linear oracle of the space."""
        theta = self._thetas(X)
        return self._outputs.decode(theta)

    def score(self, X: Features, y: Outputs, sample_weight: Given = None) -> float:
        """1 − mean target loss of `predict`; costs count as shares of the largest one.

        Of sequences it is that of all their positions, of which those of weight w count w times.
        """
        predicted = self.predict(X)
        if not over_sequences(self):
            return 1.0 - weighted_mean(self._outputs.loss(predicted, y), sample_weight)
        costs, offsets = self._outputs.losses(predicted, y)
        if sample_weight is not None:
            sample_weight = np.repeat(np.asarray(sample_weight), np.diff(offsets))
        return 1.0 - weighted_mean(costs, sample_weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        if over_sequences(self):
            tags.input_tags.two_d_array = tags.input_tags.sparse = False
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.allow_nan = takes_gaps(self, fresh=True) and not tags.input_tags.pairwise
        tags.target_tags.required = True
        named = isinstance(self.space, str)
        space = SPACES.get(self.space) if named else self.space
        return with_task(tags, getattr(space, "task", None))
