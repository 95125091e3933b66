"""The report of the command line: learn a table, print the results, and save the model."""

import contextlib
import importlib.util
import io
import pkgutil
import shlex
import time
import warnings
from datetime import datetime
from textwrap import wrap

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstructured._base.exceptions import GuaranteeError, GuaranteeWarning
from skstructured._cli.files import WIDE, load_pandas
from skstructured._cli.progress import stage
from skstructured._cli.tables import make_space
from skstructured._learners.models import SCORES
from skstructured.checkpoints import check_path, save_checkpoint, write_whole
from skstructured.estimators.kernel.margins import PiSTOLRegressor
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.estimators.regressor import StructuredRegressor
from skstructured.estimators.structured import StructuredPredictor
from skstructured.evaluation import RegretDisplay
from skstructured.evaluation.validation import progressive_validate, warm_up
from skstructured.extend.learner import OnlineLearner
from skstructured.guarantees.risk import OrderTest, rise_found, risk_bound
from skstructured.items import ItemStructuredPredictor, ListwiseRanker, StructuredRanker
from skstructured.items._reading import read_items
from skstructured.items.metrics import ndcg
from skstructured.losses import FenchelYoung
from skstructured.losses.oracles import ORACLES
from skstructured.regularizers import REGULARIZERS

#: Columns of the table of bounds, and how wide they are.
HEADER = ("regularizer", "decoder", "mistakes", "share", "comparator", "bound", "margin", "rows/s")
LINE = "{:>11}  {:>10}  {:>10}  {:>6}  {:>11}  {:>10}  {:>10}  {:>9}"

#: Of each space, what a target loss of 1 would be, and the best answer that is the same for all.
UNITS = {
    "multiclass": ("wrong", "the most frequent class"),
    "multilabel": ("of labels wrong", "the most frequent value of each label"),
    "ordinal": ("of the way from one end to the other off", "the median"),
    "assignment": ("of items misplaced", "the assignment nearest to the mean"),
    "ranking": ("of the largest (Spearman's) distance off", "the ranking by mean rank"),
}

#: The bound is about the last half of the rows, and fails once in twenty.
LAST, DELTA = 0.5, 0.05

#: Of fewer rows no bound is below 1, whatever the errors are, or of no use.
FEW, TOO_FEW = 50, "no bound yet: there are too few {}."

#: The part of the rows that units of amounts are taken from: learned and not counted.
FIRST, FEWEST, MOST = 10, 10, 1000

#: What is said if loops are not on disk: the seconds follow.
COMPILING = "skstructured compiles its loops, once on this machine"

#: Of more rows a mixture is only made to be kept, for it takes long.
SHORT = 20_000

#: The line that says that a stream changes.
CHANGES = (
    "Changes          the rows changed on the way, or became harder to predict:\n"
    "                 the bound above is about rows like the last ones."
)

#: Characters of a line behind its first word.
WIDTH = 83

#: Columns that are named for their effects, and characters of a name.
SHOWN, LONGEST = 3, 30

#: A class is rare if it has less than this part of an equal share of the rows.
RARE = 0.2

#: Places of a list that count; probabilities below this count as it.
PLACES, LEAST = 10, 1e-300


def lines_of(options, given, table):
    """Yield the lines to print, each when it is known; `given` are the arguments."""
    for name in ("bounds", "learner", "plot") if table.space == "real" else ():
        if getattr(options, name):
            raise ValueError(f"--{name} is not supported for real numbers: see --space.")
    learner, is_ordered = _learner(options, table), options.in_order or table.chunks is not None
    rows = table if is_ordered else table.in_random_order(options.seed)
    if options.bounds:
        yield from bounds(rows, _bounded(options, learner), options.seed)
        return
    yield from (f"{table.name}{': real numbers' if table.space == 'real' else ''}", "")
    yield from format_lines(table)
    if table.qid is not None:
        yield from item_lines(options, rows, learner)
    elif table.space == "real":
        yield from amount_lines(rows, learner, options.seed)
    else:
        learner = yield from class_lines(options, table, rows, learner)
    if _may_mix(options, table):
        learner = mixture_of(options, table)
        yield from mixture_lines(learner, table)
    if options.save:
        yield from _kept(options, table, learner)
    yield next_command(options, given)


