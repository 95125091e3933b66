"""Learn a data set row by row from the command line: ``python -m skstructured --help``."""

import os
import sys
import time

from skstructured._cli.files import SVMLIGHT, ends_with
from skstructured._cli.learn import lines_of, read
from skstructured._cli.options import parser
from skstructured._cli.predict import predict
from skstructured._cli.stream_file import is_stream
from skstructured._cli.stream_table import is_large
from skstructured._cli.warm_up import warm_up
from skstructured.checkpoints.files import check_path

#: Options that a learner of one's own does not read.
OURS = ("optimizer", "no_average", "no_standardize", "passes", "regularizer", "decoder")


#: Options that say what is in a file.
ABOUT_FILES = ("target", "delimiter", "columns", "ignore", "qid", "choice")

#: Options that are not for rows that are items.
NOT_FOR_ITEMS = ("space", "regularizer", "decoder", "learner", "bounds", "plot")


def _fail(message):
    print(f"error: {message}", file=sys.stderr)
    return 2


def _close_quietly():
    """Discard what is left of stdout; returns the status of a program that SIGPIPE ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + 13


def _warm_up():
    """Compile everything; returns the exit status."""
    started = time.perf_counter()
    print("compiling, which takes a minute or two …", flush=True)
    warm_up()
    print(f"compiled in {time.perf_counter() - started:.0f} s")
    return 0


def _without_effect(options):
    """Names of options that would do nothing beside the others, and why."""
    path = options.file or options.data
    if options.learner is not None:
        yield OURS, "is not for --learner, which is played with its own defaults"
    if options.bounds:
        yield ("plot", "save"), "is not for --bounds: run it once with each"
    if options.qid is not None:
        yield ("choice",), "is for choices and --qid for grades: give one of them"
    if options.qid is not None or options.choice is not None:
        yield NOT_FOR_ITEMS, "is not for --qid and --choice, which have a learner of their own"
    elif is_stream(path) or is_large(path):
        yield ("bounds", "plot", "passes"), "is for tables that fit into memory"
    if is_stream(path):
        yield ("delimiter",), "is for text files"
    if ends_with(path, SVMLIGHT):
        yield ("columns", "ignore"), "is for columns that have names"
    if options.save is None:
        yield ("passes",), "is about the model that --save keeps: give --save too"
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


def _check_save(options):
    """Raise an error if the model could not be saved, before anything is learned."""
    if options.save is not None:
        check_path(options.save)


def main(arguments=None):
    """Run the command; returns the exit status.

    2 for a bad file, column or option, 1 where compiled loops could not be kept, 141 where the
    reader of the output closed it.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == ["predict"]:
        return _status(lambda: _predict(given[1:]))
    if hasattr(sys.stdout, "reconfigure"):  # names of columns may have letters that it has not
        sys.stdout.reconfigure(errors="backslashreplace")
    options = parser().parse_args(given)
    options.given = given
    return _warm_up() if options.warm_up else _status(lambda: _learn(options))


def _predict(arguments):
    """Print predictions."""
    predict(arguments)


def _learn(options):
    """Learn, and print each line as soon as it is known."""
    _check_options(options)
    _check_save(options)
    for line in lines_of(options, read(options)):
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
