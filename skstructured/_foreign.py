"""Checks of what a space or optimiser of a user returns, which kernels would trust."""

from numbers import Integral

import numpy as np

from skstructured._driver import OWN


def check_vertices(space, method, V, shape):
    """V, as ``space.method`` returned it, as C-contiguous float64 of this shape.

    Raises
    ------
    ValueError
        Naming the space, the method, and what it returned.
    """
    V, name = np.asarray(V), f"{type(space).__name__}.{method}"
    if V.shape != shape:
        raise ValueError(f"{name} must return an array of shape {shape}, got {V.shape}.")
    if V.dtype.kind not in "biuf":
        raise ValueError(f"{name} must return real numbers, got an array of {V.dtype}.")
    V = np.ascontiguousarray(V, dtype=np.float64)
    finite = np.isfinite(V)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise ValueError(
            f"{name} must return finite numbers, row {row} has {V[row, column]:g} "
            f"in column {column}."
        )
    return V


def check_dimension(space):
    """A fitted space, whose `dim_` is a positive integer; a ValueError names it otherwise."""
    dim = getattr(space, "dim_", None)
    if not isinstance(dim, Integral) or isinstance(dim, bool) or dim < 1:
        name = type(space).__name__
        raise ValueError(f"{name}.fit must set dim_ to a positive integer, got {dim!r}.")
    return space


def check_state(optimizer, state):
    """The state that ``optimizer.init`` returned; a ValueError where kernels cannot use it."""
    needed = OWN + optimizer.entries
    ready = isinstance(state, np.ndarray) and state.dtype == np.float64 and state.ndim == 1
    if not (ready and len(state) >= needed and state.flags.c_contiguous and state.flags.writeable):
        given = f"{state.dtype} of shape {state.shape}" if hasattr(state, "dtype") else repr(state)
        raise ValueError(
            f"{type(optimizer).__name__}.init must return a float64 vector of {needed} numbers or "
            "more, made by skstructured._driver.new_state, whose first entries are the driver's; "
            f"got {given}."
        )
    return state
