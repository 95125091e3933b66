"""Random Fourier features φ of rows, with E <φ(x), φ(z)> = k(x, z)."""

import numpy as np

from skstructured._engine.state import Learned
from skstructured._engine.waves import TILE, add_waves, in_tiles, wave_numbers

#: Kernels that are the mean of cosines over frequencies that can be drawn.
DRAWN = ("rbf", "laplacian")

#: Factors of γ of the three kernels whose mean is "multiscale".
OCTAVES = (0.25, 1.0, 4.0)


def orthogonal_frequencies(p, m, rng):
    """Columns (p, m) of normal vectors that are orthogonal to each other, p at a time."""
    blocks = []
    for start in range(0, m, p):
        size = min(p, m - start)
        Q, R = np.linalg.qr(rng.standard_normal((p, p)))
        lengths = np.sqrt(rng.chisquare(p, size=size))
        blocks.append((Q * np.sign(np.diag(R)))[:, :size] * lengths)
    return np.hstack(blocks)


def frequencies_of(kernel, p, m, rng):
    """Frequencies (p, m) of a kernel with γ = 1, in radians."""
    if kernel == "laplacian":
        return rng.standard_cauchy((p, m))
    return np.sqrt(2.0) * orthogonal_frequencies(p, m, rng)


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
        With γ = 1.
    octave : ndarray of shape (m,)
        By what γ is multiplied, with `multiscale`.
    """

    def __init__(self, kernel, p, n_components, multiscale, rng, dtype):
        self.kernel, self.dtype = kernel, np.dtype(dtype)
        parts = np.array_split(np.arange(-(-n_components // 2)), len(OCTAVES) if multiscale else 1)
        parts = [part for part in parts if len(part)]
        drawn = [frequencies_of(kernel, p, len(part), rng) for part in parts]
        factors = OCTAVES if multiscale else (1.0,)
        self.frequencies = np.hstack(drawn)
        self.octave = np.repeat(factors[: len(parts)], list(map(len, parts)))
        shares = [np.full(len(part), 1.0 / (len(parts) * len(part))) for part in parts]
        self.shares = np.concatenate(shares)
        self.numbers = wave_numbers(dtype)

    @property
    def columns(self):
        """Features of φ."""
        return 2 * len(self.octave)

    def set_width(self, gamma, square):
        """Take the frequencies of γ, and ‖φ‖² = `square`."""
        self.gamma, self.square = gamma, square
        widths = gamma * self.octave
        factors = widths if self.kernel == "laplacian" else np.sqrt(widths)
        self.tiles = in_tiles(self.frequencies * (factors / (2.0 * np.pi)), self.dtype)
        self.amplitudes = np.sqrt(square * self.shares).astype(self.dtype)

    def balance(self, Z):
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
        steps = np.zeros((len(Z), self.tiles.shape[1] // TILE), dtype=self.dtype)
        steps[:, :width] = Z[:, :width]
        out = np.empty((len(Z), Z.shape[1] + self.columns), dtype=self.dtype)
        out[:, : Z.shape[1]] = Z
        add_waves(steps, self.tiles, self.amplitudes, self.numbers, out)
        return out
