"""One loss kernel over many rows of scores."""

import math

import numpy as np
from numba import int64, void

from skstructured._engine.addresses import LOSS, MATRIX, VECTOR, as_loss
from skstructured._engine.arrays import Array, Floats, Kernel
from skstructured._engine.compiled import kernel


@kernel(inline=True)
def less(mean, truth):
    """Mean ← mean − truth: the last line of a function that has written a mean."""
    for k in range(mean.shape[0]):
        mean[k] -= truth[k]


@kernel(signature=void(int64, *[MATRIX] * 3, *[VECTOR] * 3), function_type=LOSS)
def gradient_rows(loss, theta, truth, gradients, values, params, work):
    """One loss kernel over the rows of theta: writes every gradient and value."""
    loss = as_loss(loss)
    for i in range(theta.shape[0]):
        values[i] = loss(theta[i], truth[i], gradients[i], params, work)


@kernel
def inner_rows(theta, difference, centred, products):
    """<θ, d> of every row, over the entries with d ≠ 0.

    If `centred`, for rows d that sum to 0, the entry of θ nearest to 0 among those finite is taken
    off first: no score loses more than its last digit by it, and those that differ by little keep
    all.
    """
    for i in range(theta.shape[0]):
        offset, nearest, total = 0.0, math.inf, 0.0
        if centred:
            for k in range(theta.shape[1]):
                if difference[i, k] != 0.0 and abs(theta[i, k]) < nearest:
                    offset, nearest = theta[i, k], abs(theta[i, k])
        for k in range(theta.shape[1]):
            if difference[i, k] != 0.0:
                total += (theta[i, k] - offset) * difference[i, k]
        products[i] = total


def run_gradient_rows(
    kernel: Kernel, theta: Floats, truth: Array, params: Floats, work: Floats
) -> tuple[Floats, Floats]:
    """Gradients (n, dim) and values (n,) of a loss kernel at the rows of theta and truth."""
    gradients, values = np.empty(theta.shape), np.empty(len(theta))
    gradient_rows(kernel, theta, truth, gradients, values, params, work)
    return gradients, values
