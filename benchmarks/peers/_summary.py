"""The kept table in short: of every problem one fixed learner of ours, and the best of the others.

Stands in the README between two marks; `python -m benchmarks.peers._summary` writes it there.
Which learner of ours is a matter of the task alone, the same for all its data sets, whatever it
does there; the other side has the learner with the least loss of each problem. Of each task there
is one row, that of its last data set, for the page to be short.
"""

import csv
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
README = HERE.parents[1] / "README.md"
BEGIN, END = "<!-- peers: written by benchmarks.peers.table -->", "<!-- end of peers -->"
HEAD = "| task | ours | loss | seconds | best of the others | loss | seconds |"

#: What a problem's name ends with in the kept table -> what the page calls it, where it differs.
NAMES = {"grades": "ordinal classes"}

#: What a problem's name ends with -> our learner, as the kept table and the package name it.
FIXED = {
    "one pass": ("FolkloreClassifier", "FolkloreClassifier"),
    "defaults": ("PiSTOL, kernels", 'PiSTOLClassifier("rbf")'),
    "grades": ("OnlineStructuredPredictor", 'OnlineStructuredPredictor("ordinal")'),
    "rankings": ("KernelStructuredPredictor", 'KernelStructuredPredictor("permutahedron")'),
    "tags": ("OnlineStructuredPredictor", 'OnlineStructuredPredictor("hypercube")'),
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


def pair(problem, rows):
    """Our fixed learner of a problem, its public name, and the others' learner of least loss."""
    kept, name = FIXED[problem.rpartition(", ")[2]]
    ours = next(row for row in rows if row["ours"] == "True" and row["learner"] == kept)
    others = [row for row in rows if row["ours"] == "False"]
    return ours, name, min(others, key=lambda row: float(row["loss"]))


def cells(row, other, name):
    """Name, loss and seconds; the smaller loss and the smaller time of two in bold."""
    told = [name]
    for key in ("loss", "seconds"):
        value, best = float(row[key]), float(row[key]) <= float(other[key])
        told.append(f"**{value:.3f}**" if best else f"{value:.3f}")
    return " | ".join(told)


def line(problem, rows):
    """One problem as a row of Markdown."""
    ours, name, theirs = pair(problem, rows)
    other = theirs["learner"].removesuffix(", scaled")
    data, _, kind = problem.rpartition(", ")
    problem = f"{data}, {NAMES.get(kind, kind)}"
    return f"| {problem} | {cells(ours, theirs, f'`{name}`')} | {cells(theirs, ours, other)} |"


def made_when():
    """Commit, date and machine of the kept table, as its header tells them."""
    text = (HERE / "results" / "table.txt").read_text(encoding="utf-8")
    date = re.search(r"^commit (\S+), (\d{4}-\d\d-\d\d)", text, re.MULTILINE)
    machine = re.search(r"^(.*), (\d+) cores", text, re.MULTILINE)
    return f"{date[2]}, commit {date[1]}, {machine[1]}, {machine[2]} cores"


def summary():
    """The whole block, marks included."""
    last = {problem.rpartition(", ")[2]: (problem, rows) for problem, rows in learners().items()}
    lines = [line(*kept) for kept in last.values()]
    return "\n".join([BEGIN, "", HEAD, "|---" * 7 + "|", *lines, "", made_when(), END])


def write():
    """Put the block into the README."""
    text = README.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    README.write_text(before + summary() + after, encoding="utf-8")


if __name__ == "__main__":
    write()
