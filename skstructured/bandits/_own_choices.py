"""Whether a bandit has learned from its own choices alone, as its bounds assume."""

from numbers import Integral

import numpy as np

BATCHED = "The bounds are about learning after every round, not batches of rounds."
FOREIGN = (
    "The bounds are about the learner's own choices, each learned at once: an update's row, action "
    "and propensity were not the one that `choose` had just played (with its own generator)."
)
LEFT_OUT = (
    "The bounds are about all of the learner's choices: a choice was left without its update when "
    "the next round was played."
)


def fingerprint(X, codes, propensities):
    """Identifies a round: the row's non-zeros, the action and its propensity."""
    sparse = hasattr(X, "indptr")
    columns, values = (X.indices, X.data) if sparse else (np.arange(X.shape[1]), X[0])
    kept = values != 0.0
    row = columns[kept].astype(np.int64).tobytes(), values[kept].tobytes()
    return *row, int(codes[0]), float(propensities[0])


class OwnChoices:
    """Keeps the choice that waits for its update, and what voids bounds on own choices.

    The proofs take every action as drawn with the weights it is learned with, whatever happened
    before: so each must be a single row, chosen and learned before the next is played. None may be
    left out: dropping good choices would leave only mistakes.
    """

    def _forget_choices(self):
        self._awaited, self._uncovered = None, None

    def _await(self, choice):
        """Wait for the update of `choice`, or for none."""
        if self._awaited is not None:
            self._uncovered = self._uncovered or LEFT_OUT
        self._awaited = choice

    def _propensities_of(self, X, codes, P, random_state):
        """Propensities of a choice just drawn from the rows of P; its update is waited for."""
        propensities = P[np.arange(len(P)), codes]
        seeded = isinstance(random_state, Integral)  # it draws the same number again and again
        single = len(P) == 1 and not seeded
        self._await(fingerprint(X, codes, propensities) if single else "not a covered choice")
        return propensities

    def _account(self, X, codes, propensities):
        """Note, before a round is learned, whether it is the choice waited for."""
        choice, self._awaited = self._awaited, None
        if X.shape[0] > 1:
            self._uncovered = self._uncovered or BATCHED
        elif choice != fingerprint(X, codes, propensities):
            self._uncovered = self._uncovered or FOREIGN
