"""Functions Σ_i β_i k(x_i, ·) that a stream of rows adds to, and their averages.

A learner with kernels is a linear one whose Θ is the matrix of the coefficients β. Rows are taken a
block at a time. At its start the coefficients are fixed, and the scores that they give its rows are
one number a row and output; within it the loop of linear learners runs, over rows
``[scores at the start | kernels with the rows of the block]`` and Θ = [1; the block's own β].
"""

import numpy as np

from skstructured._engine.compiled import EMPTY_INT32, FASTMATH, kernel
from skstructured._engine.rows import Rows
from skstructured._engine.state import Learned
from skstructured.kernel._values import BLOCK


@kernel(fastmath=FASTMATH)
def block_move_and_score(
    data, indices, indptr, width, row, ahead, Theta, state, move, u, weight, raw
):
    """β of `row` ← β + u move, then raw = the scores of `ahead`; returns k(ahead, ahead)."""
    dim, x = raw.shape[0], data[ahead * width : (ahead + 1) * width]
    for k in range(Theta.shape[1]):
        Theta[dim + row, k] += u * move[k]
    for k in range(dim):
        raw[k] = x[k] * Theta[k, k]
    for i in range(ahead):
        for k in range(dim):
            raw[k] += x[dim + i] * Theta[dim + i, k]
    return x[dim + ahead]


