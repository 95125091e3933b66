"""How learners read a new X: rows, or label sequences where their space is one."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_is_fitted

from skstructured._base.ragged import around_empty, has_empty, stack_rows
from skstructured._base.rows_in_range import check_finite, first_bad, refuse_row
from skstructured._base.validation import check_features, read_rows
from skstructured._engine.rows import Rows
from skstructured.extend._types import Features
from skstructured.extend.learner import Batch
from skstructured.spaces import LabelSequence


def over_sequences(learner: Any, fresh: bool = False) -> bool:
    """Whether the outputs of a learner are label sequences, as fitted; `fresh` by its parameter."""
    known = {} if fresh else vars(learner)
    space = known["space_"] if "space_" in known else getattr(learner, "space", None)
    return isinstance(space, LabelSequence) or (isinstance(space, str) and space == "sequence")


def answers_empty(method: Callable[..., Any]) -> Callable[..., Any]:
    """Have a prediction of label sequences, one per sequence, answer empty ones by empty ones."""

    @functools.wraps(method)
    def answered(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not (has_empty(X) and over_sequences(self)):
            return method(self, X, *args, **kwargs)
        check_is_fitted(self)
        position = np.zeros((1, self.n_features_in_))
        return around_empty(X, lambda rest: method(self, rest, *args, **kwargs), position)

    return answered


def read_batch(learner: Any, X: Features, reset: bool = False) -> Batch:
    """The `Batch` of a new X, without outputs; values are not yet checked to be finite.

    Of label sequences, a list of matrices or `Ragged`; ValueErrors name the sequence.
    """
    if not over_sequences(learner, fresh=reset):
        return Batch(read_rows(learner, X, reset=reset), None)
    stacked = stack_rows(X)
    values = check_features(learner, stacked.values, reset)
    values = values if values.dtype == np.float64 else values.astype(np.float64)
    learner._dtype = np.dtype(np.float64)
    return Batch(Rows.from_array(values), None, None, stacked.offsets)


def check_batch(learner: Any, batch: Batch, fresh: bool = False) -> None:
    """NaN, inf and norms out of range raise a ValueError that names the row, or the position."""
    if batch.offsets is None:
        return check_finite(learner, batch.rows, fresh)
    bad, rows = first_bad(learner, batch.rows, True, fresh)
    if bad < 0:
        return None
    offsets, row = batch.offsets, rows.matrix[bad : bad + 1]
    i = int(np.searchsorted(offsets, bad, side="right")) - 1
    try:
        assert_all_finite(row, input_name="X")
        refuse_row(learner, row, 0, fresh)
    except ValueError as error:
        what = str(error).splitlines()[0].replace("Row 0 of X", "This row")
        raise ValueError(f"sequence {i} of X, position {bad - offsets[i]}: {what}") from None
