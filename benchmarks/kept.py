"""Make the cheap kept results again, and print the rows that moved; exit with 1 if there are any.

    python -m benchmarks.kept [NAME ...]

Only results whose numbers do not depend on time and that take less than two minutes each. They are
made in a copy of `benchmarks/`, so the kept files stay as they are. Needs SKSTRUCTURED_DATA.
"""

import csv
import math
import os
import shutil
import subprocess
import sys
import tempfile
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHEAP = (
    "defaults.abstention",
    "defaults.alphas",
    "defaults.averages",
    "defaults.choices",
    "defaults.experts",
    "defaults.fields",
    "defaults.gaps",
    "defaults.label_sets",
    "defaults.sequence_streams",
    "defaults.steps",
    "papers.abstaining",
    "papers.accuracy",
    "papers.bandwidths",
    "papers.bounds",
    "papers.letter_risk",
    "papers.lower_bound",
    "papers.online_logistic",
    "papers.printed_figures",
    "papers.rates",
)
#: Columns that depend on the machine.
TIMES = {"seconds", "time", "us"}
#: Relative difference of numbers that counts as none: the last digits differ between processors.
TOLERANCE = 0.01


def rows(path):
    """The rows of a file of results, each a dictionary."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def alike(kept, now):
    """Whether two cells say the same."""
    try:
        return math.isclose(float(kept), float(now), rel_tol=TOLERANCE, abs_tol=1e-6) or (
            kept == now == "nan"
        )
    except (TypeError, ValueError):
        return kept == now


def moved(kept, now):
    """Lines that say which rows differ, and how."""
    lines = []
    for number, (old, new) in enumerate(zip_longest(kept, now, fillvalue={}), start=1):
        names = [n for n in {**old, **new} if n not in TIMES and not alike(old.get(n), new.get(n))]
        if names:
            what = ", ".join(f"{n}: {old.get(n)} -> {new.get(n)}" for n in names)
            lines.append(f"row {number} ({', '.join(list(old.values())[:2])}): {what}")
    return lines


def again(name, folder):
    """The rows of a result, made in a copy; its script must not fail."""
    command = [sys.executable, "-m", f"benchmarks.{name}"]
    paths = os.pathsep.join((str(folder), str(ROOT), os.environ.get("PYTHONPATH", "")))
    environment = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
    return rows(result(folder, name))


def result(folder, name):
    """Where a script keeps its numbers."""
    room, script = name.split(".")
    return folder / "benchmarks" / room / "results" / f"{script}.csv"


def main(names):
    """Compare each result; whether any row moved."""
    differ = False
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "benchmarks", Path(folder) / "benchmarks")
        for name in names:
            lines = moved(rows(result(ROOT, name)), again(name, Path(folder)))
            print(f"{name}: {len(lines)} rows moved", *lines, sep="\n  ", flush=True)
            differ = differ or bool(lines)
    return differ


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or CHEAP))