def wrapped(title, lines):
    """Yield lines below a title in the margin, divided if they are long."""
    parts = [part for line in lines for part in wrap(line, WIDTH)]
    yield from (f"{'' if j else title:17}{part}" for j, part in enumerate(parts))


def format_lines(table):
    """Yield the lines that show how texts were read, if not as usual."""
    told = []
    for one in getattr(table.encoder, "columns_", ()):
        if example := one.get("format"):
            if (kind := one["taken for"]) == "date":
                example = datetime(2024, 5, 31).strftime(example)
            told.append(f"{one['column']} ({kind.removesuffix('s')}s such as {example})")
    yield from wrapped("Formats", [f"{', '.join(told)}."] if told else [])


def _learner(options, table):
    """The learner to run."""
    given = {"random_state": options.seed}
    if options.learner is not None:
        return custom_learner(options.learner)
    if table.qid is not None:
        return ItemStructuredPredictor(**given) if options.qid is None else ListwiseRanker(**given)
    if table.space == "real":
        return PiSTOLRegressor(**given)
    space = make_space(table.space, options.order)
    given["class_weight"] = class_weight_of(options, table)
    return OnlineStructuredPredictor(space, decoder="nearest", **given)


def class_weight_of(options, table):
    """Weights of the classes by which each class has the same weight, with ``--class-weight``."""
    if options.class_weight is None:
        return None
    counts = load_pandas().Series(table.counts, table.y)
    if table.counts is None:
        counts = load_pandas().Series(table.y).value_counts()
    return (counts.sum() / (len(counts) * counts)).to_dict()


def _may_mix(options, table):
    """Whether the model to save is a mixture: if rows are in memory, and in any order."""
    asked = options.learner or options.in_order or options.passes is not None
    is_plain = not (asked or options.no_mixture or options.choice) and table.chunks is None
    return is_plain and (options.save is not None or len(table.y) <= SHORT)


def mixture_of(options, table):
    """A mixture that has learned all rows."""
    model = StructuredRegressor(random_state=options.seed)
    if table.qid is not None:
        model = StructuredRanker(random_state=options.seed)
    elif table.space != "real":
        space = make_space(table.space, options.order)
        decoder = "f1" if table.space == "multilabel" else "min_risk"
        given = {"class_weight": class_weight_of(options, table), "random_state": options.seed}
        model = StructuredPredictor(space, decoder=decoder, **given)
    with stage(f"Held out: a mixture learns {len(table.y):,} rows (--no-mixture leaves it out)"):
        return model.fit(table.X, table.y, *(() if table.qid is None else (table.qid,)))


def mixture_lines(model, table):
    """Lines on the score of a mixture on held-out rows."""
    score, names = model.validation_score_, [*model.named_estimators_]
    if np.isnan(score):
        return
    told = f"{score:.1%} right"
    if table.qid is not None:
        told = f"NDCG {score:.3f}"
    elif table.space == "real":
        told = f"R² {score:.3f}"
    elif table.space != "multiclass":
        told = f"{1.0 - score:.1%} {UNITS[table.space][0]}"
    yield f"Held out         {told}, by a mixture that --save keeps:"
    yield f"                 {', '.join(names[:-1])} and {names[-1]}."


def _bounded(options, learner):
    """Learners whose regret bounds are shown, by the names of their lines.

    They are the one of ``--learner``, or one for each regularizer of the space and each decoder.
    """
    if options.learner is not None:
        return {(type(learner).__name__, "own"): learner}
    learner.set_params(optimizer="ogd", average=False, loss=FenchelYoung(constants="sharp"))
    known = [name for name, r in REGULARIZERS.items() if (type(learner.space), r) in ORACLES]
    pairs = [(r, decoder) for decoder in ("randomized", "nearest") for r in known]
    return {(r, d): clone(learner).set_params(regularizer=r, decoder=d) for r, d in pairs}


