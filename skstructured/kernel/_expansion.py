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
        self.blocks = np.empty((0, width, BLOCK))
        self.coefs = np.empty((0, (1 + summed) * dim, BLOCK))
        self.size = 0
        self.given = False
        self._open(np.zeros((width, BLOCK)))

    def _open(self, rows):
        """Begin a block."""
        self.rows, self.places, self.count = rows, np.full(BLOCK, -1), 0
        self.data = np.zeros((BLOCK, self.dim + BLOCK))
        self.Theta = np.zeros((self.dim + BLOCK, (1 + self.summed) * self.dim))
        self.Theta[: self.dim, : self.dim] = np.eye(self.dim)

    def support(self, Z):
        """Make rows Z, which are to be learned in any order and more than once, support rows."""
        pieces = -(-len(Z) // BLOCK)
        padded = np.zeros((pieces * BLOCK, Z.shape[1]))
        padded[: len(Z)] = Z
        blocks = padded.reshape(pieces, BLOCK, -1).transpose(0, 2, 1)
        self.blocks, self.size = np.ascontiguousarray(blocks), pieces * BLOCK
        self.coefs = np.zeros((pieces, (1 + self.summed) * self.dim, BLOCK))

    @property
    def room(self):
        """Rows that fit into the block that is being learned."""
        return BLOCK - self.count

    def take(self, Z, places=None):
        """Put rows Z, `room` at most, into the block; `Rows` for the loop, and their order.

        `places` are those of support rows; None makes new ones of them when the block is full.
        """
        order = np.arange(self.count, self.count + len(Z))
        self.rows[:, order] = Z.T
        self.places[order] = -1 if places is None else places
        own = np.ascontiguousarray(self.coefs[:, : self.dim])
        self.data[order, : self.dim] = self.function.scores(self.blocks, own, Z)
        kernels = np.empty((len(Z), BLOCK))
        self.function.gram(self.rows, Z, kernels)
        self.data[order, self.dim :] = kernels
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
        self.coefs = self._moved()
        own = self.Theta[self.dim : self.dim + self.count].T
        if self.places[0] >= 0:
            block, lane = np.divmod(self.places[: self.count], BLOCK)
            np.add.at(self.coefs, (block, slice(None), lane), own.T)
            self._open(self.rows)
            return
        new = np.zeros((1, len(own), BLOCK))
        new[0, :, : self.count] = own
        self.blocks = np.concatenate([self.blocks, self.rows[None]])
        self.coefs = np.concatenate([self.coefs, new])
        self.size += BLOCK
        self._open(np.zeros_like(self.rows))

    def _moved(self):
        """Coefficients of the support rows, as the block's loop has scaled and summed them."""
        moved = self.Theta[0, 0] * self.coefs
        if self.summed:
            dim = self.dim
            moved[:, dim:] = self.coefs[:, dim:] + self.Theta[0, dim] * self.coefs[:, :dim]
        return moved

    def current(self):
        """All blocks and coefficients, those of the block that is being learned last."""
        own = np.zeros((1, self.coefs.shape[1], BLOCK))
        own[0, :, : self.count] = self.Theta[self.dim : self.dim + self.count].T
        blocks = np.concatenate([self.blocks, self.rows[None]])
        return blocks, np.concatenate([self._moved(), own])

    def copy(self):
        """Another one that learns by itself."""
        copy = object.__new__(type(self))
        vars(copy).update(vars(self))
        for name in ("rows", "places", "data", "Theta"):
            setattr(copy, name, getattr(self, name).copy())
        return copy
