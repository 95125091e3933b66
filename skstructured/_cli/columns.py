"""Columns of a table: those that may be misread or give the target away, and those that matter."""

import numpy as np
from scipy.sparse import diags, issparse

from skstructured._base import cell_formats
from skstructured._base.cell_formats import NUMBER_FORMATS, are_codes, is_missing
from skstructured._cli.files import MULTI_COLUMN_SPACES, load_pandas
from skstructured._engine.robust_columns import RobustColumns

#: Columns with fewer rows are not reported.
MIN_ROWS_TO_REPORT = 20

#: Whole numbers of fewer rows each may be amounts, not classes.
MIN_ROWS_PER_CLASS = 10


def plain_numbers(cells):
    """Cells as float64, or None if one of them is not a number, or has leading zeros."""
    try:
        numbers = cells.astype(np.float64).to_numpy()
    except (TypeError, ValueError, OverflowError):
        return None
    return None if are_codes(cells.to_numpy().ravel()) else numbers


def numbers_of(cells, forms=None):
    """Cells as float64, by the formats `forms` of some columns; None if a cell is not a number."""
    if cells.ndim > 1:
        columns = [numbers_of(cells[name], forms) for name in cells]
        return None if any(column is None for column in columns) else np.column_stack(columns)
    values = cells.to_numpy()
    missing = is_missing(values)
    form = cell_formats.number_format(values[~missing], (forms or {}).get(cells.name))
    return None if form is None else cell_formats.as_numbers(values, missing, form)


def without_bad_cells(frame, bad_cells=None, forms=None, remedy="use --bad-cells missing"):
    """The table, and lines by the names of columns in which some cells are not numbers or dates.

    If `bad_cells` is "missing", they become missing values. `forms` are formats by kind and column.
    """
    lines, readable = {}, frame.copy(deep=False)
    kinds = {name: (kind, form) for kind in forms or () for name, form in forms[kind].items()}
    for name, cells in frame.items():
        values = cells.to_numpy(object)
        if not any(isinstance(value, str) for value in values):
            continue
        if name not in kinds and (numbers := plain_numbers(cells)) is not None:
            readable[name] = numbers
            continue
        kind, form = _likely_kind(values, *kinds.get(name, (None, None)))
        wrong = cell_formats.unreadable(values, kind, form)
        if bad_cells == "missing":
            readable[name] = cells.mask(wrong, None)
        elif wrong.any():
            bad = cells[wrong]
            example = f"such as {bad.iloc[0]!r} in row {bad.index[0]}; {remedy}"
            count = f"{len(bad)} of {len(frame)} cells are not {kind}s, {example}"
            lines[name] = f"column {name!r} is read as categories: {count}."
    return readable, lines


def _likely_kind(values, kind, form, min_share=0.9):
    """The kind and the format of most values, unless the user has decided."""
    values = values[~is_missing(values)]
    if kind == "categories" or (kind is None and are_codes(values)):
        return "categories", None
    kinds, share = (("number", "date"), min_share) if kind is None else ((kind.rstrip("s"),), 0.0)
    pairs = [(k, f) for k in kinds for f in cell_formats.possible_formats(values, k, share, form)]
    return (pairs or [(kinds[0] if kind else "categories", form)])[0]


def format_examples(frame, columns, number_formats):
    """Yield a cell and its value for each column of marks, dates or codes."""
    for column in columns:
        name, kind, form = column["column"], column["taken for"], column.get("format")
        if form in (None, NUMBER_FORMATS.plain):
            continue
        cells = frame[name].to_numpy(object)
        cells = cells[~is_missing(cells)]
        if kind == "number":
            text = _number_example(name, cells, form, (number_formats or {}).get(name))
        elif kind == "date":
            cell = max(cells[:20], key=lambda cell: len(str(cell)))
            text = f"{cell} as {cell_formats.read_date(cell, form)}".removesuffix(" 00:00:00")
        else:
            text = f"{next(cell for cell in cells if are_codes([cell]))} as a category"
        yield f"{name} ({text})"


def _number_example(name, cells, form, is_decided):
    """A cell and its number, and the option that reads marks the other way if they may mean it."""
    longest = max(cells, key=lambda cell: len(str(cell)))
    _, english, german = NUMBER_FORMATS
    other = german if form.startswith(english) else english
    if not is_decided and (option := cell_formats.number_format(cells, other)):
        for cell in cells:
            number, read = (cell_formats.read_number(cell, notation) for notation in (form, option))
            if number != read:
                return f"{cell} as {number:.12g}; --numbers {name}={other} reads {read:.12g}"
    return f"{longest} as {cell_formats.read_number(longest, form):.12g}"


