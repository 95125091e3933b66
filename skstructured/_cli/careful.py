"""Lines on columns of a table that may be misread, or give the target away."""

import numpy as np

from skstructured._cli.files import load_pandas
from skstructured._engine.robust_columns import RobustColumns
from skstructured.streaming import formats
from skstructured.streaming.formats import are_codes, is_missing

#: Nothing is said of fewer rows; so many, at most, are looked at.
FEW, SEEN = 20, 10_000

#: A column of texts should have numbers or dates only if so many of its cells look like them.
MOSTLY = 0.9

#: A few numbers, and one more of so many rows, are far beyond all others if they are so many times
#: as far from the median.
FAR_CELLS, ROWS_OF_FAR, FAR = 3, 1000, 30.0

#: Rows are copies if more than this share equals earlier ones, most of these have their target,
#: and so many times more are equal than by chance.
COPIED, SAME, BY_CHANCE = 0.01, 0.9, 10.0

#: So many whole numbers may be amounts, if their frequencies differ by this part of their mean.
MANY, UNEVEN = 20, 0.5

#: A share of cells beyond the edges of their column that is named.
CLIPPED = 0.01

#: Kinds and formats of columns that the user has not decided.
NONE: dict = {}

#: A column gives the target away if it leaves so few of the errors of one answer for all rows.
WRONG = 0.1

#: Intervals of numbers, and rows of each; intervals of a target; cells of a table of both.
INTERVALS, ROWS_EACH, TENTHS, CELLS = 256, 10, 10, 1 << 22


def plain_numbers(cells):
    """Cells as float64, or None if one of them is not a number, or has leading zeros."""
    try:
        numbers = cells.astype(np.float64).to_numpy()
    except (TypeError, ValueError, OverflowError):
        return None
    return None if are_codes(cells.to_numpy().ravel()) else numbers


def numbers_of(cells, forms=None):
    """Cells as float64 by their format, or None if one of them is not a number.

    Columns that `forms` does not have are of the format that reads all their cells.
    """
    if cells.ndim > 1:
        columns = [numbers_of(cells[name], forms) for name in cells]
        return None if any(column is None for column in columns) else np.column_stack(columns)
    values = cells.to_numpy()
    missing = is_missing(values)
    form = formats.number_format(values[~missing], (forms or NONE).get(cells.name))
    return None if form is None else formats.as_numbers(values, missing, form)


def without_bad_cells(frame, bad_cells=None, forms=NONE, remedy="use --bad-cells missing"):
    """The table, and lines by the names of columns in which some cells are not numbers or dates.

    If `bad_cells` is "missing" they are missing values instead. For each kind, `forms` are
    the formats of some columns.
    """
    lines, readable = {}, frame.copy(deep=False)
    kinds = {name: (kind, form) for kind in forms for name, form in forms[kind].items()}
    for name, cells in frame.items():
        values = cells.to_numpy(object)
        if not any(isinstance(value, str) for value in values):
            continue
        if name not in kinds and (numbers := plain_numbers(cells)) is not None:
            readable[name] = numbers
            continue
        kind, form = _likely_kind(values, *kinds.get(name, (None, None)))
        wrong = formats.unreadable(values, kind, form)
        if bad_cells == "missing":
            readable[name] = cells.mask(wrong, None)
        elif wrong.any():
            first = cells[wrong]
            lines[name] = (
                f"column {name!r} is read as categories: {len(first)} of {len(frame)} cells are "
                f"not {kind}s, such as {first.iloc[0]!r} in row {first.index[0]}; {remedy}."
            )
    return readable, lines


def _likely_kind(values, kind, form):
    """The kind and the format of most values, unless the user has decided."""
    values = values[~is_missing(values)]
    if kind == "categories" or (kind is None and are_codes(values)):
        return "categories", None
    kinds, share = (("number", "date"), MOSTLY) if kind is None else ((kind.rstrip("s"),), 0.0)
    pairs = [(k, f) for k in kinds for f in formats.formats_of(values, k, share, form)]
    return (pairs or [(kinds[0] if kind else "categories", form)])[0]


