"""Random rectified features, whose products are arc-cosine kernels on average."""

import numpy as np

from skstructured._engine.compiled import kernel
from skstructured._engine.waves import ABREAST, TILE, add_rows, in_tiles
from skstructured.estimators.kernel._balanced import BalancedMap
from skstructured.estimators.kernel._features import orthogonal_frequencies


@kernel
def write_positive(Z, tiles, constants, out):
    """Write max(0, b + Zω) to `out` (n, m), sums over the features of a row in their order.

    Z (n, p) has zeros up to whole steps of features, weights ω are those of `in_tiles`, and so are
    the constants b, (tiles, TILE).
    """
    n, m = Z.shape[0], out.shape[1]
    t = np.empty((ABREAST, TILE), dtype=Z.dtype)
    for tile in range(tiles.shape[0]):
        start, stop, i = tile * TILE, min(m, (tile + 1) * TILE), 0
        while i < n:
            t[:] = constants[tile]
            count = add_rows(Z, i, tiles[tile], t)
            for q in range(count):
                for j in range(stop - start):
                    out[i + q, start + j] = 0.0 if t[q, j] < 0.0 else t[q, j]
            i += count


class ReluMap(BalancedMap):
    r"""φ(z) = √(2c/m) max(0, ω_jᵀz̃), j = 1 … m, with ω_j normal, for the arc-cosine kernel.

    They are orthogonal to each other p + 1 at a time; each by itself is normal, so that
    ``E <φ(x), φ(z)> = c k(x, z)`` (Cho, Saul 2009, order 1) holds as without. See `BalancedMap`.

    Attributes
    ----------
    weights : ndarray of shape (p + 1, m)
        ω, the last row that of the constant.
    """

    kernel = "arc-cosine"

    def __init__(self, p, n_components, coef0, rng, dtype):
        super().__init__(p, n_components, 1, coef0, dtype)
        self.weights = orthogonal_frequencies(p + 1, n_components, rng)

    def set_width(self, gamma, square):
        """Take the ‖φ‖² of a row with ‖z‖² = p; the kernel has no γ."""
        super().set_width(1.0, square)

    def _take_factors(self, factors):
        share = np.sqrt(2.0 / self.weights.shape[1])
        weights = self.weights * (share * factors)[:, None]
        self.tiles = in_tiles(weights[: self.p], self.dtype)
        self.constants = in_tiles(weights[self.p :], self.dtype)[:, :TILE].copy()

    def _write(self, Z, out):
        steps = np.zeros((len(Z), self.tiles.shape[1] // TILE), dtype=self.dtype)
        steps[:, : self.p] = Z
        write_positive(steps, self.tiles, self.constants, out)
