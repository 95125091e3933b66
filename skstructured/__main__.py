"""Learn a data set row by row from the command line: ``python -m skstructured --help``."""

import argparse
import os
import sys
import time

from sklearn.pipeline import make_pipeline

from skstructured._cli.read import load_csv, load_digits_stream
from skstructured._cli.report import (
    Choice,
    Run,
    bounds,
    comparison,
    compiling_is_told,
    next_command,
    shuffled,
    stream_summary,
    summary,
)
from skstructured._cli.stream_file import Stream, is_stream
from skstructured._cli.warm_up import warm_up
from skstructured.checkpoints.files import check_path, save_checkpoint
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.evaluation.display import RegretDisplay
from skstructured.optimizers import OPTIMIZERS
from skstructured.spaces import SPACES

DESCRIPTION = """\
Learn a table row by row: predict each row, then learn it. No step size, no scaling, no tuning.

Prints how often it was wrong while learning, what new rows will cost at most (with 95%
confidence, if they come from where these came from), and how long it took. Without FILE the
data are scikit-learn's digits.

A Parquet file (.parquet) or a svmlight file (.svm, .svmlight, .libsvm) may be larger than memory:
its rows are taken in their own order, some thousand at a time.

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

#: Options that a learner of one's own does not read.
OURS = ("optimizer", "no_average", "no_standardize", "passes", "regularizer", "decoder")


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m skstructured",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name, given in OPTIONS.items():
        parser.add_argument(*name.split(), **given)
    return parser


def _progress(label, started):
    """Print a rewritten line to stderr once a run has taken two seconds."""

    def report(done, total):
        elapsed = time.perf_counter() - started
        if elapsed > 2.0 and sys.stderr.isatty():
            end, of = "\n" if done == total else "", "" if total is None else f"/{total}"
            print(f"\r{label}: {done}{of} rows, {elapsed:.0f} s", end=end, file=sys.stderr)

    return report


def _fail(message):
    print(f"error: {message}", file=sys.stderr)
    return 2


def _close_quietly():
    """Discard what is left of stdout; returns the status of a program that SIGPIPE ends."""
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


def _parameters(options):
    """Parameters of the learner, as the options set them."""
    default = "ogd" if options.bounds else "auto"
    return {
        "constants": "sharp" if options.bounds else "paper",
        "optimizer": options.optimizer or default,
        "average": False if options.no_average or options.bounds else "polynomial",
        "standardize": not options.no_standardize,
        "random_state": options.seed,
    }


def _without_effect(options):
    """Names of options that would do nothing beside the others, and why."""
    if options.learner is not None:
        yield OURS, "is not for --learner, which is played with its own defaults"
    if options.bounds:
        yield ("plot", "save"), "is not for --bounds: run it once with each"
    if is_stream(options.file or options.data):
        yield ("bounds", "plot", "passes", "delimiter"), "is for tables that fit into memory"
    if options.save is None:
        yield ("passes",), "is about the model that --save keeps: give --save too"
    if options.file is not None:
        yield ("data",), "names a file, and FILE another: give one of them"
    elif options.data is None:
        yield ("target", "delimiter"), "is about a file, and none is given"


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


def _learner(options):
    """The learner to run, and which of its weights are played."""
    if options.learner is not None:
        return Choice.named(options.learner)[0].learner, "iterates"
    given = (options.space, options.regularizer, options.decoder or "nearest")
    learner = Choice.grid(*given, **_parameters(options))[0].learner
    if options.regularizer is None:
        learner.set_params(regularizer=None)
    if learner.optimizer in ("auto", "mixture"):
        return learner, "iterates"
    return learner, "last" if options.no_average else "average"


def _lines(options, table):
    """Yield the lines to print, each as soon as it is known."""
    if options.bounds:
        given = (options.space, options.regularizer, options.decoder)
        named = options.learner
        choices = Choice.named(named) if named else Choice.grid(*given, **_parameters(options))
        yield from bounds(table, choices, options.seed, _progress)
        return
    learner, play = _learner(options)
    if isinstance(table, Stream):
        result, seconds = table.validated(learner, play, options.seed, _progress)
        yield from stream_summary(table.name, result, seconds, options.space)
        if options.save:
            save_checkpoint(table.named(result.estimator), options.save)
            yield f"Model            {options.save}: load_checkpoint(…).predict(rows)"
        if table.counts is not None:
            loss = result.expected_target_loss
            yield comparison(options.space, table.classes, loss, table.counts)
        yield _next(options)
        return
    run = Run.of(table, learner, options.seed, _progress, "learning", play)
    yield from summary(table, run, options.space)
    if options.plot:
        RegretDisplay.from_result(run.result).figure_.savefig(options.plot)
        yield f"Picture          {options.plot}"
    if options.save:
        yield f"Model            {_save(options, table, learner)}"
    yield comparison(options.space, table.y, run.result.expected_target_loss.mean())
    yield _next(options)


def _next(options):
    """The last line: what to try next."""
    has_file = (options.file or options.data) is not None
    return next_command(options.given, has_file, options.save is not None)


def _save(options, table, learner):
    """Fit and save a model; returns where it is, and how to use it."""
    if isinstance(learner, OnlineStructuredPredictor):
        learner.set_params(max_iter=1 if options.passes is None else options.passes)
    model = learner if table.encoder is None else make_pipeline(table.encoder, learner)
    learner.fit(table.X, table.y)
    save_checkpoint(model, options.save)
    return f"{options.save}: load_checkpoint(…).predict(a frame with these columns)"


def _read(options):
    """The table to learn, in the order to learn it."""
    path = options.file or options.data
    if is_stream(path):
        return Stream.of(path, options.target, options.space)
    if path is None:
        table = load_digits_stream(options.space)
    else:
        table = load_csv(path, options.target, options.space, options.delimiter)
    return table if options.in_order else shuffled(table, options.seed)


def main(arguments=None):
    """Run the command; returns the exit status.

    2 for a bad file, column or option, 1 where compiled loops could not be kept, 141 where the
    reader of the output closed it.
    """
    options = _parser().parse_args(arguments)
    options.given = sys.argv[1:] if arguments is None else arguments
    if options.warm_up:
        return _warm_up()
    try:
        _check_options(options)
        _check_save(options)
        with compiling_is_told():
            for line in _lines(options, _read(options)):
                print(line, flush=True)
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
