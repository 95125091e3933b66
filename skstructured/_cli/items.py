"""Learning to rank and choices on the command line: one vector scores the rows of a round."""

import time
import warnings

import numpy as np
from sklearn.pipeline import make_pipeline

from skstructured._base.exceptions import GuaranteeWarning
from skstructured._cli.effects import effects
from skstructured._cli.order import change_line
from skstructured._cli.report import DELTA, LAST, next_command, time_line
from skstructured._learners.models import SCORES
from skstructured.checkpoints.files import save_checkpoint
from skstructured.evaluation.validation import warm_up
from skstructured.guarantees import risk_bound
from skstructured.guarantees._running_risk import rise_found
from skstructured.items import ItemStructuredPredictor, ListwiseRanker
from skstructured.items._targets import gains_of
from skstructured.items.metrics import _tied_gain

#: Places of a list that count.
PLACES = 10

#: Probabilities below this count as it.
LEAST = 1e-300


def item_lines(options, table, progress):
    """Yield the lines on a table of items, and keep the model."""
    learner = item_learner(options)
    means, seconds = means_while_learning(learner, table, progress)
    losses, told, last = (_ranked if options.qid is not None else _chosen)(table, means)
    yield table.name
    yield ""
    yield from told
    yield from filter(None, [_change(losses, options)])
    yield from filter(None, [effects(learner, within_rounds(table), table.features)])
    yield time_line(len(table.y), seconds, table.reading)
    yield from _python(table, learner, options)
    if options.save:
        yield f"Model            {_save(options, table, learner)}"
    yield last
    yield next_command(options.given, True, options.save is not None)


def item_learner(options):
    """The learner of grades, or of choices."""
    given = {
        "optimizer": "mixture" if options.optimizer in (None, "auto") else options.optimizer,
        "average": False if options.no_average else "polynomial",
        "standardize": False if options.no_standardize else "auto",
        "random_state": options.seed,
    }
    return (ItemStructuredPredictor if options.qid is None else ListwiseRanker)(**given)


def means_while_learning(learner, table, progress):
    """What each item was said to be, (N,), before its round was learned; and seconds.

    Scores for a `ListwiseRanker`, probabilities else. Rounds are learned in the table's order.
    """
    items = table.items
    warm_up(learner, items, table.y)
    started = time.perf_counter()
    report, blocks, done = progress("learning", started), [], 0
    rounds = learner.begin(items, table.y)

    def note(block, weight):
        nonlocal done
        done += len(weight)
        ranks = isinstance(learner, ListwiseRanker)
        blocks.append((block.theta if ranks else learner._decode(block.theta).means()).values)
        report(done, len(items))

    learner._learn(rounds, np.arange(len(items)), note, SCORES)
    return items.unstacked(np.concatenate(blocks)), time.perf_counter() - started


def gains_by_round(table, scores):
    """NDCG@10 (n,) of the rounds; NaN where no grade is above 0."""
    items, found = table.items, []
    cuts = items.offsets[1:-1]
    gains, scores = (items.stacked(numbers) for numbers in (gains_of(table.y), scores))
    for gain, score in zip(np.split(gains, cuts), np.split(scores, cuts), strict=True):
        discounts = 1.0 / np.log2(np.arange(2, len(gain) + 2))
        discounts[PLACES:] = 0.0
        best = float(np.sort(gain)[::-1] @ discounts)
        found.append(_tied_gain(gain, score, discounts) / best if best > 0.0 else np.nan)
    return np.array(found)


