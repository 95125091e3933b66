"""What the command line reads and prints."""

import csv
import importlib
import time
from typing import NamedTuple

import numpy as np
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skstructured._oracles import ORACLES, find_oracle
from skstructured.decoders import resolve_decoder
from skstructured.evaluation import progressive_validate, warm_up
from skstructured.exceptions import GuaranteeError
from skstructured.learner import OnlineLearner
from skstructured.online import OnlineStructuredPredictor
from skstructured.regularizers import REGULARIZERS, resolve_regularizer
from skstructured.spaces import SPACES

HEADER = ("regularizer", "decoder", "mistakes", "share", "comparator", "bound", "margin", "rows/s")
#: Characters in a cell, and rows times distinct values (8 bytes each, several times over).
LONGEST_CELL, LARGEST_TABLE = 2**31 - 1, 10**8
WIDTHS = (11, 10, 10, 6, 11, 10, 10, 9)


class Choice(NamedTuple):
    """One line of the table: its first two cells, and the learner."""

    first: str
    second: str
    learner: OnlineLearner

    @classmethod
    def named(cls, path):
        """A learner of one's own with its defaults, by ``module:Class``; a list of one line.

        Raises
        ------
        ValueError
            If there is no such module or class, or it is no `OnlineLearner`.
        """
        module, _, name = path.partition(":")
        try:
            kind = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise ValueError(f"--learner wants MODULE:CLASS, got {path!r} ({error}).") from error
        if not (isinstance(kind, type) and issubclass(kind, OnlineLearner)):
            raise ValueError(f"--learner {path}: {name} is no OnlineLearner.")
        return [cls(name, "own", kind())]

    @classmethod
    def grid(cls, space, regularizer=None, decoder=None):
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
            cls(name, ending, OnlineStructuredPredictor(space, name, decoder=ending))
            for ending in decoders
            for name in chosen
        ]


def load_digits_stream(space):
    """scikit-learn's digits, pixels in [0, 1]; label sets are (even, above 4, prime)."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    if space == "hypercube":
        y = np.column_stack([y % 2 == 0, y > 4, np.isin(y, (2, 3, 5, 7))]).astype(int)
    return X / 16.0, y, f"digits ({len(X)} rows, {X.shape[1]} features)"


def load_csv(path, target, space):
    """Features and outputs of a CSV file with a header.

    Numeric columns are standardised over the whole file, others one-hot encoded.

    Raises
    ------
    OSError, ValueError
        If the file or a column is missing, or a cell is empty; the message is one line.
    """
    if target is None:
        raise ValueError("--data needs --target COL.")
    lines = _read(path)
    header, cells = lines[0], _cells(path, lines)
    targets = target.split(",") if space == "hypercube" else [target]
    for name in targets:
        if name not in header:
            raise ValueError(f"{path} has no column {name!r}; it has {', '.join(header)}.")
    y = cells[:, [header.index(name) for name in targets]]
    if space != "hypercube":
        _check_distinct(y[:, 0], target, "labels")
    X = [_features(cells[:, j], name) for j, name in enumerate(header) if name not in targets]
    if not X:
        raise ValueError(f"{path} has no column besides the target.")
    X = np.hstack(X)
    return X, _outputs(y, space), f"{path} ({len(X)} rows, {X.shape[1]} features)"


def _read(path):
    """Lines of a CSV file as lists of cells of any length, empty lines left out."""
    limit = csv.field_size_limit(LONGEST_CELL)
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            lines = [row for row in csv.reader(file) if row]
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a UTF-8 text: {error}.") from error
    except csv.Error as error:
        raise ValueError(f"{path} is not a CSV file: {error}.") from error
    finally:
        csv.field_size_limit(limit)
    if len(lines) < 2:
        raise ValueError(f"{path} has no rows below its header.")
    return lines


def _check_distinct(column, name, what):
    """A ValueError where a number for each row and distinct value would fill the memory."""
    distinct, n = len(set(column.tolist())), len(column)
    if distinct * n > LARGEST_TABLE:
        raise ValueError(
            f"column {name!r} has {distinct} distinct {what} in {n} rows: at most "
            f"{LARGEST_TABLE // n} can be told apart in so many."
        )


def _cells(path, lines):
    for number, row in enumerate(lines[1:], start=2):
        if len(row) != len(lines[0]):
            raise ValueError(
                f"{path} row {number} has {len(row)} cells, the header has {len(lines[0])}."
            )
        if "" in row:
            column = lines[0][row.index("")]
            raise ValueError(f"{path} row {number} has no value in column {column!r}.")
    return np.array(lines[1:], dtype=object)  # as strings all would be as long as the longest


def _numbers(column):
    try:
        return column.astype(np.float64)
    except ValueError:
        return None


def _features(column, name):
    values = _numbers(column)
    if values is not None:
        if not np.isfinite(values).all():
            raise ValueError(f"column {name!r} holds NaN or infinity.")
        return StandardScaler().fit_transform(values[:, None])
    _check_distinct(column, name, "texts")
    return OneHotEncoder(sparse_output=False).fit_transform(column[:, None])


def _outputs(y, space):
    """Labels as numbers where all are numbers (so that ordered classes sort), else strings."""
    columns = [_numbers(column) for column in y.T]
    numeric = y if any(column is None for column in columns) else np.column_stack(columns)
    if space != "hypercube":
        return numeric[:, 0]
    if numeric is y:
        raise ValueError("target columns of --space hypercube must hold 0 and 1.")
    return numeric


def _line(cells):
    return "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS, strict=True))


def table(X, y, name, choices, shuffle, seed, progress):
    """Yield the lines of the report, one as soon as its run is done."""
    if shuffle:
        order = np.random.RandomState(seed).permutation(len(X))
        X, y = X[order], y[order]
    yield f"Progressive validation on {name}"
    yield _line(HEADER)
    for choice in choices:
        yield _line(_run(X, y, choice, seed, progress))


def _run(X, y, choice, seed, progress):
    """Cells of one line of the table."""
    warm_up(choice.learner, X, y)
    started = time.perf_counter()
    report = progress(f"{choice.first}, {choice.second}", started)
    result = progressive_validate(choice.learner, X, y, random_state=seed, progress=report)
    seconds = time.perf_counter() - started
    mistakes = result.expected_target_loss.sum()
    cells = (choice.first, choice.second, f"{mistakes:.1f}", f"{mistakes / len(X):.3f}")
    return *cells, *_guarantee(result, mistakes), f"{len(X) / seconds:,.0f}"


def _guarantee(result, mistakes):
    """Cells for the comparator's loss, the bound and the margin to it."""
    try:
        U = result.best_comparator()
        bound = result.regret_bound(U)
    except GuaranteeError:
        return "none", "none", "none"
    return f"{result.comparator_loss(U).sum():.1f}", f"{bound:.1f}", f"{bound - mistakes:.1f}"
