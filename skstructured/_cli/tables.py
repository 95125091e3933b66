"""Tables of the command line: the contents of a file as rows and outputs, whole or in parts."""

import csv
import gzip
import importlib
import json
import os
import time
import zlib
from collections import Counter
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits

from skstructured._cli.careful import about_columns, numbers_of, without_bad_cells
from skstructured._cli.progress import stage
from skstructured.items._reading import LARGEST_GRADE
from skstructured.spaces import SPACES
from skstructured.streaming.chunks import WIDEST, Chunks, opened_parquet, svmlight_chunks
from skstructured.streaming.table_encoder import EXACT, NOTHING, TableEncoder, unreadable

PARQUET, SVMLIGHT = (".parquet", ".pq"), (".svm", ".svmlight", ".libsvm")

#: Characters that may separate cells; characters in a cell.
DELIMITERS, LONGEST_CELL = ",;\t|", 2**31 - 1

#: Cells that are missing values.
MISSING = ("?", *NOTHING)

#: Bytes of a file, and of a compressed one, that is read in parts.
LARGE, LARGE_GZIP = 1 << 26, 1 << 23

#: Rows times distinct labels (8 bytes each, several times over); names that an error lists.
LARGEST_TABLE, LISTED = 10**8, 20

#: Whole numbers of more values than this, and of fewer rows each, are amounts, not classes.
CLASSES, ROWS_EACH = 100, 10

#: Rows of a part, and those that decide what the columns of a large file are.
PART, DECIDING = 10_000, 100_000

#: Bytes of a part of a svmlight file, which has at least so many; its first rows.
PART_BYTES, PARTS, LOOKED_AT = 1 << 24, 50, 100

#: Spaces whose outputs have a column each.
WIDE = ("multilabel", "assignment", "ranking")

#: What to do about a row without an output.
REMEDY = ", the target: leave out such rows"

#: What files with query ids are read by.
QUERIES = (
    "in Python, streaming.svmlight_chunks(file, n_features, query_id=True) reads them for "
    "ListwiseRanker; for a CSV file use --qid COLUMN"
)


def ends_with(path, endings):
    """Whether the name of a file has one of these endings."""
    return path is not None and Path(path).suffix.lower() in endings


def is_large(path):
    """Whether a file is read in parts."""
    most = LARGE_GZIP if ends_with(path, (".gz", *PARQUET)) else LARGE
    return path is not None and os.path.isfile(path) and os.path.getsize(path) > most


def load_pandas():
    """pandas, which is imported when it is needed: the digits need none."""
    return importlib.import_module("pandas")


def frames(path, delimiter=None, size=None, notes=None):
    """Yield the rows of a file as data frames of at most `size` rows, with None for missing values.

    The index has the number of each row in the file; the header of CSV is row 1. Cells of CSV files
    are texts. A file whose first character is a brace has a JSON object on each line. Others are
    CSV with a header, whose most frequent separator is that of the cells unless `delimiter` is
    given. A file without rows yields nothing. `notes` gets a line if rows have several lines.

    Raises
    ------
    OSError, ValueError, ImportError
        If the file cannot be read; the message is one line and names the row.
    """
    limit, read_parts = csv.field_size_limit(LONGEST_CELL), _of_text
    if ends_with(path, PARQUET):
        read_parts = _of_parquet
    try:
        yield from read_parts(path, size, delimiter, [] if notes is None else notes)
    except UnicodeDecodeError as error:
        where = f"byte {error.object[error.start]:#x} at {error.start}"
        raise ValueError(
            f"{path} is not UTF-8 text ({where}). If it is Latin-1, convert it: "
            "iconv -f latin1 -t utf-8 FILE > NEW."
        ) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        what = f"damaged or cut off: {error}"
        if "Not a gzipped file" in str(error):
            what = "not compressed by gzip, as its name says"
        raise ValueError(f"{path} is {what}.") from error
    finally:
        csv.field_size_limit(limit)


