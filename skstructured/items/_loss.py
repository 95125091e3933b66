"""The Fenchel–Young loss of rounds that have a number of items each."""

import functools
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from skstructured._base.component import inherit_parameters
from skstructured._base.ragged import Ragged, by_length
from skstructured.extend._types import Floats, Given, Ints, Seed
from skstructured.extend.decoder import Decoder
from skstructured.extend.output_space import Geometry, OutputSpace
from skstructured.losses.fenchel_young import FenchelYoung
from skstructured.losses.oracles import find_oracle
from skstructured.sequences._ragged import RoundLoss
from skstructured.spaces import Permutahedron, Simplex


class TiedRanks(Permutahedron):
    """Rankings whose truths may have ties: losses are means over the orders of tied items.

    ``E_y L(μ; y) = (Σ_k (k − k̄)² − <ȳ − k̄, μ − k̄>)/M`` with the mean ȳ of the rank vectors y, and
    k̄ = (d + 1)/2. One item has no loss.
    """

    def expected_loss(self, mu: Floats, V: Floats) -> Floats:
        """Spearman's loss (n,) of means mu and truths V, mean rank vectors, both (n, d)."""
        d = np.shape(V)[1]
        if d < 2:
            return np.zeros(len(V))
        middle = (d + 1) / 2.0
        half = d * (d**2 - 1) / 12.0
        return 0.5 * (1.0 - np.einsum("nd,nd->n", V - middle, mu - middle) / half)

    def geometry(self, norm: str, dim: int | None = None) -> Geometry:
        """As of `Permutahedron`; of one item as of two, whose numbers are larger."""
        return super().geometry(norm, max(self._dimension(dim), 2))


class OverItems(OutputSpace):
    """Outputs of rounds that have a number of items each; one vector of weights scores all.

    Parameters
    ----------
    space : OutputSpace
        The space, over any number of items.

    Attributes
    ----------
    dim_ : int
        1: how many weights a feature has.
    first_ : int
        How many items the first round has.
    """

    dim_ = 1
    first_ = 2

    def __init__(self, space: OutputSpace) -> None:
        self.space = space

    @property
    def constant_sum(self) -> bool:  # type: ignore[override]
        """Whether a number added to the scores of all items changes nothing."""
        return self.space.constant_sum

    def fit(self, y: Any) -> Self:
        """Learn how many items the first of the truths, `Ragged`, has."""
        self.first_ = int(y.lengths[0])
        return self

    def check_classes(self, classes: Any) -> None:
        """A ValueError for classes: items have no class labels."""
        raise ValueError(f"classes={classes!r} was given, but items have no class labels.")

    #: Truths are packed as they are, `Ragged` points of the polytopes.
    pack = decode = OutputSpace.unpack  # type: ignore[assignment]

    def codes(self, V: Any) -> Ragged:
        """Vertices (m, dim) of rounds of one length, as `Ragged`."""
        n, dim = np.shape(V)
        return Ragged(np.asarray(V, dtype=np.float64).ravel(), np.arange(n + 1) * dim)

    def expected_loss(self, mu: Any, V: Any) -> Floats:
        """Target losses (n,) of the means mu at the truths V, both `Ragged`."""
        return by_length(lambda m, *rows: self.over(m).expected_loss(*rows), mu, V)

    target_loss = expected_loss  # type: ignore[assignment]  # `Ragged`

    def argmax(self, theta: Floats) -> Floats:
        """As of the space over so many items."""
        return self.over(theta.shape[1]).argmax(theta)

    @functools.cached_property
    def _over(self) -> dict[int, OutputSpace]:
        return {}

    def over(self, dim: int) -> OutputSpace:
        """The space with embeddings of this dimension."""
        if dim not in self._over:
            space = clone(self.space)
            space.dim_ = dim
            self._over[dim] = space
        return self._over[dim]

    def __getstate__(self) -> Any:
        """Without the spaces of each size."""
        return {name: value for name, value in vars(self).items() if name != "_over"}


