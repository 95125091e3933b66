"""Clean, wrong and skewed columns: every learner that standardizes, beside another commit.

Plays the sets that come in packages (at most 400 rows, five folds), queries of 1,500 items, and
streams (6,000 rows, each predicted before it is learned) with this checkout and with the one of
``--commit``, all at their defaults: clean; with every 500th cell times 10⁴; columns of sets as
exp(2.5 z), of streams as exp(2 z); and streams whose first row is times 10⁶. For every learner the
geometric mean over sets of now : then, of its error and of its log-loss (numbers: mean absolute and
squared error), errors at least .002 and log-losses at least .01; in brackets that of now with clean
columns : then, which is the best that columns can do. Sets that are worse by 3% beyond two standard
errors over the folds are named.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks._common import ROOT, Results, arguments, git
from benchmarks.defaults._robust_cases import KINDS

WORKER = Path(__file__).with_name("_robust_cases.py")

#: Losses below these are counted as these.
LEAST = {"error": 0.002, "log-loss": 0.01}


def started(folder, printed, words):
    """A process that plays with the package of a folder."""
    env = {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(WORKER), *words]
    return subprocess.Popen(command, cwd=folder, env=env, stdout=printed, stderr=subprocess.DEVNULL)


def losses_of(folders, words):
    """Arrays of losses of the folds of both folders, by case: kind, set, condition, …"""
    with tempfile.TemporaryFile("w+") as first, tempfile.TemporaryFile("w+") as second:
        files = first, second
        for worker in [started(*pair, words) for pair in zip(folders, files, strict=True)]:
            if worker.wait():
                raise subprocess.CalledProcessError(worker.returncode, worker.args)
        return [losses_in(file) for file in files]


def losses_in(file):
    file.seek(0)
    losses = {}
    for line in file:
        row = json.loads(line)
        case = row["kind"], row["learner"], row["condition"], row["set"]
        for loss, folds in row["losses"].items():
            losses[*case, loss] = np.array(folds)
    return losses


def is_worse(now, then):
    """Whether losses of folds are 3% worse, beyond two standard errors of their difference."""
    difference = now - then
    noise = difference.std(ddof=1) / len(difference) ** 0.5 if len(difference) > 1 else 0.0
    return difference.mean() > max(0.03 * then.mean(), 2.0 * noise)


def pairs_of(now, then, *case):
    """Losses of the folds of every set, now and then; of sets that have them."""
    kind, learner, condition, loss = case
    pairs = {
        key[3]: (now[key], then[key])
        for key in now
        if (*key[:3], key[4]) == (kind, learner, condition, loss)
    }
    return {name: pair for name, pair in pairs.items() if not np.isnan(pair).any()}


def ratio_of(pairs, least):
    """The geometric mean of the ratios of mean losses, which are at least `least`."""
    means = [[max(np.mean(folds), least) for folds in pair] for pair in pairs]
    return float(np.exp(np.mean([np.log(a / b) for a, b in means])))


def line_of(out, kind, learner, condition, now, then):
    """A line: ratios by loss, those that clean columns would have, and the sets that are worse."""
    line, row, worse = f"   {condition:12s} {learner:13s}", {}, set()
    for loss, least in LEAST.items():
        least = 0.0 if kind == "numbers" else least
        pairs = pairs_of(now, then, kind, learner, condition, loss)
        if not pairs:
            continue
        row |= {loss: ratio_of(pairs.values(), least)}
        line += f"  {loss} {row[loss]:5.3f}"
        if condition != "clean":
            clean = pairs_of(now, then, kind, learner, "clean", loss)
            best = [(clean[name][0], then_) for name, (_, then_) in pairs.items()]
            row[f"{loss} of clean columns"] = ratio_of(best, least)
            line += f" (clean {row[f'{loss} of clean columns']:5.3f})"
        if kind != "streams":
            worse |= {f"{name} ({loss})" for name, pair in pairs.items() if is_worse(*pair)}
    if worse:
        line += f"   worse: {', '.join(sorted(worse))}"
    out.add(line, kind=kind, learner=learner, condition=condition, worse=len(worse), **row)


def lines_of_streams(out, now, then):
    """The errors of every stream, now and then."""
    cases = dict.fromkeys((key[3], key[1]) for key in now if key[0] == "streams")
    for name, learner in cases:
        line, row = f"   {name:18s} {learner:9s}", {}
        for condition in dict.fromkeys(key[2] for key in now if key[0] == "streams"):
            key = "streams", learner, condition, name, "error"
            line += f"  {condition} {now[key][0]:.3f} ({then[key][0]:.3f})"
            row |= {f"{condition} now": now[key][0], f"{condition} then": then[key][0]}
        out.add(line, kind="streams", set=name, learner=learner, **row)


def main():
    """Print the table."""
    kinds = [*KINDS, "queries", "streams"]
    args = arguments(
        __doc__, commit={"default": "3699abbc"},
        only={"choices": kinds, "nargs": "+", "help": "these kinds, not kept"},
    )  # fmt: skip
    words = ["--quick"] * args.quick
    with tempfile.TemporaryDirectory() as folder, Results(__file__, args) as out:
        other = Path(folder) / "then"
        git("worktree", "add", "--detach", str(other), args.commit)
        try:
            for kind in args.only or kinds:
                now, then = losses_of((ROOT, other), [*words, kind])
                out.say(f"{kind}, over those of {args.commit}")
                for case in dict.fromkeys((key[1], key[2]) for key in now):
                    line_of(out, kind, *case, now, then)
                if kind == "streams":
                    lines_of_streams(out, now, then)
        finally:
            git("worktree", "remove", "--force", str(other))


if __name__ == "__main__":
    main()
