"""Tables for the command line: rows and outputs of a file, in memory or in parts."""

import time
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits

from skstructured._cli.files import SVMLIGHT, ends_with, frames, is_large, load_pandas
from skstructured.items._reading import LARGEST_GRADE
from skstructured.spaces import SPACES
from skstructured.streaming import svmlight_chunks
from skstructured.streaming.table_encoder import TableEncoder

#: Rows times distinct labels (8 bytes each, several times over); names that an error lists.
LARGEST_TABLE, LISTED = 10**8, 20

#: Whole numbers of more values than this, and of fewer rows each, are amounts, not classes.
CLASSES, ROWS_EACH = 100, 10

#: Rows of a part, and those that decide what the columns of a large file are.
PART, DECIDING = 10_000, 100_000

#: Bytes of a part of a svmlight file, which has at least so many; its largest width; first rows.
PART_BYTES, PARTS, WIDEST, LOOKED_AT = 1 << 24, 50, 2**31 - 1, 100

#: In fewer rows a column that says the same as the target may do so by chance.
FEW = 20

#: Spaces whose outputs have a column each.
WIDE = ("hypercube", "birkhoff", "permutahedron")

#: The whole number up to which floats have all of them.
LARGEST_WHOLE = 2**53


class Table(NamedTuple):
    """Rows and outputs, or chunks of them.

    Attributes
    ----------
    X : ndarray of shape (n, p) or None
        Features; None if there are `chunks`.
    y : ndarray of shape (n,) or (n, d), or None
        Outputs; of chunks the distinct labels, None if outputs have several columns. Of items
        grades, or 1 for the chosen item of each round and 0 for the others.
    name : str
        Where they are from, and how many.
    encoder : TableEncoder or None
        Makes X of the cells of a file.
    targets : sequence of str
        Names of the target columns.
    space : str or None
        What an output is; None for items.
    careful : sequence of str
        What may not be what it is taken for.
    chunks : iterable of (X, y) or None
        Parts of a file that is not in memory.
    counts : ndarray or None
        How often each label of `y` occurs in the chunks.
    qid, round : ndarray of shape (n,) and str, or None
        Round of each item, and its column.
    reading : float
        Seconds that reading and encoding took.
    """

    X: Any
    y: Any
    name: str
    encoder: Any = None
    targets: Any = ()
    space: str | None = "simplex"
    careful: Any = ()
    chunks: Any = None
    counts: Any = None
    qid: Any = None
    round: str | None = None
    reading: float = 0.0

    def in_random_order(self, seed):
        """The rows in random order; rounds of items stay together, and their rows in order."""
        codes = np.arange(len(self.y))
        if self.qid is not None:
            codes = load_pandas().factorize(self.qid)[0]
        place = np.argsort(np.random.RandomState(seed).permutation(codes.max() + 1))
        order = np.argsort(place[codes], kind="stable")
        qid = None if self.qid is None else self.qid[order]
        return self._replace(X=self.X[order], y=self.y[order], qid=qid)


def read(options):
    """The `Table` to learn.

    Raises
    ------
    OSError, ValueError, ImportError
        If the file, a column or a value is missing or not what it must be; one line.
    """
    started, path = time.perf_counter(), options.file
    if path is None:
        return _digits(options.space)
    if ends_with(path, SVMLIGHT):
        return _svmlight(path, options)
    if is_large(path) and options.qid is None and options.choice is None:
        return Parts(path, options).table()
    return _whole(path, options)._replace(reading=time.perf_counter() - started)


def _digits(space):
    """scikit-learn's digits, pixels in [0, 1]; multilabel outputs are (even, above 4, prime)."""
    X, y = load_digits(return_X_y=True)
    if space == "hypercube":
        y = np.column_stack([y % 2 == 0, y > 4, np.isin(y, (2, 3, 5, 7))]).astype(int)
    if space in ("birkhoff", "permutahedron", "real"):
        raise ValueError(f"--space {space} needs a file: the digits are classes.")
    return Table(X, y, f"digits ({len(X)} rows, {X.shape[1]} features)", space=space or "simplex")


