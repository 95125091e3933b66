"""What a mixture of experts has learned: Θ of each, and how much each of them counts."""

import numpy as np

from skstructured._engine.arrays import Floats
from skstructured._engine.mixing import CLASSES, SCORES, fresh_weights
from skstructured._engine.state import LinearState


class MixtureState(LinearState):
    """Θ of E experts below each other, sums of their averages behind, and the experts' weights.

    Parameters
    ----------
    dim, width : int
        Outputs, and features with the intercept.
    vectors : ndarray of shape (E, length)
        The vectors of the experts' optimisers, one per row, filled up with zeros.
    kind : int
        What is mixed; see `skstructured._engine.mixing`.
    rates : ndarray of shape (R,)
        Rates of sharing.
    averaged : bool
        Whether the averages of the experts are experts too.
    limits : (float, float)
        The least and the largest norm of rows.
    """

    def __init__(
        self,
        dim: int,
        width: int,
        vectors: Floats,
        kind: int,
        rates: Floats,
        averaged: bool,
        limits: tuple[float, float],
    ) -> None:
        experts = len(vectors)
        super().__init__(dim * experts, width, np.zeros(0), (1, 0), averaged, limits=limits)
        self.vectors, self.kind, self.rates = vectors, kind, rates
        self.n_experts = experts * (2 if averaged else 1)
        groups = dim if kind not in (CLASSES, SCORES) else 1
        self.shares = fresh_weights(groups, len(rates), self.n_experts)
        self.totals, self.sums = np.array([0.0, 1.0, 0.0]), np.zeros(self.n_experts)

    @property
    def vector(self) -> Floats:
        """The vector of the first expert, which counts the rounds as those of all others do."""
        return self.vectors[0]

    @vector.setter
    def vector(self, value: Floats) -> None:
        """Vectors are set whole."""