def format_examples(frame, columns, number_formats):
    """Yield for each column of marks, dates or codes a cell of it and its value.

    If each comma or point of a column may separate thousands or decimals, the option is named that
    reads them the other way, unless `number_formats` has the column.
    """
    for column in columns:
        name, kind, form = column["column"], column["taken for"], column.get("format")
        if form in (None, formats.PLAIN):
            continue
        cells = frame[name].to_numpy(object)
        cells = cells[~is_missing(cells)]
        if kind == "number":
            text = _number_example(name, cells, form, (number_formats or NONE).get(name))
        elif kind == "date":
            cell = max(cells[:MANY], key=lambda cell: len(str(cell)))
            text = f"{cell} as {formats.read_date(cell, form)}".removesuffix(" 00:00:00")
        else:
            text = f"{next(cell for cell in cells if are_codes([cell]))} as a category"
        yield f"{name} ({text})"


def _number_example(name, cells, form, is_decided):
    """A cell and its number, and the option that reads marks the other way if they may mean it."""
    longest = max(cells, key=lambda cell: len(str(cell)))
    other = formats.GERMAN if form.startswith(formats.ENGLISH) else formats.ENGLISH
    if not is_decided and (option := formats.number_format(cells, other)):
        for cell in cells:
            number, read = (formats.read_number(cell, notation) for notation in (form, option))
            if number != read:
                return f"{cell} as {number:.12g}; --numbers {name}={other} reads {read:.12g}"
    return f"{longest} as {formats.read_number(longest, form):.12g}"


def about_columns(features, encoder, y, targets, is_real):
    """Lines by the names of columns that may be identifiers, or give a target away.

    y are the outputs, (n,) or (n, targets).
    """
    rows = np.linspace(0, len(y) - 1, min(len(y), SEEN)).astype(np.intp)
    about, y = ("the tenth of ", _intervals(y, TENTHS)) if is_real else ("", y)
    outputs = [np.unique(t, return_inverse=True)[1] for t in y[rows].reshape(len(rows), -1).T]
    lines, numbers = {}, {}
    for column in encoder.columns_ if len(y) >= FEW else ():
        name, kind, x = column["column"], column["taken for"], None
        cells = features[name]
        if kind in ("number", "flag"):
            values = cells.to_numpy()
            x = formats.as_numbers(values, is_missing(values), column.get("format", formats.PLAIN))
            lines.update((name, text) for text in far_cells(name, cells, x))
            x = numbers[name] = x[rows]
        cells = cells.iloc[rows]
        if _is_identifier(cells, x, kind):
            lines[name] = (
                f"column {name!r} differs in every row: leave it out if it is an identifier."
            )
        for target, codes in zip(targets, outputs, strict=True):
            if (share := share_right(cells, x, codes)) is not None:
                lines[name] = (
                    f"column {name!r} alone is {share:.1%} right about {about}{target!r}: leave it "
                    "out (--columns) if it is known only after the target."
                )
    lines.update((None, text) for text in clipped_cells(numbers))
    return lines