def class_lines(options, table, rows, learner):
    """Lines on classes and outputs of the other spaces; returns the learner to keep."""
    result, seconds = played(rows, learner, options.seed)
    losses, unit = result.expected_target_loss, UNITS[table.space][0]
    if table.chunks is None:
        n, means = len(losses), (losses.mean(), losses[len(losses) // 2 :].mean())
    else:
        late = result.chunks[len(result.chunks) // 2 :]
        n, means = result.n_rounds, (losses, np.average(late[:, 2], weights=late[:, 0]))
    told = [f"                 {means[0]:.1%} {unit}; {means[1]:.1%} in the second half."]
    if table.y is not None:
        told.append(comparison(rows, means, options))
    if table.space == "multiclass" and table.chunks is None:
        told += rare_class(rows.y, losses)
    told.append(f"New rows         {bound_line(result.risk_bound, unit, n)}")
    shown = result.estimator if table.space == "multiclass" else None
    yield from screen(rows, told, shown, n, seconds)
    if table.space == "multiclass" and rows is not table:
        yield from order_lines(table.y)
    if rows is table and result.changed_:
        yield CHANGES
    if options.plot:
        picture, kind = io.BytesIO(), options.plot.rpartition(".")[2]
        RegretDisplay.from_result(result).figure_.savefig(picture, format=kind)
        write_whole(check_path(options.plot), picture.getbuffer())
        yield f"Picture          {options.plot}"
    return learner if table.chunks is None else result.estimator


def _kept(options, table, learner):
    """Fit the learner on all rows in the order of the file and save it; lines on the model.

    With ``--in-order`` `fit` learns the rows in this order, in one pass unless ``--passes`` is
    given: in a drifting stream the last rows count most.
    """
    if table.chunks is None and not hasattr(learner, "weights_"):
        given = {"shuffle": False, "max_iter": 1} if options.in_order else {}
        given |= {} if options.passes is None else {"max_iter": options.passes}
        known = learner.get_params()
        learner.set_params(**{name: given[name] for name in given.keys() & known.keys()})
        with stage(f"Model: learns {len(table.y):,} rows"):
            learner.fit(table.X, table.y, *(() if table.qid is None else (table.qid,)))
    if table.qid is not None:
        learner.round_column_ = options.qid or options.choice
    elif table.space in WIDE and table.targets:
        learner.space_.label_names_ = list(table.targets)
    model = learner if table.encoder is None else make_pipeline(table.encoder, learner)
    save_checkpoint(model, options.save)
    yield (
        f"Model            {options.save}; in Python: "
        f"skstructured.checkpoints.load_checkpoint({options.save!r}).predict(...)"
    )
    if hasattr(learner, "weights_") and table.space != "real":
        yield "                 The bound is about one pass of the linear model: use --passes 1."
    passes = getattr(learner, "n_iter_", 1)
    if passes > 1 and table.space != "real" and table.chunks is None:
        yield (
            f"Passes           {passes}; the bound for new rows is about one, and --passes 1 keeps "
            "that model."
        )


def custom_learner(path):
    """A custom learner with default parameters, given as ``module:Class``.

    Raises
    ------
    ValueError
        If there is no such module or class, or it is not an `OnlineLearner`.
    """
    try:
        kind = pkgutil.resolve_name(path)
        is_learner = issubclass(kind, OnlineLearner)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"--learner must be MODULE:CLASS, got {path!r} ({error}).") from error
    if not is_learner:
        raise ValueError(f"--learner must name a subclass of OnlineLearner, got {path}.")
    return kind()


def played(table, learner, seed, play="predict", label="While learning"):
    """The result of playing and learning each row once, and seconds without compiling."""
    rows, rest = (table.X, table.y), {"play": play}
    if table.chunks is not None:
        rows, rest = (table.chunks,), {"play": play, "classes": table.y}
    with stage(COMPILING):
        warm_up(learner, *(rows if table.chunks is None else next(iter(table.chunks))), **rest)
    started = time.perf_counter()
    with stage(label) as report:
        rest |= {"random_state": seed, "progress": report}
        result = progressive_validate(learner, *rows, **rest)
    return result, time.perf_counter() - started


def screen(table, told, learner, n, seconds, unit="row", verb="predicted"):
    """Lines on a run: results, possible problems, the columns that matter, and the time."""
    yield f"While learning   every {unit} was {verb} before it was learned, and seen once:"
    yield from told
    yield from wrapped("Careful", table.careful)
    yield from effects(learner, table)
    read = f" after {table.reading:.2f} s of reading" if table.reading else ""
    yield f"Time             {seconds:.2f} s{read}, {n / max(seconds, 1e-9):,.0f} rows a second."


def baseline_loss(space, y, counts=None):
    """Mean target loss of the best simple guess: the vertex nearest to the mean output, always.

    With `counts`, each output counts for that many rows.
    """
    space = space.fit(y)
    V = space.encode(y)
    constant = space.nearest(np.average(V, axis=0, weights=counts)[None])
    losses = space.expected_loss(np.broadcast_to(constant, V.shape), V)
    return float(np.average(losses, weights=counts))


def comparison(table, means, options):
    """The line that compares the mean loss of a run with that of one answer for all rows.

    With rows in order, it also compares with the label of the row before.
    """
    least = baseline_loss(make_space(table.space, options.order), table.y, table.counts)
    unit, always = UNITS[table.space]
    if table.space == "multiclass":
        is_ordered = options.in_order and table.counts is None
        before = f"; the label before: {same_as_before(table.y):.1%}" if is_ordered else ""
        found = f"{1 - means[0]:.1%}, {1 - means[1]:.1%} in the second half"
        better = ", which is better" if least < min(means) else ""
        return f"Accuracy         {found}; always {always}: {1 - least:.1%}{better}{before}."
    return f"Baseline         {least:.1%} {unit} with {always} for every row; here {means[0]:.1%}."


def rare_class(y, losses):
    """Yield the line on how many rows of a rare class were found, if there is one."""
    labels, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    rare, share = counts.argmin(), counts.min() / len(y)
    if share < RARE / len(labels):
        told = f"recall {np.mean(1.0 - losses[codes == rare]):.1%}"
        yield f"Rare class       {labels[rare]}, {share:.1%} of the rows: {told}."


def bound_line(risk_bound, unit, n, what="rows", best=None):
    """The text on new rows: a bound on their losses, or the `best` score minus it."""
    why = f"{n:,} {what} are too few for this error rate."
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GuaranteeWarning)  # lines tell of order and changes
            bound = risk_bound()
    except GuaranteeError as error:
        bound, why = 1.0, error
    if bound >= 1.0:
        return f"no bound: {why}" if n >= FEW else TOO_FEW.format(what)
    told = f"at most {bound:.1%} {unit}" if best is None else f"{unit} at least {best - bound:.3f}"
    return (
        f"{told}, with {1 - DELTA:.0%} confidence,\n"
        "                 if they come from the same distribution."
    )


def same_as_before(y):
    """The share of rows with the label of the row before."""
    return float(np.mean(y[1:] == y[:-1])) if len(y) > 1 else 0.0


def order_lines(y):
    """Yield the line that reports that neighbors have one label, in a file not sorted by it."""
    if y.ndim > 1 or len(y) < 2:
        return
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    by_chance, same = float(np.sum((counts / len(y)) ** 2)), same_as_before(codes)
    is_sorted = np.sum(codes[1:] != codes[:-1]) < len(counts)
    if not is_sorted and OrderTest.of_rows(codes, DELTA).found:
        yield (
            f"Order            {same:.1%} of the rows have the label of the row before, by chance "
            f"it\n                 would be {by_chance:.1%}. Rows were shuffled: if they are in "
            "order of time, use --in-order."
        )


def effects(learner, table):
    """Yield the line that names the columns with the largest effects, if there are any.

    The effect of a feature on a class is its weight times its standard deviation, for items within
    rounds; with two classes it has a sign, for the second one. With more it is the range of the
    effects on the classes. Each column is named once, by its largest feature.
    """
    W, classes = getattr(learner, "coef_", None), getattr(learner, "classes_", ())
    if W is None or table.encoder is None or (W.ndim == 2 and len(W) != len(classes)):
        return
    has_sign = W.ndim == 1 or len(W) == 2
    unit = W if W.ndim == 1 else W[1] - W[0] if has_sign else np.ptp(W, axis=0)
    sizes = unit * deviations(next(iter(table.chunks))[0] if table.chunks else table.X, table.qid)
    names, shown = table.encoder.get_feature_names_out(), {}
    owners = [one["column"] for one in table.encoder.columns_ for _ in range(one["outputs"])]
    for j in np.argsort(-np.abs(sizes), kind="stable"):
        if sizes[j] != 0.0 and len(shown) < SHOWN:
            name = names[j] if len(names[j]) <= LONGEST else f"{names[j][: LONGEST - 3]}..."
            sign = f" ({'+' if sizes[j] > 0 else '-'})" if has_sign else ""
            shown.setdefault(owners[j], name + sign)
    if shown:
        towards = f", for {classes[1]}" if len(classes) == 2 else ""
        yield f"Matters most     {', '.join(shown.values())}{towards}."


def deviations(X, within=None):
    """Standard deviations of the columns of rows, dense with missing values, or CSR."""
    if within is not None:
        frame = load_pandas().DataFrame(X)
        X = (frame - frame.groupby(within).transform("mean")).to_numpy()
    with np.errstate(invalid="ignore"):  # columns without a value
        return np.sqrt(np.nan_to_num(StandardScaler(with_mean=False).fit(X).var_))


def next_command(options, given):
    """The line that names the command to try next, from the arguments of this one."""
    given, before, after = [*given, "--save", "model"], "", ""
    if options.save is not None:
        given, after = ["predict", options.save, "NEW_FILE"], " > predictions.csv"
    elif options.file is None:
        given = ["FILE.csv"]
    elif not importlib.util.find_spec("skops"):
        before = "pip install skops && "
    return f"Next             {before}python -m skstructured {shlex.join(given)}{after}"


def units(y):
    """Median and spread of the first amounts."""
    first = y[: min(MOST, max(FEWEST, len(y) // FIRST))]
    spread = np.median(np.abs(first - np.median(first)))
    return np.median(first), spread or np.std(first) or 1.0


def amount(value):
    """An amount with four digits, or as a whole number if it has more before the point."""
    return f"{value:,.0f}" if abs(value) >= 10**4 else f"{value:.4g}"


def amount_lines(table, learner, seed):
    """Lines on a run over amounts: its errors, those of the median, and the columns that matter."""
    (middle, spread), n = units(table.y), len(table.y)
    scaled = table._replace(y=(table.y - middle) / spread)
    result, seconds = played(scaled, learner, seed)
    warm = min(MOST, max(FEWEST, n // FIRST)) if n > FEWEST else 0
    missed, y = spread * result.target_loss[warm:], table.y[warm:]
    late, always = missed[len(missed) // 2 :], np.abs(y - np.median(y)).mean()
    shown = map(amount, (missed.mean(), late.mean(), np.quantile(late, 0.9), always))
    mean, second, most, always = shown
    told = [
        f"                 off by {mean} on average; {second} in the second half;",
        f"                 nine of ten were off by {most} at most.",
        f"Baseline         off by {always} with the median for every row; here {mean}.",
        "New rows         no bound: errors of real numbers have no upper limit.",
    ]
    return screen(table, told, result.estimator, n, seconds)


def bounds(table, learners, seed):
    """Lines of the table of bounds, one as soon as its run is done."""
    yield f"Mistakes and their upper bounds, on {table.name}"
    yield LINE.format(*HEADER)
    for names, learner in learners.items():
        result, seconds = played(table, learner, seed, "randomized", ", ".join(names))
        n, mistakes, known = len(table.y), result.expected_target_loss.sum(), ("none",) * 3
        with contextlib.suppress(GuaranteeError):
            U = result.best_comparator()
            bound, compared = result.regret_bound(U), result.comparator_loss(U).sum()
            known = (f"{compared:.1f}", f"{bound:.1f}", f"{bound - mistakes:.1f}")
        cells = f"{mistakes:.1f}", f"{mistakes / n:.3f}", *known, f"{n / max(seconds, 1e-9):,.0f}"
        yield LINE.format(*names, *cells)


def item_lines(options, table, learner):
    """Lines on a table of items, with the rows in the order to learn them.

    Before a round is learned, its items have scores in a ranking, and else probabilities.
    """
    items, ranks = read_items(table.X, table.qid), options.qid is not None
    with stage(COMPILING):
        warm_up(learner, items, table.y)
    started, blocks = time.perf_counter(), []

    def note(block, _):
        blocks.append((block.theta if ranks else learner._decode(block.theta).means()).values)

    with stage("While learning"):
        learner._learn(learner.begin(items, table.y), np.arange(len(items)), note, SCORES)
    seconds, known = time.perf_counter() - started, (items.stacked(table.y), np.concatenate(blocks))
    y, means = (np.split(values, items.offsets[1:-1]) for values in known)
    round_, verb = options.qid or options.choice, "ranked" if ranks else "predicted"
    losses, told = (_ranked if ranks else _chosen)(round_, y, means)
    if options.in_order and rise_found(np.clip(losses, 0.0, 1.0), DELTA) is not None:
        told.append(CHANGES)
    return screen(table, told, learner, len(table.y), seconds, round_, verb)


def _ranked(_, grades, scores):
    """Losses of rounds, and lines on their NDCG."""
    random = ndcg(grades, [np.zeros(len(g)) for g in grades], k=PLACES)
    given = ndcg(grades, [-np.arange(len(g)) for g in grades], k=PLACES)
    found = np.array([ndcg([g], [s], k=PLACES) for g, s in zip(grades, scores, strict=True)])
    idle, found = np.isnan(found).sum(), found[~np.isnan(found)]  # grades of 0 have no NDCG
    means = f"NDCG@{PLACES} {found.mean():.3f}; {found[len(found) // 2 :].mean():.3f}"
    beside = f"{random:.3f} in random order; {given:.3f} in the order of the file"
    skipped = [f"                 {idle} with grades of 0 only are not counted."] if idle else []
    return 1.0 - found, [
        f"                 {means} in the second half.",
        *skipped,
        f"Baseline         NDCG@{PLACES} {beside}; here {found.mean():.3f}.",
        f"New lists        {_bound(1.0 - found, f'NDCG@{PLACES}', 'lists', 1.0)}",
    ]


def _chosen(what, marks, proba):
    """Losses of rounds, and lines on how often they were right."""
    chosen = np.array([part.argmax() for part in marks])
    wrong = (np.array([part.argmax() for part in proba]) != chosen).astype(np.float64)
    told = [part[place] for part, place in zip(proba, chosen, strict=True)]
    told, equal = np.log(np.maximum(told, LEAST)).mean(), -np.log(list(map(len, proba))).mean()
    means, counts = (wrong.mean(), wrong[len(wrong) // 2 :].mean()), np.bincount(chosen)
    always = f"always row {counts.argmax() + 1} of each: {counts.max() / len(chosen):.1%}"
    return wrong, [
        f"                 {means[0]:.1%} wrong; {means[1]:.1%} in the second half.",
        f"Accuracy         {1 - means[0]:.1%}, {1 - means[1]:.1%} in the second half; {always}.",
        f"Log-likelihood   {told:.3f} a {what}; with equal shares {equal:.3f}.",
        f"New choices      {_bound(wrong, 'wrong', 'choices')}",
    ]


def _bound(losses, unit, what, best=None):
    """The text on new rounds."""
    kept = np.clip(losses[-max(1, round(LAST * len(losses))) :], 0.0, 1.0)
    return bound_line(lambda: risk_bound(kept, DELTA), unit, len(losses), what, best)
