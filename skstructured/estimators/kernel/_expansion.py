"""Functions Σ_i β_i k(x_i, ·) that a stream of rows adds to, and their averages.

A learner with kernels is a linear one whose Θ is the matrix of the coefficients β. Rows are taken a
block at a time. At its start the coefficients are fixed, and the scores that they give its rows are
one number per row and output; within it the loop of linear learners runs, over rows
``[scores at the start | kernels with the rows of the block]`` and Θ = [1; the block's own β].

Support rows of the kernels computed here lie in blocks; a custom function receives unchanged rows;
for a precomputed matrix only the column number of each row is stored.

`fit` knows all rows beforehand. The kernels of as many rows as there is room for are computed once
and kept in single precision, less a number amid them: if all are nearly the same, as with a small
γ, their differences keep their digits. Kernels of the other rows are computed again when they are
asked for, in double precision.
"""

import copy

import numpy as np

from skstructured._engine.compiled import FASTMATH, is_kernel, kernel
from skstructured._engine.rows import Rows
from skstructured._engine.state import State
from skstructured.estimators.kernel import _values
from skstructured.estimators.kernel._values import SUPPORT_BLOCK, KernelFunction, KernelKind


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
        return _values.summed(self.kernels, Z, coefs[:, : self.count].T, step)

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
    kind = ForeignSupport if isinstance(function, _values.ForeignKernel) else BlockSupport
    return kind(function, c, width, dtype)


@kernel(fastmath=FASTMATH)
def _add_pair(none, g0, g1, g2, g3, v, w, total):
    """Total (2, 4) ← + two outputs of four rows, in the precision of `none`, which is 0."""
    a0, a1, a2, a3 = none, none, none, none
    b0, b1, b2, b3 = none, none, none, none
    for j in range(g0.shape[0]):
        x0, x1, x2, x3 = g0[j], g1[j], g2[j], g3[j]
        a0 += x0 * v[j]
        a1 += x1 * v[j]
        a2 += x2 * v[j]
        a3 += x3 * v[j]
        b0 += x0 * w[j]
        b1 += x1 * w[j]
        b2 += x2 * w[j]
        b3 += x3 * w[j]
    total[0, 0] += a0
    total[0, 1] += a1
    total[0, 2] += a2
    total[0, 3] += a3
    total[1, 0] += b0
    total[1, 1] += b1
    total[1, 2] += b2
    total[1, 3] += b3


@kernel
def sum_kernels(matrix, middle, indices, small, size, sums, places, out):
    """Out (m, dim + q) = sums of kernels of rows `indices` with all times coefficients.

    Kernels are `matrix` (kept, n) plus `middle`, and coefficients `small` (c, n) times `size`, c a
    multiple of two, with their `sums`. Behind them stand the kernels with the rows at q places.
    """
    (c, n), last, dim = small.shape, indices.shape[0] - 1, out.shape[1] - places.shape[0]
    size_of_chunk, total = 4096, np.empty((c, 4))  # kernels that are summed in single precision
    for r in range(0, indices.shape[0], 4):
        total[:] = 0.0
        g0, g1 = matrix[indices[r]], matrix[indices[min(r + 1, last)]]
        g2, g3 = matrix[indices[min(r + 2, last)]], matrix[indices[min(r + 3, last)]]
        for start in range(0, n, size_of_chunk):
            chunk = slice(start, min(start + size_of_chunk, n))
            rows = g0[chunk], g1[chunk], g2[chunk], g3[chunk]
            for k in range(0, c, 2):
                weights = small[k, start:], small[k + 1, start:]
                _add_pair(np.float32(0.0), *rows, *weights, total[k : k + 2])
        for q in range(min(4, indices.shape[0] - r)):
            row = matrix[indices[r + q]]
            for k in range(dim):
                out[r + q, k] = size[k] * total[k, q] + middle * sums[k]
            for i in range(places.shape[0]):
                out[r + q, dim + i] = row[places[i]] + middle


