"""Parts shared by the batch max-margin learners: `alpha`, kernel matrices, and predictions."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skstructured._base.validation import is_precomputed, takes_gaps, weighted_mean
from skstructured._learners import predictions
from skstructured.estimators._batch import BatchPredictor, Inputs, check_memory, spread
from skstructured.estimators.kernel._values import check_positive_definite, check_square
from skstructured.estimators.margin._outputs import outputs_of
from skstructured.extend._types import Features, Given, Outputs
from skstructured.spaces import SPACES_BY_NAME

#: Values of α that are tried, the largest first: the ten of the paper, and smaller ones.
ALPHA_PATH = tuple(2.0**-j for j in range(1, 21))


class MarginLearner(BatchPredictor):
    """Base of batch learners with kernels.

    Needs ``_solve(outputs, packed, inputs, initial_means, alpha)``, which returns the `DualFit` of
    `Inputs`, and sets `duality_gap_` and `n_iter_`.
    """

    _rules: tuple[str, ...] = ("path",)

    def _learn(self, batch, share, initial_state):
        packed, outputs = batch.packed, outputs_of(self.space_, self.cost_matrix)
        self._outputs, self.alpha_ = outputs, self.alpha
        inputs = self._prepare(batch, share)
        if isinstance(self.alpha, str) and self.alpha == "auto":
            self.alpha_ = 5e-4 / outputs.unit(packed, share)
        elif isinstance(self.alpha, str):
            if np.count_nonzero(share) < 2:
                raise ValueError('alpha="path" needs at least 2 samples of positive weight, got 1.')
            self.alpha_losses_ = self._path(outputs, packed, inputs)
            self.alpha_ = ALPHA_PATH[int(np.argmin(self.alpha_losses_))]
        self.alpha_ = float(self.alpha_)
        dual_fit = self._solve(outputs, packed, inputs, initial_state, self.alpha_)
        if not (np.isfinite(dual_fit.dual).all() and np.isfinite(self.loss_curve_).all()):
            raise ValueError(
                "The coefficients or losses are not finite numbers. Set standardize=True or "
                "increase alpha."
            )
        self._keep(dual_fit, inputs.Z)
        if self.duality_gap_ > getattr(self, "tol", np.inf):
            self._warn_of_gap(type(self).__name__, "passes", "Increase max_iter, alpha or tol.")

    def _path(self, outputs, packed, inputs):
        """Target losses on a fifth of the rows, of ten α and more until three are not better."""
        rng = check_random_state(self.random_state)
        order = rng.permutation(np.flatnonzero(inputs.share > 0.0))
        cut = max(int(0.8 * len(order)), 1)
        train, valid = np.sort(order[:cut]), np.sort(order[cut:])
        truth, share = outputs.labels(packed[valid]), inputs.share[valid]
        inner, losses, old_means = inputs.subset(train), [], None
        for alpha in ALPHA_PATH:
            dual_fit = self._solve(outputs, packed[train], inner, old_means, alpha)
            old_means = self._mu
            scores = inputs.scores(dual_fit, train, valid)
            losses.append(np.average(outputs.loss(outputs.decode(scores), truth), weights=share))
            if len(losses) >= max(10, int(np.argmin(losses)) + 4):
                break
        return np.array(losses)

    def _prepare(self, batch, share):
        """`Inputs`: rows on one scale, and the matrix of kernels unless the kernel is linear."""
        X, weight = batch.rows.matrix, spread(share, batch.offsets)
        self._scaling = self._scale_for(X, weight, self.fit_intercept or not self._is_linear())
        Z = self._scaling.transform(X)
        K = None if self._is_linear() else self._kernels(Z, weight)
        return Inputs(Z, K, batch.offsets, share, bool(self.fit_intercept))

    def _kernels(self, Z, weight):
        """The kernel matrix of all rows; a ValueError if it is invalid or too large."""
        computed, n = is_precomputed(self.kernel), Z.shape[0]
        if computed:
            check_square(Z.shape)
        check_memory(f"matrix of kernels of {n} rows", n * n, self.cache_size)
        self._kernel = self._kernel_for(Z, weight)
        K = self._kernel(Z, np.arange(n) if computed else Z)
        negative = np.flatnonzero(np.diag(K) < 0.0)
        if len(negative):
            i = negative[0]
            check_positive_definite(K[i, i] - self._kernel.constant, self.kernel, i)
        return K

    def _keep(self, dual_fit, Z):
        """Set the attributes of a fit."""
        self.dual_coef_ = dual_fit.dual
        self.support_ = np.flatnonzero(np.abs(dual_fit.dual).sum(axis=1))
        if dual_fit.edges is not None:
            (self.start_, self.end_), self.transitions_ = dual_fit.edges
        if dual_fit.W is not None:
            W, p = dual_fit.W, Z.shape[1]
            intercept = W[p] if len(W) > p else np.zeros(W.shape[1])
            self.coef_, self.intercept_ = self._scaling.fold(W[:p].T, intercept)
        else:
            self._kept = self.support_ if is_precomputed(self.kernel) else Z[self.support_]

    def decision_function(self, X: Features) -> Any:
        """Scores v = g(x), (n, dim): for classes one each, or for two of them the difference (n,).

        "ordinal" has a score for each class too. Of sequences a list of (length, k) arrays, with
        the scores of starts and ends; `transitions_` come on top.
        """
        theta = self._scores(X)
        if self.space_.reader.has_sequences:
            return theta.unstack()
        if self.space_.task == "multiclass" and theta.shape[1] == 2:
            return theta[:, 1] - theta[:, 0]
        return theta

    def predict(self, X: Features) -> Any:
        """Outputs ``argmax_y <g(x), φ(y)>``, by the linear oracle of the space."""
        if predictions.has_empty_sequence(self, X):
            return predictions.answer_empty(self, X, self.predict)
        theta = self._scores(X)
        return self._outputs.decode(theta)

    def score(self, X: Features, y: Outputs, sample_weight: Given = None) -> float:
        """1 − mean target loss of `predict`; costs count as shares of the largest one.

        Labels that `fit` has not seen count as wrong, with the largest cost.
        Of sequences it is that of all their positions, of which those of weight w count w times.
        """
        predicted = self.predict(X)
        weight = self.space_.score_weights(predicted, sample_weight)
        return 1.0 - weighted_mean(self._outputs.loss(predicted, y), weight)

    def __sklearn_tags__(self):
        tags, computed = super().__sklearn_tags__(), is_precomputed(self.kernel)
        takes_rows = not predictions.reader_of(self).has_sequences
        tags.input_tags.two_d_array = tags.input_tags.sparse = takes_rows
        tags.input_tags.pairwise = computed
        tags.input_tags.allow_nan = takes_gaps(self, fresh=True) and not computed
        tags.target_tags.required = True
        space = SPACES_BY_NAME.get(self.space) if isinstance(self.space, str) else self.space
        return predictions.with_task(tags, getattr(space, "task", None))
