"""Checkpoints: a fitted estimator in a file that is whole at any moment, and runs no code."""

import io
import json
import os
import warnings
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import sklearn

import skstructured
from skstructured.checkpoints._archive import FORMAT, HEADER, SCHEMA, open_archive, unpacked
from skstructured.checkpoints._schema import is_of_the_package, trouble_in, types_in
from skstructured.checkpoints._whole_file import write_whole

__all__ = ["load_checkpoint", "save_checkpoint"]


def save_checkpoint(estimator: object, path: str | PathLike[str]) -> None:
    """Save a fitted estimator to a file, from which `load_checkpoint` restores it bit for bit.

    Needs skops: ``pip install skops``. Whenever the process is killed or the
    machine stops, `path` has the last checkpoint or this one, whole: it is written under another
    name in the same folder, brought to the disk, and renamed. When the call returns, the disk has
    it. What killed processes left beside `path` is removed.

    Parameters
    ----------
    estimator : object
        An estimator of this package or of scikit-learn, fitted or not, or a pipeline of them; also
        a `RiskMonitor` or a `StreamResult`. It is not changed. Other
        threads may predict or learn with it meanwhile: the file has a state between two blocks.
    path : str or os.PathLike
        The file; its folder must be there. It keeps its permissions and, where the process may
        give it away, its owner. Of several processes that save to it the last one wins.

    Raises
    ------
    ImportError
        Without skops.
    TypeError
        For an `estimator` that is a class, or no object of a class with attributes.
    ValueError
        For what could not be read back: lambdas, classes defined within functions, dicts whose keys
        are bool, None or tuples, memory-mapped arrays, objects that hold themselves; for a `path`
        that is there and no regular file, such as a pipe or a device.
    OSError
        Where the file cannot be written; the checkpoint that was there is as it was.

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
    content = _serialised(estimator, skops)
    write_whole(target, content.getbuffer())


def load_checkpoint(path: str | PathLike[str], trusted: Iterable[Any] = ()) -> Any:
    """Read a fitted estimator from a file of `save_checkpoint`; no code from the file is run.

    Needs skops: ``pip install skops``. The classes of this package, of
    scikit-learn's estimators and of numpy's and scipy's arrays are trusted; the file may name no
    others but those in `trusted`.

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    trusted : sequence of types, functions or str, default=()
        Others that the file may name: classes of your own, functions given as kernels, and the
        kernels of scikit-learn's Gaussian processes, each itself or as "module.name". Methods of
        these classes may be called while the file is read: trust only what you know.

    Returns
    -------
    object
        The estimator as it was saved: parameters, fitted attributes, generators.

    Raises
    ------
    ImportError
        Without skops.
    OSError
        Where there is no such file, or it cannot be read.
    TypeError
        For a `trusted` that is a str, True, or has anything but types, functions and str.
    ValueError
        For a file that is damaged, cut off, or not of `save_checkpoint`, one whose members are
        compressed or longer than the file among them; that has a newer format than this version
        knows; or that names a type that is not trusted.

    Warns
    -----
    UserWarning
        Where another version of the package wrote the file. scikit-learn warns for its own
        estimators.
    """
    skops, names = _skops(), _names_of(trusted)
    with open(path, "rb") as file:
        versions, schema = _opened(file, path)
        types = types_in(schema)
        _refuse_unknown(types, names, path, versions)
        _warn_of_version(path, versions)
        names += ["numpy.dtype", *(".".join(t) for t in types if is_of_the_package(*t))]
        file.seek(0)
        return _constructed(skops, file, names, path, versions)


def check_path(path):
    """The file of a path, links followed; an error where no checkpoint could be put there."""
    _skops()
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"path must be a file, got the folder {target}.")
    if target.exists() and not target.is_file():
        raise ValueError(f"path must be a regular file, got {target}, a pipe, socket or device.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"path must lie in a folder that is there, got {target}.")
    return target


def _skops():
    """skops.io, which is imported where it is needed."""
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            "checkpoints need skops, which is not installed: pip install skops"
        ) from error
    return skops.io


def _serialised(estimator, skops):
    """A buffer with the file's content."""
    buffer = io.BytesIO()
    try:
        skops.dump(estimator, buffer)
    except (AttributeError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"{type(estimator).__name__} cannot be saved: {error}") from error
    buffer = unpacked(buffer)
    with ZipFile(buffer, "a") as file:
        trouble = trouble_in(json.loads(file.read(SCHEMA)))
        if trouble is not None:
            raise ValueError(f"{type(estimator).__name__} cannot be saved: it has {trouble}.")
        file.writestr(HEADER, json.dumps(_versions(), indent=2))
    return buffer


def _versions():
    """Content of the header."""
    ours, numpys, sklearns = skstructured.__version__, np.__version__, sklearn.__version__
    return {"format": FORMAT, "skstructured": ours, "numpy": numpys, "scikit-learn": sklearns}


def _names_of(trusted):
    """Full names of types and functions that the user trusts."""
    if isinstance(trusted, (str, bytes)) or not hasattr(trusted, "__iter__"):
        raise TypeError(f"trusted must be a sequence of types, functions or str, got {trusted!r}.")
    names = []
    for given in trusted:
        if not (isinstance(given, str) or hasattr(given, "__name__")):
            raise TypeError(f"trusted must have types, functions or str in it, got {given!r}.")
        names.append(given if isinstance(given, str) else f"{given.__module__}.{given.__name__}")
    return names


def _opened(file, path):
    """The header of a checkpoint and the description of the object in it."""
    try:
        versions, schema = open_archive(file)
    except Exception as error:  # zipfile has many for damaged files, and says so itself
        raise _unreadable(path, error) from None
    if schema is None:
        raise ValueError(
            f"{path} has the format {versions['format']} of skstructured "
            f"{versions['skstructured']}; {skstructured.__version__} reads formats up to "
            f"{FORMAT}: install a newer version."
        )
    return versions, schema


def _unreadable(path, error, versions=None):
    """The error for a file that is no checkpoint, or not whole."""
    by = f", of a file with {versions}" if versions else ""
    return ValueError(
        f"{path} is damaged, cut off, or no checkpoint of save_checkpoint "
        f"({type(error).__name__}: {error}{by})."
    )


def _refuse_unknown(types, names, path, versions):
    """Refuse a file that names classes which this version of the package does not have."""
    ours = {".".join(t) for t in types if t[0].startswith("skstructured.")}
    known = {".".join(t) for t in types if is_of_the_package(*t)} | set(names)
    if ours - known:
        raise ValueError(
            f"{path} names {sorted(ours - known)}, which are no classes of skstructured "
            f"{skstructured.__version__}; it was written by {versions['skstructured']}."
        )


def _warn_of_version(path, versions):
    """Warn where another version of the package wrote the file."""
    written = versions["skstructured"]
    if written != skstructured.__version__:
        warnings.warn(
            f"{path} was written by skstructured {written}, and this is "
            f"{skstructured.__version__}: what it learns from here on may differ.",
            UserWarning,
            stacklevel=3,
        )


def _constructed(skops, file, names, path, versions):
    """The object in a checkpoint."""
    try:
        return skops.load(file, trusted=names)
    except skops.exceptions.UntrustedTypesFoundException as error:
        raise ValueError(
            f"{path} names types that are not trusted; those that you know are given as "
            f"`trusted`. {error}"
        ) from None
    except (MemoryError, Warning):
        raise
    except Exception as error:
        raise _unreadable(path, error, versions) from None
