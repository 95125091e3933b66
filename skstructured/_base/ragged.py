"""Sequences of rows or of labels, one after the other in one array."""

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from skstructured._base.validation import check_sparse
from skstructured._engine.types import Array, Ints


class Ragged:
    """Sequences of rows or numbers: the i-th one is ``values[offsets[i]:offsets[i + 1]]``."""

    def __init__(self, values: Any, offsets: ArrayLike) -> None:
        self.values = values
        self.offsets = np.asarray(offsets, dtype=np.int64)

    @classmethod
    def from_lengths(cls, values: Any, lengths: ArrayLike) -> "Ragged":
        """Sequences of these lengths."""
        return cls(values, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @functools.cached_property
    def lengths(self) -> Ints:
        """Lengths (n,) of the sequences."""
        return np.diff(self.offsets)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many sequences, and what follows the first axis of the values."""
        return (len(self), *self.values.shape[1:])

    def __getitem__(self, index: Any) -> Any:
        """The sequence at an integer; `Ragged` of those at a slice or an array."""
        if isinstance(index, (int, np.integer)):
            position = index + len(self) if index < 0 else index
            if not 0 <= position < len(self):
                raise IndexError(f"Sequence {index} is out of range for {len(self)} sequences.")
            return self.values[self.offsets[position] : self.offsets[position + 1]]
        index = np.arange(len(self))[index]
        return Ragged.from_lengths(self.values[self.places(index)], self.lengths[index])

    def places(self, indices: Any) -> Ints:
        """Rows of the sequences `indices`, in their order, int64."""
        lengths = self.lengths[indices]
        ends = np.cumsum(lengths)
        shift = np.repeat(self.offsets[indices] - ends + lengths, lengths)
        return np.arange(ends[-1] if len(ends) else 0, dtype=np.int64) + shift

    def sums(self, numbers: Array) -> Array:
        """Sums over the rows of each sequence.

        Parameters
        ----------
        numbers : ndarray of shape (N,)
            Numbers of the rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        return np.add.reduceat(numbers, self.offsets[:-1])

    def unstack(self) -> list[Any]:
        """The sequences as a list."""
        return [self[i] for i in range(len(self))]

    @classmethod
    def joined(cls, parts: Sequence["Ragged"]) -> "Ragged":
        """The sequences of several arrays.

        Parameters
        ----------
        parts : sequence of Ragged
            The arrays, in order.

        Returns
        -------
        Ragged
        """
        lengths = np.concatenate([array.lengths for array in parts])
        return Ragged.from_lengths(np.concatenate([array.values for array in parts]), lengths)


def by_length(call: Callable[..., Any], *arguments: Ragged | None) -> Any:
    """Results of ``call(m, *arrays)`` for sequences of each length m, as `Ragged` or (n,)."""
    first: Any = arguments[0]
    lengths = first.lengths
    out: list[Array] = []
    for m in np.unique(lengths):
        indices = np.flatnonzero(lengths == m)
        places = first.places(indices)
        rows = [a if a is None else a.values[places].reshape(len(indices), m) for a in arguments]
        answer = call(int(m), *rows)
        arrays = answer if isinstance(answer, tuple) else (answer,)
        out = out or [np.empty(len(first.values if array.ndim > 1 else first)) for array in arrays]
        for target, array in zip(out, arrays, strict=True):
            target[places if array.ndim > 1 else indices] = array.ravel()
    pairs = zip(out, arrays, strict=True)
    results = tuple(Ragged(a, first.offsets) if array.ndim > 1 else a for a, array in pairs)
    return results if isinstance(answer, tuple) else results[0]


def row_blocks(offsets: Ints, size: int) -> list[slice]:
    """Slices of sequences with `size` rows or more each, but for the last one."""
    blocks, start, n = [], 0, len(offsets) - 1
    while start < n:
        stop = min(int(np.searchsorted(offsets, offsets[start] + size)), n)
        blocks.append(slice(start, stop))
        start = stop
    return blocks


class Stacked(Ragged):
    """Sequences as one matrix with their lengths, which learners of sequences accept like lists.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (N, p)
        The rows of all positions, sequence after sequence.
    lengths : array-like of shape (n,)
        Positions of each sequence, at least 1, N in all.

    Raises
    ------
    ValueError
        For lengths that are not positive integers, or do not add up to N.

    See Also
    --------
    SequenceTransformer : Transformers of rows, applied to sequences.
    skstructured.spaces.LabelSequence : The space of label sequences.

    Examples
    --------
    >>> import numpy as np
    >>> from skstructured.sequences import Stacked
    >>> [part.shape for part in Stacked(np.ones((5, 3)), [2, 3])]
    [(2, 3), (3, 3)]
    """

    def __init__(self, X: Any, lengths: ArrayLike) -> None:
        lengths = np.asarray(lengths)
        if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or (lengths < 1).any():
            raise ValueError(f"lengths must be positive integers, got {lengths!r}.")
        X = _checked(X).tocsr() if sparse.issparse(X) else np.asarray(X)
        if lengths.sum() != X.shape[0]:
            raise ValueError(f"lengths add up to {lengths.sum()}, but X has {X.shape[0]} rows.")
        super().__init__(X, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))


