"""Outputs as max-margin models see them: vertices φ(y), and the cost <φ(y'), c(y)> + a(y)."""

import numpy as np

from skstructured.margin._chain_outputs import SequenceOutputs
from skstructured.margin._costs import check_costs
from skstructured.margin._oracles import (
    GAME,
    HAMMING,
    LINEAR_CLASS,
    LINEAR_LABELS,
    LINEAR_MATCHING,
    MATCHING,
    ORDINAL,
    ZERO_ONE,
)
from skstructured.margin._solver import GramAscent, Problem, RowAscent
from skstructured.spaces import Birkhoff, Hypercube, LabelSequence, OrdinalChain, Simplex


class RowOutputs:
    """Outputs of rows, with scores (dim,) each."""

    def ascent(self, learner, packed, inputs, alpha):
        """The solver of a dual learner."""
        C, codes, constant = self.costs(packed)
        kind = self.linear
        if learner.is_max_min:
            kind, constant = self.max_min, np.full(len(constant), self.max_min_constant)
        problem = Problem(
            kind, self.A, C, codes, constant, self.vertices(packed), inputs.share, alpha
        ).with_slack(0.1 * learner.tol)
        return RowAscent(problem, inputs) if inputs.K is None else GramAscent(problem, inputs)


class ClassOutputs(RowOutputs):
    """Classes with one score each, φ(y) = e_y, and costs A[predicted, true].

    Parameters
    ----------
    space : Simplex or OrdinalChain
        Fitted; the classes of the second one have a score each here, not a score less.
    cost_matrix : array-like of shape (k, k) or None
        None is 0–1, or |i − j| for ordered classes.
    """

    def __init__(self, space, cost_matrix=None):
        k = len(space.classes_)
        steps = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(np.float64)
        self.space, self.dim, self.max_min_constant = space, k, 0.0
        ordered = isinstance(space, OrdinalChain)
        default = steps if ordered else np.ceil(steps / k)
        self.A = default if cost_matrix is None else check_costs(cost_matrix, k)
        first = self.A[1, 0]
        same = (self.A == first * np.minimum(steps, 1.0)).all()
        straight = (self.A == first * steps).all()
        general = ORDINAL if straight else GAME
        self.max_min = ZERO_ONE if same else general
        self.linear = LINEAR_CLASS

    def vertices(self, packed):
        """φ(y), (n, k)."""
        return np.eye(self.dim)[packed]

    def costs(self, packed):
        """The costs c(y) that occur, which of them is that of a row, and a(y)."""
        return np.ascontiguousarray(self.A.T), packed.astype(np.int64), np.zeros(len(packed))

    def labels(self, packed):
        """Outputs as users have them."""
        return self.space.classes_[packed]

    def decode(self, theta):
        """The outputs of the largest scores."""
        return self.space.classes_[np.argmax(theta, axis=1)]

    def loss(self, predicted, y):
        """Costs divided by the largest one, of every row."""
        first, second = self.space.pack(predicted), self.space.pack(y)
        return self.A[first, second] / self.A.max()


class SpaceOutputs(RowOutputs):
    """Outputs of a space in its own embedding, with its own target loss."""

    def __init__(self, space, cost):
        self.space, self.dim = space, space.dim_
        self.A = np.array([[cost, 0.0]])

    def vertices(self, packed):
        """φ(y), (n, dim)."""
        return self.space.unpack(packed)

    def costs(self, packed):
        """As for classes, with one c(y) a row."""
        C, constant = self._costs(self.space.unpack(packed))
        return np.ascontiguousarray(C), np.arange(len(C)), constant

    def labels(self, packed):
        """Outputs as users have them."""
        return self.space.decode(self.space.unpack(packed))

    def decode(self, theta):
        """The outputs of the largest scores."""
        return self.space.decode(self.space.argmax(theta))

    def loss(self, predicted, y):
        """The space's target loss of every row."""
        return self.space.target_loss(predicted, y)


class LabelSetOutputs(SpaceOutputs):
    """Label sets: L(y', y) = <y', 1 − 2y>/d + <y, 1>/d."""

    max_min, linear, max_min_constant = HAMMING, LINEAR_LABELS, 0.0

    def __init__(self, space):
        super().__init__(space, 1.0 / space.dim_)

    def _costs(self, V):
        return (1.0 - 2.0 * V) / self.dim, V.mean(axis=1)


class MatchingOutputs(SpaceOutputs):
    """Matchings: L(P', P) = 1 − <P', P>/m."""

    max_min, linear, max_min_constant = MATCHING, LINEAR_MATCHING, 1.0

    def __init__(self, space):
        super().__init__(space, 1.0 / space.n_items_)

    def _costs(self, V):
        return -V / self.space.n_items_, np.ones(len(V))


def outputs_of(space, cost_matrix):
    """The outputs of a fitted space; a ValueError names those that have no oracle here."""
    if isinstance(space, (Simplex, OrdinalChain)):
        return ClassOutputs(space, cost_matrix)
    if isinstance(space, LabelSequence):
        return SequenceOutputs(space, cost_matrix)
    if cost_matrix is not None:
        name = type(space).__name__
        raise ValueError(f"cost_matrix is for classes; {name} has its own loss: leave it None.")
    if isinstance(space, Hypercube):
        return LabelSetOutputs(space)
    return MatchingOutputs(space)


def check_space(space):
    """A ValueError unless max-margin models know oracles for the space."""
    if not isinstance(space, (Simplex, OrdinalChain, Hypercube, Birkhoff, LabelSequence)):
        raise ValueError(
            f"space={type(space).__name__} has no max-min oracle here; there are those of "
            '"simplex", "ordinal", "hypercube", "birkhoff" and "sequence".'
        )
    return space
