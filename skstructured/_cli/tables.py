"""Tables of the command line: the contents of a file as rows and outputs, whole or in parts."""

import time
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from skstructured._base.cell_formats import are_codes, number_format, unreadable
from skstructured._base.validation import LARGEST_GRADE
from skstructured._cli import columns, files
from skstructured._cli.columns import MIN_ROWS_PER_CLASS, numbers_of, plain_numbers
from skstructured._cli.files import MAX_NAMES_LISTED, load_pandas, stage
from skstructured.spaces import SPACES_BY_NAME
from skstructured.streaming.chunks import Chunks
from skstructured.streaming.table_encoder import EXACT_INTEGER_LIMIT, TableEncoder


class Table(NamedTuple):
    """Rows and outputs, or chunks of a file that is not in memory."""

    X: Any  # (n, p), None for chunks
    y: Any  # (n,) or (n, d); the labels of chunks; grades, or 1 for chosen items and 0 for others
    name: str  # source and size
    encoder: Any = None  # of the columns of a file
    targets: Any = ()  # names of columns
    space: str = "multiclass"  # "lists" or "choices" for items
    careful: Any = ()  # lines on columns that may have been misread
    formats: Any = ()  # a cell of each column of marks, dates or codes, and its value
    chunks: Any = None
    counts: Any = None  # how often each label occurs in the chunks
    qid: Any = None  # round (n,) of each item
    reading: float = 0.0  # seconds that reading and encoding took

    def in_random_order(self, seed):
        """The rows in random order; rounds of items stay together, and their rows in order."""
        codes = np.arange(len(self.y)) if self.qid is None else load_pandas().factorize(self.qid)[0]
        place = np.argsort(np.random.RandomState(seed).permutation(codes.max() + 1))
        order = np.argsort(place[codes], kind="stable")
        qid = None if self.qid is None else self.qid[order]
        return self._replace(X=self.X[order], y=self.y[order], qid=qid)


def read(options, first):
    """The `Table` to learn, of the options and what `files.first_rows` returns for them."""
    path = options.file
    if path is None:
        return _digits(options.space)
    with stage(f"Reading {path}") as report:
        return (_in_parts if files.is_large(path) else _whole)(options, first, report)


def _digits(space):
    """scikit-learn's digits, pixels in [0, 1]."""
    from sklearn.datasets import load_digits  # files need none of it

    X, y = load_digits(return_X_y=True)
    name = f"digits ({len(X)} rows, {X.shape[1]} features)"
    return Table(X, y, name, space=space or "multiclass")


def _whole(options, first, report):
    """The table of a file that fits into memory."""
    started, (frame, targets, notes, seconds) = time.perf_counter(), first
    path, round_, qid, about = options.file, options.qid or options.choice, None, ""
    report(len(frame))
    cells = filled(path, frame, targets, ", the target: leave out such rows, or set --target")
    if round_ is None:
        space = space_of(cells.iloc[:, 0], options)
        y = outputs(path, cells, space, options.order, options.numbers)
    else:
        space, qid = "lists" if options.qid else "choices", rounds_of(path, frame, round_)
        y = _grades_or_marks(cells, qid, options)
        about = f", {len(np.unique(qid))} {space} by {round_}"
    features = features_of(frame, options, (*targets, round_))
    if space in ("multiclass", "ordinal"):
        check_classes(path, y, len(y), targets[0], frame.columns)
    features, encoder, lines = encoder_of(features, options, y, targets, space == "real")
    notes += [*lines, *columns.without_bad_cells(cells, remedy="leave out such rows")[1].values()]
    if round_ is None:
        notes += [*columns.copies(frame, targets), *columns.rare_amounts(y, targets[0], space)]
    described = encoder.columns_
    if space == "real":
        amounts = cells[targets[0]]
        notes += columns.far_cells(targets[0], amounts, y, "leave out its row")
        form = number_format(amounts.to_numpy(), (options.numbers or {}).get(targets[0]))
        described += [{"column": targets[0], "taken for": "number", "format": form}]
    shown = [*columns.format_examples(features.join(cells), described, options.numbers)]
    X = encoder.transform(features)
    name = title(path, *X.shape, features.shape[1], targets, about)
    name += ": real numbers" * (space == "real")
    reading = seconds + time.perf_counter() - started
    return Table(X, y, name, encoder, targets, space, notes, shown, qid=qid, reading=reading)