def _of_text(path, size, delimiter, notes):
    """Frames of CSV or of JSON lines, perhaps compressed; ``-`` is standard input."""
    given = {"mode": "rt", "newline": "", "encoding": "utf-8-sig"}
    is_input, opener = str(path) == "-", gzip.open if str(path).endswith(".gz") else open
    with open(0, closefd=False, **given) if is_input else opener(path, **given) as file:
        head = next(filter(str.strip, file), "")
        lines, mark, header, first = chain([head], file), head.lstrip()[:1], None, 1
        if not mark:
            raise ValueError(f"{path} is empty: a table needs a line of column names, then rows.")
        if mark == "[":
            raise ValueError(f"{path} is a JSON list: write one object per line (JSON lines).")
        if mark == "{":
            rows = _objects(path, filter(str.strip, lines))
        else:
            mark = max(DELIMITERS, key=head.count) if delimiter is None else delimiter
            rows, first = _records(path, lines, mark, notes), 2
            header = next(rows)
        while part := list(islice(rows, size)):
            frame = load_pandas().DataFrame(part, columns=header, dtype=object)
            header = frame.columns
            yield _numbered(frame, first)
            first += len(part)


def _records(path, lines, mark, notes):
    """The header of a CSV file, which is row 1, and rows that have a cell for each column."""
    if len(mark) != 1:
        raise ValueError(f"--delimiter must be one character, got {mark!r}.")
    reader = csv.reader(lines, delimiter=mark, strict=True, skipinitialspace=True)
    number, longest, header = 0, (1, 0), []
    try:
        for number, row in enumerate(filter(None, reader), 1):
            header = header or row
            if number == 1 and len({*row}) < len(row):
                twice = next(name for name, times in Counter(row).items() if times > 1)
                raise ValueError(
                    f"{path} has two columns of the name {twice!r}: the names in the first line "
                    "must differ."
                )
            if len(row) != len(header):
                raise ValueError(
                    f"{path} row {number} has {len(row)} cells, the header has {len(header)}: "
                    "quote cells that contain the separator, or set --delimiter."
                )
            longest = max(longest, (1 + "".join(row).count("\n"), -number))
            yield row
    except csv.Error as error:
        raise ValueError(
            f"{path} row {number + 1} is not CSV ({error}): close the quotes of a cell, and "
            'write a quote within it twice (""), as in "5"" disk".'
        ) from error
    if longest[0] > 1:
        notes.append(
            f"{number - 1:,} rows were read from {reader.line_num - 1:,} lines: row "
            f"{-longest[1]} has {longest[0]:,} lines, by a quoted cell."
        )


def _objects(path, lines):
    """JSON objects, one per line."""
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} row {number} is not JSON: {error}.") from error
        if not isinstance(row, dict):
            raise ValueError(f"{path} row {number} is not a JSON object.")
        for name, value in row.items():
            if isinstance(value, (list, dict)):
                raise ValueError(f"{path} row {number} has several values in column {name!r}.")
        yield row


def _of_parquet(path, size, *_):
    """Frames of a Parquet file; whole numbers stay whole next to missing values."""
    with opened_parquet(path) as file:
        for column in file.schema_arrow:
            if column.type.num_fields:
                raise ValueError(f"{path} has several values in column {column.name!r}.")
        first = 1
        for batch in file.iter_batches(size or max(1, file.metadata.num_rows)):
            yield _numbered(batch.to_pandas(integer_object_nulls=True), first)
            first += batch.num_rows


def _numbered(frame, first):
    """The frame with the numbers of its rows, from the first one, and None for missing values."""
    frame.index = range(first, first + len(frame))
    texts = frame.columns[[kind.kind == "O" for kind in frame.dtypes]]
    cells = frame[texts]
    frame[texts] = cells.mask(cells.isna() | cells.isin(MISSING), None)
    return frame


class Table(NamedTuple):
    """Rows and outputs, or chunks of them.

    Attributes
    ----------
    X : ndarray of shape (n, p) or None
        Features; None if there are `chunks`.
    y : ndarray of shape (n,) or (n, d), or None
        Outputs. For chunks the distinct labels, None if outputs have several columns. For items
        grades, or 1 for the chosen item of each round and 0 for the others.
    name : str
        Source and size of the table.
    encoder : TableEncoder or None
        The encoder that made X of the cells of a file.
    targets : sequence of str
        Names of the target columns.
    space : str or None
        Name of the output space; None for items.
    careful : sequence of str
        Lines on columns that may have been misread.
    chunks : iterable of (X, y) or None
        Parts of a file that is not in memory.
    counts : ndarray or None
        How often each label of `y` occurs in the chunks.
    qid : ndarray of shape (n,) or None
        Round of each item.
    reading : float
        Seconds that reading and encoding took.
    """

    X: Any
    y: Any
    name: str
    encoder: Any = None
    targets: Any = ()
    space: str | None = "multiclass"
    careful: Any = ()
    chunks: Any = None
    counts: Any = None
    qid: Any = None
    reading: float = 0.0

    def in_random_order(self, seed):
        """The rows in random order; rounds of items stay together, and their rows in order."""
        codes = np.arange(len(self.y)) if self.qid is None else load_pandas().factorize(self.qid)[0]
        place = np.argsort(np.random.RandomState(seed).permutation(codes.max() + 1))
        order = np.argsort(place[codes], kind="stable")
        qid = None if self.qid is None else self.qid[order]
        return self._replace(X=self.X[order], y=self.y[order], qid=qid)


