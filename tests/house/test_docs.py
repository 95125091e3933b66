"""What the README and the guides show runs, and what they name is there."""

import os
import re
import runpy
from pathlib import Path

import pytest
from conftest import INTERPRETED, ROOT, data_directory
from planted.__main__ import bugs as planted_bugs

from benchmarks.peers import _summary
from skstructured._learners import predictions
from skstructured.extend.output_space import OutputSpace

DOCS = ROOT / "docs"

#: Pages that show source, whose tests are elsewhere: no block stands by itself.
SOURCE = {"add_a_space.md"}

#: What a page says, and the package that its blocks then need.
NEEDED = {"skstructured.checkpoints": "skops", "from skops": "skops"}
NEEDED |= {"from distributed": "distributed", "from dask_ml": "dask_ml", "import torch": "torch"}
NEEDED |= {"from pyarrow": "pyarrow"}

#: A block, and what the page says that it prints.
PRINTED = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE)

#: Pages with blocks of Python.
PAGES = [ROOT / "README.md", *sorted(p for p in DOCS.rglob("*.md") if p.name not in SOURCE)]
PAGES = [page for page in PAGES if PRINTED.search(page.read_text("utf-8"))]

#: Blocks of packages that the `test` extra has not, and for each what it needs and prints.
OTHERS = (DOCS / "production.md").read_text("utf-8")
BLOCKS = re.findall(r"^```py\n(.*?)^```", OTHERS, re.DOTALL | re.MULTILINE)
MADE = {"river": r"Accuracy: 8[5-9]\.\d+%\n", "ray": r"\{'max_iter': \d\}\n", "mlflow": r"True\n"}

compiled = pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")


@compiled
@pytest.mark.short("README.md")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_on_the_page_runs(page, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    text = page.read_text("utf-8")
    if "from data_sets" in text:
        if data_directory() is None:
            pytest.skip("data not found: set SKSTRUCTURED_DATA")
        monkeypatch.setenv("SKSTRUCTURED_DATA", os.fspath(data_directory()))
        monkeypatch.setattr("data_sets.ROWS", 600)
    for sign, needed in NEEDED.items():
        if sign in text:
            pytest.importorskip(needed, reason=f"{needed} is not installed")
    names = {"__name__": "__main__"}
    for block, printed in PRINTED.findall(text):
        exec(compile(block, page.name, "exec"), names)
        assert capsys.readouterr().out == printed or not printed


@compiled
@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("block", "made"), list(zip(BLOCKS, MADE.items(), strict=True)))
def test_code_with_other_packages_runs(block, made, capsys, tmp_path, monkeypatch):
    assert made[0] in block
    pytest.importorskip(made[0], reason=f"{made[0]} is not installed")
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "production.md", "exec"), {"__name__": "__main__"})
    assert re.fullmatch(made[1], capsys.readouterr().out)


def test_pages_show_the_newest_table_of_peers():
    for page, block in _summary.pages():
        assert block in page.read_text("utf-8")


def test_the_worked_regularizer_learns_and_the_worked_optimizer_is_its_literal_form():
    assert runpy.run_path(DOCS / "snippets" / "centered_norm.py")["accuracy"] > 0.9
    assert runpy.run_path(DOCS / "snippets" / "root_steps.py")["error"] < 1e-12


@pytest.mark.parametrize(
    ("page", "name"),
    [
        ("add_a_space.md", "spanning_trees"),
        ("extending.md", "centered_norm"),
        ("extending.md", "coordinate_steps"),
        ("extending.md", "root_steps"),
        ("tasks/decisions.md", "grid_paths"),
    ],
)
def test_pages_show_their_snippets_in_a_clone_too(page, name):
    code = (DOCS / "snippets" / f"{name}.py").read_text("utf-8")
    assert f"```py\n{code.rstrip()}\n```" in (DOCS / page).read_text("utf-8")


def test_the_guide_to_new_spaces_names_every_member():
    guide = (DOCS / "add_a_space.md").read_text("utf-8").split("## Worked")[0]
    source = Path(predictions.__file__).read_text("utf-8")
    optional = re.findall(r'_space_has\("(\w+)"\)', source)
    assert "mean_proba" in optional
    named = re.findall(r"`(\w+)", guide)
    members = [name for name in vars(OutputSpace) if not name.startswith("_")]
    assert set(members + optional) <= set(named)


#: A link to another file or heading, and a picture.
LINK = re.compile(r"\]\((?!http|mailto)([^)#\s]*)(?:#([^)\s]*))?\)")


def without_code(page):
    """The text of a page less its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page):
    """What links to headings of a page may name, as GitHub and the site make it of them."""
    headings = re.findall(r"^#{1,3} (.*)$", without_code(page), flags=re.MULTILINE)
    plain = [re.sub(r"\]\([^)]*\)|[`\[*]", "", heading).strip().lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


def test_links_lead_somewhere():
    wrong = []
    for page in (*ROOT.glob("*.md"), *DOCS.rglob("*.md")):
        for target, anchor in LINK.findall(without_code(page)):
            found = page.parent / target if target else page
            if not found.exists() or (anchor and anchor not in anchors(found)):
                wrong.append(f"{page.name}: {target}#{anchor}")
    assert wrong == []


def test_every_task_has_examples_and_every_example_a_task():
    linked = "".join(page.read_text("utf-8") for page in (DOCS / "tasks").glob("*.md"))
    folders = {path.name for path in (DOCS / "examples").iterdir() if path.is_dir()}
    assert folders == set(re.findall(r"examples/(\w+)\)", linked))


def theorems():
    """(places, tests, bugs) of the rows of the table on the page of theory."""
    text = (DOCS / "theory.md").read_text("utf-8").split("## The largest curvature")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")][1:]
    for line in lines:
        _, _, _, places, tests, bugs, _ = line.split("|")
        yield places, tests, bugs


def named_tests(cell):
    """(file, test) of all tests that a cell names, as `file.py`: `test`, `test`; …"""
    for part in cell.split(";"):
        file, *names = re.findall(r"`(test_\w+)(?:\.py)?`", part)
        yield from ((file, name) for name in names)


def test_theorems_name_code_and_tests_that_catch_a_planted_bug_of_their_row():
    """That the tests are there is told by `test_house.py`."""
    kept = {bug.name: bug.tests for bug in planted_bugs()}
    assert len(list(theorems())) > 30
    for places, tests, bugs in theorems():
        for place in re.findall(r"`([\w/]+(?:\.py|/))`", places):
            root = ROOT if place.startswith("benchmarks/") else ROOT / "skstructured"
            assert (root / place).exists(), place
        named = [test for name in re.findall(r"`([\w/-]+)`", bugs) for test in kept[name]]
        parts = [test.partition("[")[0].split("::") for test in named]
        assert set(named_tests(tests)) <= {(Path(file).stem, last) for file, *_, last in parts}
