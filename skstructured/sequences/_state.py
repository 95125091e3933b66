"""The state of a linear learner of label sequences."""

import numpy as np

from skstructured._engine.state import Learned


class SequenceState(Learned):
    """Θ with a row per feature and a column per label, A like it, and numbers of the optimiser.

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
        How many matrices of the shape of the weights, and how many numbers per feature, Θ has.
    """

    def __init__(self, width, k, vector, summed, blocks=(1, 0)):
        features = width + 2 + k
        self.Theta = np.zeros((features, blocks[0] * k + blocks[1]))
        self.A = np.zeros((features if summed else 0, k))
        self.vector = vector
        self.numbers = np.zeros(3)
        self.slot = np.full(features, -1, dtype=np.int64)
