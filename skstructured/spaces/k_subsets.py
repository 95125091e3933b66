"""Exactly k labels: a space that brings little more than its oracle."""

import functools
import itertools
import math
from numbers import Integral
from typing import Self

import numpy as np
from numba import njit

from skstructured.extend import Geometry, OutputSpace
from skstructured.extend._types import Floats, Kernel, Outputs


class KSubsets(OutputSpace):
    r"""Subsets of exactly k of d labels, as 0/1 vectors with k ones.

    Row i of y is an indicator vector with k ones. The target loss is ``1 − <y', y>/k``, the share
    of wrong members. Regularizer: `SquaredNorm`, by the active-set method over the oracle.

    Parameters
    ----------
    k : int
        Size of the subsets.

    Attributes
    ----------
    dim_ : int
        Number d of labels, more than k.

    See Also
    --------
    Hypercube : Label sets of any size.
    Simplex : Classes, the subsets of size 1.

    Notes
    -----
    A mean μ with weight e outside the true subset has ``‖μ − y‖² ≥ e²/k + e²/(d−k)`` and loss e/k,
    hence γ = √((d−k)/(kd)).
    """

    task = "multilabel"
    constant_sum = True

    def __init__(self, k: int = 1) -> None:
        self.k = k

    @property
    def oracle_kernel(self) -> Kernel:  # type: ignore[override]  # of each k another
        """The k largest scores, compiled; ties to the first."""
        return _top_k_kernel(self.k)

    def fit(self, y: Outputs) -> Self:
        """Learn d from indicator vectors (n, d); a ValueError if k is not in 1 … d−1."""
        d = np.shape(y)[1] if np.ndim(y) == 2 else 0  # type: ignore[arg-type,misc]
        is_size = isinstance(self.k, Integral) and not isinstance(self.k, bool)
        if d > 0 and not (is_size and 1 <= self.k < d):
            raise ValueError(f"k must be an integer in 1..{d - 1} for {d} labels, got {self.k!r}.")
        return super().fit(y)

    def argmax(self, theta: Floats) -> Floats:
        """The k largest scores of each row (n, d), ties to the first."""
        order = np.argsort(-np.asarray(theta), axis=1, kind="stable")
        if order.shape[1] < self.k:
            raise ValueError(f"There are no subsets of size k={self.k} of {order.shape[1]} labels.")
        V = np.zeros(order.shape)
        np.put_along_axis(V, order[:, : self.k], 1.0, axis=1)
        return V

    def refusal(self, v: Floats) -> str:
        """The message of `encode` for a vector that is not a vertex."""
        return f"is not a vertex of KSubsets(k={self.k}): it needs {self.k} ones and else zeros"

    def vertices(self) -> Floats:
        """All subsets (C(d, k), d); at most 10⁵ of them."""
        d = self._dimension()
        if math.comb(d, self.k) > 100_000:
            raise ValueError(f"{math.comb(d, self.k)} subsets are too many to list.")
        chosen = np.array(list(itertools.combinations(range(d), self.k)))
        V = np.zeros((len(chosen), d))
        np.put_along_axis(V, chosen, 1.0, axis=1)
        return V

    def mean_proba(self, mu: Floats) -> Floats:
        """Probability of each label that a mean stands for: μ itself (n, d)."""
        return mu

    def expected_loss(self, mu: Floats, V: Floats) -> Floats:
        """Share of wrong members 1 − <μ, y>/k, of shape (n,)."""
        return 1.0 - np.einsum("nd,nd->n", mu, V) / self.k

    def geometry(self, norm: str, dim: int | None = None) -> Geometry:
        """ν, D, γ: ℓ2 (√2, √(2 min(k, d−k)), √((d−k)/(kd))); ℓ1 (2, 2 min(k, d−k), 1/(2k))."""
        d, k = self._dimension(dim), self.k
        if norm == "l1":
            return Geometry(2.0, 2.0 * min(k, d - k), 0.5 / k)
        diameter = math.sqrt(2 * min(k, d - k))
        return Geometry(math.sqrt(2), diameter, math.sqrt((d - k) / (k * d)))


@functools.cache
def _top_k_kernel(k):
    @njit(nogil=True, error_model="numpy")
    def top_k(theta, vertex):
        vertex[:] = 0.0
        for _ in range(k):
            best = -1
            for j in range(theta.shape[0]):
                if vertex[j] == 0.0 and (best < 0 or theta[j] > theta[best]):
                    best = j
            vertex[best] = 1.0

    return top_k