def _in_parts(options, first, report):
    """A table in parts: its first rows fix the encoder, and one pass over it finds the labels."""
    path, (first, targets, *_) = options.file, first
    space = space_of(first[targets[0]].dropna(), options)
    if space == "real":
        raise ValueError(f"{path} is too large for --space real: use a part of it.")
    y = first[targets].fillna("").astype(str).to_numpy()
    features = features_of(first, options, targets)
    features, encoder, lines = encoder_of(features, options, y, targets)
    notes = [*lines, *columns.copies(first, targets)]
    shown = [*columns.format_examples(features, encoder.columns_, options.numbers)]
    texts, labels, classes, counts = Counter(), {}, None, None
    size = files.LARGE_FILES.rows_per_part

    def chunks():
        for frame in files.frames(path, options.delimiter, size):
            X = encoded(encoder, features_of(frame, options, targets), path)
            y = [labels[text] for text in frame[targets[0]].astype(str)] if labels else None
            yield X, outputs(path, frame[targets], space) if y is None else np.array(y)

    for frame in files.frames(path, options.delimiter, size, notes):
        cells = filled(path, frame, targets, ", the target: leave out such rows")
        texts.update(cells.iloc[:, 0].astype(str))
        report(texts.total())
    if space not in files.MULTI_COLUMN_SPACES:
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
    read_as = f"{n_columns} column{'s' if n_columns > 1 else ''} as "
    size = f"{n} rows, {read_as if n_columns != n_features else ''}{n_features} features"
    return f"{name} ({size}){about}, target {', '.join(targets)}"


def filled(path, frame, names, remedy=""):
    """Columns that must have a value in every row."""
    files.check_columns(path, frame, names)
    for name in names:
        gaps = frame.index[frame[name].isna()]
        if len(gaps):
            raise ValueError(f"{path} row {gaps[0]} has no value in column {name!r}{remedy}.")
    return frame[list(names)]


def features_of(frame, options, others):
    """The columns that --columns names, or all but the `others`."""
    chosen = [name for name in options.columns or frame.columns if name not in others]
    if not chosen:
        raise ValueError(f"{options.file} has no column except the target.")
    return frame[chosen]


def encoder_of(features, options, y, targets, is_real=False):
    """The features without bad cells, their encoder, and lines on columns to be careful about."""
    column_formats = {"numbers": options.numbers or {}, "dates": options.dates or {}}
    column_formats["categories"] = dict.fromkeys(options.categories or ())
    for kind, forms in column_formats.items():
        column_formats[kind] = {name: form for name, form in forms.items() if name in features}
    features, lines = columns.without_bad_cells(features, options.bad_cells, column_formats)
    encoder = TableEncoder(**column_formats).fit(features)
    encoder.bad_cells_ = options.bad_cells  # for `predict`
    lines = columns.about_columns(features, encoder, y, targets, is_real) | lines
    return features, encoder, lines.values()


def rounds_of(path, frame, name):
    """The column of the rounds, as strings."""
    return filled(path, frame, [name])[name].astype(str).to_numpy(object)


def space_of(column, options, max_classes=100):
    """The space; by default "real" for amounts, which have fractions or many values."""
    numbers = None if are_codes(column) else numbers_of(column, options.numbers)
    if options.space is not None or options.order is not None or numbers is None:
        return options.space or ("multiclass" if options.order is None else "ordinal")
    distinct = len(np.unique(numbers))
    has_many_values = distinct > max_classes and len(numbers) < MIN_ROWS_PER_CLASS * distinct
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
    elif space not in ("multiclass", "ordinal") or np.abs(y).max() < EXACT_INTEGER_LIMIT:
        y = y if space in files.MULTI_COLUMN_SPACES else y[:, 0]
        return y.astype(np.int64) if space != "real" and np.all(y == np.rint(y)) else y
    return texts.to_numpy(object)


def _grades_or_marks(cells, qid, options):
    """Grades, or marks, of which one in each round is 1."""
    ranks, (target,), path = options.qid is not None, cells.columns, options.file
    round_ = options.qid or options.choice
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
    wrong = counts[counts != 1.0]
    for label, count in wrong.items():
        chosen = ", ".join(map(str, rows[(qid == label) & (y == 1.0)][:MAX_NAMES_LISTED]))
        example = f"such as {name} {label} with {count:g}" + f" (rows {chosen})" * bool(chosen)
        rule = f"Each {name} needs exactly one chosen row (target 1)"
        lack = f"{len(wrong)} of {len(counts)} do not have one, {example}"
        raise ValueError(f"{rule}: {lack}. Correct them or leave them out.")


def check_classes(path, y, n, name, header, max_cells=10**8):
    """Raise a ValueError if the target has one value, or too many for the scores of n rows."""
    distinct = len(set(y.tolist()))
    if distinct == 1:
        remedy = f"Set --target to one of {', '.join(header[:MAX_NAMES_LISTED])}"
        value = f"{path} only has the value {str(y[0])!r} in column {name!r}"
        raise ValueError(f"{value}, the target, which needs at least two classes. {remedy}.")
    if distinct * n > max_cells:
        most = max_cells // n
        raise ValueError(f"Column {name!r} must have at most {most} labels, got {distinct}.")


def encoded(encoder, frame, path, bad_cells=None):
    """Rows of numbers; an unreadable cell is missing with --bad-cells, here or in training."""
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
        cell = f"{frame.loc[row, name]!r} in column {name!r}, which has {kind}s{of_format}"
        remedy = "correct it, or use --bad-cells missing to read such cells as missing values"
        raise ValueError(f"{path} row {row} has {cell}: {remedy}.")
    return encoder.transform(frame.astype(object).mask(wrong, None))