def _whole(path, options):
    """The table of a file that fits into memory."""
    notes, round_, qid, about = [], options.qid or options.choice, None, ""
    if round_ is not None and is_large(path):
        raise ValueError(
            "--qid and --choice are for files that fit into memory: take a part of it."
        )
    frame = next(frames(path, options.delimiter, notes=notes), None)
    frame = _checked(path, frame)
    targets = targets_of(path, frame, options)
    cells = filled(path, frame, targets, ", the target: leave such rows out, or give --target")
    if round_ is None:
        space = space_of(cells.iloc[:, 0], options)
        y = outputs(path, cells, space, options.order)
    else:
        space, qid = None, rounds_of(path, frame, round_)
        y = _of_items(path, cells, qid, options)
        about = f", {len(np.unique(qid))} {'lists' if options.qid else 'choices'} by {round_}"
    features = features_of(path, frame, options, [*targets, *([round_] if round_ else [])])
    if space in ("simplex", "ordinal"):
        check_classes(path, y, len(y), targets[0], frame.columns)
    encoder = TableEncoder().fit(features)
    X = encoder.transform(features)
    notes += [
        f"column {name!r} says the same as the target: if so, leave it out (--columns)."
        for name in (copies(features, y) if y.ndim == 1 else ())
    ]
    name = f"{title(path, *X.shape, features.shape[1])}{about}, target {', '.join(targets)}"
    return Table(X, y, name, encoder, targets, space, notes, qid=qid, round=round_)


def title(path, n, n_features, n_columns):
    """What a file is called, its rows, and its columns if these are not the features."""
    name = "standard input" if str(path) == "-" else path
    plural = "s" if n_columns > 1 else ""
    columns = "" if n_columns == n_features else f"{n_columns} column{plural} as "
    return f"{name} ({n} rows, {columns}{n_features} features)"


def _checked(path, frame):
    if frame is None or frame.empty:
        raise ValueError(f"{path} has no rows below its header.")
    return frame


def check_columns(path, frame, names):
    """Raise a ValueError for a name that the table does not have."""
    for name in names:
        if name not in frame:
            there = ", ".join(frame.columns[:LISTED])
            raise ValueError(f"{path} has no column {name!r}; it has {there}.")


def targets_of(path, frame, options):
    """The names of the target columns: the last one if none is named."""
    targets = [frame.columns[-1]] if options.target is None else [options.target]
    if options.space in WIDE and options.target is not None:
        targets = options.target.split(",")
    check_columns(path, frame, targets)
    return targets


def filled(path, frame, names, remedy=""):
    """Columns that must have a value in every row."""
    check_columns(path, frame, names)
    for name in names:
        gaps = frame.index[frame[name].isna()]
        if len(gaps):
            raise ValueError(f"{path} row {gaps[0]} has no value in column {name!r}{remedy}.")
    return frame[list(names)]


def features_of(path, frame, options, others):
    """The columns that --columns names, or all but the `others`."""
    check_columns(path, frame, options.columns or ())
    features = frame.drop(columns=others)
    if options.columns is not None:
        features = frame[[name for name in options.columns if name not in others]]
    if features.shape[1] == 0:
        raise ValueError(f"{path} has no column besides the target.")
    return features


def numbers_of(column):
    """Cells as float64, or None if one of them is not a number."""
    try:
        return column.astype(np.float64).to_numpy()
    except (TypeError, ValueError, OverflowError):
        return None


def rounds_of(path, frame, name):
    """The column of the rounds, as texts if it does not hold numbers."""
    cells = filled(path, frame, [name])[name]
    numbers = numbers_of(cells)
    is_exact = numbers is not None and np.abs(numbers).max(initial=0) < LARGEST_WHOLE
    return numbers if is_exact else cells.astype(str).to_numpy(object)


def space_of(column, options):
    """The space; if none is named, "real" for amounts, which are not classes."""
    numbers = numbers_of(column)
    if options.space is not None or options.order is not None or numbers is None:
        return options.space or ("simplex" if options.order is None else "ordinal")
    distinct = len(np.unique(numbers))
    many = distinct > CLASSES and len(numbers) < ROWS_EACH * distinct
    return "real" if many or np.any(numbers != np.rint(numbers)) else "simplex"


def make_space(name, order=None):
    """The output space of a name, whose labels have this order."""
    return SPACES[name]() if order is None else SPACES[name](categories=order)


def outputs(path, cells, space, order=None):
    """Labels as numbers if all are numbers (so ordinal classes are sorted), else texts."""
    name, columns = cells.columns[0], [numbers_of(cells[one]) for one in cells]
    texts = cells[name].astype(str)
    if order is not None:
        for row, label in texts[~texts.isin(order)].items():
            raise ValueError(f"{path} row {row}: --order does not name {label!r}, a {name!r}.")
        return texts.to_numpy(object)
    numeric = all(y is not None and np.isfinite(y).all() for y in columns)
    if not numeric and space != "simplex":
        what = {"hypercube": "0 and 1", "ordinal": "numbers, or words with --order A,B,C"}
        what = what.get(space, "numbers" if space == "real" else "whole numbers")
        raise ValueError(f"target {name!r} of {path} must hold {what} with --space {space}.")
    y = np.column_stack(columns) if numeric else None
    if not numeric or (space in ("simplex", "ordinal") and np.abs(y).max() >= LARGEST_WHOLE):
        return texts.to_numpy(object)
    y = y if space in WIDE else y[:, 0]
    return y.astype(np.int64) if space != "real" and np.all(y == np.rint(y)) else y