def read(options):
    """The `Table` to learn.

    Raises
    ------
    OSError, ValueError, ImportError
        If the file, a column or a value is missing or invalid; the message is one line.
    """
    path = options.file
    if path is None:
        return _digits(options.space)
    with stage(f"Reading {path}") as report:
        if ends_with(path, SVMLIGHT):
            return _svmlight(path, options)
        return (_in_parts if is_large(path) else _whole)(path, options, report)


def _digits(space):
    """scikit-learn's digits, pixels in [0, 1]."""
    X, y = load_digits(return_X_y=True)
    space = space or "multiclass"
    if space not in ("multiclass", "ordinal"):
        raise ValueError(f"--space {space} needs a FILE: the digits are classes.")
    return Table(X, y, f"digits ({len(X)} rows, {X.shape[1]} features)", space=space)


def _whole(path, options, report):
    """The table of a file that fits into memory."""
    started, notes = time.perf_counter(), []
    round_, qid, about = options.qid or options.choice, None, ""
    frame, targets = _first(path, options, None, notes)
    report(len(frame))
    cells = filled(path, frame, targets, f"{REMEDY}, or set --target")
    if round_ is None:
        space = space_of(cells.iloc[:, 0], options)
        y = outputs(path, cells, space, options.order)
    else:
        space, qid = None, rounds_of(path, frame, round_)
        y = _of_items(path, cells, qid, options)
        about = f", {len(np.unique(qid))} {'lists' if options.qid else 'choices'} by {round_}"
    features = features_of(path, frame, options, (*targets, round_))
    features, careful = without_bad_cells(features, options.bad_cells)
    if space in ("multiclass", "ordinal"):
        check_classes(path, y, len(y), targets[0], frame.columns)
    encoder = TableEncoder().fit(features)
    X = encoder.transform(features)
    careful = about_columns(features, encoder, y, targets, space == "real") | careful
    notes += (careful | without_bad_cells(cells, None, "leave out such rows")[1]).values()
    name = title(path, *X.shape, features.shape[1], targets, about)
    reading = time.perf_counter() - started
    return Table(X, y, name, encoder, targets, space, notes, qid=qid, reading=reading)


def _in_parts(path, options, report):
    """A table in parts: its first rows fix the encoder, and one pass over it finds the labels."""
    first, targets = _first(path, options, DECIDING)
    space = space_of(first[targets[0]].dropna(), options)
    if space == "real":
        raise ValueError(f"{path} is too large for --space real: use a part of it.")
    features = features_of(path, first, options, targets)
    features, careful = without_bad_cells(features, options.bad_cells)
    encoder, y = TableEncoder().fit(features), first[targets].fillna("").astype(str)
    notes = [*(about_columns(features, encoder, y.to_numpy(), targets, False) | careful).values()]
    texts, labels, known = Counter(), {}, (None, None)

    def chunks():
        for part in frames(path, options.delimiter, PART):
            X = encoded(encoder, features_of(path, part, options, targets), path, options.bad_cells)
            y = [labels[text] for text in part[targets[0]].astype(str)] if labels else None
            yield X, outputs(path, part[targets], space) if y is None else np.array(y)

    for part in frames(path, options.delimiter, PART, notes):
        texts.update(filled(path, part, targets, REMEDY).iloc[:, 0].astype(str))
        report(texts.total())
    if space not in WIDE:
        cells = load_pandas().DataFrame({targets[0]: list(texts)})
        y = outputs(path, cells, space, options.order)
        check_classes(path, y, 1, targets[0], first.columns)
        labels, known = dict(zip(texts, y, strict=True)), _counted(y, texts.values())
    sizes = texts.total(), len(encoder.get_feature_names_out()), encoder.n_features_in_
    name, rest = title(path, *sizes, targets), {"chunks": Chunks(chunks), "counts": known[1]}
    return Table(None, known[0], name, encoder, targets, space, notes, **rest)


