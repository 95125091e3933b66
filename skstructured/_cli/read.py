"""Tables for the command line: rows and outputs of a file, and scikit-learn's digits."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits

from skstructured._cli.careful import careful_lines, check_classes, check_no_gaps
from skstructured._cli.files import chosen, read_parquet, read_text
from skstructured.streaming._frames import as_numbers
from skstructured.streaming.table_encoder import TableEncoder

#: Rows times distinct values (8 bytes each, several times over).
LARGEST_TABLE = 10**8

#: Whole numbers of more values than this, and of fewer rows each, are amounts and no classes.
CLASSES, ROWS_EACH = 100, 10

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
    targets : sequence of str
        Names of the target columns.
    space : str
        What an output is.
    order : str or None
        The line that says that the order of the rows says something.
    reading : float
        Seconds that reading and encoding took.
    careful : sequence of str
        Lines about columns that may not be what they are taken for.
    texts : dict of str to ndarray
        Columns of long texts.
    """

    X: np.ndarray
    y: np.ndarray
    name: str
    encoder: object = None
    targets: tuple = ()
    space: str = "simplex"
    order: str | None = None
    reading: float = 0.0
    careful: tuple = ()
    texts: Mapping = MappingProxyType({})


def load_digits_stream(space):
    """scikit-learn's digits, pixels in [0, 1]; multilabel outputs are (even, above 4, prime)."""
    X, y = load_digits(return_X_y=True)
    if space == "hypercube":
        y = np.column_stack([y % 2 == 0, y > 4, np.isin(y, (2, 3, 5, 7))]).astype(int)
    if space in ("birkhoff", "permutahedron", "real"):
        raise ValueError(f"--space {space} needs a file: the digits are classes.")
    name = f"digits ({len(X)} rows, {X.shape[1]} features)"
    return Table(X, y, name, space=space or "simplex")


def load_text(path, target, space, delimiter=None, columns=None, ignore=None):
    """Features and outputs of a CSV file or JSON lines, which may have gaps, words and dates.

    The target is the last column where none is named. Of the others, those that `columns` names
    are taken, without those that `ignore` names.

    Raises
    ------
    OSError, ValueError
        If the file, a column or a target is missing; the message is one line.
    """
    return _encoded(path, read_text(path, delimiter), target, space, columns, ignore)


def load_parquet(path, target, space, columns=None, ignore=None):
    """The same of a Parquet file."""
    return _encoded(path, read_parquet(path), target, space, columns, ignore)


def is_for_an_encoder(path, options):
    """Whether a Parquet file has features that are no numbers, gaps, or amounts to predict.

    So it is where columns are chosen by name. False for what is no Parquet file.
    """
    try:
        import pyarrow.parquet
        import pyarrow.types as kinds

        with pyarrow.parquet.ParquetFile(path) as file:
            schema, metadata = file.schema_arrow, file.metadata
    except (ImportError, OSError, ValueError):
        return False
    if not schema.names or options.columns or options.ignore or options.space == "real":
        return bool(schema.names)
    targets = schema.names[-1:] if options.target is None else options.target.split(",")
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    for j, column in enumerate(schema):
        if column.name in targets:
            if kinds.is_floating(column.type) and options.space is None:
                return True
            continue
        known = [group.column(j).statistics for group in groups]
        if not (kinds.is_floating(column.type) or kinds.is_integer(column.type)):
            return True
        if any(one is not None and one.null_count for one in known):
            return True
    return False


def _encoded(path, columns, target, space, wanted, ignored):
    """The `Table` of columns; the target is the last one, or those that are named."""
    targets = targets_of(path, columns, target, space)
    header, columns = list(columns), chosen(path, columns, wanted, ignored, targets)
    check_no_gaps(path, columns, targets)
    y = np.column_stack([columns[name].astype(object) for name in targets])
    space = space_of(y, space)
    if space not in (*WIDE, "real"):
        _check_distinct(y[:, 0], targets[0], "labels")
        check_classes(path, y[:, 0], targets[0], header)
    table = {name: values for name, values in columns.items() if name not in targets}
    if not table:
        raise ValueError(f"{path} has no column besides the target.")
    encoder = TableEncoder().fit(table)
    X = encoder.transform(table)
    told = f"{title(path, *X.shape, len(table))}, target {', '.join(targets)}"
    careful = tuple(careful_lines(encoder, table, targets, y, space))
    texts = {one.name: table[one.name] for one in encoder._coders_of("words")}
    rest = {"careful": careful, "texts": texts}
    return Table(X, outputs(y, space, path), told, encoder, targets, space, **rest)


def title(path, n, n_features, n_columns):
    """What a file is called, its rows, and its columns where features are others."""
    name = "standard input" if str(path) == "-" else path
    plural = "s" if n_columns > 1 else ""
    columns = "" if n_columns == n_features else f"{n_columns} column{plural} as "
    return f"{name} ({n} rows, {columns}{n_features} features)"


def targets_of(path, columns, target, space):
    """The names of the target columns."""
    header = list(columns)
    targets = [header[-1]] if target is None else [target]
    if space in WIDE and target is not None:
        targets = target.split(",")
    for name in targets:
        if name not in header:
            raise ValueError(f"{path} has no column {name!r}; it has {', '.join(header)}.")
    return targets


def space_of(y, space):
    """The space, where none is named: "real" for amounts, which are no classes."""
    if space is not None:
        return space
    numbers = as_numbers(y[:, 0], np.zeros(len(y), dtype=bool))
    if numbers is None:
        return "simplex"
    distinct = len(np.unique(numbers))
    many = distinct > CLASSES and len(numbers) < ROWS_EACH * distinct
    return "real" if many or np.any(numbers != np.rint(numbers)) else "simplex"


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


def outputs(y, space, path):
    """Labels as numbers where all are numbers (so that ordinal classes sort), else strings."""
    columns = [_numbers(column) for column in y.T]
    numeric = y if any(column is None for column in columns) else np.column_stack(columns)
    if numeric is not y and np.all(numeric == np.rint(numeric)):
        numeric = numeric.astype(np.int64)
    if space == "real" and numeric is y:
        raise ValueError(f"the target of {path} must hold numbers with --space real.")
    if space not in WIDE:
        return numeric[:, 0].astype(np.float64) if space == "real" else numeric[:, 0]
    if numeric is y:
        wanted = "0 and 1" if space == "hypercube" else "whole numbers"
        raise ValueError(f"target columns of --space {space} must hold {wanted}.")
    return numeric
