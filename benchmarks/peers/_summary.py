"""The kept table in short: of every problem one fixed learner of ours, and the best of the others.

Stands between two marks in the README, and with all data sets in docs/peers.md;
`python -m benchmarks.peers._summary` writes it there. Which learner of ours is a matter of the task
alone, the same for all its data sets, whatever it does there; the other side has the learner with
the least loss of each problem, at its defaults and searched. The README has the last data set of
each task.
"""

import csv
import math
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BEGIN, END = "<!-- peers: written by benchmarks.peers.table -->", "<!-- end of peers -->"
HEAD = "| task | ours | loss | seconds | the others | loss | seconds | searched | loss | seconds |"

#: What a problem's name ends with in the kept table -> what the page calls it, where it differs.
NAMES = {"grades": "ordinal classes"}

#: What a problem's name ends with -> our learner, as the kept table and the package name it.
FIXED = {
    "one pass": ("FolkloreClassifier", "FolkloreClassifier"),
    "defaults": ("StructuredPredictor", "StructuredPredictor()"),
    "grades": ("StructuredPredictor", 'StructuredPredictor("ordinal")'),
    "rankings": ("StructuredPredictor", 'StructuredPredictor("ranking")'),
    "tags": ("StructuredPredictor", 'StructuredPredictor("multilabel")'),
    "table": ("TableEncoder, StructuredPredictor", "StructuredPredictor()"),
    "moving stream": ("OnlineStructuredPredictor", "OnlineStructuredPredictor"),
    "queries": ("ListwiseRanker()", "ListwiseRanker()"),
    "choices": ("ConditionalLogit", "ConditionalLogit"),
    "bandit feedback": ("Confidit", "ConfiditClassifier"),
    "letter error": (
        "OnlineStructuredPredictor, five passes",
        'OnlineStructuredPredictor("sequence")',
    ),
}


def learners():
    """Rows of the kept table that are about learners, by problem."""
    found = {}
    with (HERE / "results" / "table.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["learner"]:
                found.setdefault(row["problem"], []).append(row)
    return found


def compared(problem, rows):
    """(name, row) of our fixed learner, of the others' best default, and of their best search.

    The last is None where nothing was searched.
    """
    kept, name = FIXED[problem.rpartition(", ")[2]]
    ours = next(row for row in rows if row["ours"] == "True" and row["learner"] == kept)
    found = [(f"`{name}`", ours)]
    for searched in (False, True):
        others = [
            row
            for row in rows
            if row["ours"] == "False" and row["learner"].endswith(", searched") == searched
        ]
        best = min(others, key=lambda row: float(row["loss"]), default=None)
        named = best and best["learner"].removesuffix(", searched").replace(", scaled", "")
        found.append((named, best))
    return found


def cells(name, row, others):
    """Name, loss with its deviation, and seconds; what is smallest in bold."""
    if row is None:
        return ["", "", ""]
    told, spread = [name], float(row["spread"])
    deviations = {"loss": "" if math.isnan(spread) else f" ± {spread:.3f}", "seconds": ""}
    for key, deviation in deviations.items():
        value, best = float(row[key]), min(float(other[key]) for other in others)
        mark = "**" if value <= best else ""
        told.append(f"{mark}{value:.3f}{mark}{deviation}")
    return told


def line(problem, rows):
    """One problem as a row of Markdown."""
    found = compared(problem, rows)
    there = [row for _, row in found if row is not None]
    data, _, kind = problem.rpartition(", ")
    told = [cell for name, row in found for cell in cells(name, row, there)]
    return "| " + " | ".join([f"{data}, {NAMES.get(kind, kind)}", *told]) + " |"


def made_when():
    """Commit, date and machine of the kept table, as its header tells them."""
    text = (HERE / "results" / "table.txt").read_text(encoding="utf-8")
    date = re.search(r"^commit (\S+), (\d{4}-\d\d-\d\d)", text, re.MULTILINE)
    machine = re.search(r"^(.*), (\d+) cores", text, re.MULTILINE)
    return f"{date[2]}, commit {date[1]}, {machine[1]}, {machine[2]} cores"


def block(problems):
    """The table of some problems, (name, rows), marks included."""
    lines = [line(*kept) for kept in problems]
    return "\n".join([BEGIN, HEAD, "|---" * 10 + "|", *lines, "", made_when(), END])


def pages():
    """Every page with its block."""
    every = learners()
    last = {problem.rpartition(", ")[2]: (problem, rows) for problem, rows in every.items()}
    yield ROOT / "README.md", block(last.values())
    yield ROOT / "docs" / "peers.md", block(every.items())


def write():
    """Put the blocks into their pages."""
    for page, text in pages():
        kept = page.read_text(encoding="utf-8")
        before, after = kept.split(BEGIN)[0], kept.split(END)[1]
        page.write_text(before + text + after, encoding="utf-8")


if __name__ == "__main__":
    write()
