"""Progressive validation from the command line: ``python -m skstructured --help``."""

import argparse
import os
import sys
import time

from skstructured._report import Choice, load_csv, load_digits_stream, table
from skstructured._warm_up import warm_up

DESCRIPTION = """\
Play a data set row by row with an online learner: predict each row, then learn it.

The table has one line for each (regularizer, decoder). "mistakes" is the exact expected
cumulative target loss; "comparator" is the surrogate loss of the fixed linear model that
makes the bound smallest, in hindsight; "bound" is the number that theory says the expected
mistakes never exceed; "margin" is bound minus mistakes. A decoder without a theorem shows
"none". Without --data the data are scikit-learn's digits.
"""


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m skstructured",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--data", metavar="FILE.csv", help="a CSV file with a header line")
    add("--target", metavar="COL[,COL…]", help="target column; several for --space hypercube")
    spaces = ("simplex", "ordinal", "hypercube")
    add("--space", choices=spaces, default="simplex", help="what an output is (default: simplex)")
    add("--regularizer", help="only this one: shannon, squared or tsallis")
    add("--decoder", help="only this one: randomized, nearest, map or sampled")
    add("--learner", metavar="MODULE:CLASS", help="play this OnlineLearner, with its defaults")
    add("--shuffle", action="store_true", help="shuffle the rows first")
    add("--seed", type=int, default=0, help="seed of the shuffling and the draws (default: 0)")
    add("--warm-up", action="store_true", help="only compile every loop, and keep it on disk")
    return parser


def _progress(label, started):
    """Print a rewritten line to stderr once a run has taken two seconds."""

    def report(done, total):
        elapsed = time.perf_counter() - started
        if elapsed > 2.0 and sys.stderr.isatty():
            end = "\n" if done == total else ""
            print(f"\r{label}: {done}/{total} rows, {elapsed:.0f} s", end=end, file=sys.stderr)

    return report


def _fail(message):
    print(f"error: {message}", file=sys.stderr)
    return 2


def _close_quietly():
    """Send what is left of stdout nowhere; returns the status of a program that SIGPIPE ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + 13


def _warm_up():
    """Compile everything; returns the exit status: 1 where it could not be kept."""
    started = time.perf_counter()
    print("compiling, which takes a minute or two …", flush=True)
    folder, seconds = warm_up(), time.perf_counter() - started
    if folder is None:
        print("error: no folder to keep it in; set NUMBA_CACHE_DIR to one.", file=sys.stderr)
        return 1
    print(f"compiled in {seconds:.0f} s; kept in {folder}")
    return 0


def main(arguments=None):
    """Run the command; returns the exit status.

    2 for a bad file, column or option, 1 where compiled loops could not be kept, 141 where the
    reader of the output closed it.
    """
    options = _parser().parse_args(arguments)
    if options.warm_up:
        return _warm_up()
    try:
        if options.data is None:
            X, y, name = load_digits_stream(options.space)
        else:
            X, y, name = load_csv(options.data, options.target, options.space)
        if options.learner is None:
            choices = Choice.grid(options.space, options.regularizer, options.decoder)
        else:
            choices = Choice.named(options.learner)
        for line in table(X, y, name, choices, options.shuffle, options.seed, _progress):
            print(line, flush=True)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has enough, as `| head` has
        return _close_quietly()
    except OSError as error:
        place = "" if error.filename is None else f": {error.filename}"
        return _fail(f"{error.strerror}{place}")
    except MemoryError as error:
        return _fail(f"not enough memory: {error}")
    except ValueError as error:
        return _fail(str(error).splitlines()[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
