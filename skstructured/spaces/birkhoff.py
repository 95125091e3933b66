"""Assignments and label rankings as permutation matrices."""

import math
from typing import Any, Self

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils import check_random_state

from skstructured._engine.compiled import kernel
from skstructured.extend._types import Floats, Outputs, Packed, Seed
from skstructured.extend.output_space import Geometry, OutputSpace
from skstructured.spaces._matching import assign_rows
from skstructured.spaces.permutahedron import Numbering, check_permutations, list_permutations


@kernel
def _fractional(P, m, line, skip, by_row, places):
    """First entry strictly between 0 and 1 in a row (or column) other than `skip`, or -1.

    An entry that became integral stays so: `places` keeps, for every line, how far the searches for
    its first and its second fractional entry have come.
    """
    integral = 1e-9  # entries so close to 0 or 1 are
    step, start = (1, line * m) if by_row else (m, line)
    for search in range(2):
        k = places[search, line]
        if search == 1:
            k = max(k, places[0, line] + 1)
        while k < m and not integral < P[start + k * step] < 1.0 - integral:
            k += 1
        places[search, line] = k
        if k == m:
            return -1
        if k != skip:
            return k
    return -1


@kernel
def _round_cycle(P, m, rows, columns, start, stop, uniform):
    """Shift a random amount around a cycle of fractional entries, keeping their expectations.

    The entries (row_k, column_k) move one way and (row_{k+1}, column_k) the other.
    """
    up, down, size = 1.0, 1.0, stop - start
    for k in range(size):
        c = int(columns[start + k])
        first = P[int(rows[start + k]) * m + c]
        second = P[int(rows[start + (k + 1) % size]) * m + c]
        up, down = min(up, 1.0 - first, second), min(down, first, 1.0 - second)
    move = up if uniform * (up + down) < down else -down
    for k in range(size):
        c = int(columns[start + k])
        P[int(rows[start + k]) * m + c] += move
        P[int(rows[start + (k + 1) % size]) * m + c] -= move


@kernel
def _forget(rows, columns, row_place, column_place, length, keep):
    """Cut the walk back to `keep` rows; returns its new length."""
    for k in range(keep, length):
        row_place[int(rows[k])] = -1.0
    for k in range(max(keep - 1, 0), length):
        if columns[k] >= 0.0:
            column_place[int(columns[k])] = -1.0
        columns[k] = -1.0
    return keep


@kernel
def draw_matching(P, m, uniforms, rows, columns, row_place, column_place, search_places):
    """Round P (m²,) in place to a permutation matrix with expectation P, by dependent rounding.

    A walk row, column, row, … over fractional entries closes a cycle; moving along it makes one
    more entry integral and changes no row or column sum. The walk continues from the start of the
    cycle. An entry that rounding errors left alone in its line is snapped.
    """
    row_place[:], column_place[:], columns[:], search_places[:] = -1.0, -1.0, -1.0, 0
    length, used, start = 0, 0, 0
    while used < uniforms.shape[0]:
        if length == 0:
            while start < m and _fractional(P, m, start, -1, True, search_places[0]) < 0:
                start += 1
            if start == m:
                break
            rows[0], row_place[start], length = start, 0.0, 1
        r, arrived = int(rows[length - 1]), int(columns[length - 2]) if length > 1 else -1
        c = _fractional(P, m, r, arrived, True, search_places[0])
        lone = c < 0
        c = arrived if lone else c
        cycle = -1
        if not lone and column_place[c] >= 0.0:
            cycle = int(column_place[c]) + 1
            columns[length - 1] = c
        elif not lone:
            columns[length - 1], column_place[c] = c, length - 1
            other = _fractional(P, m, c, r, False, search_places[1])
            lone = other < 0
            if not lone and row_place[other] >= 0.0:
                cycle = int(row_place[other])
            elif not lone:
                rows[length], row_place[other] = other, length
                length += 1
        if lone:
            P[r * m + c] = 1.0 if P[r * m + c] > 0.5 else 0.0
            length = _forget(rows, columns, row_place, column_place, length, 0)
        elif cycle >= 0:
            _round_cycle(P, m, rows, columns, cycle, length, uniforms[used])
            used += 1
            length = _forget(rows, columns, row_place, column_place, length, cycle)


