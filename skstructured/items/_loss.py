"""The Fenchel–Young loss of rounds that have a number of items each."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skstructured._base.ragged import Ragged
from skstructured._base.shared_docs import documented
from skstructured.extend._types import Floats, Ints
from skstructured.items._spaces import OverItems
from skstructured.losses.fenchel_young import FenchelYoung, LossConstants
from skstructured.losses.oracles import find_oracle
from skstructured.spaces import Permutahedron, Simplex


@documented(FenchelYoung)
class ItemLoss(FenchelYoung):
    r"""The loss ``c E_y (Ω*(θ) + Ω(y) − <θ, y>)`` of rounds with any number of items.

    Truths may be means of vertices: E is over outputs y with that mean. For shares of items and
    `Shannon` it is c times the cross-entropy. The scale c of the theory is the largest that any of
    the `sizes` needs, so the surrogate gap is at least 1 − ln 2 in every round.

    Parameters
    ----------
    {FenchelYoung: space, regularizer, scale, constants}
    sizes : tuple of int, default=(2,)
        Numbers of items of the rounds, or of pairs if outputs are assignments.
    stretch : float, default=1.0
        What turns the largest norm² that an optimiser was told into the largest ``λ_max(XXᵀ)/λ``.

    References
    ----------
    Sakaue, Bao, Tsuchiya, Oki (2024), sections 2–4; McFadden (1974); Cao, Qin, Liu, Tsai, Li
    (2007), "Learning to rank: from pairwise approach to listwise approach".
    """

    #: Optimisers are told bounds on gradients.
    lipschitz = 1.0

    def __init__(
        self,
        space: Any = "simplex",
        regularizer: Any = None,
        scale: Any = "theory",
        constants: str = "paper",
        sizes: tuple[int, ...] = (2,),
        stretch: float = 1.0,
    ) -> None:
        super().__init__(space, regularizer, scale, constants)
        self.sizes = sizes
        self.stretch = stretch

    def of(self, dim: int) -> FenchelYoung:
        """The loss over so many items, with the scale of all."""
        over: Any = self.space
        space = over.over(dim)
        return _Round(space, self.regularizer, self.constants_of().c, self.constants)

    def _terms(self) -> Any:
        space = self.space.space if isinstance(self.space, OverItems) else self.space
        return space, self.regularizer, find_oracle(space, self.regularizer)

    @property
    def kernel(self) -> Any:
        """The kernel of the pair; its scores have as many entries as there are items."""
        space, _, oracle = self._terms()
        return oracle.kernel_for(space)

    def work_sizes(self, dims: Ints) -> Ints:
        """Lengths of the kernel's scratch vector for rounds of so many items."""
        return of_each(dims, self._terms()[2].work).astype(np.int64)

    def geometries(self, dims: Ints) -> tuple[Floats, Floats]:
        """D² in ℓ2, and 1/λ, of rounds of so many items."""
        space = self._terms()[0]
        spread = of_each(dims, lambda m: space.geometry("l2", m).diameter ** 2)
        return spread, of_each(dims, lambda m: 1.0 / self._convexity(m)[1])

    def _convexity(self, dim: int) -> tuple[float, float]:
        """λ for the scale and for the smoothness."""
        oracle = self._terms()[2]
        if self.constants not in ("paper", "sharp"):
            raise ValueError(f'constants must be "paper" or "sharp", got {self.constants!r}.')
        if self.constants == "sharp" and oracle.sharp is not None:
            return oracle.sharp(dim)
        return (oracle.convexity(dim),) * 2

    def _extremes(self) -> Floats:
        """4γ/(λν), D, γ, −λ and −ν (., 5) of each size; without a gap c is the first of them."""
        space, _, oracle = self._terms()
        found = []
        for dim in self.sizes:
            nu, diameter, gamma = space.geometry(oracle.norm, dim)
            lam = self._convexity(dim)[0]
            found.append((4.0 * gamma / (lam * nu), diameter, gamma, -lam, -nu))
        return np.array(found)

    def over_sizes(self, sizes: ArrayLike, stretch: float = 1.0) -> "ItemLoss":
        """The loss for rounds of these sizes; it keeps those that its constants need."""
        given, every = (self.space, self.regularizer, self.scale, self.constants), np.unique(sizes)
        found = ItemLoss(*given, tuple(every.tolist()), stretch)
        found.sizes = tuple(np.unique(every[found._extremes().argmax(axis=0)]).tolist())
        return found

    def constants_of(self, dim: int | None = None) -> LossConstants:
        """The `LossConstants` for the numbers of items there are, b in units of C²/λ."""
        needed, diameter, gamma, lam, nu = map(float, self._extremes().max(axis=0))
        # With one output alone nothing is needed.
        c = self._check_scale(needed / math.log(2) if needed > 0.0 else 1.0)
        # The gap of the theory is the same for all sizes, of rounds to come too.
        a = 1.0 - (math.log(2) if isinstance(self.scale, str) else needed / c)
        smooth, norm = 2.0 * c * self.stretch, self._terms()[2].norm
        return LossConstants(a, c, 1.0, -lam, -nu, diameter, gamma, smooth, norm)

    def mean(self, theta: Any) -> Any:
        """Regularized predictions of the items of all rounds, `Ragged`."""
        values = np.empty(len(theta.values))
        for which, rows in by_size(theta):
            values[theta.places(which)] = self.of(rows.shape[1]).mean(rows).ravel()
        return Ragged(values, theta.offsets)

    def value(self, theta: Any, V: Any) -> Floats:
        """The loss (n,) of rounds with the scores theta and the truths V, both `Ragged`."""
        found = np.empty(len(theta))
        for which, rows in by_size(theta):
            truths = V.values[V.places(which)].reshape(rows.shape)
            found[which] = self.of(rows.shape[1]).value(rows, truths)
        return found

    def omegas(self, V: Ragged) -> Floats:
        """E Ω(y) (n,) of outputs with the means V."""
        space, regularizer, oracle = self._terms()
        if isinstance(space, (Simplex, Permutahedron)):
            return of_each(V.lengths, lambda m: oracle.omega(_vertex(space, m), regularizer)[0])
        found = np.empty(len(V))
        for which, points in by_size(V):
            found[which] = oracle.omega(points, regularizer)
        return found


