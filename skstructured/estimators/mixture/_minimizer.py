"""Members that minimize the penalized loss, by products of matrices: all folds at once."""

import math
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse import issparse

from skstructured._base.lbfgs import minimize_two_loops
from skstructured.estimators.mixture._ridge import KERNEL_JITTER, RowKernel
from skstructured.estimators.mixture._training import ROWS_AT_ONCE, Member, StandardRows, Training
from skstructured.estimators.mixture._weights import share_of_mean
from skstructured.extend._types import Array, Floats, Matrix


class Features(NamedTuple):
    """Uncorrelated ``axes' (f(x) - center)`` of rows, f standardized features or kernels.

    `axes` are (m, r), and `squares` (r,) the sums of squares along them over the rows learned.
    """

    kernel: RowKernel | None
    center: Floats
    axes: Floats
    squares: Floats

    @classmethod
    def of_rows(cls, Z: Floats, weight: Floats) -> Self:
        """Standardized features."""
        center = weight @ Z / weight.sum()
        axes, squares = principal_axes(np.sqrt(weight)[:, None] * (Z - center))
        return cls(None, center, axes, squares)

    @classmethod
    def of_kernel(cls, kernel: RowKernel, Z: Floats, weight: Floats) -> Self:
        """Kernels with landmarks, whose functions have their norm in the space of the kernel."""
        gram = kernel(kernel.Z)
        gram[np.diag_indices(len(gram))] += KERNEL_JITTER * np.trace(gram) / len(gram)
        factor, K = cholesky(gram, lower=True), kernel(Z)
        center = weight @ K / weight.sum()
        centered = np.sqrt(weight) * (K - center).T
        axes, squares = principal_axes(solve_triangular(factor, centered, lower=True).T)
        return cls(kernel, center, solve_triangular(factor, axes, lower=True, trans=1), squares)

    def __call__(self, Z: Floats) -> Floats:
        """Features (n, r) of rows along the axes."""
        return ((Z if self.kernel is None else self.kernel(Z)) - self.center) @ self.axes


def principal_axes(F: Floats, least: float = 1e-9) -> tuple[Floats, Floats]:
    """Orthonormal axes (m, r) of features F (n, m), and sums of squares along them, ascending.

    Squares that are at most `least` times the largest count as 0.
    """
    if F.shape[1] > len(F):
        sides, squares = principal_axes(F.T, least)
        return F.T @ sides / np.sqrt(squares), squares
    squares, axes = np.linalg.eigh(F.T @ F)
    is_counted = squares > max(least * squares[-1], 0.0)
    return axes[:, is_counted], squares[is_counted]


class FoldObjective:
    """The penalized losses of models with other weights (n, n_models), over the same features."""

    #: Precision of products.
    dtype: Any = np.float32

    #: Steps for a penalty, at most; the last one gains less than a share `tol` of the loss.
    max_iter, tol = 30, 1e-3

    def __init__(self, P: Floats, squares: Floats, V: Floats, weights: Floats, loss: Any) -> None:
        self.P = np.column_stack([P, np.ones(len(P))]).astype(self.dtype)
        self.squares = np.append(squares, weights.max(axis=1).sum())
        self.V, self.loss = np.repeat(V, weights.shape[1], axis=0), loss
        self.weights, self.scale = weights.ravel(), getattr(loss, "scale_", 1.0)
        self.shape = len(self.squares), weights.shape[1] * V.shape[1]
        zeros = np.zeros(self.V.shape)
        self.rest = self.weights @ (loss.value(zeros, self.V) - loss.objective(zeros, self.V)[0])

    def scores(self, W: Floats) -> Array:
        """Scores (n, n_models, dim) by coefficients."""
        return (self.P @ W.astype(self.dtype)).reshape(len(self.P), -1, self.V.shape[1])

    def value_and_gradient(self, W: Floats, penalties: Floats) -> tuple[float, Floats]:
        """The sum of all penalized losses."""
        losses, slopes = self.loss.objective(self.scores(W).reshape(self.V.shape), self.V)
        slopes *= self.weights[:, None]
        value = self.weights @ losses + self.rest + 0.5 * np.sum(penalties * W * W)
        slopes = slopes.astype(self.dtype).reshape(len(self.P), -1)
        return value, self.P.T @ slopes + penalties * W

    def minimize(self, penalty: float, W: Floats) -> Floats:
        """Coefficients of the least sum, from other ones; the intercept has no penalty."""
        unit = self.scale * self.squares[:-1].sum() / len(self.P)
        penalties = np.append(np.full(len(self.squares) - 1, penalty * unit), 0.0)[:, None]
        root = 1.0 / np.sqrt(self.scale * self.squares[:, None] + penalties)
        last = math.inf

        def function(flat):
            value, gradient = self.value_and_gradient(root * flat.reshape(W.shape), penalties)
            return value, (root * gradient).ravel()

        def is_done(value, gradient):
            nonlocal last
            gain, last = last - value, value
            return gain < self.tol * value

        flat = minimize_two_loops(function, (W / root).ravel(), self.max_iter, is_done)
        return root * flat.reshape(W.shape)


