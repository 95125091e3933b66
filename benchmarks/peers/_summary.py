"""The kept table in short: one learner of ours per problem, and the best of the others.

Stands in the README between two marks; `python -m benchmarks.peers._summary` writes it there.
"""

import csv
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
README = HERE.parents[1] / "README.md"
BEGIN, END = "<!-- peers: written by benchmarks.peers.table -->", "<!-- end of peers -->"
HEAD = "| data set, loss | ours | loss | seconds | best of the others | loss | seconds |"

#: The learner that the guide recommends for a task, whatever it does in the table.
RECOMMENDED = {
    "one pass": "OnlineStructuredPredictor",
    "defaults": "PiSTOL, kernels",
    "grades": "OnlineStructuredPredictor",
    "rankings": "KernelStructuredPredictor",
    "tags": "OnlineStructuredPredictor",
    "bandit feedback": "Confidit",
    "letter error": "OnlineStructuredPredictor, five passes",
}

#: What the task's loss is.
LOSSES = {
    "one pass": "error rate after one pass",
    "defaults": "error rate",
    "grades": "mean absolute error in grades",
    "rankings": "normalised Kendall distance",
    "tags": "Hamming loss",
    "bandit feedback": "error rate of choices",
    "letter error": "error rate per letter",
}


def learners():
    """Rows of the kept table that are about learners, by problem."""
    found = {}
    with (HERE / "results" / "table.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["learner"]:
                found.setdefault(row["problem"], []).append(row)
    return found


def line(problem, rows):
    """One problem as a row of Markdown; the smaller loss in bold."""
    data, task = problem.split(", ")
    ours = next(row for row in rows if row["learner"] == RECOMMENDED[task])
    theirs = min((r for r in rows if r["ours"] == "False"), key=lambda row: float(row["loss"]))
    least = min(float(ours["loss"]), float(theirs["loss"]))
    cells = [f"{data}, {LOSSES[task]}"]
    for row in (ours, theirs):
        loss, seconds = float(row["loss"]), float(row["seconds"])
        bold = "**" if loss == least else ""
        name = row["learner"].removesuffix(", scaled")
        cells += [name, f"{bold}{loss:.3f}{bold}", f"{seconds:.3f}"]
    return f"| {' | '.join(cells)} |"


def made_when():
    """Commit, date and machine of the kept table, as its header tells them."""
    text = (HERE / "results" / "table.txt").read_text(encoding="utf-8")
    date = re.search(r"^commit (\S+), (\d{4}-\d\d-\d\d)", text, re.MULTILINE)
    machine = re.search(r"^(.*), (\d+) cores", text, re.MULTILINE)
    return f"{date[2]}, commit {date[1]}, {machine[1]}, {machine[2]} cores"


def summary():
    """The whole block, marks included."""
    lines = [line(problem, rows) for problem, rows in learners().items()]
    rule = "|---|---|---|---|---|---|---|"
    return "\n".join([BEGIN, "", HEAD, rule, *lines, "", made_when(), "", END])


def write():
    """Put the block into the README."""
    text = README.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    README.write_text(before + summary() + after, encoding="utf-8")


if __name__ == "__main__":
    write()
