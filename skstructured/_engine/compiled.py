"""Kernels: functions that are interpreted until compiling them pays, and kept on disk by numba."""

import functools
import gc
import hashlib
import logging
import os
import threading
import time
import warnings
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from types import CellType, CodeType, FunctionType
from typing import Any

import numpy as np
from numba import jit, njit, types
from numba.core import event
from numba.core.registry import CPUDispatcher
from numba.extending import register_jitable

from skstructured._engine.types import address

#: Floating-point rules of the kernels: sums may be reordered, NaN and inf keep their meaning.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}

#: Functions that only compiled functions call compiled.
ALSO_INTERPRETED: set[FunctionType] = set()

#: Interpreted steps, of about a microsecond, that compiling a function is worth.
COMPILING_WORTH = 2e6


def entries_of(args: Any) -> int:
    """Entries of all arrays among some arguments."""
    total = 1
    for value in args:
        if isinstance(value, np.ndarray):
            total += value.size
        elif isinstance(value, (tuple, list)):
            total += entries_of(value)
    return total


@functools.cache
def _kept_codes(folder: str) -> dict[str, float]:
    """When the codes in a folder of numba's were compiled, by the names of their functions."""
    paths = Path(folder).glob("*.nbi")
    return {path.name.split(".", 1)[1].rsplit(".py", 1)[0]: path.stat().st_mtime for path in paths}


class Kernel:
    """A function that is interpreted as long as compiling it does not pay, and then compiled.

    It is compiled when it is first called if its code is on disk, after `compile_at_once`, and with
    ``SKSTRUCTURED_COMPILE=1``; else when as many steps were interpreted as compiling is worth.
    Steps are counted, not timed: a program does the same every time. Compiled functions call its
    compiled form, interpreted ones its interpreted form. If its first argument is a function, of
    type `function_type`, the compiled form gets its address; with a Python function it is
    interpreted. See `kernel` for the other parameters.
    """

    #: Whether all kernels are compiled when they are first called.
    at_once = threading.Event()

    def __init__(
        self,
        dispatcher: Any,
        signature: Any = None,
        function_type: Any = None,
        steps: float | Callable[..., float] = 1.0,
        worth: float = COMPILING_WORTH,
        python: Callable[..., Any] | None = None,
    ) -> None:
        functools.update_wrapper(self, dispatcher.py_func)
        self.dispatcher, self.python = dispatcher, python or dispatcher.py_func
        # By which numba inlines it.
        self.py_func, self.targetoptions = dispatcher.py_func, dispatcher.targetoptions
        self.signature, self.function_type = signature, function_type
        self.steps, self.worth = steps, worth
        self.is_warm, self.interpreted_steps = False, 0.0

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self.dispatcher)

    def __reduce__(self) -> Any:
        return self.dispatcher.__reduce__()

    def __call__(self, *args: Any) -> Any:
        """Call the form that pays."""
        if self.function_type is not None:
            return self._call_with(*args)
        form = self.dispatcher if self.is_warm else self.form_for(args)
        return form(*args)

    def form_for(self, args: Any, times: float = 1.0) -> Any:
        """What is called for some arguments, whose steps take so many times as long as usually."""
        if self.is_warm or self.compiles(times * count_steps(self, args)):
            return self.dispatcher
        return self.interpret

    def _call_with(self, function: Any, *args: Any) -> Any:
        """Call the form that pays, of a kernel whose first argument is a function."""
        if not is_kernel(function):
            return in_python(self)(function, *args)
        form = self.form_for(args, count_steps(function))
        if form is self.dispatcher:
            return form(address(function, self.function_type), *args)
        return form(interpreted(function), *args)

    @functools.cached_property
    def interpreted(self) -> Any:
        """The interpreted form, in which all kernels that it calls are interpreted."""
        is_builtin = not isinstance(self.python, FunctionType)
        return self.python if is_builtin else interpreted_copy(self.python)

    def interpret(self, *args: Any) -> Any:
        """Call the interpreted form, without numpy's warnings, which compiled ones do not have."""
        with np.errstate(all="ignore"):
            return self.interpreted(*args)

    def compiles(self, steps: float = 0.0) -> bool:
        """Whether it is compiled for a call of so many steps, and from then on."""
        if not self.is_warm:
            self.interpreted_steps += steps
            worthwhile = self.interpreted_steps > self.worth
            if worthwhile or self.at_once.is_set() or self._is_on_disk:
                self._compile()
        return self.is_warm

    def _compile(self) -> None:
        if self.signature is not None and not self.dispatcher.signatures:
            try:
                self.dispatcher.compile(self.signature)
            except RuntimeError:  # as it is once another thread has compiled it for its signature
                if not self.dispatcher.signatures:
                    raise
            self.dispatcher.disable_compile()
        self.is_warm = True

    @functools.cached_property
    def _is_on_disk(self) -> bool:
        """Whether code of this source is on disk."""
        folder, function = self.dispatcher.stats.cache_path, self.dispatcher.py_func
        if folder is None:
            return False
        code = function.__code__
        name = f"{function.__qualname__}-{code.co_firstlineno}"
        return _kept_codes(folder).get(name, 0.0) > os.stat(code.co_filename).st_mtime


