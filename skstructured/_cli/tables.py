"""Tables of the command line: the contents of a file as rows and outputs, whole or in parts."""

import time
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from skstructured._base.validation import LARGEST_GRADE
from skstructured._cli import careful, files
from skstructured._cli.careful import numbers_of, plain_numbers
from skstructured._cli.files import LISTED, load_pandas
from skstructured._cli.progress import stage
from skstructured.spaces import SPACES_BY_NAME
from skstructured.streaming.chunks import Chunks
from skstructured.streaming.formats import are_codes, number_format, unreadable
from skstructured.streaming.table_encoder import EXACT, TableEncoder

#: Rows times distinct labels (8 bytes each, several times over).
LARGEST_TABLE = 10**8

#: Whole numbers of more values than this, and of fewer rows each, are amounts, not classes.
CLASSES, ROWS_EACH = 100, 10

#: Rows of a part of a large file.
PART = 10_000

#: What to do about a row without an output.
REMEDY = ", the target: leave out such rows"


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
        Source and size of the table, and whether its outputs are real numbers.
    encoder : TableEncoder or None
        The encoder that made X of the cells of a file.
    targets : sequence of str
        Names of the target columns.
    space : str
        Name of the output space; "lists" or "choices" for items.
    careful : sequence of str
        Lines on columns that may have been misread.
    formats : sequence of str
        A cell of each column of marks, dates or codes, and its value.
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
    space: str = "multiclass"
    careful: Any = ()
    formats: Any = ()
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


def read(options, first):
    """The `Table` to learn, of the options and what `files.first_rows` returns for them.

    Raises
    ------
    OSError, ValueError, ImportError
        If the file, a column or a value is missing or invalid; the message is one line.
    """
    path = options.file
    if path is None:
        return _digits(options.space)
    with stage(f"Reading {path}") as report:
        return (_in_parts if files.is_large(path) else _whole)(path, options, first, report)


def _digits(space):
    """scikit-learn's digits, pixels in [0, 1]."""
    from sklearn.datasets import load_digits  # files need none of it

    X, y = load_digits(return_X_y=True)
    name = f"digits ({len(X)} rows, {X.shape[1]} features)"
    return Table(X, y, name, space=space or "multiclass")


def _whole(path, options, first, report):
    """The table of a file that fits into memory."""
    started, (frame, targets, notes, seconds) = time.perf_counter(), first
    round_, qid, about = options.qid or options.choice, None, ""
    report(len(frame))
    cells = filled(path, frame, targets, f"{REMEDY}, or set --target")
    if round_ is None:
        space = space_of(cells.iloc[:, 0], options)
        y = outputs(path, cells, space, options.order, options.numbers)
    else:
        space, qid = "lists" if options.qid else "choices", rounds_of(path, frame, round_)
        y = _of_items(path, cells, qid, options)
        about = f", {len(np.unique(qid))} {space} by {round_}"
    features = features_of(path, frame, options, (*targets, round_))
    if space in ("multiclass", "ordinal"):
        check_classes(path, y, len(y), targets[0], frame.columns)
    features, encoder, lines = encoder_of(features, options, y, targets, space == "real")
    notes += [*lines, *careful.without_bad_cells(cells, remedy="leave out such rows")[1].values()]
    if round_ is None:
        notes += [*careful.copies(frame, targets), *careful.rare_amounts(y, targets[0], space)]
    columns = encoder.columns_
    if space == "real":
        amounts = cells[targets[0]]
        notes += careful.far_cells(targets[0], amounts, y, "leave out its row")
        form = number_format(amounts.to_numpy(), (options.numbers or {}).get(targets[0]))
        columns += [{"column": targets[0], "taken for": "number", "format": form}]
    shown = [*careful.format_examples(features.join(cells), columns, options.numbers)]
    X = encoder.transform(features)
    name = title(path, *X.shape, features.shape[1], targets, about)
    name += ": real numbers" * (space == "real")
    reading = seconds + time.perf_counter() - started
    return Table(X, y, name, encoder, targets, space, notes, shown, qid=qid, reading=reading)


