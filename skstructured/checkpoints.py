"""Checkpoints: a fitted estimator in a file that is always complete, and runs no code."""

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
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np

import skstructured

__all__ = ["load_checkpoint", "save_checkpoint"]

#: Number of the layout of the file. A higher one is refused.
CHECKPOINT_FORMAT = 1

#: The member of the file that has the format and the versions; all others are those of skops.
HEADER_MEMBER = "skstructured.json"


class RefusedError(ValueError):
    """An error of a file that is complete."""


def save_checkpoint(estimator: object, path: str | os.PathLike[str]) -> None:
    """Save a fitted estimator to a file, from which `load_checkpoint` restores it bit for bit.

    This needs skops: ``pip install skops``. If the process is killed or the machine stops, `path`
    has either the last checkpoint or the new one, complete. The file is written under another name
    in the same folder, flushed to the disk, and renamed; the disk has it when the call returns. It
    is read back before, so `load_checkpoint` accepts every file that was saved.

    Parameters
    ----------
    estimator : object
        An estimator of this package or of scikit-learn, fitted or not, or a pipeline of them. A
        `RiskMonitor` and a `StreamResult` can be saved too. It is not changed. Other threads may
        predict or learn with it meanwhile: the file has a state between two blocks.
    path : str or os.PathLike
        The file; its folder must exist. It keeps its permissions. If several processes save to it,
        the last one wins.

    Raises
    ------
    ImportError
        If skops is not installed.
    TypeError
        If `estimator` is a class, or not an object of a class with attributes.
    ValueError
        If the object could not be read back: lambdas, classes defined within functions, dicts with
        keys that are bool, None or tuples, memory-mapped arrays, objects that contain themselves.
        Also if `path` exists and is not a regular file.
    OSError
        If the file cannot be written; the existing checkpoint is kept.

    See Also
    --------
    load_checkpoint : Read the file.
    skstructured.streaming.fit_chunks : Train on a stream, with checkpoints between chunks.

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
    if isinstance(estimator, type) or not hasattr(estimator, "__dict__"):
        swapped = hasattr(path, "get_params")
        hint = "; the estimator comes first, the path second" if swapped else ", one a file"
        raise TypeError(f"estimator must be an estimator, got {estimator!r}{hint}.")
    write_whole(check_path(path), _serialized(estimator).getbuffer())


def load_checkpoint(path: str | os.PathLike[str], trusted: Iterable[Any] = ()) -> Any:
    """Read a fitted estimator from a file of `save_checkpoint`; no code from the file is run.

    This needs skops: ``pip install skops``. The classes of this package, of scikit-learn's
    estimators and of numpy's and scipy's arrays are trusted; the file may name others only if they
    are in `trusted`. The contents of arrays are not checked, and compiled loops do not check
    indices: do not read files of people whom you do not trust.

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    trusted : sequence of types, functions or str, default=()
        Others that the file may name: custom classes, functions given as kernels, and the kernels
        of scikit-learn's Gaussian processes, each itself or as "module.name". Methods of these
        classes may be called while the file is read: trust only those that you know.

    Returns
    -------
    object
        The estimator as it was saved: parameters, fitted attributes, generators.

    Raises
    ------
    ImportError
        If skops is not installed.
    OSError
        If there is no such file, or it cannot be read.
    TypeError
        If `trusted` is a str, True, or has anything but types, functions and str.
    ValueError
        If the file is damaged, cut off, or not of `save_checkpoint`; if it unpacks to many times
        its size, has a newer format than this version reads, or names a type that is not trusted;
        and if it is a pipe or a device.

    Warns
    -----
    UserWarning
        If another version of the package wrote the file. scikit-learn warns for its own estimators.

    See Also
    --------
    save_checkpoint : Write the file.
    """
    skops, names, versions = load_skops(), _full_names(trusted), None
    _refuse_special(Path(path))
    with open(path, "rb") as file:
        try:
            versions, schema = _opened(file)
            ours = _ours_in(schema, names, versions["skstructured"])
            if versions["skstructured"] != skstructured.__version__:
                both = f"{versions['skstructured']}, and this is {skstructured.__version__}"
                text = f"{path} was written by skstructured {both}: further training may differ."
                warnings.warn(text, UserWarning, stacklevel=2)
            # Models also have these; trees check their arrays as little as compiled loops do.
            types = ("numpy.dtype", "sklearn.tree._tree.Tree")
            estimator = skops.load(file, trusted=[*names, *ours, *types])
        except Warning:
            raise
        except RefusedError as error:
            raise ValueError(f"{path} {error}") from None
        except skops.exceptions.UntrustedTypesFoundException as error:
            remedy = f"If you know them, pass them as `trusted`. {error}"
            raise ValueError(f"{path} names types that are not trusted. {remedy}") from None
        except Exception as error:  # zipfile and skops have many for damaged files
            by = f", of a file with {versions}" if versions else ""
            cause = f"{type(error).__name__}: {error}{by}"
            damage = "is damaged, cut off, or not a checkpoint of save_checkpoint"
            raise ValueError(f"{path} {damage} ({cause}).") from None
    return estimator


def check_path(path):
    """The file of a path, links followed; an error if no checkpoint can be written there."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"path must be a file, got the folder {target}.")
    _refuse_special(target)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"path must be in a folder that exists, got {target}.")
    return target


