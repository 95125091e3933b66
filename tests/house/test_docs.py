"""What the README and the guides show runs, and what they name is there."""

import os
import re
import runpy
import sys
import tomllib
from pathlib import Path

import pytest
from conftest import INTERPRETED, ROOT, data_directory
from learners import SHIPPED
from sklearn.base import clone

import skstructured
from skstructured._base.documented import PAGE, SITE
from skstructured.spaces import KSubsets

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
}
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)

#: A block, and what the page says that it prints.
PRINTED = re.compile(
    r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", flags=re.DOTALL | re.MULTILINE
)


def pages_with_code():
    """The README and the pages of docs that have blocks of Python."""
    pages = [ROOT / "README.md", *sorted(p for p in DOCS.glob("*.md") if p.name not in SOURCE)]
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


def test_the_readme_is_a_page_long_and_says_what_every_block_prints():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 90
    assert len(PRINTED.findall(text)) == len(BLOCK.findall(text)) == 1
    assert all(printed for _, printed in PRINTED.findall(text))


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


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *DOCS.glob("*.md")], ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert (page.parent / target).exists(), target


def test_theorems_name_code_and_tests_that_are_there():
    text = (DOCS / "theory.md").read_text(encoding="utf-8").split("## Corrections")[0]
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 20
    for _, _, _, places, tests, _ in rows:
        for place in re.findall(r"`([\w/]+(?:\.py|/))`", places):
            assert (ROOT / "skstructured" / place).exists(), place
        found = re.findall(r"`(test_\w+)(\.py)?`", tests)
        files = [TESTS[name] for name, is_file in found if is_file]
        source = "".join(path.read_text(encoding="utf-8") for path in files)
        for name in (name for name, is_file in found if not is_file and files):
            assert f"def {name}(" in source, name


def test_versions_agree():
    with open(ROOT / "pyproject.toml", "rb") as file:
        configured = tomllib.load(file)
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    read = configured["tool"]["setuptools"]["dynamic"]["version"]
    assert read == {"attr": "skstructured.__version__"}
    assert f"version: {skstructured.__version__}\n" in citation
    assert configured["project"].get("urls", {}).get("Documentation", "") == SITE


def test_diagrams_link_to_the_page_of_the_class():
    """Where there is a site; now there is none, and no link."""
    text, site = (DOCS / "api.rst").read_text(encoding="utf-8"), "https://docs.example/"
    pages = {
        f"{site}api/skstructured.{name}.html" for name in re.findall(r"^   ([\w.]+)$", text, re.M)
    }
    for learner in (*SHIPPED.values(), KSubsets()):
        assert SITE or learner._get_doc_link() == ""
        learner = clone(learner)
        learner._doc_link_template = site + PAGE
        assert learner._get_doc_link() in pages
    assert learner._get_doc_link() in learner._repr_html_()


def test_classes_of_users_have_no_page():
    class Mine(KSubsets):
        pass

    assert Mine()._get_doc_link() == ""