def _in_parts(path, options, first, report):
    """A table in parts: its first rows fix the encoder, and one pass over it finds the labels."""
    first, targets, *_ = first
    space = space_of(first[targets[0]].dropna(), options)
    if space == "real":
        raise ValueError(f"{path} is too large for --space real: use a part of it.")
    y = first[targets].fillna("").astype(str).to_numpy()
    features = features_of(path, first, options, targets)
    features, encoder, lines = encoder_of(features, options, y, targets)
    notes = [*lines, *careful.copies(first, targets)]
    shown = [*careful.format_examples(features, encoder.columns_, options.numbers)]
    texts, labels, classes, counts = Counter(), {}, None, None

    def chunks():
        for frame in files.frames(path, options.delimiter, PART):
            X = encoded(encoder, features_of(path, frame, options, targets), path)
            y = [labels[text] for text in frame[targets[0]].astype(str)] if labels else None
            yield X, outputs(path, frame[targets], space) if y is None else np.array(y)

    for frame in files.frames(path, options.delimiter, PART, notes):
        texts.update(filled(path, frame, targets, REMEDY).iloc[:, 0].astype(str))
        report(texts.total())
    if space not in files.WIDE:
        cells = load_pandas().DataFrame({targets[0]: list(texts)})
        y = outputs(path, cells, space, options.order)
        check_classes(path, y, 1, targets[0], first.columns)
        labels = dict(zip(texts, y, strict=True))
        classes, codes = np.unique([*y], return_inverse=True)
        counts = np.bincount(codes, [*texts.values()])
    sizes = texts.total(), len(encoder.get_feature_names_out()), encoder.n_features_in_
    name, table_chunks = title(path, *sizes, targets), Chunks(chunks)
    return Table(None, classes, name, encoder, targets, space, notes, shown, table_chunks, counts)


def title(path, n, n_features, n_columns, targets, about=""):
    """The title of a file: name, rows, columns if these are not the features, and targets."""
    name = "standard input" if str(path) == "-" else path
    columns = f"{n_columns} column{'s' if n_columns > 1 else ''} as "
    size = f"{n} rows, {columns if n_columns != n_features else ''}{n_features} features"
    return f"{name} ({size}){about}, target {', '.join(targets)}"


def filled(path, frame, names, remedy=""):
    """Columns that must have a value in every row."""
    files.check_columns(path, frame, names)
    for name in names:
        gaps = frame.index[frame[name].isna()]
        if len(gaps):
            raise ValueError(f"{path} row {gaps[0]} has no value in column {name!r}{remedy}.")
    return frame[list(names)]


def features_of(path, frame, options, others):
    """The columns that --columns names, or all but the `others`."""
    chosen = [name for name in options.columns or frame.columns if name not in others]
    if not chosen:
        raise ValueError(f"{path} has no column except the target.")
    return frame[chosen]


def encoder_of(features, options, y, targets, is_real=False):
    """The features without bad cells, their encoder, and lines on columns to be careful about."""
    column_formats = {"numbers": options.numbers or {}, "dates": options.dates or {}}
    column_formats["categories"] = dict.fromkeys(options.categories or ())
    for kind, forms in column_formats.items():
        column_formats[kind] = {name: form for name, form in forms.items() if name in features}
    features, lines = careful.without_bad_cells(features, options.bad_cells, column_formats)
    encoder = TableEncoder(**column_formats).fit(features)
    encoder.bad_cells_ = options.bad_cells  # for `predict`
    lines = careful.about_columns(features, encoder, y, targets, is_real) | lines
    return features, encoder, lines.values()


def rounds_of(path, frame, name):
    """The column of the rounds, as strings."""
    return filled(path, frame, [name])[name].astype(str).to_numpy(object)


