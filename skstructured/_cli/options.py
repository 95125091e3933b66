"""Learn a table row by row: predict each row, then learn it. No step size, no scaling, no tuning.

Prints how often it was wrong while learning, an upper bound on the error on new rows (with
95% confidence, if they come from where these came from), and how long it took. Without FILE the
data are scikit-learn's digits.

"python -m skstructured predict MODEL FILE" prints what a model that --save kept predicts for the
rows of a file, with --proba how likely each class is.

Columns may be numbers, words, dates and long texts, with missing values. The target is a class, or
a number (then a robust regressor learns it); --space names other outputs. Files may be larger than
memory: from 64 MB on (8 MB if compressed), and always from svmlight files (.svm, .libsvm), rows are
taken in their own order, a few thousand at a time. Tables need pandas: pip install ".[table]".

If rows are items of lists or of choices, --qid COL names the column that says which rows are of one
list, such as the results of a query, and the target has their grades; --choice COL the column that
says which rows are the alternatives of one choice, and the target is 1 for the chosen one.

With --bounds it prints a table, one line for each (regularizer, decoder). "mistakes" is the
exact expected cumulative target loss; "comparator" is the surrogate loss of the fixed linear
model that makes the bound smallest, in hindsight; "bound" is the number that theory says the
expected mistakes never exceed, on any rows; "margin" is bound minus mistakes. A decoder without
a theorem shows "none".
"""

import argparse

import skstructured
from skstructured.spaces import SPACES, TASKS


def names(given):
    """The names that an option lists."""
    return given.split(",")


def passes(given):
    """A number, or "auto"."""
    return given if given == "auto" else int(given)


class Parser(argparse.ArgumentParser):
    """A parser whose description stands as it is written."""

    def __init__(self, program, text):
        super().__init__(program, None, text, formatter_class=argparse.RawDescriptionHelpFormatter)

    def add(self, name, metavar, what, **more):
        """Add an option that has a value."""
        self.add_argument(name, metavar=metavar, help=what, **more)

    def add_bad_cells(self):
        """Add the option that both commands have."""
        what = "take cells that should be numbers or dates and are not as missing"
        self.add("--bad-cells", None, what, choices=("missing",))


def parser():
    """The parser of the command line."""
    made = Parser("python -m skstructured", __doc__)
    add, spaces = made.add, [name for name in SPACES if name not in ("sequence", *TASKS)]
    what = "CSV with a header line, JSON lines, Parquet, svmlight; - is standard input"
    add("file", "FILE", what, nargs="?")
    add("--target", "COL[,COL…]", "target (default: the last); several if --space has several")
    add("--delimiter", "CHAR", "what separates cells (default: what separates the header)")
    add("--columns", "COL[,COL…]", "the features (default: all)", type=names)
    add("--qid", "COL", "learn to rank: rows with one value here are one list, with grades")
    add("--choice", "COL", "learn choices: rows with one value here are alternatives of one choice")
    what = "what an output is (default: classes; real if most numbers are distinct)"
    add("--space", None, what, choices=(*spaces, "real"))
    what = "ordinal classes that are words, the lowest first: poor,fair,good"
    add("--order", "A,B[,…]", what, type=names)
    made.add_bad_cells()
    what = "take rows in the file's order, which then must have no meaning for the bound"
    made.add_argument("--in-order", action="store_true", help=what)
    add("--seed", "N", "seed of the shuffling and the draws (default: 0)", type=int, default=0)
    add("--learner", "MODULE:CLASS", "play this OnlineLearner, with its defaults")
    made.add_argument("--bounds", action="store_true", help="print the table of regret bounds")
    add("--plot", "FILE.png", "draw losses and bounds over the rows")
    add("--save", "FILE", "keep the model, for predict and load_checkpoint (needs skops)")
    what = "passes of the kept model (default: auto; the bound is about 1)"
    add("--passes", "N", what, type=passes)
    version = f"skstructured {skstructured.__version__}"
    made.add_argument("--version", action="version", version=version, help="the version")
    return made
