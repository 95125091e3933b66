"""Learn a data set row by row from the command line: ``python -m skstructured --help``."""

import os
import sys
import zipfile

from skstructured._cli.options import parser
from skstructured._cli.predict import predict
from skstructured._cli.report import lines_of
from skstructured._cli.tables import QUERIES, SVMLIGHT, ends_with, is_large, read
from skstructured.checkpoints import HEADER, check_path

#: Options that say what is in a file.
ABOUT_FILES = "target delimiter columns order qid choice bad_cells"

#: Why some options would do nothing for items.
OWN = "is not for --qid and --choice, which have a learner of their own"


def _check_options(options):
    """Raise a ValueError naming the first option that would do nothing beside the others."""
    is_sparse, items = ends_with(options.file, SVMLIGHT), options.qid or options.choice
    in_parts = is_sparse or is_large(options.file)
    rules = (
        (options.learner, "passes", "is not for --learner, which is played with its own defaults"),
        (options.bounds, "plot save", "is not for --bounds: run it once with each"),
        (options.qid, "choice", "is for choices and --qid for grades: give one of them"),
        (items, "space order learner bounds plot", OWN),
        (is_sparse, "delimiter columns order bad_cells", "is for tables with names of columns"),
        (is_sparse, "target", "is not for svmlight files, which have one label per row"),
        (is_sparse, "qid choice", f"names a column, and svmlight files have none: {QUERIES}"),
        (in_parts, "bounds plot passes", "is for tables that fit into memory"),
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
    """Run the command; returns the exit status.

    2 for a bad file, column or option, 141 if the reader of the output closed it.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    if hasattr(sys.stdout, "reconfigure"):  # names of columns may have letters that it has not
        sys.stdout.reconfigure(errors="backslashreplace")
    if given[:1] == ["predict"]:
        return _status(lambda: predict(given[1:]))
    options = parser().parse_args(given)
    options.given = given
    return _status(lambda: _learn(options))


def _learn(options):
    """Learn, and print each line as soon as it is known, or once the model is saved."""
    _check_options(options)
    if options.save is not None:
        _check_save(options.save)
    lines = lines_of(options, read(options))
    for line in lines if options.save is None else list(lines):
        print(line, flush=True)


def _status(run):
    """The exit status of what is run; errors are one line."""
    try:
        run()
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


def _close_quietly():
    """Discard what is left of stdout; returns the status of a program that SIGPIPE ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + 13


if __name__ == "__main__":
    sys.exit(main())
