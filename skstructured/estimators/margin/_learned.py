"""What is learned and moves with the means of blocks: weights of features, or scores of all rows.

`learned` are (rows, K, W, scores). Where the matrix of kernels K (N, N) is empty, weights
W (p + intercept, dim) follow the moves by `rows`; else `scores` (dim, N) do, by K.
"""

from skstructured._engine.compiled import FASTMATH, kernel


@kernel(fastmath=FASTMATH)
def _axpy(target, factor, row):
    for j in range(target.shape[0]):
        target[j] += factor * row[j]


@kernel(fastmath=FASTMATH)
def _score_row(rows, i, W, v):
    """v = Wᵀx of row i, W (p + intercept, dim)."""
    data, indices, indptr, width = rows
    sparse = indptr.shape[0] > 0
    start = indptr[i] if sparse else i * width
    stop = indptr[i + 1] if sparse else start + width
    for k in range(v.shape[0]):
        v[k] = W[width, k] if W.shape[0] > width else 0.0
    for t in range(start, stop):
        a, x = indices[t] if sparse else t - start, data[t]
        for k in range(v.shape[0]):
            v[k] += x * W[a, k]


@kernel(fastmath=FASTMATH)
def _move_by_row(rows, i, W, d, factor):
    """W ← W + factor x dᵀ."""
    data, indices, indptr, width = rows
    sparse = indptr.shape[0] > 0
    start = indptr[i] if sparse else i * width
    stop = indptr[i + 1] if sparse else start + width
    for t in range(start, stop):
        a, x = indices[t] if sparse else t - start, factor * data[t]
        for k in range(d.shape[0]):
            W[a, k] += x * d[k]
    if W.shape[0] > width:
        for k in range(d.shape[0]):
            W[width, k] += factor * d[k]


@kernel
def read_scores(learned, i, v):
    """v = the scores of row i."""
    rows, K, W, scores = learned
    if K.shape[0] == 0:
        _score_row(rows, i, W, v)
    else:
        for k in range(v.shape[0]):
            v[k] = scores[k, i]


@kernel
def follow(learned, i, d, step):
    """Weights or scores after the mean of row i has moved by d: its coefficients lose step d."""
    rows, K, W, scores = learned
    if K.shape[0] == 0:
        _move_by_row(rows, i, W, d, -step)
    else:
        for k in range(d.shape[0]):
            if d[k] != 0.0:
                _axpy(scores[k], -step * d[k], K[i])