if os.environ.get("SKSTRUCTURED_COMPILE", "0") == "1":
    Kernel.at_once.set()


#: Compiles all kernels of this process from now on when they are first called.
compile_at_once = Kernel.at_once.set


def count_steps(kernel: Any, args: Any = ()) -> float:
    """Interpreted steps of a call; without arguments of an entry."""
    steps = getattr(kernel, "steps", 1.0)
    return steps(*args) if callable(steps) else steps * entries_of(args)


def is_kernel(function: Any) -> bool:
    """Whether a function can be compiled, and is not plain Python."""
    return isinstance(function, (Kernel, CPUDispatcher))


def interpreted(value: Any) -> Any:
    """The interpreted form of a kernel or an `also_interpreted` function; else the value itself."""
    if isinstance(value, Kernel):
        return value.interpreted
    is_function = isinstance(value, FunctionType) and value in ALSO_INTERPRETED
    return interpreted_copy(value) if is_function else value


def interpreted_copy(function: Any) -> Any:
    """A copy of a function that calls the interpreted forms of all kernels that it names."""
    code, names = function.__code__, dict(function.__globals__)

    def form_of(value: Any) -> Any:
        calls_itself = getattr(value, "py_func", None) is function
        return value if calls_itself else interpreted(value)

    names |= {name: form_of(names[name]) for name in set(code.co_names) & names.keys()}
    cells = [CellType(form_of(cell.cell_contents)) for cell in function.__closure__ or ()]
    return FunctionType(code, names, function.__name__, function.__defaults__, tuple(cells))


def in_python(function: Any) -> Any:
    """The interpreted form of a loop over functions in Python; kernels in it compile themselves."""
    return np.errstate(all="ignore")(getattr(function, "py_func", function))


