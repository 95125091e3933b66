"""What the two commands print: the report of a learned table, and the predictions of a model."""

import functools
import importlib.util
import shlex
import sys
import time
import warnings
from collections.abc import Callable
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.utils.class_weight import compute_class_weight

from skstructured import items
from skstructured._base.exceptions import GuaranteeError, GuaranteeWarning
from skstructured._cli import files, tables
from skstructured._cli.columns import effects
from skstructured._learners.models import Record
from skstructured.checkpoints import load_checkpoint, save_checkpoint
from skstructured.estimators.kernel.margins import PiSTOLRegressor
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.estimators.regressor import StructuredRegressor
from skstructured.estimators.structured import StructuredPredictor
from skstructured.evaluation.validation import compile_validation, progressive_validate
from skstructured.guarantees.risk import OrderTest, rise_found, risk_bound
from skstructured.items._reading import read_items
from skstructured.items.metrics import ndcg
from skstructured.streaming.table_encoder import TableEncoder

#: Places of a list that count.
NDCG_PLACES = 10

#: Of each space, how mean losses are written, and the best answer that is the same for all rows.
LOSS_UNITS = {
    "multiclass": ("{} wrong", "the most frequent class"),
    "multilabel": ("{} of labels wrong", "the most frequent value of each label"),
    "ordinal": ("{} grades off of {}", "the median"),
    "assignment": ("{} of items misplaced", "the assignment nearest to the mean"),
    "ranking": ("{} of the largest (Spearman's) distance off", "the ranking by mean rank"),
    "real": ("off by {} on average", "the median"),
    "choices": ("{} wrong", ""),
    "lists": (f"NDCG@{NDCG_PLACES} {{}}", ""),
}

#: Bounds and intervals fail with this probability.
REPORT_DELTA = 0.05


class Unit(NamedTuple):
    """How mean losses are written: a text with a place for what `write` makes of a number."""

    text: str
    write: Callable
    order: int = 1  # -1 if larger losses have smaller numbers

    def tell(self, loss):
        """The text of a mean loss."""
        return self.text.format(self.write(loss))

    def tell_interval(self, losses):
        """The mean of losses, and its interval by the normal approximation."""
        # Two more losses 0 and 1 (Agresti and Coull) keep the width above 0.
        observations = [*losses, 0, 0, 1, 1] if np.isin(losses, (0, 1)).all() else losses
        half = 1.96 * np.std(observations) / np.sqrt(len(observations))
        ends = max(np.mean(observations) - half, 0.0), np.mean(observations) + half
        between = " to ".join(map(self.write, ends[:: self.order]))
        return f"{self.tell(np.mean(losses))} ({between}, with {1 - REPORT_DELTA:.0%} confidence)"


def unit_of(table, order=None):
    """The `Unit` of the losses of a table, whose grades may have an order."""
    text = LOSS_UNITS[table.space][0]
    if table.space == "ordinal":
        steps = len(order or np.unique(table.y)) - 1
        return Unit(text.format("{}", steps + 1), lambda loss: f"{steps * loss:.2f}")
    if table.space == "lists":
        return Unit(text, lambda loss: f"{1.0 - loss:.3f}", -1)
    return Unit(text, amount if table.space == "real" else "{:.1%}".format)


def amount(value):
    """An amount with four digits, or as a whole number if it has more before the point."""
    return f"{value:,.0f}" if abs(value) >= 10**4 else f"{value:.4g}"


def wrapped(title, *texts, width=83):
    """Yield lines behind a title, or below it."""
    lines = [line for text in texts for line in wrap(text, width)]
    yield from (f"{'' if j else title:17}{line}" for j, line in enumerate(lines))


