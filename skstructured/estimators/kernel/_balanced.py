"""Random features of kernels that grow with their rows, of a length that balances the line."""

import numpy as np

from skstructured._engine.state import Learned


class BalancedMap(Learned):
    """φ with E <φ(x), φ(z)> = c k(x, z), where k(z, z) = (γ‖z‖² + coef0)^degree.

    With ``x̃ = (√γ x, √coef0)``, the row with a constant behind it, k is one of x̃ and z̃ alone. The
    factor c has the mean of ‖φ(z)‖² be `square`: over rows that are given to `balance`, or, before
    any is, of a row with ‖z‖² = p. It does not depend on outputs.

    Parameters
    ----------
    p, n_components : int
        Features of rows, and of φ.
    degree : int
        How often <x̃, z̃> is multiplied with itself.
    coef0 : float
        The square of the constant.
    dtype : dtype
        Of rows.
    """

    kernel = ""

    def __init__(self, p, n_components, degree, coef0, dtype):
        self.p, self.columns, self.dtype = p, n_components, np.dtype(dtype)
        self.degree, self.coef0 = degree, coef0

    def set_width(self, gamma, square):
        """Take γ, and the ‖φ‖² of a row with ‖z‖² = p."""
        self.gamma, self.square = gamma, square
        self._take_size(gamma * self.p + self.coef0)

    def balance(self, Z, weight):
        """Take c from rows Z, which count as much as their weights (n,)."""
        norms = self.gamma * np.einsum("ij,ij->i", Z, Z, dtype=np.float64) + self.coef0
        largest = norms.max(initial=0.0)
        if 0.0 < largest < np.inf:
            mean = np.average((norms / largest) ** self.degree, weights=weight)
            self._take_size(largest * mean ** (1.0 / self.degree))

    def _take_size(self, size):
        """Have ‖φ‖² be `square` where ‖z̃‖² is `size`: factors (p + 1,) of one copy of (z, 1)."""
        factors = np.full(self.p + 1, np.sqrt(self.gamma))
        factors[-1] = np.sqrt(self.coef0)
        self._take_factors(factors * (self.square ** (0.5 / self.degree) / np.sqrt(size)))

    def none(self):
        """Without any feature."""
        twin = self.copy()
        twin.columns = 0
        return twin

    def behind(self, Z, width):
        """Rows (n, columns) of Z, whose first `width` columns are mapped, with φ behind them."""
        out = np.empty((len(Z), Z.shape[1] + self.columns), dtype=self.dtype)
        out[:, : Z.shape[1]] = Z
        if self.columns > 0:
            self._write(Z[:, :width], out[:, Z.shape[1] :])
        return out

    def _take_factors(self, factors):
        raise NotImplementedError

    def _write(self, Z, out):
        raise NotImplementedError