def about_columns(features, encoder, y, targets, is_real, max_rows=10_000):
    """Lines on columns that may be identifiers, or give a target y (n,) or (n, targets) away."""
    rows = np.linspace(0, len(y) - 1, min(len(y), max_rows)).astype(np.intp)
    about, y = ("the tenth of ", _intervals(y, 10)) if is_real else ("", y)
    outputs = [np.unique(t, return_inverse=True)[1] for t in y[rows].reshape(len(rows), -1).T]
    lines, numbers = {}, {}
    for column in encoder.columns_ if len(y) >= MIN_ROWS_TO_REPORT else ():
        name, kind, x = column["column"], column["taken for"], None
        cells = features[name]
        if kind in ("number", "flag"):
            values, form = cells.to_numpy(), column.get("format", NUMBER_FORMATS.plain)
            x = cell_formats.as_numbers(values, is_missing(values), form)
            lines.update((name, text) for text in far_cells(name, cells, x))
            x = numbers[name] = x[rows]
        cells = cells.iloc[rows]
        if _is_identifier(cells, x, kind):
            what = "differs in every row: leave it out if it is an identifier"
            lines[name] = f"column {name!r} {what}."
        for target, codes in zip(targets, outputs, strict=True):
            if (share := share_right(cells, x, codes)) is not None:
                remedy = "leave it out (--columns) if it is known only after the target"
                right = f"column {name!r} alone is {share:.1%} right about {about}{target!r}"
                lines[name] = f"{right}: {remedy}."
    lines.update((None, text) for text in clipped_cells(numbers))
    return lines


