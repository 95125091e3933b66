"""Kernel ridge regression of vertices, which leaves out each part of the rows."""

from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import get_lapack_funcs
from scipy.sparse import csr_matrix
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import manhattan_distances

from skstructured.estimators.kernel import _values
from skstructured.estimators.mixture import _training
from skstructured.estimators.mixture._training import (
    Member,
    Stage,
    StandardRows,
    Training,
    spread_evenly,
)
from skstructured.extend._types import Floats

#: What is added to k(x, x) of landmarks, in units of its mean.
KERNEL_JITTER = 1e-6


class RowKernel(NamedTuple):
    """Kernels of standardized rows with the rows Z (m, p)."""

    function: _values.KernelFunction
    Z: Floats

    @classmethod
    def of(cls, name: str, Z: Floats, weight: Floats) -> Self:
        """The kernel of a name, with the width that `KernelStructuredPredictor` uses."""
        width = _values.width_of("multiscale", name, Z.shape[1], Z, weight)
        return cls(_values.kernel_function(name, width, 1.0, 3, False), Z)

    def __call__(self, Z: Floats, block_size: int = 1 << 14) -> Floats:
        """Kernels (n, m), so many at a time; tiny ones, with which products take long, are 0."""
        values, squares = np.empty((len(Z), len(self.Z))), squares_of(self.Z)
        n_rows = max(block_size // len(self.Z), Z.shape[1])
        for start in range(0, len(Z), n_rows):
            block = slice(start, start + n_rows)
            values[block] = without_tiny(self._values(Z[block], squares))
        return values

    def _values(self, Z, squares):
        kind, (gamma, coef0) = self.function.kind, self.function.numbers[:2]
        if kind == _values.KernelKind.LAPLACIAN:
            return np.exp(-gamma * city_distances(Z, self.Z))
        if kind == _values.KernelKind.ARC_COSINE:
            return arc_cosines(Z @ self.Z.T + coef0, squares_of(Z) + coef0, squares + coef0)
        # "multiscale", the mean of three widths
        distances = np.add.outer(squares_of(Z), squares) - 2.0 * Z @ self.Z.T
        widest = without_tiny(np.exp(-0.25 * gamma * np.maximum(distances, 0.0)))
        middle = without_tiny(np.square(np.square(widest)))
        return (widest + middle + np.square(np.square(middle))) / 3.0


def without_tiny(values: Floats) -> Floats:
    """The same array, with 0 instead of tiny numbers."""
    values[values < 1e-20] = 0.0
    return values


def city_distances(Z: Floats, landmarks: Floats) -> Floats:
    """Sums (n, m) of the absolute differences of cells, faster if most landmarks' cells are 0."""
    if np.count_nonzero(landmarks) > 0.1 * landmarks.size:
        return cdist(Z, landmarks, "cityblock")
    return manhattan_distances(csr_matrix(Z), csr_matrix(landmarks))


def squares_of(Z: Floats) -> Floats:
    """Squared norms of rows."""
    return np.einsum("ij,ij->i", Z, Z)


def arc_cosines(products: Floats, squares: Floats, other_squares: Floats) -> Floats:
    """Arc-cosine kernels (n, m) of rows of these products and squared norms, all positive."""
    norms, other_norms = np.sqrt(squares)[:, None], np.sqrt(other_squares)
    cosines = np.clip(products / norms / other_norms, -1.0, 1.0)
    values = np.sqrt((1.0 - cosines) * (1.0 + cosines))
    values += np.arccos(-cosines) * cosines
    return values * (norms / np.pi) * other_norms


class Ridge(NamedTuple):
    """Scores ``k(x)ᵀ c + mean`` with ``c = s (A + λuP)⁻¹ B``, for every penalty λ.

    The `unit` u is the mean k(x, x), and P = None the identity. The mean is that of the vertices.
    """

    kernel: RowKernel
    A: Floats
    B: Floats
    P: Floats | None
    unit: float
    s: Floats
    mean: Floats

    @classmethod
    def of_rows(cls, name: str, Z: Floats, V: Floats, weight: Floats) -> Self:
        """The system of rows, each of which has a coefficient."""
        kernel, root = RowKernel.of(name, Z, weight), np.sqrt(weight)[:, None]
        A, mean = root * kernel(Z) * root.T, np.average(V, axis=0, weights=weight)
        return cls(kernel, A, root * (V - mean), None, np.trace(A) / len(A), root, mean)

    def coefs(self, penalty: float, precision: Any = np.float64) -> Floats:
        """Coefficients (m, dim); inf if the system is singular in this precision."""
        matrix, shift = self.A.astype(precision, order="F"), penalty * self.unit
        if self.P is None:
            matrix[np.diag_indices(len(matrix))] += shift
        else:
            matrix += shift * self.P
        factor, solve = get_lapack_funcs(("potrf", "potrs"), (matrix,))
        L, failed = factor(matrix, lower=True, overwrite_a=True, clean=False)
        if failed:
            return np.full(self.B.shape, np.inf)
        return self.s * solve(L, self.B.astype(precision), lower=True)[0]


class KernelRidge(Member):
    r"""Regress vertices by kernels, with the penalty of the least error on rows of other parts.

    With weights w of rows, their mean m, K̃ = √w K √w and R = √w(V − m), the scores are
    ``f(x) = m + k(x)ᵀ √w (K̃ + λI)⁻¹ R``. Above 1.5 `n_landmarks` rows, f is in the span of
    `n_landmarks` rows, drawn at random, and the first part chooses λ. The mean prediction at scores
    of 0 is taken off. The rows of a part are scored by the regression of all others, whose features
    are stretched by trees that have not learned the part either.

    References
    ----------
    Ciliberto, Rosasco, Rudi (2016), "A consistent regularization approach for structured
    prediction"; Rudi, Camoriano, Rosasco (2015), "Less is more: Nyström computational
    regularization".
    """

    #: Rows, in units of `n_landmarks`, up to which each row has a coefficient.
    most_exact = 1.5

    #: Rows in no fold that are learned at most, in units of `n_landmarks`.
    most_unjudged = 20

    #: Penalties, in units of the mean k(x, x); and the one without honest scores.
    penalties, default_penalty = 10.0 ** np.arange(-4.0, 2.6, 0.5), 0.1

    def __init__(self, kernel: str, n_landmarks: int, seed: int) -> None:
        self.name, self.n_landmarks, self.seed = kernel, n_landmarks, seed

    def stage(self, n: int) -> Stage:
        return Stage.PLAIN if n <= 2 * _training.MOST_HELD_OUT else Stage.IS_TRIED

    def work(self, n: int) -> float:
        kernel_work, setup = 1000, 9e7  # in products of two numbers in each fold, as measured
        if n <= self.most_exact * self.n_landmarks:
            return n * n * (n + kernel_work) + setup
        m = self.n_landmarks  # all folds share kernels and products
        n = min(n, self.most_unjudged * m + _training.MOST_HELD_OUT)
        return n * m * (m + kernel_work) / (_training.N_FOLDS + 1) + 1.5 * m**3 + setup

    def resized(self, size: float) -> "KernelRidge":
        return KernelRidge(self.name, max(1, int(size * self.n_landmarks)), self.seed)

    def fit(self, training: Training) -> Floats:
        is_exact = len(training.V) <= self.most_exact * self.n_landmarks
        *folds, everything = self._of_rows(training) if is_exact else self._in_span(training)
        penalty = self._penalty(training, folds if is_exact else folds[:1])
        honest = np.zeros(training.V.shape)
        for fold_id, ridge in enumerate(folds):
            indices = np.flatnonzero(training.parts == fold_id)
            K = ridge.kernel(training.rows_of_fold(fold_id).chunk(indices))
            honest[indices] = K @ ridge.coefs(penalty) + ridge.mean
        self.kernel, self.coefs = everything.kernel, everything.coefs(penalty)
        self.shift = everything.mean - training.origin
        return honest[training.judged] - training.origin

    def _of_rows(self, training):
        """Systems of the rows that are not in each part, and of all rows."""
        V, weight, systems = training.V, training.weight, []
        folds = [(training.rows_of_fold(k), training.parts != k) for k in training.folds]
        for rows, learned in [*folds, (training.rows, slice(None))]:
            Z = rows.chunk(learned)
            systems.append(Ridge.of_rows(self.name, Z, V[learned], weight[learned]))
        return systems

    def _in_span(self, training):
        """The same in the span of landmarks, from sums over each part."""
        V, weight, m = training.V, training.weight, self.n_landmarks
        landmarks = np.sort(np.random.RandomState(self.seed).permutation(len(V))[:m])
        kernel = RowKernel.of(self.name, training.rows.chunk(landmarks), weight[landmarks])
        P = kernel(kernel.Z)
        unit = np.trace(P) / m
        P[np.diag_indices(m)] += KERNEL_JITTER * unit
        total, *sums = (self._sums(training, kernel, fold) for fold in (-1, *training.folds))
        for triple in sums:
            for whole, fold in zip(total, triple, strict=True):
                whole += fold
        others = [tuple(map(np.subtract, total, triple, triple)) for triple in sums]  # in place
        systems = []
        for A, B, moments in [*others, total]:
            mean = moments[1:] / moments[0]
            B = B[:, 1:] - B[:, :1] * mean
            systems.append(Ridge(kernel, A, B, P, unit, np.ones((m, 1)), mean))
        return systems

    def _sums(self, training, kernel, fold_id):
        """Sums of w k(x) k(x)ᵀ, w k(x) (1, v)ᵀ and w (1, v) over the rows of a part."""
        V = np.column_stack([np.ones(len(training.V)), training.V])
        indices, m = np.flatnonzero(training.parts == fold_id), len(kernel.Z)
        if fold_id < 0:
            indices = spread_evenly(indices, self.most_unjudged * m)
        A, B = np.zeros((m, m)), np.zeros((m, V.shape[1]))
        size = _training.ROWS_AT_ONCE
        for start in range(0, len(indices), size):
            chunk = indices[start : start + size]
            root = np.sqrt(training.weight[chunk])[:, None]
            K = root * kernel(training.rows.chunk(chunk))
            A += K.T @ K
            B += K.T @ (root * V[chunk])
        return A, B, training.weight[indices] @ V[indices]

    def _penalty(self, training, folds):
        """The penalty of the lowest error of folds, in single precision for exact systems."""
        tests = []
        for fold_id, ridge in enumerate(folds):
            indices = np.flatnonzero(training.parts == fold_id)
            K = ridge.kernel(training.rows_of_fold(fold_id).chunk(indices))
            tests.append((ridge, K, training.V[indices] - ridge.mean, training.weight[indices]))

        @cache
        def error(place):
            total = 0.0
            for ridge, K, R, weight in tests:
                precision = np.float32 if ridge.P is None else np.float64
                coefs = ridge.coefs(self.penalties[place], precision)
                total += weight @ np.sum((K @ coefs - R) ** 2, 1)
            return np.nan_to_num(total, nan=np.inf)

        if not tests:
            return self.default_penalty
        return self.penalties[lowest(error, len(self.penalties))]

    def scores(self, rows: StandardRows) -> Floats:
        return self.kernel(rows.chunk(slice(None))) @ self.coefs + self.shift


def lowest(error, n_places):
    """A place with a lower error than its neighbors, downhill from the lowest of every third."""
    place, last = min(range(1, n_places, 3), key=error), -1
    while place != last:
        last = place
        place = min(range(max(place - 1, 0), min(place + 2, n_places)), key=error)
    return place
