"""Experts of a mixture that read the first features of a row only, beside those that read all.

Their Θ lie behind those of the others, in the part of last weights and in that of sums, with zeros
where they read nothing. Where a mixture has any, its vector of totals has more entries.
"""

import numpy as np
from numba import int64

from skstructured._engine.arrays import Array, Floats
from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.instructions import add_row
from skstructured._engine.mixing import GAP
from skstructured._engine.move_and_score import move_pairs

#: Entries behind those of every mixture: rows of Θ of one part, rows of it before those of such
#: experts, the features that these read, and ‖z‖² of them in the row that was scored last.
PART, FIRST, FEATURES, SQUARE = range(GAP + 1, GAP + 5)


def with_near(totals: Floats, dim: int, experts: int, near: int, features: int) -> Floats:
    """Totals of a mixture of `experts`, the last `near` of which read the first features."""
    return np.append(totals, [experts * dim, (experts - near) * dim, features, 0.0])


@kernel
def squares_of(totals: Floats, x_sq: float, squares: Floats) -> None:
    """‖x‖² of the row that was scored last, as each of the experts reads it."""
    few = squares.shape[0]
    first = few
    if totals.shape[0] > SQUARE:
        first = int(few * totals[FIRST] / totals[PART])
    for e in range(few):
        squares[e] = x_sq if e < first else totals[SQUARE]


@kernel(fastmath=FASTMATH)
def near_move_and_score(
    data: Array,
    indices: Array,
    indptr: Array,
    width: int,
    row: int,
    ahead: int,
    Theta: Array,
    totals: Floats,
    move: Floats,
    u: float,
    weight: float,
    raw: Floats,
) -> float:
    """`dense_move_and_score_pairs` for rows of Θ of both kinds; there is always an intercept."""
    x = data[row * width : (row + 1) * width]
    z = data[ahead * width : (ahead + 1) * width]
    part, first, near = int(totals[PART]), int(totals[FIRST]), int(totals[FEATURES])
    z_sq = 1.0
    for j in range(near):
        z_sq += z[j] * z[j]
    totals[SQUARE] = z_sq
    for j in range(near, width):
        z_sq += z[j] * z[j]
    for start in range(0, raw.shape[0], part):
        move_pairs(Theta, x, z, u, move, raw, start, start + first)
        move_pairs(Theta, x[:near], z[:near], u, move, raw, start + first, start + part)
    for k in range(raw.shape[0]):
        Theta[k, width] += u * move[k]
        raw[k] += Theta[k, width]
    return z_sq


@kernel(fastmath=FASTMATH)
def csr_near_move_and_score(
    data: Array,
    indices: Array,
    indptr: Array,
    width: int,
    row: int,
    ahead: int,
    Theta: Array,
    totals: Floats,
    move: Floats,
    u: float,
    weight: float,
    raw: Floats,
) -> float:
    """`near_move_and_score` for CSR rows, which end with all columns behind the first, in order.

    Columns of Θ are the experts; of those of a feature that some do not read, only the others move.
    """
    part, first = int(totals[PART]), int(totals[FIRST])
    stride, behind = Theta.shape[1], width - int(totals[FEATURES])
    stop, end = indptr[row + 1] - behind, indptr[ahead + 1] - behind
    for t in range(indptr[row], stop):
        add_row(Theta, int64(indices[t]) * stride, (u * data[t],), move, (0,), stride)
    add_row(Theta, width * stride, (u,), move, (0,), stride)
    for k in range(stride):
        raw[k] = Theta[width, k]
    z_sq = 1.0
    for t in range(indptr[ahead], end):
        z_sq += data[t] * data[t]
        add_row(raw, 0, (data[t],), Theta, (int64(indices[t]) * stride,), stride)
    totals[SQUARE] = z_sq
    for b in range(behind):  # moved and scored while they are in cache
        x, z, at = u * data[stop + b], data[end + b], (width - behind + b) * stride
        z_sq += z * z
        for k in range(0, stride, part):
            add_row(Theta, at + k, (x,), move, (k,), first)
            add_row(raw, k, (z,), Theta, (at + k,), first)
    return z_sq
