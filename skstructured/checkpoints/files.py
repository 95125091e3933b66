"""Checkpoints: a fitted estimator in a file that is whole at any moment, and runs no code."""

import contextlib
import copy
import glob
import importlib
import io
import json
import os
import stat
import time
import uuid
import warnings
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn
from zipfile import ZipFile

import numpy as np
import sklearn

import skstructured
from skstructured.checkpoints._shapes import check_shapes

__all__ = ["load_checkpoint", "save_checkpoint"]

#: Number of the layout of the file. A higher one is refused.
FORMAT = 1

#: The member of the file that has the format and the versions; all others are those of skops.
HEADER, SCHEMA = "skstructured.json", "schema.json"

#: Bytes that a file may be unpacked to: some, and so many for each of its own.
SOME, TIMES = 1 << 26, 8

#: Seconds after which a temporary file that nobody writes to is one of a killed process.
ABANDONED = 3600

#: Kinds of keys of dicts that are read back as they were, besides numbers of numpy.
KEYS = ("builtins.str", "builtins.int", "builtins.float")


def save_checkpoint(estimator: object, path: str | PathLike[str]) -> None:
    """Save a fitted estimator to a file, from which `load_checkpoint` restores it bit for bit.

    Needs skops: ``pip install skops``. Whenever the process is killed or the machine stops, `path`
    has the last checkpoint or this one, whole: it is written under another name in the same
    folder, brought to the disk, and renamed. When the call returns, the disk has it. What is
    written is read back before, so `load_checkpoint` refuses nothing that was saved.

    Parameters
    ----------
    estimator : object
        An estimator of this package or of scikit-learn, fitted or not, or a pipeline of them; also
        a `RiskMonitor` or a `StreamResult`. It is not changed. Other threads may predict or learn
        with it meanwhile: the file has a state between two blocks.
    path : str or os.PathLike
        The file; its folder must exist. It keeps its permissions. If several processes save to it,
        the last one wins.

    Raises
    ------
    ImportError
        Without skops.
    TypeError
        For an `estimator` that is a class, or no object of a class with attributes.
    ValueError
        For what could not be read back: lambdas, classes defined within functions, dicts with keys
        that are bool, None or tuples, memory-mapped arrays, objects that hold themselves; arrays
        that do not fit the parameters; a `path` that exists and is no regular file.
    OSError
        If the file cannot be written; the checkpoint that was there is as it was.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from skstructured import OnlineStructuredPredictor
    >>> from skstructured.checkpoints import load_checkpoint, save_checkpoint
    >>> X, y = np.eye(4), [0, 1, 0, 1]
    >>> model = OnlineStructuredPredictor(random_state=0).partial_fit(X, y, classes=[0, 1])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.skops")
    >>> save_checkpoint(model, path)
    >>> other = load_checkpoint(path).partial_fit(X, y)
    >>> bool(np.all(other.coef_ == model.partial_fit(X, y).coef_))
    True
    """
    skops = _skops()
    if isinstance(estimator, type) or not hasattr(estimator, "__dict__"):
        swapped = hasattr(path, "get_params")
        hint = "; the estimator comes first, the path second" if swapped else ", one a file"
        raise TypeError(f"estimator must be an estimator, got {estimator!r}{hint}.")
    target = check_path(path)
    write_whole(target, _serialized(estimator, skops).getbuffer())


