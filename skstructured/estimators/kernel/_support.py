"""Support rows with their coefficients, and sums of kernels with them: three kinds of rows.

Rows of the kernels computed here lie in blocks, `BLOCK` side by side; a function of the user's is
handed rows as they are; of a precomputed matrix no row is kept but the number of its column.
"""

import numpy as np

from skstructured._engine.state import Learned
from skstructured.estimators.kernel._user_kernels import CallableKernel, PrecomputedKernel
from skstructured.estimators.kernel._values import BLOCK

#: Rows whose kernels are computed side by side, where there are many.
WIDE = 256

#: Kernels held at a time, where many rows are scored together.
CELLS = 1 << 22


class Support(Learned):
    """Rows in the order in which they were added, each with a number and coefficients.

    Coefficients are (c, room), and 0 behind the last row; there is room for whole blocks.

    Parameters
    ----------
    function : KernelFunction, CallableKernel or PrecomputedKernel
        The kernel.
    c : int
        Coefficients of a row.
    width : int
        Features.
    dtype : dtype
        Of the rows; coefficients and sums are float64.
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
        """Append rows Z, their numbers, and their coefficients (c, rows).

        Without rows, which are known elsewhere, Z is None.
        """
        stop = self.count + len(index)
        if stop > len(self.index):
            self._reserve(stop)
        place = slice(self.count, stop)
        self.coefs[:, place], self.index[place] = coefs, index
        if Z is not None:
            self._write(Z, self.count)
        self.count = stop

    def _reserve(self, rows):
        """Room for so many rows, and some more where there are some."""
        room = -(-max(rows, 2 * len(self.index)) // BLOCK) * BLOCK
        coefs, index = np.zeros((len(self.coefs), room)), np.zeros(room, dtype=np.int64)
        coefs[:, : self.count] = self.coefs[:, : self.count]
        index[: self.count] = self.index[: self.count]
        self.coefs, self.index = coefs, index
        self._grow(room)

    def select(self, which):
        """Keep these rows alone, in this order."""
        kept = self.rows(which), self.index[which], self.coefs[:, which]
        self._empty()
        self.add(*kept)


class BlockSupport(Support):
    """Rows in blocks (p, BLOCK), the last one filled up with rows of zeros."""

    def _empty(self):
        super()._empty()
        self.blocks = np.zeros((0, self.width, BLOCK), dtype=self.dtype)

    def _grow(self, room):
        more = room // BLOCK - len(self.blocks)
        zeros = np.zeros((more, self.width, BLOCK), dtype=self.dtype)
        self.blocks = np.concatenate([self.blocks, zeros])

    def _write(self, Z, start):
        place = np.arange(start, start + len(Z))
        self.blocks[place // BLOCK, :, place % BLOCK] = Z

    def rows(self, which):
        """Rows at these places, (rows, p)."""
        return self.blocks[which // BLOCK, :, which % BLOCK]

    def scores(self, coefs, Z, together=True):
        """Σ_i coefs_i k(x_i, z) of rows z, (n, c); every sum is in one order."""
        pieces, out = -(-self.count // BLOCK), np.zeros((len(Z), len(coefs)))
        if coefs.shape[1] < pieces * BLOCK:
            given, coefs = coefs, np.zeros((len(coefs), pieces * BLOCK))
            coefs[:, : given.shape[1]] = given
        self.function.add_scores(self.blocks, pieces, np.ascontiguousarray(coefs), Z, out)
        return out

    def gram(self, Z, together=True):
        """Kernels (n, BLOCK) of rows z, which are the last of at most BLOCK, with all of them."""
        return self.function.gram(self.blocks[0], Z)

    def kernels(self, Z):
        """Kernels (n, rows) of rows Z with all."""
        every = self.rows(np.arange(self.count)).T
        parts = (every[:, start : start + WIDE] for start in range(0, self.count, WIDE))
        return np.hstack([self.function.gram(part, Z) for part in parts])


class ForeignSupport(Support):
    """Rows as a function of the user's takes them, (rows, p).

    What it returns for a pair of rows may depend on how many it is handed, so that streams hand it
    a row at a time, with all that came before. Of rows of a precomputed matrix nothing is kept but
    the numbers of their columns.
    """

    def _empty(self):
        super()._empty()
        self.of_columns = isinstance(self.function, PrecomputedKernel)
        self.stored = np.zeros((0, 0 if self.of_columns else self.width), dtype=self.dtype)

    def _grow(self, room):
        stored = np.zeros((room, self.stored.shape[1]), dtype=self.dtype)
        stored[: self.count] = self.stored[: self.count]
        self.stored = stored

    def _write(self, Z, start):
        if not self.of_columns:
            self.stored[start : start + len(Z)] = Z

    def rows(self, which):
        """Rows at these places, (rows, p)."""
        return self.stored[which]

    def values(self, Z, count):
        """Kernels (n, count) of rows Z with the first rows."""
        known = self.index if self.of_columns else self.stored
        return self.function.values(Z, known[:count])

    def kernels(self, Z):
        """Kernels (n, rows) of rows Z with all."""
        return self.values(Z, self.count)

    def scores(self, coefs, Z, together=True):
        """Σ_i coefs_i k(x_i, z) of rows z, (n, c); not `together`, each row by itself."""
        out = np.zeros((len(Z), len(coefs)))
        if self.count == 0:
            return out
        step, coefs = CELLS // self.count + 1 if together else 1, coefs[:, : self.count].T
        for start in range(0, len(Z), step):
            part = slice(start, start + step)
            out[part] = self.values(Z[part], self.count) @ coefs
        return out

    def gram(self, Z, together=True):
        """Kernels (n, BLOCK) of rows z, which are the last of at most BLOCK, with all of them."""
        out = np.zeros((len(Z), BLOCK))
        if together:
            out[:, : self.count] = self.values(Z, self.count)
            return out
        for r in range(len(Z)):
            count = self.count - len(Z) + r + 1
            out[r, :count] = self.values(Z[r : r + 1], count)[0]
        return out


def support_for(function, c, width, dtype):
    """Empty `Support` of the kind that a kernel needs; parameters as there."""
    foreign = isinstance(function, (CallableKernel, PrecomputedKernel))
    return (ForeignSupport if foreign else BlockSupport)(function, c, width, dtype)
