"""Fuzz what reads files, guided by what the code goes through: atheris, where it is installed.

    python tests/fuzz_atheris.py svmlight -runs=100000

Targets: svmlight, table (CSV, as the command line reads it), parquet, checkpoint, and schema (what
stands in a checkpoint that is otherwise whole). What follows the target is for libFuzzer; the first
input that shows a finding ends the run, is kept in the folder, and is played again by giving its
path.
"""

import functools
import io
import os
import subprocess
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path

import atheris

#: Modules whose branches guide the fuzzer: those that read bytes. Kernels cannot be instrumented.
READERS = ("_base.validation", "_cli", "checkpoints", "streaming")

with atheris.instrument_imports(include=[f"skstructured.{name}" for name in READERS]):
    import skstructured as sk  # noqa: F401
    from skstructured.checkpoints import load_checkpoint
    from skstructured.streaming import parquet_chunks, svmlight_chunks

import numpy as np  # noqa: E402
from fuzz_files import check_rows, must_be_refused_well, parquet_bytes, svmlight_text  # noqa: E402
from table_files import load  # noqa: E402

#: Writes checkpoints into a folder, in a process of its own: numba cannot compile beside atheris.
CHECKPOINTS = """
import sys
from pathlib import Path
from fuzz_files import checkpoint_bytes

for i, data in enumerate(checkpoint_bytes()):
    Path(sys.argv[1], str(i)).write_bytes(data)
"""


def svmlight(path):
    """All chunks of an svmlight file."""
    for X, y in svmlight_chunks(path, 5, chunk_bytes=40):
        check_rows(X, y, 5)


def table(path):
    """A CSV table, the last column its target."""
    load(path)


def parquet(path):
    """All chunks of a Parquet file."""
    for X, y in parquet_chunks(path, "y", chunk_size=3):
        check_rows(X, y, 2)


def checkpoint(path):
    """A checkpoint; what it holds if it can be read at all."""
    load_checkpoint(path)


@functools.cache
def checkpoints():
    """Checkpoints of a few estimators."""
    with tempfile.TemporaryDirectory() as kept:
        path = os.pathsep.join(sys.path)
        given = [sys.executable, "-c", CHECKPOINTS, kept]
        subprocess.run(given, check=True, env=os.environ | {"PYTHONPATH": path})
        return [file.read_bytes() for file in sorted(Path(kept).iterdir())]


def members(data):
    """Names and contents of a zip file."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def with_schema(schema):
    """The first checkpoint with another schema."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in members(checkpoints()[0]).items():
            file.writestr(name, schema if name == "schema.json" else content)
    return buffer.getvalue()


def seeds(name):
    """A few inputs to begin with."""
    rng = np.random.RandomState(0)
    if name == "svmlight":
        return [svmlight_text(rng, 5) for _ in range(8)]
    if name == "table":
        return [b"a,b,y\n1,2,no\n3.5,x,yes\n", b'"a";y\n"1";0\n-1e3;1\n', b"a\ty\n1\t2\n"]
    if name == "parquet":
        return [parquet_bytes()]
    whole = checkpoints()
    return whole if name == "checkpoint" else [members(one)["schema.json"] for one in whole]


READ = {reader.__name__: reader for reader in (svmlight, table, parquet, checkpoint)}
READ["schema"] = checkpoint


def reads(name, path):
    """What atheris calls with bytes: read them from a file; errors must be on purpose."""

    def one(data):
        path.write_bytes(with_schema(data) if name == "schema" else data)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                READ[name](path)
        except Exception as error:
            must_be_refused_well(error, path.name)

    return one


def main():
    name, rest = sys.argv[1], sys.argv[2:]
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        begin = Path(folder, "seeds")
        begin.mkdir()
        for i, data in enumerate(seeds(name)):
            (begin / str(i)).write_bytes(data)
        again = any(os.path.isfile(word) for word in rest)
        given = [sys.argv[0], *rest, *([] if again else [str(begin)])]
        atheris.Setup(given, reads(name, Path(folder, f"rows.{name}")))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
