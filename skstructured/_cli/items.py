"""Learning to rank and choices on the command line: one vector scores the rows of a round."""

import time
import warnings

import numpy as np

from skstructured._base.exceptions import GuaranteeWarning
from skstructured._cli.effects import effects
from skstructured._cli.order import change_line
from skstructured._cli.report import DELTA, LAST, time_line
from skstructured._learners.models import SCORES
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


def item_lines(options, table, learner, progress):
    """Yield the lines on a table of items, rounds in random order but for ``--in-order``."""
    table = table if options.in_order else table.in_random_order(options.seed)
    means, seconds = means_while_learning(learner, table, progress)
    losses, told = (_chosen if options.qid is None else _ranked)(table, means)
    yield table.name
    yield ""
    yield from told
    yield from filter(None, [_change(losses, options)])
    yield from table.careful
    yield from effects(learner, table._replace(X=within_rounds(table)))
    yield time_line(len(table.y), seconds, table.reading)


def item_learner(options):
    """The learner of grades, or of choices."""
    learner = (ItemStructuredPredictor if options.qid is None else ListwiseRanker)()
    learner.set_params(random_state=options.seed)
    if options.optimizer not in (None, "auto"):
        learner.set_params(optimizer=options.optimizer)
    if options.no_average:
        learner.set_params(average=False)
    return learner.set_params(standardize=False) if options.no_standardize else learner


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
    random, given = guesses
    beside = f"{random:.3f} in random order; {given:.3f} in the order of the file"
    lines.append(f"Baseline         NDCG@{PLACES} {beside}; here {found.mean():.3f}.")
    lines.append(f"New lists        {_bound(1.0 - found, 'NDCG@10 at least {:.3f}', 1.0)}")
    return 1.0 - found, lines


def _chosen(table, proba):
    """Losses of rounds, lines on how often they were right, and those that compare it."""
    items = table.items
    proba, y, cuts = items.stacked(proba), items.stacked(table.y), items.offsets[1:-1]
    chosen = np.array([part.argmax() for part in np.split(y, cuts)])
    wrong = np.array([part.argmax() for part in np.split(proba, cuts)]) != chosen
    told = np.log(np.maximum(proba[y == 1.0], LEAST)).mean()
    means = wrong.mean(), wrong[len(wrong) // 2 :].mean()
    counts, equal = np.bincount(chosen), -np.log(items.lengths).mean()
    always = f"always row {counts.argmax() + 1} of each: {counts.max() / len(chosen):.1%}"
    return wrong.astype(np.float64), [
        f"While learning   every {table.round} was predicted before it was learned, and seen once:",
        f"                 {means[0]:.1%} wrong; {means[1]:.1%} in the second half.",
        f"Accuracy         {1 - means[0]:.1%}, {1 - means[1]:.1%} in the second half; {always}.",
        f"Log-likelihood   {told:.3f} a {table.round}; with equal shares {equal:.3f}.",
        f"New choices      {_bound(wrong, 'at most {:.1%} wrong')}",
    ]


def _bound(losses, told, best=None):
    """What is said of new rounds: a bound on their losses, or what is left of `best`."""
    kept = losses[-max(1, round(LAST * len(losses))) :]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GuaranteeWarning)  # a line tells of changes
        bound = risk_bound(np.clip(kept, 0.0, 1.0), DELTA)
    if bound >= 1.0:
        return "no bound yet: there are too few of them."
    told = told.format(bound if best is None else best - bound)
    return (
        f"{told}, with {1 - DELTA:.0%} confidence,\n"
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
