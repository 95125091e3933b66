"""Files of tables for the command line, as columns of cells: CSV, JSON lines, Parquet."""

import contextlib
import csv
import gzip
import io
import json
import re
import sys
from itertools import chain, islice
from pathlib import Path

import numpy as np

from skstructured.streaming._frames import columns_of

#: Characters in a cell.
LONGEST_CELL = 2**31 - 1

#: What may stand between the cells of a line.
DELIMITERS = ",;\t|"

#: A number as it is written where a comma stands before its fraction: 1,5 and 1.234,5.
DECIMAL_COMMA = re.compile(r"\s*[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+\s*")

#: Lines of a file that say how it is written.
LOOKED_AT = 10_000

PARQUET, SVMLIGHT = (".parquet", ".pq"), (".svm", ".svmlight", ".libsvm")


def ends_with(path, endings):
    """Whether the name of a file has one of these endings."""
    return path is not None and Path(path).suffix.lower() in endings


def read_parquet(path):
    """The columns of a Parquet file by their names."""
    import pyarrow.parquet

    return columns_of(pyarrow.parquet.read_table(path))


def parquet_parts(path, size):
    """The columns of a Parquet file in parts of `size` rows."""
    import pyarrow
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(size):
            yield columns_of(pyarrow.Table.from_batches([batch]))


def read_text(path, delimiter=None):
    """The columns of a CSV file or of JSON lines by their names, arrays of objects."""
    return next(text_chunks(path, delimiter))


def text_chunks(path, delimiter=None, size=None):
    """The same in parts of `size` rows, one after the other.

    A file whose first character is a brace has a JSON object on each line. Others are CSV with a
    header, whose cells are separated by what separates the header unless `delimiter` is given; `?`
    is a gap. Where semicolons separate them, ``1,5`` is a number.

    Raises
    ------
    OSError, ValueError
        For what cannot be read; the message is one line and names the row.
    """
    try:
        with _long_cells(), _opened(path) as file:
            yield from _chunks(path, file, delimiter, size)
    except UnicodeDecodeError as error:
        where = f"byte {error.object[error.start]:#x} at {error.start}"
        raise ValueError(
            f"{path} is not UTF-8 text ({where}): iconv -f latin1 -t utf-8 FILE > NEW makes it so, "
            "where Latin-1 is what it is."
        ) from error
    except gzip.BadGzipFile as error:
        raise ValueError(f"{path} is not compressed by gzip, as its name says.") from error
    except (csv.Error, TypeError) as error:
        raise ValueError(f"{path} is not a CSV file: {error}.") from error


def dialect(path, delimiter=None):
    """What `pandas.read_csv` must be told of a CSV file to read it so; None for JSON lines."""
    with _long_cells(), _opened(path) as file:
        head = file.readline()
        if head.lstrip().startswith("{"):
            return None
        mark = _separator(head) if delimiter is None else delimiter
        cells = chain.from_iterable(csv.reader(islice(file, LOOKED_AT), delimiter=mark))
        found = {"?" if c == "?" else "," for c in cells if c == "?" or DECIMAL_COMMA.fullmatch(c)}
    told = {} if mark == "," else {"sep": mark}
    told |= {"decimal": ","} if mark == ";" and "," in found else {}
    return told | ({"na_values": "?"} if "?" in found else {})


def chosen(path, columns, wanted, ignored, targets):
    """The columns that `wanted` names, and the targets, without those that `ignored` names.

    Raises
    ------
    ValueError
        For names that the table does not have.
    """
    for name in (*(wanted or ()), *(ignored or ())):
        if name not in columns:
            raise ValueError(f"{path} has no column {name!r}; it has {', '.join(columns)}.")
    kept = list(columns) if wanted is None else [*wanted, *targets]
    return {n: v for n, v in columns.items() if n in kept and n not in (ignored or ())}


@contextlib.contextmanager
def _long_cells():
    limit = csv.field_size_limit(LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


@contextlib.contextmanager
def _standard_input(**given):
    """Standard input as a file would be read, and left open."""
    if not hasattr(sys.stdin, "buffer"):
        yield sys.stdin
        return
    file = io.TextIOWrapper(sys.stdin.buffer, **given)
    try:
        yield file
    finally:
        file.detach()


def _opened(path):
    """A file of text, perhaps compressed by gzip; ``-`` is standard input."""
    given = {"newline": "", "encoding": "utf-8-sig"}
    if str(path) == "-":
        return _standard_input(**given)
    return gzip.open(path, "rt", **given) if str(path).endswith(".gz") else open(path, **given)


def _chunks(path, file, delimiter, size):
    head = file.readline()
    if not head:
        raise ValueError(f"{path} is empty: a table has a line of column names, then rows.")
    if head.lstrip().startswith("["):
        raise ValueError(f"{path} is a JSON list: write its objects on a line each (JSON lines).")
    if head.lstrip().startswith("{"):
        yield from _of_objects(path, chain([head], file), size)
        return
    mark = _separator(head) if delimiter is None else delimiter
    lines = (row for row in csv.reader(chain([head], file), delimiter=mark) if row)
    header = next(lines, [])
    twice = [name for name in header if header.count(name) > 1]
    if twice:
        raise ValueError(
            f"{path} has two columns of the name {twice[0]!r}: its first line must give each a "
            "name of its own."
        )
    yield from _of_lines(path, header, lines, size, mark == ";")


def _of_lines(path, header, lines, size, has_commas=False):
    done = 0
    while rows := list(islice(lines, size)):
        for number, row in enumerate(rows, start=done + 2):
            if len(row) != len(header):
                raise ValueError(
                    f"{path} row {number} has {len(row)} cells, the header has {len(header)}: "
                    "quote cells that hold what separates them, or give --delimiter."
                )
        cells = np.array(rows, dtype=object)  # as strings all would be as long as the longest
        cells[cells == "?"] = ""
        if has_commas:
            cells = np.frompyfunc(without_decimal_comma, 1, 1)(cells)
        yield {name: cells[:, j] for j, name in enumerate(header)}
        done += len(rows)
    if not done:
        raise ValueError(f"{path} has no rows below its header.")


def _of_objects(path, lines, size):
    """Chunks of JSON objects; the columns are the names of the first chunk."""
    done, names = 0, None
    lines = (line for line in lines if line.strip())
    while rows := [_object(path, done + i, line) for i, line in enumerate(islice(lines, size), 1)]:
        names = list(dict.fromkeys(name for row in rows for name in row)) if not done else names
        done += len(rows)
        yield {name: _column([row.get(name) for row in rows]) for name in names}


def _object(path, number, line):
    try:
        row = json.loads(line)
    except ValueError as error:
        raise ValueError(f"{path} row {number} is not JSON: {error}.") from error
    if not isinstance(row, dict):
        raise ValueError(f"{path} row {number} is not a JSON object.")
    for name, value in row.items():
        if isinstance(value, (list, dict)):
            raise ValueError(f"{path} row {number} has several values in column {name!r}.")
    return row


def _column(values):
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def without_decimal_comma(cell):
    """A number with a point before its fraction; other cells as they are."""
    if "," in cell and DECIMAL_COMMA.fullmatch(cell):
        return cell.replace(".", "").replace(",", ".")
    return cell


def _separator(header):
    """What separates the cells of a header line: the most frequent of the usual ones."""
    counts = {mark: header.count(mark) for mark in DELIMITERS}
    best = max(counts, key=counts.get)
    return best if counts[best] else ","