def title(path, n, n_features, n_columns, targets=(), about=""):
    """The title of a file: name, rows, columns if these are not the features, and targets."""
    name = "standard input" if str(path) == "-" else path
    columns = f"{n_columns} column{'s' if n_columns > 1 else ''} as "
    columns, ends = columns if n_columns != n_features else "", ", target " if targets else ""
    return f"{name} ({n} rows, {columns}{n_features} features){about}{ends}{', '.join(targets)}"


def _first(path, options, size, notes=None):
    """The first rows of a file, and the names of its target columns (default: the last)."""
    frame = next(frames(path, options.delimiter, size, notes), None)
    if frame is None or frame.empty:
        raise ValueError(f"{path} has no rows below its header.")
    targets = [options.target or frame.columns[-1]]
    if options.space in WIDE and options.target:
        targets = options.target.split(",")
    check_columns(path, frame, targets)
    return frame, targets


def check_columns(path, frame, names):
    """Raise a ValueError for a name that the table does not have."""
    for name in names:
        if name not in frame:
            there = ", ".join(frame.columns[:LISTED])
            raise ValueError(f"{path} has no column {name!r}; it has {there}.")


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
    chosen = [name for name in options.columns or frame.columns if name not in others]
    if not chosen:
        raise ValueError(f"{path} has no column except the target.")
    return frame[chosen]


def rounds_of(path, frame, name):
    """The column of the rounds, as strings if it does not have numbers."""
    cells = filled(path, frame, [name])[name]
    numbers = numbers_of(cells)
    is_exact = numbers is not None and np.abs(numbers).max(initial=0) < EXACT
    return numbers if is_exact else cells.astype(str).to_numpy(object)


def space_of(column, options):
    """The space; by default "real" for amounts, which are not classes."""
    numbers = numbers_of(column)
    if options.space is not None or options.order is not None or numbers is None:
        return options.space or ("multiclass" if options.order is None else "ordinal")
    distinct = len(np.unique(numbers))
    many = distinct > CLASSES and len(numbers) < ROWS_EACH * distinct
    return "real" if many or np.any(numbers != np.rint(numbers)) else "multiclass"


def make_space(name, order=None):
    """The output space of a name, with labels in this order."""
    return SPACES[name]() if order is None else SPACES[name](categories=order)


def outputs(path, cells, space, order=None):
    """Labels as numbers if all are numbers (so ordinal classes are sorted), else texts."""
    name, y = cells.columns[0], numbers_of(cells)
    texts = cells[name].astype(str)
    if order is not None:
        for row, label in texts[~texts.isin(order)].items():
            raise ValueError(f"{path} row {row}: --order does not have {label!r} of {name!r}.")
    elif y is None or not np.isfinite(y).all():
        what = {"multilabel": "0 and 1", "ordinal": "numbers, or strings with --order A,B,C"}
        what = what.get(space, "numbers" if space == "real" else "whole numbers")
        if space != "multiclass":
            raise ValueError(f"Target {name!r} of {path} must have {what} with --space {space}.")
    elif space not in ("multiclass", "ordinal") or np.abs(y).max() < EXACT:
        y = y if space in WIDE else y[:, 0]
        return y.astype(np.int64) if space != "real" and np.all(y == np.rint(y)) else y
    return texts.to_numpy(object)


def _of_items(path, cells, qid, options):
    """Grades, or marks, of which one in each round is 1."""
    ranks, (target,), round_ = options.qid is not None, cells.columns, options.qid or options.choice
    kind, what = ("qid", "grades") if ranks else ("choice", "choices")
    y = numbers_of(cells[target])
    if target == round_:
        raise ValueError(f"--{kind} and the target are both the column {target!r}: set --target.")
    if y is None:
        raise ValueError(f"Column {target!r} of {path} must have {what} as numbers, got strings.")
    is_right = (y >= 0) & (y <= LARGEST_GRADE) if ranks else np.isin(y, (0, 1))
    wanted = f"--choice needs 1 for the chosen row of each {round_} and 0 for the others"
    if ranks:
        wanted = f"grades must be from 0, not relevant, to {LARGEST_GRADE}"
    for row, value in zip(cells.index[~is_right], y[~is_right], strict=True):
        raise ValueError(f"{path} row {row}: {wanted}; column {target!r} has {value:g}.")
    if not ranks:
        _check_chosen(cells.index, y, qid, round_)
    elif not y.any():
        raise ValueError(f"Column {target!r} has grades of 0 only: no row is better than another.")
    return y


