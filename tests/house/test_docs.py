"""What the README and the guides show runs, and what they name is there."""

import os
import re
import runpy
import sys
import tomllib
from pathlib import Path

import pytest
from conftest import INTERPRETED, ROOT, data_directory
from planted.__main__ import bugs as planted_bugs

import skstructured

DOCS = ROOT / "docs"

#: Name of a test file -> where it is, below the folder of its room.
TESTS = {path.stem: path for path in (ROOT / "tests").rglob("test_*.py")}

#: Pages that show source, whose tests are elsewhere: no block stands by itself.
SOURCE = {"add_a_space.md"}

#: What a page says, and the package that its blocks then need.
NEEDED = {
    "skstructured.checkpoints": "skops",
    "from distributed": "distributed",
    "from dask_ml": "dask_ml",
    "from skops": "skops",
}
#: Older pages that are those of a task too.
OPENED = ("sequences.md", "items.md", "moving_streams.md", "bandit_feedback.md")

BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)

#: A block, and what the page says that it prints.
PRINTED = re.compile(
    r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", flags=re.DOTALL | re.MULTILINE
)


def pages_with_code():
    """The README and the pages of docs that have blocks of Python."""
    pages = [ROOT / "README.md", *sorted(p for p in DOCS.rglob("*.md") if p.name not in SOURCE)]
    return [page for page in pages if BLOCK.search(page.read_text(encoding="utf-8"))]


@pytest.fixture
def data_sets(monkeypatch):
    """Some rows of the sets that a page learns, where they are there."""
    if data_directory() is None:
        pytest.skip("data not found: set SKSTRUCTURED_DATA")
    monkeypatch.setenv("SKSTRUCTURED_DATA", os.fspath(data_directory()))
    monkeypatch.syspath_prepend(DOCS / "snippets")
    import data_sets

    monkeypatch.setattr(data_sets, "ROWS", 600)
    yield
    del sys.modules["data_sets"]


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.short("README.md")
@pytest.mark.parametrize("page", pages_with_code(), ids=lambda page: page.name)
def test_code_on_the_page_runs(page, capsys, request):
    text = page.read_text(encoding="utf-8")
    if "from data_sets" in text:
        request.getfixturevalue("data_sets")
    for sign, needed in NEEDED.items():
        if sign in text:
            pytest.importorskip(needed)
    names = {"__name__": "__main__"}
    for block, printed in PRINTED.findall(text):
        exec(compile(block, page.name, "exec"), names)
        assert capsys.readouterr().out == printed or not printed


