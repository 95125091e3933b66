"""Rows that do not fit into memory: chunks of arrays and files, learned one by one."""

import contextlib
import inspect
import io
import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import issparse, vstack
from sklearn.pipeline import Pipeline
from sklearn.utils import gen_batches
from sklearn.utils.validation import _num_samples

from skstructured._base.table_files import opened_parquet
from skstructured._base.validation import check_bool, check_integer, check_lengths, check_sparse
from skstructured.experts._binary import is_fitted
from skstructured.extend._types import Given

#: How names of Arrow's types of numbers begin.
NUMBERS = ("int", "uint", "float", "half", "double", "bool")


class Chunks:
    """Chunks that may be iterated again: every pass reopens the source."""

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
    """Read a Parquet file of numbers in chunks, by pyarrow.

    Parameters
    ----------
    path : str or path
        The file.
    target : str or list of str
        Column of the outputs, numbers or strings; several for multilabel outputs and label
        rankings.
    chunk_size : int, default=10_000
        Rows per chunk; the last one of a row group may be smaller.
    columns : list of str or None, default=None
        Columns of the features; None uses all but the target.

    Returns
    -------
    iterable of (X, y)
        X is float32 if all its columns are, else float64. It may be iterated more than once.

    Raises
    ------
    ImportError
        If pyarrow is not installed.
    OSError
        If there is no such file.
    ValueError
        If a column is not in the file, does not have numbers, or has missing values; if a target
        has missing values; if two columns have one name; if the file is damaged or of another kind.

    See Also
    --------
    fit_chunks : Train on the chunks.
    array_chunks, svmlight_chunks : Chunks of other sources.
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
            raise ValueError(f"Column {name!r} is the target, and must not be among columns.")
        kind = schema.field(name).type
        if not str(kind).startswith(NUMBERS):
            raise ValueError(
                f"Column {name!r} of {path} has {kind}, not numbers: leave it out with columns=, "
                "or encode it beforehand."
            )
    return Chunks(partial(_batches, path, targets, chosen, chunk_size, isinstance(target, str)))


def _batches(path, targets, columns, size, one):
    with opened_parquet(path) as file:
        for batch in file.iter_batches(batch_size=size, columns=[*columns, *targets]):
            for name in batch.schema.names:
                if batch.column(name).null_count:
                    what = "the target" if name in targets else "column"
                    raise ValueError(f"{what} {name!r} of {path} has missing values.")
            yield _table(batch, columns), _table(batch, targets, one)


def _table(batch, names, one=False):
    """Columns of a batch as one C-contiguous array, or the only one unchanged."""
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
    """Read a svmlight (libsvm) file in chunks of CSR matrices.

    Parameters
    ----------
    path : str or path
        The file, not compressed.
    n_features : int
        Width of the rows, which the file does not have.
    chunk_bytes : int, default=2**24
        Bytes of the file per chunk, to the end of the last line.
    zero_based : bool, default=False
        Whether columns are numbered from 0; files of libsvm number from 1.
    dtype : dtype, default=float64
        Type of the values.
    query_id : bool, default=False
        Whether chunks end with the last row of a query, and include the numbers behind ``qid:``,
        for `ListwiseRanker` and similar: ``ranker.partial_fit(X, y, qid=qid)``.

    Returns
    -------
    iterable of (X, y), or of (X, y, qid)
        Labels are float64, qid int64. It may be iterated more than once.

    Raises
    ------
    ValueError
        If a line is not in the svmlight format, or has a column beyond n_features. With `query_id`,
        also if a line has no ``qid:``, or if the rows of a query are not contiguous.
    OSError
        If there is no such file.

    See Also
    --------
    fit_chunks : Train on the chunks.
    array_chunks, parquet_chunks : Chunks of other sources.
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
            raise ValueError(f"{path} has rows without qid:, which query_id=True needs.")
        if waiting is not None:
            X = vstack([waiting[0], X], format="csr")
            y, qid = np.append(waiting[1], y), np.append(waiting[2], qid)
        starts = np.flatnonzero(np.append(True, qid[1:] != qid[:-1]))
        for query in qid[starts].tolist():
            if query in done:
                raise ValueError(
                    f"Rows of query {query} are not contiguous in {path}: sort it by queries."
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
            f"{path} is not a svmlight file{width}, within its bytes {end - len(text)} to {end}: "
            f"{error}{hint if 'Invalid index 0' in str(error) else ''}"
        ) from None