def _refuse_special(target):
    """A ValueError for a pipe, socket or device, which could be waited for without end."""
    if target.exists() and not target.is_file() and not target.is_dir():
        raise ValueError(f"path must be a regular file, got {target}, a pipe, socket or device.")


def load_skops():
    """skops.io, which is imported when it is needed."""
    try:
        import skops.io
    except ImportError as error:
        raise ImportError("Checkpoints need skops: pip install skops.") from error
    return skops.io


def write_whole(path, content, max_age=3600):
    """Write bytes to an absolute `path`; a reader finds either the old content or the new."""
    # The bytes go into .NAME.<32 hex digits>.tmp; old ones of killed processes are removed.
    for old in path.parent.glob(f".{glob.escape(path.name)}.{'[0-9a-f]' * 32}.tmp"):
        with contextlib.suppress(OSError):  # another process has removed it
            if time.time() - old.lstat().st_mtime > max_age:
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
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and error.filename is None:  # no space
            error.filename = str(path)
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


def _serialized(estimator):
    """A buffer with the file's content, which was read back."""
    import sklearn  # takes long

    skops, buffer = load_skops(), io.BytesIO()
    versions = {"format": CHECKPOINT_FORMAT, "skstructured": skstructured.__version__}
    versions |= {"numpy": np.__version__, "scikit-learn": sklearn.__version__}
    try:
        skops.dump(copy.deepcopy(estimator), buffer)
        with ZipFile(buffer, "a") as file:
            file.writestr(HEADER_MEMBER, json.dumps(versions, indent=2))
        _, schema = _opened(buffer)
        _refuse_changed(schema)
        skops.load(buffer, trusted=sorted(_types_in(schema)))
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError(f"{type(estimator).__name__} cannot be saved: {error}") from error
    return buffer


def _opened(file):
    """The versions in a checkpoint, and the description of the object in it."""
    most = most_unpacked(file.seek(0, os.SEEK_END))
    with ZipFile(file) as members:
        _check_size(sum(info.file_size for info in members.infolist()), most)
        versions = json.loads(members.read(HEADER_MEMBER))
        number, written = versions["format"], versions["skstructured"]
        if type(number) is not int or number < 1 or not isinstance(written, str):
            raise ValueError(f"its header is {versions}")
        if number > CHECKPOINT_FORMAT:
            limit = f"{skstructured.__version__} reads formats up to {CHECKPOINT_FORMAT}"
            what = f"has the format {number} of skstructured {written}"
            raise RefusedError(f"{what}; {limit}: install a newer version.")
        schema = json.loads(members.read("schema.json"))
        named = {(node.get("__id__"), node["file"]) for node in _nodes(schema) if "file" in node}
        times = Counter(name for _, name in named)
        _check_size(sum(times[name] * _unpacked(members, name) for name in times), most)
    return versions, schema


