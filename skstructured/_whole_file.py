"""A file that is written whole or not at all, also where the process or the machine stops."""

import os
import re
import uuid

#: Temporary files that this process is writing now.
_WRITING = set()


def write_whole(path, content):
    """Put bytes under an absolute `path`: whoever reads it finds the old content or the new.

    They are written into a file beside it, ``.NAME.<32 hex digits>.tmp``, which takes its place
    once the disk has it. What an earlier process left there when it was killed is removed first.

    Raises
    ------
    OSError
        Where the file cannot be written; what was there before is as it was.
    """
    _remove_leftovers(path)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    _WRITING.add(temporary.name)
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        _WRITING.discard(temporary.name)


def leftovers(path):
    """Temporary files of `path` beside it that this process is not writing."""
    ours = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{32}}\.tmp")
    found = [entry for entry in path.parent.iterdir() if ours.fullmatch(entry.name)]
    return [entry for entry in found if entry.name not in _WRITING]


def _remove_leftovers(path):
    for entry in leftovers(path):
        try:
            entry.unlink()
        except OSError:  # Windows lets nobody remove what another process is writing
            continue


def _sync_folder(folder):
    """Have the disk know the new name; Windows opens no folders, and needs it not."""
    if os.name == "nt":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
