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

import os
import sys
import zipfile
from argparse import ArgumentParser, RawDescriptionHelpFormatter

import skstructured
from skstructured._cli import predict
from skstructured._cli.report import lines_of
from skstructured._cli.tables import QUERIES, SVMLIGHT, WIDE, ends_with, is_large, read
from skstructured.checkpoints import HEADER, check_path
from skstructured.spaces import SPACES, TASKS

#: Options that say what is in a file.
ABOUT_FILES = "target delimiter columns order qid choice bad_cells"

#: Why some options would do nothing for items.
OWN = "is not for --qid and --choice, which have a learner of their own"

#: What both commands do with cells that cannot be read.
BAD_CELLS = "take cells that should be numbers or dates and are not as missing"


def _names(given):
    """The names that an option lists."""
    return given.split(",")


def passes(given):
    """A number, or "auto"."""
    return given if given == "auto" else int(given)


def _parser(program, text):
    """A parser whose description stands as it is written, and what adds an option of a value."""
    made = ArgumentParser(program, None, text, formatter_class=RawDescriptionHelpFormatter)

    def add(name, metavar, what, **more):
        made.add_argument(name, metavar=metavar, help=what, **more)

    return made, add


def _learning():
    """The parser of the command that learns."""
    made, add = _parser("python -m skstructured", __doc__)
    what = "CSV with a header line, JSON lines, Parquet, svmlight; - is standard input"
    add("file", "FILE", what, nargs="?")
    add("--target", "COL[,COL…]", "target (default: the last); several if --space has several")
    add("--delimiter", "CHAR", "what separates cells (default: what separates the header)")
    add("--columns", "COL[,COL…]", "the features (default: all)", type=_names)
    add("--qid", "COL", "learn to rank: rows with one value here are one list, with grades")
    add("--choice", "COL", "learn choices: rows with one value here are alternatives of one choice")
    spaces = [name for name in SPACES if name not in ("sequence", *TASKS)]
    what = "what an output is (default: classes; real if most numbers are distinct)"
    add("--space", None, what, choices=(*spaces, "real"))
    what = "ordinal classes that are words, the lowest first: poor,fair,good"
    add("--order", "A,B[,…]", what, type=_names)
    add("--bad-cells", None, BAD_CELLS, choices=("missing",))
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


def _predicting():
    """The parser of the command that predicts."""
    made, add = _parser("python -m skstructured predict", predict.__doc__)
    add("MODEL", None, "what --save kept")
    add("FILE", None, "rows to predict")
    what = "print the probabilities of all classes, or of each label, too"
    made.add_argument("--proba", action="store_true", help=what)
    what = "columns of FILE to print before the prediction, such as an id"
    add("--keep", "COL[,COL…]", what, type=_names, default=[])
    add("--bad-cells", None, BAD_CELLS, choices=("missing",))
    return made


def _check_options(options):
    """Raise a ValueError naming the first option that would do nothing beside the others."""
    is_sparse, items = ends_with(options.file, SVMLIGHT), options.qid or options.choice
    one_label = f"{options.space} is not for svmlight files, which have one label per row"
    in_parts = is_sparse or is_large(options.file)
    rules = (
        (options.learner, "passes", "is not for --learner, which is played with its own defaults"),
        (options.bounds, "plot save", "is not for --bounds: run it once with each"),
        (options.qid, "choice", "is for choices and --qid for grades: give one of them"),
        (items, "space order learner bounds plot", OWN),
        (is_sparse, "delimiter columns order bad_cells", "is for tables with names of columns"),
        (is_sparse, "target", "is not for svmlight files, which have one label per row"),
        (is_sparse and options.space in WIDE, "space", one_label),
        (is_sparse, "qid choice", f"names a column, and svmlight files have none: {QUERIES}"),
        (in_parts, "bounds plot passes", "is for tables that fit into memory"),
        (in_parts, "qid choice", "is for files that fit into memory: take a part of it"),
        (not options.save, "passes", "is about the model that --save keeps: give --save too"),
        (options.space not in (None, "ordinal"), "order", "is for --space ordinal"),
        (options.file is None, ABOUT_FILES, "is about a file, and none is given"),
    )
    for holds, names, why in rules:
        for name in names.split() if holds else ():
            if (value := getattr(options, name)) is not None and value is not False:
                raise ValueError(f"--{name.replace('_', '-')} {why}.")


def _check_save(path):
    """Raise an error if the model cannot be saved, or would replace what is not a model."""
    path = check_path(path)
    if path.exists():
        with open(path, "rb") as file:
            if not zipfile.is_zipfile(file) or HEADER not in zipfile.ZipFile(file).namelist():
                raise ValueError(
                    f"--save {path} would overwrite a file that is not a model: move it."
                )


def main(arguments=None):
    """Run the command; returns the exit status. Errors are one line.

    2 for a bad file, column or option, 141 if the reader of the output closed it.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    if hasattr(sys.stdout, "reconfigure"):  # names of columns may have letters that it has not
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        if given[:1] == ["predict"]:
            predict.print_table(_predicting().parse_args(given[1:]))
        else:
            _learn(_learning().parse_args(given), given)
        sys.stdout.flush()
        return 0
    except BrokenPipeError:  # the reader has enough, as `| head` has
        return _close_quietly()
    except OSError as error:
        place = "" if error.filename is None else f": {error.filename}"
        message = f"{error.strerror or error}{place}"
    except MemoryError as error:
        message = f"not enough memory: {error}"
    except ModuleNotFoundError as error:
        message = f"{error.name} is not installed: pip install {error.name}"
    except (ValueError, ImportError) as error:
        message = str(error).splitlines()[0]
    print(f"error: {message}", file=sys.stderr)
    return 2


def _learn(options, given):
    """Learn, and print each line as soon as it is known, or once the model is saved."""
    _check_options(options)
    if options.save is not None:
        _check_save(options.save)
    lines = lines_of(options, given, read(options))
    for line in lines if options.save is None else list(lines):
        print(line, flush=True)


def _close_quietly():
    """Discard what is left of stdout; returns the status of a program that SIGPIPE ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + 13


if __name__ == "__main__":
    sys.exit(main())
