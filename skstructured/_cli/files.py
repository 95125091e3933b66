"""Files of the command line as data frames, and progress; scikit-learn is not imported."""

import contextlib
import csv
import gzip
import importlib
import json
import os
import sys
import threading
import time
import zlib
from collections import Counter
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from skstructured._base.cell_formats import MISSING_TEXTS


class LargeFiles(NamedTuple):
    """Files of more bytes are read in parts; their first rows decide the types of columns."""

    min_bytes: int = 1 << 26
    min_bytes_compressed: int = 1 << 23
    deciding_rows: int = 100_000
    rows_per_part: int = 10_000


LARGE_FILES = LargeFiles()

#: Names of columns that an error lists.
MAX_NAMES_LISTED = 20

#: Spaces whose outputs have a column each.
MULTI_COLUMN_SPACES = ("multilabel", "assignment", "ranking")

#: Seconds before the first line; before each other one it is twice as long.
SECONDS_TO_PROGRESS = 2.0


@contextlib.contextmanager
def stage(what):
    """Print the name of a stage to stderr if it takes long; yields a function of the rows done."""
    started, done, over = time.perf_counter(), [], threading.Event()

    def report(rows, total=None):
        done[:] = [f": {rows:,}{f'/{total:,}' if isinstance(total, int) else ''} rows"]

    def tell():
        pause = SECONDS_TO_PROGRESS
        while not over.wait(pause):
            elapsed = time.perf_counter() - started
            print(f"{what}{''.join(done)}, {elapsed:.0f} s", file=sys.stderr, flush=True)
            pause *= 2.0

    clock = threading.Thread(target=tell, daemon=True)
    clock.start()
    try:
        yield report
    finally:
        over.set()
        clock.join()


def is_parquet(path):
    """Whether the name of a file is that of a Parquet file."""
    return Path(path).suffix.lower() in (".parquet", ".pq")


def is_large(path):
    """Whether a file is read in parts."""
    if path is None or not os.path.isfile(path):
        return False
    is_compressed = is_parquet(path) or Path(path).suffix.lower() == ".gz"
    most = LARGE_FILES.min_bytes_compressed if is_compressed else LARGE_FILES.min_bytes
    return os.path.getsize(path) > most


def load_pandas():
    """pandas, imported when it is needed: the digits do not need it."""
    return importlib.import_module("pandas")


def frames(path, delimiter=None, size=None, notes=None, names=()):
    """Yield the rows of a file as data frames of at most `size` rows, with None for missing values.

    The index numbers rows from the header of CSV on. `notes` gets a line if rows are left out. A
    header without one of the `names` is an error before rows are read.
    """
    if Path(path).suffix.lower() in (".svm", ".svmlight", ".libsvm"):
        raise ValueError("Read svmlight files in Python: sklearn.datasets.load_svmlight_file.")
    limit = csv.field_size_limit(2**31 - 1)
    read_parts = _parquet_frames if is_parquet(path) else _text_frames
    try:
        yield from read_parts(path, size, delimiter, [] if notes is None else notes, names)
    except UnicodeDecodeError as error:
        where = f"byte {error.object[error.start]:#x} at {error.start}"
        remedy = "If it is Latin-1, convert it: iconv -f latin1 -t utf-8 FILE > NEW"
        raise ValueError(f"{path} is not UTF-8 text ({where}). {remedy}.") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is damaged or cut off: {error}.") from error
    finally:
        csv.field_size_limit(limit)


def _text_frames(path, size, delimiter, notes, names):
    """Frames of CSV or of JSON lines, perhaps compressed; ``-`` is standard input."""
    kwargs = {"mode": "rt", "newline": "", "encoding": "utf-8-sig"}
    is_input, opener = str(path) == "-", gzip.open if str(path).endswith(".gz") else open
    with open(0, closefd=False, **kwargs) if is_input else opener(path, **kwargs) as file:
        head = next(filter(str.strip, file), "")
        lines, mark, header = chain([head], file), head.lstrip()[:1], None
        if not mark:
            raise ValueError(f"{path} is empty: a table needs a line of column names, then rows.")
        if mark == "[":
            raise ValueError(f"{path} is a JSON list: write one object per line (JSON lines).")
        if mark == "{":
            rows = _objects(path, filter(str.strip, lines))
        else:
            mark = max(",;\t|", key=head.count) if delimiter is None else delimiter
            rows = _records(path, lines, mark, notes)
            header = next(rows)[1]
            check_columns(path, header, names)
        while chunk := list(islice(rows, size)):
            numbers, cells = zip(*chunk, strict=True)
            frame = load_pandas().DataFrame(cells, numbers, header, dtype=object)
            header = frame.columns
            yield _with_missing(frame)


