"""One loss kernel over many rows of scores."""

import functools

import numpy as np
from numba import int64, void

from skstructured._engine.compiled import (
    LOSS,
    MATRIX,
    VECTOR,
    address,
    as_loss,
    is_compiled,
    kernel,
)


@kernel(inline=True)
def less(mean, truth):
    """Mean ← mean − truth: the last line of a kernel that has written a mean."""
    for k in range(mean.shape[0]):
        mean[k] -= truth[k]


@kernel(inline=True)
def products(g, raw):
    """<g, raw> and ‖g‖²."""
    inner, g_sq = 0.0, 0.0
    for k in range(g.shape[0]):
        inner += g[k] * raw[k]
        g_sq += g[k] * g[k]
    return inner, g_sq


def gradient_rows(theta, truth, gradients, values, params, work, loss):
    """One loss kernel over the rows of theta: writes every gradient and value."""
    loss = as_loss(loss)
    for i in range(theta.shape[0]):
        values[i] = loss(theta[i], truth[i], gradients[i], params, work)


@functools.cache
def _compiled_gradient_rows():
    arrays = (MATRIX, MATRIX, MATRIX, VECTOR, VECTOR, VECTOR)
    return kernel(gradient_rows, signature=void(*arrays, int64))


def run_gradient_rows(kernel, theta, truth, params, work):
    """Gradients (n, dim) and values (n,) of a loss kernel at the rows of theta and truth."""
    gradients, values = np.empty_like(theta), np.empty(theta.shape[0])
    arrays = (theta, truth, gradients, values, params, work)
    if is_compiled(kernel):
        _compiled_gradient_rows()(*arrays, address(kernel, LOSS))
    else:
        gradient_rows(*arrays, kernel)
    return gradients, values
