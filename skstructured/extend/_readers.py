"""How learners read X and y: one row per output, or sequences of rows and labels."""

from typing import Any

from skstructured._base.ragged import stack_labels, stack_rows
from skstructured._base.validation import check_features, read_rows
from skstructured._engine.rows import Rows
from skstructured.extend._types import Features, Outputs
from skstructured.extend.learner import Batch


class RowReader:
    """One row of X per output."""

    #: Whether outputs are sequences, of any number of rows each.
    has_sequences = False

    def read(self, learner: Any, X: Features, reset: bool = False) -> Batch:
        """The `Batch` of X without outputs; values are not yet checked to be finite."""
        return Batch(read_rows(learner, X, reset=reset), None)

    def stack(self, y: Outputs) -> Any:
        """Outputs in the form that spaces read fastest."""
        return y

    def require_rows(self, message: str) -> None:
        """Raise a ValueError with this message unless outputs have one row each."""


class SequenceReader(RowReader):
    """For X a list of matrices or `Ragged` sequences, for y a list of label arrays."""

    has_sequences = True

    def read(self, learner: Any, X: Features, reset: bool = False) -> Batch:
        """The `Batch` of stacked sequences; ValueErrors name the sequence."""
        return stacked_batch(learner, stack_rows(X), reset)

    def stack(self, y: Outputs) -> Any:
        """Labels, `Ragged`."""
        return stack_labels(y)

    def require_rows(self, message: str) -> None:
        """Raise the ValueError."""
        raise ValueError(message)


def stacked_batch(learner: Any, stacked: Any, reset: bool = False) -> Batch:
    """The `Batch` of rounds of several rows: `Ragged` sequences, or items."""
    values = check_features(learner, stacked.values, reset)
    return Batch(Rows.from_array(values), None, None, stacked.offsets)