def _records(path, lines, mark, notes):
    """Numbers and cells of the rows of a CSV file; the first one is the header."""
    if len(mark) != 1:
        raise ValueError(f"--delimiter must be one character, got {mark!r}.")
    reader = csv.reader(lines, delimiter=mark, strict=True, skipinitialspace=True)
    number, header, empty = 0, [], []
    try:
        for number, row in enumerate(reader, 1):
            if not any(row):
                empty += [number] * (len(row) > 1)
                continue
            header = header or check_names(path, row)
            if len(row) != len(header):
                remedy = "quote cells that contain the separator, or set --delimiter"
                sizes = f"has {len(row)} cells, the header has {len(header)}"
                raise ValueError(f"{path} row {number} {sizes}: {remedy}.")
            yield number, row
    except csv.Error as error:
        rule = 'write a quote within it twice (""), as in "5"" disk"'
        remedy = f"close the quotes of a cell, and {rule}"
        raise ValueError(f"{path} row {number + 1} is not CSV ({error}): {remedy}.") from error
    if empty:
        notes.append(f"rows without any value were left out: {len(empty)}, such as row {empty[0]}.")


def check_names(place, names):
    """The names of columns; a ValueError if they do not differ."""
    for name, times in Counter(names).items():
        if times > 1:
            remedy = "Leave out lines above the names of a CSV file"
            columns = f"{times} columns of the name {name!r}"
            raise ValueError(f"{place} has {columns}: names must differ. {remedy}.")
    return names


def _objects(path, lines):
    """Numbers and JSON objects of lines."""
    for number, line in enumerate(lines, 1):
        try:
            pairs = json.loads(line, object_pairs_hook=tuple)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} row {number} is not JSON: {error}.") from error
        if not isinstance(pairs, tuple):
            raise ValueError(f"{path} row {number} is not a JSON object.")
        check_names(f"{path} row {number}", [name for name, _ in pairs])
        for name, value in pairs:
            if isinstance(value, (list, tuple)):
                raise ValueError(f"{path} row {number} has several values in column {name!r}.")
        yield number, dict(pairs)


def _parquet_frames(path, size, *_):
    """Frames of a Parquet file; whole numbers stay whole next to missing values."""
    from pyarrow import ArrowException, parquet  # other files need none of it

    os.stat(path)  # an error if it does not exist
    try:
        with parquet.ParquetFile(path) as file:
            check_names(path, file.schema_arrow.names)
            for column in file.schema_arrow:
                if column.type.num_fields:
                    raise ValueError(f"{path} has several values in column {column.name!r}.")
            first = 1
            for batch in file.iter_batches(size or max(1, file.metadata.num_rows)):
                frame = batch.to_pandas(integer_object_nulls=True)
                frame.index = range(first, first + len(frame))
                yield _with_missing(frame)
                first += batch.num_rows
    except (ArrowException, OSError, OverflowError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a Parquet file, damaged or cut off: {error}") from None


def _with_missing(frame):
    """The frame with None for missing values."""
    texts = frame.columns[[kind.kind == "O" for kind in frame.dtypes]]
    cells = frame[texts]
    frame[texts] = cells.mask(cells.isna() | cells.isin(("?", *MISSING_TEXTS)), None)
    return frame


def first_rows(options):
    """The first rows of a file (all unless it is large), its target columns, notes, and seconds."""
    path, started, notes = options.file, time.perf_counter(), []
    if path is None:
        return None
    targets = [options.target] if options.target else []
    if options.space in MULTI_COLUMN_SPACES and targets:
        targets = options.target.split(",")
    named = [*targets, *filter(None, (options.qid, options.choice))]
    for columns in (options.columns, options.numbers, options.categories, options.dates):
        named += columns or ()
    with stage(f"Reading {path}"):
        size = LARGE_FILES.deciding_rows if is_large(path) else None
        frame = next(frames(path, options.delimiter, size, notes, named), None)
    if frame is None or frame.empty:
        raise ValueError(f"{path} has no rows below its header.")
    check_columns(path, frame, named)
    return frame, targets or [frame.columns[-1]], notes, time.perf_counter() - started


def check_columns(path, columns, names):
    """Raise a ValueError for a name that is not among the columns, a header or a frame."""
    for name in names:
        if name not in columns:
            listed = ", ".join(list(columns)[:MAX_NAMES_LISTED])
            raise ValueError(f"{path} has no column {name!r}; it has {listed}.")
