"""Ridge regression on rows as they come, whose features are standardised by all rows so far.

``A = λI + Σ w_t z_t z_tᵀ`` is kept as a triangle, ``A = RᵀR``, and ``Rᵀr = Σ w_t y_t z_t``. Rows z
are (1, standardised features): where means and deviations change, the earlier rows change by an
upper triangular matrix, z ← z N, so that the triangle of the data alone, times N, is again one.
The regularization is rotated into a copy of it. Estimates are then those of all rows in today's
units, whatever the units and the origins of the features are; the 1 is not regularized there, so
that the origin of the rewards does not matter either.
"""

import math
from typing import Any

import numpy as np

from skstructured._engine.compiled import kernel
from skstructured._engine.moments import DEVIATION, INVERSE, MEAN
from skstructured._engine.rows import Rows
from skstructured._engine.standardize import RunningScale
from skstructured._engine.state import Learned
from skstructured._learners.second_order import rotate_in, solve_transposed, solve_upper
from skstructured.extend._types import Floats


@kernel
def learn_term(
    R: Floats, r: Floats, rest: Floats, z: Floats, target: float, weight: float, scratch: Floats
) -> None:
    """Add ``weight (target − <w, z>)²`` to the least squares of (R, r), whose least is rest[0]."""
    root = math.sqrt(weight)
    for j in range(z.shape[0]):
        scratch[j] = root * z[j]
    left = rotate_in(R, r, scratch, root * target)
    rest[0] += left * left


@kernel
def regularize(
    D: Floats, d: Floats, lost: float, roots: Floats, R: Floats, r: Floats, scratch: Floats
) -> float:
    """(R, r) = (D, d) with ``Σ (roots_i w_i)²`` added; returns the least, that of (D, d) `lost`."""
    n = D.shape[0]
    for i in range(n):
        r[i] = d[i]
        for j in range(n):
            R[i, j] = D[i, j]
    for i in range(n):
        for j in range(n):
            scratch[j] = 0.0
        scratch[i] = roots[i]
        left = rotate_in(R, r, scratch, 0.0)
        lost += left * left
    return lost


@kernel
def means_of(w: Floats, Z: Floats, means: Floats) -> None:
    """<w, z> of every row of Z, each by itself: the same bits alone and among others."""
    for i in range(Z.shape[0]):
        total = 0.0
        for j in range(w.shape[0]):
            total += w[j] * Z[i, j]
        means[i] = total


@kernel
def widths_of(R: Floats, Z: Floats, widths: Floats, scratch: Floats) -> None:
    """√(zᵀA⁻¹z) of every row of Z, A = RᵀR."""
    for i in range(Z.shape[0]):
        widths[i] = math.sqrt(solve_transposed(R, Z[i], scratch))


class RunningRidge(Learned):
    """Weights w that minimise ``λ‖w‖² + Σ w_t (y_t − <w, z_t>)²``.

    Where rows are standardised, the weight of the 1 of the intercept is not part of ‖w‖.

    Parameters
    ----------
    scale : RunningScale
        How features become z.
    width : int
        Features p.
    intercept : bool
        Whether z begins with a 1.
    lam : float
        λ > 0.

    Attributes
    ----------
    R, r, w : ndarray of shape (d, d), (d,) and (d,)
        The triangle, its right side, and the weights, d = p + intercept.
    weight : float
        Σ w_t.
    """

    def __init__(self, scale: RunningScale, width: int, intercept: bool, lam: float) -> None:
        d = width + intercept
        self.scale, self.lam, self.intercept = scale, lam, intercept
        self.R, self.r, self.w = math.sqrt(lam) * np.eye(d), np.zeros(d), np.zeros(d)
        self.weight, self._rest, self._scratch = 0.0, np.zeros(1), np.empty(d)
        self._data = (np.zeros((d, d)), np.zeros(d), np.zeros(1)) if scale.used else None
        self._free = int(intercept and scale.used)

    def ready(self, X: Floats) -> Floats:
        """Rows z (n, d) of X (n, p), as they are transformed now."""
        Z: Any = self.scale.transformed(Rows.from_array(X)).matrix
        return np.hstack([np.ones((len(Z), 1)), Z]) if self.intercept else np.ascontiguousarray(Z)

    def means(self, Z: Floats) -> Floats:
        """Estimates (n,) of rows z."""
        found = np.empty(len(Z))
        means_of(self.w, Z, found)
        return found

    def widths(self, Z: Floats) -> Floats:
        """√(zᵀA⁻¹z), (n,), of rows z."""
        found = np.empty(len(Z))
        widths_of(self.R, Z, found, np.empty(Z.shape[1]))
        return found

    @property
    def loss(self) -> float:
        """The least of ``λ‖w‖² + Σ w_t (y_t − <w, z_t>)²``."""
        return float(self._rest[0])

    @property
    def log_determinant(self) -> float:
        """ln det A − ln det λI, at least 0; of the features alone where they are standardised."""
        roots = np.diagonal(self.R)[self._free :] / math.sqrt(self.lam)
        return 2.0 * float(np.log(roots).sum())

    @property
    def norm(self) -> float:
        """The root of what is regularized, ‖w‖."""
        return float(np.linalg.norm(self.w[self._free :]))

    @property
    def weights(self) -> Floats:
        """Weights (p [+ 1]) of features in their own units, the intercept last."""
        last = np.roll(self.w, -1) if self.intercept else self.w
        return self.scale.fold(last[None])[0]

    def count(self, X: Floats, weight: float) -> None:
        """Have rows X count in the means and deviations, each with this weight."""
        if not self.scale.used:
            return
        before = self.scale.statistics[[MEAN, DEVIATION, INVERSE]]
        self.scale.apply(Rows.from_array(X), None, np.full(len(X), weight))
        now = self.scale.statistics[[MEAN, DEVIATION, INVERSE]]
        if self.weight > 0.0 and not np.array_equal(before, now):
            self._change_units(before, now)

    def learn(self, z: Floats, target: float, weight: float) -> None:
        """Learn a row z (d,), in the units of now."""
        learn_term(self.R, self.r, self._rest, z, target, weight, self._scratch)
        if self._data is not None:
            learn_term(*self._data, z, target, weight, self._scratch)
            if self.weight == 0.0:  # before it, the intercept was regularized, to be solved for
                self._regularize()
        solve_upper(self.R, self.r, self.w)
        self.weight += weight

    def _change_units(self, before: Floats, now: Floats) -> None:
        """Have the rows learned so far be as if they had been transformed as those of now."""
        mean, deviation, inverse = before
        ratio = np.where(inverse > 0.0, deviation, 0.0) * now[2]
        shift = (mean - now[0]) * now[2]
        D = self._data[0]  # type: ignore[index]  # there is one where rows are standardised
        D[:, self.intercept :] *= ratio
        if self.intercept:
            D[0, 1:] += D[0, 0] * shift
        self._regularize()
        solve_upper(self.R, self.r, self.w)

    def _regularize(self) -> None:
        """Make the triangle anew of that of the data."""
        D, d, lost = self._data  # type: ignore[misc]
        roots = np.full(len(d), math.sqrt(self.lam))
        roots[: self._free] = 0.0
        own = (self.R, self.r, self._scratch)
        self._rest[0] = regularize(D, d, float(lost[0]), roots, *own)
