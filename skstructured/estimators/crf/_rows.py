"""Rows as solvers work on them: blocks for threads."""

import numpy as np
from scipy import sparse

#: Rows of a block, at least: long enough for a thread to be worth its start.
BLOCK = 4096


def block_bounds(offsets, size=BLOCK):
    """Bounds of blocks of whole sequences, of `size` rows or more but for the last one."""
    bounds = [0]
    while bounds[-1] < len(offsets) - 1:
        stop = np.searchsorted(offsets, offsets[bounds[-1]] + size)
        bounds.append(int(min(max(stop, bounds[-1] + 1), len(offsets) - 1)))
    return bounds


def part_of(X, start, stop):
    """Rows from `start` to `stop` as a view."""
    if not sparse.issparse(X):
        return X[start:stop]
    first, last = X.indptr[start], X.indptr[stop]
    arrays = (X.data[first:last], X.indices[first:last], X.indptr[start : stop + 1] - first)
    return sparse.csr_matrix(arrays, shape=(stop - start, X.shape[1]), copy=False)
