"""Lines on columns of a table that may be misread, or give the target away."""

import numpy as np

from skstructured.streaming.table_encoder import unreadable

#: Nothing is said of fewer rows; so many, at most, are looked at.
FEW, SEEN = 20, 10_000

#: A column of texts should have numbers or dates only if so many of its cells look like them.
MOSTLY = 0.9
LOOKS = {"number": r"[-+]?\d*[.,]?\d+([eE][-+]?\d+)?", "date": r"\d{4}-\d\d-\d\d.*"}
COMMA = r"\s*[-+]?\d*,\d+\s*"

#: A column gives the target away if it leaves so few of the errors of one answer for all rows.
WRONG = 0.1

#: Intervals of numbers, and rows of each; intervals of a target; cells of a table of both.
INTERVALS, ROWS_EACH, TENTHS, CELLS = 256, 10, 10, 1 << 22


def numbers_of(cells):
    """Cells as float64, or None if one of them is not a number."""
    try:
        return cells.astype(np.float64).to_numpy()
    except (TypeError, ValueError, OverflowError):
        return None


def without_bad_cells(frame, bad_cells, remedy="use --bad-cells missing"):
    """The table, and lines by the names of columns in which some cells are not numbers or dates.

    If `bad_cells` is "missing" they are missing values instead. Texts that are numbers are read.
    """
    lines, known = {}, {}
    for name, cells in frame.items():
        numbers = numbers_of(cells)
        if numbers is not None:
            known |= {name: numbers} if any(isinstance(cell, str) for cell in cells) else {}
            continue
        texts = cells.dropna().astype(str).str.strip()
        kinds = [kind for kind in LOOKS if texts.str.fullmatch(LOOKS[kind]).mean() >= MOSTLY]
        wrong = unreadable(cells.to_numpy(object), *kinds[:1] or [None])
        some = cells[wrong]
        has_commas = some.astype(str).str.fullmatch(COMMA).all()
        if bad_cells == "missing" and not has_commas:
            known[name] = cells.mask(wrong, None)
        elif len(some):
            lines[name] = (
                f"column {name!r} is read as categories: {len(some)} of {len(frame)} cells are not "
                f"{kinds[0]}s, such as {some.iloc[0]!r} in row {some.index[0]}; "
                f"{'write decimal points in place of commas' if has_commas else remedy}."
            )
    return frame.assign(**known), lines


def about_columns(features, encoder, y, targets, is_real):
    """Lines by the names of columns that may be identifiers, or give a target away.

    y are the outputs, (n,) or (n, targets).
    """
    rows, lines = np.linspace(0, len(y) - 1, min(len(y), SEEN)).astype(np.intp), {}
    about, y = "the tenth of " if is_real else "", _intervals(y, TENTHS) if is_real else y
    outputs = [np.unique(one, return_inverse=True)[1] for one in y[rows].reshape(len(rows), -1).T]
    for one in encoder.columns_ if len(y) >= FEW else ():
        name, cells = one["column"], features[one["column"]].iloc[rows]
        x = numbers_of(cells)
        if _is_identifier(cells, x, one["taken for"]):
            lines[name] = (
                f"column {name!r} differs in every row: leave it out if it is an identifier."
            )
        for target, codes in zip(targets, outputs, strict=True):
            if (share := share_right(cells, x, codes)) is not None:
                lines[name] = (
                    f"column {name!r} alone is {share:.1%} right about {about}{target!r}: leave it "
                    "out (--columns) if it is known only after the target."
                )
    return lines


def _is_identifier(cells, x, kind):
    """Whether cells all differ, and are short texts, whole numbers, or numbers in order."""
    wanted = kind in ("categories", "many categories")
    if kind == "number":
        steps = np.diff(x)
        wanted = (x == np.rint(x)).all() or (steps > 0).all() or (steps < 0).all()
    return wanted and cells.is_unique


def share_right(cells, x, codes):
    """The share of rows whose class is the most frequent one of the same cells; None if not high.

    Classes of each half of the rows are predicted by the other half.
    """
    groups = cells.factorize()[0] + 1 if x is None else _intervals(x, INTERVALS)
    shares, half = np.bincount(codes) / len(codes), np.arange(len(codes)) % 2 == 0
    shape, wrong = (groups.max() + 1, len(shares)), 0.0
    if shape[0] * shape[1] > CELLS:
        return None
    for part in (half, ~half):
        pairs = np.ravel_multi_index((groups[part], codes[part]), shape)
        counts = np.bincount(pairs, minlength=shape[0] * shape[1]).reshape(shape)
        likely = (counts + 0.5 * shares).argmax(axis=1)
        wrong += np.mean(likely[groups[~part]] != codes[~part]) / 2.0
    return 1.0 - wrong if wrong <= WRONG * (1.0 - shares.max()) else None


def _intervals(x, most):
    """Places of numbers among their values, or among as many quantiles; missing values are last."""
    there = x[~np.isnan(x)]
    edges, most = np.unique(there), min(most, len(there) // ROWS_EACH)
    if len(edges) > most:
        edges = np.unique(np.quantile(there, np.linspace(0.0, 1.0, most + 1)))
    return np.searchsorted(edges, x)
