"""Chunks of files: Parquet by pyarrow, svmlight by scikit-learn, some rows at a time."""

import contextlib
import errno
import io
import os
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import vstack

from skstructured._base.validation import check_bool, check_integer


class Chunks:
    """Chunks that may be gone through again: every pass opens the source anew."""

    def __init__(self, make):
        self._make = make

    def __iter__(self):
        return self._make()


def parquet_chunks(
    path: str | os.PathLike[str],
    target: str | Sequence[str],
    chunk_size: int = 10_000,
    columns: Sequence[str] | None = None,
) -> Chunks:
    """Chunks of a Parquet file of numbers, which pyarrow reads a few rows at a time.

    Parameters
    ----------
    path : str or path
        The file.
    target : str or list of str
        Column of the outputs, numbers or texts; several for multilabel outputs and label rankings.
    chunk_size : int, default=10_000
        Rows a chunk; the last one of a row group may be smaller.
    columns : list of str or None, default=None
        Columns of the features; None takes all but the target.

    Returns
    -------
    iterable of (X, y)
        X is float32 where all its columns are, else float64. It may be gone through more than once.

    Raises
    ------
    ImportError
        Without pyarrow.
    OSError
        If there is no such file.
    ValueError
        For columns that are not in the file, are no numbers or have missing values, a target with
        missing values, two columns of one name, and for a file that is damaged or of another kind.
    """
    check_integer("chunk_size", chunk_size)
    with _named(path):
        schema = _pyarrow_parquet().read_schema(path)
    _check_names(path, schema.names)
    targets = [target] if isinstance(target, str) else list(target)
    chosen = [n for n in schema.names if n not in targets] if columns is None else list(columns)
    for name in (*targets, *chosen):
        if name not in schema.names:
            raise ValueError(f"{path} has no column {name!r}; it has {', '.join(schema.names)}.")
    for name in chosen:
        _check_numbers(path, name, schema.field(name).type)
    both = [name for name in chosen if name in targets]
    if both:
        raise ValueError(f"column {both[0]!r} is the target, and is among columns too.")
    one = isinstance(target, str)
    return Chunks(partial(_batches, path, targets, chosen, chunk_size, one))


def parquet_columns(path):
    """Names of the columns of a Parquet file, in order."""
    with _named(path):
        names = _pyarrow_parquet().read_schema(path).names
    _check_names(path, names)
    return names


def _check_names(path, names):
    """A ValueError for two columns of one name."""
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise ValueError(
            f"{path} has {names.count(twice[0])} columns {twice[0]!r}: names must differ."
        )


def _pyarrow_parquet():
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(
            "Parquet files need pyarrow: pip install skstructured[parquet]."
        ) from error
    return parquet


def _check_numbers(path, name, kind):
    from pyarrow import types

    if not (types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)):
        raise ValueError(
            f"column {name!r} of {path} holds {kind}, not numbers: leave it out by columns=, or "
            "encode it beforehand."
        )


@contextlib.contextmanager
def _named(path):
    """Have what pyarrow says of a damaged file be a ValueError that names it."""
    from pyarrow import ArrowException

    try:
        yield
    except FileNotFoundError:
        raise
    except (ArrowException, OSError, OverflowError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no Parquet file, damaged or cut off: {error}") from None


def _batches(path, targets, columns, size, one):
    with _named(path), _pyarrow_parquet().ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=size, columns=[*columns, *targets]):
            X = _table(path, batch, columns)
            yield X, _labels(path, batch, targets[0]) if one else _table(path, batch, targets)


def _labels(path, batch, name):
    """A column of a batch, of numbers or texts."""
    column = batch.column(name)
    if column.null_count:
        raise ValueError(f"the target {name!r} of {path} has missing values.")
    return column.to_numpy(zero_copy_only=False)


def _table(path, batch, names):
    """Columns of a batch as one C-contiguous array."""
    columns = [batch.column(name) for name in names]
    for name, column in zip(names, columns, strict=True):
        if column.null_count:
            raise ValueError(f"column {name!r} of {path} has missing values.")
    single = all(str(column.type) == "float" for column in columns)
    X = np.empty((batch.num_rows, len(names)), np.float32 if single else np.float64)
    for j, column in enumerate(columns):
        X[:, j] = column.to_numpy(zero_copy_only=False)
    return X