def load_checkpoint(path: str | PathLike[str], trusted: Iterable[Any] = ()) -> Any:
    """Read a fitted estimator from a file of `save_checkpoint`; no code from the file is run.

    Needs skops: ``pip install skops``. The classes of this package, of scikit-learn's estimators
    and of numpy's and scipy's arrays are trusted; the file may name no others but those in
    `trusted`. Arrays must have the shapes and dtypes that a new learner of the same parameters has.

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    trusted : sequence of types, functions or str, default=()
        Others that the file may name: custom classes, functions given as kernels, and the kernels
        of scikit-learn's Gaussian processes, each itself or as "module.name". Methods of these
        classes may be called while the file is read: trust only what you know.

    Returns
    -------
    object
        The estimator as it was saved: parameters, fitted attributes, generators.

    Raises
    ------
    ImportError
        Without skops.
    OSError
        If there is no such file, or it cannot be read.
    TypeError
        For a `trusted` that is a str, True, or has anything but types, functions and str.
    ValueError
        For a file that is damaged, cut off, or not of `save_checkpoint`; that unpacks to many times
        its size; that has arrays that fit no learner of its parameters; that has a newer format
        than this version knows; or that names a type that is not trusted; for a pipe or a device.

    Warns
    -----
    UserWarning
        If another version of the package wrote the file. scikit-learn warns for its own estimators.
    """
    skops, names = _skops(), _names_of(trusted)
    _refuse_special(Path(path))
    with open(path, "rb") as file:
        try:
            versions, schema = _opened(file)
        except Exception as error:  # zipfile has many for damaged files, and says so itself
            _refuse_damaged(path, error)
        _refuse_versions(versions, schema, names, path)
        if versions["skstructured"] != skstructured.__version__:
            warnings.warn(
                f"{path} was written by skstructured {versions['skstructured']}, and this is "
                f"{skstructured.__version__}: what it learns from here on may differ.",
                UserWarning,
                stacklevel=2,
            )
        known = ["numpy.dtype", *filter(_is_ours, _types_in(schema))]
        try:
            found = skops.load(file, trusted=[*names, *known])
            check_shapes(found)
        except skops.exceptions.UntrustedTypesFoundException as error:
            raise ValueError(
                f"{path} names types that are not trusted; those that you know are given as "
                f"`trusted`. {error}"
            ) from None
        except Warning:
            raise
        except Exception as error:
            _refuse_damaged(path, error, versions)
    return found


def check_path(path):
    """The file of a path, links followed; an error if no checkpoint can be put there."""
    _skops()
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"path must be a file, got the folder {target}.")
    _refuse_special(target)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"path must lie in a folder that is there, got {target}.")
    return target


def _refuse_special(target):
    """A ValueError for a pipe, socket or device, which could be waited for without end."""
    if target.exists() and not target.is_file() and not target.is_dir():
        raise ValueError(f"path must be a regular file, got {target}, a pipe, socket or device.")


def _skops():
    """skops.io, which is imported when it is needed."""
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            "checkpoints need skops, which is not installed: pip install skops"
        ) from error
    return skops.io


def write_whole(path, content):
    """Put bytes under an absolute `path`, so that a reader finds the old content or the new.

    They are written into ``.NAME.<32 hex digits>.tmp`` beside it, which takes its place and its
    permissions once the disk has it. Such files of killed processes are removed after an hour.

    Raises
    ------
    OSError
        If the file cannot be written; what was there before is as it was.
    """
    for old in path.parent.glob(f".{glob.escape(path.name)}.{'[0-9a-f]' * 32}.tmp"):
        with contextlib.suppress(OSError):  # another process has removed it
            if time.time() - old.lstat().st_mtime > ABANDONED:
                old.unlink()
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as file:
            if path.exists():
                os.chmod(temporary, stat.S_IMODE(path.stat().st_mode))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _sync_folder(folder):
    """Make the new name durable on disk; Windows opens no folders, and does not need it."""
    if os.name == "nt":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _serialized(estimator, skops):
    """A buffer with the file's content, which was read back."""
    buffer, name = io.BytesIO(), type(estimator).__name__
    try:
        skops.dump(copy.deepcopy(estimator), buffer)
        with ZipFile(buffer, "a") as file:
            schema = json.loads(file.read(SCHEMA))
            file.writestr(HEADER, json.dumps(_versions(), indent=2))
        _refuse_changed(schema)
        _check_size(buffer, schema)
        check_shapes(skops.load(buffer, trusted=sorted(_types_in(schema))))
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError(f"{name} cannot be saved: {error}") from error
    return buffer