@inherit_parameters(FenchelYoung, RoundLoss)
class ItemLoss(RoundLoss):
    r"""The loss ``c E_y (Ω*(θ) + Ω(y) − <θ, y>)`` of rounds with any number of items.

    Truths may be means of vertices: E is over outputs y with that mean. For shares of items and
    `Shannon` it is c times the cross-entropy. Sizes are numbers of items, or of pairs if outputs
    are assignments.

    Parameters
    ----------
    {FenchelYoung: space, regularizer, scale, constants}
    {RoundLoss: sizes, stretch}

    References
    ----------
    Sakaue, Bao, Tsuchiya, Oki (2024), sections 2–4; McFadden (1974); Cao, Qin, Liu, Tsai, Li
    (2007), "Learning to rank: from pairwise approach to listwise approach".
    """

    def of(self, dim: int) -> FenchelYoung:
        """The loss over so many items, with the scale of all."""
        over: Any = self.space
        space = over.over(dim)
        return _Round(space, self.regularizer, self.constants_of().c, self.constants)

    def _terms(self) -> Any:
        space = self.space.space if isinstance(self.space, OverItems) else self.space
        return space, self.regularizer, find_oracle(space, self.regularizer)

    def work_sizes(self, dims: Ints) -> Ints:
        """Lengths of the kernel's scratch vector for rounds of so many items."""
        return of_each(dims, self._terms()[2].work).astype(np.int64)

    def geometries(self, dims: Ints) -> tuple[Floats, Floats]:
        """D² in ℓ2, and 1/λ, of rounds of so many items."""
        space, _, oracle = self._terms()
        spread = of_each(dims, lambda m: space.geometry("l2", m).diameter ** 2)
        return spread, of_each(dims, lambda m: 1.0 / self._convexity(oracle, m)[1])

    def _needed(self, size: int) -> tuple[float, ...]:
        space, _, oracle = self._terms()
        nu, diameter, gamma = space.geometry(oracle.norm, size)
        lam = self._convexity(oracle, size)[0]
        return 4.0 * gamma / (lam * nu), diameter, gamma, -lam, -nu

    def mean(self, theta: Any) -> Any:
        """Regularized predictions of the items of all rounds, `Ragged`."""
        return by_length(lambda m, rows: self.of(m).mean(rows), theta)

    shown_means = mean

    def mean_and_value(self, theta: Any, V: Any) -> Any:
        """`mean`, and the loss (n,), of rounds with scores theta and truths V, both `Ragged`."""
        return by_length(lambda m, rows, truths: self.of(m).mean_and_value(rows, truths), theta, V)

    def rule(self, decoder: Decoder) -> "EachLength":
        """The decoder, for rounds of each length."""
        return EachLength(decoder)

    def score_weights(self, lengths: Ints, weight: Given) -> Given:
        """Weights of rounds in a score."""
        return weight

    def omegas(self, V: Ragged) -> Floats:
        """E Ω(y) (n,) of outputs with the means V."""
        space, regularizer, oracle = self._terms()
        if isinstance(space, (Simplex, Permutahedron)):
            return of_each(V.lengths, lambda m: oracle.omega(_vertex(space, m), regularizer)[0])
        return by_length(lambda m, points: oracle.omega(points, regularizer), V)


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


class EachLength:
    """A decoder that is handed the rounds of each length in turn; all it plays are `Ragged`."""

    def __init__(self, decoder: Decoder) -> None:
        self.decoder, self.by_scores = decoder, decoder.by_scores

    def most_likely(self, theta: Any, mu: Any, loss: ItemLoss) -> Any:
        """See `Decoder`."""
        play = self.decoder.most_likely
        return by_length(lambda m, rows, means: play(rows, means, loss.of(m)), theta, mu)

    def decode(self, theta: Any, mu: Any, loss: ItemLoss, random_state: Seed = None) -> Any:
        """See `Decoder`."""
        play, rng = self.decoder.decode, check_random_state(random_state)
        return by_length(lambda m, rows, means: play(rows, means, loss.of(m), rng), theta, mu)

    def expected_loss(self, theta: Any, mu: Any, V: Any, loss: ItemLoss) -> Floats:
        """See `Decoder`."""
        find: Any = self.decoder.expected_loss
        return by_length(lambda m, *rows: find(*rows, loss.of(m)), theta, mu, V)
