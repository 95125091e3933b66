"""Learn a data set row by row from the command line: ``python -m skstructured --help``."""

import importlib.util
import os
import sys
import zipfile
from pathlib import Path

from skstructured._cli.files import SVMLIGHT, ends_with, is_large
from skstructured._cli.learn import lines_of
from skstructured._cli.options import parser
from skstructured._cli.predict import predict
from skstructured._cli.tables import read

#: Options that a custom learner does not read.
OURS = ("optimizer", "no_average", "no_standardize", "passes", "regularizer", "decoder")

#: Options that say what is in a file.
ABOUT_FILES = ("target", "delimiter", "columns", "order", "qid", "choice", "bad_cells")

#: Options that are not for rows that are items.
NOT_FOR_ITEMS = ("space", "order", "regularizer", "decoder", "learner", "bounds", "plot")

#: The member of a file that tells a kept model from other files.
MEMBER = "skstructured.json"


def _fail(message):
    print(f"error: {message}", file=sys.stderr)
    return 2


def _close_quietly():
    """Discard what is left of stdout; returns the status of a program that SIGPIPE ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + 13


def _without_effect(options):
    """Names of options that would do nothing beside the others, and why."""
    path = options.file or options.data
    is_sparse = ends_with(path, SVMLIGHT)
    if options.learner is not None:
        yield OURS, "is not for --learner, which is played with its own defaults"
    if options.bounds:
        yield ("plot", "save"), "is not for --bounds: run it once with each"
    if options.qid is not None:
        yield ("choice",), "is for choices and --qid for grades: give one of them"
    if options.qid is not None or options.choice is not None:
        yield NOT_FOR_ITEMS, "is not for --qid and --choice, which have a learner of their own"
    if is_sparse or is_large(path):
        yield ("bounds", "plot", "passes"), "is for tables that fit into memory"
    if is_sparse:
        yield ("delimiter", "columns", "order", "bad_cells"), "is for tables with names of columns"
    if options.save is None:
        yield ("passes",), "is about the model that --save keeps: give --save too"
    if options.space not in (None, "ordinal"):
        yield ("order",), "is for --space ordinal"
    if options.file is not None:
        yield ("data",), "names a file, and FILE another: give one of them"
    elif options.data is None:
        yield ABOUT_FILES, "is about a file, and none is given"


def _check_options(options):
    """Raise a ValueError naming the first option that would do nothing."""
    for names, why in _without_effect(options):
        for name in names:
            value = getattr(options, name)
            if value is not None and value is not False:
                raise ValueError(f"--{name.replace('_', '-')} {why}.")
    options.file = options.file or options.data


def _check_save(options):
    """Raise an error if the model cannot be saved, or would replace what is not a model."""
    if options.save is None:
        return
    path = Path(options.save)
    if importlib.util.find_spec("skops") is None:
        raise ImportError("checkpoints need skops, which is not installed: pip install skops")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ValueError(f"--save must name a file in a folder that exists, got {path}.")
    if path.exists() and not _is_model(path):
        raise ValueError(f"--save {path} would overwrite a file that is not a model: move it.")


def _is_model(path):
    """Whether a file is a model that was kept."""
    if not path.is_file() or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as members:
        return MEMBER in members.namelist()


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
    _check_save(options)
    lines = lines_of(options, read(options))
    for line in lines if options.save is None else list(lines):
        print(line, flush=True)


def _status(run):
    """The exit status of what is run; errors are one line."""
    try:
        run()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has enough, as `| head` has
        return _close_quietly()
    except OSError as error:
        place = "" if error.filename is None else f": {error.filename}"
        return _fail(f"{error.strerror or error}{place}")
    except MemoryError as error:
        return _fail(f"not enough memory: {error}")
    except (ValueError, ImportError) as error:
        return _fail(str(error).splitlines()[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
