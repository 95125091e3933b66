"""What the command line does with a table: read it, learn it, say how it went, keep the model."""

from sklearn.pipeline import make_pipeline

from skstructured._cli import report
from skstructured._cli.items import item_lines
from skstructured._cli.tables import WIDE, make_space
from skstructured.checkpoints import save_checkpoint
from skstructured.estimators.kernel.margins import PiSTOLRegressor
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.evaluation.display import RegretDisplay
from skstructured.items import ItemStructuredPredictor, ListwiseRanker


def lines_of(options, table):
    """Yield the lines to print, each as soon as it is known."""
    for name in ("bounds", "learner", "plot") if table.space == "real" else ():
        if getattr(options, name):
            raise ValueError(f"--{name} is not for real numbers: see --space.")
    learner, is_ordered = _learner(options, table), options.in_order or table.chunks is not None
    rows = table if is_ordered else table.in_random_order(options.seed)
    if options.bounds:
        yield from report.bounds(rows, _bounded(options, learner), options.seed)
        return
    if table.qid is not None:
        yield from item_lines(options, rows, learner)
    elif table.space == "real":
        yield from report.regression_summary(rows, learner, options.seed)
    else:
        learner = yield from _of_classes(options, table, rows, learner)
    if options.save:
        yield from _kept(options, table, learner)
    yield report.next_command(options)


def _learner(options, table):
    """The learner to run."""
    if options.learner is not None:
        return report.custom_learner(options.learner)
    given = {"random_state": options.seed}
    if table.qid is not None:
        return ItemStructuredPredictor(**given) if options.qid is None else ListwiseRanker(**given)
    if table.space == "real":
        return PiSTOLRegressor(**given)
    space = make_space(table.space, options.order)
    return OnlineStructuredPredictor(space, decoder="nearest", **given)


def _bounded(options, learner):
    """Learners whose regret bounds are shown, by the names of their lines."""
    if options.learner is not None:
        return {(type(learner).__name__, "own"): learner}
    learner.set_params(optimizer="ogd", average=False, constants="sharp")
    return report.grid(learner)


def _of_classes(options, table, rows, learner):
    """Lines on classes and outputs of the other spaces; returns the learner to keep."""
    result, seconds = report.played(rows, learner, options.seed)
    yield from report.summary(rows, result, seconds, options)
    if table.space == "simplex" and rows is not table:
        yield from report.order_lines(table.y)
    if rows is table and result.changed_:
        yield report.CHANGES
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
        given = {"shuffle": False, "max_iter": 1} if options.in_order else {}
        given |= {} if options.passes is None else {"max_iter": options.passes}
        known = learner.get_params()
        learner.set_params(**{name: given[name] for name in given.keys() & known.keys()})
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
    passes = getattr(learner, "n_iter_", 1)
    if passes > 1 and table.space != "real" and table.chunks is None:
        yield (
            f"Passes           {passes}; the bound for new rows is about one, and --passes 1 keeps "
            "that model."
        )