#: What errors say of tokens.
TOKENS_ADVICE = (
    "Give each token as a dict of features, such as {'word': token}, and let the dicts go through "
    "SequenceTransformer(DictVectorizer())."
)


def _check_parts(matrices: Sequence[Any]) -> None:
    """Raise a ValueError naming the first part that is not a sequence of the common width."""
    for i, matrix in enumerate(matrices):
        if matrix.ndim != 2:
            hint = " A single sequence x is given as [x]." * (matrix.ndim == 1)
            if matrix.dtype.kind in "OUS":
                hint = f" {TOKENS_ADVICE}"
            rule = "X must be a list of sequences, each a matrix (length, features)"
            raise ValueError(f"{rule}: sequence {i} has {matrix.ndim} dimension(s).{hint}")
        if matrix.shape[0] == 0:
            raise ValueError(f"Sequence {i} of X is empty; it needs at least one position.")
        if matrix.shape[1] != matrices[0].shape[1]:
            sizes = f"{matrix.shape[1]} features, but those before it have {matrices[0].shape[1]}"
            raise ValueError(f"Sequence {i} of X has {sizes}.")


def stack_rows(X: Any) -> "Ragged":
    """`Ragged` of a list of matrices, dense or sparse, of a 3-d array, or of `Ragged` itself."""
    if isinstance(X, Ragged):
        return X
    if isinstance(X, str) or not hasattr(X, "__len__") or sparse.issparse(X):
        rule = "X must be a list of sequences, each a matrix (length, features)"
        remedy = "For one matrix of all rows use Stacked(X, lengths)"
        raise ValueError(f"{rule}, got {type(X).__name__}. {remedy}.")
    if len(X) == 0:
        raise ValueError("X has 0 sequences, at least 1 is required.")
    if all(hasattr(x, "columns") and hasattr(x, "iloc") for x in X):
        return _stack_frames(list(X))
    numbers = [type(x) is np.ndarray and x.dtype.kind in "biuf" for x in X]
    matrices = [x if numbers[i] else _as_matrix(x, i) for i, x in enumerate(X)]
    _check_parts(matrices)
    is_sparse = any(map(sparse.issparse, matrices))
    values = _stacked_sparse(matrices) if is_sparse else np.concatenate(matrices)
    return Ragged.from_lengths(values, [matrix.shape[0] for matrix in matrices])


def _is_empty(x: Any) -> bool:
    return x.shape[:1] == (0,) if hasattr(x, "shape") else isinstance(x, list) and not x


def has_empty(X: list[Any]) -> bool:
    """Whether one of the sequences is empty."""
    return any(map(_is_empty, X))


