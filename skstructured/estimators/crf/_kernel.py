"""Conditional random fields with kernels: linear ones of a factor of the matrix of kernels."""

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from skstructured.estimators.crf._objective import Layout
from skstructured.estimators.kernel._values import (
    Kernel,
    check_kernel,
    inverse_variance,
    is_precomputed,
)

#: Of "poly" and "sigmoid", as in scikit-learn.
DEGREE, COEF0 = 3, 1.0

#: What is left of a row outside of the span of others, squared, over the largest, to count as 0.
RANK = 1e-12


def factor_of(K):
    """F (n, r) and rows (r,), with ``K = F Fᵀ`` up to `RANK` and triangular ``F[rows]``.

    Cholesky's factor with pivots; K (n, n) is used up. Rows that the others span are not in `rows`.
    """
    L, pivots, rank, _ = dpstrf(K.T, tol=RANK * K.diagonal().max(), lower=1, overwrite_a=1)
    F = np.empty((len(K), rank))
    F[pivots - 1] = np.tril(L[:, :rank])
    return F, pivots[:rank] - 1


class KernelField:
    """`fit` and scores with kernels, over vectors of scores; a linear kernel changes nothing."""

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
        if self.warm_start:
            raise ValueError(f"kernel={self.kernel!r} needs warm_start=False, got True.")

    def _forget_kernels(self):
        for name in ("dual_coef_", "support_", "_kept", "_scaling", "_kernel"):
            vars(self).pop(name, None)

    def _solve_kernels(self, rows, packed, share):
        """Learn, and keep the coefficients and the rows that have some."""
        if self._is_sequential():
            raise ValueError(f'kernel={self.kernel!r} is for spaces other than "sequence".')
        for name in ("coef_", "intercept_", "start_", "end_", "transitions_"):
            vars(self).pop(name, None)
        self._scaling = self._scale_for(rows.X, share)
        Z = self._scaling.transform(rows.X)
        gamma = inverse_variance(Z, share) if self.gamma in (None, "scale") else float(self.gamma)
        self._kernel = Kernel(self.kernel, gamma, DEGREE, COEF0, float(self.fit_intercept))
        counted = np.flatnonzero(share > 0.0)
        F, kept = factor_of(self._kernel(Z[counted], Z[counted]))
        layout = Layout(F.shape[1], self.space_.dim_, False, False)
        objective = self._objective(F, packed[counted], share[counted], layout)
        Theta = self._minimized(objective, np.zeros(layout.shape))
        self.dual_coef_, self.support_ = np.zeros((len(share), layout.dim)), np.sort(counted[kept])
        self.dual_coef_[counted[kept]] = solve_triangular(F[kept], Theta, lower=True, trans=1)
        self._kept = Z[self.support_]

    def _kernel_scores(self, X):
        """Scores (n, dim) of checked rows, by kernels."""
        kept = self.dual_coef_[self.support_]
        return self._kernel.scores(self._scaling.transform(X), self._kept, kept)