class KeptKernels:
    """Kernels of the n rows Z of `support` with all; the first, in `cache` bytes, are in memory.

    Attributes
    ----------
    matrix : ndarray of shape (kept, n)
        Kernels of the first rows with all, less `middle`, in single precision.
    middle : float
        The median of the first of them: a mean would depend on a few distant rows.
    centered : ndarray of shape (n, p) or None
        Rows whose products give the kernels; None if differences of rows must.
    """

    #: Kernels that are computed at a time.
    block_size = 1 << 19

    #: Sums of so few rows are left to numpy, so nothing is compiled for them alone.
    few_rows = 1000

    def __init__(self, support, Z, cache):
        self.support, self.Z, n = support, Z, len(Z)
        self.centered = self._centered()
        self.middle = float(np.median(self.values(np.arange(min(32, n)))))
        n_kept, step = min(n, int(cache // (4 * n))), self.block_size // n + 1
        self.matrix = np.empty((n_kept, n), dtype=np.float32)
        for start in range(0, n_kept, step):
            if not self._store(start, min(start + step, n_kept)):
                self.matrix, self.middle = self.matrix[:0], 0.0
                break

    def _centered(self):
        """See the attribute, in double precision."""
        function, Z = self.support.function, np.asarray(self.Z, dtype=np.float64)
        if not isinstance(function, KernelFunction):
            return None
        Z = Z - Z.mean(axis=0) if function.kind in (KernelKind.RBF, KernelKind.MULTISCALE) else Z
        return Z if function.has_products(Z) else None

    def _store(self, start, stop):
        """Keep kernels of some rows, products from the diagonal on; whether all are small."""
        begin = 0 if self.centered is None else start
        block = self.matrix[start:stop, begin:]
        with np.errstate(over="ignore", invalid="ignore"):
            block[:] = self.values(np.arange(start, stop), begin, self.middle)
            if not (block.max() < 1e30 and block.min() > -1e30):  # their sums have to be finite
                return False
        if self.centered is not None:
            self.matrix[stop:, start:stop] = self.matrix[start:stop, stop : len(self.matrix)].T
        return True

    def values(self, indices, begin=0, less=0.0):
        """Kernels (m, n − begin) of the rows `indices` with all from one on, less a number."""
        if self.centered is None:
            return self.support.kernels(self.Z[indices])[:, begin:] - less
        X, Z = self.centered[indices], self.centered[begin:]
        return self.support.function.by_products(X, Z, less)

    def read(self, coefs, indices, places=()):
        """Σ_i coefs_i k(x_i, x), (m, c), of rows at some places; their kernels with others, (m, q).

        The result has both side by side; coefs are (c, n) at least.
        """
        places = np.asarray(places, dtype=np.int64)
        is_kept, coefs = indices < len(self.matrix), coefs[:, : len(self.Z)]
        if is_kept.all():
            return self._kept(coefs, indices, places)
        out = np.empty((len(indices), len(coefs) + len(places)))
        out[is_kept] = self._kept(coefs, indices[is_kept], places)
        out[~is_kept] = _kernel_sums(self.values(indices[~is_kept]), coefs, places)
        return out

    def _kept(self, coefs, indices, places):
        """`read` of rows that are kept."""
        (c, n), m = (len(coefs), len(self.Z)), len(indices)
        if n <= self.few_rows or not is_kernel(sum_kernels):
            return _kernel_sums(self.matrix[indices] + np.float64(self.middle), coefs, places)
        small, out = np.zeros((c + c % 2, n), np.float32), np.empty((m, c + len(places)))
        with np.errstate(over="ignore", invalid="ignore"):  # scores are checked
            size = np.clip(np.sqrt(np.einsum("ij,ij->i", coefs, coefs)), 1e-150, 1e150)
            small[:c], sums = coefs / size[:, None], coefs.sum(axis=1)
        sum_kernels(self.matrix, self.middle, indices, small, size, sums, places, out)
        return out


def _kernel_sums(values, coefs, places):
    """Kernels (m, n) times coefficients, and behind the sums those with the rows at some places."""
    return np.hstack([values @ coefs.T, values[:, places]])


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
