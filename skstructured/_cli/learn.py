"""What the command line does with a table: read it, learn it, say how it went, keep the model."""

from sklearn.pipeline import make_pipeline

from skstructured._cli import report
from skstructured._cli.items import item_learner, item_lines
from skstructured._cli.tables import WIDE, make_space
from skstructured.checkpoints import save_checkpoint
from skstructured.estimators.kernel.margins import PiSTOLRegressor
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.evaluation.display import RegretDisplay
from skstructured.items import ItemStructuredPredictor, ListwiseRanker

#: Learners that make several passes, and whose bound is about one.
HAVE_BOUNDS = (OnlineStructuredPredictor, ItemStructuredPredictor, ListwiseRanker)


def lines_of(options, table):
    """Yield the lines to print, each as soon as it is known."""
    if options.bounds:
        yield from _bounds(options, table)
        return
    if table.qid is not None:
        learner = item_learner(options)
        yield from item_lines(options, _ordered(options, table), learner)
    elif table.space == "real":
        for name in ("learner", "plot", "optimizer", "regularizer", "decoder"):
            if getattr(options, name) is not None:
                raise ValueError(f"--{name} is not for real numbers: see --space.")
        standardize = False if options.no_standardize else "auto"
        learner = PiSTOLRegressor(random_state=options.seed, standardize=standardize)
        yield from report.regression_summary(_ordered(options, table), learner, options.seed)
    else:
        learner = yield from _of_classes(options, table)
    if options.save:
        yield from _kept(options, table, learner)
    yield report.next_command(options)


def _bounds(options, table):
    """The table of regret bounds."""
    if table.space == "real":
        raise ValueError("--bounds is for classes and the other spaces, not for real numbers.")
    named = report.custom_learner(options.learner) if options.learner else None
    learners = named or _grid(options, table, options.decoder)
    yield from report.bounds(_ordered(options, table), learners, options.seed)


def _ordered(options, table):
    """The table in the order to learn it."""
    return table if options.in_order else table.in_random_order(options.seed)


def _grid(options, table, decoder):
    """Learners as the options set them."""
    given = {
        "constants": "sharp" if options.bounds else "paper",
        "optimizer": options.optimizer or ("ogd" if options.bounds else "auto"),
        "average": False if options.no_average or options.bounds else "polynomial",
        "standardize": not options.no_standardize,
        "random_state": options.seed,
    }
    space = make_space(table.space, options.order)
    return report.grid(space, options.regularizer, decoder, **given)


def _learner(options, table):
    """The learner to run, and which of its weights are played."""
    if options.learner is not None:
        return next(iter(report.custom_learner(options.learner).values())), "iterates"
    learner = next(iter(_grid(options, table, options.decoder or "nearest").values()))
    learner.set_params(regularizer=options.regularizer)
    if learner.optimizer in ("auto", "mixture"):
        return learner, "iterates"
    return learner, "last" if options.no_average else "average"


def _of_classes(options, table):
    """Lines on classes and outputs of the other spaces; returns the learner to keep."""
    learner, play = _learner(options, table)
    rows = table if table.chunks is not None else _ordered(options, table)
    result, seconds = report.played(rows, learner, options.seed, play)
    yield from report.summary(rows, result, seconds, options)
    if table.space == "simplex" and rows is not table:
        yield from filter(None, [report.order_line(table.y)])
    if rows is table:
        yield from filter(None, [report.change_line(result.changed_)])
    if options.plot:
        RegretDisplay.from_result(result).figure_.savefig(options.plot)
        yield f"Picture          {options.plot}"
    return learner if table.chunks is None else result.estimator


def _kept(options, table, learner):
    """Fit the learner on all rows as the file has them and save it; lines that say so.

    With ``--in-order`` `fit` learns the rows in this order, and once if nothing else is asked for:
    the last rows are those that a model of a drifting stream is made of.
    """
    if table.chunks is None:
        learner.set_params(**_passes(options, learner.get_params()))
        learner.fit(table.X, table.y, *(() if table.qid is None else (table.qid,)))
    if table.qid is not None:
        learner.round_column_ = table.round
    elif table.space in WIDE and table.targets:
        learner.space_.label_names_ = list(table.targets)
    model = learner if table.encoder is None else make_pipeline(table.encoder, learner)
    save_checkpoint(model, options.save)
    yield (
        f"Model            {options.save}; in Python: "
        f"skstructured.checkpoints.load_checkpoint({options.save!r}).predict(...)"
    )
    if isinstance(learner, HAVE_BOUNDS) and table.chunks is None and learner.n_iter_ > 1:
        yield (
            f"Passes           {learner.n_iter_}; the bound for new rows is about one, and "
            "--passes 1 keeps that model."
        )


def _passes(options, known):
    """Parameters of the learner that is kept, of those that are `known`."""
    given = {"shuffle": False, "max_iter": 1} if options.in_order else {}
    given |= {} if options.passes is None else {"max_iter": options.passes}
    return {name: value for name, value in given.items() if name in known}