class Expansion(Learned):
    """Support rows with their coefficients, in blocks, and the block that is being learned.

    Coefficients are (dim, rows), the sums of those played behind them; support rows (p, BLOCK) a
    block. Both have room for more.

    Parameters
    ----------
    dim, width : int
        Outputs, and features.
    summed : bool
        Whether sums of the functions played are kept.
    function : KernelFunction
        The kernel.
    """

    def __init__(self, dim, width, summed, function):
        self.function, self.dim, self.summed = function, dim, summed
        self.blocks, self.pieces = np.empty((0, width, BLOCK)), 0
        self.coefs = np.empty(((1 + summed) * dim, 0))
        self.gram = None
        self._open(np.zeros((width, BLOCK)))

    def _open(self, rows):
        """Begin a block."""
        self.rows, self.places, self.count = rows, np.full(BLOCK, -1), 0
        self.data = np.zeros((BLOCK, self.dim + BLOCK))
        self.Theta = np.zeros((self.dim + BLOCK, (1 + self.summed) * self.dim))
        self.Theta[: self.dim, : self.dim] = np.eye(self.dim)

    def support(self, Z, cache):
        """Make rows Z, which are learned in any order and again and again, support rows.

        Their kernels are kept while they are learned, in single precision, where they take `cache`
        bytes at most.
        """
        self.pieces = -(-len(Z) // BLOCK)
        padded = np.zeros((self.pieces * BLOCK, Z.shape[1]))
        padded[: len(Z)] = Z
        blocks = padded.reshape(self.pieces, BLOCK, -1).transpose(0, 2, 1)
        self.blocks = np.ascontiguousarray(blocks)
        self.coefs = np.zeros((len(self.coefs), self.pieces * BLOCK))
        if 4 * len(Z) * len(padded) <= cache:
            self.gram = np.empty((len(Z), len(padded)), dtype=np.float32)
            for m, block in enumerate(self.blocks):
                self.gram[:, m * BLOCK : (m + 1) * BLOCK] = self.function.gram(block, Z)

    def settle(self):
        """The support rows are learned; what is kept of their kernels is let go."""
        self.close()
        self.gram = None

    @property
    def room(self):
        """Rows that fit into the block that is being learned."""
        return BLOCK - self.count

    def take(self, Z, places=None):
        """Put rows Z, `room` at most, into the block; `Rows` for the loop, and their order.

        `places` are those of support rows; None makes new ones of them when the block is full.
        """
        order = np.arange(self.count, self.count + len(Z))
        if self.gram is None or places is None:
            self.rows[:, order] = Z.T
            scores, kernels = np.zeros((len(Z), self.dim)), self.function.gram(self.rows, Z)
            own = self.coefs[: self.dim]
            self.function.add_scores(self.blocks, self.pieces, own, Z, scores)
        else:
            scores, kernels = (
                self.gram[places] @ self.coefs[: self.dim].T,
                np.zeros((len(Z), BLOCK)),
            )
            kernels[:, order] = self.gram[np.ix_(places, places)]
            kernels[:, : self.count] = self.gram[np.ix_(places, self.places[: self.count])]
        self.places[order] = -1 if places is None else places
        self.data[order, : self.dim], self.data[order, self.dim :] = scores, kernels
        width = self.data.shape[1]
        pointers = np.arange(0, (BLOCK + 1) * width, width, dtype=np.int32)
        return Rows(self.data.reshape(-1), EMPTY_INT32, pointers, width, BLOCK, None), order

    def keep(self, count):
        """So many of the rows taken were learned; the block ends where it is full."""
        self.count += count
        if self.count == BLOCK:
            self.close()

    def close(self):
        """Add the block's coefficients to those of the support rows."""
        if self.count == 0:
            return
        self._move(self.coefs)
        own, new = self.Theta[self.dim : self.dim + self.count], self.places[0] < 0
        if new:
            self._reserve()
            self.blocks[self.pieces] = self.rows
            at = self.pieces * BLOCK
            self.coefs[:, at : at + self.count] = own.T
            self.pieces += 1
        else:
            np.add.at(self.coefs.T, self.places[: self.count], own)
        self._open(np.zeros_like(self.rows) if new else self.rows)

    def _reserve(self):
        """Room for another block."""
        if self.pieces < len(self.blocks):
            return
        more = max(4, self.pieces)
        self.blocks = np.concatenate([self.blocks, np.zeros((more, *self.rows.shape))])
        room = np.zeros((len(self.coefs), more * BLOCK))
        self.coefs = np.concatenate([self.coefs, room], axis=1)

    def _move(self, coefs):
        """Scale and sum coefficients, in place, as the block's loop has scaled and summed Θ."""
        factor, dim = self.Theta[0, 0], self.dim
        if self.summed and self.Theta[0, dim] != 0.0:
            coefs[dim:] += self.Theta[0, dim] * coefs[:dim]
        if factor != 1.0:
            coefs[:dim] *= factor

    def current(self):
        """Coefficients and sums (2 dim, rows) now; those of the open block are the last `count`."""
        coefs = self.coefs[:, : self.pieces * BLOCK].copy()
        self._move(coefs)
        own = self.Theta[self.dim : self.dim + self.count].T
        if self.places[0] >= 0:
            np.add.at(coefs.T, self.places[: self.count], own.T)
            return coefs
        return np.concatenate([coefs, own], axis=1)

    def scores(self, coefs, Z):
        """Σ_i coefs_i k(x_i, z) of rows z, (n, dim), for coefficients like those of `current`."""
        out, at = np.zeros((len(Z), len(coefs))), self.pieces * BLOCK
        self.function.add_scores(self.blocks, self.pieces, np.ascontiguousarray(coefs), Z, out)
        if coefs.shape[1] > at:
            own = np.zeros((len(coefs), BLOCK))
            own[:, : self.count] = coefs[:, at:]
            self.function.add_scores(self.rows[None], 1, own, Z, out)
        return out

    @property
    def support_rows(self):
        """The rows behind the coefficients of `current`, (rows, p)."""
        closed = self.blocks[: self.pieces].transpose(0, 2, 1).reshape(-1, len(self.rows))
        return closed if self.places[0] >= 0 else np.vstack([closed, self.rows.T[: self.count]])

    def copy(self):
        """Another one that learns by itself."""
        copy = object.__new__(type(self))
        vars(copy).update(vars(self))
        for name in ("blocks", "coefs", "rows", "places", "data", "Theta"):
            setattr(copy, name, getattr(self, name).copy())
        return copy
