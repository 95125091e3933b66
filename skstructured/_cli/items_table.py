"""Tables of items with features, for the command line: rows, rounds, grades, choices."""

from collections.abc import Mapping
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from skstructured._cli.careful import careful_lines, check_no_gaps
from skstructured._cli.files import PARQUET, SVMLIGHT, chosen, ends_with, read_parquet, read_text
from skstructured._cli.read import targets_of, title
from skstructured._cli.stream_table import LARGE, is_large
from skstructured.items._reading import read_items
from skstructured.items._targets import LARGEST_GRADE
from skstructured.streaming._frames import as_numbers, is_missing
from skstructured.streaming.table_encoder import TableEncoder

#: Names that an error lists, and lines that are looked at for qid:.
LISTED, LOOKED_AT = 3, 100


class ItemTable(NamedTuple):
    """Items, their rounds, and what was seen of them.

    Attributes
    ----------
    X : ndarray or sparse matrix of shape (N, p)
        Features of the items.
    y : ndarray of shape (N,)
        Grades, or 1 for the chosen item of each round and 0 for the others.
    qid : ndarray of shape (N,)
        Round of each item.
    name : str
        Where they are from, and how many.
    encoder : TableEncoder
        Makes X of the cells of a file.
    targets : sequence of str
        The column of y.
    round : str
        The column of qid.
    space : str
        What an output is.
    reading : float
        Seconds that reading and encoding took.
    careful : sequence of str
        Lines about columns that may not be what they are taken for.
    texts : dict of str to ndarray
        Columns of long texts.
    """

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray
    name: str
    encoder: TableEncoder
    targets: tuple
    round: str
    space: str = "simplex"
    reading: float = 0.0
    careful: tuple = ()
    texts: Mapping = MappingProxyType({})

    @property
    def items(self):
        """The rounds, as the learners of items take them."""
        return read_items(self.X, self.qid)

    def in_random_order(self, seed):
        """The same with the rounds in random order; rows of a round stay in theirs."""
        _, first, codes = np.unique(self.qid, return_index=True, return_inverse=True)
        place = np.empty(len(first), dtype=np.int64)
        place[np.argsort(first)] = np.random.RandomState(seed).permutation(len(first))
        order = np.argsort(place[codes.ravel()], kind="stable")
        return self._replace(X=self.X[order], y=self.y[order], qid=self.qid[order])


def load_items(path, options):
    """The `ItemTable` of a file that fits into memory.

    Raises
    ------
    OSError, ValueError
        If the file, a column or a value is missing or is not what it must be; one line.
    """
    kind, name = ("qid", options.qid) if options.qid is not None else ("choice", options.choice)
    _check_size(path, kind)
    is_parquet = ends_with(path, PARQUET)
    columns = read_parquet(path) if is_parquet else read_text(path, options.delimiter)
    target = targets_of(path, columns, options.target, None)[0]
    if target == name:
        raise ValueError(f"--{kind} and the target are both the column {name!r}: give --target.")
    qid = rounds_of(path, columns, name)
    y = _numbers_of(path, columns, target, "grades" if kind == "qid" else "choices")
    if kind == "qid":
        _check_grades(path, y, target)
    else:
        _check_choices(path, y, qid, target, name)
    table = chosen(path, columns, options.columns, options.ignore, (target, name))
    table = {column: cells for column, cells in table.items() if column not in (target, name)}
    if not table:
        raise ValueError(f"{path} has no column besides {target!r} and {name!r}.")
    return _encoded(path, table, y, qid, kind, (target,), name)


def _encoded(path, table, y, qid, kind, targets, name):
    """The `ItemTable` of columns that are features."""
    encoder = TableEncoder().fit(table)
    X = encoder.transform(table)
    rounds = f"{len(np.unique(qid))} {'lists' if kind == 'qid' else 'choices'}"
    told = f"{title(path, *X.shape, len(table))}, {rounds} by {name}, target {targets[0]}"
    careful = tuple(careful_lines(encoder, table, targets, y, None))
    texts = {one.name: table[one.name] for one in encoder._coders_of("words")}
    rest = {"careful": careful, "texts": texts}
    return ItemTable(X, y, qid, told, encoder, targets, name, **rest)


def refuse_queries(path):
    """A ValueError for an svmlight file whose lines have qid:, which classes would not regard."""
    if not ends_with(path, SVMLIGHT):
        return
    with open(path, "rb") as file:
        if any(b" qid:" in line for line in islice(file, LOOKED_AT)):
            raise ValueError(
                f"{path} has query ids (qid:), which the command line does not read: in Python, "
                "streaming.svmlight_chunks(file, n_features, query_id=True) has rows, grades and "
                "queries for ListwiseRanker; a CSV file with a column of queries is ranked by "
                "--qid COLUMN."
            )


