"""Every kept result names its command and commit; rows that moved are found."""

import re
import subprocess

import pytest
from conftest import ROOT

from benchmarks.kept import CHEAP, moved, result

KEPT = sorted((ROOT / "benchmarks").glob("*/results/*.txt"))
COMMAND = re.compile(r"command: python -m (benchmarks\.\w+\.\w+)")
COMMIT = re.compile(r"commit ([0-9a-f]{7,40})\b")


def has_history():
    """Whether all commits are here, which a shallow clone or an archive lacks."""
    command = ["git", "rev-parse", "--is-shallow-repository"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip() == "false"


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_kept_result_names_its_command_and_commit(path):
    first, second = path.read_text(encoding="utf-8").splitlines()[:2]
    script = ROOT / (COMMAND.match(first)[1].replace(".", "/") + ".py")
    assert script.exists()
    assert path.parent == script.parent / "results" and path.stem.startswith(script.stem)
    assert COMMIT.match(second)


def test_commits_of_kept_results_are_in_the_history():
    if not has_history():
        pytest.skip("no history here")
    names = {COMMIT.match(p.read_text("utf-8").splitlines()[1])[1]: p.stem for p in KEPT}
    command = ["git", "rev-list", "HEAD"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    history = found.stdout.split()
    missing = [commit for commit in names if not any(h.startswith(commit) for h in history)]
    assert {names[commit] for commit in missing} == set()


@pytest.mark.parametrize("name", CHEAP)
def test_what_is_made_again_is_kept(name):
    path = result(ROOT, name)
    assert path.exists() and path.with_suffix(".txt").exists()
    assert (path.parents[1] / f"{path.stem}.py").exists()


@pytest.mark.parametrize(
    ("now", "lines"),
    [
        ([{"set": "iris", "loss": "0.1004", "seconds": "9"}, {"set": "wine", "loss": "nan"}], 0),
        ([{"set": "iris", "loss": "0.102", "seconds": "1"}, {"set": "wine", "loss": "nan"}], 1),
        ([{"set": "iris", "loss": "-0.1", "seconds": "1"}, {"set": "wine", "loss": "nan"}], 1),
        ([{"set": "iris", "loss": "", "seconds": "1"}, {"set": "wine", "loss": "0.2"}], 2),
        ([{"set": "wine", "loss": "0.1", "seconds": "1"}, {"set": "wine", "loss": "nan"}], 1),
        ([{"set": "iris", "loss": "0.1", "seconds": "1"}], 1),
        ([], 2),
    ],
)
def test_rows_that_moved_are_found(now, lines):
    kept = [{"set": "iris", "loss": "0.1", "seconds": "1"}, {"set": "wine", "loss": "nan"}]
    found = moved(kept, now)
    assert len(found) == lines and len(moved(now, kept)) == lines
    assert all(line.startswith("row ") for line in found)


def test_a_row_that_moved_is_named_with_both_numbers():
    kept, now = {"set": "iris", "loss": "0.1"}, {"set": "iris", "loss": "0.3"}
    assert moved([kept, kept], [kept, now]) == ["row 2 (iris, 0.1): loss: 0.1 -> 0.3"]