#: More columns than any svmlight file of today has, to read one whose width is not known yet.
WIDEST = 2**31 - 1


def svmlight_chunks(
    path: str | os.PathLike[str],
    n_features: int,
    chunk_bytes: int = 1 << 24,
    zero_based: bool = False,
    dtype: DTypeLike = np.float64,
    query_id: bool = False,
) -> Chunks:
    """Chunks of a svmlight (libsvm) file as CSR matrices, read some megabytes at a time.

    Parameters
    ----------
    path : str or path
        The file, not compressed.
    n_features : int
        Width of the rows, which no part of the file tells.
    chunk_bytes : int, default=2**24
        Bytes of the file a chunk, to the end of the last line.
    zero_based : bool, default=False
        Whether columns are numbered from 0; files of libsvm number from 1.
    dtype : dtype, default=float64
        Of the values.
    query_id : bool, default=False
        Whether chunks end with the last row of a query, and have the numbers behind ``qid:``, for
        `ListwiseRanker` and the like: ``ranker.partial_fit(X, y, qid=qid)``.

    Returns
    -------
    iterable of (X, y), or of (X, y, qid)
        Labels are float64, qid int64. It may be gone through more than once.

    Raises
    ------
    OSError
        If there is no such file.
    ValueError
        For a line that is not svmlight's, and columns beyond n_features; with `query_id` for a line
        without ``qid:``, and for rows of a query that stand apart.
    """
    check_integer("n_features", n_features)
    check_integer("chunk_bytes", chunk_bytes)
    check_bool("query_id", query_id)
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    given = {"n_features": n_features, "zero_based": zero_based, "dtype": dtype}
    if query_id:
        return Chunks(partial(_queries, path, chunk_bytes, given | {"query_id": True}))
    return Chunks(partial(_parts, path, chunk_bytes, given))


def _parts(path, chunk_bytes, given):
    with open(path, "rb") as file:
        while lines := file.readlines(chunk_bytes):
            part = _read_lines(path, lines, file.tell(), given)
            if part[0].shape[0]:
                yield part


def _queries(path, chunk_bytes, given):
    """Parts in which every query is whole: rows of the last one wait for the next part."""
    waiting, done = None, set()
    for X, y, qid in _parts(path, chunk_bytes, given):
        if len(qid) != len(y):
            raise ValueError(f"{path} has rows without qid:, which query_id=True asks for.")
        if waiting is not None:
            X, y = vstack([waiting[0], X], format="csr"), np.concatenate([waiting[1], y])
            qid = np.concatenate([waiting[2], qid])
        others = np.flatnonzero(qid != qid[-1])
        stop = int(others[-1]) + 1 if len(others) else 0
        _check_together(path, qid, done)
        waiting = X[stop:], y[stop:], qid[stop:]
        if stop:
            done.update(qid[:stop].tolist())
            yield X[:stop], y[:stop], qid[:stop]
    if waiting is not None:
        yield waiting


def _check_together(path, qid, done):
    """A ValueError for a query whose rows stand apart, or were `done` before."""
    seen = set(done)
    for query in qid[np.append(True, qid[1:] != qid[:-1])].tolist():
        if query in seen:
            raise ValueError(f"rows of query {query} stand apart in {path}: sort it by queries.")
        seen.add(query)


def _read_lines(path, lines, end, given):
    """Rows of whole lines, which end at a byte of the file."""
    from sklearn.datasets import load_svmlight_file  # a tenth of the time of all our imports

    text = b"".join(lines)
    try:
        return load_svmlight_file(io.BytesIO(text), **given)
    except (ValueError, OverflowError) as error:
        p, from_zero = given["n_features"], "Invalid index 0" in str(error)
        raise ValueError(
            f"{path} is no svmlight file{f' of {p} features' if p < WIDEST else ''}, within its "
            f"bytes {end - len(text)} to {end}: {error}"
            + from_zero
            * "; where columns are numbered from 0, give zero_based=True."
        ) from None
