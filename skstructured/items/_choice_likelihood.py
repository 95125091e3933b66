"""The likelihood of choices: its value, gradient and second derivatives in the weights."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skstructured.extend._types import Floats, Ints, Matrix

#: Numbers of a block of rows that is centred at a time.
BLOCK = 1 << 21


def probabilities(theta: Floats, offsets: Ints) -> tuple[Floats, Floats]:
    """Softmax (N,) of the scores of each round, and the logarithms (N,) of the same."""
    starts, lengths = offsets[:-1], np.diff(offsets)
    shifted = theta - np.repeat(np.maximum.reduceat(theta, starts), lengths)
    powers = np.exp(shifted)
    sums = np.add.reduceat(powers, starts)
    return powers / np.repeat(sums, lengths), shifted - np.repeat(np.log(sums), lengths)


class Point(NamedTuple):
    """Weights (p,), the objective and its gradient there, scores and probabilities (N,)."""

    weights: Floats
    value: float
    gradient: Floats
    theta: Floats
    proba: Floats


class Likelihood:
    """``Σ_t c_t (−ln p_w(chosen item of t)) + ½ Σ_j r_j w_j²`` with c that sums to 1.

    Parameters
    ----------
    Z : {ndarray, CSR matrix} of shape (N, p)
        Items, round by round.
    offsets : ndarray of shape (n + 1,)
        Round t has the rows ``offsets[t]:offsets[t + 1]``.
    chosen : ndarray of shape (n,)
        Rows of the chosen items.
    share : ndarray of shape (n,)
        c.
    ridge : ndarray of shape (p,)
        r.
    """

    def __init__(
        self, Z: Matrix, offsets: Ints, chosen: Ints, share: Floats, ridge: Floats
    ) -> None:
        self.Z, self.offsets, self.chosen, self.share = Z, offsets, chosen, share
        self.ridge, self.lengths = ridge, np.diff(offsets)
        self.spread = np.repeat(share, self.lengths)
        most = max(BLOCK // max(Z.shape[1], 1), 1)
        last = np.unique(np.searchsorted(offsets, np.arange(most, offsets[-1], most), "right") - 1)
        self._cuts = np.unique(np.concatenate([[0], last, [len(share)]]))

    def point(self, weights: Floats) -> Point:
        """The objective at some weights."""
        theta = self.Z @ weights
        proba, logs = probabilities(theta, self.offsets)
        value = -self.share @ logs[self.chosen] + 0.5 * self.ridge @ weights**2
        gaps = self.spread * proba
        gaps[self.chosen] -= self.share
        gradient = self.Z.T @ gaps + self.ridge * weights
        return Point(weights, float(value), gradient, theta, proba)

    def mean_log(self, point: Point) -> float:
        """``Σ_t c_t ln p(chosen item of t)``, without the penalty."""
        logs = probabilities(point.theta, self.offsets)[1]
        return float(self.share @ logs[self.chosen])

    def means(self, proba: Floats) -> Matrix:
        """Mean items (n, p) of the rounds, CSR where Z is."""
        return _rows_of(proba, self.offsets) @ self.Z

    def hessian(self, proba: Floats) -> Floats:
        """Second derivatives (p, p): ``Σ_t c_t Z_tᵀ(diag(p_t) − p_t p_tᵀ) Z_t + diag(r)``."""
        total = np.diag(self.ridge)
        if sparse.issparse(self.Z):
            means: Any = self.means(proba)
            total += _gram(self.Z, self.spread * proba) - _gram(means, self.share)
            return total
        for rows, centred in self._centred(proba):
            total += centred.T @ (centred * (self.spread * proba)[rows, None])
        return total

    def product(self, proba: Floats, direction: Floats) -> Floats:
        """The Hessian times a direction (p,)."""
        slopes = self.Z @ direction
        means = np.repeat(np.add.reduceat(proba * slopes, self.offsets[:-1]), self.lengths)
        weighted = self.spread * proba * (slopes - means)
        return self.Z.T @ weighted + self.ridge * direction

    def largest_range(self, direction: Floats) -> float:
        """The largest difference of two scores of a round along a direction."""
        slopes, starts = self.Z @ direction, self.offsets[:-1]
        ranges = np.maximum.reduceat(slopes, starts) - np.minimum.reduceat(slopes, starts)
        return float(ranges.max())

    def largest_distance(self, proba: Floats, root: Floats) -> float:
        """A bound on ``‖Rᵀ(z_i − z_k)‖`` over all items i and k of one round, R = root (p, r)."""
        parts = ((rows @ root) for _, rows in self._centred(proba))
        return 2.0 * max(float(np.sqrt((part**2).sum(axis=1).max(initial=0.0))) for part in parts)

    def _centred(self, proba):
        """Rows of blocks of rounds, and their items less the mean of the round, dense."""
        for first, last in zip(self._cuts[:-1], self._cuts[1:], strict=True):
            rows = slice(self.offsets[first], self.offsets[last])
            local = self.offsets[first : last + 1] - self.offsets[first]
            part = self.Z[rows].toarray() if sparse.issparse(self.Z) else self.Z[rows]
            means = _rows_of(proba[rows], local) @ part
            yield rows, part - np.repeat(means, np.diff(local), axis=0)

    def is_separated(self, point: Point) -> bool:
        """Whether each chosen item has the largest score of its round, and alone."""
        if self.Z.shape[0] == len(self.chosen):
            return False
        top = np.repeat(point.theta[self.chosen], self.lengths)
        return int((point.theta >= top).sum()) == len(self.chosen)


def _gram(A: Any, weights: Floats) -> Floats:
    """``Aᵀ diag(weights) A`` of a sparse A, dense."""
    return (A.T @ A.multiply(weights[:, None]).tocsr()).toarray()


def _rows_of(numbers: Floats, offsets: Ints) -> sparse.csr_matrix:
    """(n, N): row t has the numbers of round t, at their places."""
    shape = (len(offsets) - 1, len(numbers))
    return sparse.csr_matrix((numbers, np.arange(len(numbers)), offsets), shape=shape)