def fit_chunks(
    estimator: Any,
    chunks: Iterable[Sequence[Any]],
    classes: Given = None,
    progress: Callable[[int], object] | None = None,
) -> Any:
    """Train on chunks by ``partial_fit``, with one chunk in memory at a time.

    It works for any estimator that has ``partial_fit``, scikit-learn's included. An estimator that
    has been trained before continues. Learners of this package learn the same, bit for bit, for
    chunks of any size.

    Parameters
    ----------
    estimator : estimator with ``partial_fit``, or Pipeline that ends in one
        The estimator; it is trained in place. Steps before it transform each chunk; those that are
        not fitted are trained on the chunk first, by their own ``partial_fit``.
    chunks : iterable of tuples (X, y) or (X, y, sample_weight)
        Chunks of any number of rows, all of the same width; lists are accepted instead of tuples.
    classes : array-like or None, default=None
        All labels, for learners that need them in the first call of ``partial_fit``.
    progress : callable or None, default=None
        Called as ``progress(rows so far)`` after each chunk.

    Returns
    -------
    estimator
        The given one.

    Raises
    ------
    TypeError
        If the estimator has no ``partial_fit``.
    ValueError
        If a chunk is not a tuple, if there are no chunks, if a step of a pipeline is neither fitted
        nor has ``partial_fit``, or if ``partial_fit`` raises one. Earlier chunks are learned.

    See Also
    --------
    array_chunks, parquet_chunks, svmlight_chunks : Make chunks.
    average_fitted : Train shards in parallel, and average them.
    skstructured.evaluation.progressive_validate : Predict every row before it is learned.
    skstructured.checkpoints.save_checkpoint : Save the estimator between chunks.

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
    """Add to errors the number of the chunk, and the number of rows before it."""
    try:
        yield
    except Exception as error:
        error.add_note(f"In chunk {number} (the first is 0), which begins after {n} rows.")
        raise


def steps_of(estimator):
    """Names and steps of a pipeline that are not skipped, the learner last."""
    steps = estimator.steps if isinstance(estimator, Pipeline) else [(None, estimator)]
    passed = [pair for pair in steps[:-1] if pair[1] not in (None, "passthrough")]
    return [*passed, steps[-1]]


def transform_of(name, step, learned):
    """How a step transforms rows: unchanged if it is fitted, else by ``learned(step)``."""
    if is_fitted(step):
        return step.transform
    if hasattr(step, "partial_fit"):
        return learned(step)
    raise ValueError(
        f"Step {name!r} of the pipeline is not fitted and has no partial_fit: fit it on other rows "
        f"before, or use a transformer with partial_fit instead; it is {step!r}."
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
            raise ValueError(f"Chunk {number} must be a tuple {wanted}, got {got}.")
        yield chunk
    if number < 0:
        raise ValueError(
            "chunks must have one chunk or more, got none. A generator can be iterated only once."
        )


def array_chunks(X: Any, y: Any, chunk_size: int = 10_000) -> Chunks:
    """Split arrays into chunks in order: memory-mapped arrays, CSR matrices, data frames.

    Parameters
    ----------
    X : {array, sparse matrix, data frame} of shape (n, p)
        Features. A ``numpy.memmap``, or ``numpy.load(path, mmap_mode="r")``, is read chunk by
        chunk.
    y : array, sparse matrix or data frame of length n
        Outputs.
    chunk_size : int, default=10_000
        Rows per chunk.

    Returns
    -------
    iterable of (X, y)
        It may be iterated more than once.

    Raises
    ------
    ValueError
        If lengths differ, if X does not have a shape (n, p), if the arrays of a sparse X do not fit
        together, if outputs have no length, or if chunk_size is not a positive integer.

    See Also
    --------
    fit_chunks : Train on the chunks.
    parquet_chunks, svmlight_chunks : Chunks of files.
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
