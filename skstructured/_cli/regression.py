"""Amounts on the command line: a robust regressor, row by row."""

import time

import numpy as np

from skstructured._cli.effects import effects
from skstructured._cli.report import time_line
from skstructured.estimators.kernel.pistol import PiSTOLRegressor
from skstructured.evaluation import progressive_validate
from skstructured.evaluation.validation import warm_up

#: The part of the rows that units are taken from, which are learned and not counted.
FIRST, FEWEST, MOST = 10, 10, 1000

#: Errors below which nine rows of ten are.
NINE = 0.9


def regressor(seed, standardize=True):
    """The learner of amounts."""
    return PiSTOLRegressor(random_state=seed, standardize="auto" if standardize else False)


def units(y):
    """Median and spread of the first outputs."""
    first = y[: min(MOST, max(FEWEST, len(y) // FIRST))]
    spread = np.median(np.abs(first - np.median(first)))
    return np.median(first), spread or np.std(first) or 1.0


def errors(table, learner, seed, progress):
    """Absolute errors (n,) of each row before it was learned, the learner, and seconds."""
    middle, spread = units(table.y)
    y = (table.y - middle) / spread
    warm_up(learner, table.X, y, play="average")
    started = time.perf_counter()
    result = progressive_validate(
        learner,
        table.X,
        y,
        random_state=seed,
        play="average",
        progress=progress("learning", started),
    )
    return spread * result.target_loss, result.estimator, time.perf_counter() - started


def amount(value):
    """An amount with four digits, or as a whole number where it has more before the point."""
    return f"{value:,.0f}" if abs(value) >= 10**4 else f"{value:.4g}"


def regression_summary(table, missed, learner, seconds):
    """Lines on a run: how far it was off, beside the median, and what mattered."""
    warm = min(MOST, max(FEWEST, len(missed) // FIRST)) if len(missed) > FEWEST else 0
    counted, y = missed[warm:], table.y[warm:]
    late = counted[len(counted) // 2 :]
    yield f"{table.name}: real numbers"
    yield ""
    yield "While learning   every row was predicted before it was learned, and seen once:"
    always = np.abs(y - np.median(y)).mean()
    shown = (counted.mean(), late.mean(), np.quantile(late, NINE), always)
    mean, second, most, always = map(amount, shown)
    yield f"                 off by {mean} on average; {second} in the second half,"
    yield f"                 where nine of ten were off by {most} at most."
    yield f"Baseline         off by {always} with the median for every row; here {mean}."
    yield "New rows         no bound: errors of real numbers have no largest one."
    yield from table.careful
    yield from effects(learner, table)
    yield time_line(len(missed), seconds, table.reading)
