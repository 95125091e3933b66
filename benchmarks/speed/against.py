"""This checkout beside another commit: seconds of rows and of one-row calls, in turns.

``python -m benchmarks.speed.against COMMIT`` makes a work tree of COMMIT, starts a process in each
and asks both for one case after the other, then two new processes, and so on: where the arrays of a
process lie in memory makes a tenth of a difference. Each figure is the best call of a quarter of a
second; a ratio is that of two figures taken one after the other, now : then, its median, the least
and the largest: below 1 is faster than COMMIT.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks._common import ROOT, Results, git
from benchmarks.speed._timed_cases import CASES

WORKER = Path(__file__).with_name("_timed_cases.py")


class Checkout:
    """A process that times cases with the package of a folder."""

    def __init__(self, folder, kernels):
        paths = {"PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(kernels)}
        self._process = subprocess.Popen(
            [sys.executable, WORKER],
            cwd=folder,
            env={**os.environ, **paths, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def seconds(self, case):
        """Seconds of a row or call, or NaN where the checkout has no such case."""
        print(case, file=self._process.stdin, flush=True)
        said = self._process.stdout.readline().strip()
        if said.startswith("- "):
            print(f"{case}: {said[2:]}", file=sys.stderr)
        return np.nan if said.startswith("-") else float(said)

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def pairs_of(folders, kernels, cases):
    """Seconds of every case in each folder, (cases, 2), by two new processes."""
    checkouts = [Checkout(*given) for given in zip(folders, kernels, strict=True)]
    try:
        return [[checkout.seconds(case) for checkout in checkouts] for case in cases]
    finally:
        for checkout in checkouts:
            checkout.close()


def add_line(out, case, pairs):
    """Print both times of a case in µs, and their ratio with its spread."""
    ours, theirs = 1e6 * np.median(pairs, axis=0)
    ratios = pairs[:, 0] / pairs[:, 1]
    low, middle, high = ratios.min(), np.median(ratios), ratios.max()
    line = f"{case:30s} {ours:9.3f} {theirs:9.3f}   {middle:5.2f}  ({low:.2f} to {high:.2f})"
    out.add(line, case=case, now_us=ours, then_us=theirs, ratio=middle, low=low, high=high)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit")
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--only", nargs="+", choices=list(CASES), help="these cases, not kept")
    args = parser.parse_args()
    args.quick = False
    with tempfile.TemporaryDirectory() as folder, Results(__file__, args) as out:
        other = Path(folder) / "then"
        git("worktree", "add", "--detach", str(other), args.commit)
        given = (ROOT, other), (Path(folder) / "a", Path(folder) / "b"), args.only or list(CASES)
        try:
            out.say(f"{'µs of a row or call':30s} {'now':>9s} {args.commit[:9]:>9s}   ratio")
            pairs_of(*given)  # compiles
            pairs = np.array([pairs_of(*given) for _ in range(args.repeat)])
            for i, case in enumerate(given[2]):
                add_line(out, case, pairs[:, i])
        finally:
            git("worktree", "remove", "--force", str(other))


if __name__ == "__main__":
    main()