@kernel
def draw_matching_rows(P, m, uniforms):
    """`draw_matching` over the rows of P (n, m²), in place."""
    rows, columns = np.empty(m + 1), np.full(m + 1, -1.0)
    row_place, column_place = np.empty(m), np.empty(m)
    search_places = np.empty((2, 2, m), dtype=np.int64)
    for n in range(P.shape[0]):
        draw_matching(P[n], m, uniforms[n], rows, columns, row_place, column_place, search_places)
        for k in range(m * m):
            P[n, k] = 1.0 if P[n, k] > 0.5 else 0.0


def check_squares(theta):
    """Scores (n, m²), C-contiguous; a ValueError names the shape, or the first row with NaN."""
    theta = np.ascontiguousarray(theta, dtype=np.float64)
    if theta.ndim != 2 or math.isqrt(theta.shape[1]) ** 2 != theta.shape[1]:
        raise ValueError(f"theta must have shape (n, m²), got {theta.shape}.")
    wrong = np.isnan(theta).any(axis=1)
    if wrong.any():
        raise ValueError(f"Row {np.argmax(wrong)} of theta must not contain NaN.")
    return theta


class Birkhoff(OutputSpace):
    r"""Permutations of m items as permutation matrices, with the share of misplaced items.

    Row i of y places m items: ``y[i, j]`` is the position (from 0) of item j. The vertex is the
    permutation matrix P with ``P[j, y_j] = 1``, flattened to R^{m²}; conv(Y) is the Birkhoff
    polytope of doubly stochastic matrices. The target loss is ``1 − <y', y>/m`` [1]_. Regularizers:
    `Shannon` (Ψ = Σ P ln P, entropic optimal transport; the default) and `SquaredNorm`.

    Attributes
    ----------
    dim_ : int
        Number m² of entries.
    n_items_ : int
        Number m of items, at least 2.
    classes_ : ndarray of shape (m,)
        Positions 0 … m−1, the possible entries of y, for scikit-learn.

    See Also
    --------
    Permutahedron : Permutations as ranks, with d = best: positions p are the ranks d − p.
    skstructured.ItemStructuredPredictor : Assignments with features per pair.

    Notes
    -----
    Means use Sinkhorn's iterations [2]_ for `Shannon` and a dual Newton method [3]_ for
    `SquaredNorm`. The sampler is dependent rounding [4]_.

    References
    ----------
    .. [1] Sakaue, Bao, Tsuchiya, Oki (2024), section 2.3; see `FenchelYoung`.

    .. [2] Cuturi (2013). Sinkhorn distances: lightspeed computation of optimal transport. NeurIPS.

    .. [3] Li, Sun, Toh (2020). On the efficient computation of a generalized Jacobian of the
       projector over the Birkhoff polytope. Mathematical Programming.

    .. [4] Gandhi, Khuller, Parthasarathy, Srinivasan (2006). Dependent rounding and its
       applications to approximation algorithms. Journal of the ACM.
    """

    default_regularizer = "shannon"
    constant_sum = over_pairs = True
    _numbering = Numbering(
        0,
        "y[i, j] = position of item j, a permutation of 0..m−1 per row with 0 = first",
        "1-based. Which end is first? Positions p with 1 = first become p − 1; ranks r with m = "
        "best become m − r",
    )

    def fit(self, y: Outputs) -> Self:
        """Learn the number of items from positions (n, m); returns self."""
        self.n_items_ = check_permutations(y, self._numbering).shape[1]
        self.dim_, self.classes_ = self.n_items_**2, np.arange(self.n_items_)
        return self

    def _side(self, dim=None):
        return math.isqrt(self._dimension(dim))

    def pack(self, y: Outputs) -> Packed:
        """Positions (n, m); a ValueError names a row that is not a permutation of 0..m−1."""
        return check_permutations(y, self._numbering, self._side())

    def unpack(self, packed: Packed) -> Floats:
        """Flattened permutation matrices (n, m²) of positions (n, m)."""
        n, m = packed.shape
        V = np.zeros((n, m * m))
        V[np.arange(n)[:, None], np.arange(m) * m + packed] = 1.0
        return V

    def encode(self, y: Outputs) -> Floats:
        """Flattened permutation matrices (n, m²) of positions y (n, m)."""
        return self.unpack(self.pack(y))

    def decode(self, V: Floats) -> Any:
        """Positions (n, m) of flattened permutation matrices (n, m²)."""
        m = math.isqrt(np.shape(V)[1])
        return np.argmax(np.reshape(V, (len(V), m, m)), axis=2)

    def argmax(self, theta: Floats) -> Floats:
        """Maximal assignment of each row of theta, by shortest augmenting paths (n, m²).

        NaN is a ValueError; infinite scores count as ±1e300.
        """
        theta = check_squares(theta)
        V = np.empty_like(theta)
        assign_rows(theta, V, math.isqrt(theta.shape[1]))
        return V

    def nearest(self, mu: Floats) -> Floats:
        """Nearest vertex in every norm: the maximal assignment of μ (n, m²)."""
        return self.argmax(mu)

    def sample(self, mu: Floats, random_state: Seed = None) -> Floats:
        """Draw a permutation with mean μ by dependent rounding, at most (m−1)² cycles per row."""
        P = np.array(mu, dtype=np.float64, order="C")
        m = math.isqrt(P.shape[1])
        uniforms = check_random_state(random_state).random_sample((len(P), (m - 1) ** 2 + 1))
        sums = np.stack([P.reshape(-1, m, m).sum(axis=axis) for axis in (1, 2)])
        if not (np.abs(sums - 1.0) <= 1e-6).all():
            raise ValueError(
                "mu must be doubly stochastic, with row and column sums 1, got sums from "
                f"{sums.min():.4g} to {sums.max():.4g}."
            )
        draw_matching_rows(P, m, uniforms)
        return P

    def vertices(self) -> Floats:
        """All m! permutation matrices (m!, m²); m ≤ 8."""
        return self.unpack(list_permutations("m", self._side()))

    def decompose(self, mu: Floats) -> tuple[Floats, Floats]:
        """Vertices (k, m²) and weights (k,) with weighted mean μ (m²,); k ≤ (m−1)² + 1.

        Birkhoff's theorem: take off as much as possible of an assignment within the support.
        """
        m = math.isqrt(len(mu))
        mass, vertices = np.array(mu, dtype=np.float64).reshape(m, m), []
        weights: list[float] = []
        while len(weights) <= (m - 1) ** 2 and mass.sum() > 1e-12 * m:
            rows, columns = linear_sum_assignment(np.where(mass > 1e-14, mass, -m), maximize=True)
            weight = mass[rows, columns].min()
            if weight <= 0.0:
                break
            vertices.append(columns)
            weights.append(weight)
            mass[rows, columns] -= weight
            mass[mass < 1e-14] = 0.0
        return self.unpack(np.array(vertices)), np.array(weights) / np.sum(weights)

    def mean_proba(self, mu: Floats) -> Floats:
        """Probabilities (n, m, m) that item j is at position k: the doubly stochastic mean."""
        m = math.isqrt(mu.shape[1])
        return mu.reshape(len(mu), m, m)

    def expected_loss(self, mu: Floats, V: Floats) -> Floats:
        """Share of misplaced items 1 − <μ, y>/m, of shape (n,)."""
        return 1.0 - np.einsum("nd,nd->n", mu, V) / math.isqrt(np.shape(V)[1])

    def geometry(self, norm: str, dim: int | None = None) -> Geometry:
        """ν, D, γ: ℓ1 (4, 2m, 1/(2m)); ℓ2 (2, √(2m), √(m−1)/m)."""
        m = self._side(dim)
        if norm == "l1":
            return Geometry(4.0, 2.0 * m, 0.5 / m)
        return Geometry(2.0, math.sqrt(2 * m), math.sqrt(m - 1) / m)