def test_pages_show_the_newest_table_of_peers(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.peers import _summary

    for page, block in _summary.pages():
        assert block in page.read_text(encoding="utf-8")


def test_the_table_of_peers_has_one_learner_of_ours_a_task_slower_or_not(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.peers import _summary

    rows = [
        {"learner": name, "ours": str(ours), "loss": loss, "seconds": seconds, "spread": spread}
        for name, ours, loss, seconds, spread in [
            ("KernelStructuredPredictor", True, "0.3", "1.72", "0.01"),
            ("MaxMinMargin, kernels", True, "0.1", "0.001", "0.01"),
            ("near, scaled", False, "0.2", "0.01", "nan"),
            ("far, scaled", False, "0.4", "0.001", "0.01"),
            ("far, scaled, searched", False, "0.15", "2", "0.02"),
        ]
    ]
    assert _summary.line("a set, rankings", rows) == (
        '| a set, rankings | `KernelStructuredPredictor("permutahedron")` | 0.300 ± 0.010 | 1.720 '
        "| near | 0.200 | **0.010** | far | **0.150** ± 0.020 | 2.000 |"
    )
    assert _summary.line("a set, rankings", rows[:-1]).endswith(
        "| **0.200** | **0.010** |  |  |  |"
    )


def test_the_worked_regularizer_learns():
    assert runpy.run_path(DOCS / "snippets" / "centred_norm.py")["accuracy"] > 0.9


def test_the_worked_optimiser_is_its_literal_form():
    assert runpy.run_path(DOCS / "snippets" / "root_steps.py")["error"] < 1e-12


def test_the_guide_to_new_spaces_names_every_member():
    from skstructured._learners import predictions
    from skstructured.extend.output_space import OutputSpace

    guide = (DOCS / "add_a_space.md").read_text(encoding="utf-8").split("## Worked")[0]
    source = Path(predictions.__file__).read_text(encoding="utf-8")
    optional = re.findall(r'_space_has\("(\w+)"\)', source)
    assert "mean_proba" in optional
    named = re.findall(r"`(\w+)", guide)
    members = [name for name in vars(OutputSpace) if not name.startswith("_")]
    assert set(members + optional) <= set(named)


#: A link to another file or heading, and a picture.
LINK = re.compile(r"\]\((?!http|mailto)([^)#\s]*)(?:#([^)\s]*))?\)")

FENCE = re.compile(r"^```.*?^```", flags=re.DOTALL | re.MULTILINE)


def anchors(page):
    """What links to headings of a page may name, as GitHub and the site make it of them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#{1,3} (.*)$", text, flags=re.MULTILINE)
    plain = [re.sub(r"\]\([^)]*\)|[`\[*]", "", heading).strip().lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


def test_links_lead_somewhere():
    wrong = []
    for page in (*ROOT.glob("*.md"), *DOCS.rglob("*.md")):
        for target, anchor in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
            found = page.parent / target if target else page
            if not found.exists() or (anchor and anchor not in anchors(found)):
                wrong.append(f"{page.name}: {target}#{anchor}")
    assert wrong == []


def test_every_task_has_examples_and_every_example_a_task():
    tasks = [*(DOCS / "tasks").glob("*.md"), *map(DOCS.joinpath, OPENED)]
    linked = "".join(page.read_text(encoding="utf-8") for page in tasks)
    folders = {path.name for path in (DOCS / "examples").iterdir() if path.is_dir()}
    assert folders == set(re.findall(r"examples/(\w+)\)", linked))


def theorems():
    """(places, tests, bugs) of the rows of the table on the page of theory."""
    text = (DOCS / "theory.md").read_text(encoding="utf-8").split("## The largest curvature")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")][1:]
    for line in lines:
        _, _, _, places, tests, bugs, _ = line.split("|")
        yield places, tests, bugs


def named_tests(cell):
    """(file, test) of all tests that a cell names, as `file.py`: `test`, `test`; …"""
    for part in cell.split(";"):
        file, *names = re.findall(r"`(test_\w+)(?:\.py)?`", part)
        yield from ((file, name) for name in names)


def test_theorems_name_code_and_tests_that_are_there():
    assert len(list(theorems())) > 30
    for places, tests, _ in theorems():
        for place in re.findall(r"`([\w/]+(?:\.py|/))`", places):
            assert (ROOT / "skstructured" / place).exists(), place
        for file, name in named_tests(tests):
            assert f"def {name}(" in TESTS[file].read_text(encoding="utf-8"), name


def test_every_test_of_a_theorem_catches_a_planted_bug_of_its_row():
    kept = {bug.name: bug for bug in planted_bugs()}
    for _, tests, bugs in theorems():
        caught = set()
        for name in re.findall(r"`([\w/-]+)`", bugs):
            for test in kept[name].tests:
                file, *_, function = test.partition("[")[0].split("::")
                caught.add((Path(file).stem, function))
        assert set(named_tests(tests)) <= caught, tests


def test_versions_agree():
    with open(ROOT / "pyproject.toml", "rb") as file:
        configured = tomllib.load(file)
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    read = configured["tool"]["setuptools"]["dynamic"]["version"]
    assert read == {"attr": "skstructured.__version__"}
    assert f"version: {skstructured.__version__}\n" in citation
    errata = (DOCS / "errata.md").read_text(encoding="utf-8")
    assert errata.count(f"version {skstructured.__version__}, ") == 2


def test_no_page_has_marks_of_a_merge():
    pages = [*DOCS.rglob("*.md"), *DOCS.rglob("*.rst"), *ROOT.glob("*.md")]
    marked = re.compile(r"^(<{7}|>{7}) ", re.MULTILINE)
    assert [str(p) for p in pages if marked.search(p.read_text(encoding="utf-8"))] == []