class LossMinimizer(Member):
    r"""Minimize the penalized loss of a linear model, or of a function of a kernel.

    With weights w of rows, the model minimizes

    .. math:: \sum_i w_i S(W p(x_i) + b; (1 - ε) y_i + ε ŷ(0)) + λ ‖W‖^2 / 2, \quad ε = 1/(n + 1),

    over features p(x) along principal axes of the standardized rows. For a kernel they are in the
    span of 400 landmarks, and ‖W‖ is the norm of the function. Models of all rows, and of those
    outside each part, are minimized at the same time, for one penalty after another until the loss
    of the rows that are left out rises. The axes know all rows, but no outputs. Losses that are not
    linear in y, or have a margin, have ε = 0. The `seed` draws at most `n_rows` rows, and the
    landmarks.

    References
    ----------
    Williams, Seeger (2000), "Using the Nyström method to speed up kernel machines"; Liu, Nocedal
    (1989), "On the limited memory BFGS method for large scale optimization".
    """

    #: Penalties, from the largest, in units of the mean square of a row; and the one of few rows.
    penalties, default_penalty = 10.0 ** np.arange(1.0, -5.6, -0.5), 0.1

    #: Landmarks that span functions of a kernel, at most.
    n_landmarks = 400

    def __init__(self, name: str, loss: Any, n_rows: int, seed: int) -> None:
        self.name, self.loss, self.n_rows, self.seed = name, loss, n_rows, seed

    @classmethod
    def linear(cls, loss: Any, X: Matrix, seed: int) -> Self | None:
        """A linear model of rows; None if passes are quicker: CSR, or both many and wide."""
        n, p = X.shape
        n_rows = min(n, max(4000, 50 * p))
        if issparse(X) or n_rows > 20_000 or min(n_rows, p) > 2000:
            return None
        return cls("linear", loss, n_rows, seed)

    def work(self, n: int) -> float:
        n_features = 1 if self.name == "linear" else min(n, self.n_landmarks)
        return (min(n, self.n_rows) + n / 10) * n_features

    def resized(self, size: float) -> "LossMinimizer":
        n_rows = min(self.n_rows, max(self.n_landmarks, int(size * self.n_rows)))
        return LossMinimizer(self.name, self.loss, n_rows, self.seed)

    def fit(self, training: Training) -> Floats:
        learned = self._drawn(len(training.V), self.n_rows)
        Z, weight, V = training.rows.standardized(learned), training.weight[learned], training.V
        features = self._features(Z, weight)
        P, fold_ids = features(Z), training.parts[learned]
        weights = weight[:, None] * (fold_ids[:, None] != [*training.folds, np.nan])
        share = share_of_mean(self.loss, len(Z))
        pulled = (1.0 - share) * V[learned] + share * training.origin
        objective = FoldObjective(P, features.squares, pulled, weights, self.loss)
        W = self._coefs(objective, V[learned], weight, fold_ids)
        self._keep(features, W[:, -training.dim :], training.rows)
        return self._honest(features, W, training)

    def _drawn(self, n, n_drawn):
        """Places of this many of n rows, in order."""
        return np.sort(np.random.RandomState(self.seed).permutation(n)[:n_drawn])

    def _features(self, Z, weight):
        if self.name == "linear":
            return Features.of_rows(Z, weight)
        landmarks = self._drawn(len(Z), self.n_landmarks)
        kernel = RowKernel.of(self.name, Z[landmarks], weight[landmarks])
        return Features.of_kernel(kernel, Z, weight)

    def _coefs(self, objective, V, weight, fold_ids, multiples=(1.0, 1.5, 2.5, 4.0, 8.0)):
        """Coefficients of all models, by the penalty of the lowest loss of rows left out.

        Penalties are compared by the best multiple of scores: larger ones make scores smaller, but
        a mixture weighs them.
        """
        judged, lowest = np.flatnonzero(fold_ids >= 0), math.inf
        V, weight = V[judged], weight[judged]
        W, self.penalty = np.zeros(objective.shape), self.default_penalty
        best = W
        for penalty in self.penalties if len(judged) else [self.penalty]:
            W = objective.minimize(penalty, W)
            honest = objective.scores(W)[judged, fold_ids[judged]]
            loss = min(weight @ self.loss.objective(a * honest, V)[0] for a in multiples)
            if loss >= lowest:
                break
            lowest, best, self.penalty = loss, W, penalty
        return best

    def _honest(self, features, W, training):
        """Scores of the rows of parts by the models without them, some rows at a time."""
        honest = np.zeros(training.V.shape)
        for fold_id in training.folds:
            indices, dim = np.flatnonzero(training.parts == fold_id), training.dim
            coefs = W[:, fold_id * dim : (fold_id + 1) * dim]
            for start in range(0, len(indices), ROWS_AT_ONCE):
                chunk = indices[start : start + ROWS_AT_ONCE]
                P = features(training.rows.standardized(chunk))
                honest[chunk] = P @ coefs[:-1] + coefs[-1]
        return honest[training.judged]

    def _keep(self, features, coefs, rows):
        """Coefficients of features, and those of a linear model in units of X."""
        self.kernel, self.coefs = features.kernel, features.axes @ coefs[:-1]
        self.shift = coefs[-1] - features.center @ self.coefs
        if self.kernel is None:
            folded = rows.scale.fold(np.column_stack([self.coefs.T, self.shift]))
            self.coef_, self.intercept_ = folded[:, :-1], folded[:, -1]

    def scores(self, rows: StandardRows) -> Floats:
        Z = rows.standardized(slice(None))
        return (Z if self.kernel is None else self.kernel(Z)) @ self.coefs + self.shift
