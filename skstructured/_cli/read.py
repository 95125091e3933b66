"""Tables for the command line: CSV files and scikit-learn's digits."""

import contextlib
import csv
import gzip
import sys
from itertools import chain
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits

from skstructured.streaming._frames import columns_of, is_missing
from skstructured.streaming.table_encoder import TableEncoder

#: Characters in a cell, and rows times distinct values (8 bytes each, several times over).
LONGEST_CELL, LARGEST_TABLE = 2**31 - 1, 10**8

#: What may stand between the cells of a line.
DELIMITERS = ",;\t|"

#: Spaces whose outputs have a column each.
WIDE = ("hypercube", "birkhoff", "permutahedron")


class Table(NamedTuple):
    """Rows and outputs, and how a file's cells became rows.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Features.
    y : ndarray of shape (n,) or (n, d)
        Outputs.
    name : str
        Where they are from, and how many.
    encoder : transformer or None
        Makes X of the cells of a file, without those of the targets; None for arrays.
    """

    X: np.ndarray
    y: np.ndarray
    name: str
    encoder: object = None


def load_digits_stream(space):
    """scikit-learn's digits, pixels in [0, 1]; label sets are (even, above 4, prime)."""
    X, y = load_digits(return_X_y=True)
    if space == "hypercube":
        y = np.column_stack([y % 2 == 0, y > 4, np.isin(y, (2, 3, 5, 7))]).astype(int)
    if space in ("birkhoff", "permutahedron"):
        raise ValueError(f"--space {space} needs a file: the digits have no rankings.")
    return Table(X, y, f"digits ({len(X)} rows, {X.shape[1]} features)")


def load_csv(path, target, space, delimiter=None):
    """Features and outputs of a CSV file with a header, which may have gaps, words and dates.

    The target is the last column where none is named. Cells are separated by what separates the
    header, unless `delimiter` is given.

    Raises
    ------
    OSError, ValueError
        If the file, a column or a target is missing; the message is one line.
    """
    return _encoded(path, read_csv(path, delimiter), target, space)


def read_csv(path, delimiter=None):
    """The columns of a CSV file by their names, arrays of texts; `?` is a gap."""
    lines = _read(path, delimiter)
    for number, row in enumerate(lines[1:], start=2):
        if len(row) != len(lines[0]):
            raise ValueError(
                f"{path} row {number} has {len(row)} cells, the header has {len(lines[0])}."
            )
    twice = [name for name in lines[0] if lines[0].count(name) > 1]
    if twice:
        raise ValueError(f"{path} has two columns of the name {twice[0]!r}.")
    cells = np.array(lines[1:], dtype=object)  # as strings all would be as long as the longest
    cells[cells == "?"] = ""
    return {name: cells[:, j] for j, name in enumerate(lines[0])}


def load_parquet(path, target, space):
    """The same of a Parquet file, which may have words, dates and gaps too."""
    return _encoded(path, read_parquet(path), target, space)


def read_parquet(path):
    """The columns of a Parquet file by their names."""
    import pyarrow.parquet

    return columns_of(pyarrow.parquet.read_table(path))


def is_for_an_encoder(path, target):
    """Whether a Parquet file has features that are no numbers, or gaps; False if it is none."""
    try:
        import pyarrow.parquet
        import pyarrow.types as kinds

        with pyarrow.parquet.ParquetFile(path) as file:
            schema, metadata = file.schema_arrow, file.metadata
    except (ImportError, OSError, ValueError):
        return False
    targets = schema.names[-1:] if target is None else target.split(",")
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    for j, column in enumerate(schema):
        if column.name in targets:
            continue
        known = [group.column(j).statistics for group in groups]
        if not (kinds.is_floating(column.type) or kinds.is_integer(column.type)):
            return True
        if any(one is not None and one.null_count for one in known):
            return True
    return False


def _encoded(path, columns, target, space):
    """The `Table` of columns; the target is the last one, or those that are named."""
    header = list(columns)
    targets = [header[-1]] if target is None else [target]
    if space in WIDE and target is not None:
        targets = target.split(",")
    for name in targets:
        if name not in header:
            raise ValueError(f"{path} has no column {name!r}; it has {', '.join(header)}.")
        gaps = np.flatnonzero(is_missing(columns[name]))
        if len(gaps):
            raise ValueError(f"{path} row {gaps[0] + 2} has no value in column {name!r}.")
    y = np.column_stack([columns[name].astype(object) for name in targets])
    if space not in WIDE:
        _check_distinct(y[:, 0], targets[0], "labels")
    table = {name: values for name, values in columns.items() if name not in targets}
    if not table:
        raise ValueError(f"{path} has no column besides the target.")
    encoder = TableEncoder().fit(table)
    X = encoder.transform(table)
    told = f"{path} ({X.shape[0]} rows, {X.shape[1]} features), target {', '.join(targets)}"
    return Table(X, _outputs(y, space), told, encoder)


def _separator(header):
    """What separates the cells of a header line: the most frequent of the usual ones."""
    counts = {mark: header.count(mark) for mark in DELIMITERS}
    best = max(counts, key=counts.get)
    return best if counts[best] else ","


def _opened(path):
    """A file of text, perhaps compressed by gzip; ``-`` is standard input."""
    given = {"newline": "", "encoding": "utf-8-sig"}
    if str(path) == "-":
        return contextlib.nullcontext(sys.stdin)
    return gzip.open(path, "rt", **given) if str(path).endswith(".gz") else open(path, **given)


def _read(path, delimiter):
    """Lines of a CSV file as lists of cells of any length, empty lines left out."""
    limit = csv.field_size_limit(LONGEST_CELL)
    try:
        with _opened(path) as file:
            head = file.readline()
            mark = _separator(head) if delimiter is None else delimiter
            lines = [row for row in csv.reader(chain([head], file), delimiter=mark) if row]
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text: {error}.") from error
    except (csv.Error, TypeError) as error:
        raise ValueError(f"{path} is not a CSV file: {error}.") from error
    finally:
        csv.field_size_limit(limit)
    if len(lines) < 2:
        raise ValueError(f"{path} has no rows below its header.")
    return lines


def _check_distinct(column, name, what):
    """Raise a ValueError if one-hot encoding would fill the memory."""
    distinct, n = len(set(column.tolist())), len(column)
    if distinct * n > LARGEST_TABLE:
        raise ValueError(
            f"column {name!r} has {distinct} distinct {what}: for {n} rows at most "
            f"{LARGEST_TABLE // n} are supported."
        )


def _numbers(column):
    try:
        return column.astype(np.float64)
    except ValueError:
        return None


def _outputs(y, space):
    """Labels as numbers where all are numbers (so that ordered classes sort), else strings."""
    columns = [_numbers(column) for column in y.T]
    numeric = y if any(column is None for column in columns) else np.column_stack(columns)
    if numeric is not y and np.all(numeric == np.rint(numeric)):
        numeric = numeric.astype(np.int64)
    if space not in WIDE:
        return numeric[:, 0]
    if numeric is y:
        wanted = "0 and 1" if space == "hypercube" else "whole numbers"
        raise ValueError(f"target columns of --space {space} must hold {wanted}.")
    return numeric