def far_cells(name, cells, x, remedy="leave it empty", n_cells=3, rows_per_cell=1000, ratio=30.0):
    """Yield the line on few numbers that are `ratio` times as far from the median as all others."""
    cells, x = cells[~np.isnan(x)], x[~np.isnan(x)]
    deviations = np.abs(x - np.median(x)) if len(x) >= MIN_ROWS_TO_REPORT else np.zeros(1)
    order = np.argsort(-deviations, kind="stable")
    sizes = deviations[order[: n_cells + 1 + len(x) // rows_per_cell]]
    gaps = np.flatnonzero(sizes[:-1] > ratio * sizes[1:])
    if len(gaps) and np.median(deviations) > 0.0:
        others = x[order[gaps[-1] + 1 :]]
        cell = f"column {name!r} has {cells.iloc[order[0]]} in row {cells.index[order[0]]}"
        interval = f"from {others.min():.4g} to {others.max():.4g}"
        yield f"{cell}, far beyond all others, {interval}: correct it, or {remedy}."


def clipped_cells(numbers, min_share=0.01):
    """Yield the line on columns, (n,) by name, of which at least this share counts as an edge."""
    if not numbers:
        return
    X = np.column_stack([*numbers.values()])
    columns = RobustColumns.of(X, np.ones(len(X)))
    is_far, is_cell = (columns.low > X) | (columns.high < X), ~np.isnan(X)
    is_far[:, columns.heavy] = False  # they become normal quantiles
    shares = is_far.sum(axis=0) / np.maximum(is_cell.sum(axis=0), 1)
    pairs = zip(numbers, shares, strict=True)
    text = ", ".join(f"{share:.1%} of {name!r}" for name, share in pairs if share > min_share)
    if text:
        edge = "cells far from the others count as the edge of their column"
        yield f"{edge}: {text}. Correct them if they are mistakes."


def copies(frame, targets, max_share=0.01, same_target=0.9, times_chance=10.0):
    """Yield the line on rows that equal earlier ones, most with their target, beyond chance."""
    hashes, n = load_pandas().util.hash_pandas_object, len(frame)
    features = frame.drop(columns=targets)
    rows, repeated = hashes(frame, index=False), hashes(features, index=False).duplicated()
    copied = rows[rows.duplicated()]
    counts = [features[name][~repeated].value_counts(dropna=False) for name in features]
    chances = sorted((c * (c - 1)).sum() / c.sum() ** 2 for c in counts)
    by_chance = times_chance * np.prod(chances[:2]) * n**2 / 2.0  # the other columns may follow
    if len(copied) > max(max_share * n, same_target * repeated.sum(), by_chance):
        pair = f"rows {rows.index[rows == copied.iloc[0]][0]} and {copied.index[0]}"
        reason = "new rows have larger errors than rows that were learned"
        share = f"{len(copied):,} of {n:,} rows are copies of others, such as {pair}"
        yield f"{share}: leave them out, for {reason}."


def rare_amounts(y, target, space, min_classes=20, spread=0.5):
    """Yield the line on classes that are whole numbers, most rare or of uneven frequencies."""
    counts = np.unique(y, return_counts=True)[1]
    is_whole = space == "multiclass" and y.dtype.kind == "i"
    is_uneven = np.std(counts) > spread * counts.mean() or np.median(counts) < MIN_ROWS_PER_CLASS
    if is_whole and len(counts) >= min_classes and is_uneven:
        remedy = "use --space real if they are amounts, --space ordinal if they are grades"
        classes = f"{len(counts)} whole numbers as classes, most of them rare"
        yield f"target {target!r} has {classes}: {remedy}."


def _is_identifier(cells, x, kind):
    """Whether nearly all short texts differ, or all whole numbers, or all numbers in order."""
    if kind == "number":
        is_ordered = (np.diff(x) > 0).all() or (np.diff(x) < 0).all()
        return ((x == np.rint(x)).all() or is_ordered) and cells.is_unique
    return "categories" in kind and cells.nunique() >= 0.99 * len(cells)


def share_right(cells, x, codes, max_wrong=0.1, max_cells=1 << 22):
    """The share of rows whose class is the most frequent one of equal cells in the other half.

    It is None if it leaves more than `max_wrong` of the errors of one answer for all rows.
    """
    groups = cells.factorize()[0] + 1 if x is None else _intervals(x, 256)
    shares, half = np.bincount(codes) / len(codes), np.arange(len(codes)) % 2 == 0
    shape, wrong = (groups.max() + 1, len(shares)), 0.0
    if shape[0] * shape[1] > max_cells:
        return None
    for is_train in (half, ~half):
        pairs = np.ravel_multi_index((groups[is_train], codes[is_train]), shape)
        counts = np.bincount(pairs, minlength=shape[0] * shape[1]).reshape(shape)
        likely = (counts + 0.5 * shares).argmax(axis=1)
        wrong += np.mean(likely[groups[~is_train]] != codes[~is_train]) / 2.0
    return 1.0 - wrong if wrong <= max_wrong * (1.0 - shares.max()) else None


def _intervals(x, most, rows_per_interval=10):
    """Places of numbers among their values, or among as many quantiles; missing values are last."""
    numbers = x[~np.isnan(x)]
    edges, most = np.unique(numbers), min(most, len(numbers) // rows_per_interval)
    if len(edges) > most:
        edges = np.unique(np.quantile(numbers, np.linspace(0.0, 1.0, most + 1)))
    return np.searchsorted(edges, x)


def effects(model, table, n_shown=3, max_rows=500, max_cells=50_000):
    """The names of the columns that predictions depend on most; "" if none matters.

    A column matters by how much predictions change if its values are permuted among rows. The sign
    is that of its correlation with the predictions, of the second class if there are two.
    """
    method = "predict" if table.space in ("real", "lists") else "predict_mean"
    if table.encoder is None or not hasattr(model, method):
        return ""
    columns = table.encoder.columns_
    n_rows = max(n_shown, min(max_rows, max_cells // len(columns)))
    X = (next(iter(table.chunks))[0] if table.chunks else table.X)[:n_rows]
    kwargs = {"qid": table.qid[: X.shape[0]]} if table.space == "choices" else {}

    def predictions(rows):
        return np.reshape(getattr(model, method)(rows, **kwargs), (X.shape[0], -1))

    usual, shuffled = predictions(X), X[shuffled_within(table.qid, X.shape[0])]
    owners = np.repeat(np.arange(len(columns)), [column["outputs"] for column in columns])
    masks = [owners == j for j in range(len(columns))]
    changes = [predictions(_replace_columns(X, shuffled, mask)) - usual for mask in masks]
    sizes = np.abs(changes).sum(axis=2).mean(axis=1)
    order = np.argsort(-sizes, kind="stable")[: min(n_shown, np.count_nonzero(sizes))]
    classes = getattr(model, "classes_", ()) if table.space == "multiclass" else ()
    is_binary = len(classes) == 2
    heights = usual[:, -1] if is_binary else usual.sum(axis=1)
    signs = dict.fromkeys(order, "")
    if is_binary or table.space not in ("multiclass", *MULTI_COLUMN_SPACES):
        numeric = [j for j in order if columns[j]["taken for"] in ("number", "flag")]
        signs |= {j: _sign(X, masks[j], heights) for j in numeric}
    towards = f", for {classes[1]}" if is_binary and any(signs.values()) else ""
    names = ", ".join(columns[j]["column"] + sign for j, sign in signs.items())
    return f"{names}{towards}." if names else ""


def shuffled_within(qid, n):
    """A permutation of n rows, within their rounds if there are any."""
    codes = np.zeros(n) if qid is None else load_pandas().factorize(qid[:n])[0]
    order = np.empty(n, dtype=np.intp)
    order[np.argsort(codes, kind="stable")] = np.lexsort((np.random.RandomState(0).rand(n), codes))
    return order


def _replace_columns(X, other, columns):
    """The rows X with some columns of other rows."""
    if issparse(X):
        return (X @ diags(1.0 - columns) + other @ diags(1.0 * columns)).tocsr()
    return np.where(columns, other, X)


def _sign(X, columns, heights, min_correlation=0.2):
    """Whether predictions rise or fall with a column of numbers, if this is clear."""
    x = X[:, np.flatnonzero(columns)[:1]]
    x = (x.toarray() if issparse(x) else x)[:, 0]
    is_present = ~np.isnan(x)
    with np.errstate(invalid="ignore", divide="ignore"):  # columns that are constant
        r = np.corrcoef(x[is_present], heights[is_present])[0, 1] if is_present.sum() > 1 else 0.0
    return f" ({'+' if r > 0 else '-'})" if abs(r) >= min_correlation else ""
