"""Rounds of items: rows with the numbers of their rounds, or one matrix per round."""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import rankdata
from sklearn.utils import _safe_indexing, assert_all_finite, column_or_1d
from sklearn.utils.validation import _num_samples

from skstructured._base.ragged import Ragged, stack_rows
from skstructured._base.validation import LARGEST_GRADE, check_lengths, floats_of
from skstructured.extend._types import Array, Floats, Ints

#: What X may be, for errors.
ITEM_FORMS = (
    "X must be rows of items (N, p) with qid (N,), the round of each row; or a list of matrices "
    "(m, p), one per round; or an array (n, m, p)"
)


def values_of(numbers: Any) -> Any:
    """Values of `Ragged` numbers; others are unchanged."""
    return numbers.values if isinstance(numbers, Ragged) else numbers


class Items(Ragged):
    """Rounds of items, stacked: those of a round stand together, in the order they were given in.

    Rounds are in the order of their first items. Items that are not available are left out: of N
    rows with their rounds `codes`, ``values[offsets[i]:offsets[i + 1]]`` are those of round i, and
    `indices` (N',) are their places among the N. `qid` (n,) are the names of the rounds. Rows are
    `flat` if they came with qid, and not as one matrix per round.
    """

    def __init__(self, values: Any, codes: Ints, qid: Array, flat: bool, available: Any) -> None:
        self.n_rows, self.qid, self.flat = len(codes), qid, flat
        #: Items (n,) of the rounds, available or not.
        self.full_lengths = np.bincount(codes, minlength=len(qid))
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(self.full_lengths)
        places = np.arange(self.n_rows) - np.repeat(ends - self.full_lengths, self.full_lengths)
        if available is not None:
            is_available = self._mask(available)[order]
            order, places = order[is_available], places[is_available]
        lengths = np.bincount(codes[order], minlength=len(qid))
        if not lengths.all():
            raise ValueError(f"Round {qid[lengths == 0].tolist()[0]!r} has no available item.")
        #: Index (N',) of each available item among all of its round.
        self.indices, self.places_in_rounds = order, places
        is_sorted = np.array_equal(order, np.arange(self.n_rows))
        values = values if is_sorted else _safe_indexing(values, order)
        super().__init__(values, np.concatenate([[0], np.cumsum(lengths)]))

    def _mask(self, available: Any) -> Array:
        """`available` as bools (N,); a ValueError unless it is made of True and False."""
        mask = np.ravel(available) if self.flat else self._joined(available, "available")
        if mask.shape != (self.n_rows,) or not np.isin(mask, (0, 1)).all():
            raise ValueError(
                f"available must have one bool per item, ({self.n_rows},), got {mask!r}."
            )
        return mask.astype(bool)

    def stacked(self, numbers: Any, name: str = "y") -> Array:
        """Numbers of items, in the form of X, of those available (N',), round by round."""
        flat = values_of(numbers)
        if self.flat or flat is not numbers:
            flat = column_or_1d(flat, warn=True)
        else:
            flat = self._joined(numbers, name)
        check_lengths(self.n_rows, len(flat))
        return flat[self.indices]

    def _joined(self, numbers: Any, name: str) -> Array:
        """One array per round, one after the other; a ValueError names the one that is wrong."""
        check_lengths(len(self.qid), _num_samples(numbers))
        arrays = [np.asarray(array) for array in numbers]
        for i, (array, length) in enumerate(zip(arrays, self.full_lengths, strict=True)):
            if array.shape != (length,):
                raise ValueError(
                    f"{name} must have one number per item: round {i} has {length} items, but its "
                    f"{name} has shape {array.shape}."
                )
        return np.concatenate(arrays)

    def round_weights(self, sample_weight: Any) -> Any:
        """Weights of rounds (n,); with qid also one per row (N,), the same within a round."""
        if sample_weight is None or not self.flat or _num_samples(sample_weight) != self.n_rows:
            return sample_weight
        flat = column_or_1d(sample_weight, warn=True)[self.indices]
        first = flat[self.offsets[:-1]]
        if len(self) != self.n_rows and (flat != np.repeat(first, self.lengths)).any():
            raise ValueError("sample_weight must be the same for all items of a round.")
        return first

    def unstacked(self, numbers: Array, hidden: Any = np.nan) -> Any:
        """Numbers (N', …) of available items in the form of X: (N, …), or a list of arrays (m, …).

        Items that are not available get `hidden`.
        """
        numbers = np.asarray(numbers)
        shape = (self.n_rows, *numbers.shape[1:])
        full = np.empty(shape, dtype=numbers.dtype)
        if len(self.indices) < self.n_rows:
            full = np.full(shape, hidden, dtype=np.result_type(numbers.dtype, type(hidden)))
        full[self.indices] = numbers
        if self.flat:
            return full
        return np.split(full, np.cumsum(self.full_lengths)[:-1])


