"""Do checkpoints hold where a process is killed at any moment?

A child learns chunk after chunk, saves after each, and tells of it; it is killed (SIGKILL) after a
random time, and the next one goes on from the checkpoint. "In place" is a control, which opens the
file and writes into it: it shows that such kills do break files.
"""

import tempfile
from pathlib import Path

import skops.io

from benchmarks._common import Results, arguments
from benchmarks.scale._killing import Task, is_as_without_kills, kill_many
from skstructured.checkpoints import _serialized, save_checkpoint


def save_in_place(model, path):
    """The same content, written over what is there."""
    path.write_bytes(_serialized(model).getbuffer())


def line(name, task, found):
    """One row of the table."""
    return (
        f"{name:16} {task.kills:5} {found['writing']:7} {found['chunks']:7} {found['ahead']:6} "
        f"{found['unreadable']:10} {found['lost']:5} {found.get('same', '')!s:>5}"
    )


def main():
    """Print the table."""
    args = arguments(__doc__, kills={"type": int, "default": 200})
    kills = 10 if args.quick else args.kills
    with Results(__file__, args) as results, tempfile.TemporaryDirectory() as folder:
        results.say(f"skops {skops.__version__}; {Task().n_features} features, 10 classes, CSR")
        results.say()
        results.say("saved            kills writing  chunks  ahead unreadable  lost  same")
        for name, save, n in (
            ("save_checkpoint", save_checkpoint, kills),
            ("in place", save_in_place, kills // 2),
        ):
            path, task = Path(folder) / f"{n}.skops", Task(kills=n, save=save)
            found = kill_many(path, task)
            if name == "save_checkpoint":
                found["same"] = is_as_without_kills(path, task)
            results.add(line(name, task, found), table=name, kills=n, **found)
            size = path.stat().st_size / 1e6 if path.exists() else 0.0
        results.say()
        results.say(f"a checkpoint has {size:.0f} MB")
        results.say("writing: a temporary file was there when it was killed; ahead: the checkpoint")
        results.say(
            "has a chunk that the child had no time to tell of; lost: it has less than told;"
        )
        results.say("same: the last one has the bits of a run that nobody killed, and goes on so")


if __name__ == "__main__":
    main()
