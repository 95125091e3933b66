"""Experts of a mixture that read the first features of a row only, beside those that read all.

Their Θ lie behind those of the others, in the part of last weights and in that of sums, with zeros
where they read nothing. Where a mixture has any, its vector of totals has more entries.
"""

import numpy as np

from skstructured._engine.arrays import Array, Floats
from skstructured._engine.compiled import FASTMATH, kernel
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
