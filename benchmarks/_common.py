"""What every benchmark shares: its command line, a header about the machine, and its results."""

import argparse
import csv
import importlib.metadata
import os
import platform
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psutil

import skstructured

ROOT = Path(__file__).resolve().parents[1]
PEERS = ("numpy", "scipy", "scikit-learn", "numba")


def arguments(doc, repeat=None, **options):
    """Parsed command line: --quick, --repeat where the script takes medians, and `options`.

    Options are keywords of `add_argument`. A quick run repeats nothing.
    """
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a short trial, not kept in results/")
    if repeat:
        parser.add_argument("--repeat", type=int, default=repeat, help="medians of so many")
    for name, given in options.items():
        parser.add_argument(f"--{name}", **given)
    args = parser.parse_args()
    if args.quick and repeat:
        args.repeat = 1
    return args


def command(script):
    """How `script` was called."""
    module = ".".join(Path(script).resolve().relative_to(ROOT).with_suffix("").parts)
    return " ".join(("python -m", module, *sys.argv[1:]))


def commit():
    """Short hash of the commit, with "+" where the code differs from it; results may differ."""
    code = ("skstructured", "benchmarks", ":!benchmarks/*/results/*")
    try:
        name = git("rev-parse", "--short", "HEAD")
        return name + "+" * bool(git("status", "--porcelain", "--", *code))
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def git(*words):
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@contextmanager
def two_commits(commit):
    """Folders with the files of HEAD, and with those of a commit."""
    with tempfile.TemporaryDirectory() as folder:
        folders = Path(folder) / "now", Path(folder) / "then"
        for path, name in zip(folders, ("HEAD", commit), strict=True):
            git("worktree", "add", "--detach", str(path), name)
        try:
            yield folders
        finally:
            for path in folders:
                git("worktree", "remove", "--force", str(path))


def processor():
    """The processor's model, as Linux tells it, or what Python knows."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def header(script):
    """Lines that tell the command, the code, the versions and the machine."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PEERS)
    cores, load = psutil.cpu_count(), psutil.getloadavg()[0]
    return (
        f"command: {command(script)}",
        f"commit {commit()}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        f"Python {platform.python_version()}, skstructured {skstructured.__version__}, {versions}",
        f"{processor()}, {cores} cores, {os.environ['OMP_NUM_THREADS']} thread for linear algebra, "
        f"load at start {load:.2f}",
    )


class Results:
    """A script's lines, printed as they come, and the rows behind them.

    At the end of the block they are in ``results/NAME.txt`` and ``results/NAME.csv`` beside the
    script, unless it failed, was quick, or ran in part only (``args.only``).
    """

    def __init__(self, script, args):
        self._script, self._started = Path(script), time.perf_counter()
        self._kept = not (args.quick or getattr(args, "only", None))
        self._repeat = getattr(args, "repeat", None)
        self._lines, self._rows = [], []

    def __enter__(self):
        for line in header(self._script):
            self.say(line)
        if self._repeat:
            self.say(f"medians of {self._repeat}, of what is compared in turns")
        return self

    def say(self, line=""):
        """Print a line."""
        print(line, flush=True)
        self._lines.append(line)

    def add(self, line, **row):
        """Print a line, and keep the numbers behind it; `table` names what the row belongs to."""
        self.say(line)
        self._rows.append(row)

    def __exit__(self, kind, *rest):
        self.say(f"{time.perf_counter() - self._started:.0f} s in all")
        if kind is None and self._kept:
            self._write()

    def _write(self):
        path = self._script.parent / "results" / f"{self._script.stem}.txt"
        path.write_text("\n".join(self._lines) + "\n", encoding="utf-8")
        names = list(dict.fromkeys(name for row in self._rows for name in row))
        with path.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, names, lineterminator="\n")
            writer.writeheader()
            writer.writerows({name: short(value) for name, value in r.items()} for r in self._rows)


def short(value):
    """A number with six digits that count; anything else as it is."""
    return f"{value:.6g}" if isinstance(value, float) else value
