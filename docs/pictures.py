"""Draw the pictures of the pages again: ``python docs/pictures.py [NAME …]``.

Those of PICTURES come from the examples, with all figures of an example side by side. Those in the
folder peers come from the kept table of `benchmarks.peers`, one for each problem, with all its
learners.
structured_prediction.png is drawn from OUTPUTS. cross_validation.png, curves_scale.png,
folklore_regret.png, pistol_vs_svm.png and table1_mistakes.png come from `benchmarks`.
"""

import csv
import io
import runpy
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).resolve().parent
TABLE = HERE.parent / "benchmarks" / "peers" / "results" / "table.csv"

#: Names of the pictures -> names of the examples that draw them.
PICTURES = {
    "abstention": "abstention",
    "first_look": "first_look",
    "folklore": "folklore",
    "kernels": "kernels",
    "margin": "margin",
    "ocr": "words",
    "outliers": "outliers",
    "matchings": "matchings",
    "moving_stream": "moving_stream",
    "prediction_sets": "prediction_sets",
    "search_results": "search_results",
}

#: Parts of the table's names -> names in the pictures.
NAMES = {
    **{"searched": "tuned", "neighbours": "neighbors", " .1": " 0.1"},
    **{"MaxMinMargin,": "MaxMinMarginNetwork,", "PiSTOL,": "PiSTOLClassifier,"},
    **{"BanditGaptron,": "BanditGaptronClassifier,", ", tags": ", multilabel"},
    **{", grades": ", ordinal regression", ", rankings": ", label ranking"},
}

#: Names of the pictures in the folder peers -> problem of the table, and its loss.
PEERS = {
    "letter_one_pass": ("letter, one pass", "share of rows wrong"),
    "letter_defaults": ("letter, defaults", "share of rows wrong"),
    "stocks_grades": ("stocks, grades", "classes off, on average"),
    "segment_rankings": ("segment, rankings", "share of pairs in the wrong order"),
    "yeast_tags": ("yeast, tags", "share of labels wrong"),
    "words": ("words, letter error", "share of letters wrong"),
}

#: Kinds of outputs -> the name of the space, boxes (x, y, text, is part of the output), and lines.
OUTPUTS = {
    "one class": (
        "multiclass",
        [(0.5, y, text, text == "dog") for y, text in enumerate(["bird", "dog", "cat"])],
        [],
    ),
    "a set of labels": (
        "multilabel",
        [(0.5, y, text, text != "snow") for y, text in enumerate(["snow", "sea", "beach"])],
        [],
    ),
    "an ordered grade": (
        "ordinal",
        [(0.5, y, text, text == "fair") for y, text in enumerate(["poor", "fair", "good"])],
        [((0.5, y), (0.5, y + 1)) for y in range(2)],
    ),
    "a ranking or assignment": (
        "ranking, assignment",
        [
            (x, y, text[y], True)
            for x, text in enumerate([["tea", "milk", "juice"], "321"])
            for y in range(3)
        ],
        [((0, 0), (1, 2)), ((0, 1), (1, 0)), ((0, 2), (1, 1))],
    ),
    "a label sequence": (
        "sequence",
        [
            (x, y, t[x], y == 0)
            for y, t in enumerate([["DET", "NOUN", "VERB"], ["the", "dog", "ran"]])
            for x in range(3)
        ],
        [((x, 0), (x + 1, 0)) for x in range(2)] + [((x, 1), (x, 0)) for x in range(3)],
    ),
}


def pixels(figure):
    """A figure as an array (height, width, 3)."""
    file = io.BytesIO()
    figure.savefig(file, format="png")
    file.seek(0)
    return plt.imread(file)[:, :, :3]


def side_by_side(parts):
    """Images side by side, padded with white to one height."""
    height = max(len(part) for part in parts)
    below = [((0, height - len(part)), (0, 0), (0, 0)) for part in parts]
    return np.hstack([np.pad(p, b, constant_values=1.0) for p, b in zip(parts, below, strict=True)])


def draw(name):
    """Run an example, and keep its figures as one picture."""
    plt.close("all")
    (example,) = (HERE / "examples").glob(f"*/plot_{PICTURES[name]}.py")
    runpy.run_path(str(example))
    plt.imsave(
        HERE / f"{name}.png", side_by_side([*map(pixels, map(plt.figure, plt.get_fignums()))])
    )


def named(text):
    """A name of the table as pictures have it."""
    for name, shown in NAMES.items():
        text = text.replace(name, shown)
    return text


def learners(problem):
    """Rows of the kept table about one problem, the least loss first."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["problem"] == problem]
    return sorted(rows, key=lambda row: float(row["loss"]))


def draw_peers(name):
    """Losses of all learners of one problem as bars, those of skstructured in color."""
    problem, what = PEERS[name]
    rows = learners(problem)
    loss = [float(row["loss"]) for row in rows]
    colors = ["tab:blue" if row["ours"] == "True" else "0.7" for row in rows]
    figure, ax = plt.subplots(figsize=(6, 0.3 * len(rows) + 0.8), layout="constrained")
    ax.barh(range(len(rows)), loss, color=colors)
    for place, row in enumerate(rows):
        text = f" {float(row['loss']):.3f}, {float(row['seconds']):.3f} s"
        ax.text(loss[place], place, text, va="center", size=8)
    ax.set_yticks(range(len(rows)), [named(row["learner"]) for row in rows], size=8)
    ax.set(xlabel=what, xlim=(0, 1.35 * max(loss)))
    figure.suptitle(f"{named(problem)}: loss and seconds per fit (blue: skstructured)", size=9)
    ax.invert_yaxis()
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(HERE / "peers" / f"{name}.png", dpi=120)
    plt.close(figure)


def draw_outputs(name):
    """One panel for each kind of output: all its parts as boxes, those of the output filled."""
    figure, axes = plt.subplots(1, len(OUTPUTS), figsize=(11, 2.3), layout="constrained")
    for ax, (kind, (space, boxes, lines)) in zip(axes, OUTPUTS.items(), strict=True):
        for (x0, y0), (x1, y1) in lines:
            ax.plot([x0, x1], [y0, y1], color="0.6", zorder=0)
        for x, y, text, is_part in boxes:
            colors = {"facecolor": "tab:blue" if is_part else "white", "edgecolor": "0.6"}
            ax.text(
                *(x, y, text),
                ha="center",
                va="center",
                size=9,
                color="white" if is_part else "0.3",
                bbox={"boxstyle": "round,pad=0.45", **colors},
            )
        ax.set_title(kind, size=10)
        ax.set_xlabel(space, size=9, family="monospace")
        xs, ys = [x for x, *_ in boxes], [y for _, y, *_ in boxes]
        ax.set(xlim=(min(xs) - 0.5, max(xs) + 0.5), ylim=(min(ys) - 0.6, max(ys) + 0.6))
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    figure.savefig(HERE / f"{name}.png", dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    drawn_by = dict.fromkeys(PICTURES, draw) | dict.fromkeys(PEERS, draw_peers)
    drawn_by["structured_prediction"] = draw_outputs
    for chosen in sys.argv[1:] or drawn_by:
        drawn_by[chosen](chosen)
