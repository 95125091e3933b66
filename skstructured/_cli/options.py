"""The options of the command line, and their help."""

import argparse

from skstructured.optimizers import OPTIMIZERS
from skstructured.spaces import SPACES

DESCRIPTION = """\
Learn a table row by row: predict each row, then learn it. No step size, no scaling, no tuning.

Prints how often it was wrong while learning, what new rows will cost at most (with 95%
confidence, if they come from where these came from), and how long it took. Without FILE the
data are scikit-learn's digits.

"python -m skstructured predict MODEL FILE" prints what a model that --save kept predicts for the
rows of a file.

A Parquet file of numbers (.parquet) or a svmlight file (.svm, .svmlight, .libsvm) may be larger
than memory: its rows are taken in their own order, some thousand at a time.

With --bounds it prints a table, one line for each (regularizer, decoder). "mistakes" is the
exact expected cumulative target loss; "comparator" is the surrogate loss of the fixed linear
model that makes the bound smallest, in hindsight; "bound" is the number that theory says the
expected mistakes never exceed, on any rows; "margin" is bound minus mistakes. A decoder without
a theorem shows "none".
"""


OPTIONS = {
    "file": {"nargs": "?", "metavar": "FILE", "help": "CSV with a header line, Parquet, svmlight"},
    "--data": {"metavar": "FILE", "help": "the same"},
    "--target": {
        "metavar": "COL[,COL…]",
        "help": "target column (default: the last); several for hypercube (0/1), birkhoff "
        "(positions from 0) and permutahedron (ranks from 1)",
    },
    "--delimiter": {"help": "what separates cells (default: what separates the header)"},
    "--space": {
        "choices": tuple(name for name in SPACES if name != "sequence"),  # no table holds them
        "default": "simplex",
        "help": "what an output is (default: simplex, classes)",
    },
    "--optimizer": {
        "choices": ("auto", *OPTIMIZERS),
        "help": "how weights move (default: auto, a mixture for one pass; ogd with --bounds)",
    },
    "--no-average": {"action": "store_true", "help": "predict with the last weights"},
    "--no-standardize": {"action": "store_true", "help": "take features as they are"},
    "--passes": {
        "type": int,
        "help": "passes of the model that --save keeps (default: 1, which the promise is about)",
    },
    "--regularizer": {"help": "shannon, squared or tsallis (default: the space's own)"},
    "--decoder": {"help": "how scores become outputs: nearest, randomized, map or sampled"},
    "--learner": {"metavar": "MODULE:CLASS", "help": "play this OnlineLearner, with its defaults"},
    "--in-order": {
        "action": "store_true",
        "help": "take rows in the file's order; then the promise needs an order without a meaning",
    },
    "--seed": {
        "type": int,
        "default": 0,
        "help": "seed of the shuffling and the draws (default: 0)",
    },
    "--bounds": {"action": "store_true", "help": "print the table of regret bounds"},
    "--plot": {"metavar": "FILE.png", "help": "draw losses and promises over the rows"},
    "--save": {"metavar": "FILE", "help": "keep the model, for load_checkpoint (needs skops)"},
    "--warm-up": {
        "action": "store_true",
        "help": "only compile every loop, and keep it on disk",
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
