"""The kept bugs fit the code, and name tests that exist; `python -m tests.planted` plants them."""

import ast
import shutil
from pathlib import Path

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
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_bug_fits_the_code(bug):
    assert apply(bug, ROOT, "--check")


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
@pytest.mark.short(every=5)
def test_its_tests_exist(bug):
    for test in bug.tests:
        file, _, function = test.partition("[")[0].partition("::")
        assert not function or function in functions(Path(ROOT) / file), test
        assert (Path(ROOT) / file).exists(), test


def test_there_are_enough_of_them():
    assert len(BUGS) >= WANTED
