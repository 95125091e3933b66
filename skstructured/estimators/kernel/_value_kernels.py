"""Compiled values of kernels between one row and a block of support rows, which lie side by side.

A block is (p, BLOCK): the same feature of all its rows is contiguous, loops over rows become
vectors, and every value is a sum over the features in their order, whatever else is computed with
it. So it is the same in chunks of any size. Loops are handed the kernel that they need by its
address, and are compiled without the others.
"""

import math
from typing import Any

import numpy as np
from numba import float32, types

from skstructured._engine.addresses import (
    READ_MATRIX,
    READ_SINGLE_VECTOR,
    READ_VECTOR,
    VECTOR,
    address,
    function_for,
)
from skstructured._engine.compiled import FASTMATH, is_compiled, kernel
from skstructured._engine.exponential import exp_of
from skstructured.estimators.kernel._arc_cosine import arc_cosine

#: Kernels that are computed here, by their place; "multiscale" is the mean of three "rbf".
#: Rows are divided by their norms before "cosine", which is then the same as "linear".
KINDS = ("linear", "rbf", "multiscale", "poly", "sigmoid", "laplacian", "cosine", "arc-cosine")
LINEAR, RBF, MULTISCALE, POLY, SIGMOID, LAPLACIAN, COSINE, ARC_COSINE = range(8)

#: Exponents below them are 0 in float64 anyway, and in float32 hardly more.
SMALLEST_EXPONENT, SMALLEST_SINGLE = -700.0, -80.0

SINGLE_VECTOR = float32[::1]
READ_SINGLE_MATRIX = types.Array(float32, 2, "C", readonly=True)

#: values(numbers, block, z, out): out = k(x_i, z) + constant of every row of the block, with the
#: `numbers` (γ, coef0, degree, constant).
VALUES = types.FunctionType(types.void(READ_VECTOR, READ_MATRIX, READ_VECTOR, VECTOR))
SINGLE_VALUES = types.FunctionType(
    types.void(READ_VECTOR, READ_SINGLE_MATRIX, READ_SINGLE_VECTOR, SINGLE_VECTOR)
)

#: The kernel at an address, for blocks of a type.
as_values = function_for(VALUES, SINGLE_VALUES)


@kernel(fastmath=FASTMATH)
def products(block, z, out):
    """Out = <x_i, z> of every row x_i of a block, four features to a sweep."""
    quads = z.shape[0] // 4 * 4
    for i in range(out.shape[0]):
        out[i] = 0.0
    for a in range(0, quads, 4):
        x0, x1, x2, x3 = block[a], block[a + 1], block[a + 2], block[a + 3]
        z0, z1, z2, z3 = z[a], z[a + 1], z[a + 2], z[a + 3]
        for i in range(out.shape[0]):
            out[i] += (x0[i] * z0 + x1[i] * z1) + (x2[i] * z2 + x3[i] * z3)
    for a in range(quads, z.shape[0]):
        for i in range(out.shape[0]):
            out[i] += block[a, i] * z[a]


@kernel(fastmath=FASTMATH)
def _squared_distances(block, z, out):
    """Out = ‖x_i − z‖² of every row of the block, by differences: near rows lose no digits."""
    quads = z.shape[0] // 4 * 4
    for i in range(out.shape[0]):
        out[i] = 0.0
    for a in range(0, quads, 4):
        x0, x1, x2, x3 = block[a], block[a + 1], block[a + 2], block[a + 3]
        z0, z1, z2, z3 = z[a], z[a + 1], z[a + 2], z[a + 3]
        for i in range(out.shape[0]):
            d0, d1, d2, d3 = x0[i] - z0, x1[i] - z1, x2[i] - z2, x3[i] - z3
            out[i] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)
    for a in range(quads, z.shape[0]):
        for i in range(out.shape[0]):
            d = block[a, i] - z[a]
            out[i] += d * d


@kernel(fastmath=FASTMATH)
def _distances(block, z, out):
    """Out = Σ_a |x_ia − z_a| of every row of the block."""
    for i in range(out.shape[0]):
        out[i] = 0.0
    for a in range(z.shape[0]):
        for i in range(out.shape[0]):
            out[i] += abs(block[a, i] - z[a])


@kernel(fastmath={"contract"})
def _exponentials(factor, out):
    """Out ← exp(−factor out)."""
    smallest = SMALLEST_SINGLE if out.itemsize == 4 else SMALLEST_EXPONENT
    for i in range(out.shape[0]):
        out[i] = exp_of(max(-factor * out[i], smallest))


@kernel(fastmath={"contract"})
def _fourth_powers(out):
    """Out ← (out + out⁴ + out¹⁶)/3: of exp(−γd²/4) the mean of kernels with γ/4, γ and 4γ."""
    for i in range(out.shape[0]):
        once = out[i] * out[i] * out[i] * out[i]
        out[i] = (out[i] + once + once * once * once * once) / 3.0


