"""Columns of sparse rows that are the same, which share their weights."""

import numpy as np
from scipy import sparse

from skstructured.extend._types import Floats


class MergedColumns:
    """A CSR matrix in which columns that are the same are one, times the root of their number.

    At the optimum of a loss with an ℓ2 penalty, c columns that are the same have the same weight w.
    One column √c x with the weight √c w has the same scores and the same penalty, and an ℓ1
    penalty that is √c times as strong.

    Parameters
    ----------
    X : CSR matrix of shape (N, p)
        Rows. Columns are compared by sums of 64 random bits for each entry.

    Attributes
    ----------
    matrix : CSR matrix of shape (N, q)
        Rows with q ≤ p columns, in the order of the first row that has them.
    roots : ndarray of shape (q, 1)
        √c.
    """

    def __init__(self, X: sparse.csr_matrix) -> None:
        columns = X.tocsc()
        bits = np.random.RandomState(0).randint(1, 1 << 62, size=X.shape[0]).astype(np.uint64)
        drawn = bits[columns.indices] * (columns.data.view(np.uint64) | np.uint64(1))
        keys, filled = np.zeros(X.shape[1], dtype=np.uint64), np.diff(columns.indptr) > 0
        keys[filled] = np.add.reduceat(drawn, columns.indptr[:-1][filled])
        _, first, same, counts = np.unique(
            keys, return_index=True, return_inverse=True, return_counts=True
        )
        rows = np.full(X.shape[1], X.shape[0])
        rows[filled] = columns.indices[columns.indptr[:-1][filled]]
        order = np.lexsort((first, rows[first]))  # rows read weights that are near each other
        self._places, self.roots = np.argsort(order)[same], np.sqrt(counts[order])[:, None]
        self.matrix = (columns[:, first[order]] @ sparse.diags(self.roots[:, 0])).tocsr()

    def join(self, weights: Floats) -> Floats:
        """Weights (q, dim) of the columns, given those (p, dim) of X."""
        joined = np.zeros((len(self.roots), weights.shape[1]))
        np.add.at(joined, self._places, weights)
        return joined / self.roots

    def split(self, weights: Floats) -> Floats:
        """Weights (p, dim) of the columns of X, given those of the merged ones."""
        return (weights / self.roots)[self._places]
