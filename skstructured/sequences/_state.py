"""What a linear learner of sequences has learned, and sequences as it reads them."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import assert_all_finite

from skstructured._base.ragged import Ragged, stack_rows
from skstructured._base.validation import check_features, norms_of, refuse_row
from skstructured._engine.rows import Rows
from skstructured._engine.state import Learned


class SequenceRows(NamedTuple):
    """Checked sequences: `Ragged`, and the `Rows` of all positions."""

    X: Ragged
    rows: Rows

    @property
    def n_rows(self):
        """How many sequences."""
        return len(self.X)


def read_sequences(estimator, X, reset=False):
    """`SequenceRows` of a list of matrices, or of `Ragged`; ValueErrors name the sequence."""
    stacked = stack_rows(X)
    values = check_features(estimator, stacked.values, reset)
    values = values if values.dtype == np.float64 else values.astype(np.float64)
    estimator._dtype = np.dtype(np.float64)
    return SequenceRows(Ragged(values, stacked.offsets), Rows.from_array(values))


def check_finite_sequences(estimator, sequences, fresh=False):
    """NaN, inf and norms out of range raise a ValueError that names sequence and position."""
    bad = sequences.rows.first_bad(True, *norms_of(estimator, fresh))
    if bad < 0:
        return
    offsets = sequences.X.offsets
    i = int(np.searchsorted(offsets, bad, side="right")) - 1
    row = sequences.X.values[bad : bad + 1]
    try:
        assert_all_finite(row, input_name="X")
        refuse_row(estimator, row, 0, fresh)
    except ValueError as error:
        what = str(error).splitlines()[0].replace("Row 0 of X", "This row")
        raise ValueError(f"sequence {i} of X, position {bad - offsets[i]}: {what}") from None


class SequenceState(Learned):
    """Θ with a row a feature and a column a label, A like it, and numbers that kernels move it by.

    Parameters
    ----------
    width, k : int
        Features of a position, the intercept included, and labels.
    vector : ndarray
        The optimiser's state.
    summed : bool
        Whether there is an A: for averages, or for the weights of optimisers that keep averages by
        themselves.
    blocks : tuple of (int, int), default=(1, 0)
        How many matrices of the shape of the weights, and how many numbers a feature, Θ is.
    """

    def __init__(self, width, k, vector, summed, blocks=(1, 0)):
        features = width + 2 + k
        self.Theta = np.zeros((features, blocks[0] * k + blocks[1]))
        self.A = np.zeros((features if summed else 0, k))
        self.vector = vector
        self.numbers = np.zeros(3)
        self.slot = np.full(features, -1, dtype=np.int64)

    def copy(self):
        """Another state that moves by itself."""
        copy = object.__new__(type(self))
        vars(copy).update({name: value.copy() for name, value in vars(self).items()})
        return copy