def far_cells(name, cells, x, remedy="leave it empty"):
    """Yield the line on few numbers far beyond all others in a column, if there are any."""
    cells, x = cells[~np.isnan(x)], x[~np.isnan(x)]
    deviations = np.abs(x - np.median(x)) if len(x) >= FEW else np.zeros(1)
    order = np.argsort(-deviations, kind="stable")
    sizes = deviations[order[: FAR_CELLS + 1 + len(x) // ROWS_OF_FAR]]
    gaps = np.flatnonzero(sizes[:-1] > FAR * sizes[1:])
    if len(gaps) and np.median(deviations) > 0.0:
        others = x[order[gaps[-1] + 1 :]]
        yield (
            f"column {name!r} has {cells.iloc[order[0]]} in row {cells.index[order[0]]}, far "
            f"beyond all others, from {others.min():.4g} to {others.max():.4g}: correct it, or "
            f"{remedy}."
        )


def clipped_cells(numbers):
    """Yield the line on columns of which many cells count as an edge, if there are any.

    `numbers` are columns (n,) by their names. Heavy columns become normal quantiles instead.
    """
    if not numbers:
        return
    X = np.column_stack([*numbers.values()])
    columns = RobustColumns.of(X, np.ones(len(X)))
    is_far, is_cell = (columns.low > X) | (columns.high < X), ~np.isnan(X)
    is_far[:, columns.heavy] = False
    shares = is_far.sum(axis=0) / np.maximum(is_cell.sum(axis=0), 1)
    pairs = zip(numbers, shares, strict=True)
    text = ", ".join(f"{share:.1%} of {name!r}" for name, share in pairs if share > CLIPPED)
    if text:
        yield (
            f"cells far from the others count as the edge of their column: {text}. Correct them if "
            "they are mistakes."
        )


def copies(frame, targets):
    """Yield the line on rows that equal earlier ones and have the same target, if there are any."""
    hashes, n = load_pandas().util.hash_pandas_object, len(frame)
    features = frame.drop(columns=targets)
    rows, repeated = hashes(frame, index=False), hashes(features, index=False).duplicated()
    copied = rows[rows.duplicated()]
    counts = [features[name][~repeated].value_counts(dropna=False) for name in features]
    chances = sorted((c * (c - 1)).sum() / c.sum() ** 2 for c in counts)
    by_chance = BY_CHANCE * np.prod(chances[:2]) * n**2 / 2.0  # the other columns may follow
    if len(copied) > max(COPIED * n, SAME * repeated.sum(), by_chance):
        yield (
            f"{len(copied):,} of {n:,} rows are copies of others, such as rows "
            f"{rows.index[rows == copied.iloc[0]][0]} and {copied.index[0]}: leave them out, for "
            "new rows have larger errors than rows that were learned."
        )


def rare_amounts(y, target, space):
    """Yield the line on classes that are whole numbers, most of them rare."""
    counts = np.unique(y, return_counts=True)[1]
    is_whole = space == "multiclass" and y.dtype.kind == "i"
    is_uneven = np.std(counts) > UNEVEN * np.mean(counts) or np.median(counts) < ROWS_EACH
    if is_whole and len(counts) >= MANY and is_uneven:
        yield (
            f"target {target!r} has {len(counts)} whole numbers as classes, most of them rare: use "
            "--space real if they are amounts, --space ordinal if they are grades."
        )


def _is_identifier(cells, x, kind):
    """Whether nearly all short texts differ, or all whole numbers, or all numbers in order."""
    if kind == "number":
        is_ordered = (np.diff(x) > 0).all() or (np.diff(x) < 0).all()
        return ((x == np.rint(x)).all() or is_ordered) and cells.is_unique
    return "categories" in kind and cells.nunique() >= (1.0 - COPIED) * len(cells)


def share_right(cells, x, codes):
    """The share of rows whose class is the most frequent one of the same cells; None if not high.

    Classes of each half of the rows are predicted by the other half.
    """
    groups = cells.factorize()[0] + 1 if x is None else _intervals(x, INTERVALS)
    shares, half = np.bincount(codes) / len(codes), np.arange(len(codes)) % 2 == 0
    shape, wrong = (groups.max() + 1, len(shares)), 0.0
    if shape[0] * shape[1] > CELLS:
        return None
    for is_train in (half, ~half):
        pairs = np.ravel_multi_index((groups[is_train], codes[is_train]), shape)
        counts = np.bincount(pairs, minlength=shape[0] * shape[1]).reshape(shape)
        likely = (counts + 0.5 * shares).argmax(axis=1)
        wrong += np.mean(likely[groups[~is_train]] != codes[~is_train]) / 2.0
    return 1.0 - wrong if wrong <= WRONG * (1.0 - shares.max()) else None


def _intervals(x, most):
    """Places of numbers among their values, or among as many quantiles; missing values are last."""
    there = x[~np.isnan(x)]
    edges, most = np.unique(there), min(most, len(there) // ROWS_EACH)
    if len(edges) > most:
        edges = np.unique(np.quantile(there, np.linspace(0.0, 1.0, most + 1)))
    return np.searchsorted(edges, x)
