"""Operations on a row of k numbers: maximum, sum, exponentials, product with a matrix.

Rows are given as a matrix and a row number: views take longer than the work if k is small.
"""

import math

import numpy as np

from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.simd import exp_of, greater, lesser

#: What is added up in scaled form is 0 or at least this, so that no product of three is lost.
SMALL = 1e-100
#: ln SMALL
LOW = -230.0


@kernel
def longest_of(offsets):
    """How many positions the longest chain of a batch has."""
    longest = 0
    for s in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    return longest


@kernel(inline=True)
def exp_below(e):
    """exp(e) for e ≤ 0; 0 below −700."""
    value = exp_of(greater(e, -700.0))
    return value if e > -700.0 else 0.0


@kernel(fastmath=FASTMATH)
def row_max(A, row):
    """Largest entry of a row without NaN."""
    top = -np.inf
    for j in range(A.shape[1]):
        top = greater(top, A[row, j])
    return top


@kernel(fastmath=FASTMATH)
def row_sum(A, row):
    """Sum of a row."""
    total = 0.0
    for j in range(A.shape[1]):
        total += A[row, j]
    return total


@kernel
def row_softmax(A, row, target):
    """target[row] = exp(A[row]) over their sum, and its logarithm; −inf and zeros of −inf."""
    top, total = row_max(A, row), 0.0
    for j in range(A.shape[1]):
        target[row, j] = exp_below(A[row, j] - top) if top > -np.inf else 0.0
        total += target[row, j]
    for j in range(A.shape[1]):
        target[row, j] /= total if total > 0.0 else 1.0
    return top + math.log(total) if total > 0.0 else -np.inf


@kernel(fastmath={"contract"})
def _exp_all(values):
    """values = exp(values), at most 0, in place; whether all that are not 0 reach `SMALL`."""
    low = 0
    for i in range(values.shape[0]):
        e = values[i]
        values[i] = exp_below(e)
        low += (e < LOW) & (e > -np.inf)
    return low == 0


@kernel
def exp_rows(A, start, length, target):
    """target = exp(A − maximum of the row), of rows from `start` on; the sum of the maxima.

    −inf if all of a row is −inf, and NaN if something that is not 0 is less than `SMALL`. All
    rows are one long loop: a short one's last entries would not be vectors.
    """
    total, k = 0.0, A.shape[1]
    for m in range(length):
        top = row_max(A, start + m)
        if top == -np.inf:
            return top
        total += top
        for j in range(k):
            target[m, j] = A[start + m, j] - top
    return total if _exp_all(target[:length].reshape(length * k)) else np.nan


@kernel
def exp_matrix(A, target):
    """target = exp(A − its maximum), and that; or −inf, or NaN, as of `exp_rows`."""
    k, top = A.shape[0], -np.inf
    for i in range(k):
        top = max(top, row_max(A, i))
    if top == -np.inf:
        return top
    for i in range(k):
        for j in range(k):
            target[i, j] = A[i, j] - top
    return top if _exp_all(target.reshape(k * k)) else np.nan


@kernel(fastmath=FASTMATH)
def row_times(x, at, E, y, to):
    """y[to] = E' x[at], four rows of E at a time."""
    k = E.shape[1]
    for j in range(k):
        y[to, j] = 0.0
    fours = E.shape[0] // 4 * 4
    for i in range(0, fours, 4):
        a, b, c, d = x[at, i], x[at, i + 1], x[at, i + 2], x[at, i + 3]
        for j in range(k):
            y[to, j] += a * E[i, j] + b * E[i + 1, j] + c * E[i + 2, j] + d * E[i + 3, j]
    for i in range(fours, E.shape[0]):
        a = x[at, i]
        for j in range(k):
            y[to, j] += a * E[i, j]


@kernel(fastmath=FASTMATH)
def add_products(A, B, length, total):
    """total += Σ_m A[m] B[m + 1]' over m < length, four m at a time."""
    k, fours = total.shape[0], length // 4 * 4
    for m in range(0, fours, 4):
        for i in range(k):
            a, b, c, d = A[m, i], A[m + 1, i], A[m + 2, i], A[m + 3, i]
            for j in range(k):
                first = a * B[m + 1, j] + b * B[m + 2, j]
                total[i, j] += first + (c * B[m + 3, j] + d * B[m + 4, j])
    for m in range(fours, length):
        for i in range(k):
            a = A[m, i]
            for j in range(k):
                total[i, j] += a * B[m + 1, j]


@kernel(fastmath=FASTMATH)
def multiply_row(A, row, B, other):
    """A[row] ← A[row] · B[other]; the sum."""
    total = 0.0
    for j in range(A.shape[1]):
        A[row, j] *= B[other, j]
        total += A[row, j]
    return total


@kernel(fastmath=FASTMATH)
def scale_row(A, row, factor):
    """A[row] ← A[row] · factor; whether all that is not 0 is at least `SMALL`."""
    lowest = 1.0
    for j in range(A.shape[1]):
        value = A[row, j] * factor
        A[row, j] = value
        lowest = lesser(lowest, value if value > 0.0 else 1.0)
    return lowest >= SMALL


@kernel(fastmath=FASTMATH)
def product_of_rows(A, row, B, other):
    """Scalar product of two rows."""
    total = 0.0
    for j in range(A.shape[1]):
        total += A[row, j] * B[other, j]
    return total
