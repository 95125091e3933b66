"""Learning to rank and choices on the command line: one vector scores the rows of a round."""

import time

import numpy as np

from skstructured._cli import report
from skstructured._learners.models import SCORES
from skstructured.evaluation.validation import warm_up
from skstructured.guarantees import risk_bound
from skstructured.guarantees.risk import rise_found
from skstructured.items import ListwiseRanker
from skstructured.items._reading import read_items
from skstructured.items.metrics import ndcg

#: Places of a list that count; probabilities below this count as it.
PLACES, LEAST = 10, 1e-300


def item_lines(options, table, learner):
    """Yield the lines on a table of items that stands in the order to learn it."""
    items, is_choice = read_items(table.X, table.qid), options.qid is None
    means, seconds = means_while_learning(learner, items, table.y)
    y, means = (np.split(items.stacked(v), items.offsets[1:-1]) for v in (table.y, means))
    losses, told = (_chosen if is_choice else _ranked)(table.round, y, means)
    yield from report.headed(table.name, "predicted" if is_choice else "ranked", table.round)
    yield from told
    if options.in_order and rise_found(np.clip(losses, 0.0, 1.0), report.DELTA) is not None:
        yield report.CHANGES
    yield from report.ending(table, learner, len(table.y), seconds)


def means_while_learning(learner, items, y):
    """What each item was said to be, (N,), before its round was learned; and seconds.

    Scores for a `ListwiseRanker`, probabilities else.
    """
    warm_up(learner, items, y)
    started, blocks = time.perf_counter(), []
    rounds = learner.begin(items, y)

    def note(block, _):
        ranks = isinstance(learner, ListwiseRanker)
        blocks.append((block.theta if ranks else learner._decode(block.theta).means()).values)

    learner._learn(rounds, np.arange(len(items)), note, SCORES)
    return items.unstacked(np.concatenate(blocks)), time.perf_counter() - started


def _ranked(_, grades, scores):
    """Losses of rounds, and lines on their NDCG."""
    random = ndcg(grades, [np.zeros(len(g)) for g in grades], k=PLACES)
    given = ndcg(grades, [-np.arange(len(g)) for g in grades], k=PLACES)
    found = np.array([ndcg([g], [s], k=PLACES) for g, s in zip(grades, scores, strict=True)])
    idle, found = np.isnan(found).sum(), found[~np.isnan(found)]  # grades of 0 have no NDCG
    means = f"NDCG@{PLACES} {found.mean():.3f}; {found[len(found) // 2 :].mean():.3f}"
    lines = [f"                 {means} in the second half."]
    if idle:
        lines.append(f"                 {idle} with grades of 0 only are not counted.")
    beside = f"{random:.3f} in random order; {given:.3f} in the order of the file"
    lines.append(f"Baseline         NDCG@{PLACES} {beside}; here {found.mean():.3f}.")
    bound = _bound(1.0 - found, f"NDCG@{PLACES}", "lists", 1.0)
    return 1.0 - found, [*lines, f"New lists        {bound}"]


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
    """What is said of new rounds."""
    kept = np.clip(losses[-max(1, round(report.LAST * len(losses))) :], 0.0, 1.0)
    return report.bound_line(lambda: risk_bound(kept, report.DELTA), unit, len(losses), what, best)
