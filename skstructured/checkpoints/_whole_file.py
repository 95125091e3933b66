"""A file that is written whole or not at all, also where the process or the machine stops."""

import contextlib
import os
import re
import uuid

try:
    import fcntl
except ImportError:  # Windows lets nobody remove what another process is writing
    fcntl = None  # type: ignore[assignment]


def write_whole(path, content):
    """Put bytes under an absolute `path`: whoever reads it finds the old content or the new.

    They are written into a file beside it, ``.NAME.<32 hex digits>.tmp``, which takes its place,
    its permissions and, where that is allowed, its owner, once the disk has it. What a process left
    there when it was killed is removed first; a file that another one is writing is locked.

    Raises
    ------
    OSError
        Where the file cannot be written; what was there before is as it was.
    """
    _remove_leftovers(path)
    temporary, file = _temporary(path)
    try:
        with file:
            _take_after(path, file)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            os.replace(temporary, path)
        _sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _temporary(path):
    """A new file beside `path`, open and locked."""
    while True:
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
        file = open(temporary, "xb")
        if fcntl is None or (_lock(file, wait=True) and temporary.exists()):
            return temporary, file
        file.close()  # it was removed as a leftover before it was locked


def _lock(file, wait):
    """Lock an open file; whether that could be done. File systems without locks have none."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return wait
    return True


def _take_after(path, file):
    """Give a new file the permissions and the owner of the one it replaces."""
    if os.name == "nt" or not path.exists():
        return
    old = path.stat()
    if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
        with contextlib.suppress(PermissionError):
            os.fchown(file.fileno(), old.st_uid, old.st_gid)
    os.fchmod(file.fileno(), old.st_mode & 0o7777)


def leftovers(path):
    """Temporary files of `path` beside it that nobody is writing."""
    return [entry for entry in _temporaries(path) if _unless_written(entry, lambda: None)]


def _remove_leftovers(path):
    for entry in _temporaries(path):
        _unless_written(entry, entry.unlink)


def _temporaries(path):
    """All temporary files of `path` beside it."""
    ours = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{32}}\.tmp")
    return [entry for entry in path.parent.iterdir() if ours.fullmatch(entry.name)]


def _unless_written(temporary, task):
    """Do a task while a temporary file is locked; whether that was done.

    Not where another process, or thread, has the lock: it is writing the file. Who has created it,
    and waits for the lock, finds out that it is gone.
    """
    try:
        with open(temporary, "rb") as file:
            if fcntl is not None and not _lock(file, wait=False):
                return False
            task()
            return True
    except OSError:  # it is gone, or Windows does not let it go
        return False


def _sync_folder(folder):
    """Make the new name durable on disk; Windows opens no folders, and does not need it."""
    if os.name == "nt":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