def read_items(X: Any, qid: Any = None, available: Any = None) -> Items:
    """`Items` of the user's input; values are not checked."""
    if isinstance(X, Items):
        return X
    if qid is not None:
        return _of_rows(X, qid, available)
    if sparse.issparse(X) or hasattr(X, "columns") or (hasattr(X, "ndim") and X.ndim == 2):
        raise ValueError(
            f"{ITEM_FORMS}: qid is missing. Grid searches pass it after "
            "sklearn.set_config(enable_metadata_routing=True), to estimators with "
            "set_fit_request(qid=True) and set_score_request(qid=True)."
        )
    try:
        stacked = _stacked(X)
    except ValueError as error:  # about sequences
        reason = str(error).replace("sequence", "round").replace("Sequence", "Round")
        raise ValueError(f"{ITEM_FORMS}. {reason}") from None
    rounds = np.arange(len(stacked))
    return Items(stacked.values, np.repeat(rounds, stacked.lengths), rounds, False, available)


def _stacked(X: Any) -> Ragged:
    """`Ragged` of one matrix per round; an array of numbers (n, m, p) is not taken apart."""
    if type(X) is not np.ndarray or X.ndim != 3 or X.dtype.kind not in "biuf" or not X.size:
        return stack_rows(X)
    n, m, p = X.shape
    return Ragged.from_lengths(X.reshape(n * m, p), np.full(n, m))


