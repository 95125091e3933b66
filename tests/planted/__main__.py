"""Plant every kept bug, one by one, and tell which of them no test notices.

    python tests/planted [--workers 2] [--only PATTERN ...]

A bug is a file ``tests/planted/FAMILY/NAME.patch``: a unified diff below a few lines that say what
is wrong (``Bug:``) and which test has to fail (``Killed by:``, one or more). ``Compiled: yes`` asks
for compiled kernels, otherwise they are interpreted, which starts at once. ``Needs:`` names a
package without which the bug is left out. A change that no test could tell apart from the code says
why instead (``Equivalent:``), and is not run. Each bug is planted in a copy of the checkout; this
one is never touched. The tests are first run without any bug, where all of them have to pass. Exits
with 1 where a bug lives, does not apply, or cannot be judged.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]

#: Seconds after which a test that does not end counts as failed: some bugs make loops endless.
PATIENCE = 600

#: pytest's exit code where tests ran and some failed.
FAILED = 1


class Bug(NamedTuple):
    """A kept bug: its name, what its file says of it, and the diff."""

    name: str
    what: str
    tests: tuple
    compiled: bool
    equivalent: str
    needs: str
    diff: str


def read(path):
    """The `Bug` of a file; a ValueError where something is missing."""
    head, mark, diff = path.read_text(encoding="utf-8").partition("--- a/")
    fields = {}
    for line in head.splitlines():
        key, _, value = line.partition(": ")
        fields.setdefault(key, []).append(value.strip())
    name = str(path.relative_to(FOLDER).with_suffix(""))
    wanted = [{"Bug", kind} for kind in ("Killed by", "Equivalent")]
    if not mark or fields.keys() - {"Compiled", "Needs"} not in wanted:
        raise ValueError(f"{path} wants 'Bug:', 'Killed by:' or 'Equivalent:', and a diff")
    return Bug(
        name,
        fields["Bug"][0],
        tuple(fields.get("Killed by", ())),
        fields.get("Compiled", ["no"])[0] == "yes",
        fields.get("Equivalent", [""])[0],
        fields.get("Needs", [""])[0],
        mark + diff,
    )


def bugs():
    """All that are kept, in order of their names."""
    return [read(path) for path in sorted(FOLDER.glob("*/*.patch"))]


def apply(bug, folder, *options):
    """Plant a bug in a copy of the checkout: whether its diff fits."""
    given = {"cwd": folder, "input": bug.diff.encode(), "stderr": subprocess.DEVNULL}
    command = ["git", "apply", "--recount", "-C1", *options, "-"]
    return subprocess.run(command, check=False, **given).returncode == 0


def copy_checkout(folder):
    """A copy of what the tests need, beside a link to the data."""
    for name in ("skstructured", "tests", "benchmarks", "docs", ".ci"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / "main" / name, ignore=ignored)
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy2(path, folder / "main")
    shared = ROOT.parent / "shared"
    if shared.is_dir():
        (folder / "shared").symlink_to(shared)
    return folder / "main"


def run_tests(tests, compiled, folder, *options, timeout=PATIENCE):
    """pytest's exit code and output for some tests in a copy; `FAILED` where they do not end."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "0" if compiled else "1"}
    environment |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = {"cwd": folder, "env": environment, "capture_output": True, "timeout": timeout}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "", *options]
    try:
        done = subprocess.run([*command, *tests], text=True, **process)
    except subprocess.TimeoutExpired:
        return FAILED, ""
    return done.returncode, done.stdout


def judge(bug, folder):
    """Whether the tests that name a bug notice it: 'killed', 'ALIVE', or why neither."""
    if bug.equivalent:
        return "equivalent" if apply(bug, folder, "--check") else "DOES NOT APPLY"
    if not apply(bug, folder):
        return "DOES NOT APPLY"
    code, _ = run_tests(bug.tests, bug.compiled, folder, "-x")
    apply(bug, folder, "--reverse")
    return {FAILED: "killed", 0: "ALIVE"}.get(code, f"NOT JUDGED (pytest's exit code {code})")


def unsound(chosen, folder):
    """The tests, of those that some bugs name, that fail without any bug or cannot be run."""
    wrong = []
    for compiled in (False, True):
        tests = sorted({test for bug in chosen if bug.compiled == compiled for test in bug.tests})
        if not tests:
            continue
        code, output = run_tests(tests, compiled, folder, "--tb=no", "-rfE", timeout=None)
        if code not in (0, FAILED):
            wrong.append(f"none could be run: {output.strip()[-2000:]}")
        wrong += [line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return wrong


def judge_all(chosen, folders):
    """(bug, verdict) of each, as many at a time as there are copies."""
    free = SimpleQueue()
    for folder in folders:
        free.put(folder)

    def one(bug):
        folder = free.get()
        try:
            return bug, judge(bug, folder)
        finally:
            free.put(folder)

    with ThreadPoolExecutor(len(folders)) as pool:
        yield from pool.map(one, chosen)


def report(verdicts):
    """Print a line per bug and the sums; whether all are killed or equivalent."""
    counts = {}
    for bug, verdict in verdicts:
        print(f"{verdict:14} {bug.name:45} {bug.what}", flush=True)
        if bug.equivalent:
            print(f"{'':14} {bug.equivalent}")
        word = verdict.partition(" (")[0]
        counts[word] = counts.get(word, 0) + 1
    print(f"\n{sum(counts.values())} bugs: " + ", ".join(f"{n} {w}" for w, n in counts.items()))
    return not set(counts) - {"killed", "equivalent"}


def main():
    """Plant, judge, report."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which may be ignored
    parser = argparse.ArgumentParser(
        prog="python tests/planted", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--workers", type=int, default=2, help="bugs planted at a time")
    parser.add_argument("--only", nargs="+", default=[""], help="parts of the names of some bugs")
    args = parser.parse_args()
    chosen = [bug for bug in bugs() if any(part in bug.name for part in args.only)]
    for bug in [bug for bug in chosen if bug.needs and find_spec(bug.needs) is None]:
        print(f"LEFT OUT       {bug.name}: {bug.needs} is not installed")
        chosen.remove(bug)
    with tempfile.TemporaryDirectory() as place:
        folders = [copy_checkout(Path(place) / str(i)) for i in range(args.workers)]
        wrong = unsound(chosen, folders[0])
        for test in wrong:
            print(f"FAILS ALREADY  {test}", flush=True)
        right = report(judge_all(chosen, folders))
    return 0 if right and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
