"""The kept table in short: of every problem our best learner and the best of the others.

Stands in the README between two marks; `python -m benchmarks.peers._summary` writes it there.
"""

import csv
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
README = HERE.parents[1] / "README.md"
BEGIN, END = "<!-- peers: written by benchmarks.peers.table -->", "<!-- end of peers -->"
HEAD = "| | best of ours | best of the others | our loss over theirs | their seconds over ours |"


def learners():
    """Rows of the kept table that are about learners, by problem."""
    found = {}
    with (HERE / "results" / "table.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["learner"]:
                found.setdefault(row["problem"], []).append(row)
    return found


def line(problem, rows):
    """One problem as a row of Markdown; the side that errs less in bold."""
    sides = [[row for row in rows if row["ours"] == side] for side in ("True", "False")]
    ours, theirs = (min(side, key=lambda row: float(row["loss"])) for side in sides)
    losses, times = ([float(row[key]) for row in (ours, theirs)] for key in ("loss", "seconds"))
    bold = [losses[0] <= losses[1], losses[1] <= losses[0]]
    cells = [
        f"{row['learner'].removesuffix(', scaled')} {'**' * b}{loss:.3g}{'**' * b}"
        for row, loss, b in zip((ours, theirs), losses, bold, strict=True)
    ]
    ratios = f"{losses[0] / losses[1]:.2f} | {times[1] / times[0]:.2g}"
    return f"| {problem} | {cells[0]} | {cells[1]} | {ratios} |"


def made_when():
    """Commit, date and machine of the kept table, as its header tells them."""
    text = (HERE / "results" / "table.txt").read_text(encoding="utf-8")
    date = re.search(r"^commit (\S+), (\d{4}-\d\d-\d\d)", text, re.MULTILINE)
    machine = re.search(r"^(.*), (\d+) cores", text, re.MULTILINE)
    return f"{date[2]}, commit {date[1]}, {machine[1]}, {machine[2]} cores"


def summary():
    """The whole block, marks included."""
    lines = [line(problem, rows) for problem, rows in learners().items()]
    return "\n".join([BEGIN, "", HEAD, "|---|---|---|---|---|", *lines, "", made_when(), "", END])


def write():
    """Put the block into the README."""
    text = README.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    README.write_text(before + summary() + after, encoding="utf-8")


if __name__ == "__main__":
    write()
