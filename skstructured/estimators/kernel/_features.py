"""Random Fourier features φ of rows, with E <φ(x), φ(z)> = k(x, z)."""

import copy

import numpy as np

from skstructured._engine.rows import Rows
from skstructured._engine.state import Learned
from skstructured._engine.waves import TILE, add_waves, append_waves, in_tiles, wave_numbers

#: Kernels that are the mean of cosines over frequencies that can be drawn.
DRAWN = ("rbf", "laplacian")

#: Columns of CSR rows are hashed into at most so many features of φ.
BUCKETS = 4096

#: Factors of γ of the three kernels whose mean is "multiscale".
OCTAVES = (0.25, 1.0, 4.0)


def orthogonal_frequencies(p, m, rng, few=False):
    """Columns (p, m) of normal vectors that are orthogonal to each other, p at a time.

    With `few` no more of them are drawn than are taken, as for wide rows.
    """
    blocks = []
    for start in range(0, m, p):
        size = min(p, m - start)
        Q, R = np.linalg.qr(rng.standard_normal((p, min(p, m) if few else p)))
        lengths = np.sqrt(rng.chisquare(p, size=size))
        blocks.append((Q * np.sign(np.diag(R)))[:, :size] * lengths)
    return np.hstack(blocks)


def frequencies_of(kernel, p, m, rng, few=False):
    """Frequencies (p, m) of a kernel with γ = 1, in radians."""
    if kernel == "laplacian":
        return rng.standard_cauchy((p, m))
    return np.sqrt(2.0) * orthogonal_frequencies(p, m, rng, few)


class FourierMap(Learned):
    r"""φ(x) = (a cos ω_jᵀx, a sin ω_jᵀx), j = 1 … m, with ω_j drawn once.

    Parameters
    ----------
    kernel : {"rbf", "laplacian"}
        Frequencies are normal, orthogonal p at a time (Yu et al. 2016), with variance 2γ; or
        independent Cauchy variables with scale γ.
    p, n_components : int
        Features, and 2m; odd numbers are rounded up.
    rng : RandomState
        Draws the frequencies.
    dtype : dtype
        Of rows.

    Attributes
    ----------
    frequencies : ndarray of shape (p, m)
        With γ = 1; drawn when they are first asked for, or by `drawn_for`.
    octave : ndarray of shape (m,)
        By what γ is multiplied, with `multiscale`.
    """

    #: Whether rows are CSR, and φ is written behind their entries.
    reads_sparse = False

    #: Set by `set_width` once there are frequencies.
    tiles = None

    def __init__(self, kernel, p, n_components, multiscale, rng, dtype):
        self.kernel, self.dtype, self.p = kernel, np.dtype(dtype), p
        parts = np.array_split(np.arange(-(-n_components // 2)), len(OCTAVES) if multiscale else 1)
        parts = [part for part in parts if len(part)]
        factors = OCTAVES if multiscale else (1.0,)
        self.sizes, self.rng, self._drawn = list(map(len, parts)), rng, None
        self.octave = np.repeat(factors[: len(parts)], self.sizes)
        shares = [np.full(len(part), 1.0 / (len(parts) * len(part))) for part in parts]
        self.shares = np.concatenate(shares)
        self.numbers = wave_numbers(dtype)

    @property
    def columns(self):
        """Features of φ."""
        return 2 * len(self.octave)

    @property
    def frequencies(self):
        """See the class."""
        if self._drawn is None:
            self._draw(self.p, copy.deepcopy(self.rng))
        return self._drawn

    @frequencies.setter
    def frequencies(self, value):
        self._drawn = value

    def _draw(self, p, rng, few=False):
        drawn = [frequencies_of(self.kernel, p, size, rng, few) for size in self.sizes]
        self._drawn = np.hstack(drawn)

    def drawn_for(self, sparse):
        """The map, with its frequencies, of dense rows; or one of CSR rows in its place."""
        if self._drawn is None and sparse:
            return SparseFourierMap(self)
        if self.tiles is None:
            self._drawn = self.frequencies
            self.set_width(self.gamma, self.square)
        return self

    def set_width(self, gamma, square):
        """Take the frequencies of γ, where they are drawn, and ‖φ‖² = `square`."""
        self.gamma, self.square = gamma, square
        widths = gamma * self.octave
        factors = widths if self.kernel == "laplacian" else np.sqrt(widths)
        if self._drawn is not None:
            self.tiles = in_tiles(self._drawn * (factors / (2.0 * np.pi)), self.dtype)
        self.amplitudes = np.sqrt(square * self.shares).astype(self.dtype)

    def balance(self, Z, weight):
        """Nothing is to be done: ‖φ‖² is `square` for every row."""

    def none(self):
        """Without any feature."""
        twin = self.copy()
        twin.frequencies, twin.octave, twin.shares = (
            each[..., :0] for each in (self.frequencies, self.octave, self.shares)
        )
        twin.set_width(self.gamma, self.square)
        return twin

    def behind(self, Z, width):
        """Rows (n, columns) of Z, whose first `width` columns are mapped, with φ behind them."""
        self.drawn_for(False)
        steps = np.zeros((len(Z), self.tiles.shape[1] // TILE), dtype=self.dtype)
        steps[:, :width] = Z[:, :width]
        out = np.empty((len(Z), Z.shape[1] + self.columns), dtype=self.dtype)
        out[:, : Z.shape[1]] = Z
        add_waves(steps, self.tiles, self.amplitudes, self.numbers, out)
        return out


class SparseFourierMap(FourierMap):
    r"""`FourierMap` of CSR rows, with frequencies of at most `BUCKETS` features.

    Of more columns than that it is φ(Sx): the columns are hashed into buckets, each with a random
    sign, so that E <Sx, Sz> = <x, z> (Charikar, Chen, Farach-Colton 2002; Weinberger et al. 2009).

    Parameters
    ----------
    other : FourierMap
        What it stands for, of which nothing was drawn.

    Attributes
    ----------
    places : ndarray of shape (p,)
        The bucket of each column, in int32; of few columns, the columns themselves.
    signs : ndarray of shape (p,)
        1 and −1; of few columns 1.
    """

    reads_sparse = True

    def __init__(self, other):
        vars(self).update(vars(other))
        self.dtype, rng = np.dtype(np.float64), copy.deepcopy(self.rng)
        height, self.numbers = min(self.p, BUCKETS), wave_numbers(self.dtype)
        self._draw(height, rng, few=True)
        self.places, self.signs = np.arange(self.p, dtype=np.int32), np.ones(self.p)
        if self.p > height:
            self.places = rng.randint(height, size=self.p).astype(np.int32)
            self.signs = 2.0 * rng.randint(2, size=self.p) - 1.0
        self.set_width(self.gamma, self.square)

    def behind_rows(self, rows, order, width):
        """`Rows` in `order` of CSR rows of `width` columns, with φ of them behind."""
        counts = rows.indptr[order + 1] - rows.indptr[order]
        size = int(counts.sum(dtype=np.int64)) + len(order) * self.columns
        out, columns = np.empty(size), np.empty(size, dtype=np.int32)
        indptr = np.zeros(len(order) + 1, dtype=np.int32)
        how = (self.places, self.signs, self.tiles, self.amplitudes, self.numbers, width)
        append_waves(*rows.arrays[:3], order, *how, out, columns, indptr)
        return Rows(out, columns, indptr, width + self.columns, len(order), None)
