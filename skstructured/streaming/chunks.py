"""Rows that do not fit into memory: chunks of arrays and files, learned one by one."""

import contextlib
import inspect
import io
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import issparse, vstack
from sklearn.pipeline import Pipeline
from sklearn.utils import gen_batches
from sklearn.utils.validation import _num_samples

from skstructured._base.validation import check_bool, check_integer, check_lengths, check_sparse
from skstructured.experts._binary import is_fitted
from skstructured.extend._types import Given

__all__ = ["array_chunks", "fit_chunks", "parquet_chunks", "svmlight_chunks"]


#: How names of Arrow's types of numbers begin.
NUMBERS = ("int", "uint", "float", "half", "double", "bool")


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
    with opened_parquet(path) as file:
        schema = file.schema_arrow
    targets = [target] if isinstance(target, str) else list(target)
    chosen = [n for n in schema.names if n not in targets] if columns is None else list(columns)
    for name in (*targets, *chosen):
        if name not in schema.names:
            raise ValueError(f"{path} has no column {name!r}; it has {', '.join(schema.names)}.")
    for name in chosen:
        if name in targets:
            raise ValueError(f"column {name!r} is the target, and is among columns too.")
        kind = schema.field(name).type
        if not str(kind).startswith(NUMBERS):
            raise ValueError(
                f"column {name!r} of {path} holds {kind}, not numbers: leave it out by columns=, "
                "or encode it beforehand."
            )
    one = isinstance(target, str)
    return Chunks(partial(_batches, path, targets, chosen, chunk_size, one))