class Errors(NamedTuple):
    """The losses (n,) of rows, lists or choices, and what else learning a table has shown."""

    losses: Any
    details: Any = ()  # texts on the same errors
    comparison: Any = ()  # lines on a simple answer, and on a rare class
    bound: Any = None  # a function that returns the bound on losses of new rows
    learner: Any = None
    seconds: float = 0.0
    has_changed: bool = False  # whether errors have risen in a stream

    @property
    def late(self):
        """The mean loss of the second half."""
        return self.losses[len(self.losses) // 2 :].mean()


def report_lines(options, argv, table):
    """Yield the lines below the name of a table, when they are known; `argv` are the arguments."""
    learner, is_ordered = _learner(options, table), options.in_order or table.chunks is not None
    rows = table if is_ordered else table.in_random_order(options.seed)
    unit, mixture, errors = unit_of(table, options.order), None, None
    yield from wrapped("Formats", f"{', '.join(table.formats)}." * bool(table.formats))
    has_pass_options = options.in_order or options.passes is not None
    if not (has_pass_options or options.no_mixture or options.choice or table.chunks is not None):
        mixture, errors = mixture_of(options, table)
    if errors:
        yield from error_lines("Held out", [unit.tell_interval(errors.losses)], errors)
        yield from column_lines(mixture, rows)
    elif mixture:
        yield "Held out         too few rows to hold any out for the mixture that --save keeps."
    run = play_table(options, rows, learner)
    yield from run_lines(run, rows, unit, bool(mixture))
    if not errors:
        yield from column_lines(run.learner, rows)
    yield time_line(run, table)
    if run.has_changed:
        changes = "the rows changed on the way, or became harder to predict"
        text = f"{changes}: the bound above is about rows like the last ones."
        yield from wrapped("Changes", text)
    if table.space == "multiclass" and rows is not table:
        yield from order_lines(table.y)
    if options.save:
        learner = learner if table.chunks is None else run.learner
        yield from _kept(options, table, mixture or learner)
    yield next_command(options, argv)


def _learner(options, table):
    """The learner to run."""
    kwargs = {"random_state": options.seed}
    if table.qid is not None:
        kind = items.ItemStructuredPredictor if options.qid is None else items.ListwiseRanker
        return kind(**kwargs)
    if table.space == "real":
        return PiSTOLRegressor(**kwargs)
    space = tables.make_space(table.space, options.order)
    kwargs["class_weight"] = class_weight_of(options, table)
    return OnlineStructuredPredictor(space, decoder="nearest", **kwargs)


def class_weight_of(options, table):
    """Weights of the classes by which each class has the same weight, with ``--class-weight``."""
    if options.class_weight is None:
        return None
    labels, counts = np.unique(table.y), table.counts
    weights = compute_class_weight("balanced", classes=labels, y=table.y, sample_weight=counts)
    return dict(zip(labels.tolist(), weights, strict=True))


def remembering(kind):
    """The class of a mixture that keeps the scores and outputs of its held-out rows."""

    class Remembering(kind):
        def _judge(self, theta, packed, weight):
            self.held_out_ = theta, packed  # the last ones are those of the mixture
            return super()._judge(theta, packed, weight)

    return Remembering


def fit_rows(model, table, title, remark=""):
    """Fit a model to all rows, with progress lines if it takes long."""
    rounds = () if table.qid is None else (table.qid,)
    with files.stage(f"{title} learns {len(table.y):,} rows{remark}"):
        model.fit(table.X, table.y, *rounds)


def mixture_of(options, table):
    """A mixture that has learned all rows, and its `Errors` on held-out rows, if there are any."""
    kinds = {"lists": items.StructuredRanker, "real": StructuredRegressor}
    kwargs, kind = {"random_state": options.seed}, kinds.get(table.space, StructuredPredictor)
    if kind is StructuredPredictor:
        kwargs["space"] = tables.make_space(table.space, options.order)
        kwargs["decoder"] = "f1" if table.space == "multilabel" else "min_risk"
        kwargs["class_weight"] = class_weight_of(options, table)
    model = remembering(kind)(**kwargs)
    fit_rows(model, table, "Held out: a mixture", " (--no-mixture leaves it out)")
    model.__class__, held_out = kind, vars(model).pop("held_out_", None)
    return model, held_out and held_out_errors(model, table, options.order, *held_out)


def held_out_errors(model, table, order, theta, packed):
    """The `Errors` of a mixture, from scores and packed outputs of held-out rows."""
    if table.space == "lists":
        grades, query = packed[:, 0], packed[:, -1]
        ends = np.flatnonzero(np.diff(query)) + 1
        errors = list_errors(np.split(grades, ends), np.split(theta[:, 0], ends))
    elif table.space == "real":
        y, predicted = (model.space_.decode(points) for points in (packed[:, None], theta))
        errors = amount_errors(y, np.abs(predicted - y))
    else:
        V = model.space_.unpack(packed)
        losses = model.decode(theta).expected_loss(V)
        errors = class_errors(table, losses, model.space_.decode(V), order=order)
    names = [*model.named_estimators_]
    by = f"by a mixture that --save keeps: {', '.join(names[:-1])} and {names[-1]}."
    return errors._replace(details=[by, *errors.details])


def play_table(options, table, learner):
    """The `Errors` of rows, lists or choices before they are learned in the order of a table."""
    if table.qid is not None:
        return play_items(options, table, learner)
    if table.space == "real":
        return play_amounts(table, learner, options.seed)
    result, seconds = played(table, learner, options.seed)
    losses, y, persistence = result.expected_target_loss, table.y, ""
    if table.chunks is not None:
        losses, y = np.repeat(result.chunks[:, 2], result.chunks[:, 0].astype(np.intp)), None
    elif options.in_order and table.space == "multiclass":
        persistence = f"; {1.0 - same_as_before(y):.1%} wrong with the label of the row before"
    errors = class_errors(table, losses, y, options.order, persistence)
    changed = (options.in_order or table.chunks is not None) and result.changed_
    learner, bound = result.estimator, result.risk_bound
    return errors._replace(learner=learner, bound=bound, seconds=seconds, has_changed=changed)


def run_lines(run, table, unit, is_second):
    """Yield lines on a run, which are the second part of a screen if there is a mixture."""
    noun = {"lists": "list", "choices": "choice"}.get(table.space, "row")
    protocol, by = f"every {noun} was predicted before it was learned, and seen once:", ""
    if is_second:
        protocol = f"by the linear model alone, each {noun} before it was learned:"
        by = " by that model"
        run = run._replace(comparison=())
    mean_losses = f"{unit.tell(run.losses.mean())}; {unit.write(run.late)} in the second half."
    yield from error_lines("While learning", [protocol, mean_losses], run)
    text = "no bound: errors of real numbers have no upper limit."
    if run.bound is not None:
        text = bound_text(run, unit, f"{noun}s", by)
    yield from wrapped(f"New {noun}s", text)


def error_lines(title, texts, errors):
    """Yield lines on errors, and on those of a simple answer."""
    yield from wrapped(title, *texts, *errors.details)
    yield from errors.comparison


def column_lines(model, table):
    """Yield lines on columns that may be wrong, and on those that matter."""
    yield from wrapped("Careful", *table.careful)
    yield from wrapped("Matters most", effects(model, table))


def time_line(run, table):
    """The line on the time of a run, which compiling is not in."""
    n = len(table.y if table.chunks is None else run.losses)
    read = f" after {table.reading:.2f} s of reading" if table.reading else ""
    rate = n / max(run.seconds, 1e-9)
    return f"Time             {run.seconds:.2f} s{read}, {rate:,.0f} rows a second."


def _kept(options, table, learner):
    """Fit the learner on all rows in the order of the file and save it; lines on the model."""
    if table.chunks is None and not hasattr(learner, "weights_"):
        if options.in_order:
            learner.set_params(shuffle=False, max_iter=1)
        if options.passes is not None:
            learner.set_params(max_iter=options.passes)
        fit_rows(learner, table, "Model:")
    if table.qid is not None:
        learner.round_column_ = options.qid or options.choice
    elif table.space in files.MULTI_COLUMN_SPACES:
        learner.space_.label_names_ = list(table.targets)
    model = learner if table.encoder is None else make_pipeline(table.encoder, learner)
    save_checkpoint(model, options.save)
    loaded = f"skstructured.checkpoints.load_checkpoint({options.save!r})"
    yield f"Model            {options.save}; in Python: {loaded}.predict(...)"
    passes = getattr(learner, "n_iter_", 1)
    if passes > 1 and table.space != "real" and table.chunks is None:
        note = "the bound for new rows is about one, and --passes 1 keeps that model"
        yield f"Passes           {passes}; {note}."


def compile_loops(learner, X, y, classes=None):
    """Compile the loops of a learner for such rows, those that are not on disk."""
    with files.stage("skstructured compiles its loops, once on this machine"):
        compile_validation(learner, X, y, classes)


def played(table, learner, seed):
    """The result of predicting and learning each row once, and seconds without compiling."""
    in_parts = table.chunks is not None
    rows, classes = ((table.chunks,), table.y) if in_parts else ((table.X, table.y), None)
    compile_loops(learner, *(next(iter(table.chunks)) if in_parts else rows), classes)
    started, kwargs = time.perf_counter(), {"random_state": seed, "classes": classes}
    with files.stage("While learning") as report:
        result = progressive_validate(learner, *rows, progress=report, **kwargs)
    return result, time.perf_counter() - started


def same_as_before(y):
    """The share of rows with the label of the row before."""
    return float(np.mean(y[1:] == y[:-1]))


def order_lines(y):
    """Yield the line that reports that neighbors have one label, in a file not sorted by it."""
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    by_chance, same = float(np.sum((counts / len(y)) ** 2)), same_as_before(codes)
    is_sorted = np.sum(codes[1:] != codes[:-1]) < len(counts)
    if not is_sorted and OrderTest.of_rows(codes, REPORT_DELTA).found:
        shares = f"{same:.1%} of the rows have the label of the row before, by chance it would be"
        remedy = "Rows were shuffled: if they are in order of time, use --in-order"
        yield from wrapped("Order", f"{shares} {by_chance:.1%}. {remedy}.")


def next_command(options, argv):
    """The line that names the command to try next, from the arguments of this one."""
    argv, prefix, after = [*argv, "--save", "model"], "", ""
    if options.save is not None:
        argv, after = ["predict", options.save, "NEW_FILE"], " > predictions.csv"
    elif options.file is None:
        argv = ["FILE.csv"]
    elif not importlib.util.find_spec("skops"):
        prefix = "pip install skops && "
    return f"Next             {prefix}python -m skstructured {shlex.join(argv)}{after}"


def units(y, fewest=10, most=1000):
    """Median and spread of the first tenth of the amounts, and their number."""
    n_first = min(most, max(fewest, len(y) // 10))
    first = y[:n_first]
    spread = np.median(np.abs(first - np.median(first)))
    return np.median(first), spread or np.std(first) or 1.0, n_first


def play_amounts(table, learner, seed):
    """The `Errors` of a table of amounts, which are learned in units of the first ones."""
    middle, spread, n_first = units(table.y)
    result, seconds = played(table._replace(y=(table.y - middle) / spread), learner, seed)
    counted = slice(n_first if len(table.y) > n_first else 0, None)
    errors = amount_errors(table.y[counted], spread * result.target_loss[counted])
    return errors._replace(learner=result.estimator, seconds=seconds)


def play_items(options, table, learner):
    """The `Errors` of a table of items, by their scores in rankings, else their probabilities."""
    rounds, ranks = read_items(table.X, table.qid), table.space == "lists"
    compile_loops(learner, rounds, table.y)
    started, blocks = time.perf_counter(), []

    def note(block, _):
        blocks.append((block.theta if ranks else learner.decode(block.theta).means()).values)

    with files.stage("While learning"):
        batch = learner.begin(rounds, table.y)
        learner.learn_blocks(batch, np.arange(len(rounds)), note, Record.SCORES)
    seconds, pair = time.perf_counter() - started, (rounds.stacked(table.y), np.concatenate(blocks))
    y, means = (np.split(values, rounds.offsets[1:-1]) for values in pair)
    errors = list_errors(y, means) if ranks else choice_errors(options.choice, y, means)
    losses = np.clip(errors.losses, 0.0, 1.0)
    last_half = losses[-max(1, round(0.5 * len(losses))) :]
    changed = options.in_order and rise_found(losses, REPORT_DELTA) is not None
    bound = functools.partial(risk_bound, last_half, REPORT_DELTA)
    return errors._replace(bound=bound, learner=learner, seconds=seconds, has_changed=changed)


def class_errors(table, losses, y=None, order=None, persistence=""):
    """`Errors` of outputs; with the outputs `y` of all rows, a rare class has a line."""
    errors = Errors(losses)
    if table.y is None:
        return errors
    least = baseline_loss(tables.make_space(table.space, order), table.y, table.counts)
    better = ", which is better" if least < min(losses.mean(), errors.late) else ""
    loss, always = unit_of(table, order).tell(least), LOSS_UNITS[table.space][1]
    lines = [f"Baseline         {loss} with {always} for every row{better}{persistence}."]
    if y is not None and table.space == "multiclass":
        lines += rare_class(y, losses)
    return errors._replace(comparison=lines)


def baseline_loss(space, y, counts=None):
    """Mean target loss of the vertex nearest to the mean of outputs that occur so often."""
    space = space.fit(y)
    V = space.encode(y)
    constant = space.nearest(np.average(V, axis=0, weights=counts)[None])
    losses = space.expected_loss(np.broadcast_to(constant, V.shape), V)
    return float(np.average(losses, weights=counts))


def rare_class(y, losses, equal_share=0.2):
    """Yield the line on a class with less than this part of an equal share, if there is one."""
    labels, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    rare, share = counts.argmin(), counts.min() / len(y)
    if share < equal_share / len(labels):
        recall = f"recall {np.mean(1.0 - losses[codes == rare]):.1%}"
        yield f"Rare class       {labels[rare]}, {share:.1%} of the rows: {recall}."


def amount_errors(y, missed):
    """`Errors` of amounts, which were missed by so much."""
    always = amount(np.abs(y - np.median(y)).mean())
    most = amount(np.quantile(missed[len(missed) // 2 :], 0.9))
    line = f"Baseline         off by {always} with the median for every row."
    return Errors(missed, [f"nine of ten were off by {most} at most."], [line])


def list_errors(grades, scores):
    """`Errors` of rankings of lists; lists with grades of 0 only do not count."""
    random = ndcg(grades, [np.zeros(len(g)) for g in grades], k=NDCG_PLACES)
    file_order = ndcg(grades, [-np.arange(len(g)) for g in grades], k=NDCG_PLACES)
    values = np.array([ndcg([g], [s], k=NDCG_PLACES) for g, s in zip(grades, scores, strict=True)])
    idle = np.isnan(values).sum()
    details = [f"{idle} with grades of 0 only are not counted."] if idle else []
    orders = f"{random:.3f} in random order; {file_order:.3f} in the order of the file"
    line = f"Baseline         NDCG@{NDCG_PLACES} {orders}."
    return Errors(1.0 - values[~np.isnan(values)], details, [line])


def choice_errors(what, marks, proba):
    """`Errors` of choices, by the probability of each item, and marks of the chosen ones."""
    chosen = np.array([values.argmax() for values in marks])
    wrong = (np.array([values.argmax() for values in proba]) != chosen).astype(np.float64)
    shares = [values[place] for values, place in zip(proba, chosen, strict=True)]
    mean = np.log(np.maximum(shares, 1e-300)).mean()  # probabilities may be 0
    equal = -np.log(list(map(len, proba))).mean()
    detail = f"log-likelihood {mean:.3f} a {what}; with equal shares {equal:.3f}."
    counts = np.bincount(chosen)
    least, row = 1 - counts.max() / len(chosen), counts.argmax() + 1
    line = f"Baseline         {least:.1%} wrong with row {row} of each {what}."
    return Errors(wrong, [detail], [line])


def bound_text(errors, unit, what, model="", min_losses=50):
    """The text on new rows: a bound on their losses, of use if there are enough losses."""
    n = len(errors.losses)
    why = f"{n:,} {what} are too few for this error rate."
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GuaranteeWarning)  # lines tell of order and changes
            bound = errors.bound()
    except GuaranteeError as error:
        bound, why = 1.0, error
    if bound >= 1.0:
        return f"no bound: {why}" if n >= min_losses else f"no bound yet: there are too few {what}."
    most = "at least" if what == "lists" else "at most"
    terms = f"with {1 - REPORT_DELTA:.0%} confidence, if they come from the same distribution"
    return f"{most} {unit.tell(bound)}{model}, {terms}."


def print_predictions(options):
    """Print a prediction for each row of a file, as CSV with a header."""
    model, notes, header = load_checkpoint(options.MODEL), [], True
    learner = getattr(model, "steps", [(None, model)])[-1][1]
    labels = _probability_columns(model, learner) if options.proba else []
    is_choice = _predicts_choices(learner)
    if is_choice and not hasattr(learner, "round_column_"):
        raise ValueError("Models of choices that --save has not made predict in Python, with qid=.")
    size = None if is_choice else files.LARGE_FILES.rows_per_part
    for frame in files.frames(options.FILE, size=size, notes=notes):
        files.check_columns(options.FILE, frame, options.keep)
        copied = frame[options.keep].reset_index(drop=True)
        predictions = _predicted(model, learner, labels, frame, options)
        table = files.load_pandas().concat([copied, *predictions], axis=1)
        table.to_csv(sys.stdout, header=header, index=False, lineterminator="\n")
        header = False
    if header:  # there are no rows
        print(*options.keep, *_prediction_columns(learner), *labels, sep=",")
    for note in notes:
        print(f"note: {note}", file=sys.stderr)


def _predicts_choices(learner):
    """Whether a learner chooses an item in each round."""
    return isinstance(learner, (items.ConditionalLogit, items.ItemStructuredPredictor))


def _prediction_columns(learner, width=0, kind="prediction"):
    """Names of the columns of predictions or probabilities, of this `width` if several."""
    if _predicts_choices(learner):
        return ["probability", "chosen"]
    labels = getattr(getattr(learner, "space_", None), "label_names_", None) or range(width)
    is_ranker = isinstance(learner, (items.ListwiseRanker, items.StructuredRanker))
    return [f"{kind}_{label}" for label in labels] or ["score" if is_ranker else kind]


def _probability_columns(model, learner):
    """Names of the columns of probabilities; a ValueError for a model without probabilities."""
    task = getattr(getattr(learner, "space_", None), "task", None)
    if task not in ("multiclass", "multilabel") or not hasattr(model, "predict_proba"):
        needed = "models of classes or labels that have probabilities"
        raise ValueError(f"--proba is only supported for {needed}; got {type(learner).__name__}.")
    if task == "multiclass":
        return [f"probability_{label}" for label in model.classes_]
    return _prediction_columns(learner, learner.space_.dim_, "probability")


def _predicted(model, learner, labels, frame, options):
    """Data frames of the predictions for rows, and of probabilities with ``--proba``."""
    path, is_choice, data_frame = options.FILE, _predicts_choices(learner), type(frame)
    kwargs = {"qid": tables.rounds_of(path, frame, learner.round_column_)} if is_choice else {}
    encoder = getattr(model, "steps", [(None, None)])[0][1]
    if isinstance(encoder, TableEncoder):
        model = model[1:]
    else:  # all columns are numbers
        features = getattr(model, "feature_names_in_", frame.columns)
        encoder = TableEncoder().fit(dict.fromkeys(features, np.zeros(1)))
    X = tables.encoded(encoder, frame, path, options.bad_cells)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # columns were found by their names
        y = np.asarray(model.predict(X, **kwargs))
        proba = np.asarray(model.predict_proba(X, **kwargs)) if labels or is_choice else None
    if is_choice:
        return [data_frame({"probability": proba, "chosen": y})]
    names = _prediction_columns(learner, y.shape[1] if y.ndim > 1 else 0)
    frames = [data_frame(y, columns=names)]
    return [*frames, data_frame(proba, columns=labels)] if labels else frames
