"""Kernels that other kernels call, compiled no further than these need.

numba compiles a function that another one calls as if it were called from Python as well: with a
wrapper that unboxes its arguments, and optimised, before the caller takes in its code and optimises
it again. Where calls are nested, most of the time goes there. Here a kernel has a second
dispatcher for its callers, which leaves out both; what runs is optimised once, as a whole.

Like `kernel_cache`, this touches parts of numba that are private (seen with numba 0.61 to 0.68):
where they are different, callers take the kernel as it is.
"""

import functools
from typing import Any

from numba import njit
from numba.core import codegen, compiler

from skstructured._engine.kernel_cache import KernelCache, keep_on_disk

_POSSIBLE = hasattr(codegen.JITCodeLibrary, "_optimize_final_module")


class _PartLibrary(codegen.JITCodeLibrary):
    """Code that is optimised in the libraries that take it in."""

    def _optimize_final_module(self) -> None:
        pass


class _PartCompiler(compiler.Compiler):
    """numba's compiler, whose code goes to such a library."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.state.library = _PartLibrary(self.state.targetctx.codegen(), "part of a kernel")
        self.state.library.enable_object_caching()


_BARE = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def _another(dispatcher: Any, what: str, options: dict[str, Any]) -> Any:
    """Another dispatcher of the same function, without wrappers: nobody calls it from Python."""
    flags: dict[str, Any] = options | _BARE
    other = njit(**flags)(dispatcher.py_func)
    if isinstance(dispatcher._cache, KernelCache):
        keep_on_disk(other, (what, told(options["fastmath"])))
    return other


def told(fastmath: Any) -> Any:
    """Floating-point rules as they are told apart on disk."""
    return sorted(fastmath) if isinstance(fastmath, set) else fastmath


def compile_apart_for_kernels(dispatcher: Any, options: dict[str, Any]) -> None:
    """Have the kernels that call a kernel use a variant of it; made when the first one does."""

    @functools.cache
    def part() -> Any:
        how = {} if options["fastmath"] else {"pipeline_class": _PartCompiler}
        return _another(dispatcher, "part", options | how)

    if _POSSIBLE:
        dispatcher.get_call_template = lambda *args: part().get_call_template(*args)
        dispatcher.get_overload = lambda signature: part().get_overload(signature)


def without_wrappers(dispatcher: Any) -> Any:
    """A variant of a kernel that somebody takes the address of; of a user's function itself."""
    options = getattr(dispatcher, "kernel_options", None)
    return dispatcher if options is None else _another(dispatcher, "addressed", options)
