"""Weights of a linear learner of label sequences, and scores by them."""

import numpy as np

from skstructured._learners.gates import settled
from skstructured._learners.routing import routed
from skstructured.sequences._loss import Chains
from skstructured.sequences._predictions import over_sequences

for_sequences = routed(lambda: SequenceWeights, over_sequences)


class SequenceWeights:
    """What there is of a `SequenceState`, moved by `optimizer_` and transformed by `_scale`."""

    @settled
    def _matrix(self, averaged):
        """All weights, (k, p + intercept + 2 + k), in units of X."""
        state, optimizer = self._fitted_state("weights are"), self.optimizer_
        k = self.space_.dim_
        if averaged:
            W = optimizer.average_weights(state.Theta.T, state.A.T, state.vector, k)
        else:
            W = optimizer.weights(state.Theta.T, state.vector, k)
        width = self.n_features_in_ + self._intercept
        return np.hstack([self._scale.fold(W[:, :width].copy()), W[:, width:]])

    def _chains_of(self, W, X):
        """Scores of sequences, `Ragged`, as `Chains`."""
        p, k = self.n_features_in_, self.space_.dim_
        unary = np.asarray(X.values @ W[:, :p].T)
        if self._intercept:
            unary = unary + W[:, p]
        unary[X.offsets[:-1]] += W[:, -k - 2]
        unary[X.offsets[1:] - 1] += W[:, -k - 1]
        return Chains(unary, X.offsets, np.ascontiguousarray(W[:, -k:].T)[None])

    @settled
    @for_sequences
    def _thetas(self, X):
        return self._chains_of(self._matrix(bool(self.average)), X)

    @for_sequences
    def _last_weights(self):
        return self._matrix(False)

    @for_sequences
    def _average_weights(self):
        if not self._averaged:
            raise AttributeError("average_weights_ is set by fit or partial_fit with average.")
        return self._matrix(True)

    @property
    def intercept_(self):
        """Intercepts of shape (dim,); zeros where it was fitted without."""
        if not over_sequences(self):
            return super().intercept_
        W, p = self._weights(), self.n_features_in_
        return W[:, p].copy() if self._intercept else np.zeros(len(W))

    def _of_sequences(self):
        self._fitted_state("weights are")
        if not over_sequences(self):
            raise AttributeError("transitions_, start_ and end_ are for space='sequence'.")
        return self._weights()

    @property
    def transitions_(self):
        """Scores (k, k) of going from a label to the next; for space="sequence"."""
        W = self._of_sequences()
        return W[:, -len(W) :].T.copy()

    @property
    def start_(self):
        """Scores (k,) of the first label; for space="sequence"."""
        W = self._of_sequences()
        return W[:, -len(W) - 2].copy()

    @property
    def end_(self):
        """Scores (k,) of the last label; for space="sequence"."""
        W = self._of_sequences()
        return W[:, -len(W) - 1].copy()
