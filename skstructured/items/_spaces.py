"""Output spaces and the loss over rounds that have any number of items."""

import functools
from typing import Any, NoReturn, Self

import numpy as np
from sklearn.utils import check_random_state

from skstructured._base.ragged import Ragged, by_length
from skstructured.extend._types import Floats, Given, Ints, Seed
from skstructured.extend.decoder import Decoder
from skstructured.extend.output_space import Geometry, OutputSpace
from skstructured.items._reading import Items, check_numbers, chosen_of, ranks_of, read_items
from skstructured.losses.fenchel_young import FenchelYoung
from skstructured.regularizers import find_oracle
from skstructured.sequences._ragged import RoundLoss
from skstructured.spaces import Hypercube, OrdinalChain, Permutahedron, Simplex


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
    """Outputs of rounds that have a number of items each; users see 0/1 vectors.

    `space` is that over any number of items. One vector of weights scores all.
    """

    dim_ = 1
    #: How many items the first round has.
    first_ = 2

    def __init__(self, space: OutputSpace) -> None:
        self.space = space

    @property
    def constant_sum(self) -> bool:  # type: ignore[override]
        """Whether a number added to the scores of all items changes nothing."""
        return self.space.constant_sum

    #: Whether means are probabilities of items.
    has_probabilities = False

    def fit(self, y: Any) -> Self:
        """Learn how many items the first of the truths, `Ragged`, has."""
        self.first_ = int(y.lengths[0])
        return self

    def check_classes(self, classes: Any) -> None:
        """A ValueError for classes: items have no class labels."""
        raise ValueError(f"classes={classes!r} was given, but items have no class labels.")

    def pack(self, y: Any) -> Any:
        """Truths, `Ragged` points of the polytopes, unchanged."""
        return y

    decode = pack  # type: ignore[assignment]

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

    def over(self, length: int) -> Any:
        """The space with embeddings of this dimension."""
        if length not in self._over:
            self._over[length] = self.space.over(length)
        return self._over[length]

    def __getstate__(self) -> Any:
        """Without the spaces of each size."""
        return {name: value for name, value in vars(self).items() if name != "_over"}

    def vertex(self, dim: int) -> Floats | None:
        """A vertex (1, dim) if truths are means of vertices that have the same Ω."""
        return None

    def read(self, X: Any, qid: Given, available: Any) -> Items:
        """Rounds of X as a user gives them."""
        return read_items(X, qid, available)

    def targets(self, items: Items, y: Any) -> Ragged:
        """0/1 vectors; a ValueError names a round whose output the space does not have."""
        V = Ragged(check_numbers("y", items.stacked(y)), items.offsets)
        nearest = by_length(lambda m, rows: self.over(m).argmax(2.0 * rows - 1.0), V)
        wrong = np.flatnonzero(V.sums(nearest.values != V.values))
        for i in wrong[np.argsort(V.lengths[wrong], kind="stable")][:1]:
            name, row = items.qid[i : i + 1].tolist()[0], V[i]
            refusal = self.over(len(row)).refusal(row)
            raise ValueError(f"y of round {name!r}, {row.tolist()[:20]}, {refusal}.")
        return V

    def outputs(self, items: Items, V: Ragged) -> Any:
        """Vertices of rounds as users see them."""
        return items.unstacked(np.rint(V.values).astype(np.int64), 0)


class MarkedItems(OverItems):
    """Any items of each round."""

    has_probabilities = True


class ChosenItem(OverItems):
    """One item of each round; users see marks, or its place in each round."""

    has_probabilities = True

    def vertex(self, dim: int) -> Floats:
        return np.eye(1, dim)

    def targets(self, items: Items, y: Any) -> Ragged:
        """Marks of the chosen items."""
        return chosen_of(items, y)

    def outputs(self, items: Items, V: Ragged) -> Any:
        """Marks, or places for rounds in a list."""
        marks = super().outputs(items, V)
        return marks if items.flat else np.array([int(np.argmax(vertex)) for vertex in marks])


class OrderedItems(OverItems):
    """An order of the items of each round; users see ranks."""

    def vertex(self, dim: int) -> Floats:
        return np.arange(dim, 0, -1.0)[None]

    def targets(self, items: Items, y: Any) -> Ragged:
        """Ranks, those of ties averaged."""
        return ranks_of(items, y)


