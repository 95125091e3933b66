"""Rows as the batch learners of margins read them, and what they find."""

from typing import NamedTuple

import numpy as np

from skstructured._base.ragged import Ragged
from skstructured.sequences._decoding import Chains


def check_memory(n, cache_size):
    """A ValueError, with its size, for a matrix (n, n) that is larger than `cache_size` MiB."""
    check_size(f"matrix of kernels of {n} rows", n * n, cache_size)


def check_size(what, numbers, cache_size):
    """A ValueError where so many numbers take more than `cache_size` MiB."""
    size = 8.0 * numbers / 2**30
    if size > cache_size / 1024.0:
        raise ValueError(
            f"The {what} takes {size:.3g} GiB, and cache_size={cache_size} MiB allows "
            f"{cache_size / 1024.0:.3g}: raise it, use fewer rows, or kernel='linear'."
        )


class Found(NamedTuple):
    """The result of a fit.

    Attributes
    ----------
    dual : ndarray of shape (N, dim)
        Coefficients of rows or positions.
    W : ndarray of shape (p + intercept, dim) or None
        Weights, for the linear kernel.
    edges : tuple or None
        Of sequences: the weights of first and last labels (2, k), and of steps (k, k).
    """

    dual: np.ndarray
    W: np.ndarray | None
    edges: tuple | None = None


class Inputs(NamedTuple):
    """Rows Z (N, p) and their kernels K (N, N), or None for the linear one.

    `offsets` (n + 1,) are those of sequences, None where a row is an output of its own; `share`
    (n,) are the weights of outputs, of sum 1.
    """

    Z: object
    K: np.ndarray | None
    offsets: np.ndarray | None
    share: np.ndarray
    intercept: bool

    @property
    def n(self):
        """How many outputs."""
        return len(self.share)

    def rows(self, which):
        """Rows of the outputs `which`."""
        if self.offsets is None:
            return which
        return Ragged(np.empty(0), self.offsets).places(which)

    def of_rows(self, values):
        """Values (n,) of outputs, for each of their rows."""
        return values if self.offsets is None else np.repeat(values, np.diff(self.offsets))

    def squares(self):
        """k(x, x) of rows."""
        if self.K is not None:
            return np.diag(self.K).copy()
        Z = self.Z
        squares = Z.multiply(Z).sum(axis=1) if hasattr(Z, "indptr") else (Z * Z).sum(axis=1)
        return np.asarray(squares, dtype=np.float64).ravel() + float(self.intercept)

    def part(self, which):
        """The inputs of some outputs."""
        rows, offsets = self.rows(which), None
        if self.offsets is not None:
            offsets = np.r_[0, np.cumsum(np.diff(self.offsets)[which])]
        K = None if self.K is None else np.ascontiguousarray(self.K[np.ix_(rows, rows)])
        share = self.share[which] / self.share[which].sum()
        return Inputs(self.Z[rows], K, offsets, share, self.intercept)

    def scores(self, found, train, valid):
        """Scores of the outputs `valid` by what was found from those in `train`."""
        rows = self.rows(valid)
        if found.W is None:
            V = self.K[np.ix_(rows, self.rows(train))] @ found.dual
        else:
            V = with_weights(self.Z[rows], found.W)
        if self.offsets is None:
            return V
        return chains_of(V, np.r_[0, np.cumsum(np.diff(self.offsets)[valid])], *found.edges)


def with_weights(Z, W):
    """Scores of rows by weights (p + intercept, dim)."""
    V = np.asarray(Z @ W[: Z.shape[1]])
    return V + W[-1] if len(W) > Z.shape[1] else V


def weights_of(inputs, dual):
    """Weights (p + intercept, dim) of coefficients."""
    W = np.asarray(inputs.Z.T @ dual)
    return np.ascontiguousarray(np.vstack([W, dual.sum(axis=0)]) if inputs.intercept else W)


def chains_of(V, offsets, ends, steps):
    """`Chains` of the scores of positions alone, with those of edges."""
    unary = V.copy()
    unary[offsets[:-1]] += ends[0]
    unary[offsets[1:] - 1] += ends[1]
    return Chains(unary, offsets, steps[None])
