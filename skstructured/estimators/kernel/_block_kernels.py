"""Row primitives of the loop within a block: coefficients move, and the next row is scored.

Rows are ``[scores at the start | kernels with the rows of the block]``, and Θ has ones above the
coefficients of the block.
"""

from skstructured._engine.compiled import FASTMATH, kernel


@kernel(fastmath=FASTMATH)
def block_move_and_score(
    data, indices, indptr, width, row, ahead, Theta, state, move, u, weight, raw
):
    """β of `row` ← β + u move, then raw = the scores of `ahead`; returns k(ahead, ahead)."""
    dim, x = raw.shape[0], data[ahead * width : (ahead + 1) * width]
    for k in range(Theta.shape[1]):
        Theta[dim + row, k] += u * move[k]
    for k in range(dim):
        raw[k] = x[k] * Theta[k, k]
    for i in range(ahead):
        for k in range(dim):
            raw[k] += x[dim + i] * Theta[dim + i, k]
    return x[dim + ahead]
