"""The objective of sequences whose transitions go by features."""

import numpy as np

from skstructured._chains import batch
from skstructured.estimators.crf._objective import ChainObjective
from skstructured.estimators.crf._rows import part_of
from skstructured.sequences._loss import indicators

#: Most numbers in the scores of the transitions of a block.
MOST_SCORES = 1 << 22


class EdgeObjective(ChainObjective):
    """Objective of ``−ln p(y | x)`` where steps from row to row are scored by the features there.

    The score of label j after i, at a row x, is ``T_ij + <U_ij, x>``; the gradient in U_ij is the
    sum over steps of their marginals, less the truth, times x.

    Parameters
    ----------
    X, labels : {ndarray, CSR matrix}, Ragged
        Rows of all positions, and the positions of their labels among the classes.
    """

    def __init__(self, X, labels, share, alpha, layout, n_jobs=None):
        size = max(MOST_SCORES // layout.dim**2, 1)
        super().__init__(X, labels, share, alpha, layout, n_jobs=n_jobs, block=size)
        self._after = [part_of(X, rows.start + 1, rows.stop) for rows in self.rows]

    def chains(self, i, Theta):
        """Scores of the sequences of a block, those of each row and the next among them."""
        unary, offsets, shared = super().chains(i, Theta)
        pair = np.zeros((len(unary), *shared.shape[1:]))
        pair[:-1].reshape(-1, shared.size)[:] = self._after[i] @ self.layout.step_coef(Theta)
        pair[:-1] += shared
        return unary, offsets, pair

    def _steps(self, i, chains, out):
        """The parts of the loss's gradient: log Z, and that of transitions (k + p k, k)."""
        truth = indicators(self.labels_of(i), self.layout.dim).pair
        _, log_z, gaps = batch.marginals(*chains, pairs="each", out=out)
        gaps -= truth
        gaps *= self._spread[self.rows[i], None, None]
        flat = gaps[:-1].reshape(-1, self.layout.dim**2)
        features = self._after[i].T @ flat
        return log_z, np.concatenate([gaps.sum(axis=0), features.reshape(-1, self.layout.dim)])
