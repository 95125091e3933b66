"""Conditional random fields over classes with kernels, by dual coordinate ascent."""

import numpy as np
from scipy.special import entr, logsumexp

from skstructured._engine.compiled import FASTMATH, kernel
from skstructured.estimators.crf._ascent import line_search
from skstructured.estimators.crf._fitting import Trace
from skstructured.estimators.kernel._user_kernels import is_precomputed
from skstructured.estimators.kernel._values import inverse_variance
from skstructured.estimators.margin._features import Kernel, check_kernel
from skstructured.regularizers import Shannon
from skstructured.spaces import Simplex
from skstructured.spaces.simplex import softmax_into

#: Scores that follow the moves are computed anew after so many passes.
REFRESH = 10

#: Of "poly" and "sigmoid", as in scikit-learn.
DEGREE, COEF0 = 3, 1.0


@kernel(fastmath=FASTMATH)
def _add_row(target, factor, row):
    for j in range(target.shape[0]):
        target[j] += factor * row[j]


@kernel
def gram_pass(K, order, steps, mu, scores):
    """One pass: every μ moves towards the probabilities at its scores, to the largest dual.

    `scores` (k, n) follow; `steps` are shares over α.
    """
    k = mu.shape[1]
    v, d, sums = np.empty(k), np.empty((1, k)), np.empty(3)
    none = np.empty((0, k, k))
    for i in order:
        linear, square = 0.0, 0.0
        for j in range(k):
            v[j] = scores[j, i]
        softmax_into(v, d[0])
        for j in range(k):
            d[0, j] -= mu[i, j]
            linear += v[j] * d[0, j]
            square += d[0, j] * d[0, j]
        square *= steps[i] * K[i, i]
        step = line_search(mu[i : i + 1], none, d, none, linear, square, sums)
        for j in range(k):
            mu[i, j] = max(mu[i, j] + step * d[0, j], 0.0)
            _add_row(scores[j], -step * d[0, j] * steps[i], K[i])


class KernelField:
    """`fit` and scores with kernels, for classes; a linear kernel changes nothing."""

    def _is_linear(self):
        return isinstance(self.kernel, str) and self.kernel == "linear"

    def _check_parameters(self):
        super()._check_parameters()
        check_kernel(self.kernel, self.gamma, DEGREE, COEF0)
        if self._is_linear():
            return
        if is_precomputed(self.kernel):
            raise ValueError(
                "ConditionalRandomField takes a kernel by name or a callable, got "
                "kernel='precomputed'."
            )
        if self.solver != "sdca" or self.warm_start:
            raise ValueError(
                f'kernel={self.kernel!r} needs solver="sdca" and warm_start=False, got '
                f"solver={self.solver!r} and warm_start={self.warm_start}."
            )

    def _forget_kernels(self):
        for name in ("dual_coef_", "support_", "_kept", "_scaling", "_kernel"):
            vars(self).pop(name, None)

    def _solve_kernels(self, rows, packed, share):
        """Learn, and keep the coefficients and the rows that have some."""
        shannon = isinstance(self.loss_.regularizer, Shannon)
        if not (shannon and isinstance(self.space_, Simplex)):
            raise ValueError(
                f'kernel={self.kernel!r} is for space="simplex" with regularizer="shannon", got '
                f"{type(self.space_).__name__} and {self.loss_.regularizer!r}."
            )
        for name in ("coef_", "intercept_", "start_", "end_", "transitions_"):
            vars(self).pop(name, None)
        self._scaling = self._scale_for(rows.X, share)
        Z = self._scaling.transform(rows.X)
        gamma = inverse_variance(Z, share) if self.gamma in (None, "scale") else float(self.gamma)
        self._kernel = Kernel(self.kernel, gamma, DEGREE, COEF0, float(self.fit_intercept))
        codes, trace = np.asarray(packed, dtype=np.int64), Trace(self.tol, self.verbose)
        dual = self._ascend(self._kernel(Z, Z), codes, share, trace)
        self._note(trace)
        self.dual_coef_, self.support_ = dual, np.flatnonzero(np.abs(dual).sum(axis=1))
        self._kept = Z[self.support_]

    def _ascend(self, K, codes, share, trace):
        """Coefficients (n, k), by passes until the duality gap is at most `tol`."""
        truth, k = np.eye(self.space_.dim_)[codes], self.space_.dim_
        mu, steps = np.full((len(codes), k), 1.0 / k), share / self.alpha_
        counted = np.flatnonzero(share > 0.0)
        for t in range(self.max_iter):
            if t % REFRESH == 0:
                scores = np.ascontiguousarray((K @ (steps[:, None] * (truth - mu))).T)
            gram_pass(K, self.random_state_.permutation(counted), steps, mu, scores)
            V = K @ (steps[:, None] * (truth - mu))
            if trace.add(*_progress(V, truth, mu, share)):
                break
        return steps[:, None] * (truth - mu)

    def _kernel_scores(self, X):
        """Scores (n, k) of checked rows, by kernels."""
        kept = self.dual_coef_[self.support_]
        return self._kernel.scores(self._scaling.transform(X), self._kept, kept)


def _progress(V, truth, mu, share):
    """The objective, and the gap ``Σ share_i (ln Σ exp v_i − <v_i, μ_i> − H(μ_i))`` to the dual."""
    top, own = logsumexp(V, axis=1), np.einsum("nk,nk->n", V, truth)
    mean = np.einsum("nk,nk->n", V, mu)
    gap = share @ (top - mean - entr(mu).sum(axis=1))
    return share @ (top - own + 0.5 * (own - mean)), max(gap, 0.0)
