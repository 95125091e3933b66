"""Files of tables as frames of cells: CSV, JSON lines, Parquet."""

import csv
import gzip
import importlib
import json
import os
import zlib
from itertools import chain, islice
from pathlib import Path

from skstructured.streaming.chunks import opened_parquet

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
    """pandas, which is imported when it is needed: the digits need none."""
    return importlib.import_module("pandas")


def frames(path, delimiter=None, size=None, notes=None):
    """Yield the rows of a file as data frames of at most `size` rows; missing values are None.

    The index has the number of each row in the file; the header of CSV is row 1. Cells of CSV files
    are texts. A file whose first character is a brace has a JSON object on each line. Others are
    CSV with a header, whose most frequent separator is that of the cells unless `delimiter` is
    given. A file without rows yields nothing. `notes` gets a line if rows have several lines.

    Raises
    ------
    OSError, ValueError, ImportError
        If the file cannot be read; the message is one line and names the row.
    """
    limit = csv.field_size_limit(LONGEST_CELL)
    try:
        if ends_with(path, PARQUET):
            yield from _of_parquet(path, size)
            return
        with _opened(path) as file:
            yield from _of_text(path, file, delimiter, size, [] if notes is None else notes)
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


def _opened(path):
    """A file of text, perhaps compressed by gzip; ``-`` is standard input, which is left open."""
    given, is_input = {"newline": "", "encoding": "utf-8-sig"}, str(path) == "-"
    if str(path).endswith(".gz"):
        return gzip.open(path, "rt", **given)
    return open(0 if is_input else path, closefd=not is_input, **given)


def _of_text(path, file, delimiter, size, notes):
    """Frames of CSV or of JSON lines."""
    pd = load_pandas()
    head = next((line for line in file if line.strip()), "")
    if not head:
        raise ValueError(f"{path} is empty: a table has a line of column names, then rows.")
    if head.lstrip().startswith("["):
        raise ValueError(f"{path} is a JSON list: write its objects on a line each (JSON lines).")
    lines, header, first = chain([head], file), None, 1
    if head.lstrip().startswith("{"):
        rows = _objects(path, (line for line in lines if line.strip()))
    else:
        mark = max(DELIMITERS, key=head.count) if delimiter is None else delimiter
        if len(mark) != 1:
            raise ValueError(f"--delimiter must be one character, got {mark!r}.")
        reader = csv.reader(lines, delimiter=mark, strict=True, skipinitialspace=True)
        header, first = next(reader), 2
        for name in pd.Index(header)[pd.Index(header).duplicated()]:
            raise ValueError(
                f"{path} has two columns of the name {name!r}: its first line must give each a "
                "name of its own."
            )
        rows = _rows(path, reader, len(header), notes)
    while part := list(islice(rows, size)):
        frame = pd.DataFrame(part, columns=header, dtype=object)
        header = frame.columns
        yield _numbered(frame, first)
        first += len(part)


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


def _objects(path, lines):
    """JSON objects, one a line."""
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} row {number} is not JSON: {error}.") from error
        if not isinstance(row, dict):
            raise ValueError(f"{path} row {number} is not a JSON object.")
        for name, value in row.items():
            if isinstance(value, (list, dict)):
                raise ValueError(f"{path} row {number} has several values in column {name!r}.")
        yield row


def _of_parquet(path, size):
    """Frames of a Parquet file; whole numbers stay what they are beside missing values."""
    with opened_parquet(path) as file:
        for column in file.schema_arrow:
            if column.type.num_fields:
                raise ValueError(f"{path} has several values in column {column.name!r}.")
        done = 1
        for batch in file.iter_batches(size or max(1, file.metadata.num_rows)):
            yield _numbered(batch.to_pandas(integer_object_nulls=True), done)
            done += batch.num_rows


def _numbered(frame, first):
    """The frame with the numbers of its rows, the first one given, and None for what is missing."""
    frame.index = range(first, first + len(frame))
    texts = frame.columns[[kind.kind == "O" for kind in frame.dtypes]]
    cells = frame[texts]
    frame[texts] = cells.mask(cells.isna() | cells.isin(MISSING), None)
    return frame