class CompilingNotice(event.Listener):
    """Logs once if compiling has taken longer than `patience` seconds; collects no garbage then."""

    patience = 3.0

    def __init__(self) -> None:
        self.depth, self.began, self.seconds = 0, 0.0, 0.0
        self.is_given, self.collects = False, False

    def on_start(self, event: Any) -> None:
        """Start the clock; functions that are compiled for another one are part of its time."""
        if self.depth == 0:
            self.began, self.collects = time.perf_counter(), gc.isenabled()
            gc.disable()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        """Stop the clock, and log once if the time exceeds `patience`."""
        self.depth -= 1
        so_far = self.seconds + time.perf_counter() - self.began
        if self.depth == 0:
            self.seconds = so_far
            if self.collects:
                gc.enable()
        if so_far > self.patience and not self.is_given:
            self.is_given = True
            logging.getLogger("skstructured").warning(
                "skstructured compiles its loops, which pays from now on, %0.0f s so far. numba "
                "keeps the code on disk, and later processes load it in a few seconds.",
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
    return any(is_kernel(cell.cell_contents) for cell in function.__closure__ or ())


def kernel(
    function: Any = None,
    *,
    fastmath: bool | set[str] = False,
    signature: Any = None,
    cached: bool = True,
    inline: bool = False,
    function_type: Any = None,
    steps: float | Callable[..., float] = 1.0,
    worth: float = COMPILING_WORTH,
    python: Callable[..., Any] | None = None,
) -> Any:
    """Compile a function by numba when it pays: without the GIL, with numpy's division, cached.

    The function is interpreted until its code is on disk, or as many steps were interpreted as
    compiling is worth. ``SKSTRUCTURED_COMPILE=1`` compiles it when it is first called.

    Parameters
    ----------
    function : callable
        The function; left out if `kernel` decorates with options.
    fastmath : bool or set of str, default=False
        Floating-point rules, such as `FASTMATH`.
    signature : numba signature or None, default=None
        Compile for this signature, and no other; None compiles for the types of calls.
    cached : bool, default=True
        Whether the code is kept on disk; never for a function that closes over others.
    inline : bool, default=False
        Whether compiled functions that call it get its code instead of the call.
    function_type : numba type or None, default=None
        Type of the first argument if it is a function.
    steps : float or callable, default=1.0
        Steps, of about a microsecond if interpreted, of a call for each entry of its arrays; or a
        function of its arguments.
    worth : float, default=2e6
        Steps that compiling is worth.
    python : callable or None, default=None
        What is interpreted instead of the function: the same with NumPy, or without instructions of
        a processor.

    Returns
    -------
    Kernel
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
        counting = {"function_type": function_type, "steps": steps, "worth": worth}
        return functools.partial(kernel, **options, **counting, python=python)
    if cached and function.__closure__ and not _closes_over_kernels(function):
        function.__qualname__ += _digest([cell.cell_contents for cell in function.__closure__])
    dispatcher = njit(
        fastmath=fastmath, inline="always" if inline else "never", nogil=True, error_model="numpy"
    )(function)
    if not is_kernel(dispatcher):
        return python or dispatcher
    if cached and not _closes_over_kernels(function):
        try:
            dispatcher.enable_caching()
        except RuntimeError:  # no folder, or code that is in no file
            if str(function.__module__).startswith("skstructured."):
                _warn_not_kept()
    return Kernel(dispatcher, signature, function_type, steps, worth, python)


def _digest(content: Any) -> str:
    """A digest for the names of functions that share their code but not their variables.

    Linkers know compiled functions by a name and a number, which begins at 1 in every process, so
    one function could be called instead of another one that is on disk.
    """
    return f"_{hashlib.sha256(repr(content).encode()).hexdigest()[:16]}"


def _identity(value: Any) -> Any:
    """A number, or the code and the file of a kernel: the same in every process."""
    if not is_kernel(value):
        return value
    function = value.py_func
    code, file = function.__code__, os.stat(function.__code__.co_filename)
    held = [_identity(cell.cell_contents) for cell in function.__closure__ or ()]
    numbers = [constant for constant in code.co_consts if not isinstance(constant, CodeType)]
    fingerprint = (function.__qualname__, code.co_code, numbers, file.st_mtime_ns, file.st_size)
    return function.__module__, *fingerprint, held


def with_globals(function: Any, **names: Any) -> Any:
    """A copy of a function in which global names are these functions and numbers."""
    return FunctionType(function.__code__, function.__globals__ | names, function.__name__)


def _named_by_content(value: Any) -> Any:
    """A copy of a kernel with free variables, whose name has a digest of them."""
    if not is_kernel(value) or not value.py_func.__closure__:
        return value
    old = value.py_func
    copy = FunctionType(
        old.__code__, old.__globals__, old.__name__, old.__defaults__, old.__closure__
    )
    copy.__qualname__ = old.__qualname__ + _digest(_identity(value))
    return Kernel(jit(**value.targetoptions)(copy))


@functools.cache
def kernel_over(function: Any, **names: Any) -> Any:
    """Compile a copy of a function in which global names are these kernels and numbers, once.

    Unlike a closure over kernels it is kept on disk.
    """
    try:
        identities = [(name, _identity(value)) for name, value in names.items()]
    except OSError:
        return kernel(with_globals(function, **names), cached=False)
    copy = with_globals(function, **{name: _named_by_content(v) for name, v in names.items()})
    copy.__qualname__ = function.__name__ + _digest(identities)
    return kernel(copy, steps=getattr(function, "steps", 1.0))


def also_interpreted(function: Any) -> Any:
    """Have compiled functions call a function compiled that is interpreted if Python calls it."""
    ALSO_INTERPRETED.add(function)
    return register_jitable(nogil=True, error_model="numpy")(function)


def plain_integers(kind: Any) -> Any:
    """The members of an enum as a named tuple of integers, by which all versions of numba index."""
    integers: Any = namedtuple(kind.__name__, kind.__members__)  # type: ignore[misc]
    return integers(*map(int, kind.__members__.values()))
