"""The options of the command line, and their help."""

import argparse

import skstructured
from skstructured.optimizers import OPTIMIZERS
from skstructured.spaces import SPACES

DESCRIPTION = """\
Learn a table row by row: predict each row, then learn it. No step size, no scaling, no tuning.

Prints how often it was wrong while learning, an upper bound on the error on new rows (with
95% confidence, if they come from where these came from), and how long it took. Without FILE the
data are scikit-learn's digits.

"python -m skstructured predict MODEL FILE" prints what a model that --save kept predicts for the
rows of a file, with --proba how likely each class is.

Columns may be numbers, words, dates and long texts, with gaps. The target is a class, or a number
(then a robust regressor learns it); --space names other outputs. Files of any kind may be larger
than memory: from 64 MB on (8 MB where compressed) rows are taken in their own order, some thousand
at a time, and so are those of Parquet files of numbers and of svmlight files (.svm, .libsvm).

Where rows are items of lists or of choices, --qid COL names the column that says which rows are of
one list, such as the results of a query, and the target has their grades; --choice COL the column
that says which rows are the alternatives of one choice, and the target is 1 for the chosen one.

With --bounds it prints a table, one line for each (regularizer, decoder). "mistakes" is the
exact expected cumulative target loss; "comparator" is the surrogate loss of the fixed linear
model that makes the bound smallest, in hindsight; "bound" is the number that theory says the
expected mistakes never exceed, on any rows; "margin" is bound minus mistakes. A decoder without
a theorem shows "none".
"""


def names(given):
    """The names of columns that an option lists."""
    return given.split(",")


def passes(given):
    """A number, or "auto"."""
    return given if given == "auto" else int(given)


OPTIONS = {
    "file": {
        "nargs": "?",
        "metavar": "FILE",
        "help": "CSV with a header line, JSON lines, Parquet, svmlight; - is standard input",
    },
    "--data": {"metavar": "FILE", "help": "the same"},
    "--target": {
        "metavar": "COL[,COL…]",
        "help": "target column (default: the last); several for hypercube (0/1), birkhoff "
        "(positions from 0) and permutahedron (ranks from 1)",
    },
    "--delimiter": {"help": "what separates cells (default: what separates the header)"},
    "--columns": {"metavar": "COL[,COL…]", "type": names, "help": "the features (default: all)"},
    "--ignore": {"metavar": "COL[,COL…]", "type": names, "help": "columns to leave out"},
    "--space": {
        "choices": (
            *(name for name in SPACES if name != "sequence"),
            "real",
        ),  # no table holds them
        "help": "what an output is (default: simplex, classes; real, numbers, for a target of "
        "fractions or of more than 100 numbers with few rows each)",
    },
    "--qid": {
        "metavar": "COL",
        "help": "learn to rank: rows with one value here are one list, the target has grades",
    },
    "--choice": {
        "metavar": "COL",
        "help": "learn choices: rows with one value here are the alternatives of one choice",
    },
    "--optimizer": {
        "choices": ("auto", *OPTIMIZERS),
        "help": "how weights move (default: auto, a mixture for one pass; ogd with --bounds)",
    },
    "--no-average": {"action": "store_true", "help": "predict with the last weights"},
    "--no-standardize": {"action": "store_true", "help": "take features as they are"},
    "--passes": {
        "type": passes,
        "help": "passes of the model that --save keeps: a number (1 is what the bound is about) or "
        "auto (default), as many as pay",
    },
    "--regularizer": {"help": "shannon, squared or tsallis (default: the space's own)"},
    "--decoder": {"help": "how scores become outputs: nearest, randomized, map or sampled"},
    "--learner": {"metavar": "MODULE:CLASS", "help": "play this OnlineLearner, with its defaults"},
    "--in-order": {
        "action": "store_true",
        "help": "take rows in the file's order; then the bound needs an order without a meaning",
    },
    "--seed": {
        "type": int,
        "default": 0,
        "help": "seed of the shuffling and the draws (default: 0)",
    },
    "--bounds": {"action": "store_true", "help": "print the table of regret bounds"},
    "--plot": {"metavar": "FILE.png", "help": "draw losses and bounds over the rows"},
    "--save": {"metavar": "FILE", "help": "keep the model, for load_checkpoint (needs skops)"},
    "--warm-up": {
        "action": "store_true",
        "help": "only compile every loop, and keep it on disk",
    },
    "--version": {
        "action": "version",
        "version": f"skstructured {skstructured.__version__}",
        "help": "say which version this is",
    },
}


def parser():
    """The parser of the command line."""
    made = argparse.ArgumentParser(
        prog="python -m skstructured",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name, given in OPTIONS.items():
        made.add_argument(*name.split(), **given)
    return made
