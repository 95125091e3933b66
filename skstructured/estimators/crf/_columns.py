"""Columns of sparse rows: those that are the same share their weights, rare ones are larger."""

import numpy as np
from scipy import sparse

from skstructured.extend._types import Floats, Ints


class MergedColumns:
    """A CSR matrix (N, p) in which equal columns are one, and rare ones are larger.

    At the optimum of a loss with an ℓ2 penalty, c columns x that are the same have the same weight
    w. One column ``(c/f) x`` with the weight f w has the same scores, an ℓ2 penalty that is c/f²
    times as strong, and an ℓ1 penalty that is c/f times as strong.

    Solvers need fewer iterations if the objective is about as curved in all weights. Its curvature
    is about α + v m in the weight of √c x, whose mean square is m, at the start, and α in the end
    if few rows have the column. With √c times the square root of ``(α + v m)/(α + v)`` it would be
    equal at the start, with √c in the end. So f is √c times the fourth root, half way between.

    The curvature v is 0.1 times the sum of the weights (N,) of rows in the mean loss. Columns of
    `matrix` (N, q) are in the order of the first row that has them; `factors`, `l2` and `l1` (q, 1)
    are f, c/f² and c/f.
    """

    #: Curvature of a loss in a score, about; it is at most 1/4 and falls while rows are learned.
    curvature = 0.1

    def __init__(self, X: sparse.csr_matrix, weight: Floats, alpha: float) -> None:
        columns = X.tocsc()
        first, self._places, counts = _different(columns)
        columns = columns[:, first]
        squares = counts * (columns.multiply(columns).T @ weight)
        steep, flat = self.curvature * squares, self.curvature * weight.sum()
        factors = np.sqrt(counts) * ((alpha + steep) / (alpha + flat)) ** 0.25
        self.factors, self.l1 = factors[:, None], (counts / factors)[:, None]
        self.l2 = self.l1 / self.factors
        self.matrix = (columns @ sparse.diags(self.l1[:, 0])).tocsr()

    def join(self, weights: Floats) -> Floats:
        """Weights (q, dim) of the columns, given those (p, dim) of X."""
        joined = np.zeros((len(self.l1), weights.shape[1]))
        np.add.at(joined, self._places, weights)
        return joined / self.l1

    def split(self, weights: Floats) -> Floats:
        """Weights (p, dim) of the columns of X, given those of the merged ones."""
        return (weights / self.factors)[self._places]


def _different(columns: sparse.csc_matrix) -> tuple[Ints, Ints, Ints]:
    """Places (q,) of different columns by their first rows, which each is (p,), counts (q,)."""
    bits = np.random.RandomState(0).randint(1, 1 << 62, size=columns.shape[0]).astype(np.uint64)
    values = columns.data.view(np.uint64)  # those of short numbers end in zeros
    drawn = bits[columns.indices] * (values ^ (values >> np.uint64(32)))
    keys, filled = np.zeros(columns.shape[1], dtype=np.uint64), np.diff(columns.indptr) > 0
    keys[filled] = np.add.reduceat(drawn, columns.indptr[:-1][filled])
    _, first, same = np.unique(keys, return_index=True, return_inverse=True)
    compared = np.flatnonzero(first[same] != np.arange(len(same)))
    differences = columns[:, compared] != columns[:, first[same][compared]]
    apart = compared[np.diff(differences.indptr) > 0]  # by chance equal sums of bits
    same[apart] = len(first) + np.arange(len(apart))
    first, counts = np.append(first, apart), np.bincount(same)
    rows = np.full(columns.shape[1], columns.shape[0])
    rows[filled] = columns.indices[columns.indptr[:-1][filled]]
    order = np.lexsort((first, rows[first]))  # rows read weights that are near each other
    return first[order], np.argsort(order)[same], counts[order]