@contextlib.contextmanager
def opened_parquet(path):
    """A Parquet file; that it is damaged, or has two columns of one name, is a ValueError."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise ImportError(
            "Parquet files need pyarrow: pip install skstructured[parquet]."
        ) from error
    try:
        with parquet.ParquetFile(path) as file:
            for name, times in Counter(file.schema_arrow.names).most_common(1):
                if times > 1:
                    raise ValueError(f"{path} has {times} columns {name!r}: names must differ.")
            yield file
    except FileNotFoundError:
        raise
    except (ArrowException, OSError, OverflowError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a Parquet file, damaged or cut off: {error}") from None


def _batches(path, targets, columns, size, one):
    with opened_parquet(path) as file:
        for batch in file.iter_batches(batch_size=size, columns=[*columns, *targets]):
            for name in batch.schema.names:
                if batch.column(name).null_count:
                    what = "the target" if name in targets else "column"
                    raise ValueError(f"{what} {name!r} of {path} has missing values.")
            yield _table(batch, columns), _table(batch, targets, one)


def _table(batch, names, one=False):
    """Columns of a batch as one C-contiguous array, or the only one as it is."""
    cells = [batch.column(name).to_numpy(zero_copy_only=False) for name in names]
    single = all(str(batch.column(name).type) == "float" for name in names)
    return cells[0] if one else np.column_stack(cells).astype(np.float32 if single else np.float64)


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
    os.stat(path)  # raises an error if there is no such file
    given: dict[str, Any] = {"n_features": n_features, "zero_based": zero_based}
    given |= {"dtype": dtype, "query_id": query_id}
    return Chunks(partial(_queries if query_id else _parts, path, chunk_bytes, given))


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
            X = vstack([waiting[0], X], format="csr")
            y, qid = np.append(waiting[1], y), np.append(waiting[2], qid)
        starts = np.flatnonzero(np.append(True, qid[1:] != qid[:-1]))
        for query in qid[starts].tolist():
            if query in done:
                raise ValueError(
                    f"rows of query {query} stand apart in {path}: sort it by queries."
                )
            done.add(query)
        done.remove(qid[-1])
        stop = starts[-1]
        waiting = X[stop:], y[stop:], qid[stop:]
        if stop:
            yield X[:stop], y[:stop], qid[:stop]
    if waiting is not None:
        yield waiting


def _read_lines(path, lines, end, given):
    """Rows of whole lines, which end at a byte of the file."""
    from sklearn.datasets import load_svmlight_file  # a tenth of the time of all our imports

    text = b"".join(lines)
    try:
        return load_svmlight_file(io.BytesIO(text), **given)
    except (ValueError, OverflowError) as error:
        width = f" of {given['n_features']} features" if given["n_features"] < WIDEST else ""
        hint = "; where columns are numbered from 0, give zero_based=True."
        raise ValueError(
            f"{path} is no svmlight file{width}, within its bytes {end - len(text)} to {end}: "
            f"{error}{hint if 'Invalid index 0' in str(error) else ''}"
        ) from None


def fit_chunks(
    estimator: Any,
    chunks: Iterable[Sequence[Any]],
    classes: Given = None,
    progress: Callable[[int], object] | None = None,
) -> Any:
    """Learn chunk after chunk by ``partial_fit``, holding one chunk in memory at a time.

    For any estimator that has ``partial_fit``, scikit-learn's included. One that has learned
    before goes on from there. Learners of this package learn the same, bit for bit, however the
    rows are cut into chunks.

    Parameters
    ----------
    estimator : estimator with ``partial_fit``, or Pipeline that ends in one
        It is learned in place. Steps before it transform each chunk; those that are not fitted see
        the chunk first, by their own ``partial_fit``.
    chunks : iterable of tuples (X, y) or (X, y, sample_weight)
        Rows of any number, all of the same width; lists in the place of tuples will do.
    classes : array-like or None, default=None
        All labels, for learners that ask for them on the first call of ``partial_fit``.
    progress : callable or None, default=None
        Called as ``progress(rows so far)`` after each chunk.

    Returns
    -------
    estimator
        The one given.

    Raises
    ------
    TypeError
        For an estimator without ``partial_fit``.
    ValueError
        For chunks that are no tuples, none at all, a step of a pipeline that is neither fitted nor
        has ``partial_fit``, and for all that ``partial_fit`` refuses. Chunks before are learned.

    Examples
    --------
    >>> import numpy as np
    >>> from skstructured import OnlineStructuredPredictor
    >>> from skstructured.streaming import array_chunks, fit_chunks
    >>> X = np.random.RandomState(0).randn(1000, 3)
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = fit_chunks(OnlineStructuredPredictor(), array_chunks(X, y, 100), classes=[0, 1])
    >>> model.t_
    1000
    """
    steps = steps_of(estimator)
    learner, n = steps[-1][1], 0
    if not hasattr(learner, "partial_fit"):
        raise TypeError(
            f"estimator must have (or end in a step with) partial_fit, got {learner!r}."
        )
    asks = "classes" in inspect.signature(learner.partial_fit).parameters
    given = {"classes": classes} if asks and classes is not None else {}
    ahead = [transform_of(name, step, _learned_in_place) for name, step in steps[:-1]]
    for number, (X, y, *weight) in enumerate(checked_chunks(chunks)):
        with told_of_chunk(number, n):
            for transform in ahead:
                X = transform(X)
            told = {"sample_weight": weight[0]} if weight else {}
            learner.partial_fit(X, y, **given, **told)
        n += _num_samples(X)
        if progress is not None:
            progress(n)
    return estimator


@contextlib.contextmanager
def told_of_chunk(number, n):
    """Have errors say in which chunk they came up, and how many rows there were before it."""
    try:
        yield
    except Exception as error:
        error.add_note(f"In chunk {number} (the first is 0), which begins after {n} rows.")
        raise


def steps_of(estimator):
    """Names and steps of a pipeline that do something, the learner last."""
    steps = estimator.steps if isinstance(estimator, Pipeline) else [(None, estimator)]
    passed = [pair for pair in steps[:-1] if pair[1] not in (None, "passthrough")]
    return [*passed, steps[-1]]


def transform_of(name, step, learned):
    """How a step transforms rows: as it is where it is fitted, else by ``learned(step)``."""
    if is_fitted(step):
        return step.transform
    if hasattr(step, "partial_fit"):
        return learned(step)
    raise ValueError(
        f"step {name!r} of the pipeline is not fitted and has no partial_fit: fit it on other rows "
        f"before, or put a transformer with partial_fit in its place; it is {step!r}."
    )


def _learned_in_place(step):
    return lambda X: step.partial_fit(X).transform(X)


def checked_chunks(chunks, lengths=(2, 3)):
    """The chunks, one or more; a ValueError names the first that is not a tuple (X, y)."""
    wanted = "(X, y) or (X, y, sample_weight)" if 3 in lengths else "(X, y)"
    if not hasattr(chunks, "__iter__") or hasattr(chunks, "shape"):
        name = type(chunks).__name__
        raise ValueError(f"chunks must be an iterable of tuples {wanted}, got {name}.")
    number = -1
    for number, chunk in enumerate(chunks):
        size = len(chunk) if isinstance(chunk, (tuple, list)) else None
        if size not in lengths:
            got = type(chunk).__name__ + (f" of {size}" if size is not None else "")
            raise ValueError(f"chunk {number} must be a tuple {wanted}, got {got}.")
        yield chunk
    if number < 0:
        raise ValueError(
            "chunks must hold one chunk or more, got none; a generator can be gone through once."
        )


def array_chunks(X: Any, y: Any, chunk_size: int = 10_000) -> Chunks:
    """Chunks of arrays in order: memory-mapped arrays, CSR matrices, data frames.

    Parameters
    ----------
    X : {array, sparse matrix, data frame} of shape (n, p)
        A ``numpy.memmap``, or ``numpy.load(path, mmap_mode="r")``, is read chunk by chunk.
    y : array, sparse matrix or data frame of length n
        Outputs.
    chunk_size : int, default=10_000
        Rows a chunk.

    Returns
    -------
    iterable of (X, y)
        It may be gone through more than once.

    Raises
    ------
    ValueError
        For lengths that differ, X without a shape (n, p), a sparse one whose arrays do not fit
        together, outputs without a length, and a chunk_size that is no positive integer.
    """
    check_integer("chunk_size", chunk_size)
    if len(getattr(X, "shape", ())) != 2:
        raise ValueError(f"X must be an array, sparse matrix or data frame (n, p), got {_kind(X)}.")
    if not (getattr(y, "shape", ()) or hasattr(y, "__len__")):
        raise ValueError(f"y must have a length, got {_kind(y)}.")
    if issparse(X):
        check_sparse(X)
    check_lengths(X.shape[0], _num_samples(y))
    return Chunks(partial(_slices, X.tocsr() if issparse(X) else X, y, chunk_size))


def _kind(given):
    shape = getattr(given, "shape", None)
    return type(given).__name__ + (f" of shape {shape}" if shape is not None else "")


def _slices(X, y, size):
    for batch in gen_batches(X.shape[0], size):
        yield _rows(X, batch), _rows(y, batch)


def _rows(X, batch):
    part = X.iloc[batch] if hasattr(X, "iloc") else X[batch]
    return np.array(part) if isinstance(part, np.memmap) else part
