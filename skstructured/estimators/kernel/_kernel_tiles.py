"""Compiled loops that make tiles of a matrix of kernels, and put them where they are kept."""

import math

from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.exponential import exp_of
from skstructured.estimators.kernel._value_kernels import (
    MULTISCALE,
    POLY,
    RBF,
    SIGMOID,
    SMALLEST_EXPONENT,
    products,
)

#: Rows and columns that are transposed at a time.
SQUARE = 32

THIRD = 1.0 / 3.0


@kernel(fastmath=FASTMATH)
def multiply(X, Zt, out):
    """Out (m, n) = products of rows X (m, p) with columns of Zt (p, n); as fast as BLAS for few p.

    And it starts no threads, which would wait for each other after every tile.
    """
    (count, p), n = X.shape, Zt.shape[1]
    quads, pairs = p // 4 * 4, count // 2 * 2
    for r in range(0, pairs, 2):
        x, y, out_x, out_y = X[r], X[r + 1], out[r], out[r + 1]
        for j in range(n):
            out_x[j], out_y[j] = 0.0, 0.0
        for a in range(0, quads, 4):
            z0, z1, z2, z3 = Zt[a], Zt[a + 1], Zt[a + 2], Zt[a + 3]
            x0, x1, x2, x3 = x[a], x[a + 1], x[a + 2], x[a + 3]
            y0, y1, y2, y3 = y[a], y[a + 1], y[a + 2], y[a + 3]
            for j in range(n):
                out_x[j] += (z0[j] * x0 + z1[j] * x1) + (z2[j] * x2 + z3[j] * x3)
                out_y[j] += (z0[j] * y0 + z1[j] * y1) + (z2[j] * y2 + z3[j] * y3)
        for a in range(quads, p):
            for j in range(n):
                out_x[j] += Zt[a, j] * x[a]
                out_y[j] += Zt[a, j] * y[a]
    for r in range(pairs, count):
        products(Zt, X[r], out[r])


@kernel
def store_tile(tile, unit, matrix, first, start, mirrored):
    """Matrix ← a tile times `unit`, rounded where that is not 1, with its corner at (first, start).

    And, where it is `mirrored`, the transposed one at (start, first), in squares that stay in the
    nearest cache.
    """
    half, (m, n) = 0.0 if unit == 1.0 else 0.5, tile.shape
    for i in range(m):
        row, out = tile[i], matrix[first + i, start : start + n]
        for j in range(n):
            out[j] = unit * row[j] + half
    for i in range(0, m if mirrored else 0, SQUARE):
        for j in range(0, n, SQUARE):
            high, wide = min(SQUARE, m - i), min(SQUARE, n - j)
            square = matrix[first + i : first + i + high, start + j : start + j + wide]
            goal = matrix[start + j : start + j + wide, first + i : first + i + high]
            for b in range(wide):
                for a in range(high):
                    goal[b, a] = square[a, b]


@kernel(fastmath={"contract"})
def finish_values(kind, numbers, x_sq, z_sq, out):
    """Out: products of rows x with rows z become kernels, by the squares of their norms."""
    gamma, coef0, degree, constant = numbers[0], numbers[1], numbers[2], numbers[3]
    for i in range(out.shape[0]):
        row = out[i]
        if kind in (RBF, MULTISCALE):
            factor = gamma if kind == RBF else 0.25 * gamma
            for j in range(row.shape[0]):
                square = max(x_sq[i] + z_sq[j] - 2.0 * row[j], 0.0)
                row[j] = exp_of(max(-factor * square, SMALLEST_EXPONENT))
            if kind == MULTISCALE:
                for j in range(row.shape[0]):
                    once = row[j] * row[j] * row[j] * row[j]
                    row[j] = (row[j] + once + once * once * once * once) * THIRD
        elif kind == POLY:
            for j in range(row.shape[0]):
                row[j] = (gamma * row[j] + coef0) ** degree
        elif kind == SIGMOID:
            for j in range(row.shape[0]):
                row[j] = math.tanh(gamma * row[j] + coef0)
        if constant != 0.0:
            for j in range(row.shape[0]):
                row[j] += constant
