"""Tables for the command line: CSV files and scikit-learn's digits."""

import csv
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_digits
from sklearn.preprocessing import OneHotEncoder

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
    """Features and outputs of a CSV file with a header; text columns are one-hot encoded.

    The target is the last column where none is named. Cells are separated by what separates the
    header, unless `delimiter` is given.

    Raises
    ------
    OSError, ValueError
        If the file or a column is missing, or a cell is empty; the message is one line.
    """
    lines = _read(path, delimiter)
    header, cells = lines[0], _cells(path, lines)
    targets = [header[-1]] if target is None else [target]
    if space in WIDE and target is not None:
        targets = target.split(",")
    for name in targets:
        if name not in header:
            raise ValueError(f"{path} has no column {name!r}; it has {', '.join(header)}.")
    y = cells[:, [header.index(name) for name in targets]]
    if space not in WIDE:
        _check_distinct(y[:, 0], targets[0], "labels")
    kept = [j for j, name in enumerate(header) if name not in targets]
    if not kept:
        raise ValueError(f"{path} has no column besides the target.")
    encoder = _encoder(cells[:, kept], [header[j] for j in kept])
    X = encoder.fit_transform(cells[:, kept])
    told = f"{path} ({len(X)} rows, {X.shape[1]} features), target {', '.join(targets)}"
    return Table(X, _outputs(y, space), told, encoder)


def _separator(header):
    """What separates the cells of a header line: the most frequent of the usual ones."""
    counts = {mark: header.count(mark) for mark in DELIMITERS}
    best = max(counts, key=counts.get)
    return best if counts[best] else ","


def _read(path, delimiter):
    """Lines of a CSV file as lists of cells of any length, empty lines left out."""
    limit = csv.field_size_limit(LONGEST_CELL)
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            mark = _separator(file.readline()) if delimiter is None else delimiter
            file.seek(0)
            lines = [row for row in csv.reader(file, delimiter=mark) if row]
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


class CellEncoder(TransformerMixin, BaseEstimator):
    """Turn the cells of a file into rows of numbers: numbers unchanged, then texts one-hot.

    Parameters
    ----------
    names : sequence of str
        Columns of the file, without those of the targets.
    numbers : sequence of int
        Places of those that hold numbers.

    Attributes
    ----------
    texts_ : OneHotEncoder or None
        Of the other columns, where there are some.
    """

    def __init__(self, names, numbers):
        self.names = names
        self.numbers = numbers

    def fit(self, cells, y=None):
        """Learn the categories of texts; cells (n, columns) as `transform` takes them."""
        cells, self.texts_ = self._by_name(cells), None
        if self._texts():
            self.texts_ = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
            self.texts_.fit(cells[:, self._texts()])
        return self

    def transform(self, cells):
        """Rows (n, p) of cells: a frame, whose columns are found by their names, or an array.

        Raises
        ------
        ValueError
            For a column that is missing, an array of another width, and a cell that is no number
            where the file had numbers; the message names the column.
        """
        cells = self._by_name(cells)
        columns = [self._numbers_of(cells, j) for j in self.numbers]
        parts = [np.column_stack(columns)] if columns else []
        if self.texts_ is not None:
            parts.append(self.texts_.transform(cells[:, self._texts()]))
        return np.hstack(parts)

    def _texts(self):
        return [j for j in range(len(self.names)) if j not in self.numbers]

    def _numbers_of(self, cells, j):
        try:
            return cells[:, j].astype(np.float64)
        except (ValueError, TypeError) as error:
            raise ValueError(f"column {self.names[j]!r} must hold numbers: {error}.") from None

    def _by_name(self, cells):
        """Cells (n, columns) in the order of the file."""
        if hasattr(cells, "columns"):
            missing = [name for name in self.names if name not in cells.columns]
            if missing:
                raise ValueError(
                    f"rows must have the columns {', '.join(self.names)}; missing: "
                    f"{', '.join(missing)}."
                )
            cells = cells[list(self.names)]
        cells = np.asarray(cells, dtype=object)
        if cells.ndim != 2 or cells.shape[1] != len(self.names):
            raise ValueError(
                f"rows must have {len(self.names)} cells, of the columns {', '.join(self.names)}, "
                f"got an array of shape {cells.shape}."
            )
        return cells


def _encoder(cells, names):
    """A transformer of these cells."""
    numbers = [j for j, name in enumerate(names) if _is_number(cells[:, j], name)]
    return CellEncoder(names, numbers)


def _is_number(column, name):
    values = _numbers(column)
    if values is None:
        _check_distinct(column, name, "texts")
        return False
    if not np.isfinite(values).all():
        raise ValueError(f"column {name!r} holds NaN or infinity.")
    return True


def _outputs(y, space):
    """Labels as numbers where all are numbers (so that ordered classes sort), else strings."""
    columns = [_numbers(column) for column in y.T]
    numeric = y if any(column is None for column in columns) else np.column_stack(columns)
    if space not in WIDE:
        return numeric[:, 0]
    if numeric is y:
        wanted = "0 and 1" if space == "hypercube" else "whole numbers"
        raise ValueError(f"target columns of --space {space} must hold {wanted}.")
    return numeric