def _check_size(path, kind):
    """A ValueError for files whose rounds are not read."""
    if ends_with(path, SVMLIGHT):
        raise ValueError(
            f"--{kind} names a column, and svmlight files have none: in Python, "
            "load_svmlight_file(file, query_id=True) has rows, grades and rounds."
        )
    if is_large(path):
        raise ValueError(
            f"--{kind} is for files that fit into memory, up to {LARGE >> 20} MB (8 MB where "
            "compressed): take some of the rounds, or learn them in parts by partial_fit."
        )


def rounds_of(path, columns, name):
    """The column of the rounds, as texts where it does not hold numbers."""
    if name not in columns:
        raise ValueError(f"{path} has no column {name!r}; it has {', '.join(columns)}.")
    gaps = np.flatnonzero(is_missing(columns[name]))
    if len(gaps):
        raise ValueError(f"{path} row {gaps[0] + 2} has no value in column {name!r}.")
    cells = columns[name]
    numbers = as_numbers(cells, np.zeros(len(cells), dtype=bool))
    return cells.astype(str) if numbers is None else numbers


def _numbers_of(path, columns, name, what):
    """The target, numbers without gaps."""
    check_no_gaps(path, columns, [name])
    cells = columns[name]
    numbers = as_numbers(cells, np.zeros(len(cells), dtype=bool))
    if numbers is None:
        raise ValueError(f"column {name!r} of {path} must have {what} as numbers, and has words.")
    return numbers


def _check_grades(path, y, target):
    wrong = np.flatnonzero(~((y >= 0.0) & (y <= LARGEST_GRADE)))
    if len(wrong):
        raise ValueError(
            f"{path} row {wrong[0] + 2}: grades must be from 0, not relevant, to {LARGEST_GRADE}; "
            f"column {target!r} has {y[wrong[0]]:g}."
        )
    if not y.any():
        raise ValueError(f"all grades of column {target!r} are 0: no row is better than another.")


def _check_choices(path, y, qid, target, name):
    wrong = np.flatnonzero((y != 0.0) & (y != 1.0))
    if len(wrong):
        raise ValueError(
            f"{path} row {wrong[0] + 2}: with --choice the target is 1 for the chosen row of each "
            f"{name} and 0 for the others; column {target!r} has {y[wrong[0]]:g}."
        )
    names, codes = np.unique(qid, return_inverse=True)
    counts = np.bincount(codes.ravel(), y).astype(np.int64)
    if (counts == 1).all():
        return
    first = codes.ravel()[np.flatnonzero(counts[codes.ravel()] != 1)[0]]
    rows = np.flatnonzero((codes.ravel() == first) & (y == 1.0)) + 2
    where = f" (rows {', '.join(map(str, rows[:LISTED]))})" if len(rows) else ""
    label = f"{names[first]:g}" if names.dtype.kind == "f" else names[first]
    raise ValueError(
        f"{name} {label} has {counts[first]} chosen rows{where}, and {(counts != 1).sum()} of "
        f"{len(counts)} have not one: mark one row of each with 1, or leave them out."
    )


def whole_rounds(parts, path, name, is_long):
    """Parts of columns in which every round is whole: rows of the last one wait for the next part.

    What is not long is one part, whose rows may stand in any order.

    Raises
    ------
    ValueError
        Where rows of a round of a long file stand apart.
    """
    if not is_long:
        parts = list(parts)
        yield {column: np.concatenate([part[column] for part in parts]) for column in parts[0]}
        return
    waiting, done = None, set()
    for part in parts:
        if waiting is not None:
            part = {c: np.concatenate([waiting[c], part[c]]) for c in part}
        rounds = rounds_of(path, part, name)
        last = rounds == rounds[-1]
        _check_new(path, name, rounds[~last], done)
        waiting = {column: cells[last] for column, cells in part.items()}
        if not last.all():
            yield {column: cells[~last] for column, cells in part.items()}
    _check_new(path, name, rounds_of(path, waiting, name), done)
    yield waiting


def _check_new(path, name, rounds, done):
    """Note rounds as done; a ValueError for one that was."""
    new = set(rounds.tolist())
    if new & done:
        again = sorted(new & done)[0]
        raise ValueError(f"rows of {name} {again} stand apart in {path}: sort the file by {name}.")
    done |= new