def _versions():
    """Content of the header."""
    ours, numpys, sklearns = skstructured.__version__, np.__version__, sklearn.__version__
    return {"format": FORMAT, "skstructured": ours, "numpy": numpys, "scikit-learn": sklearns}


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object in a description, the outermost first."""
    waiting = [schema]
    while waiting:
        given = waiting.pop()
        if isinstance(given, dict):
            if isinstance(given.get("__loader__"), str):
                yield given
            waiting.extend(given.values())
        elif isinstance(given, list):
            waiting.extend(given)


def _type_of(node: dict[str, Any]) -> str:
    """Full name of the type of a described object, or of the function it is."""
    return f"{node.get('__module__')}.{node.get('__class__')}"


def _types_in(schema: Any) -> set[str]:
    """Full names of all types and functions in a description."""
    return {_type_of(node) for node in _nodes(schema)}


def _is_ours(name):
    """Whether a class is really defined in a module of this package, under this name."""
    module, _, short = name.rpartition(".")
    if not f"{module}.".startswith("skstructured."):
        return False
    try:
        found = getattr(importlib.import_module(module), short, None)
    except (ImportError, ValueError):  # a name with a null in it
        return False
    return isinstance(found, type) and (found.__module__, found.__qualname__) == (module, short)


def _refuse_changed(schema):
    """A ValueError for what skops writes, and would read back as something else."""
    for node in _nodes(schema):
        kind, loader = _type_of(node), node["__loader__"]
        if loader == "DictNode":
            keys = [_type_of(key) for key in node["key_types"]["content"]]
            for key in keys:
                if key not in KEYS and not _is_number(key):
                    raise ValueError(f"a dict has a key of the type {key}, not str, int or float")
            if len(keys) != len(node["content"]):
                raise ValueError("a dict has keys that are written the same, as 1 and '1'")
        elif loader == "NdArrayNode":
            if kind != "numpy.ndarray" and not _is_number(kind):
                raise ValueError(f"an array is of the kind {kind}: copy it into one of numpy's own")
            if node["type"] == "json" and len(node["shape"]["content"]) != 1:
                raise ValueError("an array of objects is no vector")


def _is_number(name):
    """Whether a name is that of a type of numpy's numbers."""
    found = getattr(np, name.removeprefix("numpy."), None) if name.startswith("numpy.") else None
    return isinstance(found, type) and issubclass(found, np.generic) and found is not np.bool_


def _names_of(trusted):
    """Full names of types and functions that the user trusts."""
    if isinstance(trusted, (str, bytes)) or not hasattr(trusted, "__iter__"):
        raise TypeError(f"trusted must be a sequence of types, functions or str, got {trusted!r}.")
    kinds = list(trusted)
    for kind in kinds:
        if not isinstance(kind, str) and not hasattr(kind, "__name__"):
            raise TypeError(f"trusted must have types, functions or str in it, got {kind!r}.")
    return [k if isinstance(k, str) else f"{k.__module__}.{k.__name__}" for k in kinds]


def _opened(file):
    """The versions in a checkpoint, and the description of the object in it."""
    with ZipFile(file) as members:
        if sum(info.file_size for info in members.infolist()) > _limit(file):
            raise ValueError("it would be unpacked to many times its size")
        versions = json.loads(members.read(HEADER))
        number = versions["format"]
        if type(number) is not int or number < 1 or not isinstance(versions["skstructured"], str):
            raise ValueError(f"its header is {versions}")
        if number > FORMAT:
            return versions, None
        schema = json.loads(members.read(SCHEMA))
    _check_size(file, schema)
    return versions, schema


def _limit(file):
    """Bytes that a file may be unpacked to."""
    return SOME + TIMES * file.seek(0, os.SEEK_END)


def _check_size(file, schema):
    """A ValueError if the arrays that are named take more memory than the file may."""
    named = {(node.get("__id__"), node["file"]) for node in _nodes(schema) if "file" in node}
    with ZipFile(file) as members:
        sizes = {name: _unpacked(members, name) for _, name in named}
    if sum(sizes[name] for _, name in named) > _limit(file):
        raise ValueError("it would be unpacked to many times its size")


def _unpacked(members, name):
    """Bytes that a member takes in memory; those of sparse matrices are archives by themselves."""
    if not name.endswith(".npz"):
        return members.getinfo(name).file_size
    with ZipFile(io.BytesIO(members.read(name))) as parts:
        return sum(info.file_size for info in parts.infolist())


def _refuse_versions(versions, schema, names, path):
    """A ValueError for a newer format, or for classes that this version does not have."""
    written = versions["skstructured"]
    if schema is None:
        raise ValueError(
            f"{path} has the format {versions['format']} of skstructured {written}; "
            f"{skstructured.__version__} reads formats up to {FORMAT}: install a newer version."
        )
    ours = {name for name in _types_in(schema) if name.startswith("skstructured.")}
    unknown = sorted(name for name in ours - set(names) if not _is_ours(name))
    if unknown:
        raise ValueError(
            f"{path} names {unknown}, which are no classes of skstructured "
            f"{skstructured.__version__}; it was written by {written}."
        )


def _refuse_damaged(path: Any, error: Exception, versions: Any = None) -> NoReturn:
    by = f", of a file with {versions}" if versions else ""
    raise ValueError(
        f"{path} is damaged, cut off, or no checkpoint of save_checkpoint "
        f"({type(error).__name__}: {error}{by})."
    ) from None
