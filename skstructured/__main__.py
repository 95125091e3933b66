"""Learn a data set row by row from the command line: ``python -m skstructured --help``."""

import os
import sys
import time

from sklearn.pipeline import make_pipeline

from skstructured._cli.options import parser
from skstructured._cli.predict import predict
from skstructured._cli.read import (
    is_for_an_encoder,
    load_csv,
    load_digits_stream,
    load_parquet,
)
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

#: Options that a learner of one's own does not read.
OURS = ("optimizer", "no_average", "no_standardize", "passes", "regularizer", "decoder")


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
    if is_stream(path) and not is_for_an_encoder(path, options.target):
        return Stream.of(path, options.target, options.space)
    if path is None:
        table = load_digits_stream(options.space)
    elif is_stream(path):
        table = load_parquet(path, options.target, options.space)
    else:
        table = load_csv(path, options.target, options.space, options.delimiter)
    return table if options.in_order else shuffled(table, options.seed)


def main(arguments=None):
    """Run the command; returns the exit status.

    2 for a bad file, column or option, 1 where compiled loops could not be kept, 141 where the
    reader of the output closed it.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == ["predict"]:
        return _status(lambda: predict(given[1:]))
    options = parser().parse_args(given)
    options.given = given
    return _warm_up() if options.warm_up else _status(lambda: _learn(options))


def _learn(options):
    """Learn, and print each line as soon as it is known."""
    _check_options(options)
    _check_save(options)
    with compiling_is_told():
        for line in _lines(options, _read(options)):
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