class PairedItems(OverItems):
    """Partners of m items, over their m² pairs; users see marks, or the partners of each round."""

    has_probabilities = True

    def read(self, X: Any, qid: Given, available: Any) -> Items:
        """Pairs (m, m, p) become rows (m², p)."""
        if isinstance(X, list) or (not hasattr(X, "columns") and np.ndim(X) == 4):
            X = [np.reshape(x, (-1, np.shape(x)[-1])) if np.ndim(x) == 3 else x for x in X]
        return super().read(X, qid, available)

    def targets(self, items: Items, y: Any) -> Ragged:
        """Marks of pairs; y has one array (m,) for each round in a list."""
        sides = np.sqrt(items.lengths).astype(np.int64)
        wrong = np.flatnonzero((sides < 2) | (sides**2 != items.lengths))
        if len(wrong):
            name, pairs = items.qid[wrong].tolist()[0], items.lengths[wrong[0]]
            raise ValueError(f"Round {name!r} must have m² pairs of m ≥ 2 items, got {pairs}.")
        if items.flat:
            return super().targets(items, y)
        partners = [*map(np.asarray, y)]
        for i, (m, places) in enumerate(zip(sides, partners, strict=True)):
            if places.shape != (m,):
                raise ValueError(
                    f"Round {i} has {m} items, and y must contain their places; got an array of "
                    f"shape {places.shape}."
                )
        vertices = [self.over(len(places) ** 2).encode(places[None])[0] for places in partners]
        return Ragged(np.concatenate(vertices), items.offsets)

    def outputs(self, items: Items, V: Ragged) -> Any:
        """Marks, or partners for rounds in a list."""
        marks = super().outputs(items, V)
        if items.flat:
            return marks
        return [self.over(len(vertex)).decode(vertex[None].astype(float))[0] for vertex in marks]


class OrderedClasses(OverItems):
    """Ordered classes, which items do not have."""

    def targets(self, items: Items, y: Any) -> NoReturn:
        """Raise a ValueError that names what to use."""
        raise ValueError(
            "space='ordinal' is not supported for items: it has one label per round. Use "
            "OnlineStructuredPredictor('ordinal')."
        )


def over_items(space: OutputSpace) -> OverItems:
    """The space over rounds of items of a space over any number of them."""
    default = PairedItems if space.over_pairs else OverItems
    readers = {
        Simplex: ChosenItem,
        Hypercube: MarkedItems,
        Permutahedron: OrderedItems,
        OrdinalChain: OrderedClasses,
    }
    reader = next((reader for kind, reader in readers.items() if isinstance(space, kind)), default)
    return reader(TiedRanks() if type(space) is Permutahedron else space)


class ItemLoss(RoundLoss):
    r"""The loss ``c E_y (Ω*(θ) + Ω(y) − <θ, y>)`` of rounds with any number of items.

    Truths may be means of vertices: E is over outputs y with that mean. For shares of items and
    `Shannon` it is c times the cross-entropy. Sizes are numbers of items, or of pairs if outputs
    are assignments.
    """

    def of(self, dim: int) -> FenchelYoung:
        """The loss over so many items, with the scale of all."""
        space = self.space.over(dim)
        return FenchelYoung(space, self.regularizer, self.constants_of().c, self.constants)

    def _terms(self) -> Any:
        space = self.space.space
        return space, self.regularizer, find_oracle(space, self.regularizer)

    def sizes_of(self, dims: Ints) -> Floats:
        """D² in ℓ2, 1/λ and the length of the kernel's scratch, (n, 3), for so many items each."""
        space, _, oracle = self._terms()

        def sizes(m: int) -> tuple[float, ...]:
            diameter = space.geometry("l2", m).diameter
            return diameter**2, 1.0 / self._convexity(oracle, m)[1], oracle.work(m)

        lengths, inverse = np.unique(dims, return_inverse=True)
        return np.array([sizes(m) for m in lengths.tolist()])[inverse.ravel()]

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
        mu, value = by_length(lambda m, *rows: self.of(m).mean_and_value(*rows), theta, V)
        _, regularizer, oracle = self._terms()
        oracle_omegas = by_length(lambda m, points: oracle.omega(points, regularizer), V)
        return mu, np.maximum(value + self.constants_of().c * (self.omegas(V) - oracle_omegas), 0.0)

    def omegas(self, V: Ragged) -> Floats:
        """E Ω(y) (n,) of outputs y with the means V."""
        _, regularizer, oracle = self._terms()

        def omega(m: int, points: Floats) -> Floats:
            vertex = self.space.vertex(m)
            if vertex is None:
                return oracle.omega(points, regularizer)
            return np.repeat(oracle.omega(vertex, regularizer), len(points))

        return by_length(omega, V)

    def rule(self, decoder: Decoder) -> "EachLength":
        """The decoder, for rounds of each length."""
        return EachLength(decoder)


class EachLength:
    """A decoder that is handed the rounds of each length in turn; all it plays are `Ragged`."""

    def __init__(self, decoder: Decoder) -> None:
        self.decoder, self.by_scores = decoder, decoder.by_scores

    def most_likely(self, theta: Any, mu: Any, loss: ItemLoss) -> Any:
        play = self.decoder.most_likely
        return by_length(lambda m, rows, means: play(rows, means, loss.of(m)), theta, mu)

    def decode(self, theta: Any, mu: Any, loss: ItemLoss, random_state: Seed = None) -> Any:
        play, rng = self.decoder.decode, check_random_state(random_state)
        return by_length(lambda m, rows, means: play(rows, means, loss.of(m), rng), theta, mu)

    def expected_loss(self, theta: Any, mu: Any, V: Any, loss: ItemLoss) -> Floats:
        rule: Any = self.decoder.expected_loss
        return by_length(lambda m, *rows: rule(*rows, loss.of(m)), theta, mu, V)
