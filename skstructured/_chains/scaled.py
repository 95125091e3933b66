"""Forward–backward of one chain with shared transitions, rescaled at every position.

No logarithm is taken but one per position, and no exponential but of unary scores. Where a value
that is not 0 falls below `SMALL` after it is rescaled, NaN is returned: such a chain is for
`skstructured._chains.logarithms`. What is 0 is so because it is forbidden, then, and only then.

References: Rabiner (1989), "A tutorial on hidden Markov models", section V.A; Lafferty, McCallum,
Pereira (2001), "Conditional random fields".
"""

import math

import numpy as np

from skstructured._chains.rows import (
    add_products,
    exp_matrix,
    exp_rows,
    multiply_row,
    product_of_rows,
    row_sum,
    row_times,
    scale_row,
)
from skstructured._engine.arrays import Floats
from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.copies import copy_into


@kernel
def exp_transitions(pair: Floats, E: Floats, across: Floats) -> float:
    """E = exp(pair[0] − top) and its transpose; returns top, or NaN where E is no good.

    It is no good where entries that are not forbidden span more than `SMALL`, or none is left.
    """
    top, k = exp_matrix(pair[0], E), E.shape[0]
    for i in range(k):
        for j in range(k):
            across[j, i] = E[i, j]
    return top if top > -np.inf else np.nan


@kernel
def forward(
    unary: Floats, start: int, length: int, E: Floats, top: float, alpha: Floats, tilt: Floats
) -> float:
    """alpha[m] ∝ Σ exp of the scores of all that ends in a label at m; tilt = exp(unary − max).

    Returns log Z; −inf where no path is possible, NaN where rescaling is not enough.
    """
    log_z = exp_rows(unary, start, length, tilt) + top * (length - 1)
    if not log_z > -np.inf:
        return log_z
    for m in range(length):
        if m == 0:
            alpha[0, :] = 1.0
        else:
            row_times(alpha, m - 1, E, alpha, m)
        total = multiply_row(alpha, m, tilt, m)
        if total == 0.0:
            return -np.inf
        if not scale_row(alpha, m, 1.0 / total):
            return np.nan
        log_z += math.log(total)
    return log_z


@kernel(fastmath=FASTMATH)
def _finish_row(alpha, m, b, factor, mu, row):
    """mu[row] = alpha[m] · b · factor."""
    for j in range(alpha.shape[1]):
        mu[row, j] = alpha[m, j] * b[0, j] * factor


@kernel
def backward(
    start: int, length: int, across: Floats, alpha: Floats, tilt: Floats, b: Floats, mu: Floats
) -> bool:
    """Unary marginals, from what `forward` left; whether rescaling was enough.

    With b_m = E (tilt_{m+1} b_{m+1}), mu_m = alpha_m b_m / <alpha_m, b_m>. Leaves in tilt[m + 1],
    for m + 1 ≥ 1, what makes alpha_m(i) E_ij tilt_{m+1}(j) the pair marginals of m and m + 1.
    """
    copy_into(mu[start + length - 1], alpha[length - 1])
    for m in range(length - 2, -1, -1):
        row_times(tilt, m + 1, across, b, 0)
        factor = 1.0 / product_of_rows(alpha, m, b, 0)
        _finish_row(alpha, m, b, factor, mu, start + m)
        scale_row(tilt, m + 1, factor)
        if not scale_row(b, 0, 1.0 / row_sum(b, 0)):
            return False
        multiply_row(tilt, m, b, 0)
    return True


@kernel(fastmath=FASTMATH)
def pairs_of(start: int, length: int, E: Floats, alpha: Floats, tilt: Floats, each: Floats) -> None:
    """Pair marginals of every step, each[start + m]."""
    k = E.shape[0]
    for m in range(length - 1):
        for i in range(k):
            a = alpha[m, i]
            for j in range(k):
                each[start + m, i, j] = a * E[i, j] * tilt[m + 1, j]


@kernel(fastmath=FASTMATH)
def add_pairs(
    length: int,
    E: Floats,
    alpha: Floats,
    tilt: Floats,
    weight: float,
    products: Floats,
    total: Floats,
) -> None:
    """total += weight · (sum of the pair marginals over steps)."""
    k = E.shape[0]
    products[:] = 0.0
    add_products(alpha, tilt, length - 1, products)
    for i in range(k):
        for j in range(k):
            total[i, j] += weight * (E[i, j] * products[i, j])
