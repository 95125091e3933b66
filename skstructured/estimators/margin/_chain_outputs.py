"""Label sequences as max-margin models see them."""

import numpy as np

from skstructured._base.ragged import Ragged, check_same_lengths
from skstructured._chains import batch
from skstructured.estimators.margin._affine import lipschitz_constant
from skstructured.estimators.margin._chain_blocks import ChainBlocks
from skstructured.estimators.margin._mirror_prox import ChainMirrorProx
from skstructured.spaces._costs import check_costs
from skstructured.spaces.sequence import mean_of


class SequenceOutputs:
    """Label sequences with mean costs A[predicted, true] of their positions.

    Parameters
    ----------
    space : LabelSequence
        Fitted.
    cost_matrix : array-like of shape (k, k) or None
        None takes those of the space.
    """

    def __init__(self, space, cost_matrix=None):
        self.space, self.dim = space, space.dim_
        self.A = np.ascontiguousarray(space.costs_)
        if cost_matrix is not None:
            if space.cost_matrix is not None:
                raise ValueError(
                    f"cost_matrix was given twice: it is a parameter of {space!r} too."
                )
            self.A = check_costs(cost_matrix, self.dim)

    def unit(self, packed, share):
        """The least cost there is of a position, as a share of a sequence of the mean length."""
        return self.A[self.A > 0.0].min() / (share @ packed.lengths)

    def blocks(self, learner, packed, inputs, alpha):
        """The blocks of a dual learner."""
        codes, slack = packed.values.astype(np.int64), 0.01 * learner.tol
        given = (self.A, learner.is_max_min, slack, learner.cache_size)
        return ChainBlocks(inputs, alpha, codes, *given)

    def mirror_prox(self, blocks, n_iter, warm):
        """What moves the blocks of the max-min network by the oracle of the paper."""
        return ChainMirrorProx(blocks, self.A, n_iter, warm)

    def reach(self, inputs, counted):
        """The largest Σ (‖Φ(x_m)‖ + 1) + 1 over positions, first and last labels and steps; 2."""
        sums = np.add.reduceat(np.sqrt(inputs.squares()) + 1.0, inputs.offsets[:-1])
        return float(np.max(sums[counted])) + 1.0, 2.0

    def comparison(self):
        """C of a position, and its largest cost."""
        return lipschitz_constant(self.A), self.A.max()

    def position_costs(self, packed):
        """Costs c(y) of positions, (N, k), as parts of those of sequences."""
        lengths = packed.lengths
        return self.A.T[packed.values] / np.repeat(lengths, lengths)[:, None]

    def labels(self, packed):
        """Outputs as users have them."""
        return self.space.named(packed)

    def decode(self, theta):
        """The label sequences of the largest scores."""
        return self.space.named(Ragged(batch.viterbi(*theta.arrays)[0], theta.offsets))

    def losses(self, predicted, y):
        """Costs of positions as shares of the largest, and the offsets of sequences."""
        first, second = self.space.pack(predicted), self.space.pack(y)
        check_same_lengths(first, second)
        return self.A[first.values, second.values] / self.A.max(), second.offsets

    def loss(self, predicted, y):
        """Mean costs of sequences, (n,)."""
        return mean_of(*self.losses(predicted, y))
