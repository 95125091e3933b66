"""Kernels that other kernels call, compiled no further than these need.

numba compiles a function that another one calls as if it were called from Python as well: with a
wrapper that unboxes its arguments, and optimised, before the caller takes in its code and optimises
it again. Where calls are nested, most of the time goes there. Here a kernel has a second
dispatcher for its callers, which leaves out both; what runs is optimised once, as a whole.

Like `kernel_cache`, this touches parts of numba that are private (seen with numba 0.61 to 0.68):
where they are different, callers take the kernel as it is.
"""

import functools
import gc
import opcode
from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core import codegen, compiler

from skstructured._engine.kernel_cache import KernelCache, keep_on_disk

#: The code of `raise`. `dis` would tell it by its name, and take a quarter of the import for that.
RAISE = opcode.opmap["RAISE_VARARGS"]

_PRIVATE = ("_optimize_final_module", "_finalize_dynamic_globals", "_verify_declare_only_symbols")
_POSSIBLE = all(hasattr(codegen.JITCodeLibrary, name) for name in _PRIVATE)


class _WithoutEnvironments:
    """A codegen, for code that is never called by itself, so that it needs no environment."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, env: Any) -> None:
        """Nothing."""


class _PartLibrary(codegen.JITCodeLibrary):
    """Code for the libraries that take it in: no machine code is made of it.

    It is optimised there; with rules of its own for floating-point numbers here too.
    """

    is_optimised = False

    @property
    def codegen(self) -> Any:
        return _WithoutEnvironments(self._codegen)

    def _optimize_final_module(self) -> None:
        if self.is_optimised:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    def serialize_using_object_code(self) -> Any:
        return self.serialize_using_bitcode()


class _OptimisedPartLibrary(_PartLibrary):
    is_optimised = True


def _compiler_into(kind: Any) -> Any:
    """numba's compiler, whose code goes to such a library."""

    class PartCompiler(compiler.Compiler):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.state.library = kind(self.state.targetctx.codegen(), "part of a kernel")

    return PartCompiler


_PartCompiler, _OptimisedPartCompiler = map(_compiler_into, (_PartLibrary, _OptimisedPartLibrary))

_BARE = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def _another(dispatcher: Any, what: str, options: dict[str, Any]) -> Any:
    """Another dispatcher of the same function, without wrappers: nobody calls it from Python."""
    flags: dict[str, Any] = options | _BARE
    other = njit(**flags)(dispatcher.py_func)
    other.compile = without_collections(other.compile)
    if isinstance(dispatcher._cache, KernelCache):
        keep_on_disk(other, (what, told(options["fastmath"])))
    return other


def raises(function: Callable[..., Any]) -> bool:
    """Whether there is a `raise` in a function; every other byte of its code is an instruction."""
    return RAISE in function.__code__.co_code[::2]


def told(fastmath: Any) -> Any:
    """Floating-point rules as they are told apart on disk."""
    return sorted(fastmath) if isinstance(fastmath, set) else fastmath


def compile_apart_for_kernels(dispatcher: Any, options: dict[str, Any]) -> None:
    """Have the kernels that call a kernel use a variant of it; made when the first one does.

    One that raises errors is called as it is: what an error says lies in its environment.
    """

    @functools.cache
    def part() -> Any:
        how = _OptimisedPartCompiler if options["fastmath"] else _PartCompiler
        return _another(dispatcher, "part", options | {"pipeline_class": how})

    if _POSSIBLE and not raises(dispatcher.py_func):
        dispatcher.get_call_template = lambda *args: part().get_call_template(*args)
        dispatcher.get_overload = lambda signature: part().get_overload(signature)


def without_collections(compile: Callable[..., Any]) -> Callable[..., Any]:
    """A function during which Python looks for no garbage: an eighth of the time of a compiler.

    It makes many objects that stay, and each look goes through all of them.
    """

    @functools.wraps(compile)
    def calm(*args: Any) -> Any:
        collects = gc.isenabled()
        gc.disable()
        try:
            return compile(*args)
        finally:
            if collects:
                gc.enable()

    return calm


def without_wrappers(dispatcher: Any) -> Any:
    """A variant of a kernel that somebody takes the address of; of a user's function itself."""
    options = getattr(dispatcher, "kernel_options", None)
    return dispatcher if options is None else _another(dispatcher, "addressed", options)
