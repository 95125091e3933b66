"""Every measured number on the pages of docs is in the results of the command that is named.

A paragraph, list or table with percentages, times, sizes or errors names a kept file of results, a
command (``python -m benchmarks.…``, ``benchmarks/….py``), or has a comment behind it,

    <!-- numbers: benchmarks/…/results/….txt; worked out: 5.5, 12 -->
    <!-- numbers: none, of the theorem -->

and every number of it that is measured is in that file, rounded as the page has it, as it stands
or times 100 or a power of 1000; but for those that are worked out from others.
"""

import re

import pytest
from conftest import ROOT

PAGES = sorted((ROOT / "docs").rglob("*.md"))

NUMBER = re.compile(r"(?<![\w.^\-−])(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?![\w⁰¹²³⁴⁵⁶⁷⁸⁹]*\.md)")
UNIT = r"\s?(?:%|seconds?|minutes?|s|ms|µs|MiB|MB|GB|times as|times faster|rows a second|clicks)"
MEASURED = re.compile(rf"\d{UNIT}(?![a-z])|\.\d\d|\d ± |\| \**\d+\.\d")
COMMENT = re.compile(r"<!-- numbers: (.*?) -->", re.DOTALL)
FILE = re.compile(r"benchmarks/\w+/results/\w+\.(?:txt|csv)")
COMMAND = re.compile(r"benchmarks[./](\w+)[./](\w+)(?:\.py)?(?![\w/])")
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


def references(paragraph):
    """Files of results that a paragraph names, itself or by the command that writes them."""
    direct = FILE.findall(paragraph)
    named = [f"benchmarks/{a}/results/{b}.txt" for a, b in COMMAND.findall(paragraph)]
    return sorted({*direct, *(name for name in named if "/results/results" not in name)})


def numbers_in(text):
    """All numbers of a file of results."""
    return [float(n.rstrip(",").replace(",", "")) for n in NUMBER.findall(text)]


def is_kept(number, kept):
    """Whether a number, as a page has it, is one of those kept, rounded."""
    value = float(number.replace(",", ""))
    half = 0.5 * 10.0 ** -len(number.partition(".")[2]) * (1 + 1e-6)
    return any(abs(factor * one - value) <= half for one in kept for factor in FACTORS)


def unfounded(paragraph, read):
    """What is wrong with a paragraph, a list of words; `read` gives the text of a file."""
    comment = " ".join(COMMENT.findall(paragraph))
    if comment.startswith("none, ") or not MEASURED.search(re.sub(r"`[^`]*`", "", paragraph)):
        return []
    files = references(paragraph)
    if not files:
        return ["no file of results is named"]
    missing = [name for name in files if read(name) is None]
    if missing:
        return [f"there is no {name}" for name in missing]
    kept = [one for name in files for one in numbers_in(read(name))]
    told = comment.partition("worked out: ")[2].split(", ")
    return [n for n in measured(paragraph) if n not in told and not is_kept(n, kept)]


def read(name):
    """The text of a file of results, or None where there is none."""
    path = ROOT / name
    return path.read_text(encoding="utf-8") if path.exists() else None


def test_measured_numbers_are_those_that_are_kept():
    wrong = {
        (page.name, paragraph[:70]): unfounded(paragraph, read)
        for page in PAGES
        for paragraph in paragraphs(page.read_text(encoding="utf-8"))
    }
    assert {place: what for place, what in wrong.items() if what} == {}


@pytest.mark.parametrize(
    ("paragraph", "what"),
    [
        ("It errs on 5.7% (`benchmarks/a/results/b.txt`).", []),
        ("It errs on 5.8% (`benchmarks/a/results/b.txt`).", ["5.8"]),
        ("It errs on 5.7%, as `python -m benchmarks.a.b` says.", []),
        ("It errs on 5.7% and takes 12 ms.\n<!-- numbers: benchmarks/a/results/b.txt -->", []),
        ("It takes 13 ms.\n<!-- numbers: benchmarks/a/results/b.txt -->", ["13"]),
        ("13 ms\n<!-- numbers: benchmarks/a/results/b.txt; worked out: 13 -->", []),
        ("It errs on 5.7%.", ["no file of results is named"]),
        ("With 95 % confidence.\n<!-- numbers: none, a choice of δ -->", []),
        ("Ten classes and 100 features.", []),
    ],
)
def test_a_number_that_is_nowhere_is_found(paragraph, what):
    assert unfounded(paragraph, lambda name: "error .0571, 0.0123 s, of 1,797 rows") == what


def test_a_comment_belongs_to_the_paragraph_above_and_code_to_none():
    text = "1 %\n\n<!-- numbers: none, x -->\n\n```python\n7 %\n```\n\n    8 %\n\n2 %"
    assert paragraphs(text)[0] == "1 %\n<!-- numbers: none, x -->"
    assert [p.strip() for p in paragraphs(text)][1:] == ["2 %"]
