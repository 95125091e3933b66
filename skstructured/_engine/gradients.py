"""One loss kernel over many rows of scores."""

import numpy as np
from numba import int64, void

from skstructured._engine.addresses import FUNCTION_TYPES, MATRIX, VECTOR, as_loss
from skstructured._engine.arrays import Array, Floats, Kernel
from skstructured._engine.compiled import kernel


@kernel(inline=True)
def less(mean, truth):
    """Mean ← mean − truth: the last line of a function that has written a mean."""
    for k in range(mean.shape[0]):
        mean[k] -= truth[k]


@kernel(signature=void(int64, *[MATRIX] * 3, *[VECTOR] * 3), function_type=FUNCTION_TYPES.loss)
def gradient_rows(loss, theta, truth, gradients, values, params, work):
    """One loss kernel over the rows of theta: writes every gradient and value."""
    loss = as_loss(loss)
    for i in range(theta.shape[0]):
        values[i] = loss(theta[i], truth[i], gradients[i], params, work)


def inner_rows(theta: Floats, difference: Floats, centered: bool) -> Floats:
    """<θ, d> of every row, over the entries with d ≠ 0.

    If `centered`, for rows d that sum to 0, the finite entry of θ nearest to 0 is taken off first:
    scores that differ by little keep their digits.
    """
    theta = np.where(difference == 0.0, 0.0, theta)
    if centered:
        sizes = np.where(difference == 0.0, np.inf, np.abs(theta))
        offset = np.take_along_axis(theta, sizes.argmin(axis=1)[:, None], axis=1)
        theta = theta - np.where(np.isfinite(offset), offset, 0.0)
    return np.einsum("nk,nk->n", theta, difference)


def run_gradient_rows(
    kernel: Kernel, theta: Floats, truth: Array, params: Floats, work: Floats
) -> tuple[Floats, Floats]:
    """Gradients (n, dim) and values (n,) of a loss kernel at the rows of theta and truth."""
    gradients, values = np.empty(theta.shape), np.empty(len(theta))
    gradient_rows(kernel, theta, truth, gradients, values, params, work)
    return gradients, values
