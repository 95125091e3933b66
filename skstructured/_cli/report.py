"""What the command line prints."""

import importlib.util
import math
import shlex
import time
from typing import NamedTuple

import numpy as np

from skstructured._base.exceptions import GuaranteeError
from skstructured._cli.effects import effects
from skstructured._cli.order import same_as_before
from skstructured._cli.read import Table
from skstructured.decoders import resolve_decoder
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.evaluation import progressive_validate
from skstructured.evaluation.validation import warm_up
from skstructured.extend.learner import OnlineLearner
from skstructured.losses.oracles import ORACLES, find_oracle
from skstructured.regularizers import REGULARIZERS, resolve_regularizer
from skstructured.spaces import SPACES

HEADER = ("regularizer", "decoder", "mistakes", "share", "comparator", "bound", "margin", "rows/s")
WIDTHS = (11, 10, 10, 6, 11, 10, 10, 9)

#: What a target loss of 1 would be, in each space.
UNITS = {
    "simplex": "wrong",
    "hypercube": "of labels wrong",
    "ordinal": "of the way from one end to the other off",
    "birkhoff": "of items misplaced",
    "permutahedron": "of the largest (Spearman's) distance off",
}

#: What the baseline answers for every row: the nearest output to the mean of all, in each space.
ALWAYS = {
    "simplex": "the most frequent class",
    "hypercube": "the most frequent value of each label",
    "ordinal": "the median",
    "birkhoff": "the assignment nearest to the mean",
    "permutahedron": "the ranking by mean rank",
}

#: Seconds that the first learner compiles for, on two cores.

#: The certificate is about the last half of the rows, and fails once in twenty.
LAST, DELTA = 0.5, 0.05

#: Of fewer rows no bound is below 1, whatever the errors are, or of no use.
FEW, TOO_FEW = 50, "no bound yet: there are too few rows."


class Choice(NamedTuple):
    """One line of the table of bounds: its first two cells, and the learner."""

    first: str
    second: str
    learner: OnlineLearner

    @classmethod
    def named(cls, path):
        """A user's learner with default parameters, given as ``module:Class``; a list of one line.

        Raises
        ------
        ValueError
            If there is no such module or class, or it is not an `OnlineLearner`.
        """
        module, _, name = path.partition(":")
        try:
            kind = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise ValueError(f"--learner must be MODULE:CLASS, got {path!r} ({error}).") from error
        if not (isinstance(kind, type) and issubclass(kind, OnlineLearner)):
            raise ValueError(f"--learner {path}: {name} is not an OnlineLearner.")
        return [cls(name, "own", kind())]

    @classmethod
    def grid(cls, space, regularizer=None, decoder=None, **parameters):
        """The lines of the table: every regularizer of the space, randomized; then nearest."""
        kind = SPACES[space]
        chosen = [name for name, r in REGULARIZERS.items() if (kind, r) in ORACLES]
        if regularizer is not None:
            find_oracle(kind(), resolve_regularizer(regularizer, kind()))
            chosen = [regularizer]
        decoders = ("randomized", "nearest") if decoder is None else (decoder,)
        for name in decoders:
            resolve_decoder(name)
        return [
            cls(name, ending, OnlineStructuredPredictor(space, name, decoder=ending, **parameters))
            for ending in decoders
            for name in chosen
        ]


def shuffled(table, seed):
    """The rows of a table in random order."""
    return _taken(table, _order(table, seed))


def unshuffled(table, seed):
    """The rows as they were before `shuffled`."""
    return _taken(table, np.argsort(_order(table, seed)))


def _order(table, seed):
    return np.random.RandomState(seed).permutation(table.X.shape[0])


def _taken(table, order):
    return table._replace(X=table.X[order], y=table.y[order])


class Run(NamedTuple):
    """A progressive validation and how long it took."""

    result: object
    seconds: float

    @classmethod
    def of(cls, table, learner, seed, progress, label, play="iterates"):
        """Play and learn the rows of a table once; compiling is not in the time."""
        warm_up(learner, table.X, table.y, play=play)
        started = time.perf_counter()
        report = progress(label, started)
        rest = {"random_state": seed, "progress": report, "play": play}
        result = progressive_validate(learner, table.X, table.y, **rest)
        return cls(result, time.perf_counter() - started)


