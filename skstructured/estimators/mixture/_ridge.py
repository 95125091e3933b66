"""Kernel ridge regression of vertices, which leaves out each row in closed form."""

import itertools
from functools import cache
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import cholesky, eigh, get_lapack_funcs, solve, solve_triangular

from skstructured.estimators.crf._objective import block_bounds
from skstructured.estimators.kernel._expansion import WIDE
from skstructured.estimators.kernel._values import (
    LAPLACIAN,
    KernelFunction,
    kernel_function,
    width_of,
)
from skstructured.estimators.mixture._training import CHUNK, Member, StandardRows, Training
from skstructured.extend._types import Floats

#: Penalties, in units of the mean k(x, x), and the place of the first that is tried.
PENALTIES, FIRST = 10.0 ** np.arange(-4.0, 2.6, 0.5), 6

#: Rows, in units of `n_landmarks`, up to which leaving out every row is quicker than a span.
EXACT = 1.5

#: What is added to k(x, x) of landmarks, in units of its mean; smaller kernels are 0.
JITTER, TINY = 1e-6, 1e-20


class RowKernel(NamedTuple):
    """Kernels of standardized rows with the rows Z.

    Attributes
    ----------
    function : KernelFunction
        The kernel.
    Z : ndarray of shape (m, p)
        Rows.
    """

    function: KernelFunction
    Z: Floats

    @classmethod
    def of(cls, name: str, Z: Floats, weight: Floats) -> Self:
        """The kernel of a name, with the width that `KernelStructuredPredictor` uses."""
        width = width_of("multiscale", name, Z.shape[1], Z, weight)
        return cls(kernel_function(name, width, 1.0, 3, False), Z)

    def __call__(self, Z: Floats) -> Floats:
        """Kernels (n, m); tiny ones, with which products take long, are 0."""
        if self.function.kind != LAPLACIAN:
            values = self.function.by_products(Z, self.Z, 0.0)
        else:
            blocks = np.split(self.Z.T, range(WIDE, len(self.Z), WIDE), axis=1)
            values = np.hstack([self.function.gram(block, Z) for block in blocks])
        values[values < TINY] = 0.0
        return values


