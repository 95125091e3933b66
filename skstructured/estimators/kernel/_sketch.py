"""Tensor sketches of rows, whose products are polynomial kernels on average."""

import numpy as np

from skstructured._engine.compiled import kernel
from skstructured.estimators.kernel._balanced import BalancedMap

#: Rows whose sketches are held at a time: some hundred kilobytes, which stay in the cache.
TOGETHER = 16


@kernel
def add_counts(Z, places, factors, out):
    """Add factor times feature to its place in each copy, out (n, degree, m); 1 is the last."""
    p = Z.shape[1]
    for i in range(Z.shape[0]):
        for j in range(places.shape[0]):
            for a in range(p):
                out[i, j, places[j, a]] += factors[j, a] * Z[i, a]
            out[i, j, places[j, p]] += factors[j, p]


@kernel
def multiply_spectra(spectra, out):
    """Out (n, f) = products of complex numbers (n, degree, f), in the order of the copies."""
    for i in range(out.shape[0]):
        for k in range(out.shape[1]):
            whole = spectra[i, 0, k]
            for j in range(1, spectra.shape[1]):
                whole = whole * spectra[i, j, k]
            out[i, k] = whole


class SketchMap(BalancedMap):
    r"""The tensor sketch of √c z̃ ⊗ … ⊗ z̃, for the polynomial kernel (Pham, Pagh 2013).

    A copy j = 1 … degree sends feature a to the place h_j(a) with the sign s_j(a), both drawn once,
    and adds up what meets there; φ is the convolution of the copies on a circle of m places, whose
    product ``<φ(x), φ(z)>`` is c <x̃, z̃>^degree on average. See `BalancedMap`.

    Attributes
    ----------
    places, signs : ndarray of shape (degree, p + 1)
        h and s, last those of the constant.
    """

    kernel = "poly"

    def __init__(self, p, n_components, degree, coef0, rng, dtype):
        super().__init__(p, n_components, degree, coef0, dtype)
        self.places = rng.randint(n_components, size=(degree, p + 1)).astype(np.int64)
        self.signs = 2.0 * rng.randint(2, size=(degree, p + 1)) - 1.0

    def _take_factors(self, factors):
        self.factors = (self.signs * factors).astype(self.dtype)

    def _write(self, Z, out):
        Z = np.ascontiguousarray(Z, dtype=self.dtype)
        for start in range(0, len(Z), TOGETHER):
            part = slice(start, start + TOGETHER)
            counts = np.zeros((len(Z[part]), self.degree, self.columns), dtype=self.dtype)
            add_counts(Z[part], self.places, self.factors, counts)
            if self.degree == 1:
                out[part] = counts[:, 0]
            else:
                out[part] = self._convolved(counts)

    def _convolved(self, counts):
        """Copies (n, degree, m) convolved; transforms of numpy work on each row by itself."""
        spectra = np.fft.rfft(counts)
        product = np.empty((len(counts), spectra.shape[2]), dtype=spectra.dtype)
        multiply_spectra(spectra, product)
        return np.fft.irfft(product, self.columns)
