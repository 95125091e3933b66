"""The state of a linear learner of items."""

import numpy as np

from skstructured._engine.mixing import SCORES, fresh_weights
from skstructured._engine.state import Learned
from skstructured.extend._types import Floats


class ItemState(Learned):
    """Weights of E experts, a row per feature, and how much each of them counts.

    Parameters
    ----------
    width : int
        Features, the intercept included.
    vectors : ndarray of shape (E, length)
        The vectors of the experts' optimisers, one per row, filled up with zeros.
    rates : ndarray of shape (R,)
        Rates of sharing.
    summed : bool
        Whether there are averages: their sums are columns behind.
    mixed : bool
        Whether averages are experts too.
    """

    #: Scores are mixed.
    kind = SCORES

    def __init__(
        self, width: int, vectors: Floats, rates: Floats, summed: bool, mixed: bool
    ) -> None:
        columns = len(vectors) * (2 if summed else 1)
        self.n_experts = columns if mixed else len(vectors)
        self.Theta = np.zeros((width, columns))
        self.vectors, self.rates, self.summed = vectors, rates, summed
        self.shares = fresh_weights(1, len(rates), self.n_experts)
        self.totals, self.sums = np.array([0.0, 1.0, 0.0]), np.zeros(self.n_experts)
        self.numbers, self.slot = np.zeros(3), np.full(width, -1, dtype=np.int64)

    @property
    def vector(self) -> Floats:
        """The vector of the first expert, which counts the rounds as those of all others do."""
        return self.vectors[0]
