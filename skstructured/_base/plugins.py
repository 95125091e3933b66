"""Checks of the values that custom spaces and optimizers return, before kernels rely on them."""

import inspect
from numbers import Integral
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from skstructured._engine.arrays import Floats
from skstructured._engine.state import OWN

S = TypeVar("S")


def is_builtin(space: object, method: str = "unpack") -> bool:
    """Whether a space's `method` is defined in the package: `unpack` then needs no check."""
    return getattr(type(space), method).__module__.startswith("skstructured.spaces.")


def all_builtin(space: object) -> bool:
    """Whether all methods of a space are the package's own, so no vertex needs a check."""
    return type(space).__module__.startswith("skstructured.spaces.")


def check_vertices(space: object, method: str, V: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """V, as ``space.method`` returned it, as C-contiguous float64 of this shape.

    Raises
    ------
    ValueError
        With the space, the method, and the returned value.
    """
    V = np.asarray(V)
    if V.shape != shape:
        refuse(space, method, f"an array of shape {shape}, got {V.shape}")
    if V.dtype.kind not in "biuf":
        refuse(space, method, f"real numbers, got an array of {V.dtype}")
    V = np.ascontiguousarray(V, dtype=np.float64)
    finite = np.isfinite(V)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        given = f"{V[row, column]:g} in column {column}"
        refuse(space, method, f"finite numbers, row {row} has {given}")
    return V


def refuse(part: object, method: str, wanted: str) -> NoReturn:
    """Raise the ValueError for a value of ``part.method`` that is not the `wanted` one."""
    raise ValueError(f"{type(part).__name__}.{method} must return {wanted}.")


def check_dimension(space: S) -> S:
    """A fitted space, whose `dim_` is a positive integer; a ValueError names it otherwise."""
    dim = getattr(space, "dim_", None)
    if not isinstance(dim, Integral) or isinstance(dim, bool) or dim < 1:
        name = type(space).__name__
        raise ValueError(f"{name}.fit must set dim_ to a positive integer, got {dim!r}.")
    return space


#: The arguments with which loops call the kernel of a loss.
OF_LOSSES = ("theta", "truth", "g", "params", "work")


def check_loss_kernel(loss: S) -> S:
    """The loss; a TypeError names it unless its `kernel` can be called as loops do."""
    given: Any = loss.kernel  # type: ignore[attr-defined]  # of a surrogate
    try:
        given = inspect.signature(given)
        given.bind(*OF_LOSSES)
    except TypeError:
        raise TypeError(
            f"{type(loss).__name__}.kernel must be a static method with the arguments "
            f"({', '.join(OF_LOSSES)}), got {given}."
        ) from None
    return loss


def check_state(optimizer: Any, state: Any) -> Floats:
    """The state that ``optimizer.init`` returned; a ValueError if kernels cannot use it."""
    needed = OWN + optimizer.entries
    ready = isinstance(state, np.ndarray) and state.dtype == np.float64 and state.ndim == 1
    if not (ready and len(state) >= needed and state.flags.c_contiguous and state.flags.writeable):
        given = f"{state.dtype} of shape {state.shape}" if hasattr(state, "dtype") else repr(state)
        made = "made by skstructured._engine.state.new_state, whose first entries are the loop's"
        wanted = f"a float64 vector of {needed} numbers or more, {made}; got {given}"
        refuse(optimizer, "init", wanted)
    return state