class _Round(FenchelYoung):
    """The loss over rounds of one number of items; Ω of a truth is that of the vertices behind."""

    def _value_at(self, theta: Floats, mu: Floats, V: Floats, terms: Any) -> Floats:
        space, regularizer, oracle = terms
        value = super()._value_at(theta, mu, V, terms)
        if not isinstance(space, (Simplex, Permutahedron)):
            return value
        vertex = float(oracle.omega(_vertex(space, V.shape[1]), regularizer)[0])
        more = self.constants_of(theta.shape[1]).c * (vertex - oracle.omega(V, regularizer))
        return np.maximum(value + more, 0.0)


def _vertex(space: Any, dim: int) -> Floats:
    """A vertex (1, dim): all have the same Ω."""
    if isinstance(space, Permutahedron):
        return np.arange(dim, 0, -1.0)[None]
    return np.eye(1, dim)


def of_each(dims: Ints, number: Any) -> Floats:
    """``number(m)`` for each m of `dims`."""
    sizes, at = np.unique(dims, return_inverse=True)
    return np.array([number(int(m)) for m in sizes], dtype=np.float64)[at.ravel()]


def by_size(rounds: Ragged) -> Any:
    """Rounds of each size: which they are, and their numbers (n_m, m)."""
    lengths = rounds.lengths
    for m in np.unique(lengths):
        which = np.flatnonzero(lengths == m)
        yield which, rounds.values[rounds.places(which)].reshape(len(which), m)
