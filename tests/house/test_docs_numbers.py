"""Every measured number of the pages and of the note is in the results of the command it names.

A paragraph, list or table with percentages, times, sizes or errors names a kept file of results, a
command (``python -m benchmarks.…``, ``benchmarks/….py``), or has a comment behind it,

    <!-- numbers: benchmarks/…/results/….txt; worked out: 5.5, 12 -->
    <!-- numbers: none, of the theorem -->

and every number of it that is measured is in that file, rounded as the page has it, as it stands
or times 100 or a power of 1000; but for those that are worked out from others.
"""

import re
import shutil
import subprocess

import pytest
from conftest import ROOT

PAGES = sorted((ROOT / "docs").rglob("*.md"))
NOTE = ROOT / "docs" / "note"
TEX = (NOTE / "note.tex").read_text("utf-8")

NUMBER = re.compile(r"(?<![\w.^\-−])(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?![\w⁰¹²³⁴⁵⁶⁷⁸⁹]*\.md)")
UNIT = r"\s?(?:%|seconds?|minutes?|s|ms|µs|MiB|MB|GB|times as|times faster|rows a second|clicks)"
MEASURED = re.compile(rf"\d{UNIT}(?![a-z])|\.\d\d|\d ± |\| \**\d+\.\d")
COMMENT = re.compile(r"<!-- numbers: (.*?) -->", re.DOTALL)
TEX_COMMENT = re.compile(r"^% numbers: (.*)$", re.MULTILINE)
FILE = re.compile(r"benchmarks/\w+/results/\w+\.(?:txt|csv)")
COMMAND = re.compile(r"benchmarks[./](?!\w+/results/)(\w+)[./](\w+)(?:\.py)?(?![\w/])")
FACTORS = (1.0, 100.0, 1e-3, 1e3, 1e-6, 1e6)


def paragraphs(text):
    """Paragraphs and tables, no code and formulas; a comment goes with what is above it."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\n\n(?=<!-- numbers)", "\n", text)
    return [part for part in re.split(r"\n\s*\n", text) if not part.startswith("    ")]


def measured(paragraph):
    """Numbers of a paragraph, as written, with decimals or a unit; comments and code are none."""
    text = re.sub(r"`[^`]*`|<!--.*?-->|\]\([^)]*\)", " ", paragraph, flags=re.DOTALL)
    found = [(m.group().rstrip(","), text[m.end() :]) for m in NUMBER.finditer(text)]
    return [n for n, rest in found if "." in n or re.match(UNIT + "(?![a-z])", rest)]


def decimals(text):
    """Numbers with decimals of the note, and without what only looks like one."""
    pattern = r"\\(?:ref|eqref|label|cite|texttt)\{[^}]*\}|\d+(?:\.\d+)?mm|width=[.\d]+"
    return [number for number in NUMBER.findall(re.sub(pattern, " ", text)) if "." in number]


def not_kept(numbers, files, told):
    """Those of some numbers that are neither told to be worked out nor in any of the files."""
    texts = [(ROOT / name).read_text("utf-8") for name in files]
    kept = [float(n.rstrip(",").replace(",", "")) for t in texts for n in NUMBER.findall(t)]

    def is_kept(number):
        value = float(number.replace(",", ""))
        half = 0.5 * 10.0 ** -len(number.partition(".")[2]) * (1 + 1e-6)
        return any(abs(factor * one - value) <= half for one in kept for factor in FACTORS)

    return [n for n in numbers if n not in told.split(", ") and not is_kept(n)]


def unfounded(paragraph):
    """What is wrong with a paragraph, a list of words."""
    comment = " ".join(COMMENT.findall(paragraph))
    if comment.startswith("none, ") or not MEASURED.search(re.sub(r"`[^`]*`", "", paragraph)):
        return []
    named = [f"benchmarks/{a}/results/{b}.txt" for a, b in COMMAND.findall(paragraph)]
    files = {*FILE.findall(paragraph), *named}
    told = comment.partition("worked out: ")[2]
    return not_kept(measured(paragraph), files, told) if files else ["no file of results is named"]


def test_measured_numbers_are_those_that_are_kept():
    wrong = {
        (page.name, paragraph[:70]): unfounded(paragraph)
        for page in PAGES
        for paragraph in paragraphs(page.read_text("utf-8"))
    }
    assert {place: what for place, what in wrong.items() if what} == {}


def test_a_number_that_is_nowhere_is_found():
    assert unfounded("It errs on 5.7%.") == ["no file of results is named"]
    for named in ("`python -m benchmarks.peers.table`", "`benchmarks/peers/results/table.txt`"):
        assert unfounded(f"It takes 1.23454321 ms and 3 rows ({named}).") == ["1.23454321"]


def test_measured_numbers_of_the_note_are_those_that_are_kept():
    parts = re.split(r"\n\s*\n", TEX)
    found = [(part, comment) for part in parts for comment in TEX_COMMENT.findall(part)]
    assert len(found) >= 4
    for text, comment in found:
        files, _, told = comment.partition("; worked out: ")
        if not files.startswith("none, "):
            assert not_kept(decimals(TEX_COMMENT.sub("", text)), files.split(", "), told) == []
    for part in re.split(r"\n\s*\n", TEX.partition(r"\label{sec:experiments}")[2]):
        text = part.partition(r"\begin{thebibliography}")[0]
        assert not decimals(text) or TEX_COMMENT.search(part)


def test_figures_modules_tests_and_commands_of_the_note_are_there():
    figures = re.findall(r"\\includegraphics(?:\[[^]]*\])?\{([^}]*)\}", TEX)
    assert len(figures) >= 2 and all((NOTE / name).exists() for name in figures)
    tests = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    named = [name.replace(r"\_", "_") for name in re.findall(r"\\texttt\{([^}]*)\}", TEX)]
    for name in named:
        if name.startswith("test_") and name.endswith(".py"):
            assert name in tests
        elif name.endswith((".py", "/")) and name != "tests/" and not name.startswith("skstr"):
            assert (ROOT / "skstructured" / name).exists(), name
        elif re.fullmatch(r"(papers|defaults)\.\w+", name):
            assert (ROOT / "benchmarks" / f"{name.replace('.', '/')}.py").exists(), name
    assert sum(name.endswith(".py") for name in named) > 10


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("latexmk") is None, reason="latexmk builds the note")
def test_the_note_builds_without_undefined_references(tmp_path):
    folder = shutil.copytree(NOTE, tmp_path / "note")
    command = ["latexmk", "-pdf", "-interaction=nonstopmode", "-halt-on-error", "note"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
    log = (folder / "note.log").read_text(encoding="utf-8", errors="replace")
    assert "undefined" not in log and "multiply defined" not in log
    pages = int(re.search(r"Output written on note.pdf \((\d+) pages", log).group(1))
    assert 6 <= pages <= 10