def _check_chosen(rows, y, qid, name):
    """Raise a ValueError for the first round that does not have one chosen row."""
    counts = load_pandas().Series(y).groupby(qid, sort=False).sum()
    for label, count in counts[counts != 1.0].items():
        chosen = ", ".join(map(str, rows[(qid == label) & (y == 1.0)][:LISTED]))
        where, several = f" (rows {chosen})" * bool(chosen), (counts != 1.0).sum()
        label = f"{label:g}" if isinstance(label, float) else label
        raise ValueError(
            f"Each {name} needs exactly one chosen row (target 1): {several} of {len(counts)} do "
            f"not have one, such as {name} {label} with {count:g}{where}. Correct them or leave "
            "them out."
        )


def check_classes(path, y, n, name, header):
    """Raise a ValueError if the target has one value, or more than n rows allow."""
    distinct = len(set(y.tolist()))
    if distinct == 1:
        raise ValueError(
            f"{path} only has the value {str(y[0])!r} in column {name!r}, the target, which needs "
            f"at least two classes. Set --target to one of {', '.join(header[:LISTED])}."
        )
    if distinct * n > LARGEST_TABLE:
        most = LARGEST_TABLE // n
        raise ValueError(f"Column {name!r} must have at most {most} labels, got {distinct}.")


def encoded(encoder, frame, path, bad_cells):
    """Rows of numbers of a part of a file.

    Raises
    ------
    ValueError
        If a cell is not the number or date that it should be; the message names row, column and
        value. With ``bad_cells="missing"`` such cells are missing values.
    """
    try:
        return encoder.transform(frame)
    except ValueError:
        kinds = {one["column"]: one["taken for"] for one in encoder.columns_}
        cells = ((frame[name].to_numpy(object), kinds.get(name)) for name in frame)
        wrong = np.column_stack([unreadable(*given) for given in cells])
        if not wrong.any():
            raise
    if bad_cells != "missing":
        row, name = (
            axis[found[0]] for axis, found in zip(frame.axes, wrong.nonzero(), strict=True)
        )
        raise ValueError(
            f"{path} row {row} has {frame.loc[row, name]!r} in column {name!r}, which has "
            f"{kinds[name]}s: correct it, or use --bad-cells missing to read such cells as missing "
            "values."
        )
    return encoder.transform(frame.astype(object).mask(wrong, None))


def _counted(labels, counts):
    """The distinct labels, and how often each occurs."""
    distinct, codes = np.unique(list(labels), return_inverse=True)
    return distinct, np.bincount(codes, list(counts))


def _svmlight(path, options):
    """The table of the chunks of a svmlight file, which is read once for width and labels."""
    with open(path, "rb") as file:
        if any(b" qid:" in line for line in islice(file, LOOKED_AT)):
            raise ValueError(
                f"{path} has query ids (qid:), which the command line does not support: {QUERIES}."
            )
    zero_based, width, labels = svmlight_labels(path)
    if not labels:
        raise ValueError(f"{path} has no rows.")
    size = min(PART_BYTES, max(1, os.path.getsize(path) // PARTS))
    classes, counts = _counted(labels, labels.values())
    name, space = title(path, labels.total(), width, width), options.space or "multiclass"
    chunks = svmlight_chunks(path, width, size, zero_based)
    return Table(None, classes, name, space=space, chunks=chunks, counts=counts)


def svmlight_labels(path):
    """Whether columns of a svmlight file count from 0, how many there are, and counts of labels."""
    low, high, labels = 1, 0, Counter()
    for X, y in svmlight_chunks(path, WIDEST, zero_based=True):
        low, high = min(low, X.indices.min(initial=1)), max(high, X.indices.max(initial=0))
        labels.update(y.tolist())
    return low == 0, max(1, int(high) + (low == 0)), labels
