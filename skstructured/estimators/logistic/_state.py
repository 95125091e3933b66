"""What the second-order learners of logistic regression have learned: A, its inverse, and G."""

import numpy as np

from skstructured._engine.state import Learned, at_once
from skstructured.estimators.logistic._blocks import add_waiting, set_inverse, times, unit_blocks
from skstructured.estimators.logistic._cells import MANY
from skstructured.estimators.logistic._heavy_rows import RoundLimit
from skstructured.estimators.logistic._many import many_logits, many_rounds
from skstructured.estimators.logistic._rounds import (
    COUNT,
    POTENTIAL,
    RESIDUAL,
    WAITING,
    WITHIN,
    folklore_logits,
    folklore_rounds,
    room,
)

#: Rounds between two looks at how far P is from the inverse of A, and how far is too far.
LOOK, DRIFT = 1024, 1e-10


def class_basis(K):
    """Orthonormal directions (K − 1, K) of the classes that sum to 0 (Helmert's)."""
    Q = np.tril(np.ones((K - 1, K)))
    below = np.arange(1.0, K)
    Q[np.arange(K - 1), np.arange(1, K)] = -below
    return Q / np.sqrt(below * (below + 1.0))[:, None]


class FullMatrix(Learned):
    """A over all weights, and P = A⁻¹ by Woodbury's formula, exact up to `DRIFT`.

    Parameters
    ----------
    K, width : int
        Classes, and features with the intercept.
    lam : float
        λ: A starts at λI.
    reach : ndarray of shape (3,)
        2B, ln(K − 1) and R (0: the norm of the row), of which κ is made.
    """

    structure, exact = "full", True

    def __init__(self, K, width, lam, reach):
        self.Q, self.lam, self.reach = self._basis(K), lam, reach
        r = len(self.Q)
        self.G = np.zeros((r, width))
        self.A, self.P = unit_blocks(r, width, lam), unit_blocks(r, width, 1.0 / lam)
        waiting = WITHIN if self._adds_within else WAITING
        self._waiting = (np.zeros((waiting, width)), np.zeros((len(self.A), waiting)))
        self.numbers, self.learned, self.refactored = np.zeros(3), 0, 0

    def _basis(self, K):
        """The class directions that A is over."""
        return class_basis(K)

    def learn(self, X, truth, weight):
        """Play and learn rows; their logits (n, K). P is looked at after every `LOOK` rounds."""
        logits, start = np.empty(truth.shape), 0
        while start < len(X):
            part = slice(start, min(len(X), start + self.room()))
            at_once(*self.calls(X[part], truth[part], weight[part], logits[part]))
            start = part.stop
        self.tidy()
        return logits

    def calls(self, X, truth, weight, logits):
        """The calls that learn rows, `room` at most, and put their logits into an array."""
        count = (vars(self).update, {"learned": self.learned + len(X)})
        return self._run(X, truth, weight, logits), count

    def room(self):
        """How many rows may be learned by one call."""
        self.tidy()
        return min(LOOK - self.learned % LOOK, self._room)

    def tidy(self):
        """Add rows that wait where no other finds room, and look at P."""
        if self._room == 0:
            self.add_waiting()
        if self.learned and self.learned % LOOK == 0 and not self.drift() <= DRIFT:
            self.refactor()

    def logits(self, X):
        """Logits (n, K) of rows; nothing is learned."""
        logits = np.empty((len(X), self.Q.shape[1]))
        if type(self.P) is np.ndarray and self.P.flags.writeable:
            play = self._rounds(X, logits, np.ones(len(X)), logits, False)
            at_once(play)  # which is compiled already
        else:
            play = many_logits if self._many else folklore_logits
            play(X, self._shift, self.P, self.G, self.Q, logits)
        return logits

    @property
    def _many(self):
        """Whether rounds are those of many classes, which have kernels of their own."""
        return self.Q.shape[1] >= MANY

    @property
    def _adds_within(self):
        """Whether the loop over rows adds those that wait to A."""
        return self._many

    @property
    def _room(self):
        """Rows that may be learned before those that wait must be added."""
        left = len(self._waiting[0]) - int(self.numbers[COUNT])
        return LOOK if self._adds_within else left

    @property
    def _shift(self):
        return 1.0 / (self.lam * self.Q.shape[1])

    def _run(self, X, truth, weight, logits):
        return self._rounds(X, truth, weight, logits, True)

    def _rounds(self, X, truth, weight, logits, learn):
        learned = (self.P, self.G, self.Q, *self._waiting, self.numbers, logits, learn)
        given = (X, truth, weight, self.reach, self._shift)
        if self._many:
            return many_rounds, *given, self.A, *learned
        return folklore_rounds, *given, *learned, *room(*self.Q.shape, X.shape[1])

    def add_waiting(self):
        """Add the rows that wait to A."""
        add = (add_waiting, self.A, *self._waiting, int(self.numbers[COUNT]))
        at_once(add, (self.numbers.__setitem__, COUNT, 0.0))

    def drift(self):
        """‖P A v − v‖ for a fixed vector v of length 1."""
        self.add_waiting()
        probe = np.random.RandomState(0).standard_normal(self.G.shape)
        probe /= np.linalg.norm(probe)
        return float(np.linalg.norm(times(self.P, times(self.A, probe)) - probe))

    def refactor(self):
        """Invert A anew."""
        self.add_waiting()
        set_inverse(self.A, self.P, len(self.G))
        self.refactored += 1

    @property
    def limits(self):
        """How large rounds may be, a list of `RoundLimit`."""
        return [RoundLimit(self.lam, 1, f"lam={self.lam:g}")]

    @property
    def products(self):
        """About how many products a round takes."""
        return self.A.size * (len(self.G) + 2)

    @property
    def potential(self):
        """Σ ¼ w² tr(A⁻¹ H) over the rounds: what the theorem adds to λ‖U‖²."""
        return float(self.numbers[POTENTIAL])

    @property
    def residual(self):
        """The largest residual of an equation for logits."""
        return float(self.numbers[RESIDUAL])