def space_of(column, options):
    """The space; by default "real" for amounts, which are not classes."""
    numbers = None if are_codes(column) else numbers_of(column, options.numbers)
    if options.space is not None or options.order is not None or numbers is None:
        return options.space or ("multiclass" if options.order is None else "ordinal")
    distinct = len(np.unique(numbers))
    has_many_values = distinct > CLASSES and len(numbers) < ROWS_EACH * distinct
    return "real" if has_many_values or np.any(numbers != np.rint(numbers)) else "multiclass"


def make_space(name, order=None):
    """The output space of a name, with labels in this order."""
    return SPACES_BY_NAME[name]() if order is None else SPACES_BY_NAME[name](categories=order)


def outputs(path, cells, space, order=None, forms=None):
    """Labels as numbers if all are numbers (so ordinal classes are sorted), else texts."""
    name = cells.columns[0]
    y = plain_numbers(cells) if space == "multiclass" else numbers_of(cells, forms)
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
        y = y if space in files.WIDE else y[:, 0]
        return y.astype(np.int64) if space != "real" and np.all(y == np.rint(y)) else y
    return texts.to_numpy(object)


def _of_items(path, cells, qid, options):
    """Grades, or marks, of which one in each round is 1."""
    ranks, (target,), round_ = options.qid is not None, cells.columns, options.qid or options.choice
    kind, what = ("qid", "grades") if ranks else ("choice", "choices")
    if target == round_:
        raise ValueError(f"--{kind} and the target are both the column {target!r}: set --target.")
    y = numbers_of(cells[target])
    if y is None:
        raise ValueError(f"Column {target!r} of {path} must have {what} as numbers, got strings.")
    is_wrong = ~np.isin(y, (0, 1))
    requirement = f"--choice needs 1 for the chosen row of each {round_} and 0 for the others"
    if ranks:
        is_wrong = (y < 0) | (y > LARGEST_GRADE)
        requirement = f"grades must be from 0, not relevant, to {LARGEST_GRADE}"
    for row, value in zip(cells.index[is_wrong], y[is_wrong], strict=True):
        raise ValueError(f"{path} row {row}: {requirement}; column {target!r} has {value:g}.")
    if ranks and not y.any():
        raise ValueError(f"Column {target!r} has grades of 0 only: no row is better than another.")
    if not ranks:
        _check_chosen(cells.index, y, qid, round_)
    return y


def _check_chosen(rows, y, qid, name):
    """Raise a ValueError for the first round that does not have one chosen row."""
    counts = load_pandas().Series(y).groupby(qid, sort=False).sum()
    for label, count in counts[counts != 1.0].items():
        chosen = ", ".join(map(str, rows[(qid == label) & (y == 1.0)][:LISTED]))
        where, several = f" (rows {chosen})" * bool(chosen), (counts != 1.0).sum()
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


def encoded(encoder, frame, path, bad_cells=None):
    """Rows of numbers of a part of a file.

    Raises
    ------
    ValueError
        If a cell is not the number or date that it should be; the message names row, column and
        value. With ``bad_cells="missing"``, here or in training, such cells are missing values.
    """
    try:
        return encoder.transform(frame)
    except ValueError:
        formats = {c["column"]: (c["taken for"], c.get("format")) for c in encoder.columns_}
        wrong = frame.astype(object)
        for name, cells in wrong.items():
            wrong[name] = unreadable(cells.to_numpy(), *formats.get(name, (None, None)))
        if not wrong.any(axis=None):
            raise
    if bad_cells is None and getattr(encoder, "bad_cells_", None) is None:
        row, name = wrong.stack().idxmax()
        kind, form = formats[name]
        of_format = f" of the format {form}" if form else ""
        raise ValueError(
            f"{path} row {row} has {frame.loc[row, name]!r} in column {name!r}, which has "
            f"{kind}s{of_format}: correct it, or use --bad-cells missing to read such cells as "
            "missing values."
        )
    return encoder.transform(frame.astype(object).mask(wrong, None))
