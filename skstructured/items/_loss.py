"""The Fenchel–Young loss of rounds that have a number of items each."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skstructured._base.ragged import Ragged, by_length
from skstructured.extend._types import Floats, Ints, Seed
from skstructured.extend.decoder import Decoder
from skstructured.losses.fenchel_young import FenchelYoung
from skstructured.regularizers import find_oracle
from skstructured.sequences._ragged import RoundLoss


class ItemLoss(RoundLoss):
    r"""The loss ``c E_y (Ω*(θ) + Ω(y) − <θ, y>)`` of rounds with any number of items.

    Truths may be means of vertices: E is over outputs y with that mean. For shares of items and
    `Shannon` it is c times the cross-entropy. Sizes are numbers of items, or of pairs if outputs
    are assignments.
    """

    def of(self, dim: int) -> FenchelYoung:
        """The loss over so many items, with the scale of all."""
        over: Any = self.space
        return FenchelYoung(over.over(dim), self.regularizer, self.constants_of().c, self.constants)

    def _terms(self) -> Any:
        over: Any = self.space
        return over.space, self.regularizer, find_oracle(over.space, self.regularizer)

    def sizes_of(self, dims: Ints) -> Floats:
        """D² in ℓ2, 1/λ and the length of the kernel's scratch, (n, 3), for so many items each."""
        sizes, inverse = np.unique(dims, return_inverse=True)
        return np.array([self._sizes_of(int(m)) for m in sizes], dtype=np.float64)[inverse.ravel()]

    def _sizes_of(self, dim: int) -> tuple[float, ...]:
        space, _, oracle = self._terms()
        diameter = space.geometry("l2", dim).diameter
        return diameter**2, 1.0 / self._convexity(oracle, dim)[1], oracle.work(dim)

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
        over: Any = self.space
        _, regularizer, oracle = self._terms()

        def omega(m: int, points: Floats) -> Floats:
            vertex = over.vertex(m)
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
