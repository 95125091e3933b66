"""The kept table in short: per task one data set, one learner of ours, and the best of the others.

Stands in the README between two marks; `python -m benchmarks.peers._summary` writes it there.
"""

import csv
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

#: The largest data set of every task, which stands in the README.
LARGEST = (
    "letter, one pass",
    "letter, defaults",
    "abalone, grades",
    "segment, rankings",
    "yeast, tags",
    "satimage, bandit feedback",
    "words, letter error",
)

#: What the task's loss is.
LOSSES = {
    "one pass": "error rate after one pass",
    "defaults": "error rate",
    "grades": "mean absolute error",
    "rankings": "discordant pairs",
    "tags": "Hamming loss",
    "bandit feedback": "wrong choices",
    "letter error": "letter error rate",
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


def summary():
    """The whole block, marks included."""
    found = learners()
    lines = [line(problem, found[problem]) for problem in LARGEST]
    rule = "|---|---|---|---|---|---|---|"
    return "\n".join([BEGIN, "", HEAD, rule, *lines, "", END])


def write():
    """Put the block into the README."""
    text = README.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    README.write_text(before + summary() + after, encoding="utf-8")


if __name__ == "__main__":
    write()
