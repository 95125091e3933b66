"""Rounds as learners read them, what they lose, and what comparators are measured by."""

from typing import Any, NamedTuple

import numpy as np

from skstructured._base.ragged import Ragged, check_same_lengths
from skstructured._base.validation import check_lengths
from skstructured.extend._types import Floats, Ints, Loss

__all__ = ["Batch", "Comparison", "ExpertComparison", "Losses"]


class Batch(NamedTuple):
    """Rounds as a learner reads them: their rows and outputs, checked.

    Attributes
    ----------
    rows : Rows, or any object
        The rows of X, one round each; of label sequences, the rows of all positions. Learners of
        other packages may have anything here that they read, such as an array (n, p).
    packed : sequence of length n
        Outputs in the form that the learner reads; for learners over an output space what its
        ``pack`` gives.
    weight : ndarray of shape (n,) or None, default=None
        Weights of the rounds, for learners that have them.
    offsets : ndarray of shape (n + 1,) or None, default=None
        Round i has the rows ``offsets[i]:offsets[i + 1]``; None for one row per round.
    """

    rows: Any
    packed: Any
    weight: Floats | None = None
    offsets: Ints | None = None

    @property
    def X(self) -> Any:
        """Features: an array or a CSR matrix with one row per round, or `Ragged` sequences."""
        matrix = getattr(self.rows, "matrix", self.rows)
        return matrix if self.offsets is None else Ragged(matrix, self.offsets)

    @property
    def n_rounds(self) -> int:
        """How many rounds."""
        return len(self.packed)

    def take(self, which: Ints) -> "Batch":
        """The rounds `which`, in their order."""
        X = self.X[which]
        offsets = None if self.offsets is None else X.offsets
        X = X if offsets is None else X.values
        rows = type(self.rows).from_array(X) if hasattr(self.rows, "from_array") else X
        packed = None if self.packed is None else self.packed[which]
        weight = None if self.weight is None else self.weight[which]
        return Batch(rows, packed, weight, offsets)

    def check_lengths(self, packed: Any) -> None:
        """A ValueError unless there is one output per round, and one label per position."""
        if self.offsets is None:
            check_lengths(self.rows.n_rows, len(packed))
        else:
            check_same_lengths(self.X, packed)

    @property
    def weights(self) -> Floats:
        """Weights (n,), ones where there are none."""
        return np.ones(self.n_rounds) if self.weight is None else self.weight


class Losses(NamedTuple):
    """Losses of m rounds.

    Attributes
    ----------
    target : ndarray of shape (m,)
        Target loss, in [0, 1], of the output that was played.
    expected : ndarray of shape (m,)
        Its exact expectation over the learner's draw; the same, where it does not draw.
    surrogate : ndarray of shape (m,)
        The learner's surrogate loss; NaN where it has none.
    """

    target: Floats
    expected: Floats
    surrogate: Floats


class Comparison(NamedTuple):
    """What a fixed linear comparator is measured by over a run.

    Attributes
    ----------
    loss : FenchelYoung or GapSurrogate
        The surrogate loss, scale included.
    X : {ndarray, sparse matrix} of shape (n, p)
        Features.
    V : ndarray of shape (n, dim)
        True outputs, as vertices.
    intercept : bool
        Whether a comparator has an intercept, as its last column.
    """

    loss: Loss
    X: Any
    V: Floats
    intercept: bool


class ExpertComparison(NamedTuple):
    """What a fixed expert, or a fixed mixture of experts, is measured by over a run.

    Attributes
    ----------
    losses : ndarray of shape (n, d)
        Losses of the experts, one round per row.
    """

    losses: Floats
