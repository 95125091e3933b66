"""Gaps as means, or as means with indicators: which rule of `missing` errs less, and when.

Errors in % of `OnlineStructuredPredictor` on ten sets of classes into which gaps were made, mean of
three shuffles: of a stream, every row predicted before it is learned, and after ten passes on the
other half of the rows. Gaps are made in three ways: a fifth of all numbers "at random"; "large"
ones, each number above the seventh decile of its feature with probability ½, and no other; and "by
class", each feature with a rate for each class that is drawn between 0 and 0.4, so that a gap says
something of the class. "indicator" leaves indicators 0 and 1; "scaled" is given them as features,
which are standardised as all others are. ± is two standard errors of the difference to "mean", of
shuffles, and of sets in the lines of all.
"""

import numpy as np

from benchmarks._common import Results, arguments
from benchmarks.defaults._sets import classes, halves
from skstructured import OnlineStructuredPredictor
from skstructured.evaluation import progressive_validate

SHUFFLES = 3

RULES, KINDS = ("mean", "indicator", "scaled"), ("stream", "passes")


def at_random(X, y, rng):
    """Every number, with probability 1/5."""
    return rng.rand(*X.shape) < 0.2


def large(X, y, rng):
    """Numbers above the seventh decile of their feature, with probability ½."""
    return (np.quantile(X, 0.7, axis=0) < X) & (rng.rand(*X.shape) < 0.5)


def by_class(X, y, rng):
    """Every feature with a rate for each class."""
    labels, codes = np.unique(y, return_inverse=True)
    rates = rng.uniform(0.0, 0.4, size=(len(labels), X.shape[1]))
    return rng.rand(*X.shape) < rates[codes]


WAYS = {"at random": at_random, "large": large, "by class": by_class}


def given(rule, X):
    """The learner of a rule, and rows as it is given them."""
    missing = "mean" if rule == "scaled" else rule
    if rule == "scaled":
        X = np.hstack([X, np.isnan(X)])
    return OnlineStructuredPredictor(missing=missing, max_iter=10, random_state=0), X


def errors(rule, X, y, half):
    """Errors in % of a stream, and of rows that were not learned, after ten passes."""
    model, X = given(rule, X)
    stream = progressive_validate(
        model, X[:half], y[:half], classes=np.unique(y), play="randomized"
    )
    model.fit(X[:half], y[:half])
    return 100.0 * stream.expected_target_loss.mean(), 100.0 - 100.0 * model.score(
        X[half:], y[half:]
    )


def compared(X, y, way, shuffles):
    """Errors (shuffles, rules, 2) where gaps are made in one way."""
    found = []
    for seed in range(shuffles):
        rows, labels, others, truth = halves(X, y, seed)
        whole, every = np.vstack([rows, others]).astype(float), np.concatenate([labels, truth])
        gaps = WAYS[way](whole, every, np.random.RandomState(seed))
        holed = np.where(gaps, np.nan, whole)
        found.append([errors(rule, holed, every, len(rows)) for rule in RULES])
    return np.array(found)


def told(found):
    """Means of errors, and two standard errors of differences to the first rule, as text."""
    means, lies = found.mean(axis=0), found[:, 1:] - found[:, :1]
    spread = 2.0 * lies.std(axis=0) / np.sqrt(max(len(found) - 1, 1))
    text = ""
    for k in range(2):
        text += f"{means[0, k]:8.2f}"
        text += "".join(f"{means[r, k]:8.2f} ±{spread[r - 1, k]:4.2f}" for r in (1, 2))
    return text


def add(out, way, name, found):
    """A line, and its numbers."""
    means = found.mean(axis=0)
    kinds = [(r, rule, k, kind) for r, rule in enumerate(RULES) for k, kind in enumerate(KINDS)]
    row = {f"{rule}_{kind}": means[r, k] for r, rule, k, kind in kinds}
    out.add(f"{way:12}{name:16}{told(found)}", gaps=way, data=name, **row)


def main():
    args = arguments(__doc__)
    with Results(__file__, args) as out:
        head = f"{'mean':>8}{'indicator':>14}{'scaled':>14}"
        out.say(f"{'':28}{'of a stream':>36}{'after ten passes':>36}")
        out.say(f"{'':28}{head}{head}")
        for way in WAYS:
            every = []
            for name, X, y in classes(args.quick):
                every.append(compared(X, y, way, 1 if args.quick else SHUFFLES))
                add(out, way, name, every[-1])
            add(out, way, "all", np.array([found.mean(axis=0) for found in every]))


if __name__ == "__main__":
    main()
