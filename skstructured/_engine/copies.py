"""Copies of short arrays in kernels."""

from skstructured._engine.arrays import Array
from skstructured._engine.compiled import kernel


@kernel
def copy_into(target: Array, source: Array) -> None:
    """Target = source, both one-dimensional and as long.

    ``target[:] = source`` would have numba compile its texts of errors, for seconds.
    """
    for k in range(target.shape[0]):
        target[k] = source[k]


@kernel
def clear(target: Array) -> None:
    """Target = 0; as ``target[:] = 0.0``, and ``np.zeros``, for the same reason."""
    for k in range(target.shape[0]):
        target[k] = 0.0
