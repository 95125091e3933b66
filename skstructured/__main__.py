"""Predict each row of a table, then learn it; print the errors, and a bound for new rows.

Without FILE the data are scikit-learn's digits. To predict with a saved model:

  python -m skstructured predict MODEL FILE
"""

import errno
import inspect
import os
import re
import sys
import zipfile
from argparse import ArgumentParser, RawDescriptionHelpFormatter

import skstructured
from skstructured._cli.files import first_rows, is_large
from skstructured.checkpoints import HEADER_MEMBER, check_path, load_skops

#: What `--space` accepts, by the field's words, and other names of these.
SPACE_OPTIONS = ("ordinal", "real", "multiclass", "multilabel", "assignment", "ranking")
SPACE_NAMES = {"regression": "real", "simplex": "multiclass", "hypercube": "multilabel"}
SPACE_NAMES |= {"birkhoff": "assignment", "permutahedron": "ranking"}


def _split_names(text):
    """The names that an option lists."""
    return text.split(",")


def _formats(text):
    """The formats of the columns that an option lists, None if it has none; some have commas."""
    pattern = r"(?:^|,)([^,=]*)(?:=([^,]+(?:,(?:[^,=]*%[^,=]*|234\.5|5)(?=,|$))*))?"
    return {match[1]: match[2] or None for match in re.finditer(pattern, text)}


def passes(text):
    """A number, or "auto"."""
    return text if text == "auto" else int(text)


def _parser(program, text):
    """A parser that does not wrap its description, and a function that adds an option to it."""
    parser = ArgumentParser(program, None, text, formatter_class=RawDescriptionHelpFormatter)

    def add(name, metavar, what, **more):
        parser.add_argument(name, metavar=metavar, help=what, **more)

    return parser, add


def _add_bad_cells(add):
    """The option of both commands for cells that cannot be read."""
    what = "read cells that should be numbers or dates, and are not, as missing values"
    add("--bad-cells", None, what, choices=("missing",))


def _learning():
    """The parser of the command that learns."""
    parser, add = _parser("python -m skstructured", __doc__)
    what = "CSV with a header, JSON lines or Parquet; - is standard input"
    add("file", "FILE", what, nargs="?")
    add("--target", "COL[,COL…]", "target column (default: the last); several for some spaces")
    add("--delimiter", "CHAR", "separator of cells (default: that of the header)")
    add("--columns", "COL[,COL…]", "feature columns (default: all others)", type=_split_names)
    add("--qid", "COL", "learning to rank: column of the list (query); the target has grades")
    what = "discrete choice: column of the choice set; the target is 1 for the chosen row"
    add("--choice", "COL", what)
    what = "output space (default: multiclass; real if most numbers are distinct)"
    add("--space", None, what, type=lambda name: SPACE_NAMES.get(name, name), choices=SPACE_OPTIONS)
    what = "order of ordinal classes that are strings, lowest first: poor,fair,good"
    add("--order", "A,B[,…]", what, type=_split_names)
    _add_bad_cells(add)
    what = "columns of dates, and their formats if not obvious: when=%%d/%%m/%%Y"
    add("--dates", "COL[=FORMAT][,…]", what, type=_formats)
    what = "columns of numbers, also with leading zeros; with decimal commas: size=1.234,5"
    add("--numbers", "COL[=FORMAT][,…]", what, type=_formats)
    add("--categories", "COL[,COL…]", "columns of codes that look like numbers", type=_split_names)
    what = "balanced: all classes have the same weight, however rare"
    add("--class-weight", None, what, choices=("balanced",))
    what = "keep the order of the file (the bound needs rows in random order)"
    parser.add_argument("--in-order", action="store_true", help=what)
    add("--seed", "N", "seed of shuffling and draws (default: 0)", type=int, default=0)
    add("--save", "FILE", "save the model, for predict and load_checkpoint (needs skops)")
    what = "leave out the mixture of models: quicker, and --save keeps the linear model"
    parser.add_argument("--no-mixture", action="store_true", help=what)
    what = "passes (epochs) of the saved model (default: auto; the bound is about 1)"
    add("--passes", "N", what, type=passes)
    version = f"skstructured {skstructured.__version__}"
    parser.add_argument("--version", action="version", version=version, help="print the version")
    return parser


def _predicting():
    """The parser of the command that predicts."""
    parser, add = _parser("python -m skstructured predict", inspect.getdoc(_run_predict))
    add("MODEL", None, "a model of --save")
    add("FILE", None, "rows to predict: CSV, JSON lines or Parquet; - is standard input")
    what = "also print the probabilities of all classes or labels"
    parser.add_argument("--proba", action="store_true", help=what)
    what = "columns of FILE to print before the predictions, such as an id"
    add("--keep", "COL[,COL…]", what, type=_split_names, default=[])
    _add_bad_cells(add)
    return parser