def around_empty(X: Any, answer: Callable[[list[Any]], Any], *other: Any) -> list[Any]:
    """Answers to the sequences that are not empty (else to `other`), among empty answers."""
    answers = list(answer([x for x in X if not _is_empty(x)] or [*other]))
    empty, remaining = answers[0][:0], iter(answers)
    return [empty if _is_empty(x) else next(remaining) for x in X]


def _checked(x: Any, i: int | None = None) -> Any:
    """A sparse matrix; a ValueError if its arrays do not fit, which SciPy would not see."""
    try:
        check_sparse(x)
    except ValueError as error:
        raise error if i is None else ValueError(f"Sequence {i} of X: {error}") from None
    return x


def _stacked_sparse(matrices: Sequence[Any]) -> sparse.csr_matrix:
    """CSR of matrices of which some are sparse; SciPy takes no foreign byte order."""
    native = [x if sparse.issparse(x) else x.astype(x.dtype.newbyteorder("=")) for x in matrices]
    return sparse.csr_matrix(sparse.vstack(native))


def _stack_frames(frames: Sequence[Any]) -> "Ragged":
    """`Ragged` of data frames, whose names are kept."""
    for i, frame in enumerate(frames):
        if not frame.columns.equals(frames[0].columns):
            ours, first = (list(f.columns)[:10] for f in (frame, frames[0]))
            raise ValueError(f"Sequence {i} of X has the columns {ours}, the first has {first}.")
    _check_parts(frames)
    stacked = sys.modules["pandas"].concat(frames, ignore_index=True)
    return Ragged.from_lengths(stacked, [len(frame) for frame in frames])


def _as_matrix(x: Any, i: int) -> Any:
    if sparse.issparse(x):
        return _checked(x, i)
    try:
        x = np.asarray(x)
    except ValueError as error:
        raise ValueError(f"Sequence {i} of X is not a matrix: {error}") from None
    if x.dtype.kind in "OUS" and x.ndim == 2:
        try:
            return x.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"Sequence {i} of X does not contain numbers: {error}") from None
    return x


def stack_labels(y: Any, name: str = "y") -> "Ragged":
    """`Ragged` of a list of label arrays, each (length,), of any lengths."""
    if isinstance(y, Ragged):
        return y
    if isinstance(y, str) or not hasattr(y, "__len__"):
        raise ValueError(f"{name} must be a list of label arrays, got {type(y).__name__}.")
    arrays = []
    for i, labels in enumerate(y):
        if isinstance(labels, str) or not hasattr(labels, "__len__"):
            rule = f"{name} must be a list of label arrays, one label per position"
            raise ValueError(f"{rule}: entry {i} is {labels!r}.")
        array = np.asarray(labels)
        if array.ndim != 1:
            raise ValueError(f"Labels of sequence {i} must be (length,), got {array.shape}.")
        if len(array) == 0:
            raise ValueError(f"Sequence {i} of {name} is empty; it needs at least one position.")
        arrays.append(array)
    if not arrays:
        raise ValueError(f"{name} has 0 sequences, at least 1 is required.")
    return Ragged.from_lengths(_join(arrays), [len(array) for array in arrays])


def _join(arrays: list[Array]) -> Array:
    kinds = {array.dtype.kind for array in arrays}
    if "O" in kinds or len(kinds - set("iub")) > 1 or (kinds & set("US") and kinds - set("US")):
        arrays = [array.astype(object) for array in arrays]
    return np.concatenate(arrays)


def check_same_lengths(X: Ragged, y: Ragged, names: tuple[str, str] = ("X", "y")) -> None:
    """Raise a ValueError naming the first sequence whose rows and labels differ in number."""
    if np.array_equal(X.offsets, y.offsets):
        return
    first, second = names
    if len(X) != len(y):
        raise ValueError(f"{first} has {len(X)} sequences, but {second} has {len(y)}.")
    differ = np.flatnonzero(X.lengths != y.lengths)
    if len(differ):
        i = differ[0]
        sizes = f"{X.lengths[i]} positions in {first}, but {y.lengths[i]} labels in {second}"
        raise ValueError(f"Sequence {i} has {sizes}.")