class KernelRidge(Member):
    r"""Regress vertices by kernels, with the penalty of the least leave-one-out error.

    With weights w of rows, their mean m, K̃ = √w K √w and R = √w(V − m), the scores are
    ``f(x) = m + k(x)ᵀ √w (K̃ + λI)⁻¹ R``, and without row i they are at x_i

    .. math:: v_i - (v_i - f(x_i))/(1 - h_i), \quad h = diag(K̃ (K̃ + λI)^{-1}).

    Above 1.5 `n_landmarks` rows, f is in the span of `n_landmarks` rows, drawn at random. The mean
    prediction at scores of 0 is taken off. Rows B of a group are left out together: their errors
    are ``(I - H_BB)⁻¹ (V_B - f(X_B))``, with H = K̃ (K̃ + λI)⁻¹; λ is that of single rows.

    References
    ----------
    Ciliberto, Rosasco, Rudi (2016), "A consistent regularization approach for structured
    prediction"; Rudi, Camoriano, Rosasco (2015), "Less is more: Nyström computational
    regularization".
    """

    def __init__(self, kernel: str, n_landmarks: int, seed: int) -> None:
        self.name, self.n_landmarks, self.seed = kernel, n_landmarks, seed

    def fit(self, training: Training) -> Floats:
        """See `Member`."""
        V, weight = training.V, training.weight
        n, rng = len(V), np.random.RandomState(self.seed)
        exact = n <= EXACT * self.n_landmarks
        some = np.arange(n) if exact else np.sort(rng.permutation(n)[: self.n_landmarks])
        mean = np.average(V, axis=0, weights=weight)
        root, self.shift = np.sqrt(weight)[:, None], mean - training.origin
        self.kernel = RowKernel.of(self.name, training.rows.chunk(some), weight[some])
        learn = self._exact if exact else self._in_span
        errors = learn(training, root, root * (V - mean)) / root[training.judged]
        return V[training.judged] - errors - training.origin

    def _exact(self, training, root, R):
        """Left-out errors of judged rows times √w; sets coefficients."""
        K = root * self.kernel(self.kernel.Z) * root.T
        single, rough = K.astype(np.float32), R.astype(np.float32)

        @cache
        def error(place):
            return np.sum(left_out(single, rough, PENALTIES[place])[0] ** 2, dtype=np.float64)

        place = lowest(error, FIRST, len(PENALTIES))
        errors, alpha, inverse = left_out(K, R, PENALTIES[place])
        self.coefs = root * alpha
        if training.groups is not None:
            for start, stop in itertools.pairwise(training.cuts):
                own = inverse[start:stop, start:stop]  # its lower triangle
                errors[start:stop] = solve(own, alpha[start:stop], assume_a="pos", lower=True)
        return errors[training.judged]

    def _in_span(self, training, root, R):
        """Left-out errors of judged rows times √w, in the span of landmarks; sets coefficients."""
        m, dim, judged = len(self.kernel.Z), R.shape[1], training.judged
        G, B = np.zeros((m, m)), np.zeros((m, dim))
        for start in range(0, len(R), CHUNK):
            part = slice(start, start + CHUNK)
            K = root[part] * self.kernel(training.rows.chunk(part))
            G += K.T @ K
            B += K.T @ R[part]
        own = self.kernel(self.kernel.Z)
        own[np.diag_indices(m)] += JITTER * np.trace(own) / m
        L = cholesky(own, lower=True, overwrite_a=True)
        half = solve_triangular(L, G, lower=True)
        G = solve_triangular(L, half.T, lower=True)
        w, U = eigh(0.5 * (G + G.T), overwrite_a=True)
        turn = solve_triangular(L, U, lower=True, trans=1)  # kernels to coordinates in U
        UB = turn.T @ B
        shares = 1.0 / (np.maximum(w, 0.0)[:, None] + PENALTIES * w.sum() / len(R))
        single, narrow = turn.astype(np.float32), shares.astype(np.float32)
        each = np.hstack([share[:, None] * UB for share in shares.T]).astype(np.float32)
        errors = np.empty((len(PENALTIES), len(judged), dim), dtype=np.float32)
        for start in range(0, len(judged), CHUNK):
            rows = judged[start : start + CHUNK]
            K = root[rows] * self.kernel(training.rows.chunk(rows))
            P = K.astype(np.float32) @ single
            left, fitted = 1.0 - (P * P) @ narrow, P @ each
            missed = R[rows][:, None] - fitted.reshape(len(rows), len(PENALTIES), dim)
            errors[:, start : start + CHUNK] = (missed / left[:, :, None]).transpose(1, 0, 2)
        best = int(np.argmin(np.einsum("lnd,lnd->l", errors, errors, dtype=np.float64)))
        self.coefs = turn @ (shares[:, best : best + 1] * UB)
        if training.groups is not None:
            turn = (turn * np.sqrt(shares[:, best])).astype(np.float32)
            return self._of_groups(training, root, R, turn)
        return errors[best].astype(np.float64)

    def _of_groups(self, training, root, R, turn):
        """Left-out errors of judged rows times √w, without the group; `turn` of the smoother."""
        errors = np.empty(R.shape)
        for first, last in itertools.pairwise(block_bounds(training.cuts)):
            cuts = training.cuts[first : last + 1]
            rows = slice(cuts[0], cuts[-1])
            K = root[rows] * self.kernel(training.rows.chunk(rows))
            P, missed = K.astype(np.float32) @ turn, R[rows] - K @ self.coefs
            for start, stop in itertools.pairwise(cuts - cuts[0]):
                left = np.eye(stop - start) - P[start:stop] @ P[start:stop].T
                missed[start:stop] = solve(left, missed[start:stop], assume_a="pos")
            errors[rows] = missed
        return errors[training.judged]

    def scores(self, rows: StandardRows) -> Floats:
        """See `Member`."""
        return self.kernel(rows.chunk(slice(None))) @ self.coefs + self.shift


def left_out(K, R, penalty):
    """Errors R − f of ridge regression without each row, coefficients, and (K + λI)⁻¹ below.

    Errors are inf if K is singular.
    """
    A = K.copy(order="F")
    A[np.diag_indices(len(A))] += penalty * np.trace(K) / len(K)
    factor, solve_by, invert = get_lapack_funcs(("potrf", "potrs", "potri"), (A,))
    L, failed = factor(A, lower=True, overwrite_a=True, clean=False)
    if failed:
        return np.full(R.shape, np.inf), R, A
    alpha, _ = solve_by(L, R, lower=True)
    inverse, _ = invert(L, lower=True, overwrite_c=True)
    return alpha / np.diag(inverse)[:, None], alpha, inverse


def lowest(error, at, stop):
    """A place below `stop` whose error is lower than its neighbors', downhill from `at`."""
    while True:
        last, near = at, range(max(at - 1, 0), min(at + 2, stop))
        at = min(near, key=error)
        if at == last:
            return at
