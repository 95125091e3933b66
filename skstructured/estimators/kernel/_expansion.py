"""Functions Σ_i β_i k(x_i, ·) that a stream of rows adds to, and their averages.

A learner with kernels is a linear one whose Θ is the matrix of the coefficients β. Rows are taken a
block at a time. At its start the coefficients are fixed, and the scores that they give its rows are
one number per row and output; within it the loop of linear learners runs, over rows
``[scores at the start | kernels with the rows of the block]`` and Θ = [1; the block's own β].

Support rows of the kernels computed here lie in blocks; a custom function receives unchanged rows;
for a precomputed matrix only the column number of each row is stored.
"""

import copy

import numpy as np

from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.rows import Rows
from skstructured._engine.state import State
from skstructured.estimators.kernel._gram import KeptKernels
from skstructured.estimators.kernel._values import SUPPORT_BLOCK, ForeignKernel, summed


class Support(State):
    """Rows in the order in which they were added, each with a number and c coefficients.

    Coefficients are (c, room), and 0 behind the last row; there is room for whole blocks.
    """

    def __init__(self, function, c, width, dtype):
        self.function, self.width, self.dtype = function, width, np.dtype(dtype)
        self.coefs = np.zeros((c, 0))
        self._empty()

    def _empty(self):
        self.count = 0
        self.coefs, self.index = np.zeros((len(self.coefs), 0)), np.zeros(0, dtype=np.int64)

    def another(self):
        """An empty one of the same kind."""
        return type(self)(self.function, len(self.coefs), self.width, self.dtype)

    def add(self, Z, index, coefs=0.0):
        """Append rows Z, None if they are known elsewhere, numbers, and coefficients (c, rows)."""
        stop = self.count + len(index)
        if stop > len(self.index):
            self._reserve(max(stop, 2 * len(self.index)))
        place = slice(self.count, stop)
        self.coefs[:, place], self.index[place] = coefs, index
        if Z is not None:
            self._write(Z, self.count)
        self.count = stop

    def _reserve(self, rows):
        n_added = -(-rows // SUPPORT_BLOCK) * SUPPORT_BLOCK - len(self.index)
        self.coefs = np.pad(self.coefs, ((0, 0), (0, n_added)))
        self.index = np.pad(self.index, (0, n_added))
        self._grow(n_added)

    def select(self, indices):
        """Keep these rows alone, in this order."""
        selection = self.rows(indices), self.index[indices], self.coefs[:, indices]
        self._empty()
        self.add(*selection)


class BlockSupport(Support):
    """Rows in blocks (p, SUPPORT_BLOCK), the last one filled up with rows of zeros."""

    def _empty(self):
        super()._empty()
        self.blocks = np.zeros((0, self.width, SUPPORT_BLOCK), dtype=self.dtype)

    def _grow(self, more):
        self.blocks = np.pad(self.blocks, ((0, more // SUPPORT_BLOCK), (0, 0), (0, 0)))

    def _write(self, Z, start):
        place = np.arange(start, start + len(Z))
        self.blocks[place // SUPPORT_BLOCK, :, place % SUPPORT_BLOCK] = Z

    def rows(self, places):
        """Rows at these places, (rows, p)."""
        return self.blocks[places // SUPPORT_BLOCK, :, places % SUPPORT_BLOCK]

    def scores(self, coefs, Z, together=True):
        """Σ_i coefs_i k(x_i, z) of rows z, (n, c); every sum is in one order."""
        pieces = -(-self.count // SUPPORT_BLOCK)
        n_missing = pieces * SUPPORT_BLOCK - coefs.shape[1]
        if n_missing > 0:
            coefs = np.pad(coefs, ((0, 0), (0, n_missing)))
        return self.function.scores(self.blocks, pieces, np.ascontiguousarray(coefs), Z)

    def gram(self, Z, together=True):
        """Kernels (n, SUPPORT_BLOCK) of the last rows z with all, which fill at most one block."""
        return self.function.gram(self.blocks[0], Z)

    def kernels(self, Z):
        """Kernels (n, rows) of rows Z with all."""
        every, size = self.rows(np.arange(self.count)).T, 256
        chunks = (every[:, start : start + size] for start in range(0, self.count, size))
        return np.hstack([self.function.gram(chunk, Z) for chunk in chunks])


class ForeignSupport(Support):
    """Rows as a function of the user's takes them, (rows, p).

    Its value for a pair of rows may depend on how many rows it receives, so streams call it once
    per row, with all rows before.
    """

    def _empty(self):
        super()._empty()
        self.of_columns = self.function.function is None
        self.stored = np.zeros((0, 0 if self.of_columns else self.width), dtype=self.dtype)

    def _grow(self, more):
        self.stored = np.pad(self.stored, ((0, more), (0, 0)))

    def _write(self, Z, start):
        if not self.of_columns:
            self.stored[start : start + len(Z)] = Z

    def rows(self, places):
        """Rows at these places, (rows, p)."""
        return self.stored[places]

    def values(self, Z, count):
        """Kernels (n, count) of rows Z with the first rows."""
        support_rows = self.index if self.of_columns else self.stored
        return self.function.values(Z, support_rows[:count])

    def kernels(self, Z):
        """Kernels (n, rows) of rows Z with all."""
        return self.values(Z, self.count)

    def scores(self, coefs, Z, together=True):
        """Σ_i coefs_i k(x_i, z) of rows z, (n, c); not `together`, each row by itself."""
        step = (1 << 22) // max(self.count, 1) + 1 if together else 1
        return summed(self.kernels, Z, coefs[:, : self.count].T, step)

    def gram(self, Z, together=True):
        """Kernels (n, SUPPORT_BLOCK) of the last rows z with all, which fill at most one block."""
        out = np.zeros((len(Z), SUPPORT_BLOCK))
        if together:
            out[:, : self.count] = self.values(Z, self.count)
            return out
        for r in range(len(Z)):
            count = self.count - len(Z) + r + 1
            out[r, :count] = self.values(Z[r : r + 1], count)[0]
        return out


def support_for(function, c, width, dtype):
    """Empty `Support` of the kind that a kernel needs."""
    kind = ForeignSupport if isinstance(function, ForeignKernel) else BlockSupport
    return kind(function, c, width, dtype)


class Expansion(State):
    """Support rows with their coefficients, and the block that is being learned.

    Coefficients of a row are those of the function, and behind them those of the sum of the
    functions played. Rows whose coefficients are all 0 are left out when their block ends. The
    support is empty; its rows have `dim` coefficients, or twice as many if sums are kept.
    """

    def __init__(self, dim, support):
        self.dim, self.gram, self.given = dim, None, 0
        self.support, self.opened = support, support.another()
        self._open()

    def _open(self):
        """Begin a block, a longer one if the kernels of all pairs are known."""
        self.opened.count = self.count = 0
        rows = SUPPORT_BLOCK if self.gram is None else 2 * SUPPORT_BLOCK
        self.data = np.zeros((rows, self.dim + rows))
        self.Theta = np.zeros((self.dim + rows, len(self.support.coefs)))
        self.Theta[: self.dim, : self.dim] = np.eye(self.dim)

    def fill(self, Z, cache):
        """Make rows Z of several passes support rows; keep their kernels in `cache` bytes."""
        self.support.add(Z, np.arange(len(Z)))
        self.gram = KeptKernels(self.support, Z, cache)
        self._open()

    def twin(self):
        """One without coefficients, over the same rows and kernels, which it shares."""
        twin = copy.copy(self)
        twin.support = copy.copy(self.support)
        twin.support.coefs = np.zeros_like(self.support.coefs)
        twin.opened = self.opened.another()
        twin._open()
        return twin

    def scores_of(self, coefs, indices, Z):
        """`scores` of some of the rows Z that are support rows, no block being open."""
        if self.gram is None:
            return self.support.scores(coefs, Z[indices])
        return self.gram.read(coefs, indices)

    def finish_fit(self, rows):
        """End the passes over this many rows; drop rows without coefficients, and kernels."""
        self.close()
        if self.gram is not None:
            self.support.select(np.flatnonzero(self.support.coefs.any(axis=0)))
            self.gram = None
            self._open()
        self.given = rows

    @property
    def room(self):
        """Rows that fit into the block that is being learned."""
        return len(self.data) - self.count

    def take(self, Z, index, together=False):
        """Put rows Z, `room` at most, into the block; `Rows` for the loop, and their order.

        `index` are their numbers, or places of support rows after `fill`; then Z may be `None`.
        Rows that always come in the same block may be scored `together`.
        """
        order = np.arange(self.count, self.count + len(index))
        self.opened.count = self.count
        self.opened.add(Z, index)
        coefs = self.support.coefs[: self.dim]
        if self.gram is None:
            self.data[order, : self.dim] = self.support.scores(coefs, Z, together)
            self.data[order, self.dim :] = self.opened.gram(Z, together)
        else:
            places = self.opened.index[: self.opened.count]
            self.data[order, : self.dim + len(places)] = self.gram.read(coefs, index, places)
        rows, width = self.data.shape
        pointers = np.arange(0, (rows + 1) * width, width, dtype=np.int32)
        dense = np.empty(0, dtype=np.int32)
        return Rows(self.data.reshape(-1), dense, pointers, width, rows, None), order

    def keeping(self, count, Theta):
        """The `Call` that counts how many of the rows taken were learned by Θ."""
        attributes = {"count": self.count + count, "given": self.given + count, "Theta": Theta}
        return vars(self).update, attributes

    def ended(self):
        """What it is once the block of a stream has ended."""
        twin = copy.copy(self)
        twin.opened, twin.support = copy.copy(self.opened), copy.copy(self.support)
        twin.support.coefs = self.support.coefs.copy()
        twin.close()
        return twin

    def close(self):
        """Add the block's coefficients to those of the support rows."""
        if self.count == 0:
            return
        self._move(self.support.coefs)
        block_coefs, index = self._own(), self.opened.index[: self.count]
        if self.gram is not None:
            c, room = self.support.coefs.shape
            places = index + room * np.arange(c)[:, None]  # a row may be in it twice
            np.add.at(self.support.coefs.reshape(-1), places.reshape(-1), block_coefs.T.reshape(-1))
        else:
            used = self._used()
            self.support.add(self.opened.rows(used), index[used], block_coefs[used].T)
        self._open()

    def _own(self):
        """Coefficients (rows, c) of the block that is being learned."""
        return self.Theta[self.dim : self.dim + self.count]

    def _used(self):
        """Places in the block of rows with coefficients."""
        return np.flatnonzero(self._own().any(axis=1))

    def _move(self, coefs):
        """Scale and sum coefficients, in place, as the block's loop has scaled and summed Θ."""
        factor, dim = self.Theta[0, 0], self.dim
        if len(coefs) > dim and self.Theta[0, dim] != 0.0:
            coefs[dim:] += self.Theta[0, dim] * coefs[:dim]
        if factor != 1.0:
            coefs[:dim] *= factor

    def current(self):
        """Coefficients (c, rows) now; those of the open block come last."""
        coefs = self.support.coefs[:, : self.support.count].copy()
        self._move(coefs)
        return np.concatenate([coefs, self._own()[self._used()].T], axis=1)

    def scores(self, coefs, Z):
        """Σ_i coefs_i k(x_i, z) of rows z, (n, c), for coefficients like those of `current`."""
        count, used = self.support.count, self._used()
        out = self.support.scores(coefs[:, :count], Z)
        if len(used):
            self.opened.count, block_coefs = self.count, np.zeros((len(coefs), self.count))
            block_coefs[:, used] = coefs[:, count:]
            out += self.opened.scores(block_coefs, Z)
        return out

    @property
    def support_rows(self):
        """The rows behind the coefficients of `current`, (rows, p)."""
        closed = self.support.rows(np.arange(self.support.count))
        return np.concatenate([closed, self.opened.rows(self._used())])

    @property
    def index(self):
        """The numbers of these rows."""
        closed = self.support.index[: self.support.count]
        return np.concatenate([closed, self.opened.index[self._used()]])


def _block_arrays(data, indices, indptr, width, row, ahead, Theta, state, move, u, weight, raw):
    dim, x = len(raw), data[ahead * width : (ahead + 1) * width]
    Theta[dim + row] += u * move[: Theta.shape[1]]
    raw[:] = x[:dim] * Theta.diagonal()[:dim]
    raw += x[dim : dim + ahead] @ Theta[dim : dim + ahead, :dim]
    return x[dim + ahead]


@kernel(fastmath=FASTMATH, steps=0.01, python=_block_arrays)
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
