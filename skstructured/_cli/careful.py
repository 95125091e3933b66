"""Columns that may not be what they are taken for: errors and warnings that name them."""

import re

import numpy as np

from skstructured.streaming._frames import as_numbers, as_texts, is_missing

#: What looks like a number or a date and is none: 1,234 or $5 or 12 % or 1,5 or 31.5.2024.
NUMBER_LIKE = re.compile(r"\s*[^\w\s]?\s*[+-]?\d[\d.,'/-]*\s*[^\w\s]?\s*")

#: The share of a column's cells that look like numbers where they were meant to be; rows looked at.
MOST, LOOKED_AT = 0.9, 1000

#: Classes of so few rows each are perhaps identifiers.
ROWS_EACH = 2

#: No gap, in one cell.
THERE = np.zeros(1, dtype=bool)


def check_no_gaps(path, columns, targets, done=0):
    """Raise a ValueError that names the first row without a target, after `done` others."""
    for name in targets:
        gaps = np.flatnonzero(is_missing(columns[name]))
        if len(gaps):
            raise ValueError(
                f"{path} row {done + gaps[0] + 2} has no value in column {name!r}, the target: "
                "leave such rows out, or name another with --target."
            )


def check_classes(path, y, name, header):
    """Raise a ValueError where the target has one value only."""
    if len(set(y.tolist())) == 1:
        raise ValueError(
            f"{path} has the one value {str(y[0])!r} in column {name!r}, the target, which needs "
            f"at least two classes: name another with --target (there are {', '.join(header)})."
        )


def careful_lines(encoder, table, targets, y, space):
    """Lines about a target of identifiers, words that look like numbers, and empty columns."""
    empty, words = encoder._coders_of("empty, left out"), encoder._coders_of(*WORDS)
    lines = [f"column {one.name!r} has no value and is left out." for one in empty]
    columns = {one.name: table[one.name] for one in words}
    if space == "simplex":
        columns[targets[0]] = y[:, 0]
        distinct = len(set(y[:, 0].tolist()))
        if distinct > max(2, len(y) / ROWS_EACH):
            lines.append(
                f"the target {targets[0]!r} has {distinct} classes in {len(y)} rows: another "
                "column may be meant (--target)."
            )
    found = {name: _number_like(values) for name, values in columns.items()}
    lines += [
        f"{name!r} has words such as {cell!r}; numbers are 1234.5, and dates 2024-05-31."
        for name, cell in found.items()
        if cell is not None
    ]
    return [f"{'' if j else 'Careful':17}{line}" for j, line in enumerate(lines)]


#: What columns of words are taken for.
WORDS = ("categories", "many categories")


def _number_like(values):
    """A cell that is no number in a column where nearly all look like one, or None."""
    texts = as_texts(values, is_missing(values))
    texts = texts[texts != ""][:LOOKED_AT]
    if not len(texts) or np.mean([bool(NUMBER_LIKE.fullmatch(text)) for text in texts]) < MOST:
        return None
    wrong = (t for t in texts if as_numbers(np.array([t], dtype=object), THERE) is None)
    return next(wrong, None)
