"""The kept table in short: for every problem one fixed learner of ours, and the best of the others.

It stands between two marks in the README, and with all data sets in docs/peers.md;
`python -m benchmarks.peers._summary` writes it there. Which learner of ours depends on the task
alone, and is the same for all its data sets, whatever it does there. Of the others it is the
learner with the lowest loss of each problem, at its defaults and tuned. Losses within one standard
deviation of the lowest are in bold. The README has the last data set of each task.
"""

import csv
import math
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BEGIN, END = "<!-- peers: written by benchmarks.peers.table -->", "<!-- end of peers -->"
HEAD = (
    "| data set, task (rows) | skstructured | best other library, defaults "
    "| best other library, tuned |"
)

#: What a problem's name ends with in the kept table -> the task, as the page calls it.
TASKS = {
    "defaults": "classification",
    "grades": "ordinal",
    "rankings": "label ranking",
    "tags": "multilabel",
    "moving stream": "drifting stream",
    "queries": "learning to rank",
    "choices": "discrete choice",
    "letter error": "sequence labeling",
}

#: Rows of a data set that the kept table is about: `MOST` of `_problems` and of `_streams`, or all.
ROWS = {
    "segment": "2,310",
    "satimage": "3,000",
    "letter": "3,000",
    "abalone": "3,000",
    "stocks": "950",
    "wine": "178",
    "yeast": "2,417",
    "passengers": "2,000, simulated",
    "forests": "10,000",
    "abrupt": "10,000, simulated",
    "elec2": "10,000",
    "covtype": "10,000",
    "documents": "3,005 in 201 queries",
    "travel modes": "6,768 choices",
    "electricity": "4,308 choices",
    "words": "6,877 words, a tenth to train",
}

#: What the page calls a learner, if not as the kept table does.
SHORT = {
    "columns by hand, LogisticRegression": "LogisticRegression, encoded by hand",
    "LightGBM, LambdaRank": "LightGBM LambdaRank",
    "nearest neighbours": "nearest neighbors",
}

#: What a problem's name ends with -> our learner, as the kept table and the package name it.
FIXED = {
    "one pass": ("FolkloreClassifier", "FolkloreClassifier"),
    "defaults": ("StructuredPredictor", "StructuredPredictor()"),
    "grades": ("StructuredPredictor", 'StructuredPredictor("ordinal")'),
    "rankings": ("StructuredPredictor", 'StructuredPredictor("ranking")'),
    "tags": ("StructuredPredictor", 'StructuredPredictor("multilabel")'),
    "table": ("TableEncoder, StructuredPredictor", "StructuredPredictor()"),
    "moving stream": ("OnlineStructuredPredictor", "OnlineStructuredPredictor"),
    "queries": ("StructuredRanker()", "StructuredRanker()"),
    "choices": ("ConditionalLogit", "ConditionalLogit"),
    "bandit feedback": ("Confidit", "ConfiditClassifier"),
    "letter error": ('StructuredPredictor("sequence")', 'StructuredPredictor("sequence")'),
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
        found.append((SHORT.get(named, named), best))
    return found


def seconds_of(row):
    """Seconds of a fit, to two or three digits."""
    seconds = float(row["seconds"])
    return f"{seconds:.{3 if seconds < 0.1 else 2 if seconds < 10.0 else 1}f} s"


def cell(name, row, most):
    """Name, loss with its standard deviation, and seconds; a loss of at most `most` in bold."""
    if row is None:
        return "–"
    loss, spread = float(row["loss"]), float(row["spread"])
    mark = "**" if loss <= most else ""
    deviation = "" if math.isnan(spread) else f" ± {spread:.3f}"
    return f"{name} {mark}{loss:.3f}{mark}{deviation}, {seconds_of(row)}"


def line(problem, rows):
    """One problem as a row of Markdown."""
    found = compared(problem, rows)
    best = min((row for _, row in found if row is not None), key=lambda row: float(row["loss"]))
    spread = float(best["spread"])
    most = float(best["loss"]) + (0.0 if math.isnan(spread) else spread)
    data, _, kind = problem.rpartition(", ")
    cells = [cell(name, row, most) for name, row in found]
    return "| " + " | ".join([f"{data}, {TASKS.get(kind, kind)} ({ROWS[data]})", *cells]) + " |"


def made_when():
    """Commit, date and machine of the kept table, as its header has them."""
    text = (HERE / "results" / "table.txt").read_text(encoding="utf-8")
    date = re.search(r"^commit (\S+), (\d{4}-\d\d-\d\d)", text, re.MULTILINE)
    machine = re.search(r"^(.*), (\d+) cores", text, re.MULTILINE)
    return f"{date[2]}, commit {date[1]}, {machine[1]}, {machine[2]} cores"


def block(problems):
    """The table of some problems, (name, rows), marks included."""
    lines = [line(*kept) for kept in problems]
    return "\n".join([BEGIN, HEAD, "|---" * 4 + "|", *lines, "", made_when(), END])


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
