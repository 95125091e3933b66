"""Checks of the values that custom spaces and optimizers return, before kernels rely on them."""

import inspect
from numbers import Integral
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from skstructured._engine.state import OWN
from skstructured._engine.types import Floats

Plugin = TypeVar("Plugin")


def is_builtin(space: object, method: str = "unpack") -> bool:
    """Whether a space's `method` is defined in the package: `unpack` then needs no check."""
    return getattr(type(space), method).__module__.startswith("skstructured.spaces.")


def all_builtin(space: object) -> bool:
    """Whether all methods of a space are the package's own, so no vertex needs a check."""
    return type(space).__module__.startswith("skstructured.spaces.")


def check_vertices(space: object, method: str, V: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """V, as ``space.method`` returned it, as C-contiguous float64 of this shape."""
    V = np.asarray(V)
    if V.shape != shape:
        refuse(space, method, f"an array of shape {shape}, got {V.shape}")
    if V.dtype.kind not in "biuf":
        refuse(space, method, f"real numbers, got an array of {V.dtype}")
    V = np.ascontiguousarray(V, dtype=np.float64)
    if not np.isfinite(V).all():
        row, column = np.argwhere(~np.isfinite(V))[0]
        entry = f"{V[row, column]:g} in column {column}"
        refuse(space, method, f"finite numbers, row {row} has {entry}")
    return V


def check_sign(space: Any, direction: Floats) -> None:
    """Raise a ValueError that names a space whose ``argmax`` minimizes <direction, y>."""
    best, other = space.argmax(np.array([direction, -direction])) @ direction
    if other > best:
        requirement = "a vertex with the largest <theta, y>"
        refuse(space, "argmax", f"{requirement}: it returned {best:g}, but {other:g} for −theta")


def refuse(component: object, method: str, requirement: str) -> NoReturn:
    """Raise the ValueError for a value of ``component.method`` that misses a `requirement`."""
    raise ValueError(f"{type(component).__name__}.{method} must return {requirement}.")


def check_dimension(space: Plugin) -> Plugin:
    """A fitted space, whose `dim_` is a positive integer; a ValueError names it otherwise."""
    dim = getattr(space, "dim_", None)
    if not isinstance(dim, Integral) or isinstance(dim, bool) or dim < 1:
        name = type(space).__name__
        raise ValueError(f"{name}.fit must set dim_ to a positive integer, got {dim!r}.")
    return space


def check_kernels(component: Plugin) -> Plugin:
    """The component; a TypeError names it unless its kernels can be called as loops do."""
    arguments = {
        "kernel": "theta, truth, g, params, work",
        "scale_kernel": "state, bound, weight",
        "step_kernel": "state, inner, square, bound, weight",
        "coordinate_kernel": "state, W, a, b, g",
    }
    for name, listed in arguments.items():
        if isinstance(inspect.getattr_static(component, name, property()), property):
            continue  # one that may only raise, or makes a kernel of its own
        kernel = getattr(component, name)
        try:
            kernel = inspect.signature(kernel)
            kernel.bind(*listed.split(", "))
        except TypeError:
            rule = f"must be a static method with the arguments ({listed}), got {kernel}"
            raise TypeError(f"{type(component).__name__}.{name} {rule}.") from None
    return component


def are_vertices(space: Any, V: Floats) -> bool:
    """Whether all rows of V are vertices of the space."""
    try:
        return bool(np.array_equal(space.encode(space.decode(V)), V))
    except ValueError:
        return False


def check_mixture(decoder: object, mixture: Any, space: Any, shape: Any) -> tuple[Floats, Floats]:
    """The pair that ``decoder.mixture`` returned; a ValueError names it if it does not fit.

    Whether vertices are in the space is checked for the first 20 rows.
    """
    if not isinstance(mixture, tuple) or len(mixture) != 2:
        kind = type(mixture).__name__
        refuse(decoder, "mixture", f"a pair of vertices and probabilities, got {kind}")
    V, p = check_vertices(decoder, "mixture", mixture[0], shape), np.asarray(mixture[1])
    is_real = p.shape == shape[:1] and p.dtype.kind in "biuf"
    if not (is_real and ((p >= 0.0) & (p <= 1.0 + 1e-9)).all()):
        refuse(decoder, "mixture", f"{shape[0]} probabilities in [0, 1], got {p.tolist()!r:.60}")
    if not are_vertices(space, V[:20]):
        name, rows = type(space).__name__, V[:20].tolist()
        refuse(decoder, "mixture", f"vertices of {name} alone, got {rows!r:.60}")
    return V, p


def check_state(optimizer: Any, state: Any) -> Floats:
    """The state that ``optimizer.init`` returned; a ValueError if kernels cannot use it."""
    needed = OWN + optimizer.entries
    ready = isinstance(state, np.ndarray) and state.dtype == np.float64 and state.ndim == 1
    if not (ready and len(state) >= needed and state.flags.c_contiguous and state.flags.writeable):
        text = f"{state.dtype} of shape {state.shape}" if hasattr(state, "dtype") else repr(state)
        made = "made by skstructured.extend.new_state, whose first entries are the loop's"
        requirement = f"a float64 vector of {needed} numbers or more, {made}; got {text}"
        refuse(optimizer, "init", requirement)
    return state