def _check_options(options):
    """Raise a ValueError that names the first option without effect among the others."""
    items, in_parts = options.qid or options.choice, is_large(options.file)
    no_file, no_classes = options.file is None, options.space not in (None, "multiclass", "ordinal")
    in_files = "target delimiter columns order qid choice bad_cells numbers categories dates"
    no_items = "is not supported with --qid and --choice, which have their own learners"
    rules = (
        (options.qid, "choice", "is for choices and --qid for grades: use one of them"),
        (items, "space order class_weight", no_items),
        (no_classes, "class_weight", "needs classes"),
        (options.choice, "no_mixture", "has no effect with --choice, which has no mixture"),
        (in_parts, "passes", "is only supported for files that fit into memory"),
        (in_parts, "qid choice", "needs files that fit into memory: use a part of it"),
        (not options.save, "passes", "is about the model that --save keeps: add --save"),
        (options.space not in (None, "ordinal"), "order", "is only supported for --space ordinal"),
        (no_file, in_files, "needs a FILE"),
        (no_file and no_classes, "space", f"{options.space} needs a FILE: the digits are classes"),
    )
    for holds, names, why in rules:
        for name in names.split() if holds else ():
            if (value := getattr(options, name)) is not None and value is not False:
                raise ValueError(f"--{name.replace('_', '-')} {why}.")


def _check_save(path):
    """Raise an error if the model cannot be saved, or would replace a file that is not a model."""
    path = check_path(path)
    if path.exists():
        with open(path, "rb") as file:
            names = zipfile.ZipFile(file).namelist() if zipfile.is_zipfile(file) else ()
            if HEADER_MEMBER not in names:
                raise ValueError(
                    f"--save {path} would overwrite a file that is not a model: move that file."
                )


def main(arguments=None):
    """Run the command; returns the exit status. Errors are one line.

    2 for a bad file, column or option, 130 for Ctrl-C, 141 if the reader of the output closed it.
    """
    argv = sys.argv[1:] if arguments is None else list(arguments)
    if hasattr(sys.stdout, "reconfigure"):  # names of columns may have letters that it has not
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        if argv[:1] == ["predict"]:
            _run_predict(_predicting().parse_args(argv[1:]))
        else:
            _learn(_learning().parse_args(argv), argv)
        sys.stdout.flush()
        return 0
    except BrokenPipeError:  # the reader has enough, as `| head` has
        return _close_quietly()
    except KeyboardInterrupt:
        print("Interrupted", file=sys.stderr)
        return 128 + 2
    except OSError as error:
        place = "" if error.filename is None else f": {error.filename}"
        if error.errno == errno.ENOSPC and not place:
            place = ": standard output"  # files have names
            _close_quietly()
        message = f"{error.strerror or error}{place}"
    except MemoryError as error:
        message = f"not enough memory: {error}"
    except ModuleNotFoundError as error:
        message = f"{error.name} is not installed: pip install {error.name}"
    except (ValueError, ImportError) as error:
        message = str(error).splitlines()[0]
    print(f"error: {message}", file=sys.stderr)
    return 2


def _run_predict(options):
    """Print a prediction for each row of FILE, as CSV with a header.

    FILE must have the columns that MODEL was trained on, in any order. Models of --qid print a
    score per row. Models of --choice print the probability of each row, and 1 for the most probable
    row of each choice.
    """
    for path in (options.MODEL, options.FILE):
        if path != "-":
            os.stat(path)  # an error if it does not exist
    from skstructured._cli.commands import print_predictions  # takes long: after errors of files

    print_predictions(options)


def _learn(options, argv):
    """Learn, and print each line when it is known, or all when the model is saved."""
    _check_options(options)
    if options.save is not None:
        _check_save(options.save)
    first = first_rows(options)
    if options.save is not None:
        load_skops()  # before the rows are learned
    lines = _screen(options, argv, first)
    for line in lines if options.save is None else _all_at_once(lines):
        print(line, flush=True)


def _screen(options, argv, first):
    """Yield the lines to print; the table is named before the learners are imported."""
    from skstructured._cli import tables  # takes long: after the errors of files

    table = tables.read(options, first)
    yield from (table.name, "")
    from skstructured._cli import commands  # takes long: after the name of the table

    yield from commands.report_lines(options, argv, table)


def _all_at_once(lines):
    """Yield lines once all are known; if a file cannot be written, those before the error."""
    ready_lines = []
    try:
        ready_lines.extend(lines)
    except OSError:
        yield from ready_lines
        raise
    yield from ready_lines


def _close_quietly():
    """Discard the rest of stdout; returns the status of a program that SIGPIPE ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + 13


if __name__ == "__main__":
    sys.exit(main())
