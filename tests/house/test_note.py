"""The note names what is there, its numbers are kept, and it builds."""

import re
import shutil
import subprocess

import pytest
from conftest import ROOT
from test_docs_numbers import NUMBER, is_kept, numbers_in, read

NOTE = ROOT / "docs" / "note"
TEXT = (NOTE / "note.tex").read_text(encoding="utf-8")

#: What a paragraph says of its numbers.
COMMENT = re.compile(r"^% numbers: (.*)$", re.MULTILINE)


def paragraphs():
    """Paragraphs with a comment on their numbers: (text without it, comment)."""
    for part in re.split(r"\n\s*\n", TEXT):
        for comment in COMMENT.findall(part):
            yield COMMENT.sub("", part), comment


def decimals(text):
    """Numbers with decimals, and without what only looks like one."""
    pattern = r"\\(?:ref|eqref|label|cite|texttt)\{[^}]*\}|\d+(?:\.\d+)?mm|width=[.\d]+"
    text = re.sub(pattern, " ", text)
    return [number for number in NUMBER.findall(text) if "." in number]


def test_the_figures_are_there_and_small():
    figures = re.findall(r"\\includegraphics(?:\[[^]]*\])?\{([^}]*)\}", TEXT)
    assert len(figures) >= 2
    for name in figures:
        assert 0 < (NOTE / name).stat().st_size < 100_000, name


def test_modules_tests_and_commands_are_there():
    tests = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    named = [name.replace(r"\_", "_") for name in re.findall(r"\\texttt\{([^}]*)\}", TEXT)]
    for name in named:
        if name.startswith("test_") and name.endswith(".py"):
            assert name in tests
        elif name.endswith((".py", "/")) and name != "tests/" and not name.startswith("skstr"):
            assert (ROOT / "skstructured" / name).exists(), name
        elif re.fullmatch(r"(papers|defaults)\.\w+", name):
            assert (ROOT / "benchmarks" / f"{name.replace('.', '/')}.py").exists(), name
    assert sum(name.endswith(".py") for name in named) > 10


def test_measured_numbers_are_those_that_are_kept():
    found = list(paragraphs())
    assert len(found) >= 4
    for text, comment in found:
        files, _, told = comment.partition("; worked out: ")
        if files.startswith("none, "):
            continue
        kept = [one for name in files.split(", ") for one in numbers_in(read(name))]
        wrong = [n for n in decimals(text) if n not in told.split(", ") and not is_kept(n, kept)]
        assert wrong == [], text


def test_experiments_say_where_their_numbers_are_from():
    for part in re.split(r"\n\s*\n", TEXT.partition(r"\label{sec:experiments}")[2]):
        assert not decimals(part.partition(r"\begin{thebibliography}")[0]) or COMMENT.search(part)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("latexmk") is None, reason="latexmk builds the note")
def test_it_builds_without_undefined_references(tmp_path):
    folder = shutil.copytree(NOTE, tmp_path / "note")
    command = ["latexmk", "-pdf", "-interaction=nonstopmode", "-halt-on-error", "note"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
    log = (folder / "note.log").read_text(encoding="utf-8", errors="replace")
    assert "undefined" not in log and "multiply defined" not in log
    pages = int(re.search(r"Output written on note.pdf \((\d+) pages", log).group(1))
    assert 6 <= pages <= 10
