"""The kept bugs fit the code, and name tests that exist; `python -m tests.planted` plants them."""

import ast
import shutil

import pytest
from planted.__main__ import ROOT, apply, bugs

BUGS = bugs()

#: As many as four audits planted, and more in the parts that they left out.
WANTED = 120


def functions(path):
    """Names of the functions of a test file, those of classes as Class::name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for group in tree.body:
        if isinstance(group, ast.ClassDef):
            names |= {f"{group.name}::{n.name}" for n in group.body if hasattr(n, "name")}
    return names


@pytest.mark.skipif(shutil.which("git") is None, reason="git apply reads the patches")
def test_bugs_fit_the_code():
    assert [bug.name for bug in BUGS if not apply(bug, ROOT, "--check")] == []


def test_their_tests_exist():
    named = {test.partition("[")[0].partition("::")[::2] for bug in BUGS for test in bug.tests}
    files = {
        file: functions(ROOT / file) if file.endswith(".py") else ()
        for file in {file for file, _ in named}
    }
    assert [(file, test) for file, test in named if test and test not in files[file]] == []
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_there_are_enough_of_them():
    assert len(BUGS) >= WANTED
