"""Checks of a checkpoint file before any object is made from it.

`skstructured.checkpoints.save_checkpoint` writes archives whose members are not compressed, so that
one that is read takes no more memory than a few times its own size.
"""

import io
import json
import math
from zipfile import ZIP_STORED, ZipFile

import numpy as np

#: Number of the layout of the file. A higher one is refused.
FORMAT = 1

#: The member of the file that has the format and the versions; all others are those of skops.
HEADER, SCHEMA = "skstructured.json", "schema.json"


def open_archive(file):
    """The header of a checkpoint, and the description of the object in it.

    The description is None where the header has a newer format than is known.

    Raises
    ------
    ValueError, KeyError, BadZipFile, OSError, …
        For what is damaged: `zipfile` and `json` have many.
    """
    with ZipFile(file) as members:
        _check_sizes(members, file)
        versions = json.loads(members.read(HEADER))
        _check_header(versions)
        if versions["format"] > FORMAT:
            return versions, None
        schema = json.loads(members.read(SCHEMA))
        _check_schema(schema)
        _check_arrays(members)
    return versions, schema


def unpacked(buffer):
    """A buffer with the same archive, in which sparse matrices are not compressed either."""
    with ZipFile(buffer) as members:
        if not any(name.endswith(".npz") for name in members.namelist()):
            return buffer
        found = io.BytesIO()
        with ZipFile(found, "w") as copy:
            for name in members.namelist():
                content = members.read(name)
                copy.writestr(name, _stored(content) if name.endswith(".npz") else content)
    return found


def _stored(content):
    """A nested archive without compression."""
    found = io.BytesIO()
    with ZipFile(io.BytesIO(content)) as members, ZipFile(found, "w") as copy:
        for name in members.namelist():
            copy.writestr(name, members.read(name))
    return found.getvalue()


def _check_sizes(members, file):
    """Members are as long as what is in the file, and together not longer than it."""
    packed = [info.filename for info in members.infolist() if info.compress_type != ZIP_STORED]
    if packed:
        raise ValueError(f"its member {packed[0]!r} is compressed, as none of a checkpoint is")
    total, room = sum(info.file_size for info in members.infolist()), file.seek(0, 2)
    if total > room:
        raise ValueError(f"its members take {total} bytes, and the file has {room}")


def _check_header(versions):
    """The header has a format, from 1, and the version that wrote it."""
    number = versions.get("format") if isinstance(versions, dict) else None
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise ValueError(f"its format must be an integer from 1, got {number!r}")
    version = versions.get("skstructured")
    if not isinstance(version, str):
        raise ValueError(f"it must name the version of skstructured, got {version!r}")


def _check_schema(schema):
    """The outermost node is an object with attributes."""
    loader = schema.get("__loader__") if isinstance(schema, dict) else None
    if loader != "ObjectNode":
        raise ValueError(f"it must hold an estimator, an 'ObjectNode', got {loader!r}")


def _check_arrays(members):
    """Arrays, those of sparse matrices too, are as long as their headers say."""
    for info in members.infolist():
        if info.filename.endswith(".npz"):
            nested = io.BytesIO(members.read(info))
            with ZipFile(nested) as parts:
                _check_sizes(parts, nested)
                _check_arrays(parts)
        if info.filename.endswith(".npy"):
            with members.open(info) as array:
                _check_array(array, info)


def _check_array(array, info):
    """The shape in an array's header is that of the bytes after it."""
    version = np.lib.format.read_magic(array)
    header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in header:
        raise ValueError(f"its array {info.filename!r} has the version {version}")
    shape, _, dtype = header[version](array)
    wanted = math.prod(shape) * dtype.itemsize
    if dtype.hasobject or min(shape, default=0) < 0 or info.file_size - array.tell() != wanted:
        raise ValueError(
            f"its array {info.filename!r} of shape {shape} and {dtype} takes {wanted} bytes, and "
            f"has {info.file_size - array.tell()}"
        )