def _of_items(path, cells, qid, options):
    """Grades, or marks of which one in each round is 1."""
    (target,), round_ = cells.columns, options.qid or options.choice
    y, what = numbers_of(cells[target]), "choices" if options.qid is None else "grades"
    if target == round_:
        kind = "choice" if options.qid is None else "qid"
        raise ValueError(f"--{kind} and the target are both the column {target!r}: give --target.")
    if y is None:
        raise ValueError(f"column {target!r} of {path} must have {what} as numbers, and has words.")
    is_right = np.isin(y, (0, 1)) if options.qid is None else (y >= 0) & (y <= LARGEST_GRADE)
    wanted = f"grades must be from 0, not relevant, to {LARGEST_GRADE}"
    if options.qid is None:
        wanted = f"--choice takes 1 for the chosen row of each {round_} and 0 for the others"
    for row, value in zip(cells.index[~is_right], y[~is_right], strict=True):
        raise ValueError(f"{path} row {row}: {wanted}; column {target!r} has {value:g}.")
    if options.qid is not None and not y.any():
        raise ValueError(f"all grades of column {target!r} are 0: no row is better than another.")
    counts = load_pandas().Series(y).groupby(qid, sort=False).sum()
    for name, count in counts[counts != 1.0].items() if options.qid is None else ():
        rows = ", ".join(map(str, cells.index[(qid == name) & (y == 1.0)][:LISTED]))
        where, several = f" (rows {rows})" * bool(rows), (counts != 1.0).sum()
        label = f"{name:g}" if isinstance(name, float) else name
        raise ValueError(
            f"{round_} {label} has {count:g} chosen rows{where}, and {several} of {len(counts)} "
            "have not one: mark one row of each with 1, or leave them out."
        )
    return y


def check_classes(path, y, n, name, header):
    """Raise a ValueError if the target has one value, or more than n rows allow."""
    distinct = len(set(y.tolist()))
    if distinct == 1:
        raise ValueError(
            f"{path} has the one value {str(y[0])!r} in column {name!r}, the target, which needs "
            f"at least two classes: name it with --target (there are {', '.join(header[:LISTED])})."
        )
    if distinct * n > LARGEST_TABLE:
        most = LARGEST_TABLE // n
        raise ValueError(f"column {name!r} has {distinct} distinct labels, of {most} at most.")


def copies(features, y):
    """Yield the names of columns that have one value for each output, and another for others."""
    codes, labels = load_pandas().factorize(y)
    if len(y) < FEW:
        return
    cells = features.iloc[: LOOKED_AT + 1].to_numpy(object)
    repeats = (codes[1:] == codes[:-1])[:LOOKED_AT]
    alike = ((cells[1:] == cells[:-1]) == repeats[:, None]).all(axis=0)
    for name in features.columns[alike]:
        if len(labels) > len(y) / 2:
            numbers = numbers_of(features[name])
            if np.array_equal(features[name].to_numpy(object) if numbers is None else numbers, y):
                yield name
        elif np.array_equal(features[name].factorize()[0], codes):
            yield name


def encoded(encoder, frame, path, bad_cells):
    """Rows of numbers of a part of a file.

    Raises
    ------
    ValueError
        If a number or a date is none, naming row, column and value; with ``bad_cells="missing"``
        such cells are missing values.
    """
    try:
        return encoder.transform(frame)
    except ValueError:
        kept = _without_bad_cells(encoder, frame, path, bad_cells)
        if kept is frame:
            raise
    return encoder.transform(kept)


def _without_bad_cells(encoder, frame, path, bad_cells):
    """The frame without cells that are no number or date in a column that has these."""
    pd, bad, kept = load_pandas(), [], frame
    kinds = {one["column"]: one["taken for"] for one in encoder.columns_}
    for name, kind in kinds.items():
        if kind not in ("number", "date") or name not in frame:
            continue
        column = frame[name]
        if kind == "number":
            is_good = np.isfinite(pd.to_numeric(column, errors="coerce").astype(np.float64))
        else:
            given = {"errors": "coerce", "format": "ISO8601", "utc": True}
            is_good = pd.to_datetime(column.astype(str), **given).notna()
        wrong = column.notna() & ~is_good
        bad += [(row, name, value) for row, value in column[wrong][:1].items()]
        kept = (
            kept.assign(**{name: column.astype(object).mask(wrong, None)}) if wrong.any() else kept
        )
    if bad and bad_cells != "missing":
        row, name, value = min(bad)
        raise ValueError(
            f"{path} row {row} has {value!r} in column {name!r}, which has {kinds[name]}s: correct "
            "it, or take such cells as missing values by --bad-cells missing."
        )
    return kept