def _of_rows(X: Any, qid: Any, available: Any) -> Items:
    if np.ndim(X) > 2 if isinstance(X, np.ndarray) else isinstance(X, Ragged):
        raise ValueError(f"{ITEM_FORMS}: qid is only supported for rows of items.")
    round_ids, n = np.ravel(qid), _num_samples(X)
    if len(round_ids) != n or n == 0:
        are_sizes = round_ids.dtype.kind in "iu" and round_ids.sum() == n > 0
        hint = " They look like group sizes: pass np.repeat(np.arange(len(qid)), qid)."
        raise ValueError(
            "qid must have the round of each row of X, at least one: found inconsistent numbers of "
            f"samples: [{n}, {len(round_ids)}].{hint if are_sizes else ''}"
        )
    names, first, inverse = unique_values("qid", round_ids, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    codes = np.argsort(order, kind="stable")[inverse.ravel()]
    X = X if hasattr(X, "shape") else np.asarray(X)
    return Items(X.tocsr() if sparse.issparse(X) else X, codes, names[order], True, available)


def unique_values(name: str, values: Array, **options: Any) -> Any:
    """`np.unique` of values; a ValueError that calls them `name` if some are missing or mixed."""
    try:
        unique = np.unique(values, **options)
    except TypeError as error:
        raise ValueError(
            f"{name} must be all numbers or all strings, without missing values: {error}."
        ) from error
    assert_all_finite(values, input_name=name)
    return unique


def check_numbers(name: str, numbers: Any, lowest: float = -np.inf) -> Floats:
    """`numbers` of items as float64; a ValueError unless finite, and not below `lowest`."""
    values = floats_of(name, numbers)
    wrong = ~(np.isfinite(values) & (values >= lowest))
    if wrong.any():
        least = "" if lowest == -np.inf else f" of at least {lowest:g}"
        raise ValueError(f"{name} must be finite numbers{least}, got {values[wrong][0]!r}.")
    return values


def gains_of(grades: Any) -> Floats:
    """``2^g − 1``, which counts in NDCG; a ValueError for grades it cannot be of."""
    grades = check_numbers("y", grades, 0.0)
    if len(grades) and grades.max() > LARGEST_GRADE:
        raise ValueError(
            f"y must contain grades of at most {LARGEST_GRADE}, because their gains are 2^y − 1; "
            f"got {grades.max():g}. Divide them, or give grades such as 0 to 4."
        )
    return np.exp2(grades) - 1.0


def shares_of(items: Items, y: Any) -> Ragged:
    """Shares ``g/Σg`` of the gains of grades; equal ones if there is no gain."""
    gains, lengths = gains_of(items.stacked(y)), items.lengths
    totals = items.sums(gains)
    gains[np.repeat(totals == 0.0, lengths)] = 1.0
    wholes = np.where(totals > 0.0, totals, lengths)
    return Ragged(gains / np.repeat(wholes, lengths), items.offsets)


def ranks_of(items: Items, y: Any) -> Ragged:
    """Ranks of grades in their rounds, m = best; ties have the mean of their ranks."""
    grades = check_numbers("y", items.stacked(y))
    return Ragged(ranks_within_rounds(grades, items.offsets), items.offsets)


def ranks_within_rounds(numbers: Floats, offsets: Ints, method: Any = "average") -> Floats:
    """Ranks (N,) of numbers in their rounds, 1 the least; ties have the mean of their ranks.

    The method "ordinal" ranks ties in the order they are in.
    """
    rounds = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    among_all = rankdata(numbers, "dense").astype(np.int64)
    return rankdata(rounds * (len(numbers) + 1) + among_all, method) - offsets[rounds]


def chosen_of(items: Items, y: Any) -> Ragged:
    """Vertices of chosen items: y marks one per round with 1, or has its place in each round."""
    y = values_of(y)
    if items.flat or (len(y) and np.ndim(next(iter(y))) > 0):
        return _marked(items, items.stacked(y))
    return _placed(items, y)


def _marked(items: Items, y: Any) -> Ragged:
    """Marks, unchanged; a ValueError unless they are 1 once in each round, and 0 else."""
    marks = check_numbers("y", y)
    wrong = (marks != 0.0) & (marks != 1.0)
    if wrong.any():
        raise ValueError(
            "y must be 1 for the chosen item of each round and 0 for the others, got "
            f"{marks[wrong][0]:g}."
        )
    counts = items.sums(marks)
    if (counts != 1.0).any():
        round_index = int(np.flatnonzero(counts != 1.0)[0])
        raise ValueError(
            "y must be 1 for exactly one available item of each round, the chosen one: round "
            f"{items.qid.tolist()[round_index]!r} has {int(counts[round_index])}."
        )
    return Ragged(marks, items.offsets)


def _placed(items: Items, y: Any) -> Ragged:
    """Marks of the items at the places y (n,) in their rounds, hidden ones counted."""
    places, counts = check_numbers("y", column_or_1d(y, warn=True)), items.full_lengths
    check_lengths(len(items), len(places))
    wrong = (places != np.floor(places)) | (places < 0) | (places >= counts)
    if wrong.any():
        round_index = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            "y must be the place of the chosen item in its round, from 0: round "
            f"{round_index} has {counts[round_index]} items, but y is {places[round_index]:g}."
        )
    marks = (items.places_in_rounds == np.repeat(places, items.lengths)).astype(np.float64)
    hidden = items.sums(marks) == 0.0
    if hidden.any():
        round_index = np.flatnonzero(hidden)[0]
        raise ValueError(f"The chosen item of round {round_index} is not available.")
    return Ragged(marks, items.offsets)
