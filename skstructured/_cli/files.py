"""Files of tables as frames of cells: CSV, JSON lines, Parquet."""

import contextlib
import csv
import gzip
import io
import json
import os
import sys
import zlib
from itertools import chain, islice
from pathlib import Path

PARQUET, SVMLIGHT = (".parquet", ".pq"), (".svm", ".svmlight", ".libsvm")

#: Characters that may separate cells; characters in a cell.
DELIMITERS, LONGEST_CELL = ",;\t|", 2**31 - 1

#: Cells that are missing values.
MISSING = ("", "?", "nan", "NaN", "NA", "N/A", "<NA>", "null", "NULL", "None", "NaT")

#: Bytes of a file, and of a compressed one, that is read in parts.
LARGE, LARGE_GZIP = 1 << 26, 1 << 23


def ends_with(path, endings):
    """Whether the name of a file has one of these endings."""
    return path is not None and Path(path).suffix.lower() in endings


def is_large(path):
    """Whether a file is read in parts."""
    if path is None or not os.path.isfile(path):
        return False
    compressed = str(path).endswith(".gz") or ends_with(path, PARQUET)
    return os.path.getsize(path) > (LARGE_GZIP if compressed else LARGE)


def load_pandas():
    """pandas, which tables need."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "tables need pandas, which is not installed: pip install pandas"
        ) from error
    return pd


def frames(path, delimiter=None, size=None, notes=None):
    """Yield the rows of a file as data frames of at most `size` rows; missing values are None.

    The index has the number of each row in the file; the header is row 1. Cells of CSV files are
    texts. A file whose first character is a brace has a JSON object on each line. Others are CSV
    with a header, whose most frequent separator is that of the cells unless `delimiter` is given.
    A file without rows yields nothing. `notes` gets a line if rows have several lines.

    Raises
    ------
    OSError, ValueError, ImportError
        If the file cannot be read; the message is one line and names the row.
    """
    pd = load_pandas()
    limit = csv.field_size_limit(LONGEST_CELL)
    try:
        if ends_with(path, PARQUET):
            yield from _of_parquet(path, size)
            return
        with _opened(path) as file:
            for frame in _of_text(pd, path, file, delimiter, size, [] if notes is None else notes):
                yield frame.mask(frame.isin(MISSING), None)
    except UnicodeDecodeError as error:
        where = f"byte {error.object[error.start]:#x} at {error.start}"
        raise ValueError(
            f"{path} is not UTF-8 text ({where}): iconv -f latin1 -t utf-8 FILE > NEW converts it, "
            "if it is Latin-1."
        ) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        if "Not a gzipped file" in str(error):
            raise ValueError(f"{path} is not compressed by gzip, as its name says.") from error
        raise ValueError(f"{path} is damaged or cut off: {error}.") from error
    finally:
        csv.field_size_limit(limit)


@contextlib.contextmanager
def _opened(path):
    """A file of text, perhaps compressed by gzip; ``-`` is standard input, which is left open."""
    given = {"newline": "", "encoding": "utf-8-sig"}
    if str(path) == "-":
        file = io.TextIOWrapper(sys.stdin.buffer, **given)
        try:
            yield file
        finally:
            file.detach()
        return
    is_gzip = str(path).endswith(".gz")
    with gzip.open(path, "rt", **given) if is_gzip else open(path, **given) as file:
        yield file


def _of_text(pd, path, file, delimiter, size, notes):
    """Frames of CSV or of JSON lines."""
    head = next((line for line in file if line.strip()), "")
    if not head:
        raise ValueError(f"{path} is empty: a table has a line of column names, then rows.")
    if head.lstrip().startswith("["):
        raise ValueError(f"{path} is a JSON list: write its objects on a line each (JSON lines).")
    lines = chain([head], file)
    if head.lstrip().startswith("{"):
        yield from _of_objects(pd, path, lines, size)
        return
    mark = max(DELIMITERS, key=head.count) if delimiter is None else delimiter
    if len(mark) != 1:
        raise ValueError(f"--delimiter must be one character, got {mark!r}.")
    reader = csv.reader(lines, delimiter=mark, strict=True, skipinitialspace=True)
    header = next(reader)
    check_names(path, header)
    rows, done = _rows(path, reader, len(header), notes), 2
    while part := list(islice(rows, size)):
        yield pd.DataFrame(part, range(done, done + len(part)), header, dtype=object)
        done += len(part)


def _rows(path, reader, width, notes):
    """Rows of a CSV file that have a cell for each column; the first row below the header is 2."""
    number, end, longest = 1, reader.line_num, (1, 0)
    try:
        for row in reader:
            if row:
                number += 1
                if len(row) != width:
                    raise ValueError(
                        f"{path} row {number} has {len(row)} cells, the header has {width}: quote "
                        "cells that contain the separator, or give --delimiter."
                    )
                longest = max(longest, (reader.line_num - end, -number))
                yield row
            end = reader.line_num
    except csv.Error as error:
        raise ValueError(
            f"{path} row {number + 1} is not CSV ({error}): close the quotes of a cell, and "
            'write a quote within it twice (""), as in "5"" disk".'
        ) from error
    if longest[0] > 1:
        notes.append(
            f"{number - 1:,} rows were read from {end - 1:,} lines: row {-longest[1]} has "
            f"{longest[0]:,} lines, by a quoted cell."
        )


def check_names(path, names):
    """Raise a ValueError for two columns of one name."""
    if len(set(names)) < len(names):
        seen = set()
        twice = next(name for name in names if name in seen or seen.add(name))
        raise ValueError(
            f"{path} has two columns of the name {twice!r}: its first line must give each a name "
            "of its own."
        )


def _of_objects(pd, path, lines, size):
    """Frames of JSON objects; the columns are the names of the first part."""
    done, names, lines = 1, None, (line for line in lines if line.strip())
    while part := [_object(path, done + i, line) for i, line in enumerate(islice(lines, size))]:
        names = list(dict.fromkeys(chain.from_iterable(part))) if names is None else names
        cells = [[row.get(name) for name in names] for row in part]
        yield pd.DataFrame(cells, range(done, done + len(part)), names, dtype=object)
        done += len(part)


def _object(path, number, line):
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} row {number} is not JSON: {error}.") from error
    if not isinstance(row, dict):
        raise ValueError(f"{path} row {number} is not a JSON object.")
    for name, value in row.items():
        if isinstance(value, (list, dict)):
            raise ValueError(f"{path} row {number} has several values in column {name!r}.")
    return row


def _of_parquet(path, size):
    """Frames of a Parquet file; whole numbers stay what they are beside missing values."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install pyarrow") from error
    try:
        with pq.ParquetFile(path) as file:
            check_names(path, file.schema_arrow.names)
            for column in file.schema_arrow:
                if pa.types.is_nested(column.type):
                    raise ValueError(f"{path} has several values in column {column.name!r}.")
            done = 1
            for batch in file.iter_batches(size or max(1, file.metadata.num_rows)):
                frame = pa.Table.from_batches([batch]).to_pandas(integer_object_nulls=True)
                frame.index = range(done, done + len(frame))
                done += len(frame)
                for name in frame.columns[[kind.kind == "O" for kind in frame.dtypes]]:
                    frame[name] = frame[name].mask(frame[name].isin(MISSING), None)
                yield frame
    except (pa.ArrowException, OverflowError) as error:
        told = str(error).splitlines()[0]
        raise ValueError(f"{path} is not a Parquet file, damaged or cut off: {told}") from error
