"""Rows that do not fit into memory: chunks, learned one by one."""

import contextlib
import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline
from sklearn.utils import gen_batches
from sklearn.utils.validation import _num_samples

from skstructured._base.validation import check_integer, check_lengths, check_sparse
from skstructured.experts._binary import is_fitted
from skstructured.extend._types import Given


class Chunks:
    """Chunks that may be iterated again: every pass reopens the source."""

    def __init__(self, make):
        self._make = make

    def __iter__(self):
        return self._make()


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
    array_chunks : Chunks of arrays.
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
    steps = pipeline_steps(estimator)
    learner, n = steps[-1][1], 0
    if not hasattr(learner, "partial_fit"):
        rule = "must have (or end in a step with) partial_fit"
        raise TypeError(f"estimator {rule}, got {learner!r}.")
    needs_classes = "classes" in inspect.signature(learner.partial_fit).parameters
    options = {"classes": classes} if needs_classes and classes is not None else {}
    transforms = [step_transform(name, step, _fit_in_place) for name, step in steps[:-1]]
    for number, (X, y, *weight) in enumerate(checked_chunks(chunks)):
        with note_chunk(number, n):
            for transform in transforms:
                X = transform(X)
            weight_options = {"sample_weight": weight[0]} if weight else {}
            learner.partial_fit(X, y, **options, **weight_options)
        n += _num_samples(X)
        if progress is not None:
            progress(n)
    return estimator


@contextlib.contextmanager
def note_chunk(number, n):
    """Add to errors the number of the chunk, and the number of rows before it."""
    try:
        yield
    except Exception as error:
        error.add_note(f"In chunk {number} (the first is 0), which begins after {n} rows.")
        raise


def pipeline_steps(estimator):
    """Names and steps of a pipeline that are not skipped, the learner last."""
    steps = estimator.steps if isinstance(estimator, Pipeline) else [(None, estimator)]
    return [*(step for step in steps[:-1] if step[1] not in (None, "passthrough")), steps[-1]]


def step_transform(name, step, fit_and_transform):
    """How a step transforms rows: unchanged if fitted, else by ``fit_and_transform(step)``."""
    if is_fitted(step):
        return step.transform
    if hasattr(step, "partial_fit"):
        return fit_and_transform(step)
    remedy = "fit it on other rows before, or use a transformer with partial_fit instead"
    what = f"Step {name!r} of the pipeline is not fitted and has no partial_fit"
    raise ValueError(f"{what}: {remedy}; it is {step!r}.")


def _fit_in_place(step):
    return lambda X: step.partial_fit(X).transform(X)


def checked_chunks(chunks, lengths=(2, 3)):
    """The chunks, one or more; a ValueError names the first that is not a tuple (X, y)."""
    expected_form = "(X, y) or (X, y, sample_weight)" if 3 in lengths else "(X, y)"
    if not hasattr(chunks, "__iter__") or hasattr(chunks, "shape"):
        name = type(chunks).__name__
        raise ValueError(f"chunks must be an iterable of tuples {expected_form}, got {name}.")
    number = -1
    for number, chunk in enumerate(chunks):
        size = len(chunk) if isinstance(chunk, (tuple, list)) else None
        if size not in lengths:
            got = type(chunk).__name__ + (f" of {size}" if size is not None else "")
            raise ValueError(f"Chunk {number} must be a tuple {expected_form}, got {got}.")
        yield chunk
    if number < 0:
        hint = "A generator can be iterated only once"
        raise ValueError(f"chunks must have one chunk or more, got none. {hint}.")


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


def _kind(value):
    shape = getattr(value, "shape", None)
    return type(value).__name__ + (f" of shape {shape}" if shape is not None else "")


def _slices(X, y, size):
    for batch in gen_batches(X.shape[0], size):
        yield _rows(X, batch), _rows(y, batch)


def _rows(X, batch):
    rows = X.iloc[batch] if hasattr(X, "iloc") else X[batch]
    return np.array(rows) if isinstance(rows, np.memmap) else rows
