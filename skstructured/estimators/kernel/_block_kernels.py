"""Row primitives of the loop within a block: coefficients move, and the next row is scored.

Rows are ``[scores at the start | kernels with the rows of the block]``, and Θ has ones above the
coefficients of the block.
"""

from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.instructions import add_row


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


@kernel(fastmath=FASTMATH)
def long_move_and_score(
    data, indices, indptr, width, row, ahead, Theta, state, move, u, weight, raw
):
    """`block_move_and_score`, four rows of the block at a time.

    It is twice as fast and takes longer to compile, which is for many rows.
    """
    dim, x = raw.shape[0], data[ahead * width : (ahead + 1) * width]
    for k in range(Theta.shape[1]):
        Theta[dim + row, k] += u * move[k]
    for k in range(dim):
        raw[k] = x[k] * Theta[k, k]
    stride, quads = Theta.shape[1], ahead // 4 * 4
    for i in range(dim, dim + quads, 4):
        at = i * stride
        starts = (at, at + stride, at + 2 * stride, at + 3 * stride)
        add_row(raw, 0, (x[i], x[i + 1], x[i + 2], x[i + 3]), Theta, starts, dim)
    for i in range(dim + quads, dim + ahead):
        add_row(raw, 0, (x[i],), Theta, (i * stride,), dim)
    return x[dim + ahead]
