"""Rows that do not fit into memory: chunks of files and arrays, and learning them one by one."""

import contextlib
import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skstructured._base.validation import check_integer, check_lengths, check_sparse
from skstructured.extend._types import Given
from skstructured.streaming._files import Chunks, parquet_chunks, svmlight_chunks

__all__ = ["array_chunks", "fit_chunks", "parquet_chunks", "svmlight_chunks"]


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
    ahead = [transform_of(name, step, _learned_in_place) for name, step in steps[:-1]]
    for number, (X, y, *weight) in enumerate(checked_chunks(chunks)):
        with told_of_chunk(number, n):
            for transform in ahead:
                X = transform(X)
            learner.partial_fit(X, y, **_options(learner, classes, weight))
        n += X.shape[0] if hasattr(X, "shape") else len(X)
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


def is_fitted(step):
    """Whether a step of a pipeline is fitted."""
    try:
        check_is_fitted(step)
    except NotFittedError:
        return False
    return True


def transform_of(name, step, learned):
    """How a step transforms rows: as it is where it is fitted, else by ``learned(step)``."""
    if is_fitted(step):
        return step.transform
    if not hasattr(step, "partial_fit"):
        raise ValueError(
            f"step {name!r} of the pipeline is not fitted and has no partial_fit: fit it on "
            f"other rows before, or put a transformer with partial_fit in its place; it is "
            f"{step!r}."
        )
    return learned(step)


def _learned_in_place(step):
    return lambda X: step.partial_fit(X).transform(X)


def _options(learner, classes, weight):
    """Keywords for a call of ``partial_fit``, those it takes."""
    options = {"sample_weight": weight[0]} if weight else {}
    taken = inspect.signature(learner.partial_fit).parameters
    if classes is not None and "classes" in taken:
        options["classes"] = classes
    return options


def checked_chunks(chunks, lengths=(2, 3)):
    """The chunks, one or more; a ValueError names the first that is not a tuple (X, y)."""
    wanted = "(X, y) or (X, y, sample_weight)" if 3 in lengths else "(X, y)"
    if not hasattr(chunks, "__iter__") or hasattr(chunks, "shape"):
        name = type(chunks).__name__
        raise ValueError(f"chunks must be an iterable of tuples {wanted}, got {name}.")
    number = -1
    for number, chunk in enumerate(chunks):
        if not isinstance(chunk, (tuple, list)) or len(chunk) not in lengths:
            of = f" of {len(chunk)}" if isinstance(chunk, (tuple, list)) else ""
            got = f"{type(chunk).__name__}{of}"
            raise ValueError(f"chunk {number} must be a tuple {wanted}, got {got}.")
        yield chunk
    if number < 0:
        raise ValueError(
            "chunks must hold one chunk or more, got none; a generator can be gone through once."
        )


def pairs_of(chunks):
    """Chunks that are pairs (X, y)."""
    return checked_chunks(chunks, lengths=(2,))


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
    check_lengths(X.shape[0], y.shape[0] if hasattr(y, "shape") else len(y))
    return Chunks(partial(_slices, X.tocsr() if issparse(X) else X, y, chunk_size))


def _kind(given):
    shape = getattr(given, "shape", None)
    return type(given).__name__ + (f" of shape {shape}" if shape is not None else "")


def _slices(X, y, size):
    for start in range(0, X.shape[0], size):
        yield _rows(X, start, start + size), _rows(y, start, start + size)


def _rows(X, start, stop):
    if hasattr(X, "iloc"):
        return X.iloc[start:stop]
    part = X[start:stop]
    return np.array(part) if isinstance(part, np.memmap) else part
