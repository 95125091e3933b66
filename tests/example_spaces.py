"""Spaces that a user could bring, with a compiled oracle."""

import functools
import itertools

import numpy as np
from numba import njit

from skstructured.extend import Geometry, OutputSpace


class KSubsets(OutputSpace):
    """Subsets of exactly k of d > k labels, as 0/1 vectors with k ones.

    The target loss is the share of wrong members. A mean μ with weight e outside the true subset
    has ``‖μ − y‖² ≥ e²/k + e²/(d−k)`` and loss e/k, hence γ = √((d−k)/(kd)).
    """

    task = "multilabel"
    constant_sum = True

    def __init__(self, k=1):
        self.k = k

    @property
    def oracle_kernel(self):
        """The k largest scores, compiled; ties to the first."""
        return top_k_kernel(self.k)

    def argmax(self, theta):
        """The k largest scores of each row (n, d), ties to the first."""
        order = np.argsort(-np.asarray(theta), axis=1, kind="stable")
        if order.shape[1] < self.k:
            raise ValueError(f"There are no subsets of size k={self.k} of {order.shape[1]} labels.")
        V = np.zeros(order.shape)
        np.put_along_axis(V, order[:, : self.k], 1.0, axis=1)
        return V

    def refusal(self, v):
        """The message of `encode` for a vector that is not a vertex."""
        return f"is not a vertex of KSubsets(k={self.k}): it needs {self.k} ones and else zeros"

    def vertices(self):
        """All subsets (C(d, k), d)."""
        subsets = np.array(list(itertools.combinations(range(self._dimension()), self.k)))
        V = np.zeros((len(subsets), self.dim_))
        np.put_along_axis(V, subsets, 1.0, axis=1)
        return V

    def mean_proba(self, mu):
        """Probability of each label that a mean stands for: μ itself (n, d)."""
        return mu

    def expected_loss(self, mu, V):
        """Share of wrong members 1 − <μ, y>/k, of shape (n,)."""
        return 1.0 - np.einsum("nd,nd->n", mu, V) / self.k

    def geometry(self, norm, dim=None):
        """ν, D, γ: ℓ2 (√2, √(2 min(k, d−k)), √((d−k)/(kd))); ℓ1 (2, 2 min(k, d−k), 1/(2k))."""
        d, k = self._dimension(dim), self.k
        if norm == "l1":
            return Geometry(2.0, 2.0 * min(k, d - k), 0.5 / k)
        return Geometry(np.sqrt(2.0), np.sqrt(2.0 * min(k, d - k)), np.sqrt((d - k) / (k * d)))


@functools.cache
def top_k_kernel(k):
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
