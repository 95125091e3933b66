"""What the command line does with a table: read it, learn it, say how it went, keep the model."""

import sys
import time

from sklearn.pipeline import make_pipeline

from skstructured._cli.files import PARQUET, ends_with
from skstructured._cli.in_python import python_lines
from skstructured._cli.items import item_learner, item_lines
from skstructured._cli.items_table import ItemTable, load_items, refuse_queries
from skstructured._cli.order import change_line, order_line
from skstructured._cli.read import (
    is_for_an_encoder,
    load_digits_stream,
    load_parquet,
    load_text,
)
from skstructured._cli.regression import errors, regression_summary, regressor
from skstructured._cli.report import (
    Choice,
    Run,
    bounds,
    next_command,
    shuffled,
    stream_summary,
    summary,
    unshuffled,
)
from skstructured._cli.stream_file import Stream, is_stream
from skstructured._cli.stream_table import is_large
from skstructured.checkpoints.files import save_checkpoint
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.evaluation.display import RegretDisplay
from skstructured.guarantees._running_risk import rise_found

#: Probability that a change is told of where there is none.
DELTA = 0.05


def read(options):
    """The table to learn, in the order to learn it; what does not fit into memory is a `Stream`."""
    path, started = options.file or options.data, time.perf_counter()
    table = load_digits_stream(options.space) if path is None else _of_file(path, options)
    if isinstance(table, Stream):
        return table
    if path is not None:
        table = table._replace(reading=time.perf_counter() - started)
    if options.in_order or isinstance(table, ItemTable):
        return table
    order = order_line(table.y) if table.space == "simplex" else None
    return shuffled(table._replace(order=order), options.seed)


def _of_file(path, options):
    chosen = (options.columns, options.ignore)
    if options.qid is not None or options.choice is not None:
        return load_items(path, options)
    refuse_queries(path)
    if is_stream(path) and not is_for_an_encoder(path, options):
        return Stream.of(path, options.target, options.space)
    if is_large(path):
        return Stream.encoded(path, options)
    if ends_with(path, PARQUET):
        return load_parquet(path, options.target, options.space, *chosen)
    return load_text(path, options.target, options.space, options.delimiter, *chosen)


def lines_of(options, table):
    """Yield the lines to print, each as soon as it is known."""
    options.space = table.space
    if options.bounds:
        yield from _bounds(options, table)
    elif isinstance(table, Stream):
        yield from _of_stream(options, table)
    elif isinstance(table, ItemTable):
        yield from _of_items(options, table)
    elif table.space == "real":
        yield from _of_amounts(options, table)
    else:
        yield from _of_table(options, table)


def _bounds(options, table):
    """The table of regret bounds."""
    if table.space == "real":
        raise ValueError("--bounds is for classes and the other spaces, not for real numbers.")
    given = (options.space, options.regularizer, options.decoder)
    named = options.learner
    choices = Choice.named(named) if named else Choice.grid(*given, **_parameters(options))
    yield from bounds(table, choices, options.seed, _progress)


def _of_stream(options, table):
    learner, play = _learner(options)
    result, seconds = table.validated(learner, play, options.seed, _progress)
    yield from stream_summary(table, result, seconds, options.space)
    yield from filter(None, [change_line(result.changed_)])
    if options.save:
        save_checkpoint(table.named(result.estimator), options.save)
        yield _kept(options)
    yield _next(options)


def _of_table(options, table):
    learner, play = _learner(options)
    run = Run.of(table, learner, options.seed, _progress, "learning", play)
    losses = run.result.expected_target_loss
    yield from summary(table, run, options.space, options.in_order)
    changed = options.in_order and rise_found(losses.clip(0.0, 1.0), DELTA) is not None
    yield from filter(None, [table.order, change_line(changed)])
    if options.plot:
        RegretDisplay.from_result(run.result).figure_.savefig(options.plot)
        yield f"Picture          {options.plot}"
    yield from _made(options, table, learner)
    yield _next(options)


def _of_amounts(options, table):
    """Lines on real numbers, which a robust regressor learns."""
    for name in ("learner", "plot", "optimizer", "regularizer", "decoder"):
        if getattr(options, name) is not None:
            raise ValueError(f"--{name} is not for real numbers: see --space.")
    learner = regressor(options.seed, not options.no_standardize)
    missed, learned, seconds = errors(table, learner, options.seed, _progress)
    yield from regression_summary(table, missed, learned, seconds)
    yield from _made(options, table, learner)
    yield _next(options)


def _of_items(options, table):
    """Lines on lists or choices."""
    learner = item_learner(options)
    yield from item_lines(options, table, learner, _progress)
    if options.passes is not None:
        learner.set_params(max_iter=options.passes)
    _keep_order(options, learner)
    yield from python_lines(table, learner, options)
    if options.save:
        learner.fit(table.items, table.y)
        learner.round_column_ = table.round
        save_checkpoint(make_pipeline(table.encoder, learner), options.save)
        yield _kept(options)
        yield from _passes(learner)
    yield _next(options)


def _progress(label, started):
    """Print a rewritten line to stderr once a run has taken two seconds."""

    def report(done, total):
        elapsed = time.perf_counter() - started
        if elapsed > 2.0 and sys.stderr.isatty():
            end, of = "\n" if done == total else "", "" if total is None else f"/{total}"
            print(f"\r{label}: {done}{of} rows, {elapsed:.0f} s", end=end, file=sys.stderr)

    return report


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


def _next(options):
    """The last line: what to try next."""
    has_file = (options.file or options.data) is not None
    return next_command(options.given, has_file, options.save)


def _made(options, table, learner):
    """The lines of Python that make the model, which is fitted and saved if it is to be."""
    if options.passes is not None and isinstance(learner, OnlineStructuredPredictor):
        learner.set_params(max_iter=options.passes)
    _keep_order(options, learner)
    yield from python_lines(table, learner, options)
    if options.save:
        rows = table if options.in_order else unshuffled(table, options.seed)
        model = learner if table.encoder is None else make_pipeline(table.encoder, learner)
        learner.fit(rows.X, rows.y)
        save_checkpoint(model, options.save)
        yield _kept(options)
        if isinstance(learner, OnlineStructuredPredictor):
            yield from _passes(learner)


def _keep_order(options, learner):
    """Where rows stand in order, have `fit` learn them so, and once if nothing else is asked for.

    The last rows are then those that a model of a stream that moves is made of.
    """
    known = learner.get_params()
    if options.in_order and "shuffle" in known:
        learner.set_params(shuffle=False)
        if options.passes is None and "max_iter" in known:
            learner.set_params(max_iter=1)


def _passes(learner):
    """A line on the passes of the kept model, where the bound is not about it."""
    if learner.n_iter_ > 1:
        yield (
            f"Passes           {learner.n_iter_}; the bound for new rows is about one, and "
            "--passes 1 keeps that model."
        )


def _kept(options):
    """The line that says how Python reads the model."""
    read = f"skstructured.checkpoints.load_checkpoint({options.save!r})"
    return f"Model            {options.save}; in Python: {read}.predict(...)"