def _ranked(table, scores):
    """Losses of rounds, lines on their NDCG, and the line that compares it."""
    random, given = np.zeros(len(table.y)), -np.arange(len(table.y), dtype=np.float64)
    found, *guesses = (gains_by_round(table, s) for s in (scores, random, given))
    told = ~np.isnan(found)
    found, guesses = found[told], [guess[told].mean() for guess in guesses]
    means = f"NDCG@{PLACES} {found.mean():.3f}; {found[len(found) // 2 :].mean():.3f}"
    lines = [
        f"While learning   every {table.round} was ranked before it was learned, and seen once:",
        f"                 {means} in the second half.",
    ]
    if not told.all():
        lines.append(f"                 {(~told).sum()} with grades of 0 only are not counted.")
    bound = f"NDCG@{PLACES} at least {{:.3f}}"
    lines.append(f"New lists        {_promise(1.0 - found, lambda b: bound.format(1.0 - b))}")
    random, given = guesses
    last = f"in random order {random:.3f}; in the order of the file {given:.3f}"
    return 1.0 - found, lines, f"Baseline         NDCG@{PLACES} {last}; here {found.mean():.3f}."


def _chosen(table, proba):
    """Losses of rounds, lines on how often they were right, and those that compare it."""
    items = table.items
    proba, y, cuts = items.stacked(proba), items.stacked(table.y), items.offsets[1:-1]
    chosen = np.array([part.argmax() for part in np.split(y, cuts)])
    wrong = np.array([part.argmax() for part in np.split(proba, cuts)]) != chosen
    told = np.log(np.maximum(proba[y == 1.0], LEAST)).mean()
    lines = [
        f"While learning   every {table.round} was predicted before it was learned, and seen once:",
        f"                 {wrong.mean():.1%} wrong; {wrong[len(wrong) // 2 :].mean():.1%} in the "
        "second half.",
        f"New choices      {_promise(wrong, lambda b: f'at most {b:.1%} wrong')}",
    ]
    counts = np.bincount(chosen)
    always = f"always row {counts.argmax() + 1} of each: {counts.max() / len(chosen):.1%}"
    equal = -np.log(items.lengths).mean()
    last = (
        f"Accuracy         {1 - wrong.mean():.1%} while learning; {always}.\n"
        f"Log-likelihood   {told:.3f} a {table.round} while learning; equal shares: {equal:.3f}."
    )
    return wrong.astype(np.float64), lines, last


def _promise(losses, tell):
    """What is promised of new rounds."""
    kept = losses[-max(1, round(LAST * len(losses))) :]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GuaranteeWarning)  # a line tells of changes
        bound = risk_bound(np.clip(kept, 0.0, 1.0), DELTA)
    if bound >= 1.0:
        return "no promise yet: there are too few rounds."
    return (
        f"{tell(bound)}, with {1 - DELTA:.0%} confidence,\n"
        "                 if they come from where these came from."
    )


def _change(losses, options):
    """The line on rounds that became harder, of those in the file's order."""
    if not options.in_order:
        return None
    return change_line(rise_found(np.clip(losses, 0.0, 1.0), DELTA) is not None)


def within_rounds(table):
    """Dense features less their means in each round: what else of them there is does not matter."""
    if hasattr(table.X, "toarray"):
        return table.X
    items = table.items
    X, starts = np.asarray(items.values, dtype=np.float64), items.offsets[:-1]
    there = np.isfinite(X)
    counts = np.maximum(np.add.reduceat(there.astype(np.int64), starts), 1)
    means = np.add.reduceat(np.where(there, X, 0.0), starts) / counts
    return X - np.repeat(means, items.lengths, axis=0)


def _python(table, learner, options):
    """The lines of Python that make this model of a data frame."""
    shown = repr(learner).replace("\n", "").replace("  ", "")
    features = f"frame.drop(columns={[table.target, table.round]!r})"
    if options.columns or options.ignore:
        features = f"frame[{list(table.encoder.feature_names_in_)!r}]"
    step = type(learner).__name__.lower()
    yield f"In Python        model = make_pipeline(TableEncoder(), {shown})"
    yield (
        f"                 model.fit({features}, frame[{table.target!r}], "
        f"{step}__qid=frame[{table.round!r}])"
    )


def _save(options, table, learner):
    """Fit and save a model; returns where it is, and how to use it."""
    learner.set_params(max_iter=1 if options.passes is None else options.passes)
    learner.fit(table.items, table.y)
    learner.round_column_ = table.round
    save_checkpoint(make_pipeline(table.encoder, learner), options.save)
    return f"{options.save}: python -m skstructured predict {options.save} FILE"