@kernel(fastmath={"contract"})
def _three_exponentials(factor, out):
    """Both of these for float32, whose fourth powers would be too small for it."""
    for i in range(out.shape[0]):
        value = exp_of(max(-factor * out[i], SMALLEST_SINGLE))
        once = value * value * value * value
        out[i] = (value + once + once * once * once * once) / 3.0


@kernel
def _add_constant(numbers, out):
    if numbers[3] != 0.0:
        for i in range(out.shape[0]):
            out[i] += numbers[3]


@kernel
def _linear_values(numbers, block, z, out):
    products(block, z, out)
    _add_constant(numbers, out)


@kernel
def _rbf_values(numbers, block, z, out):
    _squared_distances(block, z, out)
    _exponentials(numbers[0], out)
    _add_constant(numbers, out)


@kernel
def _multiscale_values(numbers, block, z, out):
    _squared_distances(block, z, out)
    _exponentials(0.25 * numbers[0], out)
    _fourth_powers(out)
    _add_constant(numbers, out)


@kernel
def _single_multiscale_values(numbers, block, z, out):
    _squared_distances(block, z, out)
    _three_exponentials(0.25 * numbers[0], out)
    _add_constant(numbers, out)


@kernel
def _poly_values(numbers, block, z, out):
    products(block, z, out)
    for i in range(out.shape[0]):
        out[i] = (numbers[0] * out[i] + numbers[1]) ** numbers[2]
    _add_constant(numbers, out)


@kernel
def _sigmoid_values(numbers, block, z, out):
    products(block, z, out)
    for i in range(out.shape[0]):
        out[i] = math.tanh(numbers[0] * out[i] + numbers[1])
    _add_constant(numbers, out)


@kernel
def _laplacian_values(numbers, block, z, out):
    _distances(block, z, out)
    _exponentials(numbers[0], out)
    _add_constant(numbers, out)


@kernel
def _add_squares(block, squares):
    """Squares (rows,) ← + ‖x_i‖² of every row of a block, features in their order."""
    for a in range(block.shape[0]):
        for i in range(squares.shape[0]):
            squares[i] += np.float64(block[a, i]) * block[a, i]


@kernel
def _arc_cosine_values(numbers, block, z, out):
    products(block, z, out)
    coef0, squares = numbers[1], np.zeros(out.shape[0])
    _add_squares(block, squares)
    square = 0.0
    for a in range(z.shape[0]):
        square += np.float64(z[a]) * z[a]
    for i in range(out.shape[0]):
        out[i] = arc_cosine(out[i] + coef0, squares[i] + coef0, square + coef0)
    _add_constant(numbers, out)


_VALUES = {
    LINEAR: _linear_values,
    RBF: _rbf_values,
    MULTISCALE: _multiscale_values,
    POLY: _poly_values,
    SIGMOID: _sigmoid_values,
    LAPLACIAN: _laplacian_values,
    COSINE: _linear_values,
    ARC_COSINE: _arc_cosine_values,
}


def values_of(kind: int, single: bool) -> Any:
    """What loops are handed of a kind of kernel, for blocks of float32 or float64."""
    found = _single_multiscale_values if single and kind == MULTISCALE else _VALUES[kind]
    return address(found, SINGLE_VALUES if single else VALUES) if is_compiled(found) else found


@kernel(fastmath=FASTMATH)
def _add_scores(coefs, start, values, out):
    """Out_k ← out_k + Σ_i coefs_k,start+i values_i."""
    for k in range(out.shape[0]):
        row, total = coefs[k, start : start + values.shape[0]], 0.0
        for i in range(values.shape[0]):
            total += row[i] * values[i]
        out[k] += total


@kernel
def score_rows(values_at, numbers, blocks, pieces, coefs, Z, values, out):
    """Out (n, dim) ← out + Σ over the rows of the first blocks of coefficient times kernel.

    Kernels of row r with a block go to values (n or 1, rows of a block), its last row where it has
    none for r.
    """
    kernel_values, size = as_values(values_at, blocks), blocks.shape[2]
    for m in range(pieces):
        for r in range(Z.shape[0]):
            here = values[min(r, values.shape[0] - 1)]
            kernel_values(numbers, blocks[m], Z[r], here)
            _add_scores(coefs, m * size, here, out[r])


@kernel
def divide_by_norms(Z, out):
    """Out = the rows of Z divided by their norms, by their largest entries first; zeros stay."""
    for r in range(Z.shape[0]):
        largest, square = 0.0, 0.0
        for a in range(Z.shape[1]):
            largest = max(largest, abs(np.float64(Z[r, a])))
        if largest == 0.0:
            continue
        for a in range(Z.shape[1]):
            square += (Z[r, a] / largest) ** 2
        norm = math.sqrt(square)
        for a in range(Z.shape[1]):
            out[r, a] = Z[r, a] / largest / norm
