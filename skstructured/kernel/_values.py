"""Values of kernels between one row and a block of support rows, which lie side by side.

A block is (p, BLOCK): the same feature of all its rows is contiguous, loops over rows become vectors,
and every value is a sum over the features in their order, whatever else is computed with it. So it
is the same in chunks of any size.
"""

import math
from typing import NamedTuple

import numpy as np

from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.exponential import exp_of
from skstructured._validation import check_integer, check_real

#: Support rows in a block.
BLOCK = 64

#: Kernels that are computed here, by their place; "multiscale" is the mean of three "rbf".
KINDS = ("linear", "rbf", "multiscale", "poly", "sigmoid", "laplacian")
LINEAR, RBF, MULTISCALE, POLY, SIGMOID, LAPLACIAN = range(6)

#: Exponents below it are 0 in float64 anyway.
SMALLEST_EXPONENT = -700.0


@kernel(fastmath=FASTMATH)
def _products(block, z, out):
    """Out = <x_i, z> of every row of the block, four features to a sweep."""
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
    for i in range(out.shape[0]):
        out[i] = exp_of(max(-factor * out[i], SMALLEST_EXPONENT))


@kernel(fastmath={"contract"})
def _fourth_powers(out):
    """Out ← (out + out⁴ + out¹⁶)/3: of exp(−γd²/4) the mean of kernels with γ/4, γ and 4γ."""
    for i in range(out.shape[0]):
        once = out[i] * out[i] * out[i] * out[i]
        out[i] = (out[i] + once + once * once * once * once) / 3.0


@kernel
def kernel_values(kind, numbers, block, z, out):
    """Out = k(x_i, z) + constant; `numbers` is (γ, coef0, degree, constant)."""
    gamma, coef0, degree = numbers[0], numbers[1], numbers[2]
    if kind in (RBF, MULTISCALE):
        _squared_distances(block, z, out)
        _exponentials(gamma if kind == RBF else 0.25 * gamma, out)
        if kind == MULTISCALE:
            _fourth_powers(out)
    elif kind == LAPLACIAN:
        _distances(block, z, out)
        _exponentials(gamma, out)
    else:
        _products(block, z, out)
        for i in range(out.shape[0]):
            if kind == POLY:
                out[i] = (gamma * out[i] + coef0) ** degree
            elif kind == SIGMOID:
                out[i] = math.tanh(gamma * out[i] + coef0)
    if numbers[3] != 0.0:
        for i in range(out.shape[0]):
            out[i] += numbers[3]


@kernel(fastmath=FASTMATH)
def add_scores(coefs, values, out):
    """Out_k ← out_k + Σ_i coefs_ki values_i."""
    for k in range(out.shape[0]):
        row, total = coefs[k], 0.0
        for i in range(values.shape[0]):
            total += row[i] * values[i]
        out[k] += total


@kernel
def score_rows(kind, numbers, blocks, coefs, Z, out):
    """Out (n, dim) ← out + Σ over the support rows of coefficient times kernel, block by block."""
    values = np.empty(blocks.shape[2])
    for m in range(blocks.shape[0]):
        for r in range(Z.shape[0]):
            kernel_values(kind, numbers, blocks[m], Z[r], values)
            add_scores(coefs[m], values, out[r])


@kernel
def gram_rows(kind, numbers, block, Z, out):
    """Out (n, BLOCK) = kernels of rows with those of one block."""
    for r in range(Z.shape[0]):
        kernel_values(kind, numbers, block, Z[r], out[r])


class KernelFunction(NamedTuple):
    """A kernel k(x, z), with the number that is added to it.

    Attributes
    ----------
    kind : int
        Place in `KINDS`.
    numbers : ndarray of shape (4,)
        γ, coef0, degree, and the constant added, 1 for an intercept.
    """

    kind: int
    numbers: np.ndarray

    def scores(self, blocks, coefs, Z):
        """Σ_i coefs_i k(x_i, z) of every row z, (n, dim)."""
        out = np.zeros((len(Z), coefs.shape[1]))
        score_rows(self.kind, self.numbers, blocks, coefs, Z, out)
        return out

    def gram(self, block, Z, out):
        """Kernels of rows Z with those of one block, into `out` (n, BLOCK)."""
        gram_rows(self.kind, self.numbers, block, Z, out)


def kernel_function(kernel, gamma, coef0, degree, intercept):
    """The `KernelFunction` of parameters as scikit-learn has them; ValueErrors name them."""
    names = [name for name in KINDS if name != "multiscale"]
    if not (isinstance(kernel, str) and kernel in names):
        raise ValueError(f"kernel must be one of {', '.join(map(repr, names))}, got {kernel!r}.")
    check_integer("degree", degree)
    coef0 = check_real("coef0", coef0, math.isfinite, "be a number")
    multiscale = isinstance(gamma, tuple)
    kind = MULTISCALE if multiscale and kernel == "rbf" else KINDS.index(kernel)
    width = gamma[0] if multiscale else gamma
    return KernelFunction(kind, np.array([width, coef0, float(degree), float(intercept)]))
