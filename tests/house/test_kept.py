"""Kept results name their command and commit; kept bugs fit the code and name tests that exist."""

import ast
import re
import shutil
import subprocess

import pytest
from conftest import ROOT
from planted.__main__ import apply, bugs

from benchmarks.kept import CHEAP, moved, result

KEPT = sorted((ROOT / "benchmarks").glob("*/results/*.txt"))
COMMAND = re.compile(r"command: python -m (benchmarks\.\w+\.\w+)")
COMMIT = re.compile(r"commit ([0-9a-f]{7,40})\b")


def git(*words):
    """The words that git answers with; none without a repository."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.split()


def test_kept_results_name_their_commands_and_commits():
    whole = git("rev-parse", "--is-shallow-repository") == ["false"]
    history = git("rev-list", "HEAD")
    for path in KEPT:
        first, second = path.read_text("utf-8").splitlines()[:2]
        script = ROOT / (COMMAND.match(first)[1].replace(".", "/") + ".py")
        assert script.exists(), path
        assert path.parent == script.parent / "results" and path.stem.startswith(script.stem)
        commit = COMMIT.match(second)[1]
        assert not whole or any(one.startswith(commit) for one in history), path


def test_what_is_made_again_is_kept():
    for path in (result(ROOT, name) for name in CHEAP):
        script = path.parents[1] / f"{path.stem}.py"
        assert path.exists() and path.with_suffix(".txt").exists() and script.exists(), path


@pytest.mark.parametrize(
    ("losses", "lines"),
    [("0.1004 nan", 0), ("0.102 nan", 1), ("-0.1 nan", 1), ("x 0.2", 2), ("0.1", 1), ("", 2)],
)
def test_rows_that_moved_are_found(losses, lines):
    kept = [{"set": "iris", "loss": "0.1", "seconds": "1"}, {"set": "wine", "loss": "nan"}]
    now = [row | {"loss": a, "seconds": "9"} for row, a in zip(kept, losses.split(), strict=False)]
    assert len(moved(kept, now)) == len(moved(now, kept)) == lines


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.which("git") is None, reason="git apply reads the patches")
def test_planted_bugs_fit_the_code():
    assert [bug.name for bug in bugs() if not apply(bug, ROOT, "--check")] == []


def functions(path):
    """Names of the functions of a test file, those of classes as Class::name."""
    groups = {"": ast.parse(path.read_text("utf-8"))}
    groups |= {f"{n.name}::": n for n in groups[""].body if isinstance(n, ast.ClassDef)}
    return {f"{a}{n.name}" for a, group in groups.items() for n in group.body if hasattr(n, "name")}


def test_tests_of_planted_bugs_exist():
    named = {test.partition("[")[0].partition("::")[::2] for bug in bugs() for test in bug.tests}
    there = {file: functions(ROOT / file) for file in {file for file, _ in named}}
    assert [pair for pair in named if pair[1] not in there[pair[0]]] == []