def most_unpacked(size):
    """Bytes that a file of this size may be unpacked to."""
    return (1 << 26) + 8 * size


def _check_size(size, most):
    """A ValueError for more bytes than a file may be unpacked to."""
    if size > most:
        raise ValueError("it would be unpacked to many times its size")


def _unpacked(members, name):
    """Bytes that a member takes in memory; those of sparse matrices are archives by themselves."""
    if not name.endswith(".npz"):
        return members.getinfo(name).file_size
    with ZipFile(io.BytesIO(members.read(name))) as archive:
        return sum(info.file_size for info in archive.infolist())


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object in a description, the outermost first."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if isinstance(node.get("__loader__"), str):
                yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _type_name(node: dict[str, Any]) -> str:
    """Full name of the type of a described object, or of the function it is."""
    return f"{node.get('__module__')}.{node.get('__class__')}"


def _types_in(schema: Any) -> set[str]:
    """Full names of all types and functions in a description."""
    return {_type_name(node) for node in _nodes(schema)}


def _ours_in(schema, trusted, written):
    """The classes of this package in a description; an error if it does not have them."""
    named = _types_in(schema) - {*trusted}
    ours = sorted(name for name in named if name.startswith("skstructured."))
    unknown = [name for name in ours if not _is_class(name)]
    if unknown:
        here = f"classes of skstructured {skstructured.__version__}"
        raise RefusedError(f"names {unknown}, which are not {here}; it was written by {written}.")
    return ours


def _is_class(name):
    """Whether a class is defined in the module, and under the name, that it is called by."""
    module, _, short = name.rpartition(".")
    try:
        member = getattr(importlib.import_module(module), short, None)
    except (ImportError, ValueError):  # a name with a null in it
        return False
    return isinstance(member, type) and (member.__module__, member.__qualname__) == (module, short)


def _refuse_changed(schema):
    """A ValueError for objects that skops writes, but would read back as something else."""
    as_written = ("builtins.str", "builtins.int", "builtins.float")  # and numbers of numpy
    for node in _nodes(schema):
        kind, loader = _type_name(node), node["__loader__"]
        if loader == "DictNode":
            keys = [_type_name(key) for key in node["key_types"]["content"]]
            for key in keys:
                if key not in as_written and not _is_number(key):
                    raise ValueError(f"a dict has a key of the type {key}, not str, int or float")
            if len(keys) != len(node["content"]):
                raise ValueError("a dict has keys that are written the same, as 1 and '1'")
        elif loader == "NdArrayNode":
            if kind != "numpy.ndarray" and not _is_number(kind):
                raise ValueError(f"an array is of the kind {kind}: copy it into one of numpy's own")
            if node["type"] == "json" and len(node["shape"]["content"]) != 1:
                raise ValueError("an array of objects is not a vector")


def _is_number(name):
    """Whether a name is that of a type of numpy's numbers."""
    member = getattr(np, name.removeprefix("numpy."), None)
    return isinstance(member, type) and issubclass(member, np.generic) and member is not np.bool_


def _full_names(trusted):
    """Full names of types and functions that the user trusts."""
    if isinstance(trusted, (str, bytes)) or not hasattr(trusted, "__iter__"):
        raise TypeError(f"trusted must be a sequence of types, functions or str, got {trusted!r}.")
    kinds = list(trusted)
    for kind in kinds:
        if not isinstance(kind, str) and not hasattr(kind, "__name__"):
            raise TypeError(f"trusted must have types, functions or str in it, got {kind!r}.")
    return [k if isinstance(k, str) else f"{k.__module__}.{k.__name__}" for k in kinds]
