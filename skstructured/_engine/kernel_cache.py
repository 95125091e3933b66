"""The disk cache of compiled kernels: one file per kernel, named by a digest of its sources.

numba's own cache looks at the file of a kernel alone, although constants and callees come from
others, and keeps one index for all variants of a kernel, which two processes may overwrite for each
other. Here a file's name is a digest of the whole package's source, the kernel, its closure, its
signature, and the compiler; it is written at once, or not at all, and carries a checksum. What is
found under a name is therefore right, whoever wrote it.

This module alone touches numba's private parts (seen with numba 0.61 to 0.68): a dispatcher's
`_cache` with `load_overload` and `save_overload`, `CompileResult._reduce` and `_rebuild`, a
codegen's `magic_tuple`. Where they are different, kernels are compiled in memory, with a warning.
"""

import functools
import hashlib
import os
import pickle
import platform
import sys
import uuid
import warnings
from collections.abc import Iterable, Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba.core import compiler, config
from numba.core.caching import NullCache
from numba.core.serialize import dumps

#: Folders of other versions of the package that stay beside the one in use.
KEPT = 4

FOLDER = "skstructured-kernels-"


def _source_bytes(folder: Traversable) -> Iterator[bytes]:
    """Names and contents of the Python files below `folder`, in order of their names."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _source_bytes(entry)
        elif entry.name.endswith(".py"):
            yield entry.name.encode()
            yield entry.read_bytes()


def _digest(parts: Iterable[bytes]) -> str:
    """Digest of byte strings, wherever they are cut."""
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "little"))
        total.update(part)
    return total.hexdigest()


@functools.cache
def package_digest() -> str | None:
    """Digest of the package's source and of what compiles it; None where there is no source."""
    source = list(_source_bytes(resources.files("skstructured")))
    switches = tuple(getattr(config, name) for name in ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT"))
    versions = (numba.__version__, np.__version__, sys.version, platform.machine())
    return _digest([*source, repr((versions, switches)).encode()]) if source else None


def _user_folder() -> Path:
    """The user's folder for caches, as the system has it."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", "~/AppData/Local")).expanduser()
    if sys.platform == "darwin":
        return Path("~/Library/Caches").expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()


def folders() -> list[Path]:
    """Where kernels may lie, in the order they are looked for and written.

    ``NUMBA_CACHE_DIR`` where it is set, the package's own ``__pycache__``, the user's cache.
    """
    given = [Path(config.CACHE_DIR)] if config.CACHE_DIR else []  # type: ignore[attr-defined]
    own = [Path(__file__).parents[1] / "__pycache__"]
    try:
        users = [_user_folder()]
    except RuntimeError:  # no home
        users = []
    return [base / (FOLDER + str(package_digest())[:16]) for base in given + own + users]


def read(name: str) -> bytes | None:
    """The object kept under `name`, or None if there is no complete one."""
    for folder in folders():
        try:
            content = (folder / name).read_bytes()
        except OSError:
            continue
        if hashlib.sha256(content[32:]).digest() == content[:32]:
            return pickle.loads(content[32:])
    return None


def write(name: str, value: Any) -> None:
    """Keep an object under `name` in the first folder that takes it.

    Raises
    ------
    OSError
        Where none does; it says of every folder why.
    """
    payload = dumps(value)
    trouble = []
    for folder in folders():
        try:
            return _write_whole(folder, name, hashlib.sha256(payload).digest() + payload)
        except OSError as error:
            trouble.append(f"{folder.parent}: {error.strerror or error}")
    raise OSError("; ".join(trouble))


def _write_whole(folder: Path, name: str, content: bytes) -> None:
    """Write a file by renaming a finished one, so that nobody ever reads a part of it."""
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        _forget_old(folder)
    temporary = folder / f"{uuid.uuid4().hex}.tmp"
    try:
        temporary.write_bytes(content)
        os.replace(temporary, folder / name)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _forget_old(folder: Path) -> None:
    """Remove the kernels of other versions beside `folder`, but for the last few."""
    others = [path for path in folder.parent.glob(FOLDER + "*") if path != folder]
    try:
        others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        for path in others[KEPT:]:
            for file in path.iterdir():
                file.unlink()
            path.rmdir()
    except OSError:  # somebody else removes them too, or they are not ours to remove
        return


#: Called, where it is not None, each time that a kernel is not kept and so will be compiled.
on_missing = None

_told: set[str] = set()


def warn_once(message: str) -> None:
    """Warn once per process for each message's first words."""
    if message[:40] not in _told:
        _told.add(message[:40])
        warnings.warn(message, RuntimeWarning, stacklevel=2)


def is_ours(dispatcher: Any) -> bool:
    """Whether a compiled function, with all that it closes over, is source of the package.

    The digest then knows it; what a function of a user calls is known to nobody.
    """
    function = dispatcher.py_func
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    inner = [value for value in cells if hasattr(value, "py_func")]
    return function.__module__.startswith("skstructured.") and all(map(is_ours, inner))


def _closure_of(function: FunctionType) -> tuple[Any, ...]:
    """What a function closes over; of compiled functions what these close over.

    numba gives such a function another number in every process.
    """
    values = [cell.cell_contents for cell in function.__closure__ or ()]
    return tuple(_told_of(value) if hasattr(value, "py_func") else value for value in values)


def _told_of(dispatcher: Any) -> tuple[Any, ...]:
    function = dispatcher.py_func
    names = function.__module__, function.__qualname__, function.__code__.co_firstlineno
    return (*names, function.__code__.co_code, _closure_of(function))


class KernelCache(NullCache):
    """The cache object of a numba dispatcher: it loads compiled code and saves it."""

    def __init__(self, function: FunctionType, options: Any) -> None:
        code, closure = function.__code__, dumps(_closure_of(function))
        names = (function.__module__, function.__qualname__, code.co_firstlineno, options)
        self._kernel = [repr(names).encode(), code.co_code, closure]
        module = function.__module__ or "__main__"  # None where code was run by exec without a name
        self._label = f"{module.rpartition('.')[2]}.{function.__name__}"

    def _name(self, signature: Any, codegen: Any) -> str:
        machine = repr((str(signature), codegen.magic_tuple())).encode()
        digest = _digest([str(package_digest()).encode(), *self._kernel, machine])
        return f"{self._label}-{digest[:32]}.nbc"

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The kernel compiled for `signature`, or None."""
        target_context.refresh()
        try:
            kept = read(self._name(signature, target_context.codegen()))
            if kept is not None:
                return compiler.CompileResult._rebuild(target_context, *kept)
        except Exception as error:
            warn_once(
                f"skstructured could not read its compiled kernels ({error!r}, numba "
                f"{numba.__version__}): they are compiled again in every process, which is slow."
            )
        if on_missing is not None:
            on_missing()
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep a compiled kernel; where that fails it stays in memory, with one warning."""
        try:
            write(self._name(signature, result.codegen), result._reduce())
        except Exception as error:
            warn_once(
                f"skstructured cannot keep its compiled kernels on disk ({error}): they are "
                "compiled again in every process, which is slow. Set NUMBA_CACHE_DIR to a folder "
                "that can be written to."
            )


def keep_on_disk(dispatcher: Any, options: Any) -> None:
    """Have a numba dispatcher look for its code on disk, and leave it there."""
    if package_digest() is None:
        warn_once("skstructured finds no source of its own: kernels are compiled in every process.")
    elif not isinstance(getattr(dispatcher, "_cache", None), NullCache):
        warn_once(
            f"numba {numba.__version__} is not one that skstructured can keep compiled kernels "
            "with: they are compiled again in every process, which is slow."
        )
    else:
        dispatcher._cache = KernelCache(dispatcher.py_func, options)