class Parts:
    """A table in parts. One pass over it finds its labels; its first rows fix the encoder."""

    def __init__(self, path, options):
        self.path, self.options, self.notes = path, options, []
        first = _checked(path, next(frames(path, options.delimiter, DECIDING), None))
        self.targets = targets_of(path, first, options)
        self.space = space_of(first[self.targets[0]].dropna(), options)
        if self.space == "real":
            raise ValueError(f"{path} is too large for --space real: take a part of it.")
        self.encoder = TableEncoder().fit(self._features(first))
        self.labels, counts, self.n = {}, Counter(), 0
        for _, cells in self._parts(self.notes):
            self.n += len(cells)
            if self.space not in WIDE:
                counts.update(cells.iloc[:, 0].astype(str).tolist())
        if counts:
            texts = load_pandas().DataFrame({self.targets[0]: list(counts)})
            y = outputs(path, texts, self.space, options.order)
            check_classes(path, y, 1, self.targets[0], first.columns)
            self.labels = dict(zip(counts, y, strict=True))
        self.known = _counted(self.labels.values(), counts.values()) if counts else (None, None)

    def _features(self, part):
        return features_of(self.path, part, self.options, self.targets)

    def _parts(self, notes=None):
        for part in frames(self.path, self.options.delimiter, PART, notes):
            yield part, filled(self.path, part, self.targets, ", the target: leave such rows out")

    def __iter__(self):
        for part, cells in self._parts():
            X = encoded(self.encoder, self._features(part), self.path, self.options.bad_cells)
            if self.labels:
                yield X, np.array([self.labels[label] for label in cells.iloc[:, 0].astype(str)])
            else:
                yield X, outputs(self.path, cells, self.space)

    def table(self):
        """The `Table` of these chunks."""
        width, columns = len(self.encoder.get_feature_names_out()), self.encoder.n_features_in_
        name = f"{title(self.path, self.n, width, columns)}, target {', '.join(self.targets)}"
        rest = {"chunks": self, "counts": self.known[1]}
        return Table(
            None, self.known[0], name, self.encoder, self.targets, self.space, self.notes, **rest
        )


def _counted(labels, counts):
    """The distinct labels, and how often each occurs."""
    distinct, codes = np.unique(list(labels), return_inverse=True)
    return distinct, np.bincount(codes, list(counts))


def _svmlight(path, options):
    """The table of the chunks of a svmlight file, which is read once for width and labels."""
    if options.qid is not None or options.choice is not None:
        raise ValueError(
            "--qid and --choice name columns, and svmlight files have none: in Python, "
            "load_svmlight_file(file, query_id=True) has rows, grades and rounds."
        )
    if options.target is not None or options.space in WIDE:
        what = "--target" if options.target is not None else f"--space {options.space}"
        raise ValueError(f"{what} is not for svmlight files, which have one label per row.")
    with open(path, "rb") as file:
        if any(b" qid:" in line for line in islice(file, LOOKED_AT)):
            raise ValueError(
                f"{path} has query ids (qid:), which the command line does not read: in Python, "
                "streaming.svmlight_chunks(file, n_features, query_id=True) has rows, grades and "
                "queries for ListwiseRanker; a CSV file is ranked by --qid COLUMN."
            )
    zero_based, width, labels = svmlight_labels(path)
    if not labels:
        raise ValueError(f"{path} has no rows.")
    size = min(PART_BYTES, max(1, Path(path).stat().st_size // PARTS))
    classes, counts = _counted(labels, labels.values())
    rest = {"space": options.space or "simplex", "counts": counts}
    rest["chunks"] = svmlight_chunks(path, width, size, zero_based)
    return Table(None, classes, title(path, labels.total(), width, width), **rest)


def svmlight_labels(path):
    """Whether columns of a svmlight file count from 0, how many there are, and counts of labels."""
    for zero_based in (False, True):
        width, labels = 1, Counter()
        try:
            for X, y in svmlight_chunks(path, WIDEST, zero_based=zero_based):
                width = max(width, int(X.indices.max(initial=0)) + 1)
                labels.update(y.tolist())
        except ValueError as error:
            if zero_based or "zero_based=True" not in str(error):
                raise
        else:
            return zero_based, width, labels
