"""Compiled functions: numba's `njit` with the options of this package, kept on disk by numba."""

import functools
import gc
import hashlib
import logging
import os
import time
import warnings
from collections.abc import Iterable
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from numba import jit, njit
from numba.core import event
from numba.core.registry import CPUDispatcher
from numba.extending import register_jitable

#: Floating-point rules of the kernels: sums may be reordered, NaN and inf keep their meaning.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}

#: Seconds of compiling after which a process says so.
PATIENCE = 3.0

EMPTY_INT32 = np.empty(0, dtype=np.int32)


def is_compiled(kernel: Any) -> bool:
    """Whether `kernel` is a numba function (and not a plain Python one)."""
    return isinstance(kernel, CPUDispatcher)


def are_compiled(kernels: Iterable[Any]) -> bool:
    """Whether all kernels are numba functions."""
    return set(map(type, kernels)) <= {CPUDispatcher}


class CompilingNotice(event.Listener):
    """Logs once that the process compiles, when this has taken longer than `PATIENCE`.

    Meanwhile Python's garbage collector is off. numba compiles in one thread at a time.
    """

    def __init__(self) -> None:
        self.depth, self.began, self.seconds, self.is_given = 0, 0.0, 0.0, False
        self.collects = False

    def on_start(self, event: Any) -> None:
        """Start the clock; functions that are compiled for another one are part of its time."""
        if self.depth == 0:
            self.began, self.collects = time.perf_counter(), gc.isenabled()
            gc.disable()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        """Stop the clock, and log if that is due."""
        self.depth -= 1
        so_far = self.seconds + time.perf_counter() - self.began
        if self.depth == 0:
            self.seconds = so_far
            if self.collects:
                gc.enable()
        if so_far > PATIENCE and not self.is_given:
            self.is_given = True
            logging.getLogger("skstructured").warning(
                "skstructured compiles its loops when they are first used, %0.0f s so far; first "
                "fits take 4 to 20 s. numba keeps the code on disk, and later processes load it "
                "in a few seconds.",
                so_far,
            )


event.register("numba:compile", CompilingNotice())


@functools.cache
def _warn_not_kept() -> None:
    """Warn, once per process, that compiled code cannot be kept."""
    warnings.warn(
        "skstructured cannot keep its compiled loops on disk, because no folder is writable. Every "
        "process compiles them again, which is slow. Set NUMBA_CACHE_DIR to a folder that is "
        "writable.",
        RuntimeWarning,
        stacklevel=3,
    )


def _closes_over_kernels(function: Any) -> bool:
    """Whether numba cannot find the code again: functions have other names in every process."""
    return any(is_compiled(cell.cell_contents) for cell in function.__closure__ or ())


def kernel(
    function: Any = None,
    *,
    fastmath: bool | set[str] = False,
    signature: Any = None,
    cached: bool = True,
    inline: bool = False,
) -> Any:
    """Compile a function by numba: without the GIL, with numpy's division, cached on disk.

    Parameters
    ----------
    function : callable
        The function; left out if `kernel` decorates with options.
    fastmath : bool or set of str, default=False
        Floating-point rules, such as `FASTMATH`.
    signature : numba signature or None, default=None
        Compile for this signature now, and no other; None compiles when called.
    cached : bool, default=True
        Whether the code is kept on disk; never for a function that closes over others.
    inline : bool, default=False
        Whether compiled functions that call it get its code instead of the call, which takes a few
        nanoseconds: for the shortest ones.

    Returns
    -------
    numba dispatcher
        The function itself with ``NUMBA_DISABLE_JIT=1``.

    Warns
    -----
    RuntimeWarning
        If there is no folder to keep the code in.

    See Also
    --------
    OnlineOptimizer, Surrogate : Interfaces that need compiled functions.
    new_state : Make the state vector of an optimizer.
    """
    if function is None:
        options = {"fastmath": fastmath, "signature": signature, "cached": cached, "inline": inline}
        return functools.partial(kernel, **options)
    if cached and function.__closure__ and not _closes_over_kernels(function):
        function.__qualname__ += _digest([cell.cell_contents for cell in function.__closure__])
    dispatcher = njit(
        fastmath=fastmath, inline="always" if inline else "never", nogil=True, error_model="numpy"
    )(function)
    if not is_compiled(dispatcher):
        return dispatcher
    if cached and not _closes_over_kernels(function):
        try:
            dispatcher.enable_caching()
        except RuntimeError:  # no folder, or code that is in no file
            if str(function.__module__).startswith("skstructured."):
                _warn_not_kept()
    if signature is not None:
        dispatcher.compile(signature)
        dispatcher.disable_compile()
    return dispatcher


def _digest(told: Any) -> str:
    """A digest for the names of functions that share their code but not their variables.

    Linkers know compiled functions by a name and a number, which begins at 1 in every process: one
    function could be called for another one that an earlier process has kept on disk.
    """
    return f"_{hashlib.sha256(repr(told).encode()).hexdigest()[:16]}"


def _identity(value: Any) -> Any:
    """A number, or the code and the file of a kernel: the same in every process.

    Raises
    ------
    OSError
        If the code is in no file.
    """
    if not is_compiled(value):
        return value
    function = value.py_func
    code, file = function.__code__, os.stat(function.__code__.co_filename)
    held = [_identity(cell.cell_contents) for cell in function.__closure__ or ()]
    numbers = [one for one in code.co_consts if not isinstance(one, CodeType)]
    told = (function.__qualname__, code.co_code, numbers, file.st_mtime_ns, file.st_size)
    return function.__module__, *told, held


def with_globals(function: Any, **given: Any) -> Any:
    """A copy of a function in which global names are these functions and numbers."""
    return FunctionType(function.__code__, function.__globals__ | given, function.__name__)


def _named_by_content(value: Any) -> Any:
    """A copy of a kernel with free variables, whose name has a digest of them."""
    if not is_compiled(value) or not value.py_func.__closure__:
        return value
    old = value.py_func
    copy = FunctionType(
        old.__code__, old.__globals__, old.__name__, old.__defaults__, old.__closure__
    )
    copy.__qualname__ = old.__qualname__ + _digest(_identity(value))
    return jit(**value.targetoptions)(copy)


@functools.cache
def kernel_over(function: Any, **given: Any) -> Any:
    """Compile a copy of a function in which global names are these kernels and numbers, once.

    Unlike a closure over kernels it is kept on disk, by a name that has a digest of them.
    """
    try:
        told = [(name, _identity(value)) for name, value in given.items()]
    except OSError:
        return kernel(with_globals(function, **given), cached=False)
    copy = with_globals(function, **{name: _named_by_content(v) for name, v in given.items()})
    copy.__qualname__ = function.__name__ + _digest(told)
    return kernel(copy)


def also_interpreted(function: Any) -> Any:
    """Have compiled functions call a function compiled that is interpreted if Python calls it.

    Interpreted loops can then pass it functions in Python.
    """
    return register_jitable(nogil=True, error_model="numpy")(function)