def summary(table, run, space, is_ordered=False):
    """Lines on a run: how it went, a bound for new rows, and how long it took."""
    losses = run.result.expected_target_loss
    means = losses.mean(), losses[len(losses) // 2 :].mean()
    beside = comparison(space, table.y, means, is_ordered=is_ordered)
    bound = _certificate(lambda: run.result.risk_bound(DELTA, LAST), UNITS[space], len(losses))
    yield from _told(table.name, means, beside, bound, UNITS[space])
    yield from table.careful
    if table.encoder is not None and space == "simplex":
        yield from effects(run.result.estimator, table)
    yield time_line(len(losses), run.seconds, table.reading)


def stream_summary(table, result, seconds, space):
    """The same lines on a run over chunks, which were taken in their own order."""
    chunks = result.chunks
    late = chunks[len(chunks) // 2 :]
    second = float(late[:, 0] @ late[:, 2] / late[:, 0].sum())
    means, beside = (result.expected_target_loss, second), None
    if table.counts is not None:
        beside = comparison(space, table.classes, means, table.counts)
    bound = _certificate(result.risk_bound, UNITS[space], result.n_rounds)
    yield from _told(table.name, means, beside, bound, UNITS[space])
    if table.encoder is not None and space == "simplex":
        first = next(iter(table.chunks))[0]
        yield from effects(result.estimator, Table(first, None, table.name, table.encoder))
    yield time_line(result.n_rounds, seconds)


def baseline_loss(space, y, counts=None):
    """Mean target loss of the best simple guess: the vertex nearest to the mean output, always.

    Outputs stand for as many rows as `counts` says, each for one where it is None.
    """
    space = SPACES[space]().fit(y)
    V = space.encode(y)
    constant = space.nearest(np.average(V, axis=0, weights=counts)[None])
    losses = space.expected_loss(np.broadcast_to(constant, V.shape), V)
    return float(np.average(losses, weights=counts))


def comparison(space, y, means, counts=None, is_ordered=False):
    """The line that sets mean losses, of a run and its second half, beside one answer for all rows.

    Of rows in order the label of the row before is another.
    """
    least, always = baseline_loss(space, y, counts), ALWAYS[space]
    if space == "simplex":
        before = f"; the label before: {same_as_before(y):.1%}" if is_ordered else ""
        found = f"{1 - means[0]:.1%}, {1 - means[1]:.1%} in the second half"
        return f"Accuracy         {found}; always {always}: {1 - least:.1%}{before}."
    unit, here = UNITS[space], f"here {means[0]:.1%}"
    return f"Baseline         {least:.1%} {unit} with {always} for every row; {here}."


def next_command(given, has_file, saved=None):
    """The line that names the command to try next, from the arguments of this one."""
    before = after = ""
    if saved is not None:
        given, after = ["predict", saved, "NEW_FILE"], " > predictions.csv"
    elif has_file:
        given = [*given, "--save", "model"]
        before = "" if importlib.util.find_spec("skops") else "pip install skops && "
    else:
        given = ["FILE.csv"]
    return f"Next             {before}python -m skstructured {shlex.join(given)}{after}"


def time_line(n, seconds, reading=0.0):
    """The line that says how long it took, and what."""
    read = f" after {reading:.2f} s of reading" if reading else ""
    return f"Time             {seconds:.2f} s{read}, {n / max(seconds, 1e-9):,.0f} rows a second."


def _told(name, means, beside, bound, unit):
    yield f"{name}"
    yield ""
    yield "While learning   every row was predicted before it was learned, and seen once:"
    yield f"                 {means[0]:.1%} {unit}; {means[1]:.1%} in the second half."
    yield from filter(None, [beside])
    yield f"New rows         {bound}"


def _certificate(risk_bound, unit, n):
    try:
        bound = risk_bound()
    except GuaranteeError as error:
        return f"no bound: {error}" if n >= FEW else TOO_FEW
    if bound >= 1.0:
        return (
            TOO_FEW if n < FEW else f"no bound: {n:,} rows are too few for errors as many as these."
        )
    return (
        f"at most {bound:.1%} {unit}, with {1 - DELTA:.0%} confidence,\n"
        "                 if they come from where these came from."
    )


def _line(cells):
    return "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS, strict=True))


def bounds(table, choices, seed, progress):
    """Lines of the table of bounds, one as soon as its run is done."""
    yield f"Mistakes and what theory says they never exceed, on {table.name}"
    yield _line(HEADER)
    needed = []
    for choice in choices:
        label = f"{choice.first}, {choice.second}"
        run = Run.of(table, choice.learner, seed, progress, label)
        cells, more = _cells(run, table.X.shape[0])
        yield _line((choice.first, choice.second, *cells))
        needed += [f"{label}: {more}"] if more else []
    if needed:
        yield "A bound above the number of rows says nothing yet. Rows it would take:"
        yield from needed


def _cells(run, n):
    """Cells of one line of the table, and the rows needed where its bound says nothing."""
    result, mistakes = run.result, run.result.expected_target_loss.sum()
    cells, more = (f"{mistakes:.1f}", f"{mistakes / n:.3f}"), None
    try:
        U = result.best_comparator()
        bound, compared = result.regret_bound(U), result.comparator_loss(U).sum()
    except GuaranteeError:
        known = ("none", "none", "none")
    else:
        known = (f"{compared:.1f}", f"{bound:.1f}", f"{bound - mistakes:.1f}")
        more = _rows_needed(bound, compared, n) if bound > n else None
    return (*cells, *known, f"{n / max(run.seconds, 1e-9):,.0f}"), more


def _rows_needed(bound, compared, n):
    """How many rows like these it takes until the bound is below their number."""
    if compared >= n:
        return "no number: the comparator loses 1 a row or more."
    return f"about {math.ceil((bound - compared) / (1.0 - compared / n)):,}"
